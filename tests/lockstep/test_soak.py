"""Soak runs: random instances in lockstep, and shrinking of failures."""

from __future__ import annotations

import itertools
import random
import shlex

import pytest

from tests.conftest import assert_refused, call
from vlane.schedulers.registry import SCHEDULERS
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.soak import SWITCHES, Point, command_of, points_of, random_point, run_point, shrunk
from vlane.sim_top.cosim.soak_draws import values_of
from vlane.sim_top.cosim.soak_records import SoakRecord
from vlane.tb.machinery.native.model import compile_model


@pytest.mark.long
@pytest.mark.parametrize(("block", "seed"), [("ib_switch", 377), ("opa_switch", 67)])
def test_a_random_switch_agrees(block: str, seed: int) -> None:
    """A random switch agrees with golden for 20,000 cycles of a soak run."""
    called = call("soak", block, "--points", "1", "--cycles", "20000", "--seed", str(seed), "--json")

    assert called.status == 0, called.err
    assert called.json()["failures"] == []
    assert called.err.count("agrees") == 1


@pytest.mark.slow
def test_model_for_long_runs_has_equal_outputs() -> None:
    """A model for long runs gives equal outputs and is cached separately.

    Only the optimisation level of the C++ compiler differs.
    """
    block = BLOCKS["pause"]
    files, outputs = [], []
    for for_long in (False, True):
        with compile_model(block.make(block.mutated), "pause", for_long=for_long) as model:
            source = block.qualify(block.mutated, cycles=2000, seed=1, inputs=model.inputs, outputs=model.outputs)
            rows, expected = source.record(model.input_words, model.output_words)
            outputs.append(model.run(rows).tolist())
            assert outputs[-1] == expected.tolist()
            files.append(model.library)

    assert files[0] != files[1]
    assert outputs[0] == outputs[1]


def test_only_a_long_run_waits_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only runs of many cycles use the model with high compiler optimisation."""
    asked = []

    def compiled(*_: object, for_long: bool) -> object:
        asked.append(for_long)
        raise RuntimeError("seen")

    monkeypatch.setattr("vlane.sim_top.cosim.soak.compile_model", compiled)
    for cycles in (40_000, 100_000_000):
        with pytest.raises(RuntimeError, match="seen"):
            run_point(Point("pause", BLOCKS["pause"].mutated, cycles, 1))
    assert asked == [False, True]


@pytest.mark.parametrize("name", SWITCHES)
def test_points_are_accepted_and_repeatable(name: str) -> None:
    """Every drawn point is a valid instance, and the printed command recreates the point."""
    source = random.Random(5)  # noqa: S311 - a repeatable choice
    points = [random_point(source, name, cycles=100) for _ in range(300)]

    block = BLOCKS[name]
    for point in points:
        words = shlex.split(command_of(point))
        given = [word for flag, word in itertools.pairwise(words) if flag == "--param"]
        assert block.parameters(given) == {**block.defaults(), **point.parameters}
    assert {point.parameters.get("credit") for point in points} == (
        {"returns", "fcp"} if name == "ib_switch" else {None}
    )
    forms = {(point.parameters.get("allocation"), point.parameters.get("crossbar")) for point in points}
    assert forms == (
        {("turns", "multiplexed"), ("turns", "per_vl"), ("fifo", "per_vl")} if name == "ib_switch" else {(None, None)}
    )
    assert {point.parameters.get("form") for point in points} == ({"exact", "fast"} if name == "ib_switch" else {None})
    speeds = {(point.parameters.get("crossbar"), point.parameters.get("speed")) for point in points}
    assert speeds == (
        {("multiplexed", 1), ("multiplexed", 2), ("per_vl", 1)} if name == "ib_switch" else {(None, None)}
    )
    marks = {(point.parameters.get("marking"), point.parameters.get("measure")) for point in points}
    assert marks == ({(False, "output"), (True, "output"), (True, "inputs")} if name == "ib_switch" else {(None, None)})
    assert len({str(point.parameters) for point in points}) > 250
    assert {(point.parameters["scheduler"], point.parameters["line_rate"]) for point in points} == {
        (each.name, line_rate) for each in SCHEDULERS.values() for line_rate in (False, True)[: 1 + each.has_line_rate]
    }


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("seed", [1, 20261128])
def test_fifty_points_have_every_choice_and_every_flag(name: str, seed: int) -> None:
    """Given no wanted values, no value of a choice or flag is left to chance, and whole numbers vary."""
    block = BLOCKS[name]
    points = list(points_of(name, count=50, cycles=1, seed=seed, wanted={}, full_size=False))

    drawn = [block.shape(**{**block.defaults(), **point.parameters}) for point in points]
    for parameter, values in values_of(block.shape).items():
        assert {each[parameter] for each in drawn} == {*values}, parameter
    assert points[:7] == list(points_of(name, count=7, cycles=1, seed=seed, wanted={}, full_size=False))
    for parameter in block.defaults().keys() - values_of(block.shape).keys():
        least, most = block.shape.bounds_of(parameter)
        assert len({each[parameter] for each in drawn}) >= min(3, most - least + 1), parameter
    assert len({str(dict(each)) for each in drawn}) > 20


def test_wanted_values_are_kept_and_the_others_still_vary() -> None:
    points = list(points_of("dtable", count=50, cycles=1, seed=1, wanted={"form": "ib"}, full_size=False))

    assert {point.parameters["form"] for point in points} == {"ib"}
    for flag in ("vl15", "keep_on_stall", "parity"):
        assert {point.parameters[flag] for point in points} == {False, True}


def test_a_failing_arbiter_is_reduced() -> None:
    """Given a fault of tables with a map, the map stays and everything else becomes small."""
    point = Point(
        "dtable",
        {
            "data_vls": 9,
            "requesters": 5,
            "vl15": True,
            "entries": 40,
            "form": "ib",
            "keep_on_stall": True,
            "mtu_blocks": 30,
            "parity": True,
        },
        1000,
        3,
    )

    small = shrunk(point, lambda tried: "differs" * (tried.parameters["requesters"] > 0))

    assert dict(small.parameters) == {
        "data_vls": 2,
        "requesters": 3,
        "vl15": True,
        "entries": 2,
        "form": "free",
        "keep_on_stall": False,
        "mtu_blocks": 1,
        "parity": False,
    }


def test_a_failing_point_is_made_as_small_as_it_fails() -> None:
    """A failing point is shrunk to the smallest parameters that still fail."""
    point = Point(
        "ib_switch",
        {
            "ports": 6,
            "data_vls": 4,
            "blocks": 40,
            "minimum": 7,
            "maximum": 12,
            "largest": 5,
            "scheduler": "vlarb",
            "line_rate": True,
            "entries": 16,
            "lids": 30,
            "data_bits": 128,
            "credit": "returns",
            "fcp_blocks": 0,
            "fcp_period": 1024,
        },
        1000,
        3,
    )

    small = shrunk(point, lambda tried: "differs" * (tried.parameters["ports"] > 2 and tried.parameters["largest"] > 1))

    assert (small.parameters["ports"], small.parameters["largest"]) == (3, 2)
    assert (small.parameters["data_vls"], small.parameters["scheduler"], small.parameters["lids"]) == (2, "rr", 3)
    assert (small.parameters["line_rate"], small.parameters["data_bits"]) == (False, 64)


@pytest.mark.slow
def test_only_instances_with_the_values_that_are_asked_for_are_run() -> None:
    """Given ``--param``, soak draws only instances with the given values."""
    asked = ("--param", "marking=true", "--param", "measure=inputs", "--param", "speed=2", "--param", "ports=2")
    called = call("soak", "--points", "1", "--cycles", "8000", *asked, "--json")

    assert called.status == 0, called.err
    given = {"marking": True, "measure": "inputs", "speed": 2, "ports": 2}
    assert all(f"--param {name}={value} " in called.err for name, value in given.items())
    assert called.json()["parameters"] == given


@pytest.mark.parametrize("name", [each.name for each in SCHEDULERS.values() if each.has_line_rate])
@pytest.mark.parametrize("full_size", [False, True], ids=["small", "full_size"])
def test_instances_fit_the_form_that_is_asked_for(name: str, *, full_size: bool) -> None:
    """Points drawn for the line-rate form are valid instances of that form."""
    points = list(points_of(name, count=2, cycles=1, seed=1, wanted={"form": "line_rate"}, full_size=full_size))

    assert all(BLOCKS[name].make(point.parameters).parameters.form == "line_rate" for point in points)
    assert {SoakRecord.of(point, rtl="0" * 16).full_size for point in points} == {full_size}


def test_bad_numbers_are_refused() -> None:
    """Given bad numbers, blocks or combinations of parameters, the command is refused."""
    assert_refused(call("soak", "--param", "ports=x"), "--param", "ports", "x")
    assert_refused(
        call("soak", "--param", "crossbar=per_vl", "--param", "speed=2"),
        "--param speed",
        "1 with allocation turns and crossbar per_vl",
        "2",
    )
    together = ("--param", "form=line_rate", "--param", "parity=true")
    assert_refused(call("soak", "dtable", *together), "--param parity", "false in the line_rate form", "true")
    assert_refused(call("soak", "vlarbs"), "BLOCK must be one of", "did you mean vlarb?")
    assert_refused(call("soak", "--points", "0"), "--points", "at least 1", "0")
    assert_refused(call("soak", "--cycles", "0"), "--cycles", "1 to 100000000000", "0")
