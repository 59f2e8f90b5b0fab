"""Atomic writing of several files into one folder, without silent overwriting."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from vlane.documents.files import usable_folder
from vlane.errors import InputError


def write_together(folder: Path, files: Mapping[str, str | bytes], *, option: str, force: bool) -> list[Path]:
    """Write files into a folder, created if missing, all or none, and return their paths in order.

    Files with equal content are left untouched. All new contents are first written to temporary files in the folder,
    then renamed. The target of a symbolic link is replaced, not the link.

    Parameters
    ----------
    folder : Path
        Output folder.
    files : mapping of str to str or bytes
        Contents by name.
    option : str
        Option that named the folder, for errors.
    force : bool
        Whether to overwrite files whose content differs.

    Raises
    ------
    InputError
        If a file has other content and ``force`` is not set, a name belongs to something other than a file, or writing
        fails. No file is then written.
    """
    usable_folder(folder, option=option)
    wanted = {
        Path(os.path.realpath(folder / name)): content if isinstance(content, bytes) else content.encode()
        for name, content in files.items()
    }
    fresh = {file: content for file, content in wanted.items() if not _is_there(file, content, option, force=force)}
    parts = {file: file.with_name(f".{file.name}.{os.getpid()}.part") for file in fresh}
    file = folder
    try:
        for file, content in fresh.items():
            parts[file].write_bytes(content)
        for file, part in parts.items():
            part.replace(file)
    except OSError as error:
        raise _unusable(option, file, error) from None
    finally:
        for part in parts.values():
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
    return [folder / name for name in files]


def _is_there(file: Path, content: bytes, option: str, *, force: bool) -> bool:
    """Return whether a file already has its content, and reject a file that must not be overwritten."""
    try:
        if not os.path.lexists(file):
            return False
        if not file.is_file():
            problem = ": not a regular file, so it cannot be overwritten"
            raise InputError(option, "a regular file", "something else", source=str(file), problem=problem)
        same = file.read_bytes() == content
    except OSError as error:
        raise _unusable(option, file, error) from None
    if not same and not force:
        problem = "is needed: the file exists with different content"
        raise InputError("--force", "given", "left out", source=str(file), problem=problem)
    return same


def _unusable(option: str, file: Path, error: OSError) -> InputError:
    reason = error.strerror or "unusable"
    problem = f": cannot write: {reason}"
    return InputError(option, "a writable folder", reason, source=str(file), problem=problem)
