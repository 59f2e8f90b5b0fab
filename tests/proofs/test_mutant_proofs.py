"""Equivalence proofs of mutants: exactly the mutants without effect are proven equivalent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from tests.conftest import long_but
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native.model import CompiledModel
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.yosys import OutOfTimeError, run_commands
from vlane.tb.machinery.synthesis import mutate
from vlane.tb.machinery.synthesis.flattened import Flattened
from vlane.tb.machinery.synthesis.mutate import SELECT, Mutant, list_mutants, mutant_model, prove_equivalent

OLD = 5
"""Age at which a report is repeated. It is stored in three bits, so two values are never reached."""


class Teller(Component):
    """Requests a report when its state differs from the last report, or 5 cycles after it.

    The age is 0 only before the first report, when nothing reads it: an invariant of two registers.
    """

    def __init__(self) -> None:
        super().__init__({"on": In(1), "said": In(1), "ask": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        told, age = Signal(), Signal(3)
        with m.If(self.said):
            m.d.sync += [told.eq(self.on), age.eq(1)]
        with m.Elif(age != OLD):
            m.d.sync += age.eq(age + 1)
        m.d.comb += self.ask.eq((self.on ^ told) | (self.on & (age == OLD)))
        return m


class Clock(Component):
    """Rings from the 16th cycle after a reset on."""

    def __init__(self) -> None:
        super().__init__({"ring": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        time = Signal(5)
        with m.If(~time[-1]):
            m.d.sync += time.eq(time + 1)
        m.d.comb += self.ring.eq(time[-1])
        return m


class Latch(Component):
    """Output that stays 1 after a reset.

    Before a reset, it has the register's power-on value, which the proofs assume to be 0.
    """

    def __init__(self) -> None:
        super().__init__({"given": In(1), "on": Out(1, init=1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.sync += self.on.eq(self.on | self.given)
        return m


class Surrounded(Component):
    """Latch whose output is masked by ``off``.

    With ``keeps``, the output of the first cycle is stored.
    """

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        super().__init__({"given": In(1), "off": In(1), "on": Out(1), "first": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.latch = latch = Latch()
        m.d.comb += [latch.given.eq(self.given), self.on.eq(latch.on | self.off)]
        if self.keeps:
            came, first = Signal(reset_less=True), Signal(reset_less=True)
            m.d.sync += came.eq(1)
            with m.If(~came):
                m.d.sync += first.eq(latch.on)
            m.d.comb += self.first.eq(first)
        return m


class Halves(Component):
    """Two reporters, of which the second is masked while the first requests."""

    def __init__(self) -> None:
        super().__init__({"on": In(2), "said": In(2), "ask": Out(2)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.one = one = Teller()
        m.submodules.other = other = Teller()
        for number, each in enumerate((one, other)):
            m.d.comb += [each.on.eq(self.on[number]), each.said.eq(self.said[number])]
        m.d.comb += self.ask.eq(Cat(one.ask, other.ask & ~one.ask))
        return m


class Sum(Component):
    """Middle bit of a sum of which one addend's upper bit is a separate input."""

    def __init__(self) -> None:
        super().__init__({"one": In(2), "low": In(1), "high": In(1), "bit": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.comb += self.bit.eq((self.one + Cat(self.low, self.high))[1])
        return m


class Bus(Component):
    """Bus with one bit driven by an instance and one bit read by the same instance."""

    def __init__(self) -> None:
        super().__init__({"on": In(2), "said": In(2), "sum": Out(3)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.inside = inside = Module()
        inside.submodules.adder = adder = Sum()
        bus, total = Signal(2, name="bus"), Signal(3)
        inside.d.comb += [
            adder.one.eq(self.on),
            adder.low.eq(self.said[0]),
            adder.high.eq(bus[1]),
            bus.eq(Cat(adder.bit, ((self.on ^ self.said) + 1)[1])),
            total.eq(bus + 1),
        ]
        m.d.sync += self.sum.eq(total)
        return m


class Armed(Component):
    """State that is armed at power-on, shifts out on ``said`` and is not restored by a reset."""

    def __init__(self) -> None:
        super().__init__({"on": In(1), "said": In(1), "armed": Out(3), "seen": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        left, seen = Signal(3, init=1, reset_less=True), Signal()
        with m.If(self.said):
            m.d.sync += left.eq(left << 1)
        m.d.sync += seen.eq((seen ^ self.on) & left.any())
        m.d.comb += [self.armed.eq(left), self.seen.eq(seen)]
        return m


class Shown(Component):
    """Two copies of an inner register's value at one output port."""

    def __init__(self) -> None:
        super().__init__({"on": In(1), "said": In(1), "armed": Out(8), "seen": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = Armed()
        m.d.comb += [inner.on.eq(self.on), inner.said.eq(self.said), self.seen.eq(inner.seen)]
        m.d.comb += self.armed.eq(Cat(inner.armed, Const(0, 1), inner.armed))
        return m


class Guarded(Component):
    """Memory of three words that is never read beyond its end."""

    def __init__(self) -> None:
        super().__init__({"on": In(2), "said": In(2), "word": Out(2)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=2, depth=3, init=[1, 2, 3])
        reader, writer = words.read_port(domain="comb"), words.write_port()
        m.d.comb += [
            reader.addr.eq(Mux(self.on == 3, 0, self.on)),
            self.word.eq(reader.data),
            writer.addr.eq(0),
            writer.data.eq(self.said),
            writer.en.eq(self.said.any()),
        ]
        return m


class First(Component):
    """Component with port names that equivalence netlists also use."""

    def __init__(self) -> None:
        super().__init__({"first": In(1), "wrong": In(1), "differs": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        unused = Signal()
        m.d.sync += unused.eq(unused & self.first)
        m.d.comb += self.differs.eq(self.wrong ^ (unused & ~self.first))
        return m


def outputs_of(model: CompiledModel, rows: Words, number: int) -> Any:
    """Return the model's outputs with a mutant, after a restart."""
    model.restart()
    chosen = rows.copy()
    model.inputs[SELECT].put(chosen, number)
    return model.run(chosen).copy()


def alive(component: type[Component], name: str, mutants: tuple[Mutant, ...]) -> list[Mutant]:
    """Return the mutants that 20,000 random cycles on inputs ``on`` and ``said`` do not detect."""
    with mutant_model(component(), name, mutants) as model:
        rows = np.zeros((20_000, model.input_words), dtype=np.uint64)
        source = np.random.default_rng(7)
        for port, often in (("on", 0.7), ("said", 0.2), ("rst", 0.01)):
            bits = model.inputs[port].bits
            drawn = source.random((len(rows), bits)) < often
            model.inputs[port].put(rows, (drawn @ (1 << np.arange(bits))).astype(np.uint64))
        right = outputs_of(model, rows, 0)
        return [each for each in mutants if np.array_equal(outputs_of(model, rows, each.number), right)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("component", "count"),
    [
        (Teller, 12),
        (Bus, 8),
        (Guarded, 20),
        *(
            pytest.param(component, count, marks=pytest.mark.long)
            for component, count in ((Teller, 24), (Halves, 40), (Bus, 16))
        ),
    ],
)
def test_exactly_the_mutants_that_make_no_difference_are_proven(component: type[Component], count: int) -> None:
    """The proven mutants are exactly those that random simulation does not detect.

    The components have so few states that 20,000 cycles reach all of them. Cases include a bus driven from both sides
    and a memory.
    """
    mutants = list_mutants(component(), "teller", count=count, seed=1)
    survive = alive(component, "teller", mutants)

    assert survive
    assert prove_equivalent(component(), "teller", list(mutants)) == survive


@pytest.mark.slow
def test_a_register_of_an_instance_begins_with_its_own_value() -> None:
    """A register that drives an output port keeps its power-on value in a cut-out instance."""
    mutants = tuple(
        each for each in list_mutants(Shown(), "shown", count=14, seed=1) if "Q" not in each.command.split()
    )
    survive = alive(Shown, "shown", mutants)
    proven = prove_equivalent(Shown(), "shown", list(mutants))

    assert len(survive) < len(mutants) / 2
    assert set(proven) <= set(survive)


@pytest.mark.slow
def test_ports_may_have_any_name() -> None:
    """Given port names that equivalence netlists use, mutants are still proven."""
    mutants = list(list_mutants(First(), "first", count=6, seed=1))
    assert any("unused" in each.command or "A" in each.command.split() for each in mutants)
    assert prove_equivalent(First(), "first", mutants)


@pytest.mark.slow
def test_an_instance_is_cut_out_with_its_inputs_and_outputs() -> None:
    """A cell is proven first in its innermost instance and then in the whole design.

    An unknown cell belongs to the whole design.
    """
    flattened = Flattened(Halves(), "halves")
    cells = {name: path for name, path in flattened._paths.items() if path == ("other",)}
    assert cells
    inner, whole = flattened.around(next(iter(cells)))

    assert not inner.is_whole
    assert whole.is_whole
    assert {port.name for port in whole.ports if port.is_input} == {"clk", "rst", "on", "said"}
    assert {port.name for port in inner.ports if port.is_input} == {"clk", "rst", "on[1]", "said[1]"}
    assert sum(port.bits for port in inner.ports if not port.is_input) == 1
    assert list(flattened.around("nobody")) == [whole]


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [False, True])
def test_difference_in_the_first_cycle_counts_only_if_stored(*, keeps: bool) -> None:
    """A mutant that differs only in the first cycle is equivalent unless its environment stores it."""
    mutants = list_mutants(Surrounded(keeps=keeps), "surrounded", count=100, seed=1)
    paths = Flattened(Surrounded(keeps=keeps), "surrounded")._paths
    inside = {cell for cell, path in paths.items() if path == ("latch",)}
    stuck = [
        each for each in mutants if {"const1", "Q"} <= set(each.command.split()) and inside & set(each.command.split())
    ]

    assert stuck
    assert prove_equivalent(Surrounded(keeps=keeps), "surrounded", stuck) == ([] if keeps else stuck)


@pytest.mark.slow
def test_a_netlist_that_takes_too_long_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A netlist whose proof times out is tried once, and every mutant gets a report.

    Other mutants of that netlist can still be proven within their instance.
    """
    tried, told = [], []

    def out_of_time(kind: str, files: Any, top: str, *words: Any, seconds: int | None = None, **others: Any) -> Path:
        if seconds is not None and files.get("flat.il") == whole.text:
            tried.append(top)
            raise OutOfTimeError("its time was up")
        return run_commands(kind, files, top, *words, seconds=seconds, **others)

    *_, whole = Flattened(Halves(), "halves").around("nobody")
    mutants = list(list_mutants(Halves(), "halves", count=8, seed=1))
    everything = prove_equivalent(Halves(), "halves", mutants)
    monkeypatch.setattr(mutate, "_run", partial(out_of_time, "mutate"))
    proven = prove_equivalent(Halves(), "halves", mutants, told.append)

    assert proven  # in an instance
    assert set(proven) <= set(everything)
    assert len(tried) in (1, 2)  # two run at the same time
    assert sorted(told) == sorted(f"{it}: {'proven equivalent' if it in proven else 'not proven'}" for it in mutants)


@pytest.mark.slow
def test_a_difference_that_shows_late_is_a_difference() -> None:
    """A mutant whose effect appears only after 16 cycles is not proven equivalent."""
    wanted = ["-mode const0", "-port Q "]
    mutants = list_mutants(Clock(), "clock", count=200, seed=1)
    stuck = [each for each in mutants if all(words in each.command for words in wanted)]

    assert stuck
    assert prove_equivalent(Clock(), "clock", stuck) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", long_but({186}, (186, 237, 375, 395)))
def test_mutants_of_an_unread_age_are_equivalent(number: int) -> None:
    """A mutant of an age that is not yet read is proven equivalent (block ``pause``).

    The proof needs an invariant over several registers.
    """
    block = BLOCKS["pause"]
    mutants = list_mutants(block.make(block.mutated), "pause", count=400, seed=1)
    chosen = [mutant for mutant in mutants if mutant.number == number]

    assert len(chosen) == 1
    assert prove_equivalent(block.make(block.mutated), "pause", chosen) == chosen
