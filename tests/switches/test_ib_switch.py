"""InfiniBand switch: lockstep with golden, cocotb benches, proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal

from tests.conftest import assert_refused, call, long_but
from tests.schedulers.scheduling import assert_bench_agrees, assert_every_phase_agrees, qualified_lockstep, run_rows
from vlane.hdl.switches.allocator import Allocator
from vlane.hdl.switches.ib_switch import IBSwitch
from vlane.hdl.switches.per_vl_switch import PerVLSwitch
from vlane.sim_top.blocks import BLOCKS
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.tb.machinery.native.model import compile_model
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.switches.ib_switch import directed_faster as directed_faster_switch
from vlane.tb.switches.ib_switch import directed_per_vl as directed_per_vl_switch
from vlane.tb.switches.ib_switch.directed import PARAMETERS, STEPS, Step
from vlane.tb.switches.ib_switch.proofs_allocator import AllocatorProperties

SHAPES = [
    pytest.param(
        {"ports": 4, "data_vls": 2, "blocks": 32, "maximum": 16, "lids": 16, "scheduler": "rr"}, marks=pytest.mark.long
    ),
    pytest.param({"ports": 6, "data_vls": 3, "scheduler": "vlarb"}, marks=pytest.mark.long),
    pytest.param(
        {"ports": 4, "data_vls": 4, "scheduler": "vlarb", "line_rate": True, "entries": 20}, marks=pytest.mark.long
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 5,
            "blocks": 45,
            "minimum": 9,
            "maximum": 9,
            "largest": 9,
            "scheduler": "drr",
            "data_bits": 128,
            "credit": "fcp",
            "fcp_period": 300,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {"ports": 3, "data_vls": 2, "blocks": 8, "maximum": 4, "lids": 8, "crossbar": "per_vl", "allocation": "fifo"},
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 5,
            "data_vls": 3,
            "blocks": 33,
            "minimum": 9,
            "maximum": 9,
            "largest": 9,
            "lids": 20,
            "scheduler": "drr",
            "data_bits": 128,
            "crossbar": "per_vl",
            "allocation": "fifo",
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {"ports": 3, "data_vls": 3, "maximum": 4, "scheduler": "vlarb", "line_rate": True, "crossbar": "per_vl"},
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 3,
            "maximum": 4,
            "credit": "fcp",
            "fcp_period": 100,
            "crossbar": "per_vl",
            "allocation": "fifo",
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {"ports": 4, "data_vls": 2, "blocks": 32, "minimum": 6, "maximum": 16, "largest": 6, "lids": 16, "speed": 2},
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 2,
            "blocks": 48,
            "minimum": 16,
            "maximum": 32,
            "largest": 4,
            "lids": 8,
            "data_bits": 128,
            "marking": True,
            "busy_blocks": 8,
            "level_blocks": 40,
            "idle_blocks": 2,
            "speed": 2,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 3,
            "blocks": 48,
            "minimum": 16,
            "maximum": 16,
            "largest": 4,
            "credit": "fcp",
            "fcp_period": 100,
            "data_bits": 192,
            "marking": True,
            "busy_blocks": 8,
            "level_blocks": 40,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 2,
            "blocks": 32,
            "minimum": 16,
            "maximum": 16,
            "largest": 4,
            "data_bits": 128,
            "crossbar": "per_vl",
            "marking": True,
            "busy_blocks": 8,
            "level_blocks": 40,
            "scheduler": "vlarb",
            "line_rate": True,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 3,
            "blocks": 48,
            "minimum": 16,
            "maximum": 16,
            "largest": 4,
            "credit": "fcp",
            "fcp_period": 100,
            "data_bits": 192,
            "marking": True,
            "measure": "inputs",
            "busy_blocks": 8,
            "level_blocks": 40,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 2,
            "blocks": 48,
            "minimum": 16,
            "maximum": 32,
            "largest": 4,
            "lids": 8,
            "data_bits": 128,
            "marking": True,
            "measure": "inputs",
            "busy_blocks": 8,
            "level_blocks": 40,
            "idle_blocks": 2,
            "speed": 2,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 2,
            "blocks": 32,
            "minimum": 16,
            "maximum": 16,
            "largest": 4,
            "data_bits": 128,
            "crossbar": "per_vl",
            "marking": True,
            "measure": "inputs",
            "busy_blocks": 8,
            "level_blocks": 40,
            "scheduler": "vlarb",
            "line_rate": True,
        },
        marks=pytest.mark.long,
    ),
    {
        "ports": 3,
        "data_vls": 2,
        "blocks": 24,
        "minimum": 8,
        "maximum": 16,
        "largest": 2,
        "lids": 8,
        "data_bits": 128,
        "marking": True,
        "starving": True,
        "busy_blocks": 8,
        "level_blocks": 40,
    },
    pytest.param(
        {
            "ports": 3,
            "data_vls": 3,
            "blocks": 48,
            "minimum": 16,
            "maximum": 16,
            "largest": 4,
            "credit": "fcp",
            "fcp_period": 100,
            "data_bits": 128,
            "marking": True,
            "starving": True,
            "measure": "inputs",
            "busy_blocks": 8,
            "level_blocks": 40,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 2,
            "blocks": 48,
            "minimum": 16,
            "maximum": 32,
            "largest": 4,
            "lids": 8,
            "data_bits": 128,
            "marking": True,
            "starving": True,
            "busy_blocks": 8,
            "level_blocks": 40,
            "speed": 2,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 3,
            "data_vls": 3,
            "blocks": 33,
            "minimum": 9,
            "maximum": 15,
            "largest": 9,
            "data_bits": 128,
            "scheduler": "vlarb",
            "line_rate": True,
            "speed": 2,
        },
        marks=pytest.mark.long,
    ),
    pytest.param(
        {
            "ports": 4,
            "data_vls": 3,
            "blocks": 30,
            "minimum": 10,
            "maximum": 10,
            "largest": 8,
            "credit": "fcp",
            "fcp_period": 100,
            "scheduler": "drr",
            "speed": 2,
        },
        marks=pytest.mark.long,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hardware_is_golden_in_every_cycle(shape: dict[str, Any]) -> None:
    """Hardware and golden agree in lockstep on every output and flit in every cycle.

    Phases are light, saturated, a hot spot, slow links, rewritten tables and forbidden inputs.
    """
    assert qualified_lockstep("ib_switch", shape, cycles=60_000).decisions > 12_000


@pytest.mark.long
def test_traffic_begins_after_exchanges_that_flow_control_packets_put_off() -> None:
    """Given FCPs that delay the last table exchange, traffic starts only after the exchange.

    The FCP period is hardly longer than the number of lanes.
    """
    shape = {
        "ports": 2,
        "data_vls": 5,
        "blocks": 20,
        "minimum": 4,
        "maximum": 4,
        "credit": "fcp",
        "fcp_period": 6,
        "scheduler": "dtable",
        "entries": 8,
        "lids": 3,
    }
    assert qualified_lockstep("ib_switch", shape, cycles=60_000).decisions > 2000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("credit=absolute", ["credit", "returns, fcp", "absolute"]),
        ("fcp_blocks=3", ["fcp_blocks cannot be used with credit returns"]),
        ("credit=fcp", ["maximum", "minimum, 4, with credit fcp", "36"]),
        ("credit=fcp fcp_period=8", ["fcp_period", "9 to", "8"]),
        ("credit=fcp fcp_blocks=5", ["fcp_blocks", "0 to 4", "5"]),
        ("line_rate=yes", ["line_rate", "false with scheduler rr"]),
        ("crossbar=flits", ["crossbar", "multiplexed, per_vl", "flits"]),
        ("allocation=fifo", ["allocation must be turns with crossbar multiplexed, not fifo"]),
        (
            "allocation=fifo marking=true starving=true data_bits=128",
            ["allocation must be turns with crossbar multiplexed, not fifo"],
        ),
        ("speed=3", ["speed", "1 to 2", "3"]),
        ("crossbar=per_vl speed=2 maximum=4", ["speed must be 1 with allocation turns and crossbar per_vl, not 2"]),
        ("crossbar=per_vl", ["maximum must be equal to minimum, 4, with crossbar per_vl, not 36"]),
        (
            "crossbar=per_vl ports=17 data_vls=8 maximum=4",
            ["ports must be at most 16 with data_vls 8 and crossbar", "17"],
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(given: str, words: list[str]) -> None:
    """Given conflicting parameters, ``cosim`` reports one line before anything is compiled."""
    shape = [word for each in ["scheduler=rr", *given.split()] for word in ("--param", each)]
    assert_refused(call("cosim", "ib_switch", *shape), *words)


BY_HAND = [
    pytest.param(PARAMETERS, STEPS, id="multiplexed"),
    pytest.param(directed_per_vl_switch.PARAMETERS, directed_per_vl_switch.STEPS, id="per_vl"),
    pytest.param(directed_faster_switch.PARAMETERS, directed_faster_switch.STEPS, id="faster"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "steps"), BY_HAND)
def test_hardware_does_what_is_written_by_hand(parameters: dict[str, Any], steps: list[Step]) -> None:
    """From power-on, the hardware's outputs match values written by hand from the contract."""
    for cycle, (got, expected) in enumerate(run_rows("ib_switch", parameters, steps)):
        assert got == expected, f"cycle {cycle}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param(PARAMETERS, id="multiplexed"),
        pytest.param(directed_per_vl_switch.PARAMETERS, id="per_vl", marks=pytest.mark.long),
        pytest.param(directed_faster_switch.PARAMETERS, id="faster", marks=pytest.mark.long),
    ],
)
def test_cocotb_benches_agree(parameters: dict[str, Any]) -> None:
    """All three cocotb tests pass: against golden, against hand-written cycles, and a scoreboard."""
    tests = (
        "agrees_with_golden_in_every_cycle",
        "follows_the_directed_cycles",
        "delivers_every_packet_once_unchanged_and_in_order",
    )
    assert_bench_agrees("ib_switch", parameters, tests=3, apart=tests)


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        PARAMETERS,
        pytest.param(directed_per_vl_switch.PARAMETERS, marks=pytest.mark.long),
        pytest.param(directed_faster_switch.PARAMETERS, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_every_phase_agrees_under_cocotb(parameters: dict[str, Any]) -> None:
    """Every phase of the qualification agrees under cocotb.

    ``make cocotb`` runs 20,000 cycles of each phase.
    """
    assert_every_phase_agrees("ib_switch", parameters, map_writes=2 * 2)


@pytest.mark.slow
def test_a_gap_between_flits_stalls_the_packet_only() -> None:
    """Given a gap between two flits of a packet, the output sends both flits in order, nothing else."""
    shape = {**BLOCKS["ib_switch"].defaults(), **PARAMETERS}
    with compile_model(IBSwitch(IBSwitchParameters(**shape)), "ib_switch") as model:
        rows = np.zeros((40, model.input_words), np.uint64)
        for name, value in {"lft__enable": 1, "lft__top": 1, "lft__lid": 3}.items():
            model.inputs[name].put(rows[0], value)
        for name, value in {"lft__enable": 1, "lft__lid": 1, "lft__port": 2}.items():
            model.inputs[name].put(rows[1], value)
        for row in rows:
            model.inputs["ready"].put(row, 0b11)
        header = 2 << 48 | 1 << 32 | 31 << 16
        for cycle, flit in ((5, {"first": 1, "data": header}), (15, {"last": 1, "data": 77})):
            for name, value in {"valid": 1, **flit}.items():
                model.inputs[f"rx__0__{name}"].put(rows[cycle], value)
        out = model.run(rows)
        seen = {
            int(cycle): int(model.outputs["tx__1__data"].get(out)[cycle])
            for cycle in np.flatnonzero(model.outputs["tx__1__valid"].get(out))
        }

    assert seen == {10: header, 18: 77}


def packets_sent(model: Any, packets: list[list[tuple[int, bool]]], *, reset_at: int = 0) -> dict[int, list[int]]:
    """Return, by output, the destinations of the packets that leave, after input 0 got one packet every 10 cycles.

    Parameters
    ----------
    packets : list of list of (int, bool)
        Flits of each packet: the blocks in the header if the flit is marked as first, else 0; whether it is the last.
    reset_at : int
        Packet before which the switch is reset and its table written again.
    """
    rows = np.zeros((10 * len(packets) + 40, model.input_words), np.uint64)
    for start in (0, 10 * reset_at):
        model.inputs["rst"].put(rows[start], 1)
        for step, write in enumerate(({"top": 1, "lid": 3}, {"lid": 1, "port": 1}, {"lid": 2, "port": 2})):
            for name, value in {"enable": 1, **write}.items():
                model.inputs[f"lft__{name}"].put(rows[start + 1 + step], value)
    for row in rows:
        model.inputs["ready"].put(row, 0b11)
    for number, packet in enumerate(packets):
        for place, (blocks, last) in enumerate(packet):
            header = 2 << 48 | (1 + number % 2) << 32 | (16 * blocks - 1) << 16 if blocks else number
            flit = {"valid": 1, "first": blocks > 0, "last": last, "data": header}
            for name, value in flit.items():
                model.inputs[f"rx__0__{name}"].put(rows[10 * number + 5 + place], int(value))
    out = model.run(rows)
    found = {}
    for port in range(2):
        valid, first, sent = (model.outputs[f"tx__{port}__{name}"].get(out) for name in ("valid", "first", "data"))
        found[port + 1] = [int(sent[cycle]) >> 32 & 0xFFFF for cycle in np.flatnonzero(valid & first)]
    return found


def test_a_wrong_packet_length_damages_its_lane_until_reset() -> None:
    """IBS-H4: flits past the length misroute the lane's later packets, missing ones take its space, until a reset."""
    one = [(1, True)]
    shape = {**BLOCKS["ib_switch"].defaults(), **PARAMETERS}
    with compile_model(IBSwitch(IBSwitchParameters(**shape)), "ib_switch") as model:
        sound = packets_sent(model, [one] * 6)
        long = packets_sent(model, [[(1, False), (0, True)], *[one] * 5])
        long_then_reset = packets_sent(model, [[(1, False), (0, True)], one, *[one] * 4], reset_at=2)
        short = packets_sent(model, [*[[(2, True)]] * 8])
        short_then_reset = packets_sent(model, [*[[(2, True)]] * 4, *[one] * 4], reset_at=4)

    assert sound == {1: [1, 1, 1], 2: [2, 2, 2]}
    assert long == {1: [1, 2, 2], 2: [1, 1]}
    assert long_then_reset == {1: [1, 1, 1], 2: [2, 2]}
    assert short == {1: [1, 1], 2: [2]}
    assert short_then_reset == {1: [1, 1, 1, 1], 2: [2, 2, 2]}


PROOFS = ("allocation", "room", "limits", "pair-turns", "connections", "input-waits", "starvation", "measure-of-six")
"""Small instances. ``make formal`` proves all instances."""


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but(PROOFS, [each.name for each in BLOCKS["ib_switch"].proofs]))
def test_instances_are_proven(name: str) -> None:
    """Each instance is proven: parts against their reference models, connections, packet delivery."""
    block = BLOCKS["ib_switch"]

    proof = prove(block.instance(name).make(block.make), f"test-ib-switch-{name}")

    assert proof.verdict == "PASS", proof.detail


class Doubling(Allocator):
    """Allocator that grants an output still occupied by a crossing packet."""

    def _takes(self, m: Module) -> Signal:
        takes = super()._takes(m)
        forced = Signal.like(takes)
        m.d.comb += forced.eq(takes | Cat(self.room[port] for port in range(self.ports)))
        return forced


@pytest.mark.slow
def test_a_broken_allocator_is_not_proven() -> None:
    """Given an allocator that grants busy outputs, the proof fails on property ``lane-turn``."""
    proof = prove(AllocatorProperties(Doubling(ports=2, vls=2)), "test-ib-switch-broken")

    assert (proof.verdict, proof.failed) == ("FAIL", "lane-turn")


@pytest.mark.parametrize(
    "given",
    [
        {"ports": 1},
        {"data_vls": 1},
        {"blocks": 1},
        {"minimum": 9},
        {"maximum": 37},
        {"largest": 5},
        {"lids": 1},
        {"scheduler": "oops"},
        {"data_bits": 63},
        {"data_bits": 100},
        {"measure": "inputs"},
        {"starving": True},
        {"starving": True, "marking": True, "data_bits": 128, "largest": 1, "maximum": 4, "crossbar": "per_vl"},
        {"marking": True, "data_bits": 128, "largest": 1, "measure": "input"},
        {"scheduler": "vlarb", "entries": 65},
        {"scheduler": "dtable", "entries": 1},
    ],
)
def test_component_refuses_parameters_out_of_range(given: dict[str, Any]) -> None:
    """Given parameters out of range, construction fails."""
    with pytest.raises(ValueError, match=r"must be|cannot be used"):
        IBSwitch(IBSwitchParameters(**given))


def test_a_switch_is_made_for_its_own_crossbar() -> None:
    """Given parameters for a different crossbar, the switch class raises an error."""
    apart = IBSwitchParameters(crossbar="per_vl", maximum=4, ports=2, data_vls=2)

    with pytest.raises(ValueError, match="crossbar must be that of a IBSwitch, not per_vl"):
        IBSwitch(apart)
    with pytest.raises(ValueError, match="crossbar must be that of a PerVLSwitch, not multiplexed"):
        PerVLSwitch(IBSwitchParameters())


class Losing(IBSwitch):
    """Switch that loses the flit for output 1 when all inputs cross."""

    def _cross(self, m: Module) -> None:
        super()._cross(m)
        with m.If(Cat(port.crossing.count.any() for port in self.inputs).all()):
            m.d.comb += self.outputs[1].crossing[0].count.eq(0)


class Misleading(IBSwitch):
    """Switch that stores flits for output 0 on input 0's lane when all inputs cross."""

    def _cross(self, m: Module) -> None:
        super()._cross(m)
        with m.If(Cat(port.crossing.count.any() for port in self.inputs).all()):
            m.d.comb += self.outputs[0].crossing[0].vl.eq(self.inputs[0].crossing.vl)


class Corrupting(IBSwitch):
    """Switch that clears a bit of each flit to output 0."""

    def _cross(self, m: Module) -> None:
        super()._cross(m)
        m.d.comb += self.outputs[0].crossing[0].flits[0][40].eq(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "failed"),
    [
        (Losing, "room-used"),
        pytest.param(Misleading, "room-used", marks=pytest.mark.long),
        pytest.param(Corrupting, "as-it-came", marks=pytest.mark.long),
    ],
)
def test_a_switch_that_loses_misleads_or_changes_packets_is_not_proven(switch: type[IBSwitch], failed: str) -> None:
    """Given a switch that loses, misroutes or corrupts packets, the delivery proof fails."""
    block = BLOCKS["ib_switch"]
    instance = block.instance("delivery-of-three")
    properties = instance.properties(switch(block.shape(**{**block.defaults(), **instance.parameters})))
    properties.bounded = 9  # bound the search to 9 cycles from reset, so every counterexample is reachable

    proof = prove(properties, f"test-{switch.__name__}")

    assert (proof.verdict, proof.failed) == ("FAIL", failed), proof.detail


@pytest.mark.slow
def test_the_qualification_writes_the_reserved_lid_and_names_lanes_without_blocks() -> None:
    """The qualification writes LID 0, which no packet may use, and credit returns of 0 blocks on a lane."""
    block = BLOCKS["ib_switch"]
    given = {**block.defaults(), **block.mutated}
    with compile_model(block.make(given), "ib_switch") as model:
        ins = model.inputs
        source = block.qualify(given, cycles=60_000, seed=1, inputs=ins, outputs=model.outputs)
        rows, _ = source.record(model.input_words, model.output_words)
    writes = (ins["lft__enable"].get(rows) != 0) & (ins["lft__top"].get(rows) == 0) & (ins["lft__lid"].get(rows) == 0)
    ports = ins["lft__port"].get(rows)[writes]

    assert ((ports > 0) & (ports <= given["ports"])).any()
    assert ((ins["far_returned__0__blocks"].get(rows) == 0) & (ins["far_returned__0__vl"].get(rows) != 0)).any()
