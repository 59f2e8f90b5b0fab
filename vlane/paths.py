"""Locations of generated files: outputs under ``build``, compiled files in the user's cache (``docs/files.md``)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from vlane.documents.files import usable_folder
from vlane.errors import InputError, missing_value

_PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def build_dir(*parts: str) -> Path:
    """Return a folder for outputs under ``build`` in the current folder, created if missing.

    Raises
    ------
    InputError
        If the folder is not writable.
    """
    return usable_folder(Path("build").absolute().joinpath(*parts), option="build folder")


def cache_base() -> Path:
    """Return the folder for compiled files, which may not exist yet.

    It is ``$VLANE_CACHE``, else ``$XDG_CACHE_HOME/vlane`` if that is absolute, else ``~/.cache/vlane``. A relative
    ``$VLANE_CACHE`` is made absolute for this process and its children.

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
        raise missing_value("VLANE_CACHE", "without a home folder, set it to a folder for compiled files")
    return shared_or_own / "vlane"


def cache_dir(*parts: str) -> Path:
    """Return a folder in the user's cache, created with mode 0700 if missing.

    Code is loaded from the folder. Therefore it and all folders above it, up to ``cache_base``, must belong to the user
    and must not be writable for other users.

    Raises
    ------
    InputError
        If the folder is not writable or not private; the error names ``VLANE_CACHE``.
    """
    folder = cache_base()
    must = "a writable folder"
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
        problem = f": the folder belongs to user {found.st_uid}, but code is loaded from it; choose your own folder"
        raise InputError("VLANE_CACHE", "your own folder", found.st_uid, problem=problem, source=str(folder))
    if found.st_mode & _OTHERS_WRITE:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        problem = f": other users can write to the folder (mode {mode}), but code is loaded from it; run chmod go-w"
        raise InputError("VLANE_CACHE", "writable only for you", mode, problem=problem, source=str(folder))


def _reason(error: OSError) -> str:
    return "a file" if isinstance(error, FileExistsError) else error.strerror or "unusable"
