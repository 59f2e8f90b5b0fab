"""Code coverage: counting of reached points, proofs of constants, reasons for the remaining points."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from tests.conftest import call
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim import code_coverage
from vlane.tb.by_name import judged_holes
from vlane.tb.machinery.native.code_coverage import Bit, CoveredModel, Point, compile_covered
from vlane.tb.machinery.native.hole import Hole, Untaken
from vlane.tb.machinery.native.lockstep import Mismatch, Outcome
from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.native.yosys import YosysError, run_commands
from vlane.tb.machinery.synthesis import constants
from vlane.tb.machinery.synthesis.constants import constant_bits, net_of


class Inner(Component):
    """Counts to 4 in three bits and latches whether it was ever enabled at the unreachable count 6."""

    def __init__(self) -> None:
        super().__init__({"go": In(1), "count": Out(3)})
        self.beyond = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        with m.If(self.go):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.count == 4):
                m.d.sync += self.count.eq(0)
            with m.Elif(self.count == 6):
                m.d.sync += self.beyond.eq(1)
        return m


class Outer(Component):
    """Two counters, one of which stays disabled in the tests, and a memory."""

    def __init__(self) -> None:
        super().__init__({"go": In(2), "both": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=4, depth=2, init=[])
        writer = words.write_port()
        for number in range(2):
            m.submodules[f"inner_{number}"] = inner = Inner()
            m.d.comb += inner.go.eq(self.go[number])
            m.d.comb += self.both.eq(inner.count == 3)
        m.d.comb += [writer.en.eq(self.go[0]), writer.data.eq(self.go)]
        return m


@pytest.fixture(scope="module")
def model() -> CoveredModel:
    return compile_covered(Outer(), "outer")


def reached(model: CoveredModel, cycles: int) -> dict[str, Point]:
    """Return the coverage points of a run that enables the first counter in every cycle."""
    model.restart()
    rows = np.zeros((cycles, model.input_words), np.uint64)
    model.inputs["go"].put(rows, np.ones(cycles, np.uint64))
    model.run(rows)
    return {f"{point.path}.{point.name}".lstrip("."): point for point in model.points()}


@pytest.mark.slow
def test_edges_of_named_signals_are_counted_by_instance(model: CoveredModel) -> None:
    """Toggles of each bit are counted separately for each instance, with the source line.

    In ten steps the counter wraps twice, so bit 2 rises twice and bit 0 four times.
    """
    points = reached(model, 11)
    counts = {name: point.count for name, point in points.items() if point.kind == "toggle"}
    assert [counts[f"inner_0.count[{bit}]:0->1"] for bit in range(3)] == [4, 2, 2]
    assert [counts[f"inner_0.count[{bit}]:1->0"] for bit in range(3)] == [4, 2, 2]
    assert [counts[f"inner_1.count[{bit}]:0->1"] for bit in range(3)] == [0, 0, 0]
    assert points["inner_0.count[2]:0->1"].bit == Bit("inner_0", "count", 2)
    assert re.fullmatch(r"tests/lockstep/test_code_coverage\.py:\d+", points["inner_0.count[2]:0->1"].source)


@pytest.mark.slow
def test_neither_words_of_memories_nor_terms_count(model: CoveredModel) -> None:
    """Coverage counts toggles of named signals only, not of memory words or intermediate terms."""
    names = {point.name for point in reached(model, 1).values() if point.kind == "toggle"}
    assert not [name for name in names if name.startswith("$")]
    assert {name.partition("[")[0].partition(":")[0] for name in names} >= {"go", "both", "count", "beyond"}
    assert not [name for name in names if name.startswith(("words", "memory"))]


@pytest.mark.slow
def test_branches_know_their_condition(model: CoveredModel) -> None:
    """A branch records its condition, and branches under an unreachable condition are proven constant.

    Ten cycles reach more branches than one.
    """
    few, many = reached(model, 1), reached(model, 10)
    taken = [
        {name for name, point in points.items() if point.kind == "branch" and point.count} for points in (few, many)
    ]
    assert taken[0] < taken[1]
    never = [point for point in many.values() if point.kind != "toggle" and not point.count and point.path == "inner_0"]
    assert never
    bits = {point.bit for point in never if point.bit}
    assert bits
    assert set(constant_bits(Outer(), "outer", bits).values()) == {"0"}
    assert {point.needed for point in never} == {"1"}


def test_constants_are_proven_and_nothing_else() -> None:
    """Only bits that cannot change are proven constant. A bit that is merely not exercised is not."""
    bits = {
        Bit("inner_0", "beyond", 0): "0",
        Bit("inner_1", "beyond", 0): "0",
        Bit("inner_1", "count", 0): None,
        Bit("", "both", 0): None,
        Bit("inner_2", "count", 0): None,
    }
    assert constant_bits(Outer(), "outer", bits) == {bit: value for bit, value in bits.items() if value}


class Beyond(Component):
    """Component that reads a memory of three words at four addresses."""

    def __init__(self) -> None:
        super().__init__({"at": In(2), "read": Out(4)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=4, depth=3, init=[9, 9, 9])
        reader = words.read_port(domain="comb")
        m.d.comb += [reader.addr.eq(self.at), self.read.eq(reader.data)]
        return m


def test_reads_beyond_a_memory_prevent_constants() -> None:
    """Given reads beyond the end of a memory, bits that are 1 in every word are not proven constant."""
    bits = {Bit("", "read", number) for number in range(4)}
    assert constant_bits(Beyond(), "beyond", bits) == {Bit("", "read", 1): "0", Bit("", "read", 2): "0"}


class Namesake(Component):
    """Constant with the name that flattening gives to a register of a submodule."""

    def __init__(self) -> None:
        super().__init__({"go": In(2), "shown": Out(2)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        constant = Signal(name="inner.count")
        m.submodules.inner = inner = Inner()
        m.d.comb += [inner.go.eq(self.go[0]), self.shown.eq(Cat(inner.count[0], constant & self.go[1]))]
        return m


def test_signals_with_equal_flat_names_are_distinguished() -> None:
    """A constant named like a flattened register does not make the register constant."""
    bits = {Bit("inner", "count", 0), Bit("", "inner.count", 0)}
    assert constant_bits(Namesake(), "namesake", bits) == {Bit("", "inner.count", 0): "0"}


class Asleep(Component):
    """Counter that is never enabled."""

    def __init__(self) -> None:
        super().__init__({"count": Out(3)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = Inner()
        m.d.comb += self.count.eq(inner.count)
        return m


def test_constant_due_to_the_environment_is_proven() -> None:
    """A counter that its parent never enables is proven constant in the whole design."""
    bits = [Bit("inner", "count", 0), Bit("inner", "beyond", 0)]
    assert constant_bits(Asleep(), "asleep", bits) == dict.fromkeys(bits, "0")


def test_an_instance_is_tried_before_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a proof over the whole design times out, constants are still proven within each instance."""

    def out_of_time(kind: str, files: Any, top: str, *words: Any, seconds: int | None = None, **others: Any) -> Path:
        if seconds is not None and top == "outer":
            raise YosysError("yosys did not end")
        return run_commands(kind, files, top, *words, seconds=seconds, **others)

    monkeypatch.setattr(constants, "run_commands", out_of_time)
    bits = [Bit(f"inner_{number}", name, 0) for number in range(2) for name in ("beyond", "count")]
    assert constant_bits(Outer(), "outer", bits) == {bit: "0" for bit in bits if bit.signal == "beyond"}


def test_timeout_of_induction_keeps_plain_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """If induction times out, only bits that are constant without induction are proven."""

    def out_of_time(*words: Any, seconds: int | None = None, **others: Any) -> Path:
        if seconds is not None:
            raise YosysError("yosys did not end")
        return run_commands(*words, **others)

    plain, inductive = Bit("search_high", "beyond", 0), Bit("inner_0", "beyond", 0)
    arbiter = BLOCKS["vlarb"]
    assert constant_bits(arbiter.make(arbiter.parameters(["entries=8"])), "vlarb", {plain}) == {plain: "0"}
    assert constant_bits(Outer(), "outer", {inductive}) == {inductive: "0"}
    monkeypatch.setattr(constants, "run_commands", out_of_time)
    assert constant_bits(arbiter.make(arbiter.parameters(["entries=8"])), "vlarb", {plain}) == {plain: "0"}
    assert constant_bits(Outer(), "outer", {inductive}) == {}


class Telling(Inner):
    """Counter with an output for its latched bit."""

    def __init__(self) -> None:
        Component.__init__(self, {"go": In(1), "count": Out(3), "beyond": Out(1)})


class Joined(Component):
    """Submodule with a renamed output and combinational logic around the instance."""

    def __init__(self) -> None:
        super().__init__({"go": In(1), "at": In(2), "shown": Out(3)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = Telling()
        outside, is_five, second = Signal(name="outside"), Signal(name="is_five"), Signal(2, name="second")
        m.d.comb += [
            inner.go.eq(self.go),
            outside.eq(inner.beyond),
            is_five.eq(inner.count == 5),
            second.eq(Mux(self.at == 2, self.at, 0)),
            self.shown.eq(Cat(second, outside ^ is_five)),
        ]
        return m


def test_aliases_share_a_verdict_and_glue_logic_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Aliases of a net share one verdict, and glue logic is proven with free instance outputs.

    This also applies if the proof of the whole design times out.
    """

    def out_of_time(kind: str, files: Any, top: str, *words: Any, seconds: int | None = None, **others: Any) -> Path:
        if seconds is not None and top == "joined" and "$_DFF_P_" in files["optimised.il"]:
            raise YosysError("yosys did not end")
        return run_commands(kind, files, top, *words, seconds=seconds, **others)

    inside, outside, is_five = Bit("inner", "beyond", 0), Bit("", "outside", 0), Bit("", "is_five", 0)
    second = [Bit("", "second", number) for number in range(2)]
    nets = net_of(Joined(), "joined", [inside, outside, is_five])
    assert nets[inside] == nets[outside] != nets[is_five]
    assert constant_bits(Joined(), "joined", [outside, is_five, *second]) == dict.fromkeys(
        [outside, is_five, second[0]], "0"
    )
    monkeypatch.setattr(constants, "run_commands", out_of_time)
    assert constant_bits(Joined(), "joined", [inside, outside, is_five, *second]) == dict.fromkeys(
        [inside, outside, second[0]], "0"
    )


@pytest.mark.slow
def test_a_short_run_leaves_points_open_and_a_long_one_none() -> None:
    """A run of 1,000 cycles leaves coverage points open (exit status 1), one of 100,000 leaves none."""
    short = call("coverage", "rr", "--cycles", "1000", "--json")
    long = call("coverage", "rr", "--cycles", "100000", "--json")

    assert (short.status, long.status) == (1, 0)
    assert short.json()["open"]
    assert [told for told in short.json()["open"] if re.fullmatch(r"toggle: .*: hdl/[\w/]+\.py:\d+", told)]
    document = long.json()
    assert (document["mismatch"], document["open"], document["refuted"]) == (None, [], [])
    for count in document["kinds"].values():
        assert count["points"] == count["reached"] + count["constant"] + count["judged"] + count["open"]
    assert document["kinds"]["toggle"]["constant"] > 0
    assert document["kinds"]["line"]["reached"] == document["kinds"]["line"]["points"] > 0
    shown = call("coverage", "rr", "--cycles", "1000").out
    assert "OPEN: " in shown


@pytest.mark.slow
def test_reasons_are_reported_or_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason removes an open point from the list, and a reason for a bit that changes is refuted."""
    first = call("coverage", "rr", "--cycles", "1000", "--json").json()
    told = next(point for point in first["open"] if point.startswith("toggle: "))
    signal, bit = re.fullmatch(r"toggle: ([\w.$]+)(?:\[(\d+)\])?:.*", told).groups()  # type: ignore[union-attr]
    number = int(bit or 0)
    found = (
        Hole(re.escape(signal), range(number, number + 1), "Too short."),
        Hole("rst", range(1), "Nobody resets it."),
        Hole("grant", range(1), "It grants nothing."),
    )
    monkeypatch.setattr(code_coverage, "judged_holes", lambda _: found)

    called = call("coverage", "rr", "--cycles", "1000", "--json")
    document = called.json()

    assert called.status == 1
    assert "Too short." in [judged["reason"] for judged in document["judged"]]
    assert told not in document["open"]
    assert [point for point in document["refuted"] if "grant:" in point]


POINTS = tuple(
    Point("toggle", "", f"{name}:{edge}", "", Bit("", name, 0), "", int(name == "rises" and edge == "0->1"))
    for name in ("stays", "alias", "rises")
    for edge in ("0->1", "1->0")
)


def branch(name: str, bit: str, *, count: int = 0) -> Point:
    return Point("branch", "", name, "", Bit("", bit, 0), "1", count)


def test_a_reason_holds_for_every_name_of_a_bit_and_for_branches_that_it_decides() -> None:
    """A reason applies to every alias of a bit and to the branches that bit controls.

    A branch is not covered if its bit had one of the two edges.
    """
    taken = [branch("of_alias", "alias"), branch("of_rises", "rises"), branch("of_other", "other")]
    left = [*(point for point in POINTS if not point.count), *taken]
    found = (Hole("stays", range(1), "It stays."), Hole("rises", range(1), "Once.", edge="1->0"))
    nets = {point.bit: 0 if point.bit.signal in {"stays", "alias"} else point.bit for point in left if point.bit}
    reasons = code_coverage._reasons(left, found, nets)
    assert {(point.name, reason) for point, reason in reasons.items()} == {
        *((f"{name}:{edge}", "It stays.") for name in ("stays", "alias") for edge in ("0->1", "1->0")),
        ("rises:1->0", "Once."),
        ("of_alias", "It stays."),
    }
    assert code_coverage._refuted(POINTS, left, found) == ()
    wrong = Hole("rises", range(1), "It stays.")
    assert [point.name for point in code_coverage._refuted(POINTS, left, (wrong,))] == ["rises:0->1"]


def test_branches_without_a_name_are_judged_by_their_number() -> None:
    """A reason for unnamed branches applies only if their number is as stated."""
    points = [
        branch("$1 ? read_0 : 0", "$1"),
        branch("$2 ? read_1 : 0", "$2"),
        branch("$3 ? read_2 : 0", "$3", count=1),
    ]
    left = points[:2]

    def judged(count: int) -> tuple[list[Point], list[Point]]:
        found = (Untaken(r"\$\d \? read_\d : 0", count, "Nobody reads."),)
        return list(code_coverage._reasons(left, found, {})), list(code_coverage._refuted(points, left, found))

    assert judged(2) == (left, [])
    assert judged(1) == ([], [])
    assert judged(3) == ([], points[2:])


@pytest.mark.slow
def test_reasons_are_of_the_instance_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasons apply only to the instance for which they were written."""
    everything = (Hole(".*", range(64), "Whatever it is."),)
    monkeypatch.setattr(code_coverage, "judged_holes", lambda _: everything)
    other = call("coverage", "rr", "--cycles", "1000", "--param", "data_vls=2", "--json").json()
    assert (other["judged"], other["refuted"]) == ([], [])


@pytest.mark.slow
def test_a_bit_that_changed_is_not_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a toggled bit with a constant proof, the run fails with an error."""
    monkeypatch.setattr(code_coverage, "constant_bits", lambda *words: dict.fromkeys(words[2], "0"))
    with pytest.raises(RuntimeError, match=r"was reached, and its bit is proven constant"):
        call("coverage", "rr", "--cycles", "1000", "--json")


@pytest.mark.slow
def test_mismatch_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a mismatch in the lockstep, ``coverage`` reports the mismatch with exit status 1."""
    wrong = Outcome(3, Mismatch(3, {}, {"grant": 1}, {"grant": 0}), 0.0)
    monkeypatch.setattr(code_coverage, "run_lockstep", lambda *_: wrong)
    called = call("coverage", "rr", "--cycles", "1000", "--json")
    assert called.status == 1
    assert "grant: golden 1, hardware 0" in called.json()["mismatch"]


def _signals(design: str, top: str) -> set[str]:
    """Return the paths of all signals in RTLIL text with one module per instance path."""
    found, path = set(), ""
    for line in design.splitlines():
        if line.startswith("module \\"):
            path = line.removeprefix(f"module \\{top}").lstrip(".")
        elif line.startswith("  wire ") and "\\" in line:
            found.add(f"{path}.{line.rpartition(chr(92))[2]}".lstrip("."))
    return found


def test_reasons_name_existing_signals() -> None:
    with_holes = {name: holes for name in BLOCKS if (holes := judged_holes(name))}
    assert with_holes
    for name, holes in with_holes.items():
        block = BLOCKS[name]
        component = block.make(block.parameters([], block.mutated))
        signals = _signals(to_rtlil(component, block.name, emit_src=False), block.name)
        for hole in holes:
            assert hole.reason.endswith(".")
            if isinstance(hole, Untaken):
                assert hole.count > 0
            else:
                assert hole.bits
                assert any(re.fullmatch(hole.signals, signal) for signal in signals)
