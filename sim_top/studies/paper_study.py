"""Definition of a paper's study: cases to run, figures, pictures."""

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
    "Curves are means over seeds, bands range from the least to the greatest value.",
    "Hollow marks: saturated with some seed; the latency then depends on the length of the run.",
)


@dataclass(frozen=True)
class Case:
    """Case to run with some loads and seeds.

    Parameters
    ----------
    labels : mapping of str to str
        Labels by the study's columns; unique among the cases.
    loads : sequence of float
        Flits per cycle and host.
    seeds : sequence of int
        Seeds; each is run with every load.
    """

    labels: Mapping[str, str]
    loads: Sequence[float]
    seeds: Sequence[int]

    @property
    def digest(self) -> str:
        """Identity of the case."""
        raise NotImplementedError

    @property
    def clock(self) -> LinkClock:
        """Clock of the case."""
        raise NotImplementedError


@dataclass(frozen=True)
class NetworkCase(Case):
    """InfiniBand or Omni-Path network with one set of parameters.

    Parameters
    ----------
    study : StudyFile
        Study file of the runs; its own loads and seeds are ignored.
    """

    study: StudyFile

    @cached_property
    def digest(self) -> str:
        """Identity of the case, like that of a sweep's point."""
        return study_digest(self.study.study, self.study.base)

    @property
    def clock(self) -> LinkClock:
        """Clock of the case's links."""
        return self.study.study.link.clock


@dataclass(frozen=True)
class DescribedCase(Case):
    """Run of a model with a description of its own.

    Parameters
    ----------
    description : object
        Frozen, picklable record whose ``repr`` contains everything a run depends on except golden's source; runs of
        equal descriptions are reused. Beware that the ``repr`` of an array is abbreviated, and that the name
        of a file or function does not change with its contents.
    work : float
        Relative duration of a run, above 0.
    gbps : float
        Data rate of a link that transfers 64 bytes per cycle.
    """

    description: Any
    work: float
    gbps: float

    @cached_property
    def digest(self) -> str:
        """Identity of the case."""
        return hashlib.sha256(repr(self.description).encode()).hexdigest()

    @property
    def clock(self) -> LinkClock:
        """Clock of the case's links."""
        return LinkClock(self.gbps)


@dataclass(frozen=True)
class RowsOfRun:
    """Data of a described run that a summary keeps.

    Parameters
    ----------
    digest : str
        Digest of the deliveries and their times.
    cycles : int
        Length of the run.
    seconds : float
        CPU time.
    rows : list of dict
        One or more rows, with the columns of ``OwnRuns``; missing columns are null.
    """

    digest: str
    cycles: int
    seconds: float
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class OwnRuns:
    """Function and columns of the runs of described cases.

    Parameters
    ----------
    make : callable
        Makes a run from description, load and seed; equal arguments give equal deliveries. A module-level function,
        because other processes and clusters call it.
    schema : mapping of str to type
        Columns of the rows with polars types; the first column identifies and sorts the rows of a run.
    """

    make: Callable[[Any, float, int], RowsOfRun]
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class PaperStudy:
    """Study of a paper.

    Parameters
    ----------
    name : str
        Command-line name.
    title : str
        Heading of the page.
    columns : sequence of str
        Labels of every case.
    parts : mapping of str to str
        Descriptions of the parts by name; the first part is the default.
    cases : callable
        Returns the cases of a part; the second argument requests a quick version of minutes.
    figures : callable
        Returns the figures of a part from the measurements.
    charts : callable
        Returns the panels of a part's page and picture.
    about : sequence of (str, str)
        Facts for the page.
    level_of : callable or None
        Maps SLs to levels in the summary, for studies with too many SLs; the SLs of a level share one row with the mean
        of all their packets and without percentiles.
    measures : sequence of str
        Additional measurements of the summary: ``deadlines``, ``congestion``.
    own_runs : OwnRuns or None
        Constructor of runs for described cases; ``None`` for network cases.
    caption : str
        Caption of the page's panels.
    notes : sequence of str
        Notes of the page's panels.
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
