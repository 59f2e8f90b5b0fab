"""Reading of text files line by line, with refusals that name file and line."""

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
"""Of a file that is read whole."""
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")
_PIECE = 1 << 20
"""Bytes read at a time, and the longest line: no dump has one of a thousand."""


class TextFile:
    """A text file that is read line by line; it counts the lines.

    Lines end at a line feed alone (a carriage return before it is dropped), as the tools that write them mean it:
    other characters that Python takes for line ends may stand in a name. Bytes that are no UTF-8 are kept as
    surrogates, which ``vlane.shown.harmless`` shows. The file is read in pieces, never held whole.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        When it is read: if it cannot be, is empty, or has a line of more than a million bytes.
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
            raise InputError("content", "text", "an empty file", source=str(self.path))

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
                        self.refuse("line", f"at most {_PIECE} bytes", "a longer one")
                if rest:
                    yield _lines(rest)
        except OSError as error:
            raise InputError("file", "readable", error.strerror or "unreadable", source=str(self.path)) from None

    def refuse(self, field: str, must: str, got: object) -> NoReturn:
        """Refuse the line that was read last."""
        raise InputError(field, must, got, source=str(self.path), line=self.line)

    def number(self, field: str, text: str, least: int, most: int) -> int:
        """Return a number of the current line, decimal or 0x.

        Raises
        ------
        InputError
            If it is none or out of range.
        """
        value = number(text)
        if value is None or not least <= value <= most:
            self.refuse(field, f"{least} to {most}", text)
        return value

    def numbers(self, field: str, least: int, most: int) -> Mapping[str, int]:
        """Return what the texts of a field mean, each read by ``number`` when it is asked for the first time.

        For fields of millions of lines with few different values.
        """
        return _Numbers(self, field, least, most)


def _lines(piece: bytes) -> list[str]:
    lines = piece.decode("utf-8", "surrogateescape").split("\n")
    return [line.removesuffix("\r") for line in lines] if b"\r" in piece else lines


def number(text: str) -> int | None:
    """Return a decimal or 0x number, or ``None`` if the text is none."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return int(text, 16 if text[:2].lower() == "0x" else 10)


class _Numbers(dict[str, int]):
    """The numbers of one field, each read once."""

    def __init__(self, dump: TextFile, field: str, least: int, most: int) -> None:
        super().__init__()
        self._read = partial(dump.number, field, least=least, most=most)

    def __missing__(self, text: str) -> int:
        self[text] = value = self._read(text)
        return value


def whole_text(path: Path, what: str) -> str:
    """Return all of a text file, its lines ended by line feeds; ``what`` it is called if it cannot be read.

    Raises
    ------
    InputError
        If it cannot be read, is no UTF-8 text, or has more than 64 MiB.
    """
    note_input(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(what, "readable", error.strerror or "unreadable", source=str(path)) from None
    except ValueError:
        raise InputError(what, "readable", "a name that no file can have", source=str(path)) from None
    if len(data) > _MOST_BYTES:
        raise InputError(what, f"at most {_MOST_BYTES} bytes", "a larger file", source=str(path))
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        got = f"byte 0x{error.object[error.start]:02x}"
        raise InputError(what, "UTF-8 text", got, source=str(path), line=line) from None
