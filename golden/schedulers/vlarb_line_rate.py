"""Golden model of the VL arbiter, line-rate form: VLALR-1 to VLALR-8 (``docs/vlarb_line_rate.md``).

A pipeline reads each list ahead of need. A packet is charged to its entry and to the limit one block per cycle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.bits import is_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.list_walk import (
    BAD,
    CAN,
    NO_ENTRY,
    OFFERED,
    REST_CYCLES,
    SERVED,
    ListWalk,
    exchange_walk,
    new_walk,
    offered_lane,
    offered_weight,
    reset_walk,
    run_walk,
    write_entry,
)
from vlane.golden.schedulers.vlarb import SELECT_HIGH, SELECT_LIMIT, SELECT_LOW, counter_load
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED

if TYPE_CHECKING:
    from vlane.schedulers.vlarb import VLArbTable

__all__ = [
    "LOOKS_BEHIND",
    "REST_CYCLES",
    "RULES",
    "RULE_COUNT",
    "State",
    "applicable_rules",
    "bad_entries",
    "make_state",
    "program",
    "reset",
    "step",
    "unreachable",
]

RULES = (
    Rule("stayed", "VLA-5", "the current entry sent with its remaining weight"),
    Rule("taken", "VLALR-6", "an offered entry became the current one"),
    Rule("weight_ended", "VLA-2", "a packet used the last block of an entry's weight"),
    Rule("overshot", "VLA-2", "a packet exceeded an entry's weight"),
    Rule("high_before_low", "VLA-18", "High sent although Low could"),
    Rule("low_after_expiry", "VLA-18", "the limit had expired: Low sent although High could"),
    Rule("expired_but_low_empty", "VLA-7", "the limit had expired and Low could not send: reloaded, High sent at once"),
    Rule("lost", "VLALR-7", "the lane that a decision named turned out unable to send"),
    Rule("dropped", "VLALR-8", "an offered entry left unserved"),
    Rule("waited", "VLALR-4", "a picked entry waited"),
    Rule("charged_later", "VLALR-6", "a further block was charged"),
    Rule("emptied", "VLALR-1", "a row that had weights before a reset was first written after the reset"),
    Rule("swapped", "VLA-12", "the shadow table became active"),
    Rule("held", "VLA-14", "a due flow-control packet held data lanes back"),
    Rule("vl15_first", "VLA-15", "VL15 sent before a data lane that could send"),
)
RULE_COUNT = len(RULES)
(
    STAYED,
    TAKEN,
    WEIGHT_ENDED,
    OVERSHOT,
    HIGH_BEFORE_LOW,
    LOW_AFTER_EXPIRY,
    EXPIRED_BUT_LOW_EMPTY,
    LOST,
    DROPPED,
    WAITED,
    CHARGED_LATER,
    EMPTIED,
    SWAPPED,
    HELD,
    VL15_FIRST,
) = range(RULE_COUNT)

LOOKS_BEHIND = True
"""A step also uses the packets behind the heads, and changes state in cycles in which the link is not ready."""

HIGH, LOW = 0, 1
_NO_LIST = -1
VL, LEFT, LOOKS, RECENT = range(4)
BANK, SWAP_PENDING, COUNTER, ABLE_BEFORE, ONGOING, TO_CHARGE, LAST_BLOCKS = range(7)
_FROM_NONE, _FROM_HIGH, _FROM_LOW, _FROM_VL15 = (int(code) for code in ListCode)


def applicable_rules(table: VLArbTable, *, data_vls: int, has_vl15: bool) -> frozenset[str]:
    """Return the names of the rules that traffic through this table can trigger."""
    high, low = ({each.vl for each in side if each.weight and each.vl < data_vls} for side in (table.high, table.low))
    counted = bool(high) and table.limit_of_high_priority != LIMIT_UNBOUNDED
    heaviest = max((each.weight for each in (*table.high, *table.low) if each.vl < data_vls), default=0)
    conditions = {
        STAYED: heaviest > 1,
        HIGH_BEFORE_LOW: high and low,
        LOW_AFTER_EXPIRY: counted and low,
        EXPIRED_BUT_LOW_EMPTY: counted and high - low,
        SWAPPED: True,
        HELD: True,
        VL15_FIRST: has_vl15,
    }
    return frozenset(rule.name for number, rule in enumerate(RULES) if conditions.get(number, high or low))


class State(NamedTuple):
    """State of the arbiter.

    Parameters
    ----------
    data_vls : int
        Number of data lanes of the port, 1 to 15.
    has_vl15 : bool
        Bit ``data_vls`` of the masks is VL15.
    walks : tuple of two ListWalk
        High and low list.
    limit : array of int64, (2 banks,)
        LimitOfHighPriority of each bank.
    current : array of int64, (2 lists, 4)
        Current entry of each list: VL, remaining weight, predicted ability of its lane to send in this cycle, whether
        the list won in the previous cycle (VLALR-5, VLALR-6).
    regs : array of int64, (7,)
        Common state: active bank; swap pending; limit counter; lanes that could send in the previous cycle; list of the
        packet being charged; blocks still to charge; size granted in the previous cycle.
    """

    data_vls: int
    has_vl15: bool
    walks: tuple[ListWalk, ListWalk]
    limit: NDArray[np.int64]
    current: NDArray[np.int64]
    regs: NDArray[np.int64]


def make_state(
    *, data_vls: int, entries: int, vl15: bool = False, form: str = "line_rate", parity: bool = False
) -> State:
    """Return the state at power-on, for the parameters of the component: no entry has a weight."""
    del form, parity  # the form selects this module, which has no parity
    state = State(
        data_vls,
        bool(vl15),
        (new_walk(entries), new_walk(entries)),
        np.zeros(2, np.int64),
        np.zeros((2, 4), np.int64),
        np.zeros(7, np.int64),
    )
    reset(state)
    return state


@kernel
def reset(state: State) -> None:
    """Reset: both banks are empty (VLALR-1)."""
    for each in state.walks:
        reset_walk(each)
    state.current[:] = 0
    state.limit[:] = 0
    state.regs[:] = 0
    state.regs[COUNTER] = counter_load(0)


@inner
def _charge(state: State, list_index: int, rule_counts: NDArray[np.int64]) -> None:
    """Charge a block to a list's current entry and, for the high list, to the limit (VLALR-6)."""
    current = state.current[list_index]
    rule_counts[OVERSHOT] += current[LEFT] == 0
    rule_counts[WEIGHT_ENDED] += current[LEFT] == 1
    current[LEFT] = max(0, current[LEFT] - 1)
    if list_index == HIGH and state.limit[state.regs[BANK]] != LIMIT_UNBOUNDED:
        state.regs[COUNTER] -= 1


@kernel
def step(
    state: State,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: Program,
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run a clock cycle and return (lane, list, granted).

    The lane is named by the decision, -1 for none; ``granted`` is whether the lane's packet may start. ``bank.step``
    documents the arguments.
    """
    regs, walks = state.regs, state.walks
    sendable = heads.request & heads.fits
    data = sendable & ((1 << state.data_vls) - 1)
    vl15 = state.has_vl15 and is_member(sendable, state.data_vls)
    stays = (_stays(state, HIGH), _stays(state, LOW))
    high, low = stays[HIGH] or walks[HIGH].regs[CAN] != 0, stays[LOW] or walks[LOW].regs[CAN] != 0
    expired = regs[COUNTER] <= 0
    # High wins until its limit expires, and afterwards if Low has no entry to serve (VLA-7).
    winner = HIGH if high and not (expired and low) else LOW if low else _NO_LIST

    lane, source, granted, last_blocks = NO_LANE, _FROM_NONE, False, 0
    if vl15:
        lane, source, granted, last_blocks = state.data_vls, _FROM_VL15, True, heads.blocks[state.data_vls]
        rule_counts[VL15_FIRST] += ready and data != 0
    elif hold_data:
        rule_counts[HELD] += ready and data != 0
    elif winner != _NO_LIST:
        # The lane was chosen by the state of an earlier cycle; it may have lost its packet or credit since (VLALR-7).
        lane = state.current[winner, VL] if stays[winner] else offered_lane(walks[winner])
        source = _FROM_HIGH if winner == HIGH else _FROM_LOW
        granted = is_member(data, lane)
        if granted:
            last_blocks = heads.blocks[lane]

    decides = ready and not vl15 and not hold_data
    # A packet's first block is charged with its grant, the others one per cycle (VLALR-6).
    later = regs[ONGOING] if regs[TO_CHARGE] > 0 else _NO_LIST
    regs[TO_CHARGE] = max(0, regs[TO_CHARGE] - 1)
    if decides and (expired or not high):  # reload before Low sends, and while High cannot send (VLA-7, VLA-15)
        regs[COUNTER] = counter_load(state.limit[regs[BANK]])
    for which in (HIGH, LOW):
        wins = decides and winner == which
        _advance(state, which, stays[which], wins, later == which, heads.behind, rule_counts)
        rule_counts[LOST] += wins and not granted
    if decides:
        rule_counts[HIGH_BEFORE_LOW] += winner == HIGH and low
        rule_counts[LOW_AFTER_EXPIRY] += winner == LOW and high
        rule_counts[EXPIRED_BUT_LOW_EMPTY] += winner == HIGH and expired
        regs[ONGOING] = LOW if winner == LOW else HIGH
        if granted:
            regs[TO_CHARGE] = max(0, last_blocks - 1)
    regs[LAST_BLOCKS], regs[ABLE_BEFORE] = last_blocks, data
    swap_requested = swap or regs[SWAP_PENDING] != 0
    regs[SWAP_PENDING] = swap_requested and not ready
    if swap_requested and ready:
        _exchange(state)
        rule_counts[SWAPPED] += 1
    elif write[0] != 0:
        rule_counts[EMPTIED] += program(state, write)
    return lane, source, granted


@inner
def _stays(state: State, list_index: int) -> bool:
    """Return whether a list stays at its current entry: weight is left, and its lane is predicted able (VLA-5)."""
    return state.current[list_index, LOOKS] != 0 and state.current[list_index, LEFT] > 0


@inner
def _advance(
    state: State,
    list_index: int,
    stays: bool,  # noqa: FBT001 - kernels take positional arguments only
    wins: bool,  # noqa: FBT001 - kernels take positional arguments only
    charged: bool,  # noqa: FBT001 - kernels take positional arguments only
    behind: int,
    rule_counts: NDArray[np.int64],
) -> None:
    """Run a cycle of a list (VLALR-4 to VLALR-8).

    Parameters
    ----------
    list_index : int
        List.
    stays : bool
        The list stays at its current entry.
    wins : bool
        The decision serves the list.
    charged : bool
        A further block of its last packet is charged.
    behind : int
        Bit mask of lanes with credit for a packet behind the head.
    """
    each, entry, before = state.walks[list_index], state.current[list_index], state.regs[ABLE_BEFORE]
    takes = wins and not stays
    leaves = takes or (not stays and each.regs[CAN] == 0)
    rule_counts[DROPPED] += leaves and not takes and each.regs[OFFERED] != NO_ENTRY
    if wins:
        rule_counts[STAYED] += stays
        rule_counts[TAKEN] += takes
        if takes:
            entry[VL], entry[LEFT] = offered_lane(each), offered_weight(each)
    if wins or charged:
        rule_counts[CHARGED_LATER] += not wins
        _charge(state, list_index, rule_counts)
    if wins:  # the head leaves, so the packet behind it counts
        entry[LOOKS] = is_member(behind, entry[VL])
    elif entry[RECENT] == 0:  # in the cycle after a win, ABLE_BEFORE still refers to the head that left
        entry[LOOKS] = is_member(before, entry[VL])
    entry[RECENT] = wins
    rule_counts[WAITED] += run_walk(each, before, state.data_vls, leaves)


@inner
def _exchange(state: State) -> None:
    """Exchange the banks. Both lists are read again from their start (VLALR-2)."""
    regs = state.regs
    regs[BANK] ^= 1
    regs[COUNTER] = counter_load(state.limit[regs[BANK]])
    regs[TO_CHARGE] = 0
    for which in (HIGH, LOW):
        exchange_walk(state.walks[which])
        state.current[which, LEFT] = 0


@inner
def program(state: State, write: Program) -> bool:
    """Write an entry or the limit of the shadow bank and return the result of ``write_entry``, False for the limit."""
    _, select, index, vl, weight = write
    if select == SELECT_LIMIT:
        state.limit[state.regs[BANK] ^ 1] = weight
    elif select in (SELECT_HIGH, SELECT_LOW):
        return write_entry(state.walks[select], index, vl, weight)
    return False


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of data lanes that no entry with a weight names, among entries read so far."""
    return ((1 << state.data_vls) - 1) & ~(state.walks[HIGH].regs[SERVED] | state.walks[LOW].regs[SERVED])


@kernel
def bad_entries(state: State) -> int:
    """Return the number of entries read so far that name VL15 or an absent lane."""
    return state.walks[HIGH].regs[BAD] + state.walks[LOW].regs[BAD]
