"""Upsets: effect of a single flipped bit, by register."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal, Value, signed, unsigned
from amaranth.lib.data import ArrayLayout
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out
from amaranth.sim import Simulator

import vlane
from tests.conftest import assert_refused, call
from vlane.hdl.common.stored import Stored
from vlane.sim_top.blocks import BLOCKS, Block
from vlane.sim_top.cosim.upsets import _WRITES, LONGEST, WATCHED, Effect, upsets
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.machinery.synthesis.upsets import upset_model


class Kinds(Component):
    """One register of each kind: forgetting, written, blocking, unobserved, and a memory."""

    def __init__(self) -> None:
        super().__init__(
            {"given": In(1), "program__enable": In(1), "never": In(1), "seen": Out(1), "kept": Out(1), "busy": Out(1)}
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
    """Python model of ``Kinds`` with continuous writes."""

    def __init__(self, inputs: Layout, outputs: Layout, seed: int) -> None:
        self.inputs, self.outputs, self.seed = inputs, outputs, seed

    def record(self, input_words: int, output_words: int) -> tuple[Words, Words]:
        """Return rows of inputs and expected outputs."""
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
    class KindsBlock(Block):
        component = staticmethod(lambda _: Kinds())  # type: ignore[assignment]
        qualify = staticmethod(source)  # type: ignore[assignment]
        proofs = ()

    return KindsBlock("kinds", "", dict, {}, {})  # type: ignore[arg-type]


def plain(_: Any, *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Plain:
    assert cycles == LONGEST
    return Plain(inputs, outputs, seed)


@pytest.mark.slow
def test_each_kind_of_register_has_its_effect() -> None:
    """An upset in each kind of register has the expected effect.

    Writes are suppressed after the upset, so a setting is not repaired.
    """
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
    """Given more state bits than the limit, a random subset is selected, which varies with the seed."""
    model, bits, state_bits = upset_model(Kinds(), "kinds", maximum=5, seed=1)
    assert (len(bits), state_bits) == (5, 12)
    assert [bit.number for bit in bits] == [1, 2, 3, 4, 5]
    assert model.inputs["upset_select"].bits == 3
    _, others, _ = upset_model(Kinds(), "kinds", maximum=5, seed=2)
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
    """Every input that writes a table, a limit or a swap request is suppressed after an upset."""
    for block in BLOCKS.values():
        names = [
            port.name for port in component_ports(block.make(block.parameters([], block.mutated))) if port.is_input
        ]
        held = {name for name in names if _WRITES.fullmatch(name)}
        assert held >= {name for name in names if name.endswith("enable")} | ({"rst", "swap", "apply"} & set(names))
        assert not {name for name in held if not name.endswith("enable")} - {"rst", "swap", "apply"}


@pytest.mark.slow
def test_command_reports_repeatable_effects() -> None:
    document = call("upsets", "rr", "--count", "300", "--json").json()
    assert document["upsets"] == sum(document["effects"].values()) == 300
    assert document["watched_cycles"] == WATCHED
    assert document["flipped_bits"] > document["state_bits"] // 2
    assert sum(each["recovered"] for each in document["registers"]) == document["effects"]["recovered"]
    again = call("upsets", "rr", "--count", "300", "--json").json()
    assert again == document
    assert "no effect" in call("upsets", "rr", "--count", "20").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "shape"),
    [
        pytest.param("vlarb", ("data_vls=3", "entries=4"), marks=pytest.mark.long),
        pytest.param(
            "dtable", ("data_vls=3", "entries=4", "requesters=2", "keep_on_stall=true"), marks=pytest.mark.long
        ),
        pytest.param(
            "credit_ib",
            ("data_vls=2", "buffer_blocks=20", "fcp_blocks=5", "fcp_period=200", "watchdog_cycles=100"),
            marks=pytest.mark.long,
        ),
        ("credit_opa", ("vls=2",)),
    ],
)
def test_parity_shows_every_upset(block: str, shape: tuple[str, ...]) -> None:
    """With parity, every upset is detected, and nothing is detected without an upset."""
    with_parity = [word for each in (*shape, "parity=true") for word in ("--param", each)]
    document = call("upsets", block, *with_parity, "--count", "200", "--json").json()
    assert document["effects"]["detected"] == 200, document["registers"]
    without = [word for each in shape for word in ("--param", each)]
    assert call("upsets", block, *without, "--count", "20", "--json").json()["effects"]["detected"] == 0
    assert call("cosim", block, *with_parity, "--cycles", "60000").status == 0


@pytest.mark.parametrize("block", ["vlarb", "dtable"])
def test_the_line_rate_forms_have_no_parity(block: str) -> None:
    assert_refused(
        call("cosim", block, "--param", "form=line_rate", "--param", "parity=true"),
        "parity must be false in the line_rate form",
    )


@pytest.mark.parametrize("block", ["vlarb", "dtable", "credit_ib", "credit_opa"])
def test_an_oracle_with_parity_shows_no_upset(block: str) -> None:
    assert vlane.oracle(block, parity=True).step().upset == 0
    with pytest.raises(AttributeError):
        vlane.oracle(block).step().upset  # noqa: B018


def test_stored_parity_follows_every_write() -> None:
    """The stored parity follows every kind of write: array elements, signed and truncated values, one bit."""

    class Registers(Component):
        def __init__(self) -> None:
            super().__init__({"given": In(signed(5)), "which": In(1), "upset": Out(1)})
            self.stored = Stored(parity=True)
            self.words = Signal(ArrayLayout(unsigned(7), 2), init=[1, 3])
            self.short, self.single = Signal(3), Signal(init=1)

        def elaborate(self, _platform: object) -> Module:
            m = Module()
            with m.If(self.which):
                self.stored.write(m, self.words[1], self.given)
                self.stored.write(m, self.single, ~self.single)
            with m.Else():
                self.stored.write_each(m, self.words, [self.given, 0])
            self.stored.write(m, self.short, self.given + 1)
            self.stored.check(m)
            m.d.comb += self.upset.eq(self.stored.upset)
            return m

    registers = Registers()
    seen: list[int] = []

    async def drive(context: Any) -> None:
        draw = random.Random(1)  # noqa: S311 - no secrets
        for _ in range(200):
            context.set(registers.given, draw.randrange(-16, 16))
            context.set(registers.which, draw.randrange(2))
            await context.tick()
            seen.append(context.get(registers.upset))
        for register, bit in [(registers.words, 9), (registers.short, 2), (registers.single, 0)]:
            value = Value.cast(register)
            context.set(value, context.get(value) ^ 1 << bit)
            assert context.get(registers.upset) == 1
            context.set(value, context.get(value) ^ 1 << bit)
            assert context.get(registers.upset) == 0

    simulator = Simulator(registers)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    assert seen == [0] * 200


def test_a_register_is_a_fixed_part_of_a_signal() -> None:
    """Given a dynamically indexed register, storing with parity is refused."""
    words, which = Signal(ArrayLayout(unsigned(7), 2)), Signal()
    with pytest.raises(TypeError, match="a fixed slice of one"):
        Stored(parity=True).write(Module(), words[which], 0)
