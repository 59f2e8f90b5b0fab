"""The page that explains arbitration tables to people who do not know the terms."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from typing import Any

from vlane.documents.files import usable_folder
from vlane.rates import LinkClock
from vlane.sim_top.fabric.vlarb_explained import LevelGets, PortsAlike
from vlane.sim_top.output.page import Cell, Column, Page, Section, Table, Verdict, write

_LAST = 1e300
"""Sorts waits without a bound after all others."""
_TURNS = (
    "Every packet carries a service level, a number from 0 to 15 that whoever sends it has chosen. At every port a "
    "level is carried in a lane, a queue of its own; levels in one lane share it. A table of the port says how the "
    "lanes take turns on the cable. It matters only while a cable is wanted by more traffic than it can carry: then "
    "each lane gets the share below. What one lane does not use, the others get."
)
_MEANING = (
    "The share depends on how large packets are, since whole packets are sent: it is given for packets of the largest "
    "size, and from the least to the most if this level's packets, or all others, are small ones instead. The wait is "
    "how long a packet that is first in its lane may have to let others pass at one such port, at most; a packet that "
    "crosses several ports may wait at each. It does not count how long the next switch may have no room."
)
_COLUMNS = (
    Column("level (SL)", form="d"),
    Column("lane (VL)", is_number=False),
    Column("share of a full cable (%)", form=".2f"),
    Column("Gb/s", form=".3g"),
    Column("share, by packet sizes (%)", is_number=False),
    Column("longest wait (us)"),
    Column("in words", is_number=False),
)


def in_words(level: LevelGets, clock: LinkClock) -> str:
    """Return the share and the wait of a level in a sentence."""
    if level.dropped:
        return "packets of this level are dropped here"
    if not level.served:
        return (
            "packets of this level get no turn here while others send: no entry names their lane, or others starve it"
        )
    low, high = (f"{share * clock.rate_gbps:.3g}" for share in (level.least, level.most))
    gets = f"{low} to {high} Gb/s of a full cable" if low != high else f"{low} Gb/s of a full cable"
    if isinf(level.wait_blocks):
        return f"{gets}; there is no bound to how long a packet may wait"
    return f"{gets}; a packet waits at most {shown_wait(level, clock)} us for its turn"


def shown_wait(level: LevelGets, clock: LinkClock) -> str:
    """Return the longest wait in us, rounded for readers."""
    if isinf(level.wait_blocks):
        return "no bound"
    us = clock.ns(level.wait_blocks) / 1000
    return f"{us:,.0f}" if us >= 100 else f"{us:.3g}"


def write_vlarb_page(name: str, groups: Sequence[PortsAlike], clock: LinkClock, folder: Path) -> Path:
    """Write ``index.html`` into a folder; return it.

    Raises
    ------
    InputError
        Naming ``--page``, if the page cannot be written.
    """
    usable_folder(folder, option="--page")
    reading = Section("How to read this", texts=(_TURNS, _MEANING))
    sections = [reading, *(_section(each, clock) for each in groups)]
    facts = [("Cables", f"{clock.rate_gbps:g} Gb/s"), ("Kinds of ports", str(len(groups)))]
    page = Page(f"{name}: what each service level gets", sections, [_verdict(groups)], facts)
    return write(page, folder / "index.html", option="--page")


def _verdict(groups: Sequence[PortsAlike]) -> Verdict:
    levels = [level for group in groups for level in group.levels if not level.dropped]
    starved = sorted({level.sl for level in levels if not level.served})
    endless = sorted({level.sl for level in levels if level.served and isinf(level.wait_blocks)})
    if starved:
        return Verdict("bad", f"Level {', '.join(map(str, starved))} gets no turn at some ports while others send.")
    if endless:
        return Verdict("warn", f"Level {', '.join(map(str, endless))} may wait without limit at some ports.")
    return Verdict("good", "Every level gets its turn within a time that is known.")


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
        ", ".join(map(str, level.vls)),
        100 * level.share,
        level.share * clock.rate_gbps,
        f"{100 * level.least:.2f} to {100 * level.most:.2f}",
        Cell(shown_wait(level, clock), is_number=True, order=wait),
        in_words(level, clock),
    ]
