"""Golden model of the VL arbiter, exact form: IBA 7.6.9 with the decisions VLA-1 to VLA-19 of ``docs/vlarb.md``.

The state is a few integer arrays, indexed by the constants below; ``step`` runs one clock cycle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.bits import is_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.schedulers import vlarb_rules as rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VL15, VLArbTable

RULES = rule.RULES
RULE_COUNT = len(RULES)

LOOKS_BEHIND = False
"""A step uses only the heads."""

REST_CYCLES = 1
"""Number of ready cycles without a packet to send after which further cycles change no state."""

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

_LIMIT_BLOCKS = 64  # blocks per unit of the limit (4096 bytes)
_FROM_NONE, _FROM_HIGH, _FROM_LOW, _FROM_VL15 = (int(code) for code in ListCode)


class State(NamedTuple):
    """State of the arbiter.

    Parameters
    ----------
    data_vls : int
        Number of data lanes of the port, 1 to 15.
    has_vl15 : bool
        Bit ``data_vls`` of the masks is VL15.
    vl, weight : array of int64, (2 banks, 2 lists, entries)
        VL and weight of each entry; ``regs[BANK]`` is the active bank.
    limit : array of int64, (2 banks,)
        LimitOfHighPriority of each bank, in units of 4096 bytes.
    regs : array of int64, (10,)
        Active bank; swap pending; limit counter; pointers and remaining weights of both lists; lanes served by each
        active list (derived from the tables); list that sent last (used only by rule counters).
    """

    data_vls: int
    has_vl15: bool
    vl: NDArray[np.int64]
    weight: NDArray[np.int64]
    limit: NDArray[np.int64]
    regs: NDArray[np.int64]


def make_state(*, data_vls: int, entries: int, vl15: bool = False, form: str = "exact", parity: bool = False) -> State:
    """Return the state after reset, for the parameters of the component: both banks are empty, the limit is 0."""
    del form, parity  # the form selects this module; golden models no bit flips
    shape = (2, 2, entries)
    state = State(
        data_vls,
        bool(vl15),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(2, np.int64),
        np.zeros(10, np.int64),
    )
    reset(state)
    return state


def load(state: State, table: VLArbTable) -> None:
    """Make a table the active one, with empty entries behind it, as if it had been written and swapped.

    Raises
    ------
    ValueError
        If a list of the table has more entries than the state.
    """
    entries = state.vl.shape[2]
    if max(len(table.high), len(table.low)) > entries:
        raise ValueError(f"table has more than {entries} entries per list, the size of this arbiter")
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
def reset(state: State) -> None:
    """Reset: both banks are empty."""
    state.vl[:] = 0
    state.weight[:] = 0
    state.limit[:] = 0
    state.regs[:] = 0
    state.regs[COUNTER] = counter_load(0)


@inner
def counter_load(limit: int) -> int:
    """Return the blocks that High may send before Low is served (VLA-8). Limit 0 allows one packet (VLA-9)."""
    return max(1, _LIMIT_BLOCKS * limit)


@inner
def served_lanes(state: State, bank: int, list_index: int) -> int:
    """Return a bit mask of the VLs, including VL15, that a list's entries with a weight name."""
    lanes = 0
    for entry in range(state.vl.shape[2]):
        if state.weight[bank, list_index, entry] != 0:
            lanes |= 1 << state.vl[bank, list_index, entry]
    return lanes


@kernel
def exchange(state: State) -> None:
    """Exchange the banks: both lists start at entry 0 with its weight, and the counter is reloaded (VLA-12, VLA-15)."""
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
def program(state: State, write: Program) -> None:
    """Write an entry or the limit of the shadow bank. Ignore an index out of range."""
    _, select, index, vl, weight = write
    bank = state.regs[BANK] ^ 1
    if select == SELECT_LIMIT:
        state.limit[bank] = weight
    elif select in (SELECT_HIGH, SELECT_LOW) and index < state.vl.shape[2]:
        state.vl[bank, select, index] = vl
        state.weight[bank, select, index] = weight


@inner
def serves(vl: int, weight: int, eligible: int) -> bool:
    """Return whether an entry has a weight and names an eligible lane. Bad entries never do (VLA-10)."""
    return weight != 0 and (eligible >> vl) & 1 != 0


@kernel
def search(
    state: State,
    list_index: int,
    eligible: int,
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> int:
    """Return the entry that a list serves, which must have an eligible entry.

    The current entry is served while it has weight left (VLA-5), otherwise the next eligible entry in cyclic order. The
    current entry is the last candidate (VLA-4).
    """
    bank, entry = state.regs[BANK], state.regs[POINTER_HIGH + list_index]
    vl, weight = state.vl[bank, list_index, entry], state.weight[bank, list_index, entry]
    if state.regs[REMAINING_HIGH + list_index] > 0 and serves(vl, weight, eligible):
        return entry
    while True:
        entry = entry + 1 if entry + 1 < state.vl.shape[2] else 0
        vl, weight = state.vl[bank, list_index, entry], state.weight[bank, list_index, entry]
        if serves(vl, weight, eligible):
            return entry
        if commit:
            rule_counts[rule.ZERO_WEIGHT_SKIPPED] += weight == 0 and (eligible >> vl) & 1 != 0
            rule_counts[rule.BAD_ENTRY_SKIPPED] += vl >= state.data_vls


@inner
def turn_to(state: State, list_index: int, entry: int, blocks: int, rule_counts: NDArray[np.int64]) -> None:
    """Charge a packet to an entry, which becomes current with its full weight if it is not (VLA-2, VLA-4)."""
    regs = state.regs
    pointer, remaining = regs[POINTER_HIGH + list_index], regs[REMAINING_HIGH + list_index]
    if entry == pointer and remaining > 0:
        rule_counts[rule.ENTRY_CONTINUED] += 1
        other = _FROM_LOW if list_index == HIGH else _FROM_HIGH
        rule_counts[rule.LIST_RESUMED] += (
            regs[LAST_LIST] == other and remaining < state.weight[regs[BANK], list_index, entry]
        )
    else:
        rule_counts[rule.WRAPPED_TO_ITSELF] += entry == pointer
        rule_counts[rule.REMAINDER_FORFEITED] += remaining > 0
        remaining = state.weight[regs[BANK], list_index, entry]
    remaining -= blocks
    rule_counts[rule.ENTRY_EXPIRED_EXACTLY] += remaining == 0
    rule_counts[rule.ENTRY_OVERSHOT] += remaining < 0
    regs[POINTER_HIGH + list_index], regs[REMAINING_HIGH + list_index] = entry, remaining
    regs[LAST_LIST] = _FROM_HIGH if list_index == HIGH else _FROM_LOW


@inner
def count_limit(state: State, counter: int, blocks: int, rule_counts: NDArray[np.int64]) -> int:
    """Return the limit counter after a high packet. Limit 255 never counts (VLA-8, VLA-15)."""
    limit = state.limit[state.regs[BANK]]
    if limit == LIMIT_UNBOUNDED:
        return counter
    counter -= blocks
    rule_counts[rule.LIMIT_EXPIRED_EXACTLY] += counter == 0
    rule_counts[rule.LIMIT_OVERSHOT] += counter < 0
    rule_counts[rule.LIMIT_ZERO] += limit == 0
    rule_counts[rule.LIMIT_ONE] += limit == 1
    rule_counts[rule.LIMIT_NEAR_MOST] += limit == LIMIT_UNBOUNDED - 1
    return counter


@inner
def decide_data(
    state: State,
    eligible: int,
    blocks: NDArray[np.int64],
    commit: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Return (lane, list) of the data packet that starts, lane -1 for none.

    Update the state if ``commit``. High sends while it can and its counter has not expired. Otherwise the counter is
    reloaded, and Low sends, or High in the same decision if Low has no eligible entry (VLA-7, VLA-15).
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
            return NO_LANE, source
        which = HIGH if use_high else LOW
        return state.vl[bank, which, search(state, which, eligible, commit, rule_counts)], source

    rule_counts[rule.REMAINDER_KEPT] += (not high and regs[REMAINING_HIGH] > 0) or (not low and regs[REMAINING_LOW] > 0)
    rule_counts[rule.UNSERVED_STALLED] += eligible != 0 and source == _FROM_NONE
    counter = regs[COUNTER]
    if expired or not high:
        counter = counter_load(state.limit[bank])
        rule_counts[rule.RELOADED_ON_HIGH_EMPTY] += not high and counter != regs[COUNTER]
    vl = NO_LANE
    if use_high:
        rule_counts[rule.HIGH_BEFORE_LOW] += low
        rule_counts[rule.EXPIRED_BUT_LOW_EMPTY] += expired
        rule_counts[rule.LIMIT_UNBOUNDED_USED] += low and state.limit[bank] == LIMIT_UNBOUNDED
        entry = search(state, HIGH, eligible, commit, rule_counts)
        vl = state.vl[bank, HIGH, entry]
        turn_to(state, HIGH, entry, blocks[vl], rule_counts)
        counter = count_limit(state, counter, blocks[vl], rule_counts)
    elif low:
        rule_counts[rule.LOW_AFTER_EXPIRY] += high
        rule_counts[rule.LOW_ALONE] += not high
        entry = search(state, LOW, eligible, commit, rule_counts)
        vl = state.vl[bank, LOW, entry]
        turn_to(state, LOW, entry, blocks[vl], rule_counts)
    regs[COUNTER] = counter
    return vl, source


@inner
def decide(
    state: State,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Return (lane, list) of the packet that starts in this cycle if the link is ready, lane -1 for none.

    VL15 has priority and changes no state. A hold admits only VL15. Otherwise the lists decide, and their state
    changes only when ``ready`` (VLA-14, VLA-15).
    """
    sendable = heads.request & heads.fits
    eligible = sendable & ((1 << state.data_vls) - 1)
    if state.has_vl15 and is_member(sendable, state.data_vls):
        if ready:
            rule_counts[rule.VL15_CHANGES_NOTHING] += eligible != 0
            rule_counts[rule.VL15_UNDER_HOLD] += hold_data
        return state.data_vls, _FROM_VL15
    if hold_data:
        rule_counts[rule.HELD] += ready and eligible != 0
        return NO_LANE, _FROM_NONE
    if ready:
        rule_counts[rule.NO_CREDIT] += heads.request & ~heads.fits != 0
        rule_counts[rule.IDLE] += sendable == 0
    return decide_data(state, eligible, heads.blocks, ready, rule_counts)


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

    ``lane`` is the lane whose packet starts if the link is ready, -1 without one. A swap takes effect at the end of
    the first ready cycle; a write in that cycle is ignored (VLA-12, VLA-16). ``bank.step`` documents the arguments.
    """
    lane, source = decide(state, heads, ready, hold_data, rule_counts)
    swap_requested = swap or state.regs[SWAP_PENDING] != 0
    exchanged = swap_requested and ready
    if exchanged:
        exchange(state)
        rule_counts[rule.SWAPPED] += 1
        rule_counts[rule.SWAP_WITH_GRANT] += source in (_FROM_HIGH, _FROM_LOW)
    rule_counts[rule.SWAP_WAITED] += swap_requested and not ready
    state.regs[SWAP_PENDING] = swap_requested and not ready
    if write[0] != 0 and not exchanged:
        program(state, write)
    return lane, source, lane != NO_LANE


def vl_of(state: State, lane: int) -> int:
    """Return the VL output of the component for the lane that a step returned, or 0 for none."""
    return VL15 if lane == state.data_vls else max(int(lane), 0)


@kernel
def unreachable(state: State) -> int:
    """Return a bit mask of data lanes that no entry with a weight names (VLA-11)."""
    return ((1 << state.data_vls) - 1) & ~(state.regs[SERVED_HIGH] | state.regs[SERVED_LOW])


@kernel
def bad_entries(state: State) -> int:
    """Return the number of entries of the active lists that name VL15 or an absent lane (VLA-17)."""
    bank, bad = state.regs[BANK], 0
    for which in (HIGH, LOW):
        for entry in range(state.vl.shape[2]):
            bad += state.vl[bank, which, entry] >= state.data_vls
    return bad
