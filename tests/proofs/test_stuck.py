"""Stuck-at faults of proofs: fault sites, refuting proofs, and the list of faults that no proof refutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import assert_refused, call
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim import stuck_faults as runner
from vlane.sim_top.cosim.stuck_faults import listed_faults
from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.proofs.prove import cover_faults, prove_design
from vlane.tb.machinery.proofs.stuck import Fault, FaultyDesign


def faulty(instance: str) -> FaultyDesign:
    block = BLOCKS["rr"]
    properties = block.instance(instance).make(block.make)
    return FaultyDesign(to_rtlil(properties, "top", ports=properties.ports()), {"grant", "vl", "from_list", "blocks"})


def test_every_output_and_every_register_is_held_at_both_values() -> None:
    """Given round robin without a map, the faults are four outputs and the turn, at 0 and at 1 each."""
    signals = {(fault.module, fault.signal.rpartition(".")[2]) for fault in faulty("small").faults}

    assert signals == {
        ("", "grant"),
        ("", "vl"),
        ("", "from_list"),
        ("", "blocks"),
        ("hdl/common/round_robin.py", "behind"),
    }
    assert len(faulty("small").faults) == 10


def test_faults_of_equal_parts_are_one_fault() -> None:
    """Given a map, each lane has an owner register, and one entry of the list covers all owner registers."""
    faults = faulty("mapped").faults

    assert len({*faults}) < len(faults)
    assert Fault("hdl/schedulers/rr.py", "scheduler.owner_#", 0) in faults


@pytest.mark.slow
def test_a_stuck_register_is_refuted_by_a_trace_and_by_the_proof() -> None:
    """Given a pointer held at 0, an assertion is violated within cycles from reset, and the proof does not pass."""
    block = BLOCKS["rr"]
    properties, design = block.instance("small").make(block.make), faulty("small")
    pointers = [number for number, fault in enumerate(design.faults, 1) if fault.module]

    reached = cover_faults(properties, design.watched(pointers), "test-stuck", timeout_seconds=300)

    assert reached == {*pointers}
    verdicts = [
        prove_design(properties, design.stuck(number), "test-stuck", timeout_seconds=300).verdict
        for number in (0, pointers[0])
    ]
    assert verdicts[0] == "PASS"
    assert verdicts[1] in {"FAIL", "UNKNOWN"}


def test_the_list_names_forms_that_are_proven_and_gives_reasons() -> None:
    """A row that no form has anymore would excuse a fault that nobody looks for."""
    for (name, form, fault), reason in listed_faults().items():
        made = [
            each.part(**each.parameters) if each.part else BLOCKS[name].make(each.parameters)
            for each in BLOCKS[name].proofs
        ]
        assert form in {type(component).__name__ for component in made}
        assert fault.value in {0, 1}
        assert not fault.module or (Path(__file__).parent.parent.parent / fault.module).is_file()
        assert len(reason) > 20


@pytest.mark.parametrize(
    "row",
    ['block = "rr"\n', 'block = "rr"\nform = "RR"\nmodule = ""\nsignal = "vl"\nvalue = 0\nreason = "no sentence"\n'],
)
def test_a_row_without_a_field_or_a_reason_is_refused(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "stuck.toml"
    file.write_text(f"[[fault]]\n{row}")
    monkeypatch.setattr(runner, "_LIST", file)

    with pytest.raises(ValueError, match="each fault has block"):
        listed_faults()


def test_netlists_have_no_stuck_registers() -> None:
    assert_refused(call("prove", "rr", "--netlist", "generic", "--stuck"), "--stuck", "--netlist")
