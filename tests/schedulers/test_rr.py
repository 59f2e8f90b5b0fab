"""Round robin in lockstep."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedulers.scheduling import qualified_lockstep

SHAPES = [
    {"data_vls": 2},
    pytest.param({"data_vls": 15}, marks=pytest.mark.long),
    {"data_vls": 7, "requesters": 4, "vl15": False},
    pytest.param({"data_vls": 31, "requesters": 32}, marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_agrees_with_golden(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on every output in every cycle.

    The traffic includes saturation, stalls, resets, live rewrites of the map and forbidden inputs.
    """
    assert qualified_lockstep("rr", shape).decisions > 10_000
