"""Isolation: nothing is executed or loaded from the working directory (``docs/files.md``).

This module may run while the working directory still comes first on Python's path. It must import only modules that
Python has already loaded: otherwise a file named ``pathlib.py`` or ``__future__.py`` there would be imported.
"""

import os
import sys


def leave_out_working_directory() -> None:
    """Remove the working directory, where ``python -m`` looks first, from Python's path.

    If this package itself is there, as in a checkout, the folder moves to the end: child processes must find the
    package.
    """
    if sys.flags.safe_path:
        return
    try:
        here = os.path.realpath(".")
    except FileNotFoundError:  # removed, so it contains nothing
        return
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    kept = [entry for entry in sys.path if os.path.realpath(entry or ".") != here]
    if len(kept) < len(sys.path) and os.path.realpath(home) == here:
        kept.append(home)
    sys.path[:] = kept


def guarded_variables() -> dict[str, str]:
    """Return environment variables that keep child processes from loading files of their working directory.

    Python ignores its start folder, and programs are looked up in absolute folders only.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {"PATH": os.pathsep.join(filter(os.path.isabs, folders)) or os.defpath, "PYTHONSAFEPATH": "1"}


class WithoutFile:
    """Context in which the working directory lacks a file, so that an imported library cannot read it.

    If the file exists, the process changes to the folder of this module meanwhile.

    Parameters
    ----------
    name : str
        Name of the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._back: int | None = None

    def __enter__(self) -> None:
        if os.path.exists(self._name):  # noqa: PTH110
            self._back = os.open(".", getattr(os, "O_PATH", os.O_RDONLY))
            os.chdir(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120

    def __exit__(self, *_: object) -> None:
        if self._back is not None:
            os.fchdir(self._back)
            os.close(self._back)
