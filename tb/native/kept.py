"""Folders of the cache that are created once, atomically, even if several processes create the same one."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["kept_folder", "locked"]


def kept_folder(folder: Path, result: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that holds a result; if it does not, create it and move it into place as a whole.

    Parameters
    ----------
    folder : Path
        Folder whose name identifies everything that determines the result; its parent must exist.
    result : str
        File whose presence marks the folder as complete.
    make : callable
        Writes the result to the folder that it is given, or raises.
    """
    if (folder / result).is_file():
        return folder
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        make(work)
        if not (folder / result).is_file():
            shutil.rmtree(folder, ignore_errors=True)  # remains of a folder whose result was removed
        try:
            work.replace(folder)
        except OSError:  # another process created it meanwhile
            if not (folder / result).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder; other processes that call this wait."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
