"""InfiniBand part of a switch's rows: headers with a VL, SL2VL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import below
from vlane.golden.engine.rule import Rule
from vlane.golden.switches.ib_switch import FasterIBSwitches
from vlane.golden.switches.inputs import DROPPED, crosses_until
from vlane.golden.switches.packets import Packet
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.tables.sl2vl import SL_COUNT
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.flits import on_lane
from vlane.tb.switches.surroundings_switch import CLOCK, W_ONE, W_THREE, W_TWO, SwitchSurroundings
from vlane.tb.switches.surroundings_switch import RULES as SHARED_RULES

_NUMBERS = 16
_PASSES = 0x0F0F_0000_F800_FFFF
"""Header bits that pass through unchanged: link version, reserved bits, next header, SLID."""

PAIRS = {
    Rule("two_crossed", "IBS-S1", "a packet of several flits was granted: its first two cross together"): 2,
    Rule(
        "last_alone",
        "IBS-S1",
        "a packet with an odd number of flits was granted: its last flit crosses without another one",
    ): 3,
    Rule("half_the_time", "IBS-S2", "a packet of three or more flits was granted after all of it had arrived"): 3,
    Rule("as_they_come", "IBS-S2", "a packet was granted that occupies its ports until its last flit has arrived"): 6,
    Rule("two_discarded", "IBS-10, IBS-S1", "a packet of several flits is dropped, two flits per cycle"): 2,
}
"""Rules of a crossbar faster than the links, with the size of the smallest packet that reaches each, in blocks."""

RULES = (*SHARED_RULES, *PAIRS)
(TWO, ALONE, HALF, AS_THEY_COME, DISCARDED) = range(len(SHARED_RULES), len(RULES))


def rules_shown(parameters: IBSwitchParameters) -> set[str]:
    """Return the names of the rules reachable in an instance but not in every switch."""
    largest = parameters.largest if parameters.speed > 1 else 0
    return {rule.name for rule in SHARED_RULES} | {rule.name for rule, blocks in PAIRS.items() if blocks <= largest}


@inner
def lane_numbers(switches: Any) -> int:
    """Return how many lanes a link can name."""
    return _NUMBERS


@inner
def describe(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet with a random SL. The stamp is the VL."""
    return _PASSES, below(bits, SL_COUNT), 0, lane


@inner
def stamp_of(switches: Any, field: Packet, lane: int) -> int:
    """Return the stamp: the VL."""
    return lane


@inner
def stamped(switches: Any, header: int, stamp: int) -> Any:
    """Return a header with its VL."""
    return on_lane(header, stamp)


@inner
def count_kinds(switches: Any, around: SwitchSurroundings, count: int, rules: NDArray[np.int64]) -> None:
    """Do nothing: InfiniBand has no rules about kinds of grants."""


@inner
def count_pairs(switches: FasterIBSwitches, around: SwitchSurroundings, count: int, rules: NDArray[np.int64]) -> None:
    """Count the grants of packets whose flits cross two per cycle. A dropped packet counts only as discarded."""
    cycle = around.regs[CLOCK]
    for index in range(count):
        field = around.packets.pool[around.grants[index].packet]
        flits, ahead = int(field.flits), cycle - field.arrived
        if flits == 1:
            continue
        if field.output == DROPPED:
            rules[DISCARDED] += 1
            continue
        until = crosses_until(cycle, flits, ahead, switches.speed)
        rules[TWO] += 1
        rules[ALONE] += flits & 1
        rules[HALF] += flits > 2 and ahead >= flits
        rules[AS_THEY_COME] += until > cycle + (flits + 1) // 2


@inner
def draw_map(switches: Any, around: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> None:
    """Draw a row of SL2VL, occasionally for an absent port or with an absent lane."""
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
    """Apply a write to golden's SL2VL, for one input or for all."""
    write, ports = around.written[slot], len(around.tx)
    for port in range(ports):
        if write[W_TWO] < ports and (write[W_THREE] != 0 or port == write[W_ONE]):
            for sl in range(SL_COUNT):
                lane = int(around.rows[slot] >> np.uint64(4 * sl)) & 15
                switches.tables.vl[switches.tables.row[0, port], write[W_TWO], sl] = lane


@inner
def show_map(
    switches: Any,
    around: SwitchSurroundings,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    ins: NDArray[np.int64],
    first: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write a row of SL2VL to the program port."""
    write = around.written[slot]
    put(rows, row, ins, first, is_enabled)
    put(rows, row, ins, first + 1, write[W_THREE])
    put(rows, row, ins, first + 2, write[W_ONE])
    put(rows, row, ins, first + 3, write[W_TWO])
    put(rows, row, ins, first + 4, around.rows[slot])
