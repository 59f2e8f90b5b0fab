"""The Deficit Table's line-rate form: turns begun ahead, heads charged ahead (``docs/dtable_line_rate.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import has
from vlane.golden.kernel import inner, kernel
from vlane.golden.lanes import SELECT_TABLE
from vlane.golden.list_walk import (
    CAN,
    NO_ENTRY,
    OFFERED,
    SERVED,
    ListWalk,
    exchange_walk,
    new_walk,
    offered_lane,
    offered_weight,
    reset_walk,
    walk,
    write_entry,
)
from vlane.golden.rule import Rule

from vlane.egress import ListCode

__all__ = ["RULES", "LineRateState", "applicable_rules", "new_state", "reset", "step", "unreachable"]

RULES = (
    Rule("stayed", "T4", "the current lane sent another packet"),
    Rule("turn_began", "T4", "a turn began with a grant"),
    Rule("began_ahead", "T5", "a turn began in a cycle without a decision"),
    Rule("turn_without_grant", "D6", "a turn began in a decision cycle without a grant"),
    Rule("returned", "T6", "an entry of the current lane was taken without a grant"),
    Rule("settled", "T10", "whether the current lane stays was known a cycle late"),
    Rule(
        "returned_with_grant",
        "T7",
        "an entry of the current lane was granted when it was taken, another packet behind",
    ),
    Rule("remainder_kept", "D4", "what was left was too little for the next packet"),
    Rule("fits_exactly", "D2", "a packet used an account to exactly 0"),
    Rule("ended_for_want", "T7", "a packet was granted and nothing was behind it"),
    Rule("account_lost", "T8", "a lane could not send: its account was lost"),
    Rule("lost", "T9", "the lane that a decision named could not send after all"),
    Rule("added_late", "T6", "a turn's lane was not charged: it got no weight"),
    Rule("dropped", "T6", "an offered entry left unserved"),
    Rule("waited", "L4", "a picked entry waited"),
    Rule("emptied", "L1", "a row that had weights before a reset was written for the first time after it"),
    Rule("swapped", "D10", "the shadow table took over"),
    Rule("held", "A14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "A15", "VL15 sent ahead of a data lane that could"),
)
(STAYED, BEGAN, AHEAD, NO_GRANT, RETURNED, SETTLED, RETURN_GRANT, REMAINDER, EXACT, FOR_WANT, ACCOUNT_LOST, LOST, LATE,
 DROPPED, WAITED, EMPTIED, SWAPPED, HELD, VL15_FIRST) = range(len(RULES))  # fmt: skip

NO_LANE = -1
(SWAP_PENDING, CURRENT, STAYS, SETTLES, KNOWN_ONE, NEXT, COVERS, CHARGED, CHARGED_BEFORE, SENT_BEFORE,
 ABLE_BEFORE, LAST_BLOCKS) = range(12)  # fmt: skip
_FROM_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)
_ACCOUNT_BITS = 9


def applicable_rules(*, has_vl15: bool) -> frozenset[str]:
    """Return the names of the rules that random tables and traffic show."""
    never = set() if has_vl15 else {RULES[VL15_FIRST].name}
    return frozenset(rule.name for rule in RULES) - never


class LineRateState(NamedTuple):
    """Everything the scheduler remembers.

    Parameters
    ----------
    data_vls : int
        Data lanes.
    has_vl15 : bool
        Whether there is one more lane, for VL15.
    mtu_blocks : int
        Largest packet.
    table : ListWalk
        The table and the walk along it (T1).
    account : array of int64, (data_vls,)
        What each lane may send after its head (T2).
    head_before : array of int64, (data_vls,)
        Sizes of the heads in the cycle before.
    regs : array of int64, (12,)
        Swap pending; the current lane and what is foreseen of it; the next turn; lanes that are charged, that were in
        the cycle before, that could send then, that were able then; the size granted in the cycle before.
    """

    data_vls: int
    has_vl15: bool
    mtu_blocks: int
    table: ListWalk
    account: NDArray[np.int64]
    head_before: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_state(*, data_vls: int, entries: int, vl15: bool, mtu_blocks: int) -> LineRateState:
    """Return the state at power-on: a table without a weight, nobody served; the parameters are the component's."""
    state = LineRateState(
        data_vls, bool(vl15), mtu_blocks, new_walk(entries), np.zeros(data_vls, np.int64), np.zeros(data_vls, np.int64),
        np.zeros(12, np.int64),
    )  # fmt: skip
    reset(state)
    return state


@kernel
def reset(state: LineRateState) -> None:
    """Reset: both banks empty (T1)."""
    reset_walk(state.table)
    state.head_before[:] = 0
    state.regs[:] = 0
    _forget(state)


@inner
def _forget(state: LineRateState) -> None:
    """Empty the accounts; there is no current lane and no next turn (T11)."""
    regs = state.regs
    state.account[:] = 0
    regs[CHARGED], regs[CURRENT], regs[STAYS], regs[SETTLES], regs[KNOWN_ONE] = 0, NO_LANE, 0, 0, 0
    regs[NEXT], regs[COVERS] = NO_LANE, 0


@inner
def _has(lanes: int, lane: int) -> bool:
    return lane != NO_LANE and has(lanes, lane)


@inner
def _wrapped(account: int) -> int:
    half = 1 << (_ACCOUNT_BITS - 1)
    return (account + half) % (2 * half) - half


@inner
def _returns(state: LineRateState) -> bool:
    """Tell whether the current lane is done, nothing is next, and the offered entry is its own (T4, T6)."""
    regs, table = state.regs, state.table
    if (
        regs[STAYS] != 0
        or regs[SETTLES] != 0
        or regs[NEXT] != NO_LANE
        or table.regs[OFFERED] == NO_ENTRY
        or table.regs[CAN] == 0
    ):
        return False
    return offered_lane(table) == regs[CURRENT]


@inner
def _named(state: LineRateState) -> int:
    """Return the data lane that a decision of this cycle names (T4)."""
    regs = state.regs
    if regs[STAYS] != 0 or (regs[KNOWN_ONE] != 0 and _returns(state)):
        return regs[CURRENT]
    return regs[NEXT] if regs[COVERS] != 0 and regs[SETTLES] == 0 else NO_LANE


@kernel
def step(
    state: LineRateState,
    request: int,
    fits: int,
    behind: int,
    blocks: NDArray[np.int64],
    behind_blocks: NDArray[np.int64],
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: tuple[int, int, int, int, int],
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run one clock cycle; return (lane, list) that it names, lane -1 if none, and whether it is granted.

    The other parameters are those of the exact form's ``step``; ``behind`` has a bit for each data lane whose next
    packet is there and fits, ``behind_blocks`` that packet's size.
    """
    regs = state.regs
    sends = request & fits
    data = sends & ((1 << state.data_vls) - 1)
    vl15 = state.has_vl15 and _has(sends, state.data_vls)
    may = not vl15 and not hold_data
    decides = ready and may
    lane = _named(state) if may else NO_LANE
    granted = _has(data, lane)
    rules[VL15_FIRST] += ready and vl15 and data != 0
    rules[HELD] += ready and hold_data and not vl15 and data != 0
    able = data & regs[CHARGED]
    leaves = _cycle(state, data, behind, blocks, behind_blocks, decides, lane, rules)
    rules[WAITED] += walk(state.table, regs[ABLE_BEFORE], state.data_vls, leaves)

    regs[SENT_BEFORE], regs[ABLE_BEFORE] = data, able
    for each in range(state.data_vls):
        state.head_before[each] = blocks[each]
    source, last_blocks = _FROM_NONE, 0
    if vl15:
        lane, source, granted, last_blocks = state.data_vls, _FROM_VL15, True, blocks[state.data_vls]
    elif granted:
        last_blocks = blocks[lane]
    regs[LAST_BLOCKS] = last_blocks
    wanted = swap or regs[SWAP_PENDING] != 0
    regs[SWAP_PENDING] = wanted and not ready
    if wanted and ready:
        exchange_walk(state.table)
        _forget(state)
        rules[SWAPPED] += 1
    elif write[0] != 0 and write[1] == SELECT_TABLE:
        rules[EMPTIED] += write_entry(state.table, write[2], write[3], write[4])
    return lane, source, granted


@inner
def _cycle(
    state: LineRateState,
    data: int,
    behind: int,
    blocks: NDArray[np.int64],
    behind_blocks: NDArray[np.int64],
    decides: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    lane: int,
    rules: NDArray[np.int64],
) -> bool:
    """Let the turns and the accounts of a cycle happen, in which that lane is named; foresee the next one.

    Return whether the offered entry leaves.
    """
    regs, account = state.regs, state.account
    stays, returns = regs[STAYS] != 0, _returns(state)
    settles = regs[SETTLES] != 0
    begins = regs[NEXT] != NO_LANE and not stays and not settles
    current = regs[NEXT] if begins else regs[CURRENT]
    was_covered = current != NO_LANE and account[current] >= 0
    next_covers = regs[NEXT] != NO_LANE and account[regs[NEXT]] >= 0
    sent = decides and _has(data, lane)
    lost = decides and lane != NO_LANE and not sent
    rules[LOST] += lost
    rules[STAYED] += sent and stays
    rules[BEGAN] += sent and begins
    rules[NO_GRANT] += decides and lane == NO_LANE and (begins or returns)
    rules[AHEAD] += begins and not decides

    kept = regs[CHARGED] & data if decides else regs[CHARGED]
    rules[ACCOUNT_LOST] += kept != regs[CHARGED]
    if sent:
        kept &= behind | ~(1 << lane)
        rules[FOR_WANT] += not _has(behind, lane)
    for each in range(state.data_vls):
        if _has(regs[CHARGED] & ~kept, each):
            account[each] = 0
    goes_on = sent and _has(behind, lane)
    if goes_on:
        rules[EXACT] += account[lane] == 0
        before = offered_weight(state.table) - 1 if returns else account[lane]
        account[lane] = _wrapped(before - behind_blocks[lane])
        rules[RETURN_GRANT] += returns
        rules[REMAINDER] += -behind_blocks[lane] < account[lane] < 0
    renews = returns and regs[KNOWN_ONE] == 0
    rules[RETURNED] += renews
    taken, leaves = _taken(state, current, begins, renews or (returns and decides), rules)
    added = taken != NO_LANE or renews
    to = current if renews else taken
    if added:
        rules[LATE] += not _has(kept, to)
        _add(state, to, offered_weight(state.table), kept)
    came = _charge(state, data if decides else -1)

    ample = offered_weight(state.table) >= state.mtu_blocks if added or returns else False
    follows_one = goes_on and behind_blocks[lane] == 1
    if sent and returns:
        stays_next = follows_one and offered_weight(state.table) > 1
    elif sent:
        stays_next = goes_on and account[lane] >= 0
    else:
        held = ample if renews else was_covered if begins or settles else stays
        stays_next = held and _has(kept, current)
    regs[SETTLES] = (renews and not ample) or (goes_on and returns and not follows_one)
    rules[SETTLED] += regs[SETTLES] != 0
    if taken != NO_LANE:
        regs[NEXT], regs[COVERS] = taken, _has(kept, taken) and (blocks[taken] == 1 or ample)
    elif begins:
        regs[NEXT], regs[COVERS] = NO_LANE, 0
    else:
        regs[COVERS] = next_covers and _has(kept, regs[NEXT])
    regs[KNOWN_ONE] = follows_one or (not sent and not begins and _has(kept, current) and blocks[current] == 1)
    regs[CURRENT], regs[STAYS] = current, stays_next
    regs[CHARGED_BEFORE], regs[CHARGED] = regs[CHARGED], kept | came
    return leaves


@inner
def _taken(
    state: LineRateState,
    current: int,
    begins: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    used: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    rules: NDArray[np.int64],
) -> tuple[int, bool]:
    """Return the lane of the offered entry if it becomes the next turn, else -1; and whether it leaves (T6)."""
    table = state.table
    if table.regs[OFFERED] == NO_ENTRY or not (begins or state.regs[NEXT] == NO_LANE):
        return NO_LANE, False
    if table.regs[CAN] == 0:
        rules[DROPPED] += 1
        return NO_LANE, True
    if offered_lane(table) == current:
        return NO_LANE, used
    return offered_lane(table), True


@inner
def _add(state: LineRateState, lane: int, weight: int, charged: int) -> None:
    """Add a turn's weight to its lane's account, if the lane is charged."""
    if _has(charged, lane):
        state.account[lane] = _wrapped(state.account[lane] + weight)


@inner
def _charge(state: LineRateState, may: int) -> int:
    """Take the heads that came in the cycle before off the accounts of those lanes, if they may; return which (T2)."""
    regs = state.regs
    came = regs[SENT_BEFORE] & ~regs[CHARGED] & ~regs[CHARGED_BEFORE] & may
    for lane in range(state.data_vls):
        if _has(came, lane):
            state.account[lane] = _wrapped(-state.head_before[lane])
    return came


@kernel
def unreachable(state: LineRateState) -> int:
    """Return a bit per data lane that no entry with a weight names, of those read so far."""
    return ((1 << state.data_vls) - 1) & ~state.table.regs[SERVED]
