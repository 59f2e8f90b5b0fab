"""Study of two small networks, for tests of features common to all studies."""

from __future__ import annotations

from pathlib import Path

from vlane.sim_top.output.curves import Chart, Curve, Mark
from vlane.sim_top.studies.figures import Figure, at_least, within
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import NetworkCase, PaperStudy
from vlane.study.file import study_of

LONG = 60_000
"""Cycles of a run of the slow part."""
_PUBLISHED = 0.2


def _cases(part: str, quick: bool) -> list[NetworkCase]:  # noqa: FBT001 - what every study takes
    cycles = LONG if part == "slow" else 700
    content = {
        "network": {"topology": "tree", "k": 2, "n": 2},
        "buffers": {"blocks": 64},
        "traffic": [{"sl": 0, "share": 0.5}, {"sl": 1, "share": 0.5, "bytes": [64, 512]}],
        "run": {"loads": [0.2], "cycles": cycles, "warm_up_cycles": 100},
    }
    base = study_of(content, Path())
    seeds = (1,) if quick else (1, 2)
    return [
        NetworkCase({"room": room}, (0.2, 0.5), seeds, base.with_({"buffers.blocks": blocks}))
        for room, blocks in (("small", 64), ("large", 128))
    ]


def _figures(part: str, measured: Measured) -> list[Figure]:
    accepted = measured.values("accepted", load=0.2, sl=0, labels={"room": "small"})
    published = 2 * _PUBLISHED if part == "wrong" else _PUBLISHED
    return [
        Figure("accepted", "flits", published, [2 * value for value in accepted.values()], within(published, 0.2)),
        Figure(
            "at another load",
            "",
            None,
            list(measured.values("accepted", load=0.9, sl=0, labels={}).values()),
            at_least(0.5, "made up"),
        ),
    ]


def _charts(part: str, measured: Measured) -> list[Chart]:
    del part
    marks = [Mark(load, mean) for load, mean, _, _ in measured.curve("accepted", sl=0, labels={"room": "small"})]
    return [Chart("accepted", "load", "flits", [Curve("SL 0", 0, marks=marks)])] if marks else []


STUDY = PaperStudy(
    name="tiny",
    title="A tiny study",
    columns=("room",),
    parts={"main": "all of it", "wrong": "with a figure that does not hold", "slow": "with long runs"},
    cases=_cases,
    figures=_figures,
    charts=_charts,
)
