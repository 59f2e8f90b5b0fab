"""What is InfiniBand's in the rows of a switch: headers with a VL, SL2VL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import below
from vlane.golden.switches.packets import Packet
from vlane.tb.native.packing import put
from vlane.tb.switches.flits import on_lane
from vlane.tb.switches.surroundings_switch import W_ONE, W_THREE, W_TWO, SwitchSurroundings

from vlane.sl2vl import SL_COUNT

__all__ = ["apply_map", "count_kinds", "describe", "draw_map", "lane_numbers", "show_map", "stamp_of", "stamped"]

_NUMBERS = 16
_PASSES = 0x0F0F_0000_F800_FFFF
"""Bits of a header that pass through: link version, reserved ones, next header, SLID."""


@inner
def lane_numbers(switches: Any) -> int:
    """Return how many lanes a link can name."""
    return _NUMBERS


@inner
def describe(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet: any SL; its stamp is its VL."""
    return _PASSES, below(bits, SL_COUNT), 0, lane


@inner
def stamp_of(switches: Any, field: Packet, lane: int) -> int:
    """Return the VL."""
    return lane


@inner
def stamped(switches: Any, header: int, stamp: int) -> Any:
    """Return a header with its VL."""
    return on_lane(header, stamp)


@inner
def count_kinds(switches: Any, around: SwitchSurroundings, count: int, rules: NDArray[np.int64]) -> None:
    """No rules of its own."""


@inner
def draw_map(switches: Any, around: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> None:
    """Draw a row of SL2VL, now and then for a port or with a lane that is not there."""
    ports, write = len(around.tx), around.written[slot]
    beyond = 64 if below(bits, 16) == 0 else ports
    write[W_ONE], write[W_TWO], write[W_THREE] = below(bits, beyond), below(bits, beyond), below(bits, 8) == 0
    row = np.uint64(0)
    for sl in range(SL_COUNT):
        lane = below(bits, _NUMBERS if below(bits, 16) == 0 else around.up.taken.shape[1])
        row |= np.uint64(lane) << np.uint64(4 * sl)
    around.rows[slot] = row


@inner
def apply_map(switches: Any, around: SwitchSurroundings, slot: int) -> None:
    """Let golden's SL2VL hold what was written: of one input, or of all."""
    write, ports = around.written[slot], len(around.tx)
    for port in range(ports):
        if write[W_TWO] < ports and (write[W_THREE] != 0 or port == write[W_ONE]):
            for sl in range(SL_COUNT):
                lane = int(around.rows[slot] >> np.uint64(4 * sl)) & 15
                switches.tables.vl[switches.tables.row[0, port], write[W_TWO], sl] = lane


@inner
def show_map(
    switches: Any, around: SwitchSurroundings, slot: int, rows: NDArray[np.uint64], row: int, ins: NDArray[np.int64],
    first: int,
) -> None:  # fmt: skip
    """Write it to the program port."""
    write = around.written[slot]
    put(rows, row, ins, first, 1)
    put(rows, row, ins, first + 1, write[W_THREE])
    put(rows, row, ins, first + 2, write[W_ONE])
    put(rows, row, ins, first + 3, write[W_TWO])
    put(rows, row, ins, first + 4, around.rows[slot])
