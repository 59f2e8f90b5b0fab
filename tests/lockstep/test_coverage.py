"""Functional coverage of the qualification: missing rules and crosses are named and fail a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.conftest import call
from tests.schedulers.scheduling import qualification_of
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cli.block_verbs import cosim as command
from vlane.sim_top.cosim.cosim import CosimResult, Job
from vlane.tb.machinery.native.coverage import Coverage, coverage_of
from vlane.tb.machinery.native.crosses import Crosses, together
from vlane.tb.machinery.native.rows import Field, row_words
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.switches.phases_switch import SwitchPhase

FORMS = [(name, ()) for name in BLOCKS] + [("vlarb", ("form=line_rate",)), ("dtable", ("form=line_rate",))]
ODD = (
    ("vlarb", ("data_vls=1", "entries=1", "vl15=false")),
    ("vlarb", ("data_vls=2", "entries=3")),
    ("vlarb", ("form=line_rate", "data_vls=2", "entries=2")),
    ("dtable", ("data_vls=2", "entries=2", "vl15=false")),
    ("dtable", ("keep_on_stall=true", "requesters=3", "entries=8")),
    ("drr", ("vl15=false",)),
    ("scfq", ("data_vls=2",)),
    ("scfq", ("units=per_requester",)),
    ("rr", ("data_vls=2", "vl15=false")),
    ("wrr", ("data_vls=2",)),
    ("sl2vl", ("inputs=1", "outputs=1", "data_vls=15")),
    ("sc", ("ports=1", "data_vls=31")),
    ("lft", ("lookups=1", "ports=1", "entries=2")),
    ("credit_ib", ("data_vls=1", "buffer_blocks=66")),
    ("credit_opa", ("vls=1",)),
    ("vlbuffer", ("vls=1", "flits=8", "minimum=8", "maximum=8", "mtu_flits=1")),
    ("cc_marker", ("data_vls=1", "busy_blocks=0", "idle_blocks=0")),
    ("cc_source", ("flows=8", "cct_entries=1024", "shift_first=yes")),
    ("pause", ("memory_bytes=500", "high_bytes=500", "low_bytes=500", "refresh_cycles=1")),
    ("ecm_cp", ("sampling=fixed", "weight=0", "bcn_max=no")),
    ("ecm_rp", ("flows=4", "strict=yes", "gain_of=current")),
    ("e2cm_prober", ("flows=4", "base=given", "probed=limited", "weight=0")),
    ("ib_switch", ("ports=2", "data_vls=2", "lids=2")),
    ("ib_switch", ("ports=2", "data_vls=2", "lids=2", "maximum=4", "crossbar=per_vl", "allocation=fifo")),
    ("ib_switch", ("ports=2", "data_vls=2", "lids=2", "largest=1", "speed=2")),
    ("ib_switch", ("ports=2", "data_vls=2", "lids=2", "minimum=7", "largest=7", "speed=2")),
    ("opa_switch", ("ports=3", "data_vls=2")),
)
"""Instances in which some rules and crosses cannot occur."""


def made(name: str, parameters: Mapping[str, Any], cycles: int, seed: int = 1) -> tuple[Stimulus, int, int]:
    """Return a qualification and the numbers of words in its input and output rows."""
    stimulus, inputs, outputs = qualification_of(name, parameters, cycles, seed)
    return stimulus, row_words(inputs), row_words(outputs)


def shown(stimulus: Stimulus, input_words: int, output_words: int) -> Coverage:
    """Return the coverage of a stimulus run to its end."""
    rows, expected = np.zeros((4096, input_words), np.uint64), np.zeros((4096, output_words), np.uint64)
    done = 0
    while count := stimulus.fill(rows, expected):
        done += count
    return coverage_of(stimulus, done, complete=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [pytest.param(*form, marks=pytest.mark.long if form[0].endswith("_switch") else ()) for form in FORMS],
)
def test_a_small_instance_shows_all_that_applies(name: str, words: tuple[str, ...]) -> None:
    """A small instance of each block shows every applicable rule and cross in a million cycles."""
    block = BLOCKS[name]
    stimulus, *sizes = made(name, block.parameters(list(words)), 1_000_000)
    coverage = shown(stimulus, *sizes)
    assert (coverage.judged, coverage.missing) == (True, [])
    assert len(coverage.crosses) > 10


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("name", "words"), FORMS)
def test_the_default_run_shows_all_that_applies(name: str, words: tuple[str, ...], seed: int) -> None:
    """A full-size instance of each block shows every applicable rule and cross for several seeds."""
    block = BLOCKS[name]
    stimulus, *sizes = made(name, block.parameters(list(words), block.full_size), 1_000_000, seed)
    assert shown(stimulus, *sizes).missing == []


@pytest.mark.long
@pytest.mark.parametrize(("name", "words"), ODD)
def test_small_instances_need_no_impossible_crosses(name: str, words: tuple[str, ...]) -> None:
    """Crosses impossible in a small instance are not required."""
    stimulus, *sizes = made(name, BLOCKS[name].parameters(list(words)), 1_000_000)
    assert shown(stimulus, *sizes).missing == []


@pytest.mark.slow
def test_a_stimulus_without_a_phase_is_named_by_its_crosses() -> None:
    """Given a stimulus without the phase of rewrites, the crosses of this phase are reported missing."""
    stimulus, *sizes = made("ib_switch", BLOCKS["ib_switch"].parameters(["ports=3", "data_vls=2", "lids=8"]), 200_000)
    stimulus.phases = tuple(
        SwitchPhase(phase.cycles, name="rewritten") if phase.name == "rewritten" else phase for phase in stimulus.phases
    )
    coverage = shown(stimulus, *sizes)
    assert coverage.failed
    assert "rewritten x no_vl on lane 1" in coverage.missing
    assert "MISSING: " in coverage.verdict()


@pytest.mark.slow
def test_a_stimulus_without_forbidden_traffic_need_not_show_it() -> None:
    """Given a stimulus without forbidden inputs, crosses with such inputs are not required."""
    stimulus = made("credit_opa", BLOCKS["credit_opa"].parameters(["vls=2"]), 400_000)[0]
    assert "granted x reset" in stimulus.cross_counts()
    stimulus.phases = tuple(phase for phase in stimulus.phases if not phase.wild)
    assert "granted x reset" not in stimulus.cross_counts()
    assert "granted x returned" in stimulus.cross_counts()


def test_a_cross_counts_cycles_in_which_all_its_events_happen() -> None:
    inputs, outputs = {"a": Field(0, 0, 1)}, {"b": Field(0, 3, 2)}
    crosses = Crosses(
        together("first x a", "a x b is 2", "first x a x b is 2"),
        {"a": lambda cycles: cycles.on("a"), "b is 2": lambda cycles: cycles.bits("b") == 2},
        rules=["first"],
        inputs=inputs,
        outputs=outputs,
    )
    rows, expected = np.array([[1], [1], [0], [1]], np.uint64), np.array([[16], [0], [16], [16]], np.uint64)
    crosses.count(rows, expected, np.array([1, 1, 1, 0], np.uint64), phase="", forbidden_inputs=False)
    crosses.count(rows, expected, np.array([1, 1, 1, 0], np.uint64), phase="", forbidden_inputs=True)
    assert crosses.counts(frozenset({"first"}), forbidden_inputs=False) == {
        "first x a": 2,
        "a x b is 2": 2,
        "first x a x b is 2": 1,
    }
    assert list(crosses.counts(frozenset(), forbidden_inputs=False)) == ["a x b is 2"]


def test_a_cross_of_unknown_events_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule and no event is called elsewhere"):
        Crosses(together("first x elsewhere"), {}, rules=["first"], inputs={}, outputs={})


def test_only_a_long_run_is_judged() -> None:
    """Missing rules fail a run only if the run is long enough to be judged."""
    coverage = Coverage({"rule": 0}, ["rule"], {"one x other": 0, "one x third": 2}, 1000, judged=True)
    assert coverage.missing == ["rule", "one x other"]
    assert coverage.failed
    short = replace(coverage, judged=False)
    assert not short.failed
    assert "fewer than 1,000 cycles" in short.verdict()
    assert short.words() == "0 of 1 applicable rules and 1 of 2 crosses happened"


@pytest.mark.slow
def test_the_command_judges_a_long_run() -> None:
    """A run is judged only from a minimum number of cycles, which the JSON document contains."""
    short = call("cosim", "rr", "--param", "data_vls=4", "--cycles", "2000", "--json")
    done = short.json()
    assert (short.status, done["judged"], done["judged_from_cycles"]) == (0, False, 200_000)
    assert done["missing"]
    long = call("cosim", "rr", "--param", "data_vls=4", "--cycles", "200000", "--json")
    done = long.json()
    assert (long.status, done["judged"], done["missing"]) == (0, True, [])
    assert done["crosses"]["moved_on x write"] > 0


@pytest.mark.parametrize(("mismatches", "status"), [(1, 1), (0, 3)])
def test_a_planted_fault_is_noticed_or_not(monkeypatch: pytest.MonkeyPatch, mismatches: int, status: int) -> None:
    """A planted fault gives exit status 1 if detected and 3 if even the qualification misses it."""
    run: list[Job] = []

    def cosim_native(job: Job, **_: object) -> tuple[CosimResult, None]:
        run.append(job)
        nothing = Coverage({}, [], {}, 1, judged=False)
        return CosimResult(
            "native", "verilator", job.parameters, 10, 5, mismatches, 0.1, job.seed, (), nothing, fault="mutant 7"
        ), None

    monkeypatch.setattr(command, "cosim_native", cosim_native)
    monkeypatch.setattr(command, "fault", lambda *_: "mutant 7")
    assert call("cosim", "rr", "--fault", "7", "--cycles", "1000").status == status
    assert len(run) == 2 - mismatches


@pytest.mark.parametrize(("judged", "status"), [(1, 1), (0, 0)])
def test_missing_crosses_fail_a_judged_run(monkeypatch: pytest.MonkeyPatch, judged: int, status: int) -> None:
    """Given a missing rule, a judged run exits with 1 and a shorter run with 0."""

    def cosim_native(job: Job, **_: object) -> tuple[CosimResult, None]:
        found = Coverage({"idle": 0}, ["idle"], {"held x idle": 0}, 1, judged=bool(judged))
        return CosimResult("native", "verilator", job.parameters, 10, 5, 0, 0.1, job.seed, (), found), None

    monkeypatch.setattr(command, "cosim_native", cosim_native)
    called = call("cosim", "rr", "--cycles", "1000", "--json")
    assert (called.status, called.json()["missing"]) == (status, ["idle", "held x idle"])
    said = call("cosim", "rr", "--cycles", "1000").out
    assert ("MISSING: idle, held x idle" if judged else "not in this run") in said
