"""The lockstep itself: detection of differences, restart, mutants, row layout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import long_but
from vlane.hdl.congestion.source_settings import CCSourceSettings
from vlane.hdl.schedulers.vlarb import VLArb
from vlane.schedulers.vlarb import VLArbParameters, VLArbTable
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.mutation import mutation_run
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.lockstep import BATCH, run_lockstep
from vlane.tb.machinery.native.model import COMPILER_FLAGS, MODEL_FLAGS, CompiledModel, compile_model, component_ports
from vlane.tb.machinery.native.rows import Port, row_layout, row_words
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.machinery.synthesis.mutate import is_equivalent, list_mutants, prove_equivalent
from vlane.tb.schedulers.traffic import Phase
from vlane.tb.schedulers.vlarb.proofs import VLArbTurnProperties
from vlane.tb.schedulers.vlarb.stimulus import VLArbTraffic

BLOCKS_BIT = 7
"""Lowest bit of ``blocks`` in a row of outputs, after grant, vl and list."""

SHAPE = {"data_vls": 2, "entries": 3, "vl15": True}


def traffic_for(model: CompiledModel) -> VLArbTraffic:
    table = VLArbTable(((0, 3),), ((1, 2), (0, 1)), 1)
    return VLArbTraffic(
        **SHAPE,
        tables=(table,),
        seed=1,
        inputs=model.inputs,
        outputs=model.outputs,
        phases=(Phase(3 * BATCH, 0, idle_bits=1),),
    )


class Spoiled:
    """Stimulus whose expected output is wrong in one cycle."""

    def __init__(self, source: VLArbTraffic, cycle: int) -> None:
        self.source, self.cycle, self.done = source, cycle, 0

    def fill(self, rows: np.ndarray, expected: np.ndarray) -> int:  # type: ignore[type-arg]
        count = self.source.fill(rows, expected)
        if self.done <= self.cycle < self.done + count:
            expected[self.cycle - self.done, 0] ^= np.uint64(1 << BLOCKS_BIT)
        self.done += count
        return count


@pytest.mark.slow
@pytest.mark.parametrize("cycle", long_but((0, BATCH - 1, BATCH), (0, 1, BATCH - 1, BATCH, 2 * BATCH + 17)))
def test_first_difference_is_named_by_its_cycle(cycle: int) -> None:
    """Given a wrong bit in a single cycle, the run stops in this cycle and names the cycle.

    Cycles at the edges of batches are included.
    """
    with compile_model(VLArb(VLArbParameters(**SHAPE)), "vlarb") as model:
        outcome = run_lockstep(model, Spoiled(traffic_for(model), cycle))

    assert outcome.mismatch is not None
    assert outcome.mismatch.cycle == cycle
    assert outcome.cycles == cycle + 1
    assert f"cycle {cycle}: blocks: golden" in str(outcome.mismatch)


@pytest.mark.slow
def test_restart_is_power_on() -> None:
    """After a restart, equal rows give equal outputs."""
    with compile_model(VLArb(VLArbParameters(**SHAPE)), "vlarb") as model:
        rows = np.zeros((2000, model.input_words), np.uint64)
        traffic_for(model).fill(rows, np.zeros((2000, model.output_words), np.uint64))
        first = model.run(rows).copy()
        model.restart()

        again = model.run(rows)

    assert np.array_equal(first, again)


@pytest.mark.slow
def test_makefiles_run_where_python_is_not_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verilator's makefile works without a working ``python`` on PATH, because it is given the running interpreter."""
    useless = tmp_path / "python"
    useless.write_text("#!/bin/sh\nexit 1\n")
    useless.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "tiny.v").write_text("module tiny(input clk); endmodule\n")
    (tmp_path / "wrapper.cpp").write_text("int wrapped;\n")
    command = [verilator.executable(), *MODEL_FLAGS, "--exe", "--build", "-Mdir", "obj", "-o", "tiny"]
    command += ["-CFLAGS", " ".join(COMPILER_FLAGS), "-LDFLAGS", "-shared"]

    done = subprocess.run(
        [*command, "tiny.v", "wrapper.cpp"],
        cwd=tmp_path,
        env=verilator.environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "verilator_includer" in (tmp_path / "obj" / "Vtiny__ALL.cpp").read_text()


def test_ports_follow_the_signature() -> None:
    """Ports are listed with the reset first, nested members joined by two underscores."""
    ports = component_ports(VLArb(VLArbParameters(**SHAPE)))

    assert [p.name for p in ports][:4] == ["rst", "heads__request", "heads__fits", "heads__blocks"]
    assert {p.name: p.bits for p in ports}["heads__blocks"] == 21
    assert {p.name for p in ports if not p.is_input} >= {
        "grant",
        "vl",
        "from_list",
        "blocks",
        "unreachable",
        "bad_entries",
    }


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(60, marks=pytest.mark.long)])
def test_mutants_are_killed_and_equivalent_ones_proven_and_no_fault_is(count: int) -> None:
    """At least 95 % of the mutants are killed, and none of the first killed ones is proven equivalent."""
    run = mutation_run(BLOCKS["vlarb"], SHAPE, count=count, cycles=60_000, seed=3)

    assert run.mutants == count
    assert run.killed_percent >= 95, [str(m) for m in run.survivors]
    alive = {mutant.number for mutant in (*run.survivors, *run.equivalent)}
    mutants = list_mutants(VLArb(VLArbParameters(**SHAPE)), "vlarb", count=count, seed=3)
    killed = [mutant for mutant in mutants if mutant.number not in alive][: count // 10]

    assert len(killed) == count // 10
    assert not any(is_equivalent(VLArb(VLArbParameters(**SHAPE)), "vlarb", mutant) for mutant in killed)


@pytest.mark.slow
def test_mutants_of_a_component_with_a_memory_are_tried_one_after_another() -> None:
    """Given a component with a memory, which can be elaborated only once, equivalence is tried for all mutants."""
    mutants = list_mutants(CCSourceSettings(3), "settings", count=3, seed=2)

    proven = prove_equivalent(CCSourceSettings(3), "settings", list(mutants))

    assert len(mutants) == 3
    assert len(proven) < len(mutants)


@pytest.mark.slow
def test_small_arbiter_is_proven() -> None:
    """The turn properties are proven for every table and input of a small arbiter."""
    proof = prove(VLArbTurnProperties(VLArb(VLArbParameters(data_vls=2, entries=4))), "test-vlarb-small")

    assert proof.verdict == "PASS", proof.detail


class Broken(VLArb):
    """Arbiter that does not serve High while lane 0 requests."""

    def _decide(self, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        high, low = super()._decide(m)
        return high & ~self.heads.request[0], low


class Starving(VLArb):
    """Arbiter whose limit never expires."""

    def _charge(self, m, use_high, use_low):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        super()._charge(m, use_high, use_low)
        m.d.sync += self.counter.eq(1)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [Broken, Starving])
def test_a_broken_arbiter_is_not_proven(broken: type[VLArb]) -> None:
    """Given a broken arbiter, the proof fails."""
    proof = prove(
        VLArbTurnProperties(broken(VLArbParameters(data_vls=2, entries=4))), f"test-vlarb-{broken.__name__.lower()}"
    )

    assert proof.verdict in {"FAIL", "UNKNOWN"}, proof.detail
    assert "Assert failed" in proof.detail


def test_rows_pack_ports_and_give_them_back() -> None:
    """Every port value packed into a row is read back unchanged.

    Ports of up to 64 bits never cross a word, and wider ports start a new one.
    """
    ports = [Port(f"p{i}", bits, is_input=True) for i, bits in enumerate((1, 40, 23, 1, 64, 112, 7, 60))]
    layout = row_layout(ports, inputs=True)
    row = np.zeros(row_words(layout), np.uint64)
    values = {port.name: (1 << port.bits) - 1 - index % 2 for index, port in enumerate(ports)}

    for name, value in values.items():
        layout[name].put(row, value)

    assert {name: field.value(row) for name, field in layout.items()} == values
    assert row_words(layout) == 7
    assert row_layout(ports, inputs=False) == {}
