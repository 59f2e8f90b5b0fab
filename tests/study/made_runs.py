"""Functions that worker processes of the tests call. The module imports little, to start fast."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def twice(load: float, seed: int) -> float:
    """Return ``2 * load + seed``."""
    return 2 * load + seed


def dies_until(folder: Path, deaths: int, load: float, seed: int) -> float:
    """Kill the process ``deaths`` times for seed 1 and otherwise return ``twice``. Each death adds a file."""
    if seed == 1 and len(list(folder.iterdir())) < deaths:
        (folder / str(time.monotonic_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return twice(load, seed)


class _NoPickleError(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def fails(load: float, seed: int) -> float:
    """Raise an exception that cannot be pickled."""
    raise _NoPickleError(int(load), seed)


def dies_once_then_runs(*given: object, **more: object) -> object:
    """Kill the process once and otherwise make the run of a study.

    The file named by ``VLANE_TEST_MARK`` records the death.
    """
    from vlane.sim_top.study.study_runs import _one  # noqa: PLC0415 - only what makes such runs needs it

    mark = Path(os.environ["VLANE_TEST_MARK"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _one(*given, **more)  # type: ignore[arg-type]
