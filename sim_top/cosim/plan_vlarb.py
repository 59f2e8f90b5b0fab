"""Plans for cosimulating the VL arbiter: tables, traffic and length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.model import Fabric
from vlane.schedulers.table_files import read_vlarb_table
from vlane.schedulers.vlarb import VLArbTable
from vlane.tb.machinery.native.stimulus import cut
from vlane.tb.schedulers.traffic import Phase
from vlane.units import mtu_blocks

SMALL, FULL = "64-byte packets", "MTU packets"
"""Phases whose shares are reported."""

_FULL_BLOCKS = mtu_blocks(2048)
_PARTS = {SMALL: 20, FULL: 35, "back to back": 15, "random": 20, "few lanes": 10}


@dataclass(frozen=True, slots=True)
class TableUse:
    """Table with the ports that use it.

    Parameters
    ----------
    table : VLArbTable
        The table.
    where : str
        Ports with this table, or the table's file.
    """

    table: VLArbTable
    where: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Run of the arbiter.

    Parameters
    ----------
    parameters : mapping
        Parameters of the arbiter.
    uses : tuple of TableUse
        Tables to report on; the first tables of ``tables``.
    tables : tuple of VLArbTable
        All tables of the traffic.
    phases : tuple of Phase
        Phases of the traffic.
    """

    parameters: Mapping[str, Any]
    uses: tuple[TableUse, ...]
    tables: tuple[VLArbTable, ...]
    phases: tuple[Phase, ...]


def plan_for_fabric(folder: Path, *, cycles: int, resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Plan:
    """Return the plan for every distinct table of a captured fabric.

    ``resolve`` maps the parameters of the fabric's ports to those of the arbiter.

    Raises
    ------
    InputError
        If the folder is not a capture or has no arbitration tables.
    """
    fabric = load_fabric(folder)
    uses = tuple(TableUse(table, _ports(fabric, ports)) for table, ports in fabric.distinct_tables().items())
    if not uses:
        problem = ": the capture has no arbitration tables (smpquery-vlarb.txt)"
        raise InputError("fabric", "a capture with arbitration tables", "none", source=str(folder), problem=problem)
    ports = {
        "data_vls": fabric.data_vls,
        "entries": max(1, *(max(len(use.table.high), len(use.table.low)) for use in uses)),
        "vl15": True,
    }
    return _plan(resolve(ports), uses, cycles)


def plan_for_table(file: Path, *, cycles: int, parameters: Mapping[str, Any]) -> Plan:
    """Return the plan for one table file.

    Raises
    ------
    InputError
        If the file is rejected or its table does not fit the arbiter.
    """
    table = read_vlarb_table(file)
    longest = table.shape()["entries"]
    if longest > parameters["entries"]:
        raise InputError(
            "vlarb", f"at most {parameters['entries']} entries per list", f"{longest} entries", source=str(file)
        )
    return _plan(parameters, (TableUse(table, file.name),), cycles)


def _ports(fabric: Fabric, ports: list[Any]) -> str:
    return fabric.show_all(ports) + (" ports" if len(ports) > 1 else "")


def _plan(parameters: Mapping[str, Any], uses: tuple[TableUse, ...], cycles: int) -> Plan:
    """Divide the cycles equally among the tables, and each table's cycles among the kinds of traffic."""
    program = 2 * parameters["entries"] + 2
    each = cycles // len(uses)
    phases: list[Phase] = []
    for index in range(len(uses)):
        left = max(0, each - program)
        spans = {name: left * part // 100 for name, part in _PARTS.items()}
        spans[FULL] += left - sum(spans.values())
        phases += [
            Phase(program, index, name="program", idle_bits=16),
            Phase(spans[SMALL], name=SMALL, least_blocks=1, most_blocks=1, paced=True),
            Phase(spans[FULL], name=FULL, least_blocks=_FULL_BLOCKS, most_blocks=_FULL_BLOCKS, paced=True),
            Phase(spans["back to back"], name="back to back", extremes=64),
            Phase(
                spans["random"],
                name="random",
                ready=192,
                idle_bits=3,
                extremes=64,
                hold=16,
                stall=32,
                vl15=4,
                reset=2,
                rewrite=2,
            ),
            Phase(
                spans["few lanes"],
                name="few lanes",
                idle_bits=7,
                extremes=32,
                least_blocks=10,
                most_blocks=50,
                rewrite=1,
            ),
        ]
    tables = tuple(use.table for use in uses)
    return Plan(parameters, uses, tables, cut(tuple(phases), cycles))
