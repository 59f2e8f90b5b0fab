"""Writes of a switch's congestion settings under traffic, in a bench."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, RATE_BITS, SIZE_BITS, CCMarkerSelect
from vlane.congestion.marking_write import PORT_BITS
from vlane.golden.congestion.markers import set_marking_rate, set_port_element, set_threshold, set_victim_mask
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.switches.marking import Marking
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.switch_environment import (
    W_FIVE,
    W_FOUR,
    W_KIND,
    W_ONE,
    W_THREE,
    W_TWO,
    WRITES_MARKING,
    SwitchEnvironment,
)

_NAMES = (
    "enable",
    "select",
    "port",
    "threshold",
    "packet_size",
    "marking_rate",
    "valid",
    "control_type",
    "victim_mask",
)
MARKING_PROGRAM = tuple(f"congestion__{name}" for name in _NAMES)
"""Inputs of the settings' program port, in the order of a row, at the row's end."""

_MASK, _THRESHOLD, _RATE = (
    int(each) for each in (CCMarkerSelect.VICTIM_MASK, CCMarkerSelect.THRESHOLD, CCMarkerSelect.MARKING_RATE)
)
_PORT = int(CCMarkerSelect.PORT)
_SELECTS, _VALID, _STARVES = len(CCMarkerSelect), 1 << SIZE_BITS, 1 << SIZE_BITS + 1
_SIZES = _VALID - 1
"""``W_FOUR`` holds Packet_Size and, above it, the element's valid bit and whether it is for credit starvation."""


@inner
def draw_marking(environment: SwitchEnvironment, slot: int, rng: NDArray[np.uint64]) -> None:
    """Draw a write of congestion settings. A few writes address an absent output or have arbitrary values."""
    write, ports = environment.written[slot], len(environment.tx)
    write[W_KIND], write[W_ONE] = WRITES_MARKING, draw_below(rng, _SELECTS)
    write[W_TWO] = draw_below(rng, 1 << PORT_BITS) if draw_below(rng, 16) == 0 else draw_below(rng, ports)
    high = LARGEST_THRESHOLD - draw_below(rng, 4)
    write[W_THREE] = draw_below(rng, LARGEST_THRESHOLD + 1) if draw_below(rng, 4) == 0 else high
    size = draw_below(rng, _VALID) if draw_below(rng, 16) == 0 else draw_below(rng, 3)
    write[W_FOUR] = size + _VALID * (draw_below(rng, 4) != 0) + _STARVES * (draw_below(rng, 8) == 0)
    write[W_FIVE] = draw_below(rng, 1 << RATE_BITS) if draw_below(rng, 16) == 0 else draw_below(rng, 4)
    environment.rows[slot] = draw_bits(rng)


@inner
def _apply(marking: Marking, environment: SwitchEnvironment, cycle: int) -> None:
    slot, markers = cycle % 4, marking.markers
    write = environment.written[slot]
    if write[W_KIND] != WRITES_MARKING:
        return
    for port in range(len(environment.tx)):
        if write[W_ONE] == _MASK:
            set_victim_mask(markers, port, int(environment.rows[slot] >> np.uint64(port)) & 1)
        elif write[W_ONE] == _THRESHOLD:
            set_threshold(markers, port, write[W_THREE], write[W_FOUR] & _SIZES)
        elif write[W_ONE] == _RATE:
            set_marking_rate(markers, port, write[W_FIVE])
        elif write[W_TWO] == port:
            is_valid, starves = write[W_FOUR] & _VALID != 0, write[W_FOUR] & _STARVES != 0
            set_port_element(
                markers, port, int(is_valid), int(starves), write[W_THREE], write[W_FOUR] & _SIZES, write[W_FIVE]
            )


@by_type({Marking: _apply}, default=True)
def apply_marking(marking: Any, environment: SwitchEnvironment, cycle: int) -> None:
    """Apply the settings written in a cycle to golden's markers (IBS-M3)."""


@inner
def element_of(environment: SwitchEnvironment, slot: int) -> tuple[int, int, int, int]:
    """Return (port, is for credit starvation, threshold, parameter) of the written port element.

    The port is -1 if the write is not one of an element.
    """
    write = environment.written[slot]
    if write[W_KIND] != WRITES_MARKING or write[W_ONE] != _PORT:
        return -1, 0, 0, 0
    both = _VALID | _STARVES
    return write[W_TWO], int(write[W_FOUR] & both == both), write[W_THREE], write[W_FIVE]


@inner
def write_marking_inputs(
    environment: SwitchEnvironment,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    input_fields: NDArray[np.int64],
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Drive the program port of the congestion settings with the stored write."""
    write, first = environment.written[slot], len(input_fields) - len(MARKING_PROGRAM)
    put(rows, row, input_fields, first, is_enabled)
    put(rows, row, input_fields, first + 1, write[W_ONE])
    put(rows, row, input_fields, first + 2, write[W_TWO])
    put(rows, row, input_fields, first + 3, write[W_THREE])
    put(rows, row, input_fields, first + 4, write[W_FOUR] & _SIZES)
    put(rows, row, input_fields, first + 5, write[W_FIVE])
    put(rows, row, input_fields, first + 6, write[W_FOUR] & _VALID != 0)
    put(rows, row, input_fields, first + 7, write[W_FOUR] & _STARVES != 0)
    put(rows, row, input_fields, first + 8, environment.rows[slot])
