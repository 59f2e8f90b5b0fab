"""Checks that hold for every SL, for captures without path SLs.

A credit loop is a cycle of (link, lane), so its links are a cycle, too: links that form no cycle exclude credit loops
for every SL and every SL2VL row (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection
Networks", 1987). A pair is reachable with every SL if no row of an input and output in use contains VL 15.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vlane.fabric.loops import only_loops
from vlane.fabric.lost import Why
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.sl2vl_tables import SL2VLRow
from vlane.fabric.trace import Trace
from vlane.fabric.waits import LANES
from vlane.tables.sl2vl import VL_DROP

__all__ = ["EverySL", "every_sl"]


@dataclass(frozen=True, slots=True)
class EverySL:
    """Findings that are the same for every SL.

    Parameters
    ----------
    loops : bool
        Whether no SL can cause a credit loop.
    arrivals : bool
        Whether no SL changes the set of unreachable pairs.
    dropped : tuple of int
        SLs with VL 15 in a row of an output in use; empty if nothing holds for every SL.
    served : frozenset of Port
        Ports in use that serve the lanes of all SLs.
    """

    loops: bool = False
    arrivals: bool = False
    dropped: tuple[int, ...] = ()
    served: frozenset[Port] = frozenset()


def every_sl(fabric: Fabric, trace: Trace) -> EverySL:
    """Return the findings of a trace with SL 0 that hold for every SL.

    Nothing holds for every SL if a row in use is missing, if a switch has no forwarding table, or if VL 15 drops a
    packet of SL 0, because these packets were not followed to their end.
    """
    has_tables = all(node.guid in fabric.lfts for node in fabric.of_kind(Kind.SWITCH))
    if fabric.path_sls or not fabric.sl2vl or trace.bare or not has_tables or trace.lost.has(Why.DROPPED):
        return EverySL()
    held, wanted = trace.waits.pairs()
    if len(held):
        links = np.unique(np.stack([held // LANES, wanted // LANES]), axis=1)
        held = only_loops(links[0], links[1])[0]
    used = np.flatnonzero(trace.traffic.reshape(-1, LANES).any(axis=1)).tolist()
    rows = {port: _rows(fabric, port) for port in map(trace.wiring.port, used)}
    dropped = {sl for row in {row for some in rows.values() for row in some} for sl in _dropped(row)}
    served = (port for port, some in rows.items() if _serves(fabric, port, {vl for row in some for vl in row}))
    return EverySL(not len(held), not dropped, tuple(sorted(dropped)), frozenset(served))


def _rows(fabric: Fabric, port: Port) -> list[SL2VLRow]:
    """Return the different rows of an output, from all cabled inputs except its own."""
    node, table = fabric.nodes[port.guid], fabric.sl2vl.table(port.guid)
    if table is None:
        return []
    inputs = [number for number in node.links if number != port.number] if node.kind is Kind.SWITCH else [0]
    numbers = np.unique(table[inputs, port.number]).tolist()
    return [fabric.sl2vl.rows[number] for number in numbers if number != fabric.sl2vl.NONE]


def _dropped(row: SL2VLRow) -> list[int]:
    return [sl for sl, vl in enumerate(row) if vl == VL_DROP]


def _serves(fabric: Fabric, port: Port, lanes: set[int]) -> bool:
    vls, lanes = fabric.data_vls_of(port), lanes - {VL_DROP}
    if any(vl >= vls for vl in lanes):
        return False
    return vls == 1 or (port in fabric.vlarb and lanes <= fabric.table_of(port).served_vls(vls))
