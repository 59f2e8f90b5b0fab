"""InfiniBand part of a switch's rows: headers with a VL, SL2VL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.engine.rule import Rule
from vlane.golden.switches.fast_switch import FastSwitches
from vlane.golden.switches.ib_switch import FasterIBSwitches
from vlane.golden.switches.inputs import DROPPED, last_crossing_cycle
from vlane.golden.switches.packets import NOBODY, Packet
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

LATE = (
    Rule("refused", "IBF-3", "a bid was refused"),
    Rule("refused_with_first", "IBF-3", "a bid was refused with the bid before it"),
    Rule("overtook", "IBF-4", "the second packet of a VL was granted before the first one"),
    Rule("closed", "IBF-6", "an output buffer was closed for a VL"),
)
"""Rules of the fast form."""

RULES = (*SHARED_RULES, *PAIRS, *LATE)
(TWO, ALONE, HALF, AS_THEY_COME, DISCARDED, REFUSED, WITH_FIRST, OVERTOOK, CLOSED) = range(
    len(SHARED_RULES), len(RULES)
)
_FULL_AGES = 4
_DROP_DELAY = 2
"""Cycles by which the fast form reports drops later (IBF-8)."""


def rules_shown(parameters: IBSwitchParameters) -> set[str]:
    """Return the names of the rules reachable in an instance but not in every switch."""
    largest = parameters.largest if parameters.speed > 1 else 0
    late = LATE if parameters.switch_form.late else ()
    pairs = {rule.name for rule, blocks in PAIRS.items() if blocks <= largest}
    return {rule.name for rule in (*SHARED_RULES, *late)} | pairs


@inner
def lane_numbers(switches: Any) -> int:
    """Return how many lanes a link can name."""
    return _NUMBERS


@inner
def describe(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet with a random SL. The stamp is the VL."""
    return _PASSES, draw_below(bits, SL_COUNT), 0, lane


@inner
def stamp_of(switches: Any, field: Packet, lane: int) -> int:
    """Return the stamp: the VL."""
    return lane


@inner
def stamped(switches: Any, header: int, stamp: int) -> Any:
    """Return a header with its VL."""
    return on_lane(header, stamp)


@inner
def count_kinds(switches: Any, surroundings: SwitchSurroundings, count: int, rules: NDArray[np.int64]) -> None:
    """Do nothing: InfiniBand has no rules about kinds of grants."""


@inner
def count_pairs(
    switches: FasterIBSwitches, surroundings: SwitchSurroundings, count: int, rules: NDArray[np.int64]
) -> None:
    """Count the grants of packets whose flits cross two per cycle. A dropped packet counts only as discarded."""
    cycle = surroundings.regs[CLOCK]
    for index in range(count):
        field = surroundings.packets.pool[surroundings.grants[index].packet]
        flits, ahead = int(field.flits), cycle - field.arrived
        if flits == 1:
            continue
        if field.output == DROPPED:
            rules[DISCARDED] += 1
            continue
        until = last_crossing_cycle(cycle, flits, ahead, switches.speed)
        rules[TWO] += 1
        rules[ALONE] += flits & 1
        rules[HALF] += flits > 2 and ahead >= flits
        rules[AS_THEY_COME] += until > cycle + (flits + 1) // 2


@inner
def count_late(switches: FastSwitches, surroundings: SwitchSurroundings, count: int, rules: NDArray[np.int64]) -> None:
    """Count refused bids, packets that overtook, and closed output buffers."""
    packets, lanes = surroundings.packets, surroundings.up.taken.shape[1]
    for port in range(len(surroundings.tx)):
        refused = switches.bid[port].refused
        rules[REFUSED] += refused == 1
        rules[WITH_FIRST] += refused > 1
        rules[CLOSED] += switches.open[surroundings.regs[CLOCK] % len(switches.open), port] != (1 << lanes) - 1
    for index in range(count):
        grant = surroundings.grants[index]
        first = int(switches.inputs.queues.queue[grant.port, grant.lane].head)
        if first != NOBODY:
            rules[OVERTOOK] += packets.pool[first].arrived < packets.pool[grant.packet].arrived


@inner
def fast_drop_delay(switches: Any) -> int:
    """Return by how many cycles the fast form reports a drop later (IBF-8)."""
    return _DROP_DELAY


@inner
def note_full(switches: Any, surroundings: SwitchSurroundings, cycle: int) -> None:
    """Note which lanes of the inputs hold their maximum, after the returns of a cycle (IBF-9)."""
    buffers = surroundings.input_buffers
    for port in range(len(surroundings.tx)):
        found = 0
        for lane in range(surroundings.up.taken.shape[1]):
            if buffers.taken[port, lane].blocks >= buffers.bounds[0, lane].maximum:
                found |= 1 << lane
        surroundings.full[port, cycle % _FULL_AGES] = found


@inner
def was_not_full(
    switches: Any, surroundings: SwitchSurroundings, port: int, lane: int, blocks: int, cycle: int
) -> bool:
    """Return whether an input accepts a packet: its lane was not full two cycles before (IBF-9)."""
    return bool((surroundings.full[port, (cycle - 2) % _FULL_AGES] >> lane) & 1 == 0)


@inner
def draw_map(switches: Any, surroundings: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> None:
    """Draw a row of SL2VL, occasionally for an absent port or with an absent lane."""
    ports, write = len(surroundings.tx), surroundings.written[slot]
    beyond = 64 if draw_below(bits, 16) == 0 else ports
    write[W_ONE], write[W_TWO], write[W_THREE] = (
        draw_below(bits, beyond),
        draw_below(bits, beyond),
        draw_below(bits, 8) == 0,
    )
    row = np.uint64(0)
    for sl in range(SL_COUNT):
        lane = draw_below(bits, _NUMBERS if draw_below(bits, 16) == 0 else surroundings.up.taken.shape[1])
        row |= np.uint64(lane) << np.uint64(4 * sl)
    surroundings.rows[slot] = row


@inner
def apply_map(switches: Any, surroundings: SwitchSurroundings, slot: int) -> None:
    """Apply a write to golden's SL2VL, for one input or for all."""
    write, ports = surroundings.written[slot], len(surroundings.tx)
    for port in range(ports):
        if write[W_TWO] < ports and (write[W_THREE] != 0 or port == write[W_ONE]):
            for sl in range(SL_COUNT):
                lane = int(surroundings.rows[slot] >> np.uint64(4 * sl)) & 15
                switches.tables.vl[switches.tables.row[0, port], write[W_TWO], sl] = lane


@inner
def show_map(
    switches: Any,
    surroundings: SwitchSurroundings,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    ins: NDArray[np.int64],
    first: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write a row of SL2VL to the program port."""
    write = surroundings.written[slot]
    put(rows, row, ins, first, is_enabled)
    put(rows, row, ins, first + 1, write[W_THREE])
    put(rows, row, ins, first + 2, write[W_ONE])
    put(rows, row, ins, first + 3, write[W_TWO])
    put(rows, row, ins, first + 4, surroundings.rows[slot])
