"""Omni-Path's sender-managed credits: hand-written cases, lockstep with live limit changes, proofs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import long_but
from tests.schedulers.scheduling import assert_bench_agrees, qualified_lockstep, qualified_outputs, run_rows
from vlane.credits.credit_opa import CreditOPAParameters, ResizeStep, returned_units
from vlane.golden.credits import credit_opa as golden
from vlane.hdl.credits.credit_opa import CreditOPA
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.credits.credit_opa.directed import PARAMETERS, STEPS
from vlane.tb.machinery.proofs.prove import prove

SHAPES: list[dict[str, int]] = [{"vls": 2, "vcu": 0, "parity": True}, {"vls": 8, "vcu": 2}, {"vls": 16, "vcu": 0}]


@pytest.mark.slow
@pytest.mark.parametrize("shape", long_but(SHAPES[:2], SHAPES), ids=str)
def test_hardware_agrees_and_nothing_leaks(shape: dict[str, int]) -> None:
    """Given limits that change under full and light load, the far buffer never overflows.

    Every audit finds that all credit units were returned.
    """
    stimulus = qualified_lockstep("credit_opa", shape, cycles=500_000)

    assert stimulus.audit["overflows"] == stimulus.audit["leaked_blocks"] == 0
    assert stimulus.audit["audits"] >= 4


def test_the_qualification_changes_large_limits_by_little() -> None:
    """The qualification changes limits with any high bit set by fewer than 16 units.

    Such changes detect hardware that ignores high bits when it checks whether a limit shrinks.
    """
    limits = qualified_outputs("credit_opa")["dedicated"]

    for lane in range(4):
        limit = limits >> np.uint64(12 * lane) & np.uint64(4095)
        near = (limit[:-1] != limit[1:]) & (limit[:-1] ^ limit[1:] < 16)
        for bit in (9, 10, 11):
            assert (near & (limit[:-1] & np.uint64(1 << bit) != 0)).sum() > 4


@pytest.mark.slow
def test_hardware_does_what_is_written_by_hand() -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("credit_opa", PARAMETERS, STEPS)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.long
def test_cocotb_bench_agrees() -> None:
    """The two tests of the block's cocotb bench pass."""
    assert_bench_agrees("credit_opa", PARAMETERS, tests=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "receiver",
        "receiver-large-unit",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("small", "pair", "one-lane")),
    ],
)
def test_credits_are_proven(name: str) -> None:
    """Each instance is proven: no unit is lost and no limit change overflows the far buffer."""
    block = BLOCKS["credit_opa"]

    proof = prove(block.instance(name).make(block.make), f"test-credit_opa-{name}")

    assert proof.verdict == "PASS", proof.detail


def test_codes_mean_powers_of_two_of_the_credit_unit() -> None:
    """Return codes 0 to 7 mean 0, 1 and the powers of two from 2 to 64 credit units, also in golden."""
    for vcu in range(6):
        state = golden.new_state(vls=1, vcu=vcu)
        units = [returned_units(code, vcu) for code in range(8)]
        assert units == [0, 1, *(2**power * 2**vcu for power in range(1, 7))]
        assert [golden.units_of(state, code) for code in range(8)] == units


def test_unchanged_lane_keeps_sharing() -> None:
    """Given a limit change for lane 0 only, lane 1 may still use shared units while lane 0 may not.

    The overall shared limit stays the same in this change.
    """
    state, rules = golden.new_state(vls=2, vcu=0), np.zeros(len(golden.RULES), np.int64)
    state.dedicated[:], state.shared[:], state.regs[golden.OVERALL] = 4, 4, 8
    state.new_dedicated[:], state.new_shared[:], state.regs[golden.NEW_OVERALL] = (6, 4), 4, 8
    given = golden.new_inputs(2)
    given.flags[golden.APPLY] = 1

    golden.step(state, given, rules)

    assert state.regs[golden.STEP] == ResizeStep.DRAIN_SHARED
    assert [golden.fits(state, vl, 6) for vl in range(2)] == [False, True]


@pytest.mark.parametrize("given", [{"vls": 0}, {"vls": 33}, {"vcu": 6}])
def test_component_refuses_parameters_out_of_range(given: dict[str, int]) -> None:
    """Given parameters out of range, construction fails."""
    with pytest.raises(ValueError, match="must be"):
        CreditOPA(CreditOPAParameters(**given))
