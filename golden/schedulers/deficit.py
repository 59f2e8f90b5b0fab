"""Deficit accounting of the Deficit Table and deficit round robin: DT-2 to DT-9 (``docs/dtable.md``).

A turn serves one entry. It starts with the entry's weight plus the deficit of its requester and sends packets while the
accumulated weight covers the next one. The rest at the end of the turn becomes the requester's deficit. A requester
that cannot send loses both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import is_member, lowest_member, member_count
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads
from vlane.golden.schedulers.lanes import Lanes, choose_offers, offered_lane, record_sent

TURN_RULES = (
    Rule("turn_continued", "DT-2", "the turn continued with another packet"),
    Rule("turn_began", "DT-3", "a turn began and sent a packet"),
    Rule("fits_exactly", "DT-2", "a packet used exactly all of the accumulated weight"),
    Rule("remainder_kept", "DT-4", "the rest did not cover the next packet and became the deficit"),
    Rule("deficit_used", "DT-3", "a turn began with a deficit"),
    Rule("returned_to_itself", "DT-5", "the next entry to serve had the same requester"),
    Rule("turn_without_grant", "DT-6", "a turn began whose weight did not cover the head packet"),
    Rule("accumulated_over_turns", "DT-6", "a packet larger than the weight was sent after turns without a grant"),
    Rule("turn_lost", "DT-7", "the requester in turn became unable to send and lost the rest of its turn"),
    Rule("deficit_lost", "DT-7", "a requester could not send and lost its deficit"),
    Rule("kept_on_stall", "DT-8", "a requester that only lacked credit kept its deficit"),
    Rule("nobody_served", "DT-9", "requesters could send, but no entry names them"),
    Rule("idle", "DT-9", "no requester could send"),
    Rule("saturated", "DT-12", "a turn began with more than the counter of the ib form holds"),
)
(
    CONTINUED,
    BEGAN,
    EXACT,
    REMAINDER,
    DEFICIT_USED,
    TO_ITSELF,
    NO_GRANT,
    OVER_TURNS,
    TURN_LOST,
    DEFICIT_LOST,
    ON_STALL,
    NOBODY,
    IDLE,
    SATURATED,
) = range(len(TURN_RULES))

POINTER, TURN, ACCUMULATED, CARRYING = range(4)
NO_TURN, NO_ENTRY = -1, -1


class DeficitState(NamedTuple):
    """Current turn, and deficit of each requester in blocks.

    Parameters
    ----------
    regs : array of int64, (4,)
        Entry of the last turn, requester in turn or -1, accumulated weight, and bit mask of requesters with a deficit.
    deficit : array of int32, (requesters,)
        Deficit that each requester carries to its next turn.
    keeps_on_stall : bool
        A requester that only lacks credit keeps its deficit.
    most_kept : int
        Maximum part of its turn that such a requester keeps.
    most_accumulated : int
        Saturation value of the accumulated weight.
    """

    regs: NDArray[np.int64]
    deficit: NDArray[np.int32]
    keeps_on_stall: bool
    most_kept: int
    most_accumulated: int


def new_deficits(*, requesters: int, entries: int, keep: bool, most_kept: int, most_accumulated: int) -> DeficitState:
    """Return the state after reset."""
    deficits = DeficitState(
        np.zeros(4, np.int64), np.zeros(requesters, np.int32), bool(keep), int(most_kept), int(most_accumulated)
    )
    end_turns(deficits, entries)
    return deficits


@kernel
def end_turns(deficits: DeficitState, entries: int) -> None:
    """End the current turn and clear all deficits. The next search starts at entry 0."""
    regs = deficits.regs
    regs[POINTER], regs[TURN], regs[ACCUMULATED], regs[CARRYING] = entries - 1, NO_TURN, 0, 0
    deficits.deficit[:] = 0


class TurnRequests(NamedTuple):
    """Requests of a cycle, as the deficit scheduler sees them.

    Parameters
    ----------
    active : int
        Bit mask of requesters that can send.
    waiting : int
        Bit mask of requesters that have a packet but no credit for it.
    lane : array of int16, (requesters,)
        Lane that each requester offers.
    blocks : array of int64
        Sizes of the heads, by lane.
    """

    active: int
    waiting: int
    lane: NDArray[np.int16]
    blocks: NDArray[np.int64]


@inner
def decide_turn(
    deficits: DeficitState,
    owner: NDArray[np.uint8],
    weight: NDArray[np.uint8],
    asking: TurnRequests,
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> int:
    """Return the requester that sends, -1 for none. Start a turn if the current one has ended.

    Parameters
    ----------
    deficits : DeficitState
        Changed in place if ``commit``.
    owner : array of uint8, (entries,)
        Requester of each entry; owners beyond the last requester are never active.
    weight : array of uint8, (entries,)
        Weight of each entry.
    asking : TurnRequests
        Requesters of this cycle.
    commit : bool
        The link is ready: update the state.
    rule_counts : array of int64
        Counters of ``TURN_RULES``, incremented if ``commit``.
    """
    turn, accumulated = deficits.regs[TURN], deficits.regs[ACCUMULATED]
    in_turn = turn != NO_TURN
    sendable = in_turn and is_member(asking.active, turn)
    if sendable and accumulated >= asking.blocks[asking.lane[turn]]:
        if commit:
            _continue_turn(deficits, asking, rule_counts)
        return turn

    entry = _next_entry(deficits.regs[POINTER], owner, weight, asking.active)
    left = 0  # accumulated weight that becomes the requester's deficit when the turn ends
    if in_turn:
        left = accumulated if sendable else 0
        if deficits.keeps_on_stall and is_member(asking.waiting, turn):
            left = min(accumulated, deficits.most_kept)
    served, sends, total = -1, False, 0
    if entry != NO_ENTRY:
        served = int(owner[entry])
        carried = left if served == turn else int(deficits.deficit[served])
        total = int(weight[entry]) + carried
        if total > deficits.most_accumulated:
            total = deficits.most_accumulated
            rule_counts[SATURATED] += commit
        sends = total >= asking.blocks[asking.lane[served]]
    if commit:
        rule_counts[IDLE] += asking.active == 0
        rule_counts[NOBODY] += asking.active != 0 and entry == NO_ENTRY
        if in_turn:
            _set_deficit(deficits, turn, left)
            rule_counts[REMAINDER] += sendable and left > 0
            rule_counts[TURN_LOST] += left < accumulated
            rule_counts[ON_STALL] += not sendable and left > 0
        deficits.regs[TURN], deficits.regs[ACCUMULATED] = NO_TURN, 0
        if entry != NO_ENTRY:
            rule_counts[TO_ITSELF] += served == turn
            _begin_turn(
                deficits, entry, served, int(weight[entry]), total, asking.blocks[asking.lane[served]], rule_counts
            )
        _discard_deficits(deficits, asking, rule_counts)
    return served if sends else -1


@inner
def _next_entry(last: int, owner: NDArray[np.uint8], weight: NDArray[np.uint8], active: int) -> int:
    """Return the first entry after ``last``, cyclically, with a weight and an active requester, else ``NO_ENTRY``."""
    if active == 0:
        return NO_ENTRY
    entries, entry = len(owner), last
    for _ in range(entries):
        entry = entry + 1 if entry + 1 < entries else 0
        if weight[entry] != 0 and is_member(active, int(owner[entry])):
            return entry
    return NO_ENTRY


@inner
def _continue_turn(deficits: DeficitState, asking: TurnRequests, rule_counts: NDArray[np.int64]) -> None:
    """Send another packet in the current turn (DT-2)."""
    regs = deficits.regs
    _discard_deficits(deficits, asking, rule_counts)
    regs[ACCUMULATED] -= asking.blocks[asking.lane[regs[TURN]]]
    rule_counts[CONTINUED] += 1
    rule_counts[EXACT] += regs[ACCUMULATED] == 0


@inner
def _begin_turn(
    deficits: DeficitState,
    entry: int,
    served: int,
    weight: int,
    total: int,
    blocks: int,
    rule_counts: NDArray[np.int64],
) -> None:
    """Start the turn of an entry with ``total`` accumulated blocks. Send the head if they cover it (DT-3, DT-6)."""
    regs = deficits.regs
    sends = total >= blocks
    rule_counts[BEGAN] += sends
    rule_counts[NO_GRANT] += not sends
    rule_counts[DEFICIT_USED] += deficits.deficit[served] > 0
    rule_counts[OVER_TURNS] += sends and blocks > weight
    rule_counts[EXACT] += sends and total == blocks
    _set_deficit(deficits, served, 0)
    regs[POINTER], regs[TURN] = entry, served
    regs[ACCUMULATED] = total - (blocks if sends else 0)


@inner
def _discard_deficits(deficits: DeficitState, asking: TurnRequests, rule_counts: NDArray[np.int64]) -> None:
    """Clear the deficit of every inactive requester.

    With ``keeps_on_stall``, requesters that only lack credit keep their deficit.
    """
    kept = asking.active | (asking.waiting if deficits.keeps_on_stall else 0)
    carrying = deficits.regs[CARRYING]
    rule_counts[ON_STALL] += member_count(carrying & kept & ~asking.active)
    lost = carrying & ~kept
    while lost != 0:
        _set_deficit(deficits, lowest_member(lost), 0)
        lost &= lost - 1
        rule_counts[DEFICIT_LOST] += 1


@inner
def _set_deficit(deficits: DeficitState, requester: int, blocks: int) -> None:
    """Set the deficit of a requester, or 0 for none."""
    deficits.deficit[requester] = blocks
    bit = 1 << requester
    deficits.regs[CARRYING] = deficits.regs[CARRYING] & ~bit | (bit if blocks != 0 else 0)


@inner
def serve_turn(
    deficits: DeficitState,
    lanes: Lanes,
    entries: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> int:
    """Decide among the data lanes and return the lane that sends, -1 for none.

    If the link is ready, the sender is recorded. ``entries`` are the requester and the weight of each entry.
    """
    sendable, every = heads.request & heads.fits, (1 << lanes.data_vls) - 1
    active, waiting = choose_offers(lanes, sendable & every, heads.request & every)
    asking = TurnRequests(active, waiting, lanes.offered_lane, heads.blocks)
    served = decide_turn(deficits, entries[0], entries[1], asking, ready, rule_counts)
    if served < 0:
        return NO_LANE
    if ready:
        record_sent(lanes, served)
    return offered_lane(lanes, served)
