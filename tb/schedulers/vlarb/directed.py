"""Directed scenarios of the VL arbiter: grants written by hand, from the contract only.

A step is a line ``[Nx] heads [flags] > grant``. A head is ``VL:blocks``, with ``*`` if the next node has no credit for
it. Flags: ``hold`` (a flow-control packet is due), ``busy`` (the link is not ready), ``swap``. A grant is ``H``, ``L``
or ``V`` (VL15) and the lane, or ``-``. ``Nx`` repeats the line. The scenarios are for 8 data lanes, 8 entries and VL15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers.heads import NO_WRITE, Heads, Program
from vlane.schedulers.vlarb import VL15, VLArbEntry, VLArbTable

# The steps of a scenario are a table with one row per cycle.
# fmt: off
DATA_VLS, ENTRIES = 8, 8
_LETTERS = {"H": ListCode.HIGH, "L": ListCode.LOW, "V": ListCode.VL15}

Cycle = tuple[dict[str, int], dict[str, int]]


@dataclass(frozen=True, slots=True)
class Step:
    """One cycle of a scenario.

    Parameters
    ----------
    heads : dict of int to int
        Size of the head packet in blocks, by lane.
    stalled : frozenset of int
        Lanes without credit at the next node.
    hold : bool
        Flow-control packet due.
    busy : bool
        Link not ready.
    swap : bool
        Swap requested.
    vl : int
        Lane that must be granted.
    source : ListCode
        List that the grant must come from.
    """

    heads: dict[int, int]
    stalled: frozenset[int]
    hold: bool
    busy: bool
    swap: bool
    vl: int
    source: ListCode


@dataclass(frozen=True, slots=True)
class Scenario:
    """A table, with heads and expected grants.

    Parameters
    ----------
    name : str
        Name of the scenario, beginning with the rule that it demonstrates.
    table : VLArbTable
        Active table when the steps begin.
    text : str
        Steps, one per line.
    shadow : VLArbTable or None
        Table written to the shadow bank before the steps begin.
    bad_entries : int
        Number of bad entries in the first table.
    """

    name: str
    table: VLArbTable
    text: str
    shadow: VLArbTable | None = None
    bad_entries: int = 0

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps of the scenario, with repeated lines expanded."""
        steps: list[Step] = []
        for line in filter(None, map(str.strip, self.text.splitlines())):
            given, expected = line.split(">")
            words = given.split()
            repeat = int(words.pop(0)[:-1]) if words and words[0].endswith("x") else 1
            heads = {int(w.split(":")[0]): int(w.split(":")[1].rstrip("*")) for w in words if ":" in w}
            stalled = frozenset(int(w.split(":")[0]) for w in words if w.endswith("*"))
            grant = expected.strip()
            source = ListCode.NONE if grant == "-" else _LETTERS[grant[0]]
            vl = 0 if grant == "-" else int(grant[1:])
            steps += [Step(heads, stalled, "hold" in words, "busy" in words, "swap" in words, vl, source)] * repeat
        return tuple(steps)


def _table(high: str, low: str, limit: int) -> VLArbTable:
    lists = [tuple(VLArbEntry(*map(int, pair.split(":"))) for pair in text.split()) for text in (high, low)]
    return VLArbTable(lists[0], lists[1], limit)


SCENARIOS = (
    Scenario("VLA-1_packet_counts_in_started_blocks", _table("", "0:65 1:1", 0), """
        0:65 1:1 > L0
        0:65 1:1 > L1"""),
    Scenario("VLA-2_entry_serves_while_weight_is_left", _table("", "0:64 1:64", 0), """
        2x 0:33 1:33 > L0
        2x 0:33 1:33 > L1
        0:33 1:33 > L0"""),
    Scenario("VLA-2_entry_ends_exactly_at_its_weight", _table("", "0:64 1:64", 0), """
        2x 0:32 1:32 > L0
        2x 0:32 1:32 > L1"""),
    Scenario("VLA-3_weight_is_forfeited_when_another_entry_is_granted", _table("", "0:10 1:10", 0), """
        0:2 1:2 > L0
        1:2 > L1
        4x 0:2 1:2 > L1
        5x 0:2 1:2 > L0
        0:2 1:2 > L1"""),
    Scenario("VLA-3_weight_is_kept_while_nothing_else_can_send", _table("", "0:10 1:10", 0), """
        0:2 > L0
        3x > -
        0:2* 1:2* > -
        4x 0:2 1:2 > L0
        0:2 1:2 > L1"""),
    Scenario("VLA-3_lane_without_credit_loses_its_turn", _table("", "0:10 1:10", 0), """
        0:2 1:2 > L0
        0:2* 1:2 > L1
        4x 0:2 1:2 > L1
        0:2 1:2 > L0"""),
    Scenario("VLA-4_wrap_to_the_same_entry_loads_its_full_weight", _table("", "0:4 1:4", 0), """
        0:4 > L0
        0:2 > L0
        0:2 1:4 > L0
        0:2 1:4 > L1"""),
    Scenario("VLA-4_single_entry_goes_on_for_ever", _table("", "3:1", 0), """
        20x 3:66 > L3"""),
    Scenario("VLA-5_search_starts_after_the_current_entry_and_is_cyclic", _table("", "2:1 0:1 5:1 0:1", 0), """
        0:1 2:1 5:1 > L2
        0:1 2:1 5:1 > L0
        0:1 2:1 5:1 > L5
        0:1 2:1 5:1 > L0
        0:1 2:1 5:1 > L2
        5:1 > L5
        0:1 2:1 > L0
        0:1 2:1 > L2"""),
    Scenario("VLA-6_low_burst_goes_on_after_a_high_packet", _table("1:1", "0:4 2:4", 254), """
        0:1 2:1 > L0
        0:1 1:1 2:1 > H1
        3x 0:1 2:1 > L0
        0:1 1:1 2:1 > H1
        4x 0:1 2:1 > L2
        0:1 2:1 > L0"""),
    Scenario("VLA-6_high_turn_goes_on_after_a_low_packet", _table("0:64 1:64", "2:1", 0), """
        0:1 1:1 2:1 > H0
        0:1 1:1 2:1 > L2
        0:62 1:1 2:1 > H0
        0:1 1:1 2:1 > L2
        0:1 1:1 2:1 > H0
        0:1 1:1 2:1 > L2
        0:1 1:1 2:1 > H1"""),
    Scenario("VLA-7_expired_limit_with_empty_low_reloads_and_serves_high", _table("0:255", "1:1", 0), """
        3x 0:9 > H0
        0:9 1:9 > L1
        0:9 1:9 > H0"""),
    Scenario("VLA-8_limit_expires_exactly", _table("0:255", "1:1", 1), """
        2x 0:32 1:1 > H0
        0:32 1:1 > L1
        2x 0:32 1:1 > H0
        0:32 1:1 > L1"""),
    Scenario("VLA-8_overshoot_of_the_limit_is_not_carried_over", _table("0:255", "1:1", 1), """
        2x 0:33 1:1 > H0
        0:33 1:1 > L1
        2x 0:33 1:1 > H0
        0:33 1:1 > L1"""),
    Scenario("VLA-9_limit_0_is_one_high_packet", _table("0:255 1:255", "2:1", 0), """
        0:1 1:66 2:66 > H0
        0:1 1:66 2:66 > L2
        0:66 1:66 2:66 > H0
        0:1 1:66 2:66 > L2"""),
    Scenario("VLA-10_bad_entries_are_skipped", _table("15:9 9:9 0:1", "14:9 8:9 1:1", 0), """
        0:1 1:1 > H0
        0:1 1:1 > L1
        0:1 > H0""", bad_entries=4),
    Scenario("VLA-11_all_weights_0_stalls", _table("0:0 1:0", "0:0 2:0", 255), """
        3x 0:1 1:1 2:1 > -
        0:1 15:4 > V15"""),
    Scenario("VLA-11_lane_in_no_list_is_never_served", _table("0:1", "1:1", 1), """
        5x 4:1 > -
        4:1 1:1 > L1"""),
    Scenario("VLA-12_swap_starts_both_lists_at_entry_0_with_its_weight", _table("", "0:4 1:4", 0), """
        0:3 1:3 > L0
        0:1 1:1 swap > L0
        2x 2:3 3:3 > L2
        2:3 3:3 > L3""", shadow=_table("", "2:4 3:4", 0)),
    Scenario("VLA-12_swap_reloads_the_limit", _table("0:255", "1:1", 1), """
        0:63 1:1 > H0
        0:1 1:1 swap > H0
        2x 0:64 1:1 > H0
        0:1 1:1 > L1""", shadow=_table("0:255", "1:1", 2)),
    Scenario("VLA-13_half_filled_lists_wrap", _table("", "0:1 1:1 0:0 0:0 0:0 0:0 0:0 0:0", 0), """
        0:1 1:1 > L0
        0:1 1:1 > L1
        0:1 1:1 > L0"""),
    Scenario("VLA-14_flow_control_goes_before_data_but_not_before_vl15", _table("0:9", "1:9", 9), """
        3x 0:1 1:1 hold > -
        0:1 1:1 15:4 hold > V15
        0:1 1:1 > H0"""),
    Scenario("VLA-15_limit_reloads_when_high_has_nothing", _table("0:255", "1:1", 1), """
        0:33 1:1 > H0
        > -
        2x 0:33 1:1 > H0
        0:33 1:1 > L1"""),
    Scenario("VLA-15_limit_reloads_when_low_is_served_alone", _table("0:255", "1:1", 1), """
        0:33 1:1 > H0
        1:1 > L1
        2x 0:33 1:1 > H0
        0:33 1:1 > L1"""),
    Scenario("VLA-15_vl15_changes_neither_weight_nor_limit", _table("0:4 2:4", "1:1", 1), """
        0:2 1:1 2:2 > H0
        3x 0:2 1:1 2:2 15:66 > V15
        15:66 > V15
        0:2 1:1 2:2 > H0
        0:2 1:1 2:33 > H2
        0:27 1:1 > H0
        0:1 1:1 > L1"""),
    Scenario("VLA-15_nothing_changes_while_the_link_is_busy_or_held", _table("0:255", "1:1", 1), """
        0:33 1:1 > H0
        4x busy > -
        2x 0:33 1:1 busy > H0
        2x hold > -
        0:33 1:1 > H0
        0:33 1:1 > L1"""),
    Scenario("VLA-16_swap_cycle_still_decides_by_the_old_table", _table("0:9", "", 9), """
        0:1 1:1 swap > H0
        0:1 1:1 > L1""", shadow=_table("", "1:9", 9)),
    Scenario("VLA-16_swap_waits_for_the_first_ready_cycle", _table("0:9", "", 9), """
        0:1 1:1 busy swap > H0
        2x 0:1 1:1 busy > H0
        0:1 1:1 > H0
        0:1 1:1 > L1""", shadow=_table("", "1:9", 9)),
    Scenario("VLA-16_swap_is_taken_under_hold_and_under_vl15", _table("0:9", "", 9), """
        0:1 1:1 15:1 hold swap > V15
        0:1 1:1 > L1
        0:1 1:1 hold swap > -
        0:1 1:1 > H0""", shadow=_table("", "1:9", 9)),
    Scenario("VLA-17_entries_of_vl15_and_missing_lanes_are_kept_and_counted", _table("15:255 8:255", "15:0 0:3", 0), """
        0:3 > L0
        15:3 > V15
        0:3 > L0""", bad_entries=3),
    Scenario("number_weight_64_is_one_4k_packet", _table("", "0:64 1:1", 0), """
        0:65 1:1 > L0
        0:65 1:1 > L1"""),
    Scenario("number_weight_128_is_two_4k_packets", _table("", "0:128 1:1", 0), """
        2x 0:65 1:1 > L0
        0:65 1:1 > L1"""),
    Scenario("number_weight_192_is_three_4k_packets", _table("", "0:192 1:1", 0), """
        3x 0:65 1:1 > L0
        0:65 1:1 > L1"""),
    Scenario("number_weight_255_is_four_4k_packets", _table("", "0:255 1:1", 0), """
        4x 0:65 1:1 > L0
        0:65 1:1 > L1"""),
    Scenario("number_limit_0_gives_high_one_of_two", _table("0:255", "1:255", 0), """
        0:33 1:33 > H0
        0:33 1:33 > L1
        0:33 1:33 > H0
        0:33 1:33 > L1"""),
    Scenario("number_limit_1_gives_high_two_of_three", _table("0:255", "1:255", 1), """
        2x 0:33 1:33 > H0
        0:33 1:33 > L1
        2x 0:33 1:33 > H0
        0:33 1:33 > L1"""),
    Scenario("number_limit_2_gives_high_four_of_five", _table("0:255", "1:255", 2), """
        4x 0:33 1:33 > H0
        0:33 1:33 > L1
        4x 0:33 1:33 > H0
        0:33 1:33 > L1"""),
    Scenario("number_limit_16_gives_high_32_of_33", _table("0:255", "1:255", 16), """
        32x 0:33 1:33 > H0
        0:33 1:33 > L1
        32x 0:33 1:33 > H0
        0:33 1:33 > L1"""),
    Scenario("number_limit_254_gives_high_493_of_494", _table("0:255", "1:255", 254), """
        493x 0:33 1:33 > H0
        0:33 1:33 > L1
        493x 0:33 1:33 > H0
        0:33 1:33 > L1"""),
    Scenario("number_limit_255_never_gives_low_a_turn", _table("0:255", "1:255", 255), """
        1200x 0:33 1:33 > H0
        1:33 > L1"""),
    Scenario("corner_same_lane_in_both_lists", _table("0:1", "0:1 1:1", 0), """
        0:1 1:1 > H0
        0:1 1:1 > L0
        0:1 1:1 > H0
        0:1 1:1 > L1"""),
    Scenario("corner_empty_low", _table("0:1 1:1", "", 0), """
        0:1 1:1 > H0
        0:1 1:1 > H1
        0:1 1:1 > H0"""),
    Scenario("corner_vl15_goes_first", _table("0:1", "1:1", 0), """
        0:1 1:1 15:4 > V15
        0:1 1:1 15:4* > H0
        0:1 1:1 15:4 > V15
        0:1 1:1 > L1"""),
)


def directed_state() -> golden.State:
    """Return golden's power-on state with the parameters of the directed scenarios."""
    return golden.make_state(data_vls=DATA_VLS, entries=ENTRIES, vl15=True)


def play(scenario: Scenario, state: golden.State, rule_counts: NDArray[np.int64]) -> Iterator[Cycle]:
    """Yield (inputs, expected outputs) by port name for every cycle, from power-on.

    The outputs come from the golden model. The function asserts that golden's grants match the scenario, so
    hardware that equals these outputs matches the scenario too.
    """
    for table in filter(None, (scenario.table, scenario.shadow)):
        yield from _program(table, state, rule_counts, swap=table is scenario.table)
    assert golden.bad_entries(state) == scenario.bad_entries, scenario.name
    for number, step in enumerate(scenario.steps):
        given, expected = _cycle(step, NO_WRITE, state, rule_counts)
        assert (expected["vl"], expected["from_list"]) == (step.vl, step.source), (
            f"{scenario.name}, step {number}: {expected}"
        )
        yield given, expected


def _program(table: VLArbTable, state: golden.State, rule_counts: NDArray[np.int64], *, swap: bool) -> Iterator[Cycle]:
    """Write a table to the shadow bank while nothing is requested. The link is ready only for the swap."""
    quiet = Step({}, frozenset(), hold=False, busy=True, swap=False, vl=0, source=ListCode.NONE)
    for write in table.padded(state.vl.shape[2]):
        yield _cycle(quiet, (1, *write), state, rule_counts)
    if swap:
        taken = Step({}, frozenset(), hold=False, busy=False, swap=True, vl=0, source=ListCode.NONE)
        yield _cycle(taken, NO_WRITE, state, rule_counts)


def _cycle(step: Step, write: Program, state: golden.State, rule_counts: NDArray[np.int64]) -> Cycle:
    lanes = state.data_vls + state.has_vl15
    blocks = np.zeros(lanes, np.int64)
    request = 0
    fits = (1 << lanes) - 1
    for vl, size in step.heads.items():
        lane = state.data_vls if vl == VL15 else vl
        request |= 1 << lane
        blocks[lane] = size
        if vl in step.stalled:
            fits &= ~(1 << lane)
    pending = int(state.regs[golden.SWAP_PENDING])
    missing, bad = golden.unreachable(state), golden.bad_entries(state)
    heads = Heads(request, fits, blocks, 0, blocks)
    lane, source, granted = golden.step(state, heads, not step.busy, step.hold, write, step.swap, rule_counts)
    given = {
        "rst": 0, "heads__request": request, "heads__fits": fits,
        "heads__blocks": sum(int(size) << 7 * lane for lane, size in enumerate(blocks)),
        "ready": int(not step.busy), "hold_data": int(step.hold), "program__enable": write[0],
        "program__select": write[1], "program__index": write[2], "program__vl": write[3],
        "program__weight": write[4], "swap": int(step.swap),
    }
    expected = {
        "grant": int(granted), "vl": golden.vl_of(state, lane), "from_list": int(source),
        "blocks": int(blocks[lane]) if granted else 0,
        "swap_pending": pending, "unreachable": int(missing), "bad_entries": int(bad),
    }
    return given, expected
