"""What a study of a paper says of its own: the cases that it runs, its figures, its pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from vlane.rates import LinkClock
from vlane.sim_top.output.curves import Chart
from vlane.sim_top.studies.figures import Figure
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.study.sweep import study_digest
from vlane.study.file import StudyFile

CAPTION = "Against offered load (flits per cycle and host)"
NOTES = (
    "Curves are means over seeds, bands reach from the least to the greatest.",
    "Hollow: saturated with some seed; such a latency depends on the length of the run.",
)


@dataclass(frozen=True)
class Case:
    """What is run with some loads and seeds.

    Parameters
    ----------
    labels : mapping of str to str
        What it is, by the study's columns; no two cases have the same.
    loads : sequence of float
        Flits per cycle and host.
    seeds : sequence of int
        Each is run with every load.
    """

    labels: Mapping[str, str]
    loads: Sequence[float]
    seeds: Sequence[int]

    @property
    def digest(self) -> str:
        """What tells it from other cases."""
        raise NotImplementedError

    @property
    def clock(self) -> LinkClock:
        """What its cycles are in time."""
        raise NotImplementedError


@dataclass(frozen=True)
class NetworkCase(Case):
    """A network of InfiniBand or Omni-Path with one set of parameters.

    Parameters
    ----------
    study : StudyFile
        The study file that runs are made of; its own loads and seeds do not count.
    """

    study: StudyFile

    @cached_property
    def digest(self) -> str:
        """What tells it from other cases, as a sweep tells its points apart."""
        return study_digest(self.study.study, self.study.base)

    @property
    def clock(self) -> LinkClock:
        """What its cycles are in time."""
        return self.study.study.link.clock


@dataclass(frozen=True)
class DescribedCase(Case):
    """A run of a model with a description of its own.

    Parameters
    ----------
    description : object
        A frozen record that can be pickled, whose ``repr`` says all that a run depends on, golden's source aside: runs
        of an equal one are taken. An array is shortened in its ``repr``, a name does not say what it stands for.
    work : float
        How long a run is beside others, above 0.
    gbps : float
        Of a link that passes 64 bytes in a cycle.
    """

    description: Any
    work: float
    gbps: float

    @cached_property
    def digest(self) -> str:
        """What tells it from other cases."""
        return hashlib.sha256(repr(self.description).encode()).hexdigest()

    @property
    def clock(self) -> LinkClock:
        """What its cycles are in time."""
        return LinkClock(self.gbps)


@dataclass(frozen=True)
class RowsOfRun:
    """What a summary keeps of a run that was made of a description.

    Parameters
    ----------
    digest : str
        Of what was delivered, and when.
    cycles, seconds : int, float
        Length of the run; CPU time.
    rows : list of dict
        One or more, by the columns of ``OwnRuns``; a column that is left out is null.
    """

    digest: str
    cycles: int
    seconds: float
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class OwnRuns:
    """How the runs of described cases are made.

    Parameters
    ----------
    make : callable
        Makes a run of a description, a load and a seed, equal arguments giving equal deliveries; a function of a
        module, as processes and clusters make runs.
    schema : mapping of str to type
        Columns of its rows, with polars types; the first one tells the rows of a run apart, and sorts them.
    """

    make: Callable[[Any, float, int], RowsOfRun]
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class PaperStudy:
    """A study of a paper.

    Parameters
    ----------
    name, title : str
        Word of the command line; heading of the page.
    columns : sequence of str
        Labels of every case.
    parts : mapping of str to str
        What may be run, by name, and what it is; the first is run unless another is asked for.
    cases : callable
        Returns the cases of a part; its second argument tells whether minutes must be enough.
    figures : callable
        Returns the figures of a part from what was measured.
    charts : callable
        Returns the panels of the page and the picture of a part.
    about : sequence of (str, str)
        Facts for the page.
    level_of : callable or None
        Returns what stands in place of an SL in the summary, where SLs are too many or mean nothing: those of one
        level are one row, with the mean of all their packets and without percentiles.
    measures : sequence of str
        What the summary says beyond what every study does: ``deadlines``, ``congestion``.
    own_runs : OwnRuns or None
        How runs are made, if cases are described ones and not networks of InfiniBand or Omni-Path.
    caption, notes : str, sequence of str
        Of the page's panels.
    """

    name: str
    title: str
    columns: Sequence[str]
    parts: Mapping[str, str]
    cases: Callable[[str, bool], Sequence[Case]]
    figures: Callable[[str, Measured], Sequence[Figure]]
    charts: Callable[[str, Measured], Sequence[Chart]]
    about: Sequence[tuple[str, str]] = field(default_factory=tuple)
    level_of: Callable[[int], int] | None = None
    measures: Sequence[str] = ()
    own_runs: OwnRuns | None = None
    caption: str = CAPTION
    notes: Sequence[str] = NOTES
