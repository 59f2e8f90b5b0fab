"""Standard streams: complete output before exit, and conventional behaviour on closed pipes."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLOSED_PIPE = 141
"""Exit status after a closed output pipe: the status that shells report for SIGPIPE."""


class OutputError(Exception):
    """Output could not be written. Not an ``OSError``, which libraries would attribute to their own files."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause
        super().__init__(cause.strerror or "unusable")


class _Output:
    """Stream wrapper whose write errors are ``OutputError``."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def buffer(self) -> _Output:
        return _Output(self._stream.buffer)

    def write(self, content: Any) -> int:
        try:
            return int(self._stream.write(content))
        except OSError as error:
            raise OutputError(error) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputError(error) from None


@contextlib.contextmanager
def output_guarded() -> Iterator[None]:
    """Flush all output before the command ends.

    Characters that the terminal cannot show are escaped. If the reader closed the pipe, the command exits silently with
    ``CLOSED_PIPE``; if the output cannot be written, for example to a full disk, with one line and exit status 2.
    Output on stderr may be lost, because it is not a result.
    """
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Output(_showing_all(stream)) for stream in streams)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputError as error:
        _give_up(sys.stdout)
        if isinstance(error.cause, BrokenPipeError):
            sys.exit(CLOSED_PIPE)
        with contextlib.suppress(OutputError):
            sys.stderr.write(f"vlane: cannot write to stdout: {error}\n")
        sys.exit(2)
    finally:
        try:
            sys.stderr.flush()
        except OutputError:
            _give_up(sys.stderr)
        sys.stdout, sys.stderr = streams


def _showing_all(stream: Any) -> Any:
    """Return a stream that accepts any text, or the null device if the stream was closed before the start."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _give_up(stream: Any) -> None:
    """Discard unwritten output, before Python tries to flush it at exit."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
