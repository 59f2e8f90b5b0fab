"""The VL arbiter's line-rate form: lists walked ahead, blocks charged one a cycle (``docs/vlarb_line_rate.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import has
from vlane.golden.kernel import inner, kernel
from vlane.golden.list_walk import (
    BAD,
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
from vlane.golden.vlarb import SELECT_HIGH, SELECT_LIMIT, SELECT_LOW, counter_load

from vlane.egress import ListCode
from vlane.vlarb import LIMIT_UNBOUNDED, VL15

if TYPE_CHECKING:
    from vlane.vlarb import VLArbTable

__all__ = ["RULES", "LineRateState", "applicable_rules", "bad_entries", "new_state", "reset", "step", "unreachable"]

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
    Rule("emptied", "L1", "a row that had weights before a reset was written for the first time after it"),
    Rule("swapped", "A12", "the shadow table took over"),
    Rule("held", "A14", "a flow-control packet was due: data waited"),
    Rule("vl15_first", "A15", "VL15 sent ahead of a data lane with a packet and room"),
)
(STAYED, TAKEN, WEIGHT_ENDED, OVERSHOT, HIGH_BEFORE_LOW, LOW_AFTER_EXPIRY, EXPIRED_BUT_LOW_EMPTY, LOST, DROPPED,
 WAITED, CHARGED_LATER, EMPTIED, SWAPPED, HELD, VL15_FIRST) = range(len(RULES))  # fmt: skip

HIGH, LOW = 0, 1
_NO_LIST = -1
VL, LEFT, LOOKS, RECENT = range(4)
BANK, SWAP_PENDING, COUNTER, ABLE_BEFORE, ONGOING, TO_CHARGE, LAST_BLOCKS = range(7)
_FROM_NONE, _FROM_HIGH, _FROM_LOW, _FROM_VL15 = (int(code) for code in ListCode)


def applicable_rules(table: VLArbTable, *, data_vls: int, has_vl15: bool) -> frozenset[str]:
    """Return the names of the rules that traffic through this one table can make happen."""
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


class LineRateState(NamedTuple):
    """Everything the arbiter remembers.

    Parameters
    ----------
    walks : tuple of two ListWalk
        High's list and Low's.
    limit : array of int64, (2 banks,)
        LimitOfHighPriority of each bank.
    current : array of int64, (2 lists, 4)
        VL and weight left of each list's current entry, what is foreseen of it (L5, L6).
    regs : array of int64, (7,)
        What both lists share.
    """

    walks: tuple[ListWalk, ListWalk]
    limit: NDArray[np.int64]
    current: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_state(entries: int) -> LineRateState:
    """Return the state at power-on: tables of entries without a weight, nobody served.

    Parameters
    ----------
    entries : int
        Entries of each list, 1 to 64.
    """
    state = LineRateState(
        (new_walk(entries), new_walk(entries)),
        np.zeros(2, np.int64), np.zeros((2, 4), np.int64), np.zeros(7, np.int64),
    )  # fmt: skip
    reset(state)
    return state


@kernel
def reset(state: LineRateState) -> None:
    """Reset: both banks empty (L1)."""
    for each in state.walks:
        reset_walk(each)
    state.current[:] = 0
    state.limit[:] = 0
    state.regs[:] = 0
    state.regs[COUNTER] = counter_load(0)


@inner
def _charge(state: LineRateState, which: int, rules: NDArray[np.int64]) -> None:
    """Charge a block to a list's current entry and, if it is High's, to the limit (L6)."""
    current = state.current[which]
    rules[OVERSHOT] += current[LEFT] == 0
    rules[WEIGHT_ENDED] += current[LEFT] == 1
    current[LEFT] = max(0, current[LEFT] - 1)
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
    regs, walks, current = state.regs, state.walks, state.current
    able = request & fits
    data = able & ((1 << data_vls) - 1)
    vl15 = has_vl15 and has(able, data_vls)
    high_stays = current[HIGH, LOOKS] != 0 and current[HIGH, LEFT] > 0
    low_stays = current[LOW, LOOKS] != 0 and current[LOW, LEFT] > 0
    high, low = high_stays or walks[HIGH].regs[CAN] != 0, low_stays or walks[LOW].regs[CAN] != 0
    expired = regs[COUNTER] <= 0
    winner = HIGH if high and not (expired and low) else LOW if low else _NO_LIST

    vl, source, granted, last_blocks = 0, _FROM_NONE, False, 0
    if vl15:
        vl, source, granted, last_blocks = VL15, _FROM_VL15, True, blocks[data_vls]
        rules[VL15_FIRST] += ready and data != 0
    elif hold_data:
        rules[HELD] += ready and data != 0
    elif winner != _NO_LIST:
        stays = high_stays if winner == HIGH else low_stays
        vl = current[winner, VL] if stays else offered_lane(walks[winner])
        source = _FROM_HIGH if winner == HIGH else _FROM_LOW
        granted = has(data, vl)
        if granted:
            last_blocks = blocks[vl]

    decides = ready and not vl15 and not hold_data
    later = regs[ONGOING] if regs[TO_CHARGE] > 0 else _NO_LIST
    regs[TO_CHARGE] = max(0, regs[TO_CHARGE] - 1)
    if decides and (expired or not high):
        regs[COUNTER] = counter_load(state.limit[regs[BANK]])
    for which in (HIGH, LOW):
        each, entry = walks[which], current[which]
        stays = high_stays if which == HIGH else low_stays
        wins = decides and winner == which
        takes = wins and not stays
        leaves = takes or (not stays and each.regs[CAN] == 0)
        rules[DROPPED] += leaves and not takes and each.regs[OFFERED] != NO_ENTRY
        if wins:
            rules[STAYED] += stays
            rules[TAKEN] += takes
            rules[LOST] += not granted
            if takes:
                entry[VL], entry[LEFT] = offered_lane(each), offered_weight(each)
        if wins or later == which:
            rules[CHARGED_LATER] += not wins
            _charge(state, which, rules)
        if wins:
            entry[LOOKS] = has(behind, entry[VL])
        elif entry[RECENT] == 0:
            entry[LOOKS] = has(regs[ABLE_BEFORE], entry[VL])
        entry[RECENT] = wins
        rules[WAITED] += walk(each, regs[ABLE_BEFORE], data_vls, leaves)
    if decides:
        rules[HIGH_BEFORE_LOW] += winner == HIGH and low
        rules[LOW_AFTER_EXPIRY] += winner == LOW and high
        rules[EXPIRED_BUT_LOW_EMPTY] += winner == HIGH and expired
        regs[ONGOING] = LOW if winner == LOW else HIGH
        if granted:
            regs[TO_CHARGE] = max(0, last_blocks - 1)
    regs[LAST_BLOCKS], regs[ABLE_BEFORE] = last_blocks, data
    wanted = swap or regs[SWAP_PENDING] != 0
    regs[SWAP_PENDING] = wanted and not ready
    if wanted and ready:
        _exchange(state)
        rules[SWAPPED] += 1
    elif write[0] != 0:
        rules[EMPTIED] += _program(state, write[1], write[2], write[3], write[4])
    return vl, source, granted


@inner
def _exchange(state: LineRateState) -> None:
    """Exchange the banks: both lists are read anew (L2)."""
    regs = state.regs
    regs[BANK] ^= 1
    regs[COUNTER] = counter_load(state.limit[regs[BANK]])
    regs[TO_CHARGE] = 0
    for which in (HIGH, LOW):
        exchange_walk(state.walks[which])
        state.current[which, LEFT] = 0


@inner
def _program(state: LineRateState, select: int, index: int, vl: int, weight: int) -> bool:
    """Write one entry, or the limit, of the shadow bank; return what ``write_entry`` does."""
    if select == SELECT_LIMIT:
        state.limit[state.regs[BANK] ^ 1] = weight
    elif select in (SELECT_HIGH, SELECT_LOW):
        return write_entry(state.walks[select], index, vl, weight)
    return False


@kernel
def unreachable(state: LineRateState, data_vls: int) -> int:
    """Return a bit per data lane that no entry with a weight names, of those read so far."""
    return ((1 << data_vls) - 1) & ~(state.walks[HIGH].regs[SERVED] | state.walks[LOW].regs[SERVED])


@kernel
def bad_entries(state: LineRateState) -> int:
    """Return how many entries name VL15 or a lane the port lacks, of those read so far."""
    return state.walks[HIGH].regs[BAD] + state.walks[LOW].regs[BAD]
