"""Proofs that a mutant is no fault: they find every one that is none, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.native.model import CompiledModel
from vlane.tb.native.rows import Words
from vlane.tb.synthesis.mutate import SELECT, list_mutants, mutant_model, prove_equivalent

OLD = 5
"""Age at which what was told is told again: three bits hold it, so that two of their values are never reached."""


class Teller(Component):
    """Asks to tell a state if it is another one than was told, or if it was told ``OLD`` cycles ago.

    The age is 0 only before anything was told, and then nobody looks at it: an invariant of two registers.
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
    """Rings 16 cycles after a reset, and from then on."""

    def __init__(self) -> None:
        super().__init__({"ring": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        time = Signal(5)
        with m.If(~time[-1]):
            m.d.sync += time.eq(time + 1)
        m.d.comb += self.ring.eq(time[-1])
        return m


def outputs_of(model: CompiledModel, rows: Words, number: int) -> Any:
    """Return what the model puts out with a mutant; it is reset before."""
    model.restart()
    chosen = rows.copy()
    model.inputs[SELECT].put(chosen, number)
    return model.run(chosen).copy()


@pytest.mark.slow
def test_exactly_the_mutants_that_make_no_difference_are_proven() -> None:
    """So few states are all reached within 20,000 random cycles: what differs is seen, and nothing else survives."""
    mutants = list_mutants(Teller(), "teller", count=60, seed=1)
    with mutant_model(Teller(), "teller", mutants) as model:
        rows = np.zeros((20_000, model.input_words), dtype=np.uint64)
        source = np.random.default_rng(7)
        for name, often in (("on", 0.7), ("said", 0.2), ("rst", 0.01)):
            model.inputs[name].put(rows, (source.random(len(rows)) < often).astype(np.uint64))
        right = outputs_of(model, rows, 0)
        alive = [each for each in mutants if np.array_equal(outputs_of(model, rows, each.number), right)]

    assert alive
    assert prove_equivalent(Teller(), "teller", list(mutants)) == alive


@pytest.mark.slow
def test_a_difference_that_shows_late_is_a_difference() -> None:
    """Nothing is proven because it was not looked at for long enough: a bit of the clock stands still."""
    wanted = ["-mode const0", "-port Q "]
    mutants = list_mutants(Clock(), "clock", count=200, seed=1)
    stuck = [each for each in mutants if all(words in each.command for words in wanted)]

    assert stuck
    assert prove_equivalent(Clock(), "clock", stuck) == []


@pytest.mark.slow
def test_an_age_that_nobody_looks_at_yet_may_be_wrong() -> None:
    """Block ``pause``: the state of equal registers does not prove it, what the registers can be together does."""
    block = BLOCKS["pause"]
    mutants = list_mutants(block.make(block.mutated), "pause", count=400, seed=1)
    chosen = [mutant for mutant in mutants if mutant.number in (27, 185, 199, 333)]

    assert prove_equivalent(block.make(block.mutated), "pause", chosen) == chosen
