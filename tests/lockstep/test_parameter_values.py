"""Every value of every choice and flag parameter, and every size at which hardware changes, in a short lockstep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product
from typing import Any

import pytest

from vlane.errors import InputError
from vlane.parameters import Parameters
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.soak_draws import values_of
from vlane.switches.switch_kinds import SWITCH_KINDS
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model
from vlane.tb.switches.opa_switch.directed import PARAMETERS as OPA_PARAMETERS

SWITCHES = frozenset(kind.block for kind in SWITCH_KINDS.values())
TINY_IB = {"ports": 2, "data_vls": 2, "blocks": 8, "minimum": 4, "maximum": 4, "lids": 3}
FAST_IB = {"ports": 2, "data_vls": 2, "blocks": 16, "minimum": 4, "maximum": 12, "lids": 3}
MARKING = {
    "blocks": 16,
    "minimum": 8,
    "maximum": 8,
    "largest": 2,
    "data_bits": 128,
    "marking": True,
    "busy_blocks": 8,
    "level_blocks": 40,
}
TINY_OPA = {**TINY_IB, "central_blocks": 8, "central_minimum": 4, "central_maximum": 4}
LINE_RATE = {"form": "line_rate"}
INSTANCES: dict[str, tuple[dict[str, Any], ...]] = {
    "vlarb": (
        {"data_vls": 5, "entries": 8, "parity": True},
        {"data_vls": 2, "entries": 3, "vl15": False, "parity": True},
        {"data_vls": 3, "entries": 5, "vl15": False},
        {"data_vls": 15, "entries": 64, "vl15": True, **LINE_RATE},
        {"data_vls": 3, "entries": 5, "vl15": False, **LINE_RATE},
    ),
    "dtable": (
        {"data_vls": 3, "entries": 4},
        {"data_vls": 7, "requesters": 4, "entries": 9, "vl15": False, "keep_on_stall": True, "mtu_blocks": 20},
        {"data_vls": 2, "entries": 3, "vl15": False, "parity": True},
        {"data_vls": 4, "requesters": 3, "entries": 8, "form": "ib", "keep_on_stall": True, "parity": True},
        {"data_vls": 2, "entries": 64, "form": "ib", "vl15": False},
        {"data_vls": 16, "entries": 64, "vl15": False, **LINE_RATE},
        {"data_vls": 3, "entries": 5, "vl15": True, "mtu_blocks": 5, **LINE_RATE},
    ),
    "drr": (
        {"data_vls": 2},
        {"data_vls": 15, "keep_on_stall": True, "mtu_blocks": 33},
        {"data_vls": 7, "requesters": 4, "vl15": False},
        {"data_vls": 4, "requesters": 3, "vl15": False, "keep_on_stall": True, "mtu_blocks": 20},
    ),
    "scfq": (
        {"data_vls": 2},
        {"data_vls": 15, "units": "per_requester"},
        {"data_vls": 7, "requesters": 4, "vl15": False, "tag_bits": 24, "reciprocal_bits": 16},
        {"data_vls": 3, "vl15": False, "units": "per_requester"},
    ),
    "rr": ({"data_vls": 2}, {"data_vls": 7, "requesters": 4, "vl15": False}),
    "wrr": ({"data_vls": 2}, {"data_vls": 7, "requesters": 4, "vl15": False}),
    "credit_ib": (
        {"data_vls": 3, "buffer_blocks": 100, "fcp_period": 300, "watchdog_cycles": 400},
        {"data_vls": 2, "buffer_blocks": 4000, "fcp_period": 2000, "watchdog_cycles": 2500, "parity": True},
    ),
    "credit_opa": ({"vls": 2, "vcu": 0, "parity": True}, {"vls": 8, "vcu": 2}),
    "cc_source": ({"flows": 8, "cct_entries": 1024, "tick_cycles": 64}, {"flows": 32, "shift_first": True}),
    "ecm_cp": (
        {"sampling": "fixed", "sample_bytes": 16_384, "set_point_bytes": 30_000, "weight": 3, "bcn_max": False},
        {
            "set_point_bytes": 4000,
            "sample_bytes": 16_384,
            "queue_bytes": 32_767,
            "max_bytes": 16_000,
            "bcn_stop": True,
            "stop_bytes": 24_000,
        },
    ),
    "ecm_rp": (
        {"flows": 4, "stop_bits": 8, "gain_of": "current"},
        {"flows": 256, "strict": True, "link_mbps": 1000, "bucket_bytes": 9000, "stop_bits": 12},
    ),
    "e2cm_prober": (
        {"flows": 4, "probe_bytes": 4096, "probed": "limited", "base": "given"},
        {"flows": 256, "weight": 8, "norm_bytes": 15_000},
    ),
    "vlbuffer": (
        {},
        {
            "vls": 2,
            "flits": 14,
            "minimum": 7,
            "maximum": 7,
            "mtu_flits": 4,
            "readers": 2,
            "write_flits": 2,
            "read_flits": 3,
            "data_bits": 70,
            "form": "static",
        },
    ),
    "ib_switch": (
        {**TINY_IB, "scheduler": "vlarb", "entries": 2, "line_rate": True, "crossbar": "per_vl", "allocation": "fifo"},
        {**TINY_IB, "scheduler": "dtable", "entries": 2, "credit": "fcp", "fcp_period": 100},
        {**TINY_IB, **MARKING, "scheduler": "drr", "measure": "inputs", "starving": True, "speed": 2},
        {**TINY_IB, "scheduler": "scfq"},
        {**TINY_IB, "scheduler": "wrr"},
        {**FAST_IB, "form": "fast"},
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
    ),
    "opa_switch": (
        OPA_PARAMETERS,
        {**TINY_OPA, "scheduler": "vlarb", "entries": 2, "line_rate": True},
        *({**TINY_OPA, "scheduler": name} for name in ("dtable", "drr", "scfq", "wrr")),
    ),
}
"""Instances that run here. Most are instances of other tests too, so that one compiled model serves both."""

LONG = {"opa_switch": (2, 3, 4, 5)}
"""Numbers of the instances that only ``make long`` runs: ``ib_switch`` has every scheduler of these instances, too."""

LARGE: dict[str, dict[str, tuple[Callable[[Mapping[str, Any]], Any], str]]] = {
    "dtable": {
        "long ib table": (lambda p: p["form"] == "ib" and p["entries"] == 64, "the last entry of the list"),
        "long line-rate table": (lambda p: p["form"] == "line_rate" and p["entries"] == 64, "many rows"),
    },
    "vlarb": {"long lists": (lambda p: p["form"] == "line_rate" and p["entries"] == 64, "many rows")},
    "credit_ib": {"large buffer": (lambda p: p["buffer_blocks"] > 2048, "FCCL is capped")},
    "ecm_rp": {"many flows": (lambda p: p["flows"] >= 256, "flow numbers of 8 bits")},
    "e2cm_prober": {"many flows": (lambda p: p["flows"] >= 256, "flow numbers of 8 bits")},
    "vlbuffer": {
        "static reads": (lambda p: p["form"] == "static" and p["read_flits"] > 1, "read addresses wrap"),
        "wide flits": (lambda p: p["data_bits"] > 64, "flits of several words"),
        "static writes": (lambda p: p["form"] == "static" and p["write_flits"] > 1, "write addresses wrap"),
    },
}
"""Further instances that must run, by block: a condition, and the hardware that only such an instance has."""


def made(name: str, given: Mapping[str, Any]) -> Parameters:
    return BLOCKS[name].shape(**{**BLOCKS[name].defaults(), **given})


def wanted(name: str) -> Iterator[dict[str, Any]]:
    """Yield each value, and for schedulers, whose instances are small, each pair of values of an instance."""
    values = values_of(BLOCKS[name].shape)
    for parameter, words in values.items():
        yield from ({parameter: word} for word in words)
    if "data_vls" not in BLOCKS[name].defaults() or name in SWITCHES:
        return
    for one, other in combinations(values, 2):
        for pair in product(values[one], values[other]):
            given = dict(zip((one, other), pair, strict=True))
            try:
                BLOCKS[name].shape.of_values(given)
            except InputError:
                continue
            yield given


@pytest.mark.parametrize("name", BLOCKS)
def test_every_value_of_a_choice_or_flag_occurs(name: str) -> None:
    """A parameter or a word that somebody adds needs an instance here."""
    instances = [made(name, given) for given in INSTANCES.get(name, ())]

    missing: list[Any] = [each for each in wanted(name) if not any(each.items() <= {*one.items()} for one in instances)]
    missing += [each for each, (shows, _) in LARGE.get(name, {}).items() if not any(map(shows, instances))]

    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given"),
    [
        pytest.param(name, given, marks=[pytest.mark.long] * (number in LONG.get(name, ())))
        for name, instances in INSTANCES.items()
        for number, given in enumerate(instances)
    ],
    ids=[f"{name}-{number}" for name, instances in INSTANCES.items() for number in range(len(instances))],
)
def test_hardware_agrees_with_golden(name: str, given: dict[str, Any]) -> None:
    """Every output in every cycle of the first phases of the qualification."""
    cycles, parameters = (15_000 if name in SWITCHES else 60_000), made(name, given)
    with compile_model(BLOCKS[name].make(parameters), name) as model:
        stimulus = BLOCKS[name].qualify(parameters, cycles=cycles, seed=3, inputs=model.inputs, outputs=model.outputs)
        outcome = run_lockstep(model, stimulus)

    assert outcome.mismatch is None, str(outcome.mismatch)
    assert stimulus.decisions > cycles / 60
