"""What a command prints goes out, or the command ends as a shell's user expects."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLOSED_PIPE = 141
"""Exit status when nobody reads the output any more: what a shell shows of a program that SIGPIPE ended."""


class OutputError(Exception):
    """What was printed could not be written. No ``OSError``, which libraries take for one of their own files."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause
        super().__init__(cause.strerror or "unusable")


class _Output:
    """A stream, as it is, whose errors say that they are its own."""

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
    """Have all that is printed go out before the command ends.

    A character that the terminal cannot show is written as an escape. If nobody reads any more, the command ends
    quietly with ``CLOSED_PIPE``; if the output cannot be written, as to a full disk, with one line and exit status 2.
    What is told on stderr is no result: it may be lost.
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
            sys.stderr.write(f"vlane: stdout must be something that can be written, not {error}\n")
        sys.exit(2)
    finally:
        try:
            sys.stderr.flush()
        except OutputError:
            _give_up(sys.stderr)
        sys.stdout, sys.stderr = streams


def _showing_all(stream: Any) -> Any:
    """Return a stream that can show any text; nowhere if it was closed before this process began."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _give_up(stream: Any) -> None:
    """Lose what is still to be written, before Python tries once more at its end."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
