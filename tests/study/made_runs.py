"""What worker processes of the tests make; it imports little, as every process does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def twice(load: float, seed: int) -> float:
    """Return twice the load and the seed."""
    return 2 * load + seed


def dies_until(folder: Path, deaths: int, load: float, seed: int) -> float:
    """Be killed so many times with seed 1, else answer; each death leaves a file."""
    if seed == 1 and len(list(folder.iterdir())) < deaths:
        (folder / str(time.monotonic_ns())).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return twice(load, seed)


class _NoPickleError(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def fails(load: float, seed: int) -> float:
    """Fail in a way that does not come through a pipe."""
    raise _NoPickleError(int(load), seed)


def dies_once_then_runs(*given: object, **more: object) -> object:
    """Be killed once, by a file that the environment names; else make the run of a study as it is made."""
    from vlane.sim_top.study.study_runs import _one  # noqa: PLC0415 - only what makes such runs needs it

    mark = Path(os.environ["VLANE_TEST_MARK"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _one(*given, **more)  # type: ignore[arg-type]
