"""Oracle in Python: ports, decisions against each block's own stimulus, refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlane
from tests.schedulers.scheduling import qualification_of
from vlane.egress import ListCode
from vlane.errors import InputError
from vlane.golden.oracle.by_name import ORACLES
from vlane.golden.oracle.ports import Port, word_count
from vlane.packets.lrh import LocalRouteHeader
from vlane.schedulers.dtable import DTable
from vlane.schedulers.vlarb import VLArbTable
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.oracles.oracle import Oracle
from vlane.switches.switch_programs import lft_writes, top_write
from vlane.tables.sl2vl import SL2VLRow
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.native.rows import Field, Words, row_words

SMALL: dict[str, tuple[Mapping[str, Any], ...]] = {
    "vlarb": ({}, {"data_vls": 5, "vl15": False}, {"form": "line_rate"}, {"data_vls": 15, "entries": 64}),
    "dtable": (
        {"entries": 32},
        {"data_vls": 4, "requesters": 3, "entries": 8, "keep_on_stall": True},
        {"form": "ib"},
        {"form": "line_rate", "entries": 16},
        {"data_vls": 20, "vl15": True, "form": "line_rate"},
    ),
    "drr": ({}, {"data_vls": 4, "requesters": 3}, {"data_vls": 31}),
    "scfq": ({}, {"units": "per_requester", "tag_bits": 32, "reciprocal_bits": 16}, {"requesters": 5}),
    "rr": ({}, {"data_vls": 4, "requesters": 3}, {"data_vls": 31}, {"data_vls": 32, "vl15": False}),
    "wrr": ({}, {"data_vls": 4, "requesters": 3}),
    "sl2vl": ({}, {"inputs": 2, "outputs": 3, "data_vls": 7}, {"inputs": 20, "outputs": 5}),
    "sc": ({}, {"ports": 2, "data_vls": 31}),
    "credit_ib": (
        {},
        {"data_vls": 15, "buffer_blocks": 200, "fcp_period": 300, "watchdog_cycles": 600},
        {"data_vls": 1, "fcp_period": 2, "watchdog_cycles": 2},
    ),
    "credit_opa": ({}, {"vls": 32, "vcu": 2}, {"vls": 1}),
    "cc_marker": (
        {},
        {"data_vls": 15, "maximum": 264, "largest": 66, "measure_blocks": 3000, "data_bits": 512},
        {"data_vls": 1, "busy_blocks": 0, "idle_blocks": 0},
    ),
    "cc_source": ({}, {"flows": 8, "cct_entries": 1024, "tick_cycles": 64}, {"flows": 256, "shift_first": True}),
    "pause": ({}, {"memory_bytes": 4000, "high_bytes": 3000, "low_bytes": 2500, "refresh_cycles": 20}),
    "ecm_cp": ({}, {"sampling": "fixed", "weight": 0, "bcn_stop": True}),
    "ecm_rp": ({}, {"flows": 4, "stop_bits": 8, "gain_of": "current", "strict": True}),
    "e2cm_prober": ({}, {"flows": 4, "base": "given", "probed": "limited", "probe_bytes": 4096}),
    "vlbuffer": (
        {},
        {
            "vls": 2,
            "flits": 7,
            "minimum": 2,
            "maximum": 5,
            "mtu_flits": 2,
            "writers": 2,
            "readers": 2,
            "write_flits": 2,
            "read_flits": 2,
            "data_bits": 4,
        },
        {"data_bits": 64, "write_flits": 3, "read_flits": 2, "writers": 2},
    ),
    "lft": ({}, {"lookups": 2, "ports": 254, "entries": 12}),
    "ib_switch": (
        {"ports": 4, "data_vls": 2, "blocks": 32, "maximum": 16, "lids": 16},
        {
            "ports": 3,
            "data_vls": 5,
            "blocks": 45,
            "minimum": 9,
            "maximum": 9,
            "largest": 9,
            "scheduler": "drr",
            "credit": "fcp",
            "fcp_period": 64,
        },
        {"ports": 4, "data_vls": 4, "scheduler": "vlarb", "data_bits": 128},
        {"ports": 3, "data_vls": 2, "speed": 2},
        {
            "ports": 3,
            "data_vls": 2,
            "blocks": 20,
            "minimum": 10,
            "maximum": 10,
            "largest": 7,
            "credit": "fcp",
            "fcp_period": 64,
            "speed": 2,
        },
        {"ports": 4, "data_vls": 4, "scheduler": "vlarb", "line_rate": True, "entries": 20},
        {"ports": 2, "data_vls": 3, "scheduler": "scfq"},
        {"ports": 2, "data_vls": 3, "scheduler": "wrr"},
        {"ports": 3, "data_vls": 2, "maximum": 4, "crossbar": "per_vl"},
        {"ports": 4, "data_vls": 3, "maximum": 4, "crossbar": "per_vl", "allocation": "fifo", "data_bits": 128},
        {
            "ports": 3,
            "data_vls": 2,
            "maximum": 4,
            "crossbar": "per_vl",
            "allocation": "fifo",
            "credit": "fcp",
            "fcp_period": 64,
        },
    ),
    "opa_switch": (
        {"ports": 5, "data_vls": 2},
        {"ports": 9, "data_vls": 3, "scheduler": "dtable", "entries": 8},
        {"ports": 8, "data_vls": 4, "scheduler": "dtable", "line_rate": True, "entries": 16},
    ),
}
"""Instances by block: ports of one and of several words, every form, with and without a lane map."""

VECTORS = Path(__file__).parent.parent / "data" / "oracle_vectors.npz"
RECORDED_CYCLES = 300
"""Cycles recorded for the first instance of each block, in the words of the oracle's ports."""

BY_NAME = 300
"""Number of cycles stepped with named ports."""

INSTANCES = [(block, parameters) for block, several in SMALL.items() for parameters in several]


LATER = {"scfq", "credit_opa", "ib_switch", "opa_switch"}
"""Blocks compiled only in ``make long``, like the line-rate forms."""


def each_instance(*, compiled: bool) -> Any:
    """Return a parametrisation over all instances, with slow compilations marked long."""
    given = [
        pytest.param(
            block,
            parameters,
            id=f"{block}-{'-'.join(f'{k}={v}' for k, v in parameters.items())}",
            marks=[pytest.mark.long] if compiled and (block in LATER or parameters.get("form") == "line_rate") else [],
        )
        for block, parameters in INSTANCES
    ]
    return pytest.mark.parametrize(("block", "parameters"), given)


def recorded(oracle: Oracle, cycles: int, seed: int) -> tuple[Words, Words]:
    """Return a block's qualification as rows of the oracle's input and output words."""
    stimulus, inputs, outputs = qualification_of(oracle.block, oracle.parameters, cycles, seed)
    rows, expected = stimulus.record(row_words(inputs), row_words(outputs))
    assert len(rows) == cycles
    return in_words(rows, inputs, oracle.inputs), in_words(expected, outputs, oracle.outputs)


def in_words(rows: Words, layout: Mapping[str, Field], ports: Mapping[str, Port]) -> Words:
    found = np.zeros((len(rows), word_count(ports.values())), np.uint64)
    for name, port in ports.items():
        field = layout[name]
        if port.words == 1:
            found[:, port.word] = field.get(rows)
        else:  # it begins a word in both layouts
            found[:, port.word : port.word + port.words] = rows[:, field.word : field.word + port.words]
    return found


def by_name(words: Words, ports: Mapping[str, Port]) -> dict[str, int]:
    return {
        name: sum(int(words[port.word + word]) << 64 * word for word in range(port.words))
        for name, port in ports.items()
    }


def disagreement(oracle: Oracle, cycles: int, seed: int = 1) -> tuple[int, dict[str, Any], dict[str, Any]] | None:
    """Replay a block's qualification and return the first differing cycle with shown and expected values.

    The first 300 cycles use ``step`` with named ports, the others the kernel behind it.
    """
    rows, expected = recorded(oracle, cycles, seed)
    shown = np.zeros_like(expected[0])
    for cycle, (row, due) in enumerate(zip(rows, expected, strict=True)):
        if cycle < BY_NAME:
            decision = oracle.step(**by_name(row, oracle.inputs))
            seen = decision.ports()
        else:
            oracle._cycle(oracle._machine, row, shown)
            if np.array_equal(shown, due):
                continue
            seen = by_name(shown, oracle.outputs)
        if seen != (wanted := by_name(due, oracle.outputs)):
            differ = [name for name in wanted if seen[name] != wanted[name]]
            return cycle, {name: seen[name] for name in differ}, {name: wanted[name] for name in differ}
    return None


def test_every_block_of_the_catalogue_has_an_oracle() -> None:
    assert set(ORACLES) == set(vlane.blocks()) == set(SMALL)


@each_instance(compiled=False)
def test_ports_are_those_of_the_component(block: str, parameters: Mapping[str, Any]) -> None:
    """The oracle's ports have the names and widths of the component's ports."""
    made = vlane.oracle(block, **parameters)

    ports = component_ports(BLOCKS[block].make(made.parameters))

    assert {(p.name, p.bits) for p in ports if p.is_input} == {(p.name, p.width) for p in made.inputs.values()}
    assert {(p.name, p.bits) for p in ports if not p.is_input} == {(p.name, p.width) for p in made.outputs.values()}


@pytest.mark.parametrize("block", [pytest.param(each, marks=[pytest.mark.long] * (each in LATER)) for each in SMALL])
def test_oracle_repeats_recorded_vectors(block: str) -> None:
    """Given inputs recorded with a binding of ports written separately, the oracle's outputs are the recorded ones.

    The stimuli of the lockstep take expected outputs from the oracles. The recorded outputs come from golden without
    an oracle.
    """
    made = vlane.oracle(block, **SMALL[block][0])
    with np.load(VECTORS) as vectors:
        rows, expected = vectors[f"{block}_given"], vectors[f"{block}_shown"]

    shown = [made.step(**by_name(row, made.inputs)).ports() for row in rows]

    assert len(shown) == RECORDED_CYCLES
    assert shown == [by_name(row, made.outputs) for row in expected]


@each_instance(compiled=True)
def test_oracle_decides_as_golden_in_the_qualification(block: str, parameters: Mapping[str, Any]) -> None:
    """The oracle decides as golden in every cycle of the block's qualification.

    Resets, table writes and forbidden inputs are included.
    """
    made = vlane.oracle(block, **parameters)

    assert disagreement(made, 20_000) is None
    assert sum(made.rules.values()) > 0
    assert made.rules.get("broken", 0) == 0


def test_a_decision_that_differs_is_noticed() -> None:
    """Given an oracle with one extra packet in its history, the replay reports a difference."""
    made = vlane.oracle("rr")
    made.step(heads={"request": 1, "fits": 1, "blocks": [1]}, ready=1)

    found = disagreement(made, 2000)

    assert found is not None
    assert found[1] != found[2]


def test_wide_flits_leave_the_buffer_unchanged() -> None:
    """Flits wider than 64 bits leave the buffer unchanged."""
    made = vlane.oracle("vlbuffer", vls=2, data_bits=200, write_flits=2)
    flits = [(1 << 199) | 5, (1 << 130) - 1]

    made.step(reserve_vl=1, reserve_flits=2, write_vl=1, write_count=2, write_data=flits)
    first = made.step(read_vl=1, read_count=1)
    second = made.step(read_vl=1, read_count=1)
    last = made.step(read_vl=1)

    assert (first.readable, first.read_data, second.read_data) == (1, flits[0], flits[1])
    assert (last.readable, last.read_data) == (0, 0)


def test_decisions_have_readable_values() -> None:
    """A decision of an oracle has named, typed, read-only values."""
    arbiter = vlane.oracle("vlarb", data_vls=3, entries=2)
    cycles = arbiter.program(VLArbTable(high=(), low=((2, 4),), limit_of_high_priority=0))

    decision = arbiter.step(heads={"request": 0b100, "fits": 0b100, "blocks": [0, 0, 9]}, ready=True)

    assert cycles == 2 * 2 + 1 + 1 + 1
    assert (decision.grant, decision.vl, decision.from_list, decision.blocks) == (1, 2, ListCode.LOW, 9)
    assert decision.ports()["unreachable"] == 0b011
    with pytest.raises(AttributeError):
        decision.vl = 1


def test_inputs_may_be_nested_or_flat() -> None:
    """Nested inputs, flat port names and numpy integers give the same decision."""
    one, other = vlane.oracle("drr", data_vls=2, vl15=False), vlane.oracle("drr", data_vls=2, vl15=False)
    for made in (one, other):
        made.program([(0, 0, 0, 9), (0, 1, 0, 9)])

    assert one.step(
        heads={"request": np.uint8(3), "fits": 3, "blocks": np.array([5, 7])}, ready=np.bool_(True)
    ) == other.step(heads__request=3, heads__fits=3, heads__blocks=5 | 7 << 7, ready=np.uint8(1))


def test_reset_is_power_on_and_rst_is_the_hardware_s() -> None:
    """``reset()`` restores the power-on state, while ``rst`` keeps memories as the hardware does."""
    table = vlane.oracle("lft", lookups=1, entries=8)
    top, entry = {"program__enable": 1, "program__top": 1, "program__lid": 7}, {"program__enable": 1, "program__lid": 3}
    table.program([top, {**entry, "program__port": 5}])
    assert table.step(dlid=3).out_port == 5

    table.step(rst=1)
    assert table.step(dlid=3).drop == 1
    table.program([top])
    assert table.step(dlid=3).out_port == 5

    table.reset()
    table.program([top])
    assert table.step(dlid=3).drop == 1
    assert table.rules["unassigned"] == 1


def test_oracles_share_nothing() -> None:
    one, other = vlane.oracle("rr"), vlane.oracle("rr")
    heads = {"request": 7, "fits": 7}

    assert [one.step(heads=heads, ready=1).vl for _ in range(3)] == [0, 1, 2]
    assert other.step(heads=heads, ready=1).vl == 0


def test_a_row_of_sl2vl_is_programmed_for_every_input_and_output() -> None:
    mapping = vlane.oracle("sl2vl", inputs=2, outputs=2, data_vls=4)
    mapping.program(SL2VLRow((3,) * 15 + (15,)))

    looked = mapping.step(out_port=[0, 1], sl=[2, 15])

    assert (looked.vl, looked.drop, looked.invalid) == ((3, 15), (0, 1), (0, 0))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: vlane.oracle("vlrb"), "block must be one of .* did you mean vlarb?"),
        (lambda: vlane.oracle(["rr"]), "block must be one of"),
        (lambda: vlane.oracle("rr", data_vl=3), "did you mean data_vls?"),
        (lambda: vlane.oracle("rr", data_vls=99), "data_vls must be 2 to 32, not 99"),
        (lambda: vlane.oracle("rr", data_vls="4"), "data_vls must be an int, not 4"),
        (lambda: vlane.oracle("rr", data_vls=True), "data_vls must be an int, not true"),
        (lambda: vlane.oracle("rr").step(redy=1), "input must be one of .* did you mean ready?"),
        (lambda: vlane.oracle("rr").step(heads={"reqest": 1}), "did you mean heads__request?"),
        (lambda: vlane.oracle("rr").step(heads=1), "heads must be a mapping"),
        (lambda: vlane.oracle("rr").step(ready=2), "ready must be 0 to 1, not 2"),
        (lambda: vlane.oracle("rr").step(ready=-1), "ready must be 0 to 1, not -1"),
        (lambda: vlane.oracle("rr").step(ready=float("nan")), "ready must be a whole number, not nan"),
        (lambda: vlane.oracle("rr").step(ready="1"), "ready must be a whole number, not 1"),
        (lambda: vlane.oracle("rr").step(ready=10**5000), "ready must be 0 to 1, not a number with too many digits"),
        (lambda: vlane.oracle("rr").step(ready=None), "ready must be a whole number"),
        (lambda: vlane.oracle("rr").step(ready={"a": 1}), "ready must be a whole number"),
        (lambda: vlane.oracle("vlarb", form=["exact"]), "form must be a str"),
        (lambda: vlane.oracle("rr").step(heads__blocks=[0] * 10), "at most 9 elements, not 10 elements"),
        (lambda: vlane.oracle("rr").step(heads__blocks=[0, 128]), r"heads__blocks\[1\] must be 0 to 127, not 128"),
        (lambda: vlane.oracle("rr").program([(0, 0, 0, 0)]), "cannot be used with rr and requesters = 0"),
        (lambda: vlane.oracle("drr").program([(0, 0)]), r"table\[0\] must be 4 numbers"),
        (lambda: vlane.oracle("drr").program([(0, 0, 0, 256)]), "program__weight must be 0 to 255, not 256"),
        (lambda: vlane.oracle("drr").program(DTable(((0, 1),))), "table: drr has no table of type DTable"),
        (
            lambda: vlane.oracle("drr").program("table.toml"),
            "table must be a table object, such as DTable, or a list of writes",
        ),
        (
            lambda: vlane.oracle("dtable", entries=2).program(DTable(((0, 1),) * 3)),
            "dtable.entries: 3 values; the instance allows 2",
        ),
        (lambda: vlane.oracle("lft").program([(0, 1)]), "table must be a list of the inputs of each cycle"),
        (lambda: vlane.oracle("lft").program(SL2VLRow((0,) * 16)), "table: lft has no table of type SL2VLRow"),
    ],
)
def test_wrong_names_and_values_are_refused(act: Any, said: str) -> None:
    """Given a wrong name or value, the oracle raises an InputError in one line."""
    with pytest.raises(InputError, match=said) as refused:
        act()
    assert "\n" not in str(refused.value)


def test_a_refused_program_leaves_the_oracle_as_it_was() -> None:
    made = vlane.oracle("drr", data_vls=2)

    with pytest.raises(InputError):
        made.program([(0, 0, 0, 9), (0, 1, 0, 999)])

    assert made.step().unreachable == 0b11


@pytest.mark.long
def test_a_switch_carries_every_bit_and_counts_a_gap() -> None:
    """A switch oracle carries every bit of a flit and counts a late flit as a broken packet."""
    switch = vlane.oracle("ib_switch", ports=2, data_vls=2, data_bits=128, lids=4)
    switch.program([top_write(4), *lft_writes([0, 1, 2, 255])])
    switch.program(SL2VLRow((0,) * 16))
    header = LocalRouteHeader(vl=1, lver=0, sl=3, reserved=0, lnh=2, dlid=2, pktlen=31, slid=9).pack()
    flits = [
        {"valid": 1, "vl": 1, "first": 1, "data": header << 64 | 0xABCD},
        {"valid": 1, "vl": 1, "last": 1, "data": (1 << 128) - 3},
    ]

    seen = [switch.step(rx=[flit], ready=3) for flit in [*flits, *[{}] * 8]]

    shown = [
        (n, d.tx__1__vl, d.tx__1__first, d.tx__1__last, d.tx__1__data) for n, d in enumerate(seen) if d.tx__1__valid
    ]
    on_lane_0 = (header & ~(15 << 60)) << 64 | 0xABCD
    assert shown == [(5, 0, 1, 0, on_lane_0), (6, 0, 0, 1, (1 << 128) - 3)]
    assert switch.rules["broken"] == 0
    switch.step(rx=[flits[0]])
    switch.step()
    assert switch.rules["broken"] == 1


def test_oracle_loads_no_hardware_library() -> None:
    """Using the oracle imports none of amaranth, cocotb and typer."""
    code = "import sys, vlane; vlane.oracle('rr'); print(*({'amaranth', 'cocotb', 'typer'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


@pytest.mark.long
@each_instance(compiled=True)
def test_oracle_decides_as_golden_in_200000_cycles(block: str, parameters: Mapping[str, Any]) -> None:
    assert disagreement(vlane.oracle(block, **parameters), 200_000, seed=7) is None


def test_an_input_is_given_once() -> None:
    """Given an input both by its own name and within a mapping, the step is refused."""
    golden = vlane.oracle("rr", data_vls=4, vl15=False)

    with pytest.raises(InputError, match="heads__request is given twice"):
        golden.step(heads__request=1, heads={"request": 2}, ready=1)
