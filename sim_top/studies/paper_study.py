"""What a study of a paper says of its own: the cases that it runs, its figures, its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from vlane.sim_top.output.curves import Chart
from vlane.sim_top.studies.figures import Figure
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.study.sweep import study_digest

from vlane.study_file import StudyFile

__all__ = ["Case", "PaperStudy"]


@dataclass(frozen=True)
class Case:
    """A network with one set of parameters, and the loads and seeds that it is run with.

    Parameters
    ----------
    labels : mapping of str to str
        What it is, by the study's columns; no two cases have the same.
    study : StudyFile
        The study file that runs are made of; its own loads and seeds do not count.
    loads : sequence of float
        Flits per cycle and host.
    seeds : sequence of int
        Each is run with every load.
    """

    labels: Mapping[str, str]
    study: StudyFile
    loads: Sequence[float]
    seeds: Sequence[int]

    @cached_property
    def digest(self) -> str:
        """What tells it from other cases, as a sweep tells its points apart."""
        return study_digest(self.study.study, self.study.base)


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
