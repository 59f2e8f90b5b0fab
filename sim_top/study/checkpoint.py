"""Checkpoints of a run: the complete state is saved to a file periodically, and a run can continue from it."""

from __future__ import annotations

import contextlib
import io
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.documents.files import write_whole
from vlane.errors import InputError
from vlane.golden.compiler.records import Records
from vlane.golden.network.cores import OneCore
from vlane.sim_top.study.course import Course

_SAMPLES = "course/"
SECONDS = 120.0
"""Interval between checkpoints of a run, and upper bound of the work lost with a process."""


@dataclass
class Checkpoint:
    """Checkpoint file of a run on one core.

    Parameters
    ----------
    file : Path
        Checkpoint file, written atomically.
    whose : str
        Identity of the run and of the program that makes it.
    seconds : float
        Wall time between checkpoints.
    """

    file: Path
    whose: str
    seconds: float = SECONDS
    _saved: float = field(default_factory=time.monotonic)

    def resume(self, network: OneCore, course: Course) -> bool:
        """Restore an unstarted network and its samples. Return whether the file held a checkpoint of this run."""
        held = self._read()
        if str(held.pop("whose", "")) != self.whose:
            return False
        cpu_seconds = float(held.pop("cpu_seconds"))
        network.grow(int(held.pop("packets")))
        arrays = dict(_arrays("", network.whole()))
        for name, array in arrays.items():
            array[...] = held[name]
        network.cpu_seconds = cpu_seconds
        own = {name.removeprefix(_SAMPLES): array for name, array in held.items() if name.startswith(_SAMPLES)}
        course.restore(own)
        return True

    def _read(self) -> dict[str, NDArray[Any]]:
        """Return the content of the file, empty if the file is missing or its checksums fail."""
        try:
            with self.file.open("rb") as content, zipfile.ZipFile(content) as whole:
                if whole.testzip() is not None:
                    return {}
            with self.file.open("rb") as content, np.load(content, allow_pickle=False) as held:
                return dict(held)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            return {}

    def save_now_and_then(self, network: OneCore, course: Course) -> None:
        """Write the state if the interval has passed. Write errors are ignored."""
        if time.monotonic() - self._saved < self.seconds:
            return
        content, (_, packets) = io.BytesIO(), network.whole()
        state: dict[str, Any] = dict(_arrays("", network.whole()))
        state |= {f"{_SAMPLES}{name}": array for name, array in course.state().items()}
        state |= {"whose": self.whose, "packets": len(packets.pool), "cpu_seconds": network.cpu_seconds}
        np.savez(content, **state)
        with contextlib.suppress(InputError):
            write_whole(self.file, content.getvalue(), option="--out")
        self._saved = time.monotonic()

    def forget(self) -> None:
        """Remove the file."""
        self.file.unlink(missing_ok=True)


def _arrays(name: str, value: object) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield every array of a state with its path of names."""
    if isinstance(value, Records):
        yield name, value.array
    elif isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        for each, part in zip(names, value, strict=True):
            yield from _arrays(f"{name}.{each}" if name else str(each), part)
