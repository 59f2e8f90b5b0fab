"""Writing of results: a file appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from vlane.errors import InputError

__all__ = ["usable_folder", "write_whole"]


def write_whole(file: Path, text: str, *, option: str) -> None:
    """Write a file; what was there stays until all of the new content is.

    Raises
    ------
    InputError
        Naming the option, if the file cannot be written.
    """
    try:
        if not file.name or file.is_dir():
            raise InputError(option, "a file that can be written", "a folder", source=str(file))
        fresh = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(file)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(option, "a file that can be written", error.strerror or "unusable", source=str(file)) from None


def usable_folder(folder: Path, *, option: str) -> Path:
    """Return a folder for results, made if it is missing.

    Raises
    ------
    InputError
        Naming the option, if it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            option, "a folder that can be written", error.strerror or "unusable", source=str(folder)
        ) from None
    if not os.access(folder, os.W_OK):
        raise InputError(option, "a folder that can be written", "read-only", source=str(folder))
    return folder
