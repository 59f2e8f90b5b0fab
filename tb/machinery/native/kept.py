"""Folders of the cache, each created by one process while others wait."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


def cached_folder(folder: Path, result: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of a result, created and moved into place atomically if missing.

    One process at a time creates a folder. The other processes wait and reuse the folder.

    Parameters
    ----------
    folder : Path
        Folder whose name identifies everything that determines the result; its parent must exist.
    result : str
        File whose presence marks the folder as complete.
    make : callable
        Function of a folder that writes the result to the folder, or raises.
    """
    if (folder / result).is_file():
        return folder
    with _creation_lock(folder):
        if not (folder / result).is_file():
            _create_folder(folder, result, make)
    return folder


def _create_folder(folder: Path, result: str, make: Callable[[Path], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        make(work)
        if not (folder / result).is_file():
            shutil.rmtree(folder, ignore_errors=True)  # remains of a folder whose result was removed
        try:
            work.replace(folder)
        except OSError:  # another process created it meanwhile: one that found no lock to wait for
            if not (folder / result).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _creation_lock(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder, even before the folder exists. The lock file is removed at the end."""
    place = folder.parent / f".{folder.name}.lock"
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            place.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder. A second process waits for the lock."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
