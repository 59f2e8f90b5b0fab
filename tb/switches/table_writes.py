"""Writes of a switch's tables under traffic, in a bench: forwarding table, map to lanes, settings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.switches.credit_starvation import models_starvation
from vlane.golden.switches.marking import marking_enabled
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
def draw_write(surroundings: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> int:
    """Draw a write and return its rule. Table writes affect heads that arrive in the same cycle or later."""
    ports, write = len(surroundings.tx), surroundings.written[slot]
    if marking_enabled(surroundings.out_ports.marking) and draw_below(bits, 2):
        draw_marking(surroundings, slot, bits)
        return SETTINGS
    if models_starvation(surroundings.out_ports.starvation) and draw_below(bits, 2):
        draw_starvation(surroundings, slot, bits)
        return STARVATION
    write[W_KIND] = WRITES_MAP if draw_below(bits, 2) else WRITES_LFT if draw_below(bits, 8) else WRITES_TOP
    if write[W_KIND] == WRITES_MAP:
        draw_map(surroundings.switches, surroundings, slot, bits)
        return WRITTEN
    lids = len(surroundings.lft)
    write[W_ONE] = draw_below(bits, lids)  # also the reserved LID 0, whose entry must never be used
    if draw_below(bits, 8) == 0:
        write[W_ONE] = draw_below(bits, 65536) if draw_below(bits, 2) else one_high_bit(lids, bits)
    if write[W_KIND] == WRITES_TOP and draw_below(bits, 4):
        write[W_ONE] = lids - 1 if draw_below(bits, 2) else one_high_bit(lids, bits)
    write[W_TWO] = draw_below(bits, 256) if draw_below(bits, 16) == 0 else draw_below(bits, ports + 2)
    return WRITTEN


@inner
def one_high_bit(lids: int, bits: NDArray[np.uint64]) -> int:
    """Draw a LID that differs in one bit from a LID in the table: every bit of the look-up matters."""
    return draw_below(bits, lids) | 1 << draw_below(bits, 16)


@inner
def apply_write(surroundings: SwitchSurroundings, cycle: int) -> None:
    """Apply the write of a cycle to golden's tables."""
    write, ports, lids = surroundings.written[cycle % 4], len(surroundings.tx), len(surroundings.lft)
    if write[W_KIND] == WRITES_MAP:
        apply_map(surroundings.switches, surroundings, cycle % 4)
    elif write[W_KIND] == WRITES_TOP:
        surroundings.top[0] = write[W_ONE]
    elif write[W_KIND] == WRITES_LFT and write[W_ONE] < lids:
        surroundings.lft[write[W_ONE]] = write[W_TWO]
    if write[W_KIND] == WRITES_TOP or write[W_KIND] == WRITES_LFT:
        route_lids(surroundings.lft, surroundings.top[0], ports, surroundings.switches.inputs.lft[0])
    write[W_KIND] = WRITES_NOTHING


@inner
def route_lids(lft: NDArray[np.uint8], top: int, ports: int, found: NDArray[np.uint8]) -> None:
    """Convert a table as programmed (ports from 1, valid up to its top) into golden's outputs (from 0)."""
    for lid in range(len(lft)):
        found[lid] = lft[lid] - 1 if 0 < lid <= top and 0 < lft[lid] <= ports else UNASSIGNED


@inner
def show_write(
    surroundings: SwitchSurroundings,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    ins: NDArray[np.int64],
    first: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write the program ports' inputs. The write has no effect if ``is_enabled`` is false."""
    write = surroundings.written[slot]
    if write[W_KIND] == WRITES_LFT or write[W_KIND] == WRITES_TOP:
        put(rows, row, ins, first, is_enabled)
        put(rows, row, ins, first + 1, write[W_KIND] == WRITES_TOP)
        put(rows, row, ins, first + 2, write[W_ONE])
        put(rows, row, ins, first + 3, write[W_TWO])
    elif write[W_KIND] == WRITES_MAP:
        show_map(surroundings.switches, surroundings, slot, rows, row, ins, first + 4, is_enabled)
    elif write[W_KIND] == WRITES_MARKING:
        show_marking(surroundings, slot, rows, row, ins, is_enabled)
    elif write[W_KIND] == WRITES_STARVATION:
        show_starvation(surroundings, slot, rows, row, ins, is_enabled)
    if not is_enabled:
        write[W_KIND] = WRITES_NOTHING
