"""The VL arbiter's line-rate form: lists walked ahead, blocks charged one a cycle (``docs/vlarb_line_rate.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.kernel import inner, kernel
from vlane.golden.rule import Rule
from vlane.golden.vlarb import SELECT_HIGH, SELECT_LIMIT, SELECT_LOW, counter_load

from vlane.egress import ListCode
from vlane.vlarb import LIMIT_UNBOUNDED, VL15

__all__ = ["RULES", "LineRateState", "applicable_rules", "bad_entries", "new_state", "reset", "step", "unreachable"]

ROW = 8
"""Entries of a row (L1)."""

RULES = (
    Rule("stayed", "A5", "the current entry sent with the weight it had left"),
    Rule("taken", "L6", "an offered entry became the current one"),
    Rule("weight_ended", "A2", "a packet used an entry's weight to its end"),
    Rule("overshot", "A2", "blocks went out beyond an entry's weight"),
    Rule("high_before_low", "1.8", "High sent although Low could"),
    Rule("low_after_expiry", "1.8", "the limit had expired: Low sent although High could"),
    Rule("expired_but_low_empty", "A7", "the limit had expired, Low had nothing: reloaded, High sent at once"),
    Rule("lost", "L7", "the lane that a decision named could not send after all"),
    Rule("dropped", "L8", "an offered entry left unserved"),
    Rule("waited", "L4", "a picked entry waited"),
    Rule("charged_later", "L6", "a further block was charged"),
    Rule("swapped", "A12", "the shadow table took over"),
    Rule("held", "A14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "A15", "VL15 sent ahead of a data lane with a packet and room"),
)
(STAYED, TAKEN, WEIGHT_ENDED, OVERSHOT, HIGH_BEFORE_LOW, LOW_AFTER_EXPIRY, EXPIRED_BUT_LOW_EMPTY, LOST, DROPPED,
 WAITED, CHARGED_LATER, SWAPPED, HELD, VL15_FIRST) = range(len(RULES))  # fmt: skip

HIGH, LOW = 0, 1
_NONE = -1
(CHOSEN, LAST_CHOSEN, FETCHED, CURRENT_ROW, LEFT_IN_ROW, PICKED, WAITING, OFFERED, CAN, VL, LEFT, LOOKS, RECENT, AWAKE,
 SERVED, BAD) = range(16)  # fmt: skip
BANK, SWAP_PENDING, COUNTER, SINCE_EXCHANGE, ABLE_BEFORE, ONGOING, TO_CHARGE, LAST_BLOCKS = range(8)
_FROM_NONE, _FROM_HIGH, _FROM_LOW, _FROM_VL15 = (int(code) for code in ListCode)


def applicable_rules(*, has_vl15: bool) -> frozenset[str]:
    """Return the names of the rules that random tables and traffic show."""
    never = set() if has_vl15 else {RULES[VL15_FIRST].name}
    return frozenset(rule.name for rule in RULES) - never


class LineRateState(NamedTuple):
    """Everything the arbiter remembers.

    Parameters
    ----------
    entries : int
        Entries of each list.
    vl, weight : array of int64, (2 banks, 2 lists, 8 * rows)
        The tables, rows filled up with entries that have no weight.
    limit : array of int64, (2 banks,)
        LimitOfHighPriority of each bank.
    named : array of int64, (2 lists, rows)
        Lanes that the entries with a weight of each row name, as bits, of those read so far.
    lists : array of int64, (2 lists, 16)
        The walk (L3, L4), what is foreseen (L5) and the current entry's VL and weight left (L6) of each list.
    regs : array of int64, (8,)
        What both lists share.
    """

    entries: int
    vl: NDArray[np.int64]
    weight: NDArray[np.int64]
    limit: NDArray[np.int64]
    named: NDArray[np.int64]
    lists: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_state(entries: int) -> LineRateState:
    """Return the state at power-on: tables of entries without a weight, nobody served.

    Parameters
    ----------
    entries : int
        Entries of each list, 1 to 64.
    """
    rows = -(-entries // ROW)
    tables = (2, 2, ROW * rows)
    state = LineRateState(
        entries, np.zeros(tables, np.int64), np.zeros(tables, np.int64), np.zeros(2, np.int64),
        np.zeros((2, rows), np.int64), np.zeros((2, 16), np.int64), np.zeros(8, np.int64),
    )  # fmt: skip
    reset(state)
    return state


@kernel
def reset(state: LineRateState) -> None:
    """Reset everything but the lists' tables (L1)."""
    _empty_walks(state)
    state.lists[:, VL] = 0
    state.lists[:, LOOKS] = 0
    state.lists[:, RECENT] = 0
    state.lists[:, AWAKE] = 0
    state.lists[:, LAST_CHOSEN] = state.named.shape[1] - 1
    state.limit[:] = 0
    state.regs[:] = 0
    state.regs[COUNTER] = counter_load(0)


@inner
def _empty_walks(state: LineRateState) -> None:
    state.named[:] = 0
    for which in (HIGH, LOW):
        each = state.lists[which]
        each[CHOSEN], each[FETCHED], each[CURRENT_ROW], each[LEFT_IN_ROW] = _NONE, _NONE, _NONE, 0
        each[PICKED], each[WAITING], each[OFFERED], each[CAN] = _NONE, _NONE, _NONE, 0
        each[LEFT], each[SERVED], each[BAD] = 0, 0, 0


@inner
def _is_read(state: LineRateState) -> bool:
    return 0 < state.regs[SINCE_EXCHANGE] <= ROW * state.named.shape[1] + 5


@inner
def _able(lanes: int, vl: int) -> bool:
    return (lanes >> vl) & 1 != 0


@inner
def _walk(state: LineRateState, which: int, data_vls: int, leaves: bool, rules: NDArray[np.int64]) -> None:  # noqa: FBT001 - numba takes no keyword-only arguments
    """Let a cycle of a list's walk pass, and foresee whether what will be offered can send (L3 to L5)."""
    each, bank, rows = state.lists[which], state.regs[BANK], state.named.shape[1]
    before, read = state.regs[ABLE_BEFORE], _is_read(state)
    picked, waiting, offered = each[PICKED], each[WAITING], each[OFFERED]
    if read or waiting == _NONE:
        _move(state, which, read)
    comes = _NONE if read else picked
    if offered == _NONE or leaves:
        if waiting != _NONE:
            each[OFFERED], each[WAITING] = waiting, _NONE
            each[CAN] = _able(before, state.vl[bank, which, waiting])
        else:
            each[OFFERED], each[CAN] = comes, comes != _NONE
    else:
        each[CAN] = _able(before, state.vl[bank, which, offered])
        if waiting == _NONE:
            each[WAITING] = comes
            rules[WAITED] += comes != _NONE
    awake = 0
    for row in range(rows):
        awake |= (read or state.named[which, row] & before != 0) << row
    each[AWAKE] = awake
    if read and picked != _NONE:
        vl, weighs = state.vl[bank, which, picked], state.weight[bank, which, picked] != 0
        each[BAD] += vl >= data_vls
        if weighs and vl < data_vls:
            each[SERVED] |= 1 << vl
            state.named[which, picked // ROW] |= 1 << vl


@inner
def _move(state: LineRateState, which: int, read: bool) -> None:  # noqa: FBT001 - numba takes no keyword-only arguments
    """Pick the next entry left in the current row; get the next row if that was the last (L3)."""
    each, bank, rows = state.lists[which], state.regs[BANK], state.named.shape[1]
    left = each[LEFT_IN_ROW]
    each[PICKED] = _NONE
    for place in range(ROW):
        if (left >> place) & 1:
            each[PICKED] = ROW * each[CURRENT_ROW] + place
            left &= ~(1 << place)
            break
    if left == 0:
        each[CURRENT_ROW] = each[FETCHED]
        if each[FETCHED] != _NONE:
            for place in range(ROW):
                entry = ROW * each[FETCHED] + place
                sends = state.weight[bank, which, entry] != 0 and _able(
                    state.regs[ABLE_BEFORE], state.vl[bank, which, entry]
                )
                left |= (read or sends) << place
        each[FETCHED] = each[CHOSEN]
        each[CHOSEN] = _NONE
        last = each[LAST_CHOSEN]
        for step in range(1, rows + 1):
            row = (last + step) % rows
            if read and last + step >= rows:
                break
            if (each[AWAKE] >> row) & 1:
                each[CHOSEN] = row
                break
        each[LAST_CHOSEN] = each[CHOSEN] if each[CHOSEN] != _NONE else rows - 1
    each[LEFT_IN_ROW] = left


@inner
def _charge(state: LineRateState, which: int, rules: NDArray[np.int64]) -> None:
    """Charge a block to a list's current entry and, if it is High's, to the limit (L6)."""
    each = state.lists[which]
    rules[OVERSHOT] += each[LEFT] == 0
    rules[WEIGHT_ENDED] += each[LEFT] == 1
    each[LEFT] = max(0, each[LEFT] - 1)
    if which == HIGH and state.limit[state.regs[BANK]] != LIMIT_UNBOUNDED:
        state.regs[COUNTER] -= 1


@kernel
def step(
    state: LineRateState,
    data_vls: int,
    has_vl15: bool,  # noqa: FBT001 - a parameter of the component
    request: int,
    fits: int,
    behind: int,
    blocks: NDArray[np.int64],
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: tuple[int, int, int, int, int],
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run one clock cycle; return (VL, list) that it names and whether it is granted.

    The other parameters are those of the exact form's ``decide`` and ``step``; ``behind`` has a bit for each data lane
    whose next packet is there and fits.
    """
    regs, lists = state.regs, state.lists
    able = request & fits
    data = able & ((1 << data_vls) - 1)
    vl15 = has_vl15 and _able(able, data_vls)
    high_stays = lists[HIGH, LOOKS] != 0 and lists[HIGH, LEFT] > 0
    low_stays = lists[LOW, LOOKS] != 0 and lists[LOW, LEFT] > 0
    high, low = high_stays or lists[HIGH, CAN] != 0, low_stays or lists[LOW, CAN] != 0
    expired = regs[COUNTER] <= 0
    winner = HIGH if high and not (expired and low) else LOW if low else _NONE

    vl, source, granted, last_blocks = 0, _FROM_NONE, False, 0
    if vl15:
        vl, source, granted, last_blocks = VL15, _FROM_VL15, True, blocks[data_vls]
        rules[VL15_FIRST] += ready and data != 0
    elif hold_data:
        rules[HELD] += ready and data != 0
    elif winner != _NONE:
        stays = high_stays if winner == HIGH else low_stays
        vl = lists[winner, VL] if stays else state.vl[regs[BANK], winner, lists[winner, OFFERED]]
        source = _FROM_HIGH if winner == HIGH else _FROM_LOW
        granted = _able(data, vl)
        if granted:
            last_blocks = blocks[vl]

    decides = ready and not vl15 and not hold_data
    later = regs[ONGOING] if regs[TO_CHARGE] > 0 else _NONE
    regs[TO_CHARGE] = max(0, regs[TO_CHARGE] - 1)
    if decides and (expired or not high):
        regs[COUNTER] = counter_load(state.limit[regs[BANK]])
    for which in (HIGH, LOW):
        each = lists[which]
        stays = high_stays if which == HIGH else low_stays
        wins = decides and winner == which
        takes = wins and not stays
        leaves = takes or (not stays and each[CAN] == 0)
        rules[DROPPED] += leaves and not takes and each[OFFERED] != _NONE
        if wins:
            rules[STAYED] += stays
            rules[TAKEN] += takes
            rules[LOST] += not granted
            if takes:
                each[VL] = state.vl[regs[BANK], which, each[OFFERED]]
                each[LEFT] = state.weight[regs[BANK], which, each[OFFERED]]
        if wins or later == which:
            rules[CHARGED_LATER] += not wins
            _charge(state, which, rules)
        if wins:
            each[LOOKS] = _able(behind, each[VL])
        elif each[RECENT] == 0:
            each[LOOKS] = _able(regs[ABLE_BEFORE], each[VL])
        each[RECENT] = wins
        _walk(state, which, data_vls, leaves, rules)
    if decides:
        rules[HIGH_BEFORE_LOW] += winner == HIGH and low
        rules[LOW_AFTER_EXPIRY] += winner == LOW and high
        rules[EXPIRED_BUT_LOW_EMPTY] += winner == HIGH and expired
        regs[ONGOING] = LOW if winner == LOW else HIGH
        if granted:
            regs[TO_CHARGE] = max(0, last_blocks - 1)
    regs[LAST_BLOCKS], regs[ABLE_BEFORE] = last_blocks, data
    regs[SINCE_EXCHANGE] += _is_read(state)
    wanted = swap or regs[SWAP_PENDING] != 0
    regs[SWAP_PENDING] = wanted and not ready
    if wanted and ready:
        _exchange(state)
        rules[SWAPPED] += 1
    elif write[0] != 0:
        _program(state, write[1], write[2], write[3], write[4])
    return vl, source, granted


@inner
def _exchange(state: LineRateState) -> None:
    """Exchange the banks: both lists are read anew (L2)."""
    regs = state.regs
    regs[BANK] ^= 1
    regs[COUNTER] = counter_load(state.limit[regs[BANK]])
    regs[TO_CHARGE] = 0
    regs[SINCE_EXCHANGE] = 1
    _empty_walks(state)
    state.lists[:, LAST_CHOSEN] = _NONE
    state.lists[:, AWAKE] = (1 << state.named.shape[1]) - 1


@inner
def _program(state: LineRateState, select: int, index: int, vl: int, weight: int) -> None:
    """Write one entry, or the limit, of the shadow bank; an index past the end writes nothing."""
    bank = state.regs[BANK] ^ 1
    if select == SELECT_LIMIT:
        state.limit[bank] = weight
    elif select in (SELECT_HIGH, SELECT_LOW) and index < state.entries:
        state.vl[bank, select, index] = vl
        state.weight[bank, select, index] = weight


@kernel
def unreachable(state: LineRateState, data_vls: int) -> int:
    """Return a bit per data lane that no entry with a weight names, of those read so far."""
    return ((1 << data_vls) - 1) & ~(state.lists[HIGH, SERVED] | state.lists[LOW, SERVED])


@kernel
def bad_entries(state: LineRateState) -> int:
    """Return how many entries name VL15 or a lane the port lacks, of those read so far."""
    return state.lists[HIGH, BAD] + state.lists[LOW, BAD]
