"""Wave of a run with closed-loop requesters, with golden's winner, states and a mismatch marker."""

from __future__ import annotations

import tempfile
from pathlib import Path

from vlane.sim_top.dut.closed_loop import ClosedLoop
from vlane.sim_top.dut.closed_run import ClosedRun
from vlane.sim_top.dut.design import stdout_elsewhere
from vlane.sim_top.dut.elastic import Elastic
from vlane.sim_top.dut.follower import Follower
from vlane.sim_top.dut.golden_wave import Track, annotated, window, write_waves
from vlane.tb.machinery.native.rows import Words


def write_closed_wave(run: ClosedRun, failed: int | None, file: Path) -> tuple[Path, int, int]:
    """Write the design's and golden's signals around a failure, or from the start.

    Parameters
    ----------
    run : ClosedRun
        Run, which is repeated.
    failed : int or None
        Cycle of the failure.
    file : Path
        Name of the wave.

    Returns
    -------
    wave : Path
        Name of the wave that was written.
    first, last : int
        First and last cycle of the wave.

    Raises
    ------
    InputError
        If a file cannot be written; names ``--waves``.
    """
    first, last = window(failed, run.cycles)
    tracks = _Tracks(run, failed)
    with tempfile.TemporaryDirectory() as folder, stdout_elsewhere(), run.model(traced=True) as model:
        raw = Path(folder) / "wave.vcd"
        model.begin(run.seed)
        with ClosedLoop(model, run.plan()) as loop:
            tracks.skip(*loop.run(first)[:2])
            model.wave_from_here(raw)
            tracks.take(*loop.run(last + 1 - first)[:2])
        model.close()
        text = annotated(raw.read_text(), tracks.all(), first)
    given = run.given
    ports = [name for wire in (*given.inputs.values(), *given.outputs.values()) for name in wire.names]
    ports = [given.clock.port, *([given.reset.port] if given.reset else []), *ports]
    return write_waves(file, text, list(dict.fromkeys(ports)), failed), first, last


class _Tracks:
    """Golden's signals, cycle by cycle."""

    def __init__(self, run: ClosedRun, failed: int | None) -> None:
        self._run, self._failed = run, failed
        checker = run.checker()
        self._checker = None if isinstance(checker, Follower) else checker
        self._winner: list[str] = []
        self._state: list[str] = []
        self._mismatch: list[str] = []
        self._over = False

    def skip(self, rows: Words, shown: Words) -> None:
        """Take cycles before the wave."""
        if self._checker is not None:
            for sample in self._run.signals.samples(rows, shown):
                self._checker.cycle(sample)

    def take(self, rows: Words, shown: Words) -> None:
        """Take cycles of the wave."""
        lanes, checker = self._run.signals.lanes, self._checker
        first = checker.cycles if checker is not None else 0
        for at, sample in enumerate(self._run.signals.samples(rows, shown), first):
            self._mismatch.append(str(int(at == self._failed)))
            if not isinstance(checker, Elastic):
                continue
            self._winner.append("x" * lanes if self._over else f"{checker.expected_grant(sample):0{lanes}b}")
            self._over = self._over or checker.cycle(sample) is not None
            self._state.append("x" if self._over else checker.state_shown())

    def all(self) -> list[Track]:
        """Return the signals."""
        tracks = [Track("mismatch", 1, self._mismatch)]
        if self._winner:
            tracks = [Track("winner", self._run.signals.lanes, self._winner), Track("state", 0, self._state), *tracks]
        return tracks
