"""Reading of text files line by line, with refusals that name file and line."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, NoReturn

from vlane.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["TextFile", "number", "toml_document", "whole_text"]


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")


class TextFile:
    """A text file being read; it knows the line it stands on.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        If it cannot be read, is no text, or is empty.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 0
        try:
            self._lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise InputError("content", "UTF-8 text", f"byte {error.start}", source=str(path)) from None
        except OSError as error:
            raise InputError("file", "readable", error.strerror or "unreadable", source=str(path)) from None
        if not any(line.strip() for line in self._lines):
            raise InputError("content", "text", "an empty file", source=str(path))

    def __iter__(self) -> Iterator[str]:
        for number_, line in enumerate(self._lines, start=1):
            self.line = number_
            yield line

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


def number(text: str) -> int | None:
    """Return a decimal or 0x number, or ``None`` if the text is none."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return int(text, 16 if text[:2].lower() == "0x" else 10)


def whole_text(path: Path, what: str) -> str:
    """Return all of a text file; ``what`` it is called if it cannot be read.

    Raises
    ------
    InputError
        If it cannot be read or is no text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(what, "readable", error.strerror or "unreadable", source=str(path)) from None
    except UnicodeDecodeError:
        raise InputError(what, "UTF-8 text", "other bytes", source=str(path)) from None


def toml_document(path: Path, what: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return a TOML file as a document; it raises what ``whole_text`` does.

    Raises
    ------
    InputError
        If it is no TOML.
    """
    text = whole_text(path, what)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        raise InputError("content", "TOML", str(error) or "nested too deep", source=str(path)) from None
