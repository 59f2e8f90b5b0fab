"""TOML and JSON documents; errors in them name the line of the key."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vlane.documents import key_lines
from vlane.documents.textfile import whole_text
from vlane.errors import InputError

_LOOKED_AT_AGAIN = 1 << 20
"""Size in bytes of the largest file that is read again to find a line."""
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"|\[(\d+)\]|([^.\[\]\s"]++)')


@dataclass(frozen=True, slots=True)
class Document:
    """Contents of a file.

    Parameters
    ----------
    source : str
        The file.
    text : str
        The text as it was read.
    content : object
        The parsed contents.
    """

    source: str
    text: str = field(repr=False)
    content: Any

    def placed(self, error: InputError) -> InputError:
        """Return an error about this document with the document's name and the line of its key.

        The key is the beginning of its field, up to a blank: keys and places joined by dots, or places in brackets.
        An error about a missing key has the line of its section; one that is not about a key has no line.
        """
        if error.line or not self.text:
            return error.at(self.source)
        lines = key_lines.json_key_lines(self.text)[0] if self._is_json else key_lines.toml_key_lines(self.text)
        path = self.path_of(error.field)
        line = 1 if error.got == "missing" or error.field == "content" else 0
        for length in range(1, len(path) + 1):
            line = lines.get(path[:length], line)
        return error.at(self.source, line)

    def path_of(self, field: str) -> key_lines.Path:
        """Return the keys that a field names, whether they are written or not."""
        path: list[str | int] = []
        at = 0
        while found := _KEY.match(field, at):
            quoted, place, word = found.groups()
            key: str | int = json.loads(f'"{quoted}"') if quoted is not None else place or word
            is_place = str(key).isdecimal() and self.has((*path, int(key)))
            path.append(int(key) if is_place else key)
            at = found.end() + field.startswith(".", found.end())
        return tuple(path)

    def at(self, path: key_lines.Path) -> Any:
        """Return the value at a place; raise ``KeyError`` if there is none."""
        content = self.content
        for key in path:
            if not (key in content if isinstance(content, dict) else _is_place(key, content)):
                raise KeyError(key)
            content = content[key]
        return content

    def has(self, path: key_lines.Path) -> bool:
        """Return whether a key is written."""
        try:
            self.at(path)
        except KeyError:
            return False
        return True

    @property
    def _is_json(self) -> bool:
        return _is_json(self.source)


def _is_place(key: str | int, content: object) -> bool:
    return isinstance(content, list) and isinstance(key, int) and key < len(content)


def key_of(path: key_lines.Path) -> str:
    """Return keys in the notation of ``InputError.field``.

    Examples
    --------
    >>> key_of(("traffic", 1, "a b"))
    'traffic.1."a b"'
    """
    return ".".join(
        str(key) if isinstance(key, int) or re.fullmatch(r"[\w-]+", key) else json.dumps(key, ensure_ascii=False)
        for key in path
    )


def placed(error: InputError) -> InputError:
    """Return an error with the line of its key, if its file is a document and the line is not known yet."""
    document = None if error.line or not error.source else read_again(Path(error.source))
    return document.placed(error) if document else error


def read_again(path: Path) -> Document | None:
    """Read a document again to find a line in it; return ``None`` if it cannot be read twice."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LOOKED_AT_AGAIN:
            return None  # a pipe is read once
        return read_document(path, "file")
    except (OSError, ValueError):
        return None


def read_document(path: Path, what: str, parse_float: Callable[[str], Any] = float) -> Document:
    """Return a file as a document: JSON if its name ends so, else TOML.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Name of the file in the error if it cannot be read.
    parse_float : callable
        Converts a decimal fraction to a number.

    Raises
    ------
    InputError
        If it cannot be read or parsed (with the line), or has a key twice.
    """
    text = whole_text(path, what)
    document = Document(str(path), text, None)
    try:
        if _is_json(document.source):
            content = json.loads(text, parse_float=parse_float, object_pairs_hook=given_once)
        else:
            content = tomllib.loads(text, parse_float=parse_float)
    except _TwiceError:
        lines, twice = key_lines.json_key_lines(text)
        raise InputError(key_of(twice[0]), "given once", "twice", source=str(path), line=lines[twice[0]]) from None
    except RecursionError:
        raise InputError("content", "nested less deep", "too deep to be read", source=str(path)) from None
    except ValueError as error:
        raise _syntax(error, text, str(path)) from None
    return Document(str(path), text, content)


def _is_json(source: str) -> bool:
    return source.endswith(".json")


class _TwiceError(ValueError):
    """A key is given twice."""


def given_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object; a key given twice is refused, as TOML does."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _TwiceError
    return made


_TOML_MUST = {
    "Expected '=' after a key": "key = value",
    "Expected ']'": "closed by ] after a section's name",
    "Expected newline": "one statement a line, each value whole",
    "Expected ": "text that ends with the quotes it began with",
    "Invalid statement": "key = value, a [section] or a comment",
    "Invalid value": "a value: a number, text in quotes, true or false, a list or a section",
    "Invalid initial character": "a key of letters, digits, _ and -, or in quotes",
    "Invalid hex": "an escape of hexadecimal digits",
    "Invalid date": "a date or time that there is",
    "Cannot overwrite": "a key that is given once",
    "Cannot declare": "a section that is given once",
    "Cannot mutate": "a section that is not given whole elsewhere",
    "Cannot redefine": "a section that is not given whole elsewhere",
    "Duplicate inline": "a key that is given once",
    "Unclosed array": "a list with , between its elements and ] behind them",
    "Unclosed inline": "a section with , between its keys and } behind them",
    "Unterminated string": "text that ends with the quotes it began with",
    "Unescaped": "text in which a \\ begins a known escape",
    "Escaped character": "an escape of a character that there is",
    "Illegal character": "text without control characters; a line end only in triple quotes",
    "Found invalid": "without control characters",
}
"""Beginnings of the parser's messages, and what must be there instead."""
_JSON_MUST = {
    "Expecting value": "a value: a number, text in double quotes, true or false, a list or an object",
    "Expecting property name": "a key in double quotes",
    "Illegal trailing comma": "no , behind the last element",
    "Expecting ':'": ": after a key",
    "Expecting ','": ", between elements",
    "Extra data": "nothing behind the document",
    "Unterminated string": "text that ends with its quote",
    "Invalid control": "text without control characters",
    "Invalid \\": "text in which a \\ begins a known escape",
}


def _syntax(error: ValueError, text: str, source: str) -> InputError:
    """Return a parser's error in the wording of ``InputError``, with the line."""
    name, table = ("JSON", _JSON_MUST) if _is_json(source) else ("TOML", _TOML_MUST)
    said, lines = str(error), text.split("\n")
    must = next((f"{name}: {must}" for begin, must in table.items() if said.startswith(begin)), name)
    at = re.search(r"\(?(?:at )?line (\d+)", said)
    line = int(at[1]) if at else len(text.rstrip().split("\n"))
    if said.startswith("Exceeds the limit"):
        digits = re.search(r"\d[\d_]{4299,}", text)
        must, line = f"{name}: numbers of at most 4300 digits", text.count("\n", 0, digits.start() if digits else 0) + 1
    return InputError("content", must, lines[line - 1].strip(), source=source, line=line)
