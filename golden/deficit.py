"""Turns with a deficit: what the Deficit Table and deficit round robin have in common.

A turn belongs to an entry: its weight and the deficit of its requester are accumulated; packets that fit into
what is left are sent; what remains becomes the deficit. An inactive requester loses both (``docs/dtable.md``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import inner, kernel
from vlane.golden.rule import Rule

__all__ = ["TURN_RULES", "Turns", "decide_turn", "end_turns", "new_turns"]

TURN_RULES = (
    Rule("turn_continued", "D2", "the turn sent another packet"),
    Rule("turn_began", "D3", "a turn began and sent a packet"),
    Rule("fits_exactly", "D2", "a packet used what was accumulated to exactly 0"),
    Rule("remainder_kept", "D4", "what was left was too little for the next packet: it became the deficit"),
    Rule("deficit_used", "D3", "a turn began with a deficit"),
    Rule("returned_to_itself", "D5", "the next entry that could serve was one of the same requester"),
    Rule("turn_without_grant", "D6", "a turn began that did not cover the head packet"),
    Rule("accumulated_over_turns", "D6", "a packet larger than the weight was sent after turns without a grant"),
    Rule("turn_lost", "D7", "the requester of the turn could not send any more: what was left was lost"),
    Rule("deficit_lost", "D7", "a requester could not send: its deficit was lost"),
    Rule("kept_on_stall", "D8", "a requester that only lacked room kept its deficit"),
    Rule("nobody_served", "D9", "requesters could send but no entry serves them"),
    Rule("idle", "D9", "nobody could send"),
)
(CONTINUED, BEGAN, EXACT, REMAINDER, DEFICIT_USED, TO_ITSELF, NO_GRANT, OVER_TURNS, TURN_LOST, DEFICIT_LOST, ON_STALL,
 NOBODY, IDLE) = range(len(TURN_RULES))  # fmt: skip

POINTER, TURN, ACCUMULATED = range(3)
NO_TURN = -1


class Turns(NamedTuple):
    """State of the turns.

    Parameters
    ----------
    regs : array of int64, (3,)
        Entry of the last turn, requester in turn or -1, accumulated weight.
    deficit : array of int64, (requesters,)
        What each requester carries over.
    keep : bool
        Whether a requester that only lacks room keeps its deficit.
    most_kept : int
        Most that such a requester keeps of its turn.
    most_accumulated : int
        The counter saturates there.
    """

    regs: NDArray[np.int64]
    deficit: NDArray[np.int64]
    keep: bool
    most_kept: int
    most_accumulated: int


def new_turns(*, requesters: int, entries: int, keep: bool, most_kept: int, most_accumulated: int) -> Turns:
    """Return the state after reset."""
    turns = Turns(
        np.zeros(3, np.int64), np.zeros(requesters, np.int64), bool(keep), int(most_kept), int(most_accumulated)
    )
    end_turns(turns, entries)
    return turns


@kernel
def end_turns(turns: Turns, entries: int) -> None:
    """Forget everything: no turn, no deficits, entry 0 is next."""
    turns.regs[POINTER], turns.regs[TURN], turns.regs[ACCUMULATED] = entries - 1, NO_TURN, 0
    turns.deficit[:] = 0


@inner
def decide_turn(
    turns: Turns,
    owner: NDArray[np.int64],
    weight: NDArray[np.int64],
    active: int,
    waiting: int,
    blocks: NDArray[np.int64],
    lane: NDArray[np.int64],
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> int:
    """Return the requester that sends, -1 if none does; change the state if told.

    Parameters
    ----------
    turns : Turns
        Changed in place if ``commit``.
    owner, weight : array of int64, (entries,)
        Requester and weight of each entry; owners past the last requester are never active.
    active, waiting : int
        Requesters that can send; that have a packet but no room for it.
    blocks : array of int64
        Sizes of the heads, by lane.
    lane : array of int64, (requesters,)
        Lane that each requester offers.
    commit : bool
        A decision cycle.
    rules : array of int64
        Counters of ``TURN_RULES``, raised if ``commit``.
    """
    regs = turns.regs
    turn, accumulated = regs[TURN], regs[ACCUMULATED]
    in_turn = turn != NO_TURN
    able = in_turn and (active >> turn) & 1 != 0
    if able and accumulated >= blocks[lane[turn]]:
        if commit:
            lose_deficits(turns, active, waiting, rules)
            regs[ACCUMULATED] = accumulated - blocks[lane[turn]]
            rules[CONTINUED] += 1
            rules[EXACT] += regs[ACCUMULATED] == 0
        return turn

    entries = len(owner)
    entry = regs[POINTER]
    found = False
    if active != 0:
        for _ in range(entries):
            entry = entry + 1 if entry + 1 < entries else 0
            if weight[entry] != 0 and (active >> owner[entry]) & 1 != 0:
                found = True
                break
    left = 0
    if in_turn:
        left = accumulated if able else 0
        if turns.keep and (waiting >> turn) & 1 != 0:
            left = min(accumulated, turns.most_kept)
    served, sends, total = -1, False, 0
    if found:
        served = owner[entry]
        carried = left if served == turn else turns.deficit[served]
        total = min(weight[entry] + carried, turns.most_accumulated)
        sends = total >= blocks[lane[served]]
    if commit:
        rules[IDLE] += active == 0
        rules[NOBODY] += active != 0 and not found
        if in_turn:
            turns.deficit[turn] = left
            rules[REMAINDER] += able and left > 0
            rules[TURN_LOST] += left < accumulated
            rules[ON_STALL] += not able and left > 0
        regs[TURN], regs[ACCUMULATED] = NO_TURN, 0
        if found:
            rules[BEGAN] += sends
            rules[NO_GRANT] += not sends
            rules[DEFICIT_USED] += turns.deficit[served] > 0
            rules[TO_ITSELF] += served == turn
            rules[OVER_TURNS] += sends and blocks[lane[served]] > weight[entry]
            rules[EXACT] += sends and total == blocks[lane[served]]
            turns.deficit[served] = 0
            regs[POINTER], regs[TURN] = entry, served
            regs[ACCUMULATED] = total - (blocks[lane[served]] if sends else 0)
        lose_deficits(turns, active, waiting, rules)
    return served if sends else -1


@inner
def lose_deficits(turns: Turns, active: int, waiting: int, rules: NDArray[np.int64]) -> None:
    """Take the deficit of every requester that is not active; with ``keep`` not of one that only lacks room."""
    kept = active | (waiting if turns.keep else 0)
    for requester in range(len(turns.deficit)):
        if turns.deficit[requester] != 0:
            if not (kept >> requester) & 1:
                turns.deficit[requester] = 0
                rules[DEFICIT_LOST] += 1
            elif not (active >> requester) & 1:
                rules[ON_STALL] += 1
