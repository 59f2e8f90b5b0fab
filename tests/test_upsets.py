"""Upsets: what a flipped bit does is told for every kind of register."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from vlane.sim_top.blocks import BLOCKS, Block
from vlane.sim_top.cosim.upsets import _WRITES, LONGEST, WATCHED, Effect, upsets
from vlane.tb.native.model import component_ports
from vlane.tb.native.rows import Words
from vlane.tb.native.stimulus import Layout
from vlane.tb.synthesis.upsets import upset_model

import vlane
from tests.conftest import assert_refused, call
from vlane.vlarb import VLArbTable


class Kinds(Component):
    """One register of each kind: one that forgets, one that is set by a write, one that blocks, and one unseen."""

    def __init__(self) -> None:
        super().__init__(
            {
                "given": In(1),
                "program__enable": In(1),
                "never": In(1),
                "seen": Out(1),
                "kept": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        delays, setting, blocked, turn, unseen = (
            Signal(4, name="delays"),
            Signal(name="setting"),
            Signal(name="blocked"),
            Signal(name="turn"),
            Signal(3, name="unseen"),
        )
        m.d.sync += [delays.eq(Cat(self.given, delays)), unseen.eq(unseen + self.given)]
        with m.If(self.program__enable):
            m.d.sync += setting.eq(1)
        with m.If(~blocked):
            m.d.sync += turn.eq(~turn)
        m.submodules.words = words = Memory(shape=1, depth=2, init=[])
        reader, writer = words.read_port(domain="comb"), words.write_port()
        m.d.comb += [reader.addr.eq(self.never), self.seen.eq(delays[-1] & ~blocked), self.busy.eq(turn)]
        m.d.comb += [writer.addr.eq(self.given), writer.data.eq(1), writer.en.eq(self.never)]
        m.d.comb += self.kept.eq(setting ^ reader.data ^ (self.never & (unseen == 0)))
        m.d.sync += blocked.eq(blocked | self.never)
        return m


class Plain:
    """What ``Kinds`` does, in Python; writes come all the time."""

    def __init__(self, inputs: Layout, outputs: Layout, seed: int) -> None:
        self.inputs, self.outputs, self.seed = inputs, outputs, seed

    def record(self, input_words: int, output_words: int) -> tuple[Words, Words]:
        """Return rows of inputs and of outputs."""
        cycles = LONGEST
        given = np.random.default_rng(self.seed).integers(0, 2, cycles, np.uint64)
        rows, expected = np.zeros((cycles, input_words), np.uint64), np.zeros((cycles, output_words), np.uint64)
        self.inputs["given"].put(rows, given)
        self.inputs["program__enable"].put(rows, 1)
        ones = np.ones(cycles, np.uint64)
        ones[0] = 0
        self.outputs["kept"].put(expected, ones)
        self.outputs["seen"].put(expected, np.concatenate([np.zeros(4, np.uint64), given[:-4]]))
        self.outputs["busy"].put(expected, np.arange(cycles, dtype=np.uint64) & np.uint64(1))
        return rows, expected


def block(source: Any) -> Block:
    return Block(
        name="kinds", title="", component=lambda _: Kinds(), shape=dict,  # type: ignore[arg-type]
        full_size={}, mutated={}, qualify=source, proofs=(),
    )  # fmt: skip


def plain(_: Any, *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Plain:
    assert cycles == LONGEST
    return Plain(inputs, outputs, seed)


@pytest.mark.slow
def test_each_kind_of_register_has_its_effect() -> None:
    """The setting would be written again in the next cycle: it must not be."""
    found = upsets(block(plain), {}, count=200, seed=1)
    assert found.state_bits == found.flipped_bits == 4 + 1 + 1 + 1 + 3 + 2
    only = {register: set(effects) for register, effects in found.effects.items()}
    assert only["delays"] == {Effect.RECOVERED}
    assert only["setting"] == {Effect.DIFFERENT}
    assert only["blocked"] == {Effect.STUCK}
    assert only["busy"] == {Effect.DIFFERENT}
    assert only["unseen"] == {Effect.NONE}
    assert only["words"] == {Effect.NONE, Effect.DIFFERENT}
    assert sum(found.effects.values(), Counter()) == found.total
    assert found.total.total() == 200


@pytest.mark.slow
def test_bits_are_drawn_where_there_are_more() -> None:
    model, bits, state_bits = upset_model(Kinds(), "kinds", most=5, seed=1)
    assert (len(bits), state_bits) == (5, 12)
    assert [bit.number for bit in bits] == [1, 2, 3, 4, 5]
    assert model.inputs["upset_select"].bits == 3
    _, others, _ = upset_model(Kinds(), "kinds", most=5, seed=2)
    assert [bit.cell for bit in others] != [bit.cell for bit in bits] or [b.bit for b in others] != [
        b.bit for b in bits
    ]


@pytest.mark.slow
def test_a_block_that_differs_without_an_upset_is_refused() -> None:
    class Wrong(Plain):
        def record(self, input_words: int, output_words: int) -> tuple[Words, Words]:
            rows, expected = super().record(input_words, output_words)
            expected[7] ^= np.uint64(1)
            return rows, expected

    def wrong(_: Any, *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Wrong:
        return Wrong(inputs, outputs, seed + cycles)

    with pytest.raises(RuntimeError, match="without an upset"):
        upsets(block(wrong), {}, count=1, seed=1)


def test_every_write_of_a_block_is_held_back() -> None:
    """Inputs that write tables or limits have an enable; what asks for an exchange or for new limits is held, too."""
    for block in BLOCKS.values():
        names = [
            port.name for port in component_ports(block.make(block.parameters([], block.mutated))) if port.is_input
        ]
        held = {name for name in names if _WRITES.fullmatch(name)}
        assert held >= {name for name in names if name.endswith("enable")} | ({"rst", "swap", "apply"} & set(names))
        assert not {name for name in held if not name.endswith("enable")} - {"rst", "swap", "apply"}


@pytest.mark.slow
def test_the_command_tells_effects_and_repeats_them() -> None:
    document = call("upsets", "rr", "--count", "300", "--json").json()
    assert document["upsets"] == sum(document["effects"].values()) == 300
    assert document["watched_cycles"] == WATCHED
    assert document["flipped_bits"] > document["state_bits"] // 2
    assert sum(each["recovered"] for each in document["registers"]) == document["effects"]["recovered"]
    again = call("upsets", "rr", "--count", "300", "--json").json()
    assert again == document
    assert "no effect" in call("upsets", "rr", "--count", "20").out


@pytest.mark.slow
def test_parity_shows_every_upset_of_a_table_and_nothing_else() -> None:
    """The tables of the arbiter are shown, what forgets by itself is not; without an upset nothing is."""
    shape = ("--param", "data_vls=3", "--param", "entries=4", "--param", "parity=true")
    document = call("upsets", "vlarb", *shape, "--count", "400", "--json").json()
    stored = [each for each in document["registers"] if each["register"].startswith("banks.")]
    others = [
        each for each in document["registers"] if each["register"].startswith(("remaining", "pointer", "counter"))
    ]
    assert {each["register"] for each in stored} >= {"banks.high_0", "banks.low_1", "banks.limit_0"}
    assert all(each["detected"] == sum(each[effect.name.lower()] for effect in Effect) for each in stored)
    assert others
    assert not any(each["detected"] for each in others)
    assert call("cosim", "vlarb", *shape, "--cycles", "60000").status == 0
    assert_refused(
        call("cosim", "vlarb", *shape, "--param", "form=line_rate"), "parity must be false in the line_rate form"
    )


def test_the_oracle_of_an_arbiter_with_parity_shows_no_upset() -> None:
    arbiter = vlane.oracle("vlarb", data_vls=2, entries=2, parity=True)
    arbiter.program(VLArbTable(high=((0, 1), (1, 2)), low=(), limit_of_high_priority=255))
    assert arbiter.step(ready=1).upset == 0
    with pytest.raises(AttributeError):
        vlane.oracle("vlarb", data_vls=2, entries=2).step(ready=1).upset  # noqa: B018
