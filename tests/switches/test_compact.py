"""Simulation Verilog in which equal modules appear once and equal memory entries fill in loops."""

from __future__ import annotations

import gc
import re
import warnings
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, UnusedElaboratable, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from tests.conftest import call
from vlane.hdl.common.part import Part
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.compact import fill_by_loops, merge_equal_modules, unfolded_size
from vlane.tb.machinery.native.model import (
    CompiledModel,
    compile_model,
    compile_verilog,
    component_ports,
    simulated_verilog,
    to_rtlil,
    to_verilog,
)
from vlane.tb.machinery.native.parts import shared_rtlil

STUDY = "sim_top/configs/study_dtable_rtl.toml"


class Counter(wiring.Component):
    """Counter that adds its step in each cycle with ``adds`` set."""

    def __init__(self, step: int) -> None:
        self.step = step
        super().__init__({"adds": In(1), "count": Out(8)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        with m.If(self.adds):
            m.d.sync += self.count.eq(self.count + self.step)
        return m


class Pair(wiring.Component):
    """Two counters, with the second enabled by the lowest bit of the first through a module boundary."""

    def __init__(self, steps: tuple[int, int], *, as_parts: bool) -> None:
        self.steps, self.as_parts = steps, as_parts
        super().__init__({"adds": In(1), "sum": Out(9)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        first, second = (Counter(step) for step in self.steps)
        for name, each in (("first", first), ("second", second)):
            m.submodules[name] = Part(each, each.step) if self.as_parts else each
        m.d.comb += [first.adds.eq(self.adds), second.adds.eq(first.count[0]), self.sum.eq(first.count + second.count)]
        return m


class Pairs(wiring.Component):
    """Three pairs of counters, of which the first and the third are equal."""

    def __init__(self, *, as_parts: bool) -> None:
        self.pairs = [Pair(steps, as_parts=as_parts) for steps in ((1, 3), (1, 2), (1, 3))]
        super().__init__({"adds": In(3), "sums": Out(27)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for number, pair in enumerate(self.pairs):
            m.submodules[f"pair_{number}"] = pair
            m.d.comb += [pair.adds.eq(self.adds[number]), self.sums[9 * number : 9 * number + 9].eq(pair.sum)]
        return m


class Table(wiring.Component):
    """Memory with long and short runs of equal initial values."""

    INIT = (*[7] * 40, 1, 2, *[3] * 15, *[0] * 16)

    def __init__(self) -> None:
        super().__init__({"at": In(7), "value": Out(40)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.entries = entries = Memory(shape=unsigned(40), depth=len(self.INIT), init=self.INIT)
        read = entries.read_port()
        m.d.comb += [read.addr.eq(self.at), self.value.eq(read.data)]
        return m


def _modules(text: str) -> list[str]:
    return re.findall(r"^module (\S+)", text, re.MULTILINE)


@pytest.mark.parametrize("as_parts", [False, True], ids=["submodules", "parts"])
def test_equal_modules_are_written_once(*, as_parts: bool) -> None:
    """Nine instances yield one module for each distinct pair and counter, with the top module first."""
    rtlil = merge_equal_modules(shared_rtlil(Pairs(as_parts=as_parts), "pairs"))

    names = _modules(rtlil)
    assert names[0] == r"\pairs"
    assert len(names) == len(set(names)) == 1 + 2 + 3
    assert len(re.findall(r"^  cell \\\S+ \\(?:pair_\d|first|second)$", rtlil, re.MULTILINE)) == 3 + 2 * 2


def test_parts_are_plain_submodules_for_other_tools() -> None:
    """Converted without sharing, parts give the same RTLIL text as plain submodules."""
    as_parts, plain = (to_rtlil(Pairs(as_parts=each), "pairs", emit_src=False) for each in (True, False))

    assert as_parts == plain


@pytest.mark.parametrize("line_rate", [False, True], ids=["searches", "searches_in_plain_objects"])
def test_sharing_raises_no_elaboration_warning(*, line_rate: bool) -> None:
    """Sharing equal schedulers raises no warning about elaboratables that were never elaborated."""
    small = {"ports": 2, "data_vls": 2, "blocks": 8, "minimum": 2, "maximum": 4, "largest": 2, "scheduler": "vlarb"}
    small |= {"entries": 4, "line_rate": line_rate}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # collect garbage of earlier tests
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")

        shared_rtlil(BLOCKS["ib_switch"].make({**BLOCKS["ib_switch"].defaults(), **small}), "ib_switch")
        gc.collect()

    assert not [each for each in told if each.category is UnusedElaboratable]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("as_parts", "huge"),
    [(False, 10_000_000), (True, 10_000_000), (True, 0)],
    ids=["submodules", "parts", "parts_as_classes"],
)
def test_instances_of_one_module_keep_their_own_state(
    monkeypatch: pytest.MonkeyPatch, huge: int, *, as_parts: bool
) -> None:
    """Each instance of a shared module keeps its own state, as in the unshared Verilog."""
    monkeypatch.setattr(verilator, "_HUGE", huge)
    component = Pairs(as_parts=as_parts)
    rows = np.random.default_rng(5).integers(0, 8, (4000, 1), np.uint64) << np.uint64(1)  # bit 0 is the reset

    with compile_model(component, "pairs") as short, _whole(Pairs(as_parts=False), "pairs") as whole:
        sums = short.run(rows)

        assert np.array_equal(sums, whole.run(rows))
    assert len(np.unique(sums)) > 1000


TINY: dict[str, Any] = {"ports": 2, "data_vls": 2, "blocks": 8, "minimum": 4, "maximum": 4, "lids": 3}
SMALL: dict[str, Any] = {"ports": 3, "data_vls": 3, "blocks": 24, "minimum": 4, "maximum": 16, "lids": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {**TINY, "scheduler": "dtable", "entries": 2, "credit": "fcp", "fcp_period": 100},
        pytest.param({**SMALL, "scheduler": "dtable"}, marks=pytest.mark.long),
    ],
    ids=["tiny", "small"],
)
def test_switch_of_shared_parts_equals_the_unshared_switch(given: dict[str, Any]) -> None:
    """A switch of shared parts has the outputs of the unshared switch in each cycle of its qualification."""
    block = BLOCKS["ib_switch"]
    parameters = {**block.defaults(), **given}

    with (
        compile_model(block.make(parameters), "ib_switch") as short,
        _whole(block.make(parameters), "ib_switch") as whole,
    ):
        stimulus = block.qualify(parameters, cycles=4000, seed=3, inputs=short.inputs, outputs=short.outputs)
        rows, _ = stimulus.record(short.input_words, short.output_words)
        found = short.run(rows)

        assert np.array_equal(found, whole.run(rows))
    assert len(np.unique(found, axis=0)) > 1000


def test_only_long_runs_of_equal_entries_are_loops() -> None:
    """Runs of 40 and 16 equal entries become loops, while 15 equal entries stay single assignments."""
    text = fill_by_loops(to_verilog(Table(), "table"))

    loops = re.findall(r"= (\d+); \\at\$\$ <= (\d+);.* = 40'h(\w+);$", text, re.MULTILINE)
    assert [(int(first), int(last), int(value, 16)) for first, last, value in loops] == [(0, 39, 7), (57, 72, 0)]
    assert len(re.findall(r"^    \S+\[\d+\] = 40'h", text, re.MULTILINE)) == 17
    assert fill_by_loops(text) == text


@pytest.mark.slow
def test_memory_filled_by_loops_has_its_initial_values() -> None:
    """Given a memory filled by loops, every entry has its specified value at power-on."""
    at = np.arange(len(Table.INIT) + 1, dtype=np.uint64)[:, None] << np.uint64(1)  # bit 0 is the reset

    with compile_model(Table(), "table") as model:
        assert model.run(at)[1:, 0].tolist() == list(Table.INIT)


def test_the_unfolded_size_counts_a_module_for_each_instance() -> None:
    """The unfolded size counts a module once per instance, as the compiler sees the design."""
    whole, short = to_verilog(Pairs(as_parts=False), "pairs"), simulated_verilog(Pairs(as_parts=False), "pairs")

    assert len(short) < 0.9 * len(whole)
    assert unfolded_size(short) == pytest.approx(unfolded_size(whole), rel=0.1)
    assert unfolded_size("module a ();\n  a  inner (\n  );\nendmodule\nmodule b ();\nendmodule\n") < 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["network", STUDY, "--rtl", "0", "--set", "switch.kind"], ["--set", "KEY=VALUE"]),
        (
            ["network", STUDY, "--rtl", "0", "--set", "run.seeds=[1]", "--set", "run.seeds=[2]"],
            ["--set run.seeds is given twice"],
        ),
        (["network", STUDY, "--rtl", "0", "--set", "switch.knd=opa"], ["switch.knd"]),
        (["network", STUDY, "--rtl", "0", "--set", "buffers.blocks=4097"], ["buffers.blocks=4097", "1 to 4096"]),
        (["rr", "--set", "run.seeds=[1]"], ["STUDY, --rtl and --set apply only to `vlane cosim network`"]),
    ],
)
def test_a_wrong_change_of_the_study_is_refused(words: list[str], told: list[str]) -> None:
    """Given a wrong ``--set``, ``cosim`` is refused before anything is compiled."""
    called = call("cosim", *words)

    assert called.status == 2
    assert all(word in called.err for word in told), called.err


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ib", "opa"])
def test_a_switch_of_the_deficit_table_study_in_hardware(kind: str) -> None:
    """One switch of the Deficit Table study runs in hardware and agrees with golden for 3,000 cycles.

    Its buffers have 1,792 blocks and the load is the study's highest.
    """
    changes = ("--set", f"switch.kind={kind}", "--set", "run.loads=[0.9935]")

    called = call("cosim", "network", STUDY, *changes, "--rtl", "0", "--cycles", "3000", "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert (done["equal"], done["bad_flits"], done["parameters"]["blocks"]) == (True, 0, 1792)
    assert done["changes"] == {"switch.kind": kind, "run.loads": [0.9935]}
    assert done["deliveries"] > 5000


def _whole(component: Any, top: str) -> CompiledModel:
    """Compile a component with one module per instance and one assignment per memory entry."""
    return compile_verilog(to_verilog(component, top), component_ports(component), top)
