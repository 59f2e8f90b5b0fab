"""Blocks after synthesis: lockstep with golden and equivalence to the RTL."""

from __future__ import annotations

import pytest

from tests.conftest import assert_refused, call
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.systemverilog.netlist_source import netlist_source
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.synthesis import netlist


@pytest.mark.slow
@pytest.mark.parametrize("target", netlist.NETLISTS)
def test_a_netlist_is_golden_in_every_cycle(target: str) -> None:
    called = call("cosim", "rr", "--netlist", target, "--cycles", "50000", "--json")
    done = called.json()
    assert called.status == 0
    assert (done["mismatches"], done["judged"], done["netlist"]) == (0, False, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", netlist.NETLISTS)
def test_memories_survive_synthesis(target: str) -> None:
    """Look-up tables synthesised to flip-flops or LUT memories agree with golden."""
    words = ("--param", "inputs=2", "--param", "outputs=3")
    assert call("cosim", "sl2vl", *words, "--netlist", target, "--cycles", "20000").status == 0


@pytest.mark.slow
def test_a_small_netlist_is_proven_to_be_the_block() -> None:
    called = call("prove", "rr", "--netlist", "generic", "--json")
    assert called.status == 0
    assert [proof["verdict"] for proof in called.json()["instances"]] == ["PASS"]


@pytest.mark.slow
def test_another_machine_is_neither_golden_nor_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a faulty synthesis, lockstep reports a mismatch and equivalence is not proven."""
    block = BLOCKS["rr"]
    parameters = {**block.defaults(), **block.mutated}
    monkeypatch.setitem(netlist._SYNTHESIS, "generic", "chtype -set $or t:$and")
    text, ports = netlist_source(block, parameters), component_ports(block.make(parameters))
    with netlist.compile_netlist(text, ports, "rr", "generic") as model:
        source = block.qualify(parameters, cycles=20_000, seed=1, inputs=model.inputs, outputs=model.outputs)
        assert run_lockstep(model, source).mismatch is not None
    assert netlist.prove_netlist(text, "rr", "generic", timeout_seconds=60).verdict == "UNKNOWN"


def test_bad_input_is_refused() -> None:
    assert_refused(call("cosim", "rr", "--netlist", "asic"), "--netlist", "generic, ecp5", "asic")
    assert_refused(call("prove", "rr", "--netlist", "asic"), "--netlist", "generic, ecp5", "asic")
    assert_refused(call("cosim", "opa_switch", "--netlist", "ecp5"), "--netlist", "opa_switch")
    assert_refused(call("cosim", "rr", "--netlist", "ecp5", "--fault", "1"), "--fault", "--netlist")
    assert_refused(call("cosim", "rr", "--netlist", "ecp5", "--engine", "cocotb"), "--engine", "native")
