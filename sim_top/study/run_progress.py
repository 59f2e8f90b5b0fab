"""Lines of progress of a study's runs."""

from __future__ import annotations

from vlane.sim_top.study.progress import Progress
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.sweep import Sweep
from vlane.study.file import shown_changes


class RunProgress:
    """Lines for finished runs, with the estimated time of the others.

    Parameters
    ----------
    sweep : Sweep
        Points of the study.
    workers : int
        Number of concurrent runs.
    """

    def __init__(self, sweep: Sweep, workers: int) -> None:
        self._hosts = {point.digest: len(point.world.topology.hosts) for point in sweep.points}
        self._cycles = {point.digest: point.world.study.run.cycles for point in sweep.points}
        keys = [key for point in sweep.points for key in point.runs()]
        self._progress = Progress([(key.point, self._work(key.point, key.load)) for key in keys], workers=workers)

    def _work(self, point: str, load: float) -> float:
        return load * self._hosts[point] * self._cycles[point]

    def words(self, run: MadeRun, finished: int, whole: int) -> str:
        """Return the line for a finished run."""
        result, which = run.result, f"{shown_changes(run.parameters)}, " if run.parameters else ""
        left = self._progress.made(run.key.point, self._work(run.key.point, run.key.load), seconds=result.seconds)
        speed = f"{result.flit_hops_per_second / 1e6:.1f} million flit-hops per second"
        more = f"; about {left} left" if left else ""
        return f"{finished} of {whole}: {which}load {result.load!r}, seed {result.seed}, {speed}{more}"
