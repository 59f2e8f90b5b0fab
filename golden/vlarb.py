"""The VL arbiter's reference behaviour: IBA 7.6.9 with the decisions A1 to A17 of ``docs/vlarb.md``.

Plain integers: a state of a few arrays, one ``step`` per clock cycle, a decision out. Lists, banks and
registers are indexed by the constants below; lanes of ``request`` and ``fits`` are bits, VL15 the last one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden import vlarb_rules as rule
from vlane.golden.kernel import inner, kernel

from vlane.egress import ListCode
from vlane.vlarb import LIMIT_UNBOUNDED, VL15, VLArbTable

__all__ = ["VLArbState", "decide", "load", "new_state", "step"]

HIGH, LOW = 0, 1
(
    BANK,
    SWAP_PENDING,
    COUNTER,
    POINTER_HIGH,
    POINTER_LOW,
    REMAINING_HIGH,
    REMAINING_LOW,
    SERVED_HIGH,
    SERVED_LOW,
    LAST_LIST,
) = range(10)
SELECT_HIGH, SELECT_LOW, SELECT_LIMIT = 0, 1, 2

_LIMIT_BLOCKS = 64  # the limit counts 4096 bytes
_FROM_NONE, _FROM_HIGH, _FROM_LOW, _FROM_VL15 = (int(code) for code in ListCode)


class VLArbState(NamedTuple):
    """Everything the arbiter remembers.

    Parameters
    ----------
    vl, weight : array of int64, (2 banks, 2 lists, entries)
        The tables; ``regs[BANK]`` names the active one.
    limit : array of int64, (2 banks,)
        LimitOfHighPriority of each bank.
    regs : array of int64, (10,)
        Pointers, remaining weights, the counter and the bank; the lanes each active list serves, as bits, which
        follow from the tables; ``LAST_LIST`` only serves the rule counters.
    """

    vl: NDArray[np.int64]
    weight: NDArray[np.int64]
    limit: NDArray[np.int64]
    regs: NDArray[np.int64]


def new_state(entries: int) -> VLArbState:
    """Return the state after reset: both banks empty, limit 0.

    Parameters
    ----------
    entries : int
        Entries of each list, 1 to 64.
    """
    shape = (2, 2, entries)
    state = VLArbState(
        np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(2, np.int64), np.zeros(10, np.int64)
    )
    reset(state)
    return state


def load(state: VLArbState, table: VLArbTable) -> None:
    """Make a table the active one, as programming all of it and a swap would; the rest of the lists is cleared.

    Raises
    ------
    ValueError
        If a list of the table is longer than the state's.
    """
    entries = state.vl.shape[2]
    if max(len(table.high), len(table.low)) > entries:
        raise ValueError(f"the table must have at most {entries} entries per list")
    bank = int(state.regs[BANK]) ^ 1
    for which, listed in ((HIGH, table.high), (LOW, table.low)):
        state.vl[bank, which] = 0
        state.weight[bank, which] = 0
        for index, entry in enumerate(listed):
            state.vl[bank, which, index] = entry.vl
            state.weight[bank, which, index] = entry.weight
    state.limit[bank] = table.limit_of_high_priority
    exchange(state)


@kernel
def reset(state: VLArbState) -> None:
    """Return to the state after reset: both banks empty."""
    state.vl[:] = 0
    state.weight[:] = 0
    state.limit[:] = 0
    state.regs[:] = 0
    state.regs[COUNTER] = counter_load(0)


@inner
def counter_load(limit: int) -> int:
    """Blocks High may send before Low gets its turn (A8); limit 0 is one packet (A9)."""
    return max(1, _LIMIT_BLOCKS * limit)


@inner
def served_lanes(state: VLArbState, bank: int, which: int) -> int:
    """Return a bit per lane, VL15 included, that an entry with a weight of a list names."""
    lanes = 0
    for entry in range(state.vl.shape[2]):
        if state.weight[bank, which, entry] != 0:
            lanes |= 1 << state.vl[bank, which, entry]
    return lanes


@kernel
def exchange(state: VLArbState) -> None:
    """Exchange the banks: both lists start at entry 0 with its weight, the counter reloads (A12, A15)."""
    regs = state.regs
    bank = regs[BANK] ^ 1
    regs[BANK] = bank
    for which in (HIGH, LOW):
        regs[POINTER_HIGH + which] = 0
        regs[REMAINING_HIGH + which] = state.weight[bank, which, 0]
        regs[SERVED_HIGH + which] = served_lanes(state, bank, which)
    regs[COUNTER] = counter_load(state.limit[bank])
    regs[LAST_LIST] = _FROM_NONE


@kernel
def program(state: VLArbState, select: int, index: int, vl: int, weight: int) -> None:
    """Write one entry, or the limit, of the shadow bank; an index past the end writes nothing."""
    bank = state.regs[BANK] ^ 1
    if select == SELECT_LIMIT:
        state.limit[bank] = weight
    elif select in (SELECT_HIGH, SELECT_LOW) and index < state.vl.shape[2]:
        state.vl[bank, select, index] = vl
        state.weight[bank, select, index] = weight


@inner
def serves(vl: int, weight: int, eligible: int) -> bool:
    """Tell whether an entry has a weight and names a lane that can send now; bad lanes never can (A10)."""
    return weight != 0 and (eligible >> vl) & 1 != 0


@kernel
def search(
    state: VLArbState,
    which: int,
    eligible: int,
    data_vls: int,
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> int:
    """Return the entry that a list serves; one of its entries must be able to send.

    The current entry while it has weight left (A5), else the next one that can send, in list order and
    round; the current entry is the last candidate (A4).
    """
    bank, entry = state.regs[BANK], state.regs[POINTER_HIGH + which]
    vl, weight = state.vl[bank, which, entry], state.weight[bank, which, entry]
    if state.regs[REMAINING_HIGH + which] > 0 and serves(vl, weight, eligible):
        return entry
    while True:
        entry = entry + 1 if entry + 1 < state.vl.shape[2] else 0
        vl, weight = state.vl[bank, which, entry], state.weight[bank, which, entry]
        if serves(vl, weight, eligible):
            return entry
        if commit:
            rules[rule.ZERO_WEIGHT_SKIPPED] += weight == 0 and (eligible >> vl) & 1 != 0
            rules[rule.BAD_ENTRY_SKIPPED] += vl >= data_vls


@inner
def turn_to(state: VLArbState, which: int, entry: int, blocks: int, rules: NDArray[np.int64]) -> None:
    """Charge a packet to an entry, loading the entry's weight if the pointer arrives at it (A2, A4)."""
    regs = state.regs
    pointer, remaining = regs[POINTER_HIGH + which], regs[REMAINING_HIGH + which]
    if entry == pointer and remaining > 0:
        rules[rule.ENTRY_CONTINUED] += 1
        other = _FROM_LOW if which == HIGH else _FROM_HIGH
        rules[rule.LIST_RESUMED] += regs[LAST_LIST] == other and remaining < state.weight[regs[BANK], which, entry]
    else:
        rules[rule.WRAPPED_TO_ITSELF] += entry == pointer
        rules[rule.REMAINDER_FORFEITED] += remaining > 0
        remaining = state.weight[regs[BANK], which, entry]
    remaining -= blocks
    rules[rule.ENTRY_EXPIRED_EXACTLY] += remaining == 0
    rules[rule.ENTRY_OVERSHOT] += remaining < 0
    regs[POINTER_HIGH + which], regs[REMAINING_HIGH + which] = entry, remaining
    regs[LAST_LIST] = _FROM_HIGH if which == HIGH else _FROM_LOW


@inner
def count_limit(state: VLArbState, counter: int, blocks: int, rules: NDArray[np.int64]) -> int:
    """Return the counter after a high packet; limit 255 never counts (A8, A15)."""
    limit = state.limit[state.regs[BANK]]
    if limit == LIMIT_UNBOUNDED:
        return counter
    counter -= blocks
    rules[rule.LIMIT_EXPIRED_EXACTLY] += counter == 0
    rules[rule.LIMIT_OVERSHOT] += counter < 0
    rules[rule.LIMIT_ZERO] += limit == 0
    rules[rule.LIMIT_ONE] += limit == 1
    rules[rule.LIMIT_NEAR_MOST] += limit == LIMIT_UNBOUNDED - 1
    return counter


@inner
def decide_data(
    state: VLArbState,
    eligible: int,
    data_vls: int,
    blocks: NDArray[np.int64],
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int]:
    """Return (VL, list) of the data packet that starts, list ``NONE`` if none does; update the state if told.

    High sends while it can and its counter has not expired; otherwise the counter reloads and Low sends,
    or High in the same decision if Low has nothing (1.8, A7, A15).
    """
    regs = state.regs
    bank = regs[BANK]
    high = eligible & regs[SERVED_HIGH] != 0
    low = eligible & regs[SERVED_LOW] != 0
    expired = regs[COUNTER] <= 0
    use_high = high and (not expired or not low)
    source = _FROM_HIGH if use_high else _FROM_LOW if low else _FROM_NONE
    if not commit:
        if source == _FROM_NONE:
            return 0, source
        which = HIGH if use_high else LOW
        return state.vl[bank, which, search(state, which, eligible, data_vls, commit, rules)], source

    rules[rule.REMAINDER_KEPT] += (not high and regs[REMAINING_HIGH] > 0) or (not low and regs[REMAINING_LOW] > 0)
    rules[rule.UNSERVED_STALLED] += eligible != 0 and source == _FROM_NONE
    counter = regs[COUNTER]
    if expired or not high:
        counter = counter_load(state.limit[bank])
        rules[rule.RELOADED_ON_HIGH_EMPTY] += not high and counter != regs[COUNTER]
    vl = 0
    if use_high:
        rules[rule.HIGH_BEFORE_LOW] += low
        rules[rule.EXPIRED_BUT_LOW_EMPTY] += expired
        rules[rule.LIMIT_UNBOUNDED_USED] += low and state.limit[bank] == LIMIT_UNBOUNDED
        entry = search(state, HIGH, eligible, data_vls, commit, rules)
        vl = state.vl[bank, HIGH, entry]
        turn_to(state, HIGH, entry, blocks[vl], rules)
        counter = count_limit(state, counter, blocks[vl], rules)
    elif low:
        rules[rule.LOW_AFTER_EXPIRY] += high
        rules[rule.LOW_ALONE] += not high
        entry = search(state, LOW, eligible, data_vls, commit, rules)
        vl = state.vl[bank, LOW, entry]
        turn_to(state, LOW, entry, blocks[vl], rules)
    regs[COUNTER] = counter
    return vl, source


@kernel
def decide(
    state: VLArbState,
    data_vls: int,
    has_vl15: bool,  # noqa: FBT001 - a parameter of the component
    request: int,
    fits: int,
    blocks: NDArray[np.int64],
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int]:
    """Return (VL, list) of the packet that starts in this cycle if the link is ready; list ``NONE`` if none.

    VL15 goes first and changes nothing; a hold lets only VL15 through; otherwise the lists decide, and
    their state moves only when ``ready`` (A14, A15).

    Parameters
    ----------
    state : VLArbState
        Updated in place when ``ready``.
    data_vls : int
        Data lanes of the port, 1 to 15.
    has_vl15 : bool
        Whether bit ``data_vls`` of the vectors is VL15.
    request, fits : int
        Bit per lane: a head packet is there; the next node has room for all of it.
    blocks : array of int64, (data_vls + has_vl15,)
        64-byte blocks of each head packet, 1 to 66.
    ready : bool
        A new packet may start.
    hold_data : bool
        A flow-control packet is due: only VL15 may win.
    rules : array of int64, (len(RULES),)
        Counters of ``vlarb_rules``, raised when ``ready``.
    """
    able = request & fits
    eligible = able & ((1 << data_vls) - 1)
    if has_vl15 and (able >> data_vls) & 1:
        if ready:
            rules[rule.VL15_CHANGES_NOTHING] += eligible != 0
            rules[rule.VL15_UNDER_HOLD] += hold_data
        return VL15, _FROM_VL15
    if hold_data:
        rules[rule.HELD] += ready and eligible != 0
        return 0, _FROM_NONE
    if ready:
        rules[rule.NO_CREDIT] += request & ~fits != 0
        rules[rule.IDLE] += able == 0
    return decide_data(state, eligible, data_vls, blocks, ready, rules)


@kernel
def step(
    state: VLArbState,
    data_vls: int,
    has_vl15: bool,  # noqa: FBT001 - a parameter of the component
    request: int,
    fits: int,
    blocks: NDArray[np.int64],
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: tuple[int, int, int, int, int],
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int]:
    """Run one clock cycle: the decision, then a swap if one is wanted and the link is ready (A16).

    Parameters and the result are ``decide``'s. ``write`` is the programming port (enable, select, index, vl,
    weight): it writes the shadow bank; in the cycle of an exchange it writes nothing.
    ``swap`` asks for the exchange of the banks.
    """
    decision = decide(state, data_vls, has_vl15, request, fits, blocks, ready, hold_data, rules)
    wanted = swap or state.regs[SWAP_PENDING] != 0
    exchanged = wanted and ready
    if exchanged:
        exchange(state)
        rules[rule.SWAPPED] += 1
        rules[rule.SWAP_WITH_GRANT] += decision[1] in (_FROM_HIGH, _FROM_LOW)
    rules[rule.SWAP_WAITED] += wanted and not ready
    state.regs[SWAP_PENDING] = wanted and not ready
    if write[0] != 0 and not exchanged:
        program(state, write[1], write[2], write[3], write[4])
    return decision


@kernel
def unreachable(state: VLArbState, data_vls: int) -> int:
    """Return a bit per data lane that no entry with a weight names (A11)."""
    return ((1 << data_vls) - 1) & ~(state.regs[SERVED_HIGH] | state.regs[SERVED_LOW])


@kernel
def bad_entries(state: VLArbState, data_vls: int) -> int:
    """Return how many entries of the active lists name VL15 or a lane the port lacks (A17)."""
    bank, bad = state.regs[BANK], 0
    for which in (HIGH, LOW):
        for entry in range(state.vl.shape[2]):
            bad += state.vl[bank, which, entry] >= data_vls
    return bad
