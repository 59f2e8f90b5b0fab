"""Table files as the writes that program a scheduler: the map of lanes to requesters, then the table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError
from vlane.schedulers.plugged import find_scheduler
from vlane.schedulers.registry import LINE_RATE, Scheduler
from vlane.schedulers.table_files import Tables, read_tables
from vlane.schedulers.writes import Write, map_writes
from vlane.tables.sl2vl import SL2VLRow


def read_program(file: Path, scheduler: Scheduler) -> Tables:
    """Return the tables of a file for a scheduler.

    Raises
    ------
    InputError
        If the file cannot be used, lacks the scheduler's section, or names service levels apart that share a VL.
    """
    tables = read_tables(file, needed=scheduler.name if scheduler.section else "")
    table = tables.sections.get(scheduler.name)
    if scheduler.maps and tables.sl2vl is not None and table is not None:
        _refuse_shared(table.served(), tables.sl2vl, str(file))
    return tables


def program_writes(tables: Tables, name: str, parameters: Mapping[str, Any], source: str) -> list[Write]:
    """Return the writes that program a file's tables into an instance.

    Parameters
    ----------
    tables : Tables
        The file; sections of other schedulers are left aside.
    name : str
        The scheduler.
    parameters : mapping
        Of the instance.
    source : str
        The file's name, for refusals.

    Raises
    ------
    InputError
        If they do not fit the instance.
    """
    table = tables.sections.get(name)
    try:
        writes = _map_writes(tables.sl2vl, parameters) if find_scheduler(name).maps else []
        return writes + (table.writes(parameters) if table else [])
    except InputError as error:
        raise error.at(source) from None


def _map_writes(row: SL2VLRow | None, parameters: Mapping[str, Any]) -> list[Write]:
    """Return the writes that give each lane to the lowest SL that maps there, others to nobody."""
    if row is None:
        return []
    if parameters.get("form") == LINE_RATE:
        raise InputError("sl2vl", f"left out with form {LINE_RATE}, in which each VL is a requester", "given")
    owners = row.owners()
    if parameters["requesters"] <= max(owners.values(), default=0):
        must = f"VLs of SLs below {parameters['requesters']}, the requesters there are, or 15"
        raise InputError("sl2vl.row", must, f"a VL of SL {max(owners.values())}")
    if max(owners, default=0) >= parameters["data_vls"]:
        raise InputError("sl2vl.row", f"VLs below {parameters['data_vls']}, or 15", max(owners))
    nobody = parameters["requesters"]
    if nobody == MAX_REQUESTERS and len(owners) < parameters["data_vls"]:
        raise InputError("requesters", f"below {MAX_REQUESTERS}, as some lanes belong to nobody", nobody)
    return map_writes([owners.get(lane, nobody) for lane in range(parameters["data_vls"])])


def _refuse_shared(served: Mapping[str, int], row: SL2VLRow, source: str) -> None:
    """Refuse a table that names two service levels of one VL: they queue together and are one requester."""
    owners = row.owners()
    for field, sl in served.items():
        vl = row.row[sl] if sl < len(row.row) else None
        if vl is not None and owners.get(vl, sl) != sl:
            raise InputError(field, f"of SL {owners[vl]}, which shares VL {vl}", f"SL {sl}", source=source)
