"""Page with an explanation of arbitration tables for readers without knowledge of the terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isinf
from pathlib import Path
from typing import Any

from vlane.documents.files import usable_folder
from vlane.rates import LinkClock
from vlane.sim_top.fabric import vlarb_words as words
from vlane.sim_top.fabric.vlarb_explained import LevelGets, PortsAlike
from vlane.sim_top.output.page import Cell, Column, Page, Section, Table, Verdict, write
from vlane.tables.sl2vl import VL_DROP

_LAST = 1e300
"""Sort key of waits without a bound: after all other waits."""
_COLUMNS = (
    Column("level (SL)", form="d"),
    Column("lane (VL)", is_number=False),
    Column("share of the lane in a full cable (%)", form=".2f"),
    Column("Gb/s", form=".3g"),
    Column("share, by packet sizes (%)", is_number=False),
    Column("longest wait in the lane (us)"),
    Column("in words", is_number=False),
)


def in_words(level: LevelGets, clock: LinkClock) -> str:
    """Return the share and the wait of a level in a sentence."""
    if level.dropped:
        return words.DROPPED
    if not level.served:
        return words.UNSERVED
    low, high = (f"{share * clock.rate_gbps:.3g}" for share in (level.least, level.most))
    gets = words.GETS_RANGE.format(low, high) if low != high else words.GETS.format(low)
    if level.sharing:
        gets = words.TOGETHER.format(gets, listed(level.sharing))
    if isinf(level.wait_blocks):
        return words.GETS_ENDLESS.format(gets)
    return words.GETS_BOUNDED.format(gets, shown_wait(level, clock))


def shown_lanes(level: LevelGets) -> str:
    """Return the lanes of a level, and the levels with a lane in common."""
    lanes = ", ".join(map(str, level.vls))
    return words.LANE_TOGETHER.format(lanes, listed(level.sharing)) if level.sharing else lanes


def listed(numbers: Sequence[int]) -> str:
    """Return numbers as text: ``3``, ``3 and 4``, ``3, 4 and 5``."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def shown_wait(level: LevelGets, clock: LinkClock) -> str:
    """Return the longest wait in us as rounded text."""
    if isinf(level.wait_blocks):
        return words.NO_BOUND
    us = clock.ns(level.wait_blocks) / 1000
    return f"{us:,.0f}" if us >= 100 else f"{us:.3g}"


def write_vlarb_page(name: str, groups: Sequence[PortsAlike], clock: LinkClock, folder: Path) -> Path:
    """Write ``index.html`` into a folder, and return it.

    Raises
    ------
    InputError
        If the page cannot be written; the error names ``--page``.
    """
    usable_folder(folder, option="--page")
    reading = Section("How to read this", texts=(words.TURNS, words.MEANING))
    sections = [reading, *(_section(each, clock) for each in groups)]
    facts = [("Cables", f"{clock.rate_gbps:g} Gb/s"), ("Kinds of ports", str(len(groups)))]
    page = Page(f"{name}: what each service level gets", sections, [_verdict(groups)], facts)
    return write(page, folder / "index.html", option="--page")


def _verdict(groups: Sequence[PortsAlike]) -> Verdict:
    dropped = _sentence(words.DROPPED_LEVELS, groups, lambda level: VL_DROP in level.vls)
    starved = _sentence(words.STARVED, groups, lambda level: not level.dropped and not level.served)
    endless = _sentence(words.ENDLESS, groups, lambda level: level.served and isinf(level.wait_blocks))
    found = [each for each in (dropped, starved, endless) if each]
    kind = "bad" if dropped or starved else "warn" if endless else "good"
    return Verdict(kind, " ".join(found) or words.BOUNDED)


def _sentence(texts: tuple[str, str], groups: Sequence[PortsAlike], holds: Callable[[LevelGets], bool]) -> str:
    """Return a sentence about all levels with a property at some ports, empty without such levels.

    Parameters
    ----------
    texts : tuple of str
        Sentence for a level, and for several levels.
    groups : sequence of PortsAlike
        Kinds of ports.
    holds : callable
        The property. A level with several lanes at a port has the property at some ports only.
    """
    levels = [level for group in groups for level in group.levels]
    found = sorted({level.sl for level in levels if holds(level)})
    if not found:
        return ""
    everywhere = all(holds(level) and len(level.vls) == 1 for level in levels if level.sl in found)
    return texts[len(found) > 1].format(listed(found), "" if everywhere else words.AT_SOME_PORTS)


def _section(group: PortsAlike, clock: LinkClock) -> Section:
    names = group.names
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    limit = f"LimitOfHighPriority {group.table.limit_of_high_priority} is from {group.limit_source}"
    caption = f"Packets of up to {group.mtu} bytes; the ports are {shown}; {limit}"
    rows = [_row(level, clock) for level in group.levels]
    return Section(group.label, [Table(caption, _COLUMNS, rows)])


def _row(level: LevelGets, clock: LinkClock) -> list[Any]:
    wait = _LAST if isinf(level.wait_blocks) else level.wait_blocks
    return [
        level.sl,
        shown_lanes(level),
        100 * level.share,
        level.share * clock.rate_gbps,
        f"{100 * level.least:.2f} to {100 * level.most:.2f}",
        Cell(shown_wait(level, clock), is_number=True, order=wait),
        in_words(level, clock),
    ]
