"""Deficit Table: lockstep of both forms, decisions, tables, packing into InfiniBand's tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.schedulers.scheduling import qualified_lockstep
from vlane.errors import InputError
from vlane.golden.schedulers import dtable as golden
from vlane.golden.schedulers.deficit import ACCUMULATED
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.schedulers.dtable import DTable

SHAPES = [
    {"data_vls": 3, "entries": 4},
    pytest.param({"data_vls": 15, "entries": 64}, marks=pytest.mark.long),
    {"data_vls": 7, "requesters": 4, "entries": 9, "vl15": False, "keep_on_stall": True, "mtu_blocks": 20},
    pytest.param({"data_vls": 12, "requesters": 16, "form": "ib", "keep_on_stall": True}, marks=pytest.mark.long),
]
FREE: dict[str, Any] = {
    "data_vls": 4,
    "requesters": 0,
    "entries": 64,
    "vl15": True,
    "form": "free",
    "keep_on_stall": False,
    "mtu_blocks": 66,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_agrees_with_golden(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on every output and counter in every cycle.

    The traffic includes saturation, stalls, resets, live rewrites and forbidden inputs.
    """
    assert qualified_lockstep("dtable", shape).decisions > 10_000


@pytest.mark.long
def test_largest_table_agrees_with_golden() -> None:
    """The largest table, 128 entries and 32 service levels, agrees in lockstep."""
    assert qualified_lockstep("dtable", {"data_vls": 32, "entries": 128, "vl15": False}, cycles=60_000).decisions > 5000


def loaded(table: DTable, **given: Any) -> golden.State:
    state = golden.make_state(**{**FREE, **given})
    for index, entry in enumerate(table.entries):
        state.entry_requester[0, index], state.weight[0, index] = entry
    return state


def serve(state: golden.State, blocks: list[int], decisions: int) -> list[int]:
    rules = np.zeros(golden.RULE_COUNT, np.int64)
    sizes = np.array([*blocks, 0], np.int64)
    every = (1 << len(blocks)) - 1
    heads = Heads(every, every, sizes, 0, sizes)
    return [golden.step(state, heads, True, False, NO_WRITE, False, rules)[0] for _ in range(decisions)]


def test_one_decision_a_cycle_when_every_weight_covers_its_packets() -> None:
    """With weights of at least the largest packet, every decision grants a packet."""
    table = DTable(((0, 3), (1, 32), (0, 3), (2, 40), (0, 3), (3, 17)))

    assert -1 not in serve(loaded(table), [3, 32, 32, 16], 5000)


def test_shares_are_the_weights_to_a_packet_a_round() -> None:
    """Shares follow the weights within one packet per round, for any mix of packet sizes."""
    weights = {0: 101, 1: 176, 2: 322, 3: 375}
    table = DTable(tuple((sl, weight // 4) for _ in range(4) for sl, weight in weights.items()))
    blocks = [3, 2, 32, 31]

    lanes = serve(loaded(table), blocks, 60_000)

    sent = [lanes.count(lane) * blocks[lane] for lane in range(4)]
    per_round = [sum(w for sl, w in table.entries if sl == lane) for lane in range(4)]
    rounds = sum(sent) / sum(per_round)
    assert all(abs(sent[lane] - per_round[lane] * rounds) <= per_round[lane] + 66 for lane in range(4))


def test_both_forms_send_the_same_when_no_counter_can_overflow() -> None:
    """The exact form and the InfiniBand packing send the same packets if no counter can overflow."""
    source = np.random.default_rng(4)
    table = DTable(tuple((int(source.integers(0, 4)), int(source.integers(1, 191))) for _ in range(64)))
    table.check_ib_packing()
    blocks = [66, 1, 33, 17]

    assert serve(loaded(table), blocks, 20_000) == serve(loaded(table, form="ib"), blocks, 20_000)


def test_ib_tables_show_entries_deficits_and_the_accumulated_weight() -> None:
    """InfiniBand's tables show entries, deficits and the accumulated weight.

    The 64 high entries are the table, low entries 0 to 15 the deficits and low entry 63 the accumulated weight.
    """
    state = loaded(DTable(((0, 5), (1, 9), (3, 7))), form="ib")
    serve(state, [2, 4, 4, 4], 3)  # SL 0 sends 2 and 2 and keeps 1, SL 1 sends 4 of 9

    assert [golden.read_ib(state, False, index) for index in (0, 1, 2, 3)] == [(0, 5), (1, 9), (3, 7), (0, 0)]
    assert [golden.read_ib(state, True, index) for index in (0, 1, 15, 62, 63)] == [
        (0, 1),
        (1, 0),
        (0, 0),
        (0, 0),
        (0, 5),
    ]
    assert state.deficits.regs[ACCUMULATED] == 5


def test_packing_refuses_weights_whose_counters_could_overflow() -> None:
    """Packing refuses weights for which weight + MTU - 1 exceeds 8 bits.

    The paper's largest weight fits: 96 + 32 - 1 = 127.
    """
    DTable(((0, 96),)).check_ib_packing(32)
    DTable(((0, 190),)).check_ib_packing()
    with pytest.raises(InputError, match="at most 190"):
        DTable(((0, 191),)).check_ib_packing()
    with pytest.raises(InputError, match="SL must be 0 to 15"):
        DTable(((16, 1),)).check_ib_packing()
    with pytest.raises(InputError, match="the IB packing holds 64"):
        DTable(((0, 1),) * 65).check_ib_packing()


@pytest.mark.parametrize(
    ("field", "entries"),
    [
        ("dtable.entries[0] SL", [(32, 1)]),
        ("dtable.entries[1] weight", [(0, 1), (0, 256)]),
        ("dtable.entries", []),
        ("dtable.entries", [(0, 1)] * 129),
        ("dtable.entries[0]", [(1, 2, 3)]),
    ],
)
def test_tables_that_no_scheduler_can_hold_are_refused(field: str, entries: Any) -> None:
    """Given an SL, weight or number of entries out of range, the table is refused."""
    with pytest.raises(InputError) as refused:
        DTable(entries)

    assert refused.value.field == field


def test_kept_on_a_stall_is_bounded_by_the_largest_packet() -> None:
    """With ``keep_on_stall``, a stalled turn keeps less weight than one MTU."""
    state = loaded(DTable(((0, 200), (1, 10))), keep_on_stall=True, mtu_blocks=33)
    rules = np.zeros(golden.RULE_COUNT, np.int64)
    sizes = np.array([2, 2, 2, 2, 0], np.int64)
    golden.step(state, Heads(3, 3, sizes, 0, sizes), True, False, NO_WRITE, False, rules)

    golden.step(state, Heads(3, 2, sizes, 0, sizes), True, False, NO_WRITE, False, rules)

    assert state.deficits.deficit[0] == 32
