"""Random power-on state: after a reset, all visible behaviour is defined, including tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module

from tests.conftest import long_but, long_rows
from tests.lockstep.power_on import (
    cycles_that_differ,
    filled_at_random,
    lockstep_from_anything,
    powered_on_with_anything,
)
from vlane.golden.schedulers import dtable, dtable_line_rate, vlarb, vlarb_line_rate
from vlane.golden.schedulers.heads import no_heads
from vlane.hdl.schedulers import list_walk
from vlane.hdl.schedulers.list_memory import ListMemory
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.machinery.recordings import recording
from vlane.tb.schedulers.proofs_walk import ListWalkProperties

VLARB: dict[str, Any] = {"data_vls": 15, "entries": 64, "vl15": False, "form": "line_rate"}
DTABLE: dict[str, Any] = {"data_vls": 16, "entries": 64, "vl15": False, "form": "line_rate"}
NOTHING = (0, 0, 0, 0, 0)
READING = 80
"""Number of cycles within which a list of 64 entries is read."""


def test_every_initial_value_is_drawn_but_those_of_tables() -> None:
    text = "  reg [3:0] a = 4'h0;\n  initial begin\n    memory[0] = 8'h00;\n    rows_1[7] = 8'h55;\n"
    got, drawn = filled_at_random(text, 3, tables=frozenset({"rows"}))
    assert drawn == 2
    assert "rows_1[7] = 8'h55;" in got
    assert got != filled_at_random(text, 4, tables=frozenset({"rows"}))[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "seed"),
    [
        *(
            pytest.param(name, given, seed, marks=pytest.mark.long)
            for name, given in (("vlarb", VLARB), ("dtable", DTABLE))
            for seed in (1, 2, 3)
        ),
        ("vlarb", {"data_vls": 3, "entries": 20, "vl15": True, "form": "line_rate"}, 4),
        ("dtable", {"data_vls": 3, "entries": 5, "vl15": True, "mtu_blocks": 5, "form": "line_rate"}, 4),
    ],
    ids=lambda value: str(value["entries"]) if isinstance(value, dict) else str(value),
)
def test_line_rate_tables_need_no_initial_contents(name: str, given: dict[str, Any], seed: int) -> None:
    """Given random memory contents at power-on, line-rate forms agree with golden."""
    outcome = lockstep_from_anything(name, given, seed, cycles=60_000)
    assert outcome.mismatch is None, str(outcome.mismatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vlbuffer", pytest.param("credit_opa", marks=pytest.mark.long), "cc_marker"])
def test_blocks_need_no_initial_values(name: str) -> None:
    """Given random registers at power-on, the blocks agree with golden after a reset."""
    outcome = lockstep_from_anything(name, dict(BLOCKS[name].mutated), 1, cycles=20_000)
    assert outcome.mismatch is None, str(outcome.mismatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cc_source", pytest.param("lft", marks=pytest.mark.long)])
def test_blocks_whose_memory_a_reset_keeps_need_it_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block whose memory survives a reset agrees with golden once its memory is written.

    Without the writes at the beginning of an exported testbench, outputs differ.
    """
    given = dict(BLOCKS[name].mutated)
    assert cycles_that_differ(name, given, 1, cycles=60_000) == []

    monkeypatch.setattr(recording, "power_on_writes", lambda *_: [])
    assert cycles_that_differ(name, given, 1, cycles=60_000)


class Driven:
    """Line-rate form with random power-on state and all lanes able to send."""

    def __init__(self, name: str, given: dict[str, Any], seed: int) -> None:
        self.model = powered_on_with_anything(name, given, seed)
        self.lanes, self.names = int(given["data_vls"]), {"vlarb": "vl", "dtable": "requester"}[name]
        self.bad = "bad_entries" if name == "vlarb" else None

    def run(self, cycles: int, **inputs: int) -> list[dict[str, int]]:
        """Run cycles with constant inputs and return the outputs of each cycle."""
        every = (1 << self.lanes) - 1
        ones = sum(1 << 7 * lane for lane in range(self.lanes))
        values = {"heads__request": every, "heads__fits": every, "heads__blocks": ones, "behind": every, "ready": 1}
        row = np.zeros((1, self.model.input_words), np.uint64)
        for port, value in (values | {"behind_blocks": ones} | inputs).items():
            if port in self.model.inputs:
                self.model.inputs[port].put(row, value)
        outputs = self.model.run(np.repeat(row, cycles, axis=0))
        return [{port: field.value(out) for port, field in self.model.outputs.items()} for out in outputs]

    def write(self, index: int, lane: int, weight: int = 2) -> None:
        """Write an entry of the first list's shadow bank."""
        named = {f"program__{self.names}": lane}
        self.run(1, program__enable=1, program__index=index, program__weight=weight, **named)

    def served(self) -> set[int]:
        """Swap the banks and return the granted lanes, which must equal the lanes reported reachable."""
        self.run(1, swap=1)
        self.run(READING)
        seen = self.run(300)
        granted = {out["vl"] for out in seen if out["grant"]}
        assert granted == {lane for lane in range(self.lanes) if not seen[-1]["unreachable"] >> lane & 1}
        assert self.bad is None or seen[-1][self.bad] == 0
        return granted


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given"), long_rows((0,), [("vlarb", VLARB), ("dtable", DTABLE)]))
def test_a_table_of_four_entries_serves_their_lanes_and_no_others(name: str, given: dict[str, Any]) -> None:
    """A table of four entries serves exactly their lanes, whatever the memory held before.

    Swaps keep both banks, and a reset empties both.
    """
    driven = Driven(name, given, seed=7)
    with driven.model:
        for index, lane in ((0, 1), (9, 4), (17, 7), (63, 14)):
            driven.write(index, lane)
        assert driven.served() == {1, 4, 7, 14}
        driven.write(18, 3)
        assert driven.served() == {3}, "the other bank was empty but for what was written to it"
        driven.write(16, 2)
        assert driven.served() == {1, 2, 4, 7, 14}, "the first bank kept its entries"

        driven.run(1, rst=1)
        assert driven.served() == set(), "both banks are empty after a reset"
        assert driven.served() == set()
        driven.write(8, 5)
        driven.write(56, 6)
        assert driven.served() == {5, 6}
        driven.write(62, 0)
        assert driven.served() == {0}


def test_both_forms_hold_the_same_tables_after_resets_writes_and_swaps() -> None:
    """Exact and line-rate forms in golden hold equal tables after random resets, writes and swaps."""
    draw = np.random.default_rng(1)
    exact, line_rate = (module.make_state(data_vls=8, entries=20) for module in (vlarb, vlarb_line_rate))
    free = dtable.make_state(data_vls=8, requesters=0, entries=20, keep_on_stall=False, mtu_blocks=66)
    table = dtable_line_rate.make_state(data_vls=8, entries=20, mtu_blocks=66)
    rules, nothing = np.zeros(64, np.int64), no_heads(8)
    states = ((vlarb, exact), (vlarb_line_rate, line_rate), (dtable, free), (dtable_line_rate, table))
    for _ in range(4000):
        write = (int(draw.integers(2)), int(draw.integers(4)), *(int(draw.integers(24)) for _ in range(2)), 3)
        swap = draw.random() < 0.02
        for module, state in states:
            module.step(state, nothing, True, False, write, swap, rules)
        if draw.random() < 0.01:
            for module, state in states:
                module.reset(state)
        for which, walk in enumerate(line_rate.walks):
            assert np.array_equal(walk.weight[:, :20], exact.weight[:, which])
            assert np.array_equal(walk.lane[:, :20], exact.vl[:, which])
        assert np.array_equal(table.table.weight[:, :20], free.weight)
        assert np.array_equal(table.table.lane[:, :20], free.entry_requester)


class Trusting(ListMemory):
    """List memory that treats every row as written."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.written.eq(1)
        return m


class Sparing(ListMemory):
    """List memory that never clears a row on its first write."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.is_first.eq(0)
        return m


class Forgetful(ListMemory):
    """List memory that loses, at a swap, the record of written rows."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.exchange):
            m.d.sync += self.shadow_written.eq(0)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("memory", long_but([ListMemory, Trusting], [ListMemory, Trusting, Sparing, Forgetful]))
def test_entries_are_proven_to_equal_the_writes_since_reset(
    memory: type[ListMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries are proven to hold exactly the values written since the reset.

    For each broken memory, the proof fails.
    """
    monkeypatch.setattr(list_walk, "ListMemory", memory)
    walk = list_walk.ListWalk(data_vls=2, entries=4, lane_bits=4)

    proof = prove(ListWalkProperties(walk), f"test-{memory.__name__}")

    if memory is ListMemory:
        assert proof.verdict == "PASS", proof.detail
    else:
        assert "Assert failed" in proof.detail, proof.verdict
