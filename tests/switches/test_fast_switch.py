"""Fast form of the InfiniBand switch: lockstep with golden, cycles of the page, settings that it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import assert_refused, call
from tests.schedulers.scheduling import qualified_lockstep, run_rows
from vlane.errors import InputError
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.tb.switches.ib_switch.directed import BODY, PARAMETERS, Step, flit, header

_LARGER = {"ports": 3, "data_vls": 2, "blocks": 20, "maximum": 12, "largest": 2, "lids": 8, "scheduler": "rr"}
_FAST = {**PARAMETERS, "form": "fast"}
_QUIET = {
    name: 0
    for port in (0, 1)
    for name in (f"tx__{port}__valid", f"returned__{port}__blocks", f"tx__{port}__first", f"tx__{port}__last")
} | {"dropped": 0}
_STUDY = """[network]
topology = "dumbbell"
left = 1
right = 1

[link]
data_vls = 2

[switch]
allocation = "bids"

[buffers]
blocks = 24
minimum_blocks = 4
largest_blocks = 2

[run]
loads = [0.6]
cycles = 4000
warm_up_cycles = 500

[[traffic]]
sl = 0
share = 0.5
bytes = 64

[[traffic]]
sl = 1
share = 0.5
bytes = 128
"""
_ROUTES: list[dict[str, int]] = [
    {"lft__enable": 1, "lft__top": 1, "lft__lid": 3},
    {"lft__enable": 1, "lft__lid": 1, "lft__port": 2},
    {"lft__enable": 1, "lft__lid": 2, "lft__port": 1},
]
"""LID 1 leads to output 1, LID 2 to output 0, both counted from 0. SL2VL is in its power-on state, SL modulo 2."""


def _steps(given: dict[int, dict[str, int]], expected: dict[int, dict[str, int]], cycles: int) -> list[Step]:
    """Return rows after the routes: inputs and outputs by cycle, everything else quiet."""
    rows = [({"ready": 0b11} | given.get(cycle, {}), _QUIET | expected.get(cycle, {})) for cycle in range(cycles)]
    return [({"ready": 0b11} | route, _QUIET) for route in _ROUTES] + rows


def _returned(port: int, vl: int) -> dict[str, int]:
    return {f"returned__{port}__blocks": 1, f"returned__{port}__vl": vl}


def _assert_follows(given: dict[int, dict[str, int]], expected: dict[int, dict[str, int]], cycles: int) -> None:
    """Assert that the hardware shows the expected outputs in every cycle, from power-on."""
    _assert_shown(_steps(given, expected, cycles))


def _assert_shown(steps: list[Step]) -> None:
    shown = run_rows("ib_switch", _FAST, steps)
    assert [out for out, _ in shown] == [out for _, out in shown]


@pytest.mark.parametrize(
    "given",
    [
        PARAMETERS,
        pytest.param(_LARGER, marks=pytest.mark.long),
        pytest.param({**_LARGER, "minimum": 10, "maximum": 10, "largest": 1}, marks=pytest.mark.long),
        pytest.param(
            {"ports": 5, "data_vls": 3, "blocks": 70, "minimum": 9, "maximum": 40, "largest": 9, "scheduler": "dtable"},
            marks=pytest.mark.long,
        ),
        pytest.param({"ports": 4, "data_vls": 8, "scheduler": "drr", "data_bits": 128}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_hardware_agrees_with_golden_in_every_cycle(given: dict[str, Any]) -> None:
    """In a qualification run every output equals golden's in every cycle, and every rule occurs."""
    qualified_lockstep("ib_switch", {**given, "form": "fast"}, cycles=60_000)


def test_a_lone_packet_takes_the_cycles_of_the_stage_table() -> None:
    """A head that arrives in cycle a is granted in a + 7. Its block returns in a + 9, its flit leaves in a + 14."""
    packet = header(0, 1, 1, 2)

    _assert_follows(
        {0: flit("rx__0", 0, packet, last=False), 1: flit("rx__0", 0, BODY, first=False)},
        {
            9: _returned(0, 0),
            10: _returned(0, 0),
            14: flit("tx__1", 1, header(1, 1, 1, 2), last=False),
            15: flit("tx__1", 1, BODY, first=False),
        },
        20,
    )


def test_second_packet_of_a_vl_overtakes_a_refused_first_one() -> None:
    """Two inputs bid for output 1, and input 1 is refused. Its next packet, for output 0, leaves before it (IBF-4)."""
    first, second, other = header(0, 1, 1, 1), header(0, 0, 2, 1), header(0, 0, 1, 1)

    _assert_follows(
        {0: flit("rx__0", 0, other) | flit("rx__1", 0, first), 1: flit("rx__1", 0, second)},
        {
            9: _returned(0, 0),
            10: _returned(1, 0),
            11: _returned(1, 0),
            14: flit("tx__1", 0, other),
            15: flit("tx__0", 0, second),
            16: flit("tx__1", 1, header(1, 1, 1, 1)),
        },
        20,
    )


def test_drop_is_reported_four_cycles_after_the_head() -> None:
    """A head with a LID above the top, in cycle a, is dropped: cause 1 shows in a + 4, its block returns (IBF-8)."""
    _assert_follows({0: flit("rx__0", 1, header(1, 0, 7, 1))}, {4: {"dropped": 1}, 9: _returned(0, 1)}, 20)


def test_reset_does_not_cancel_a_write_of_sl2vl() -> None:
    """A row of SL2VL that is written in the cycle of a reset is in force afterwards: SL 1 leaves on VL 0."""
    write = {"rst": 1, "sl2vl__enable": 1, "sl2vl__every_input": 1, "sl2vl__output": 1, "sl2vl__row": 0}
    shown = {9: _returned(0, 0), 14: flit("tx__1", 0, header(0, 1, 1, 1))}
    steps = _steps({0: flit("rx__0", 0, header(0, 1, 1, 1))}, shown, 16)

    _assert_shown([(write, {}), *steps])


@pytest.mark.slow
def test_network_of_fast_hardware_delivers_as_golden(tmp_path: Path) -> None:
    """Two switches in hardware, cabled to each other and to NICs, deliver every packet in golden's cycle (IBF-7)."""
    study = tmp_path / "study.toml"
    study.write_text(_STUDY)

    ran = json.loads(call("cosim", "network", str(study), "--rtl", "all", "--json").out)

    assert ran["deliveries"] > 1000
    assert (ran["equal"], ran["bad_flits"]) == (True, 0)


def test_studies_refuse_what_late_decisions_do_not_support(tmp_path: Path) -> None:
    """A study with ``allocation = "bids"`` refuses flow-control packets, and the error names ``link.credits``."""
    study = tmp_path / "study.toml"
    study.write_text(_STUDY.replace("data_vls = 2", 'data_vls = 2\ncredits = "fcp"'))

    assert_refused(call("simulate", str(study)), "link.credits", "returns with switch.allocation bids", "not fcp")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"speed": 2}, "speed must be 1 with form fast, not 2"),
        ({"credit": "fcp", "maximum": 4}, "credit must be returns with form fast, not fcp"),
        ({"crossbar": "per_vl", "maximum": 4}, "crossbar must be multiplexed with form fast, not per_vl"),
        ({"scheduler": "vlarb", "line_rate": True}, "line_rate must be false with form fast, not true"),
        ({"marking": True, "data_bits": 128}, "marking must be false with form fast, not true"),
    ],
    ids=str,
)
def test_settings_that_only_the_exact_form_has_are_refused(setting: dict[str, Any], message: str) -> None:
    """The fast form names the setting that it does not support."""
    with pytest.raises(InputError, match=f"^{message}$"):
        IBSwitchParameters(form="fast", **setting)
