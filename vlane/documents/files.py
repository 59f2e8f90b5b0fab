"""Atomic writing of results, with protection of input files (``docs/files.md``)."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from vlane.errors import InputError, shown

_STDOUT, _STDERR = 1, 2
_NEW_MODE = 0o666
_inputs: set[tuple[int, int]] | None = None
"""Device and inode numbers of the files that a command has read; ``None`` outside ``inputs_kept``."""


@contextlib.contextmanager
def inputs_kept() -> Iterator[None]:
    """Within the context, forbid outputs to replace files that were read as inputs."""
    global _inputs  # noqa: PLW0603 - one set per process
    before, _inputs = _inputs, set()
    try:
        yield
    finally:
        _inputs = before


def note_input(file: Path) -> None:
    """Register a file as an input, resolving links."""
    if _inputs is not None and (found := _place(file)):
        _inputs.add(found)


def not_an_input(file: Path, *, option: str) -> None:
    """Reject an output file that was read as an input.

    Raises
    ------
    InputError
        If the file was read; names the option.
    """
    if _inputs and _place(file) in _inputs:
        problem = f": {shown(str(file))} is also an input; choose another file"
        raise InputError(option, "a file that is not an input", str(file), problem=problem)


def _place(file: Path) -> tuple[int, int] | None:
    """Return device and inode number of a regular file, following links, or ``None`` for anything else."""
    try:
        found = file.stat()
    except (OSError, ValueError):  # ValueError: the name has a zero byte or half a character
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def write_whole(file: Path, content: str | bytes, *, option: str) -> None:
    """Write a file atomically: an existing file stays until the new content is complete.

    A regular or missing file is replaced as a whole and keeps its mode; links are followed. A device, a pipe and this
    process's own output are written to directly.

    Parameters
    ----------
    file : Path
        File name.
    content : str or bytes
        Content; text is encoded in UTF-8, with escapes for surrogates.
    option : str
        Option that named the file, for errors.

    Raises
    ------
    InputError
        If the file cannot be written, or was read as an input (``inputs_kept``); names the option. No partial file
        remains.
    """
    not_an_input(file, option=option)
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    try:
        found = _status(file)
        stream = _own_stream(found)
        if stream is not None:
            _write_to_stream(stream, data)
        elif found is None or stat.S_ISREG(found.st_mode):
            _replace(Path(os.path.realpath(file)), found, data)
        elif stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(None, "a folder")
        else:
            with os.fdopen(os.open(file, os.O_WRONLY), "wb", buffering=0) as opened:
                _write_all(opened.fileno(), data)
    except OSError as error:
        reason = error.strerror or "unusable"
        problem = f": cannot write the file: {reason}"
        raise InputError(option, "a writable file", reason, source=str(file), problem=problem) from None
    except ValueError as error:  # the name has a zero byte or half a character
        problem = f": invalid file name: {error}"
        raise InputError(option, "a valid file name", str(file), source=str(file), problem=problem) from None


def _status(file: Path) -> os.stat_result | None:
    """Return the status of a file, following links, or ``None`` if it does not exist."""
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _own_stream(found: os.stat_result | None) -> int | None:
    """Return 1 or 2 if a file is this process's stdout or stderr, such as ``/dev/stdout``, otherwise ``None``."""
    for stream in (_STDOUT, _STDERR) if found else ():
        try:
            if os.path.samestat(os.fstat(stream), found):  # type: ignore[arg-type]
                return stream
        except OSError:  # closed
            continue
    return None


def _write_to_stream(stream: int, data: bytes) -> None:
    """Write to an output stream, after everything printed before."""
    printed = sys.stdout if stream == _STDOUT else sys.stderr
    below = getattr(printed, "buffer", None)
    if below is None:  # the stream is closed or not a file
        _write_all(stream, data)
        return
    printed.flush()
    below.write(data)
    below.flush()


def _write_all(opened: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(opened, left) :]


def _replace(file: Path, found: os.stat_result | None, data: bytes) -> None:
    """Replace a file atomically, or create it."""
    if found and not os.access(file, os.W_OK):
        raise PermissionError(None, "a read-only file")
    fresh = file.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_MODE), "wb", buffering=0) as opened:
            if found:
                with contextlib.suppress(OSError):
                    os.fchown(opened.fileno(), found.st_uid, found.st_gid)
                os.fchmod(opened.fileno(), stat.S_IMODE(found.st_mode))
            _write_all(opened.fileno(), data)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def usable_folder(folder: Path, *, option: str) -> Path:
    """Return a writable folder, created if missing.

    Raises
    ------
    InputError
        If the folder cannot be written; names the option.
    """
    must = "a writable folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK)
    except OSError as error:
        reason = error.strerror or "unusable"
        problem = f": cannot use the folder: {reason}"
        raise InputError(option, must, reason, source=str(folder), problem=problem) from None
    except ValueError as error:
        problem = f": invalid folder name: {error}"
        raise InputError(option, "a valid folder name", str(folder), source=str(folder), problem=problem) from None
    if not usable:
        problem = ": the folder is read-only"
        raise InputError(option, must, "read-only", source=str(folder), problem=problem)
    return folder
