"""Studies in Python: read, change, check and run. Changes are validated like a file."""

from __future__ import annotations

import copy
import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import vlane.sim_top
from vlane.documents.files import write_whole
from vlane.documents.toml_text import toml_document
from vlane.errors import InputError, misplaced, missing_value, unknown_word
from vlane.golden.network.division import MOST_PARTS
from vlane.sim_top.api.results import Results
from vlane.sim_top.output.progress import is_watched, progress_shown
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.run_progress import RunProgress
from vlane.sim_top.study.simulate import StuckError
from vlane.sim_top.study.study_runs import run_sweep
from vlane.sim_top.study.sweep import make_sweep
from vlane.sim_top.study.workers import Cluster, WorkerLostError
from vlane.study.file import StudyFile, read_study_file, shown_changes, study_of
from vlane.study.study import Study as StudyModel

__all__ = ["StuckError", "Study", "WorkerLostError"]

_EXAMPLES = Path(vlane.sim_top.__file__).resolve().parent / "configs"
_log = logging.getLogger("vlane")


class Study:
    """Immutable network study (``docs/network.md``).

    ``read``, ``example``, ``from_dict`` and ``with_`` construct studies.

    Examples
    --------
    >>> study = Study.example("tree43_ib").with_({"run.loads": [0.3, 0.5], "buffers.blocks": 256})
    >>> study.model.buffers.blocks, study.changes["buffers.blocks"]
    (256, 256)
    >>> study.with_({"buffers.blocks": 0})
    Traceback (most recent call last):
    vlane.errors.InputError: buffers.blocks must be at least 1, not 0
    """

    __slots__ = ("_file",)

    def __init__(self, file: StudyFile) -> None:
        self._file = file

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Return the study of a file. Relative names of files in it are resolved against its folder.

        Raises
        ------
        InputError
            If the study is rejected; names file, line and key.

        Examples
        --------
        >>> Study.read("sim_top/configs/tree43_ib.toml").model.network.k
        4
        """
        return cls(read_study_file(Path(path)))

    @classmethod
    def example(cls, name: str) -> Study:
        """Return a shipped example study. ``vlane configs`` lists them.

        Raises
        ------
        InputError
            If no example has this name.

        Examples
        --------
        >>> Study.example("tree43_ib").model.network.topology
        'tree'
        """
        known = [file.stem for file in sorted(_EXAMPLES.glob("*.toml")) if "[network]" in file.read_text("utf-8")]
        if name not in known:
            raise unknown_word("example", known, name)
        return cls.read(_EXAMPLES / f"{name}.toml")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], base: str | Path = ".") -> Study:
        """Return the study of a mapping with the sections of a study file.

        Parameters
        ----------
        content : mapping of str to object
            Sections by name; the mapping is copied.
        base : str or Path
            Folder against which relative names of files are resolved.

        Raises
        ------
        InputError
            If the study is rejected; names the dotted key.

        Examples
        --------
        >>> study = Study.from_dict({
        ...     "network": {"topology": "dumbbell", "left": 2, "right": 2},
        ...     "traffic": [{"sl": 0}],
        ...     "run": {"loads": [0.2]},
        ... })
        >>> study.model.network.left
        2
        """
        return cls(study_of(content, Path(base)))

    def with_(self, changes: Mapping[str, Any]) -> Study:
        """Return a copy of the study with some keys changed, all at once.

        Parameters
        ----------
        changes : mapping of str to object
            Values by dotted key, list elements by index (``traffic.0.share``). ``None`` removes a key, so that its
            default applies.

        Raises
        ------
        InputError
            If a key is unknown or the changed study is rejected; names the dotted key.

        Examples
        --------
        >>> study = Study.example("tree43_ib")
        >>> study.with_({"run.seeds": [1, 2, 3]}).model.run.seeds
        [1, 2, 3]
        """
        return Study(self._file.with_(changes))

    @property
    def model(self) -> StudyModel:
        """Checked, immutable model with all defaults filled in."""
        return self._file.study

    @property
    def base(self) -> Path:
        """Folder against which relative names of files are resolved."""
        return self._file.base

    @property
    def changes(self) -> dict[str, Any]:
        """Changes since the study was read, by dotted key."""
        return copy.deepcopy(dict(self._file.changes))

    def to_dict(self) -> dict[str, Any]:
        """Return the sections as written, without defaults."""
        content: dict[str, Any] = copy.deepcopy(self._file.document.content)
        return content

    def save(self, path: str | Path) -> Path:
        """Write the study as a TOML file, atomically, and return its path.

        Relative names of files are not rewritten; they are resolved against the new file's folder.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        file = Path(path)
        write_whole(file, toml_document(self._file.document.content), option="path")
        return file

    def check(self) -> None:
        """Build the network and run all checks that precede a run: files, tables, buffers, paths, faults.

        Raises
        ------
        InputError
            If a check fails.

        Examples
        --------
        >>> Study.example("tree43_ib").check()
        """
        with self._file.refusals():
            world = make_world(self._file.study, self._file.base)
            check_world(world)
            check_faults(world)

    def run(
        self,
        *,
        jobs: int = 1,
        cores: int = 1,
        scheduler: str | None = None,
        sweep: Mapping[str, Sequence[Any]] | None = None,
        zipped: Mapping[str, Sequence[Any]] | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        trace: bool = False,
        progress: bool | None = None,
    ) -> Results:
        """Run the study, or each point of a sweep, and return the results.

        Runs, files and numbers equal those of ``vlane simulate`` with the same changes.

        Parameters
        ----------
        jobs : int
            Number of concurrent runs. With more than 1, each runs in a process of its own, and a script needs the usual
            ``if __name__ == "__main__":`` around the call.
        cores : int
            Number of cores that share each run. Results do not depend on it.
        scheduler : str, optional
            Address of a dask scheduler, ``tcp://HOST:PORT``, whose workers make the runs.
        sweep : mapping of str to sequence, optional
            Values by dotted key; every combination is run.
        zipped : mapping of str to sequence, optional
            Values by dotted key that change together: one point for the first values of all keys, and so on.
        out : str or Path, optional
            Folder that keeps the runs; if omitted, runs are kept in memory only.
        resume : bool
            Whether to reuse finished runs of the folder.
        trace : bool
            Whether each run writes its packets to the folder.
        progress : bool, optional
            Whether finished runs and the estimated remaining time are shown on stderr; by default in a terminal and in
            a notebook.

        Raises
        ------
        InputError
            If an argument, the study or a point is rejected before anything runs, or if a swap's tables would be
            written while the exchange before it is pending.
        MissingExtraError
            If ``scheduler`` is given and the extra ``scale`` is not installed.
        StuckError
            If no flit moves in a network for ``run.stuck_cycles``.
        WorkerLostError
            If two processes died during the same run.

        Examples
        --------
        >>> study = Study.from_dict({
        ...     "network": {"topology": "tree", "k": 2, "n": 2},
        ...     "traffic": [{"sl": 0}],
        ...     "run": {"loads": [0.2], "cycles": 2000, "warm_up_cycles": 500},
        ... })
        >>> study.run(sweep={"run.loads": [0.1, 0.2]}).levels.select("load", "sl", "saturated").rows()
        [(0.1, 0, False), (0.2, 0, False)]
        """
        for name, given, most in (("jobs", jobs, _MOST_JOBS), ("cores", cores, MOST_PARTS)):
            if type(given) is not int or not 1 <= given <= most:
                raise InputError(name, f"a whole number, 1 to {most}", given)
        for name, values in (("sweep", sweep), ("zipped", zipped)):
            if values is not None and not isinstance(values, Mapping):
                raise InputError(name, "a mapping of keys to lists of values", type(values).__name__)
        if scheduler is not None and jobs > 1:
            raise misplaced("jobs", "with scheduler: its workers set the number of concurrent runs")
        if out is None and (trace or resume):
            raise missing_value("out", "trace and resume need a folder")
        points = make_sweep(self._file, sweep, zipped=zipped)
        cluster = Cluster(scheduler) if scheduler is not None else None
        said, is_shown = RunProgress(points, jobs), is_watched() if progress is None else progress

        def told(run: MadeRun, finished: int, whole: int) -> None:
            _log.info(said.words(run, finished, whole))

        with tempfile.TemporaryDirectory(prefix="vlane-") as scratch, progress_shown(is_shown=is_shown):
            folder = Path(scratch if out is None else out)
            with self._file.refusals():
                run_sweep(
                    points,
                    folder,
                    jobs=jobs,
                    resume=resume,
                    trace=trace,
                    told=told,
                    cluster=cluster,
                    cores=cores,
                    remark=_log.info,
                )
            results = Results.read(folder)
            return results if out is not None else replace(results, folder=None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and (self.model, self.base) == (other.model, other.base)

    def __hash__(self) -> int:
        return hash((self.model.model_dump_json(), self.base))

    def __repr__(self) -> str:
        name = self._file.document.source or f"a {self.model.network.topology}"
        return f"<Study {name}{' with ' * bool(self._file.changes)}{shown_changes(self._file.changes)}>"


_MOST_JOBS = 256
