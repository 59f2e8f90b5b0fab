"""Checkpoints of a run: all its state in a file now and then, from which it goes on as if nothing had happened."""

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

SECONDS = 120.0
"""Between two checkpoints of a run; what is lost with a process is no more than this."""


@dataclass
class Checkpoint:
    """The file of a run that one core makes.

    Parameters
    ----------
    file : Path
        It is whole or not there.
    whose : str
        What tells the run, and what makes it, from all others.
    seconds : float
        Wall time between two checkpoints.
    """

    file: Path
    whose: str
    seconds: float = SECONDS
    _saved: float = field(default_factory=time.monotonic)

    def resume(self, network: OneCore) -> bool:
        """Bring a network before its first cycle to the state of the file; tell whether there was one of this run."""
        held = self._read()
        if str(held.pop("whose", "")) != self.whose:
            return False
        cpu_seconds = float(held.pop("cpu_seconds"))
        network.grow(int(held.pop("packets")))
        arrays = dict(_arrays("", network.whole()))
        for name, array in arrays.items():
            array[...] = held[name]
        network.cpu_seconds = cpu_seconds
        return True

    def _read(self) -> dict[str, NDArray[Any]]:
        """Return all that the file holds; nothing if it is missing or not whole, as its checksums tell."""
        try:
            with self.file.open("rb") as content, zipfile.ZipFile(content) as whole:
                if whole.testzip() is not None:
                    return {}
            with self.file.open("rb") as content, np.load(content, allow_pickle=False) as held:
                return dict(held)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            return {}

    def save_now_and_then(self, network: OneCore) -> None:
        """Write the state if the last time is long enough ago; if it cannot be written, the run goes on without it."""
        if time.monotonic() - self._saved < self.seconds:
            return
        content, (_, packets) = io.BytesIO(), network.whole()
        state: dict[str, Any] = dict(_arrays("", network.whole()))
        state |= {"whose": self.whose, "packets": len(packets.pool), "cpu_seconds": network.cpu_seconds}
        np.savez(content, **state)
        with contextlib.suppress(InputError):
            write_whole(self.file, content.getvalue(), option="--out")
        self._saved = time.monotonic()

    def forget(self) -> None:
        """Remove the file, as the run is finished or begins anew."""
        self.file.unlink(missing_ok=True)


def _arrays(name: str, value: object) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield every array of a state by the names that lead to it."""
    if isinstance(value, Records):
        yield name, value.array
    elif isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        for each, part in zip(names, value, strict=True):
            yield from _arrays(f"{name}.{each}" if name else str(each), part)
