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
from vlane.tb.switches.flits import header_with_vl
from vlane.tb.switches.switch_environment import CLOCK, W_ONE, W_THREE, W_TWO, SwitchEnvironment
from vlane.tb.switches.switch_environment import RULES as SHARED_RULES

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


def reachable_rules(parameters: IBSwitchParameters) -> set[str]:
    """Return the names of the rules that this instance can reach: shared rules, and rules of the speed and the form."""
    largest = parameters.largest if parameters.speed > 1 else 0
    late = LATE if parameters.switch_form.late else ()
    pairs = {rule.name for rule, blocks in PAIRS.items() if blocks <= largest}
    return {rule.name for rule in (*SHARED_RULES, *late)} | pairs


@inner
def lane_numbers(switches: Any) -> int:
    """Return the number of VLs that a header can encode, 16."""
    return _NUMBERS


@inner
def draw_packet(switches: Any, lane: int, rng: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet with a random SL and return (constant header bits, SL, next opcode bits, VL)."""
    return _PASSES, draw_below(rng, SL_COUNT), 0, lane


@inner
def outgoing_vl(switches: Any, field: Packet, lane: int) -> int:
    """Return the VL that the switch writes into the header."""
    return lane


@inner
def with_vl(switches: Any, header: int, stamp: int) -> Any:
    """Return the header with its VL set to ``stamp``."""
    return header_with_vl(header, stamp)


@inner
def count_no_grant_rules(
    switches: Any, environment: SwitchEnvironment, count: int, rule_counts: NDArray[np.int64]
) -> None:
    """Do nothing: this form has no rules about grants."""


@inner
def count_two_flit_grants(
    switches: FasterIBSwitches, environment: SwitchEnvironment, count: int, rule_counts: NDArray[np.int64]
) -> None:
    """Count rules of a double-speed crossbar for each grant of a packet of several flits.

    A dropped packet counts only for the rule of discarded flits.
    """
    cycle = environment.regs[CLOCK]
    for index in range(count):
        field = environment.packets.pool[environment.grants[index].packet]
        flits, ahead = int(field.flits), cycle - field.head_arrival
        if flits == 1:
            continue
        if field.output == DROPPED:
            rule_counts[DISCARDED] += 1
            continue
        until = last_crossing_cycle(cycle, flits, ahead, switches.speed)
        rule_counts[TWO] += 1
        rule_counts[ALONE] += flits & 1
        rule_counts[HALF] += flits > 2 and ahead >= flits
        rule_counts[AS_THEY_COME] += until > cycle + (flits + 1) // 2


@inner
def count_bid_rules(
    switches: FastSwitches, environment: SwitchEnvironment, count: int, rule_counts: NDArray[np.int64]
) -> None:
    """Count refused bids, packets granted before an older one of their VL, and closed output buffers."""
    packets, lanes = environment.packets, environment.up.lane.shape[1]
    for port in range(len(environment.tx)):
        refused = switches.bid[port].last_refused
        rule_counts[REFUSED] += refused == 1
        rule_counts[WITH_FIRST] += refused > 1
        rule_counts[CLOSED] += (
            switches.lanes_with_space[environment.regs[CLOCK] % len(switches.lanes_with_space), port]
            != (1 << lanes) - 1
        )
    for index in range(count):
        grant = environment.grants[index]
        first = int(switches.inputs.queues.queue[grant.port, grant.lane].head)
        if first != NOBODY:
            rule_counts[OVERTOOK] += packets.pool[first].head_arrival < packets.pool[grant.packet].head_arrival


@inner
def fast_drop_delay(switches: Any) -> int:
    """Return by how many cycles the fast form reports a drop later than the exact form (IBF-8)."""
    return _DROP_DELAY


@inner
def note_full(switches: Any, environment: SwitchEnvironment, cycle: int) -> None:
    """Record which lanes of each input buffer are at their maximum, after the returns of a cycle (IBF-9)."""
    buffers = environment.input_buffers
    for port in range(len(environment.tx)):
        found = 0
        for lane in range(environment.up.lane.shape[1]):
            if buffers.lane[port, lane].blocks >= buffers.bounds[0, lane].maximum:
                found |= 1 << lane
        environment.full[port, cycle % _FULL_AGES] = found


@inner
def was_not_full(switches: Any, environment: SwitchEnvironment, port: int, lane: int, blocks: int, cycle: int) -> bool:
    """Return whether an input accepts a packet, that is, its lane was not full two cycles ago (IBF-9)."""
    return bool((environment.full[port, (cycle - 2) % _FULL_AGES] >> lane) & 1 == 0)


@inner
def draw_map(switches: Any, environment: SwitchEnvironment, slot: int, rng: NDArray[np.uint64]) -> None:
    """Draw a write of an SL2VL row, occasionally for an absent port or with an absent VL."""
    ports, write = len(environment.tx), environment.written[slot]
    beyond = 64 if draw_below(rng, 16) == 0 else ports
    write[W_ONE], write[W_TWO], write[W_THREE] = (
        draw_below(rng, beyond),
        draw_below(rng, beyond),
        draw_below(rng, 8) == 0,
    )
    row = np.uint64(0)
    for sl in range(SL_COUNT):
        lane = draw_below(rng, _NUMBERS if draw_below(rng, 16) == 0 else environment.up.lane.shape[1])
        row |= np.uint64(lane) << np.uint64(4 * sl)
    environment.rows[slot] = row


@inner
def apply_map(switches: Any, environment: SwitchEnvironment, slot: int) -> None:
    """Apply a stored SL2VL write to golden's table, for one input or for all."""
    write, ports = environment.written[slot], len(environment.tx)
    for port in range(ports):
        if write[W_TWO] < ports and (write[W_THREE] != 0 or port == write[W_ONE]):
            for sl in range(SL_COUNT):
                lane = int(environment.rows[slot] >> np.uint64(4 * sl)) & 15
                switches.tables.vl[switches.tables.row[0, port], write[W_TWO], sl] = lane


@inner
def write_sl2vl_inputs(
    switches: Any,
    environment: SwitchEnvironment,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    input_fields: NDArray[np.int64],
    first_port: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Drive the SL2VL program port with the stored write."""
    write = environment.written[slot]
    put(rows, row, input_fields, first_port, is_enabled)
    put(rows, row, input_fields, first_port + 1, write[W_THREE])
    put(rows, row, input_fields, first_port + 2, write[W_ONE])
    put(rows, row, input_fields, first_port + 3, write[W_TWO])
    put(rows, row, input_fields, first_port + 4, environment.rows[slot])
