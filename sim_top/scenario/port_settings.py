"""Egress schedulers of all ports of a study: scheduler, parameters and table writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlane.errors import InputError, missing_value
from vlane.golden.network.assembly import PortSettings
from vlane.golden.topologies.captured import Captured
from vlane.parameters import Parameters
from vlane.schedulers.plugged import find_scheduler
from vlane.schedulers.programs import program_writes
from vlane.schedulers.registry import IB_ARBITER
from vlane.schedulers.table_files import Tables, read_tables, tables_of
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT, VLArbEntry, VLArbTable
from vlane.schedulers.writes import SchedulerTable, map_writes
from vlane.sim_top.scenario.admitted import Port
from vlane.study.networks import vls_per_sl
from vlane.study.study import Study
from vlane.study.swap import longest_shape, swapped_tables


def port_settings(study: Study, lanes: int, base: Path, captured: Captured | None) -> PortSettings:
    """Return the schedulers of a study, with the table it names or those of its captured fabric.

    Raises
    ------
    InputError
        If a table is missing, or does not fit the scheduler, its parameters or the lanes.
    """
    scheduler = find_scheduler(study.scheduler.name)
    swapped = swapped_tables(study.swap, scheduler.name)
    tables, source = _tables(study, base)
    if tables is None:
        if scheduler.name == IB_ARBITER and captured:
            return _captured_settings(study, lanes, captured, swapped)
        if scheduler.section:
            why = f"scheduler {scheduler.name} needs a table file, or a section [scheduler.{scheduler.name}]"
            raise missing_value("scheduler.table", why)
        return PortSettings(scheduler.name, dict(scheduler.in_switch))
    shape = {**scheduler.in_switch, "data_vls": max(scheduler.data_vls[0], lanes), "vl15": False}
    if scheduler.section:
        shape |= tables.sections[scheduler.name].shape()
        shape = longest_shape(shape, swapped)
    each = vls_per_sl(getattr(study.network, "routing", ""))
    if scheduler.maps and tables.sl2vl:
        shape["requesters"] = max(2, *(sl + 1 for sl in tables.sl2vl.owners().values()))
    elif scheduler.maps and each > 1:
        shape["requesters"] = max(2, lanes // each)
    parameters = _parameters(study, shape)
    if parameters["data_vls"] != lanes:
        raise InputError("link.data_vls", f"at least {scheduler.data_vls[0]} with {scheduler.name}", lanes)
    if parameters.get("units") == "shared":
        problem = (
            "shared cannot be simulated in a network: a shared unit works while its link is busy; use per_requester"
        )
        raise InputError("scheduler.parameters.units", "per_requester", "shared", problem=f": {problem}")
    writes = program_writes(tables, scheduler.name, parameters, source)
    if parameters.get("requesters") and each > 1 and not tables.sl2vl:
        writes = map_writes([lane // each for lane in range(lanes)]) + writes
    return PortSettings(scheduler.name, _kept(parameters), writes)


def _tables(study: Study, base: Path) -> tuple[Tables | None, str]:
    """Return the tables of the study's file or sections, ``None`` without either, and the file's name."""
    section = find_scheduler(study.scheduler.name).section
    needed = study.scheduler.name if section else ""
    if study.scheduler.table is not None:
        file = base / study.scheduler.table
        return read_tables(file, needed=needed), str(file)
    given = study.scheduler.tables
    if not given:
        return None, ""
    try:
        return tables_of(given, needed=needed), ""
    except InputError as error:
        raise error.of(f"scheduler.{error.field}") from None


def _captured_settings(study: Study, lanes: int, captured: Captured, swapped: Sequence[SchedulerTable]) -> PortSettings:
    """Return the schedulers with the tables of a captured fabric, one table per port."""
    programmed = [*captured.vlarb.values(), *captured.host_vlarb.values()]
    longest = max((table.shape()["entries"] for table in (*programmed, *swapped)), default=1)
    parameters = _parameters(study, {"data_vls": lanes, "entries": longest, "vl15": False})
    missing = set(range(len(captured.topology.hosts))) - set(captured.host_vlarb)
    if missing:
        raise missing_value("scheduler.table", f"the capture has no table for host {min(missing)}")
    return PortSettings(
        study.scheduler.name,
        _kept(parameters),
        (),
        {port: table.writes(parameters) for port, table in captured.vlarb.items()},
        {host: table.writes(parameters) for host, table in captured.host_vlarb.items()},
    )


def admitted_settings(study: Study, lanes: int, tables: Mapping[Port, VLArbTable]) -> PortSettings:
    """Return the schedulers with the tables from admission. Other ports have every VL in the low list."""
    others = VLArbTable((), tuple(VLArbEntry(vl, MAX_WEIGHT) for vl in range(lanes)), LIMIT_UNBOUNDED)
    parameters = _parameters(study, {"data_vls": lanes, "entries": MAX_ENTRIES, "vl15": False})
    written = {port: table.writes(parameters) for port, table in tables.items()}
    return PortSettings(
        study.scheduler.name,
        _kept(parameters),
        others.writes(parameters),
        {(number, at): writes for (kind, number, at), writes in written.items() if kind == "switch"},
        {number: writes for (kind, number, _), writes in written.items() if kind == "host"},
    )


def _parameters(study: Study, shape: Mapping[str, Any]) -> Parameters:
    """Return the parameters of every port's scheduler: as in the study, otherwise as the table requires."""
    words = [f"{key}={value}" for key, value in study.scheduler.parameters.items()]
    return find_scheduler(study.scheduler.name).parameters.of_words(words, shape)


def _kept(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if key not in {"data_vls", "vl15"}}
