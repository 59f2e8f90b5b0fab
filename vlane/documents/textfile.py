"""Reading of text files line by line, with errors that name file and line."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from vlane.documents.files import note_input
from vlane.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MOST_BYTES = 1 << 26
"""Largest size of a file that is read at once."""
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")
_PIECE = 1 << 20
"""Bytes per read, and longest accepted line; lines of real dumps are below a thousand bytes."""


class TextFile:
    """Text file that is read line by line and counts its lines.

    Only line feeds end lines (a preceding carriage return is dropped), as in the tools that write dumps; other Unicode
    line separators may occur in names. Invalid UTF-8 is kept as surrogates, which ``vlane.shown.harmless`` displays.
    The file is never held in memory as a whole.

    Parameters
    ----------
    path : Path
        File to read.

    Raises
    ------
    InputError
        On reading: if the file cannot be read, is empty, or has a line of more than a million bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 0

    def __iter__(self) -> Iterator[str]:
        self.line, blank = 0, True
        for lines in self._pieces():
            for line in lines:
                self.line += 1
                yield line
            blank = blank and not any(map(str.strip, lines))
        if blank:
            raise InputError("content", "not empty", "empty", source=str(self.path), problem=": the file is empty")

    def _pieces(self) -> Iterator[list[str]]:
        """Yield the lines in lists of about a million bytes."""
        note_input(self.path)
        try:
            with self.path.open("rb") as file:
                rest = b""
                while block := file.read(_PIECE):
                    whole, end, tail = block.rpartition(b"\n")
                    if end:
                        yield _lines(rest + whole)
                        rest = b""
                    rest += tail
                    if len(rest) > _PIECE:
                        self.line += 1
                        self.refuse(
                            "line", f"at most {_PIECE} bytes", "longer", problem=f"is longer than {_PIECE} bytes"
                        )
                if rest:
                    yield _lines(rest)
        except OSError as error:
            reason, source = error.strerror or "unreadable", str(self.path)
            raise InputError("file", "readable", reason, source=source, problem=f"cannot be read: {reason}") from None

    def refuse(self, field: str, must: str, got: object, *, problem: str = "") -> NoReturn:
        """Raise an ``InputError`` about the line read last."""
        raise InputError(field, must, got, source=str(self.path), line=self.line, problem=problem)

    def number(self, field: str, text: str, least: int, most: int) -> int:
        """Return a number of the current line, decimal or 0x.

        Raises
        ------
        InputError
            If the text is not a number or out of range.
        """
        value = number(text)
        if value is None or not least <= value <= most:
            self.refuse(field, f"{least} to {most}", text)
        return value

    def numbers(self, field: str, least: int, most: int) -> Mapping[str, int]:
        """Return a mapping from texts of a field to numbers, each parsed once by ``number``.

        For fields with millions of lines and few distinct values.
        """
        return _Numbers(self, field, least, most)


def _lines(piece: bytes) -> list[str]:
    lines = piece.decode("utf-8", "surrogateescape").split("\n")
    return [line.removesuffix("\r") for line in lines] if b"\r" in piece else lines


def number(text: str) -> int | None:
    """Return a decimal or 0x number, or ``None`` if the text is not a number."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return int(text, 16 if text[:2].lower() == "0x" else 10)


class _Numbers(dict[str, int]):
    """Numbers of one field, each parsed once."""

    def __init__(self, dump: TextFile, field: str, least: int, most: int) -> None:
        super().__init__()
        self._read = partial(dump.number, field, least=least, most=most)

    def __missing__(self, text: str) -> int:
        self[text] = value = self._read(text)
        return value


def whole_text(path: Path, what: str) -> str:
    """Return the whole text of a file with line feeds as line ends. Errors call the file ``what``.

    Raises
    ------
    InputError
        If the file cannot be read, is not UTF-8, or exceeds 64 MiB.
    """
    note_input(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise InputError(what, "readable", reason, source=str(path), problem=f"cannot be read: {reason}") from None
    except ValueError:
        reason = "invalid file name"
        raise InputError(what, "readable", reason, source=str(path), problem=f"cannot be read: {reason}") from None
    if len(data) > _MOST_BYTES:
        problem = f"is larger than {_MOST_BYTES} bytes"
        raise InputError(what, f"at most {_MOST_BYTES} bytes", "larger", source=str(path), problem=problem)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        got = f"byte 0x{error.object[error.start]:02x}"
        problem = f"is not UTF-8 text: {got}"
        raise InputError(what, "UTF-8 text", got, source=str(path), line=line, problem=problem) from None
