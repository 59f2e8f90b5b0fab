"""Tables and traffic that qualify a VL arbiter: every corner and every rule."""

from __future__ import annotations

from typing import NamedTuple

from vlane.schedulers.vlarb import VLArbTable
from vlane.tb.schedulers.traffic import Phase, varied_phases
from vlane.tb.schedulers.vlarb.tables import limit_tables, random_tables, weight_tables
from vlane.units import MAX_PACKET_BLOCKS

_LIMIT_BLOCKS = 64
_UNBOUNDED_BLOCKS = 255 * _LIMIT_BLOCKS


class Qualification(NamedTuple):
    """Plan that reaches every rule, for mutation checks, the soak and planted faults.

    Parameters
    ----------
    tables : tuple of VLArbTable
        Random tables, and one per limit that a single bit distinguishes from another.
    phases : tuple of Phase
        Traffic for each of the tables.
    """

    tables: tuple[VLArbTable, ...]
    phases: tuple[Phase, ...]


def qualification(
    *, data_vls: int, entries: int, cycles: int, seed: int, block_by_block: bool = False
) -> Qualification:
    """Return the qualification of an arbiter with these parameters, of about ``cycles`` cycles.

    For an arbiter that charges ``block_by_block`` every limit expires twice, if a third of the cycles suffices. Every
    weight is used up once in each bank, if a sixth of the cycles suffices.
    """
    by_limit = limit_tables(data_vls=data_vls, entries=entries)
    settle = 2 * entries + 2
    at_once = settle + 2 * _UNBOUNDED_BLOCKS // MAX_PACKET_BLOCKS
    more = [settle + 2 * _LIMIT_BLOCKS * table.limit_of_high_priority for table in by_limit]
    if not block_by_block or 3 * (sum(more) + at_once * len(more)) > cycles:
        more = [0] * len(by_limit)
    phases = [
        Phase(at_once + longer, table, name="limit", least_blocks=MAX_PACKET_BLOCKS)
        for table, longer in enumerate(more)
    ]
    by_weight = weight_tables(data_vls=data_vls, entries=entries)
    corners = (*by_limit, *by_weight)
    phases += [
        Phase(settle + 64, table, name="weight", most_blocks=2, idle_bits=2)
        for table in range(len(by_limit), len(corners))
    ]
    used_up = [
        Phase(settle + 64 + _blocks(corners[table], data_vls), table, name="weights run out", most_blocks=2)
        for table in range(len(by_limit), len(corners))
    ]
    if 12 * sum(phase.cycles for phase in used_up) <= cycles:
        phases += 2 * used_up  # their number is odd, so each table is in the other bank the second time
    count = max(4, min(32, cycles // 12_000))
    each = max(settle * 2, (cycles - sum(phase.cycles for phase in phases)) // (count * 8))
    phases += varied_phases(range(len(corners), len(corners) + count), each)
    drawn = random_tables(count, data_vls=data_vls, entries=entries, seed=seed)
    return Qualification((*corners, *drawn), tuple(phases))


def _blocks(table: VLArbTable, data_vls: int) -> int:
    """Return the number of blocks after which every data lane has used up all its weights."""
    return sum(entry.weight for entry in (*table.high, *table.low) if entry.vl < data_vls)
