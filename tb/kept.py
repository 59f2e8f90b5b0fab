"""Folders of the cache that are made once, whole or not at all, whoever else makes the same meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["kept_folder", "locked"]


def kept_folder(folder: Path, result: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that holds a result; if it does not, it is made and put in its place as a whole.

    Parameters
    ----------
    folder : Path
        Its name says all that the result is made of; the folder above is there.
    result : str
        The file for whose sake it is made.
    make : callable
        Leaves the result in the folder that it is given, or raises.
    """
    if (folder / result).is_file():
        return folder
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        make(work)
        if not (folder / result).is_file():
            shutil.rmtree(folder, ignore_errors=True)  # of what somebody took the result
        try:
            work.replace(folder)
        except OSError:  # somebody else made it meanwhile
            if not (folder / result).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be alone in a folder: another process that wants to, waits."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
