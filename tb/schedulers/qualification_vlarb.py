"""The stimulus that qualifies a VL arbiter: tables for every corner, traffic for every rule."""

from __future__ import annotations

from typing import NamedTuple

from vlane.tb.schedulers.tables_vlarb import limit_tables, random_tables, weight_tables
from vlane.tb.schedulers.traffic import Phase, varied

from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import VLArbTable

__all__ = ["Qualification", "qualification"]

_UNBOUNDED_BLOCKS = 255 * 64


class Qualification(NamedTuple):
    """Stimulus that reaches every rule: for the mutation check, the soak and planted faults.

    Parameters
    ----------
    tables : tuple of VLArbTable
        Random ones, and one per limit that a single bit tells from another.
    phases : tuple of Phase
        Traffic through each of them.
    """

    tables: tuple[VLArbTable, ...]
    phases: tuple[Phase, ...]


def qualification(*, data_vls: int, entries: int, cycles: int, seed: int) -> Qualification:
    """Return the qualification of an arbiter with these parameters, of about ``cycles`` cycles."""
    by_limit = limit_tables(data_vls=data_vls, entries=entries)
    settle = 2 * entries + 2
    phases = [
        Phase(
            settle + 2 * _UNBOUNDED_BLOCKS // MAX_PACKET_BLOCKS,
            table,
            name="limit",
            least_blocks=MAX_PACKET_BLOCKS,
        )
        for table in range(len(by_limit))
    ]
    by_weight = weight_tables(data_vls=data_vls, entries=entries)
    corners = (*by_limit, *by_weight)
    phases += [
        Phase(settle + 64, table, name="weight", most_blocks=2, idle_bits=2)
        for table in range(len(by_limit), len(corners))
    ]
    count = max(4, min(32, cycles // 12_000))
    each = max(settle * 2, (cycles - sum(phase.cycles for phase in phases)) // (count * 8))
    phases += varied(range(len(corners), len(corners) + count), each)
    drawn = random_tables(count, data_vls=data_vls, entries=entries, seed=seed)
    return Qualification((*corners, *drawn), tuple(phases))
