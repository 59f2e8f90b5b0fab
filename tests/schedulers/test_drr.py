"""Deficit round robin: lockstep and validation of quanta."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedulers.scheduling import qualified_lockstep
from vlane.errors import InputError
from vlane.schedulers.drr import DRRQuanta

SHAPES = [
    {"data_vls": 2},
    {"data_vls": 15, "keep_on_stall": True, "mtu_blocks": 33},
    {"data_vls": 7, "requesters": 4, "vl15": False},
    pytest.param({"data_vls": 20, "requesters": 17}, marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_agrees_with_golden(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on every output and deficit in every cycle.

    The traffic includes saturation, stalls, resets, live rewrites and forbidden inputs.
    """
    assert qualified_lockstep("drr", shape).decisions > 10_000


@pytest.mark.parametrize(
    ("field", "quantum"),
    [("drr.quantum[1]", (1, 256)), ("drr.quantum[0]", (-1,)), ("drr.quantum", ()), ("drr.quantum", (1,) * 33)],
)
def test_quanta_that_no_scheduler_can_hold_are_refused(field: str, quantum: tuple[int, ...]) -> None:
    """Given quanta out of range or too many of them, the table is refused and the field is named."""
    with pytest.raises(InputError) as refused:
        DRRQuanta(quantum)

    assert refused.value.field == field
