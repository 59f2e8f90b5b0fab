"""Contents of the switches' qualification traffic, without hardware."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.schedulers.scheduling import qualification_of
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native.rows import row_words
from vlane.tb.machinery.native.stimulus import Stimulus

_CYCLES = 200_000
_MARKED = {
    "data_vls": 2,
    "marking": True,
    "starving": True,
    "data_bits": 128,
    "blocks": 64,
    "minimum": 16,
    "maximum": 32,
}
_SWITCHES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "ib_switch": (_MARKED, {"lft__enable", "sl2vl__enable", "congestion__enable", "starvation__enable"}),
    "opa_switch": ({}, {"lft__enable", "sc__enable"}),
}
"""Parameters of each switch, and the program ports written under traffic."""


def _traffic(name: str, shape: dict[str, Any], cycles: int) -> tuple[Stimulus, dict[str, Any], Any]:
    """Return the qualification of a switch, the layout of its inputs and the rows of all cycles."""
    stimulus, inputs, outputs = qualification_of(name, {**BLOCKS[name].defaults(), **shape}, cycles)
    rows, _ = stimulus.record(row_words(inputs), row_words(outputs))
    return stimulus, inputs, rows


@pytest.mark.slow
@pytest.mark.parametrize("name", _SWITCHES)
def test_program_ports_show_writes_that_are_not_enabled(name: str) -> None:
    """Every program port written under traffic also carries values while its enable is low.

    About one write in eight is disabled in this way.
    """
    shape, programs = _SWITCHES[name]
    stimulus, inputs, rows = _traffic(name, {"ports": 3, "lids": 8, **shape}, _CYCLES)
    shown = {}
    for enable in (port for port in inputs if port.endswith("__enable")):
        others = [field for port, field in inputs.items() if port.startswith(enable.removesuffix("enable"))]
        said = np.any([field.get(rows) != 0 for field in others], axis=0)
        shown[enable] = int((said & (inputs[enable].get(rows) == 0)).sum())

    assert set(shown) == programs
    assert min(shown.values()) > 10
    assert stimulus.rule_counts()["too_large"] > 10


def test_a_packet_is_too_large_by_one_only_where_a_lane_has_room_for_it() -> None:
    """The traffic contains packets one block too large only if a lane can store such a packet."""
    small = {"ports": 2, "lids": 4, "data_vls": 2, "blocks": 12, "minimum": 4, "largest": 4}
    applies = [
        "too_large" in _traffic("ib_switch", {**small, "maximum": maximum}, 1000)[0].applicable for maximum in (4, 5)
    ]
    assert applies == [False, True]
