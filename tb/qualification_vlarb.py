"""The stimulus that qualifies a VL arbiter: tables for every corner, traffic for every rule."""

from __future__ import annotations

from typing import NamedTuple

from vlane.tb.tables_vlarb import limit_tables, random_tables, weight_tables
from vlane.tb.traffic import Phase

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
    for table in range(len(corners), len(corners) + count):
        phases += [
            Phase(each, table, name="back to back", extremes=64),
            Phase(each, name="idle lanes", idle_bits=3 + table % 4, extremes=64, hold=8, vl15=2),
            Phase(
                each,
                name="stalls and resets",
                ready=160,
                idle_bits=2,
                hold=24,
                stall=48,
                vl15=6,
                reset=64,
                rewrite=4,
            ),
            Phase(each, table, name="small packets", most_blocks=3, idle_bits=table % 2, stall=8),
            Phase(each, name="few lanes", least_blocks=20, most_blocks=40, idle_bits=7, rewrite=2),
            Phase(2 * each, name="anything", wild=True),
            Phase(each, table, name="paced", most_blocks=4, paced=True, rewrite=16, stall=16, hold=8),
        ]
    drawn = random_tables(count, data_vls=data_vls, entries=entries, seed=seed)
    return Qualification((*corners, *drawn), tuple(phases))
