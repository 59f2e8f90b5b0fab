"""Reference model of the Deficit Table, line-rate form (``docs/dtable_line_rate.md``).

The next turn is chosen while the current one sends, and each head is charged to its lane's account before it is
granted: the sign of an account tells whether its lane may send.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.bits import is_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import SELECT_TABLE
from vlane.golden.schedulers.list_walk import (
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

__all__ = [
    "LOOKS_BEHIND",
    "REST_CYCLES",
    "RULES",
    "RULE_COUNT",
    "State",
    "applicable_rules",
    "make_state",
    "program",
    "reset",
    "step",
    "unreachable",
]

RULES = (
    Rule("stayed", "DTLR-4", "the current lane sent another packet"),
    Rule("turn_began", "DTLR-4", "a turn began with a grant"),
    Rule("began_ahead", "DTLR-5", "a turn began in a cycle without a decision"),
    Rule("turn_without_grant", "DT-6", "a turn began in a decision cycle without a grant"),
    Rule("returned", "DTLR-6", "an entry of the current lane was taken without a grant"),
    Rule("settled", "DTLR-10", "whether the current lane stays was known a cycle late"),
    Rule(
        "returned_with_grant",
        "DTLR-7",
        "an entry of the current lane was granted when it was taken, another packet behind",
    ),
    Rule("remainder_kept", "DT-4", "what was left was too little for the next packet"),
    Rule("fits_exactly", "DT-2", "a packet used an account to exactly 0"),
    Rule("ended_for_want", "DTLR-7", "a packet was granted and nothing was behind it"),
    Rule("account_lost", "DTLR-8", "a lane could not send: its account was lost"),
    Rule("lost", "DTLR-9", "the lane that a decision named could not send after all"),
    Rule("added_late", "DTLR-6", "a turn's lane was not charged: it got no weight"),
    Rule("dropped", "DTLR-6", "an offered entry left unserved"),
    Rule("waited", "VLALR-4", "a picked entry waited"),
    Rule("emptied", "VLALR-1", "a row that had weights before a reset was written for the first time after it"),
    Rule("swapped", "DT-10", "the shadow table took over"),
    Rule("held", "VLA-14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "VLA-15", "VL15 sent ahead of a data lane that could"),
)
RULE_COUNT = len(RULES)
(
    STAYED,
    BEGAN,
    AHEAD,
    NO_GRANT,
    RETURNED,
    SETTLED,
    RETURN_GRANT,
    REMAINDER,
    EXACT,
    FOR_WANT,
    ACCOUNT_LOST,
    LOST,
    LATE,
    DROPPED,
    WAITED,
    EMPTIED,
    SWAPPED,
    HELD,
    VL15_FIRST,
) = range(RULE_COUNT)

LOOKS_BEHIND = True
"""A step also uses what is behind the heads, and changes the state in cycles in which the link is not ready."""

(
    SWAP_PENDING,
    CURRENT,
    STAYS,
    SETTLES,
    KNOWN_ONE,
    NEXT,
    COVERS,
    CHARGED,
    CHARGED_BEFORE,
    SENT_BEFORE,
    ABLE_BEFORE,
    LAST_BLOCKS,
) = range(12)
_FROM_NONE, _, _, _FROM_VL15 = (int(code) for code in ListCode)
_ACCOUNT_BITS = 9


def applicable_rules(*, has_vl15: bool) -> frozenset[str]:
    """Return the names of the rules that random tables and traffic can reach."""
    never = set() if has_vl15 else {RULES[VL15_FIRST].name}
    return frozenset(rule.name for rule in RULES) - never


class State(NamedTuple):
    """State of the scheduler.

    Parameters
    ----------
    data_vls : int
        Data lanes.
    has_vl15 : bool
        Whether there is one more lane, for VL15.
    mtu_blocks : int
        Size of the largest packet in blocks.
    table : ListWalk
        The table and the walk along it (DTLR-1).
    account : array of int64, (data_vls,)
        Blocks that each lane may still send after its head; below 0 the head may not be sent (DTLR-2).
    head_before : array of int64, (data_vls,)
        Sizes of the heads in the previous cycle.
    regs : array of int64, (12,)
        Swap pending. The current lane, and whether it stays (may send another packet), whether that is only known a
        cycle later, and whether its head is of one block. The lane of the next turn, and whether its account covers its
        head. Lanes that are charged, that were charged in the previous cycle, that could send then, and that could send
        and were charged then. The size granted in the previous cycle.
    """

    data_vls: int
    has_vl15: bool
    mtu_blocks: int
    table: ListWalk
    account: NDArray[np.int64]
    head_before: NDArray[np.int64]
    regs: NDArray[np.int64]


def make_state(
    *,
    data_vls: int,
    requesters: int = 0,
    entries: int,
    vl15: bool = False,
    form: str = "line_rate",
    keep_on_stall: bool = False,
    mtu_blocks: int,
    parity: bool = False,
) -> State:
    """Return the state at power-on: no entry has a weight, no lane is served. The parameters are the component's."""
    del requesters, keep_on_stall, form, parity  # this form has neither a map nor the options
    state = State(
        data_vls,
        bool(vl15),
        mtu_blocks,
        new_walk(entries),
        np.zeros(data_vls, np.int64),
        np.zeros(data_vls, np.int64),
        np.zeros(12, np.int64),
    )
    reset(state)
    return state


@kernel
def reset(state: State) -> None:
    """Return to the state after reset: both banks are empty (DTLR-1)."""
    reset_walk(state.table)
    state.head_before[:] = 0
    state.regs[:] = 0
    _clear_accounts(state)


@inner
def _clear_accounts(state: State) -> None:
    """Clear the accounts, the current lane and the next turn (DTLR-11)."""
    regs = state.regs
    state.account[:] = 0
    regs[CHARGED], regs[CURRENT], regs[STAYS], regs[SETTLES], regs[KNOWN_ONE] = 0, NO_LANE, 0, 0, 0
    regs[NEXT], regs[COVERS] = NO_LANE, 0


@inner
def _has(lanes: int, lane: int) -> bool:
    return lane != NO_LANE and is_member(lanes, lane)


@inner
def _wrapped(account: int) -> int:
    half = 1 << (_ACCOUNT_BITS - 1)
    return (account + half) % (2 * half) - half


@inner
def _returns_entry(state: State) -> bool:
    """Return whether the current lane is done, no turn is next, and the entry is the lane's (DTLR-4, DTLR-6)."""
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
def _named_lane(state: State) -> int:
    """Return the data lane that a decision of this cycle names (DTLR-4)."""
    regs = state.regs
    if regs[STAYS] != 0 or (regs[KNOWN_ONE] != 0 and _returns_entry(state)):
        return regs[CURRENT]
    return regs[NEXT] if regs[COVERS] != 0 and regs[SETTLES] == 0 else NO_LANE


@inner
def program(state: State, write: Program) -> bool:
    """Write an entry of the shadow bank and return the result of ``write_entry``."""
    return write[1] == SELECT_TABLE and write_entry(state.table, write[2], write[3], write[4])


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
    """Run one clock cycle and return (lane, list) that it names, and whether that lane's packet may start.

    The lane is -1 if none is named. ``bank.step`` documents the arguments that all schedulers share.
    """
    regs = state.regs
    sends = heads.request & heads.fits
    data = sends & ((1 << state.data_vls) - 1)
    vl15 = state.has_vl15 and _has(sends, state.data_vls)
    may = not vl15 and not hold_data
    decides = ready and may
    lane = _named_lane(state) if may else NO_LANE
    granted = _has(data, lane)
    rule_counts[VL15_FIRST] += ready and vl15 and data != 0
    rule_counts[HELD] += ready and hold_data and not vl15 and data != 0
    sendable = data & regs[CHARGED]
    leaves = _cycle(state, data, heads, decides, lane, rule_counts)
    rule_counts[WAITED] += run_walk(state.table, regs[ABLE_BEFORE], state.data_vls, leaves)

    regs[SENT_BEFORE], regs[ABLE_BEFORE] = data, sendable
    for each in range(state.data_vls):
        state.head_before[each] = heads.blocks[each]
    source, last_blocks = _FROM_NONE, 0
    if vl15:
        lane, source, granted, last_blocks = state.data_vls, _FROM_VL15, True, heads.blocks[state.data_vls]
    elif granted:
        last_blocks = heads.blocks[lane]
    regs[LAST_BLOCKS] = last_blocks
    swap_requested = swap or regs[SWAP_PENDING] != 0
    regs[SWAP_PENDING] = swap_requested and not ready
    if swap_requested and ready:
        exchange_walk(state.table)
        _clear_accounts(state)
        rule_counts[SWAPPED] += 1
    elif write[0] != 0:
        rule_counts[EMPTIED] += program(state, write)
    return lane, source, granted


@inner
def _cycle(
    state: State,
    data: int,
    heads: Heads,
    decides: bool,  # noqa: FBT001 - kernels take positional arguments only
    lane: int,
    rule_counts: NDArray[np.int64],
) -> bool:
    """Run turns and accounts of a cycle that names ``lane``, and look ahead to the lane of the next cycle.

    Return whether the offered entry leaves.
    """
    regs, account = state.regs, state.account
    stays, returns, settles = regs[STAYS] != 0, _returns_entry(state), regs[SETTLES] != 0
    # The next turn begins as soon as the current lane is known to be done (DTLR-5).
    begins = regs[NEXT] != NO_LANE and not stays and not settles
    current = regs[NEXT] if begins else regs[CURRENT]
    was_covered = current != NO_LANE and account[current] >= 0
    next_covers = regs[NEXT] != NO_LANE and account[regs[NEXT]] >= 0
    sent = decides and _has(data, lane)
    rule_counts[LOST] += decides and lane != NO_LANE and not sent
    rule_counts[STAYED] += sent and stays
    rule_counts[BEGAN] += sent and begins
    rule_counts[NO_GRANT] += decides and lane == NO_LANE and (begins or returns)
    rule_counts[AHEAD] += begins and not decides

    kept = _lanes_still_charged(state, data, heads.behind, decides, lane if sent else NO_LANE, rule_counts)
    goes_on = sent and _has(heads.behind, lane)
    follows_one = goes_on and heads.behind_blocks[lane] == 1
    if goes_on:
        _charge_following(state, lane, heads.behind_blocks[lane], returns, rule_counts)
    # An entry of the current lane is taken without a grant, unless the head is known to be one block (DTLR-6, DTLR-7).
    renews = returns and regs[KNOWN_ONE] == 0
    rule_counts[RETURNED] += renews
    taken, leaves = _next_turn_lane(state, current, begins, renews or (returns and decides), rule_counts)
    if taken != NO_LANE or renews:
        to = current if renews else taken
        rule_counts[LATE] += not _has(kept, to)
        _add_weight(state, to, offered_weight(state.table), kept)
    came = _charge_heads(state, data if decides else -1)

    # Foresee: a weight of at least the largest packet covers any head, so that no account need be looked at.
    ample = (taken != NO_LANE or renews or returns) and offered_weight(state.table) >= state.mtu_blocks
    if sent and returns:  # the account is settled a cycle late; a packet of one block is covered by any weight left
        stays_next = follows_one and offered_weight(state.table) > 1
    elif sent:
        stays_next = goes_on and account[lane] >= 0
    else:  # nothing was sent: what was known of the current lane holds, if its account was not lost
        held = ample if renews else was_covered if begins or settles else stays
        stays_next = held and _has(kept, current)
    regs[SETTLES] = (renews and not ample) or (goes_on and returns and not follows_one)
    rule_counts[SETTLED] += regs[SETTLES] != 0
    if taken != NO_LANE:  # an entry became the next turn
        regs[NEXT], regs[COVERS] = taken, _has(kept, taken) and (heads.blocks[taken] == 1 or ample)
    elif begins:  # the next turn became the current one, and no entry took its place
        regs[NEXT], regs[COVERS] = NO_LANE, 0
    else:
        regs[COVERS] = next_covers and _has(kept, regs[NEXT])
    regs[KNOWN_ONE] = follows_one or (not sent and not begins and _has(kept, current) and heads.blocks[current] == 1)
    regs[CURRENT], regs[STAYS] = current, stays_next
    regs[CHARGED_BEFORE], regs[CHARGED] = regs[CHARGED], kept | came
    return leaves


@inner
def _lanes_still_charged(
    state: State,
    data: int,
    behind: int,
    decides: bool,  # noqa: FBT001 - kernels take positional arguments only
    sent: int,
    rule_counts: NDArray[np.int64],
) -> int:
    """Return the charged lanes that stay so. The others lose their accounts (DTLR-7, DTLR-8).

    A decision takes the account of every lane that cannot send; the lane that sends, -1 if none does, keeps its own if
    a packet is behind.
    """
    charged = state.regs[CHARGED]
    kept = charged & data if decides else charged
    rule_counts[ACCOUNT_LOST] += kept != charged
    if sent != NO_LANE:
        kept &= behind | ~(1 << sent)
        rule_counts[FOR_WANT] += not _has(behind, sent)
    for each in range(state.data_vls):
        if _has(charged & ~kept, each):
            state.account[each] = 0
    return kept


@inner
def _charge_following(state: State, lane: int, blocks: int, returns: bool, rule_counts: NDArray[np.int64]) -> None:  # noqa: FBT001 - kernels take positional arguments only
    """Charge the packet behind a sent head. With an entry of its own lane, that starts a new account (DTLR-7)."""
    account = state.account
    rule_counts[EXACT] += account[lane] == 0
    before = offered_weight(state.table) - 1 if returns else account[lane]
    account[lane] = _wrapped(before - blocks)
    rule_counts[RETURN_GRANT] += returns
    rule_counts[REMAINDER] += -blocks < account[lane] < 0


@inner
def _next_turn_lane(
    state: State,
    current: int,
    begins: bool,  # noqa: FBT001 - kernels take positional arguments only
    used: bool,  # noqa: FBT001 - kernels take positional arguments only
    rule_counts: NDArray[np.int64],
) -> tuple[int, bool]:
    """Return the offered entry's lane if it becomes the next turn, else -1, and whether it leaves (DTLR-6)."""
    table = state.table
    if table.regs[OFFERED] == NO_ENTRY or not (begins or state.regs[NEXT] == NO_LANE):
        return NO_LANE, False
    if table.regs[CAN] == 0:  # its lane cannot send any more
        rule_counts[DROPPED] += 1
        return NO_LANE, True
    if offered_lane(table) == current:  # it serves the current lane, not the next turn
        return NO_LANE, used
    return offered_lane(table), True


@inner
def _add_weight(state: State, lane: int, weight: int, charged: int) -> None:
    """Add a turn's weight to its lane's account, if the lane is charged."""
    if _has(charged, lane):
        state.account[lane] = _wrapped(state.account[lane] + weight)


@inner
def _charge_heads(state: State, may: int) -> int:
    """Charge heads of the previous cycle to the accounts of lanes in ``may``, and return the lanes (DTLR-2)."""
    regs = state.regs
    came = regs[SENT_BEFORE] & ~regs[CHARGED] & ~regs[CHARGED_BEFORE] & may
    for lane in range(state.data_vls):
        if _has(came, lane):
            state.account[lane] = _wrapped(-state.head_before[lane])
    return came


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of data lanes that no entry with a weight names, among entries read so far."""
    return ((1 << state.data_vls) - 1) & ~state.table.regs[SERVED]
