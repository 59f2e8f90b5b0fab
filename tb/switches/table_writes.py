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
from vlane.tb.switches.marking_writes import draw_marking, write_marking_inputs
from vlane.tb.switches.starvation_rows import draw_starvation, write_starvation_inputs
from vlane.tb.switches.switch_environment import (
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
    SwitchEnvironment,
)
from vlane.tb.switches.switch_kinds import apply_map, draw_map, write_map_inputs


@inner
def draw_write(environment: SwitchEnvironment, slot: int, rng: NDArray[np.uint64]) -> int:
    """Draw a write and return its rule. Table writes affect heads that arrive in the same cycle or later."""
    ports, write = len(environment.tx), environment.written[slot]
    if marking_enabled(environment.out_ports.marking) and draw_below(rng, 2):
        draw_marking(environment, slot, rng)
        return SETTINGS
    if models_starvation(environment.out_ports.starvation) and draw_below(rng, 2):
        draw_starvation(environment, slot, rng)
        return STARVATION
    write[W_KIND] = WRITES_MAP if draw_below(rng, 2) else WRITES_LFT if draw_below(rng, 8) else WRITES_TOP
    if write[W_KIND] == WRITES_MAP:
        draw_map(environment.switches, environment, slot, rng)
        return WRITTEN
    lids = len(environment.lft)
    write[W_ONE] = draw_below(rng, lids)  # also the reserved LID 0, whose entry must never be used
    if draw_below(rng, 8) == 0:
        write[W_ONE] = draw_below(rng, 65536) if draw_below(rng, 2) else one_high_bit(lids, rng)
    if write[W_KIND] == WRITES_TOP and draw_below(rng, 4):
        write[W_ONE] = lids - 1 if draw_below(rng, 2) else one_high_bit(lids, rng)
    write[W_TWO] = draw_below(rng, 256) if draw_below(rng, 16) == 0 else draw_below(rng, ports + 2)
    return WRITTEN


@inner
def one_high_bit(lids: int, rng: NDArray[np.uint64]) -> int:
    """Draw a LID that differs in one bit from a LID in the table: every bit of the look-up matters."""
    return draw_below(rng, lids) | 1 << draw_below(rng, 16)


@inner
def apply_write(environment: SwitchEnvironment, cycle: int) -> None:
    """Apply the write of a cycle to golden's tables."""
    write, ports, lids = environment.written[cycle % 4], len(environment.tx), len(environment.lft)
    if write[W_KIND] == WRITES_MAP:
        apply_map(environment.switches, environment, cycle % 4)
    elif write[W_KIND] == WRITES_TOP:
        environment.top[0] = write[W_ONE]
    elif write[W_KIND] == WRITES_LFT and write[W_ONE] < lids:
        environment.lft[write[W_ONE]] = write[W_TWO]
    if write[W_KIND] == WRITES_TOP or write[W_KIND] == WRITES_LFT:
        route_lids(environment.lft, environment.top[0], ports, environment.switches.inputs.lft[0])
    write[W_KIND] = WRITES_NOTHING


@inner
def route_lids(lft: NDArray[np.uint8], top: int, ports: int, outputs: NDArray[np.uint8]) -> None:
    """Convert a table as programmed (ports from 1, valid up to its top) into golden's outputs (from 0)."""
    for lid in range(len(lft)):
        outputs[lid] = lft[lid] - 1 if 0 < lid <= top and 0 < lft[lid] <= ports else UNASSIGNED


@inner
def write_table_inputs(
    environment: SwitchEnvironment,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    input_fields: NDArray[np.int64],
    first_port: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write the program ports' inputs. The write has no effect if ``is_enabled`` is false."""
    write = environment.written[slot]
    if write[W_KIND] == WRITES_LFT or write[W_KIND] == WRITES_TOP:
        put(rows, row, input_fields, first_port, is_enabled)
        put(rows, row, input_fields, first_port + 1, write[W_KIND] == WRITES_TOP)
        put(rows, row, input_fields, first_port + 2, write[W_ONE])
        put(rows, row, input_fields, first_port + 3, write[W_TWO])
    elif write[W_KIND] == WRITES_MAP:
        write_map_inputs(environment.switches, environment, slot, rows, row, input_fields, first_port + 4, is_enabled)
    elif write[W_KIND] == WRITES_MARKING:
        write_marking_inputs(environment, slot, rows, row, input_fields, is_enabled)
    elif write[W_KIND] == WRITES_STARVATION:
        write_starvation_inputs(environment, slot, rows, row, input_fields, is_enabled)
    if not is_enabled:
        write[W_KIND] = WRITES_NOTHING
