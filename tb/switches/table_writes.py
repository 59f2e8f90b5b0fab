"""Writes of a switch's tables under traffic, in a bench: forwarding table, map to lanes, settings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import below
from vlane.golden.switches.credit_starvation import starves
from vlane.golden.switches.marking import marks
from vlane.tables.lft import UNASSIGNED
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.marking_writes import draw_marking, show_marking
from vlane.tb.switches.starvation_rows import draw_starvation, show_starvation
from vlane.tb.switches.surroundings_switch import (
    SETTINGS,
    STARVATION,
    W_KIND,
    W_ONE,
    W_TWO,
    WRITES_LFT,
    WRITES_MAP,
    WRITES_MARKING,
    WRITES_NOTHING,
    WRITES_STARVATION,
    WRITES_TOP,
    WRITTEN,
    SwitchSurroundings,
)
from vlane.tb.switches.switch_kinds import apply_map, draw_map, show_map


@inner
def draw_write(around: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> int:
    """Draw a write and return its rule. Table writes affect heads that arrive in the same cycle or later."""
    ports, write = len(around.tx), around.written[slot]
    if marks(around.out_ports.marking) and below(bits, 2):
        draw_marking(around, slot, bits)
        return SETTINGS
    if starves(around.out_ports.starvation) and below(bits, 2):
        draw_starvation(around, slot, bits)
        return STARVATION
    write[W_KIND] = WRITES_MAP if below(bits, 2) else WRITES_LFT if below(bits, 8) else WRITES_TOP
    if write[W_KIND] == WRITES_MAP:
        draw_map(around.switches, around, slot, bits)
        return WRITTEN
    lids = len(around.lft)
    write[W_ONE] = below(bits, lids)  # also the reserved LID 0, whose entry must never be used
    if below(bits, 8) == 0:
        write[W_ONE] = below(bits, 65536) if below(bits, 2) else one_high_bit(lids, bits)
    if write[W_KIND] == WRITES_TOP and below(bits, 4):
        write[W_ONE] = lids - 1 if below(bits, 2) else one_high_bit(lids, bits)
    write[W_TWO] = below(bits, 256) if below(bits, 16) == 0 else below(bits, ports + 2)
    return WRITTEN


@inner
def one_high_bit(lids: int, bits: NDArray[np.uint64]) -> int:
    """Draw a LID that differs in one bit from a LID in the table: every bit of the look-up matters."""
    return below(bits, lids) | 1 << below(bits, 16)


@inner
def apply_write(around: SwitchSurroundings, cycle: int) -> None:
    """Apply the write of a cycle to golden's tables."""
    write, ports, lids = around.written[cycle % 4], len(around.tx), len(around.lft)
    if write[W_KIND] == WRITES_MAP:
        apply_map(around.switches, around, cycle % 4)
    elif write[W_KIND] == WRITES_TOP:
        around.top[0] = write[W_ONE]
    elif write[W_KIND] == WRITES_LFT and write[W_ONE] < lids:
        around.lft[write[W_ONE]] = write[W_TWO]
    if write[W_KIND] == WRITES_TOP or write[W_KIND] == WRITES_LFT:
        route_lids(around.lft, around.top[0], ports, around.switches.inputs.lft[0])
    write[W_KIND] = WRITES_NOTHING


@inner
def route_lids(lft: NDArray[np.uint8], top: int, ports: int, found: NDArray[np.uint8]) -> None:
    """Convert a table as programmed (ports from 1, valid up to its top) into golden's outputs (from 0)."""
    for lid in range(len(lft)):
        found[lid] = lft[lid] - 1 if 0 < lid <= top and 0 < lft[lid] <= ports else UNASSIGNED


@inner
def show_write(
    around: SwitchSurroundings,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    ins: NDArray[np.int64],
    first: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write the program ports' inputs. The write has no effect if ``is_enabled`` is false."""
    write = around.written[slot]
    if write[W_KIND] == WRITES_LFT or write[W_KIND] == WRITES_TOP:
        put(rows, row, ins, first, is_enabled)
        put(rows, row, ins, first + 1, write[W_KIND] == WRITES_TOP)
        put(rows, row, ins, first + 2, write[W_ONE])
        put(rows, row, ins, first + 3, write[W_TWO])
    elif write[W_KIND] == WRITES_MAP:
        show_map(around.switches, around, slot, rows, row, ins, first + 4, is_enabled)
    elif write[W_KIND] == WRITES_MARKING:
        show_marking(around, slot, rows, row, ins, is_enabled)
    elif write[W_KIND] == WRITES_STARVATION:
        show_starvation(around, slot, rows, row, ins, is_enabled)
    if not is_enabled:
        write[W_KIND] = WRITES_NOTHING
