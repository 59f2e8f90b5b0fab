"""Isolation: nothing is executed or loaded from the working directory (``docs/files.md``).

This module is imported while the working directory may still come first on Python's path. So it imports only what
Python itself has loaded by then: a file there named ``pathlib.py``, or ``__future__.py``, would be taken otherwise.
"""

import os
import sys


def leave_out_working_directory() -> None:
    """Remove the working directory, where ``python -m`` looks first, from Python's path.

    If this package itself was found there, as in a checkout, the folder is looked in last: processes that are started
    must find the package too.
    """
    if sys.flags.safe_path:
        return
    try:
        here = os.path.realpath(".")
    except FileNotFoundError:  # it was removed: nothing is in it
        return
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    kept = [entry for entry in sys.path if os.path.realpath(entry or ".") != here]
    if len(kept) < len(sys.path) and os.path.realpath(home) == here:
        kept.append(home)
    sys.path[:] = kept


def guarded_variables() -> dict[str, str]:
    """Return the environment variables that keep programs which are started from loading from their folder.

    Python does not look where it was started, and a program is looked for in absolute folders only.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {"PATH": os.pathsep.join(filter(os.path.isabs, folders)) or os.defpath, "PYTHONSAFEPATH": "1"}


class WithoutFile:
    """A context in which the working directory has no file of a name: a library that is imported would read it.

    If there is such a file, this process works in the folder of this module meanwhile.

    Parameters
    ----------
    name : str
        The file's.
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
