"""Writing of results: whole files or none, and none in place of a file that was read (``docs/files.md``)."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from vlane.errors import InputError

_STDOUT, _STDERR = 1, 2
_NEW_MODE = 0o666
_inputs: set[tuple[int, int]] | None = None
"""Devices and numbers of the files that a command has read; ``None`` where nobody asks."""


@contextlib.contextmanager
def inputs_kept() -> Iterator[None]:
    """Let no output replace a file that was read as an input before, while this lasts: a command's own."""
    global _inputs  # noqa: PLW0603 - of the process, as files are
    before, _inputs = _inputs, set()
    try:
        yield
    finally:
        _inputs = before


def note_input(file: Path) -> None:
    """Remember a file as an input, whatever its name and the links to it."""
    if _inputs is not None and (found := _place(file)):
        _inputs.add(found)


def not_an_input(file: Path, *, option: str) -> None:
    """Refuse a file for an output that was read as an input.

    Raises
    ------
    InputError
        Naming the option.
    """
    if _inputs and _place(file) in _inputs:
        raise InputError(option, "another file than one that is read", str(file))


def _place(file: Path) -> tuple[int, int] | None:
    """Return device and number of a regular file, the one that a link leads to."""
    try:
        found = file.stat()
    except (OSError, ValueError):  # of the name: a zero byte, or half a character
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def write_whole(file: Path, content: str | bytes, *, option: str) -> None:
    """Write a file; an existing file stays until the new content is complete.

    A regular file, or one that is not there yet, is replaced as a whole, and keeps its mode; where the name is a
    link, the file that it leads to. A device, a pipe and what this process has as its output are written to.

    Parameters
    ----------
    file : Path
        Name of the file.
    content : str or bytes
        Text is written in UTF-8; what UTF-8 cannot say, as an escape.
    option : str
        Option that named the file.

    Raises
    ------
    InputError
        Naming the option, if the file cannot be written, or was read (``inputs_kept``); nothing is left behind.
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
        raise InputError(option, "a file that can be written", error.strerror or "unusable", source=str(file)) from None
    except ValueError as error:  # of the name: a zero byte, or half a character
        must = "a name that a file can have"
        raise InputError(option, must, f"one without ({error})", source=str(file)) from None


def _status(file: Path) -> os.stat_result | None:
    """Return what is known of a file, the one that a link leads to; ``None`` if there is none."""
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _own_stream(found: os.stat_result | None) -> int | None:
    """Return the number of this process' output that a file is, as ``/dev/stdout`` is; of two, the first."""
    for stream in (_STDOUT, _STDERR) if found else ():
        try:
            if os.path.samestat(os.fstat(stream), found):  # type: ignore[arg-type]
                return stream
        except OSError:  # closed
            continue
    return None


def _write_to_stream(stream: int, data: bytes) -> None:
    """Write where the output is by now, behind what was printed before."""
    printed = sys.stdout if stream == _STDOUT else sys.stderr
    below = getattr(printed, "buffer", None)
    if below is None:  # it was closed or is no file
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
    """Put a new file in place of one, or of nothing."""
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
    """Return a folder for results, made if it is missing.

    Raises
    ------
    InputError
        Naming the option, if it cannot be written to.
    """
    must = "a folder that can be written"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK)
    except OSError as error:
        raise InputError(option, must, error.strerror or "unusable", source=str(folder)) from None
    except ValueError as error:
        must = "a name that a folder can have"
        raise InputError(option, must, f"one without ({error})", source=str(folder)) from None
    if not usable:
        raise InputError(option, must, "read-only", source=str(folder))
    return folder
