"""Places of generated files: outputs under ``build``, compiled files in the user's cache (``docs/files.md``)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from vlane.documents.files import usable_folder
from vlane.errors import InputError

_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def build_dir(*parts: str) -> Path:
    """Return a folder for outputs under ``build`` in the current folder; it is created if it is missing.

    Raises
    ------
    InputError
        If it cannot be written to.
    """
    return usable_folder(Path("build").absolute().joinpath(*parts), option="build folder")


def cache_base() -> Path:
    """Return the folder for compiled files, which may not exist yet.

    It is ``$VLANE_CACHE``, else ``$XDG_CACHE_HOME/vlane`` if that is absolute, else ``~/.cache/vlane``. A relative
    ``$VLANE_CACHE`` is made absolute, once, for this process and those that it starts.

    Raises
    ------
    InputError
        If there is no home folder.
    """
    given, shared = os.environ.get("VLANE_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    if given:
        base = os.environ["VLANE_CACHE"] = os.path.abspath(given)  # noqa: PTH100 - `..` behind a link means the name
        return Path(base)
    shared_or_own = Path(shared) if Path(shared).is_absolute() else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    if not shared_or_own.is_absolute():  # `~` of an unknown user
        raise InputError("VLANE_CACHE", "a folder for what is compiled, as there is no home", "missing")
    return shared_or_own / "vlane"


def cache_dir(*parts: str) -> Path:
    """Return a folder in the user's cache; it is created with mode 0700 if it is missing.

    Code is loaded from there: so the folder, and every one above it up to ``cache_base``, must belong to the user, and
    no other user may write to it.

    Raises
    ------
    InputError
        Naming ``VLANE_CACHE``, if that is not so, or it cannot be written to.
    """
    folder = cache_base()
    must = "a folder that can be written"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for part in ("", *parts):
            folder /= part
            folder.mkdir(mode=_PRIVATE, exist_ok=True)
            _check_private(folder)
        usable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise InputError("VLANE_CACHE", must, _reason(error), source=str(folder)) from None
    if not usable:
        raise InputError("VLANE_CACHE", must, "read-only", source=str(folder))
    return folder


def _check_private(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid != os.geteuid():
        must = "a folder of your own, as code is loaded from it"
        raise InputError("VLANE_CACHE", must, f"one of user {found.st_uid}", source=str(folder))
    if found.st_mode & _OTHERS_WRITE:
        must = "a folder that only you can write to, as code is loaded from it (chmod go-w)"
        mode = f"one of mode {stat.S_IMODE(found.st_mode):04o}"
        raise InputError("VLANE_CACHE", must, mode, source=str(folder))


def _reason(error: OSError) -> str:
    return "a file" if isinstance(error, FileExistsError) else error.strerror or "unusable"
