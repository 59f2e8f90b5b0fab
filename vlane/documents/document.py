"""TOML and JSON documents, with errors that name the line of a key."""

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
from vlane.errors import InputError, shown

_LOOKED_AT_AGAIN = 1 << 20
"""Size in bytes of the largest file that is reread to find a line."""
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"|\[(\d+)\]|([^.\[\]\s"]++)')


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed document of a file.

    Parameters
    ----------
    source : str
        File name.
    text : str
        Text of the file.
    content : object
        Parsed content.
    """

    source: str
    text: str = field(repr=False)
    content: Any

    def placed(self, error: InputError) -> InputError:
        """Return an error about this document with the file name and the line of its key.

        The key is the start of the error's field up to a blank: keys and indices joined by dots, or indices in
        brackets. An error about a missing key gets the line of its section; an error without a key gets no line.
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
        """Return the path that a field names, whether or not it exists."""
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
        """Return the value at a path, or raise ``KeyError`` if there is none."""
        content = self.content
        for key in path:
            if not (key in content if isinstance(content, dict) else _is_place(key, content)):
                raise KeyError(key)
            content = content[key]
        return content

    def has(self, path: key_lines.Path) -> bool:
        """Return whether a path exists."""
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
    """Return a path in the notation of ``InputError.field``.

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
    """Return an error with the line of its key, if its file is a document and the line is unknown."""
    document = None if error.line or not error.source else read_again(Path(error.source))
    return document.placed(error) if document else error


def read_again(path: Path) -> Document | None:
    """Reread a document to find a line in it and return ``None`` if it cannot be read twice."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LOOKED_AT_AGAIN:
            return None  # a pipe can be read only once
        return read_document(path, "file")
    except (OSError, ValueError):
        return None


def read_document(path: Path, what: str, parse_float: Callable[[str], Any] = float) -> Document:
    """Return a file as a document: JSON if its name ends in ``.json``, otherwise TOML.

    Parameters
    ----------
    path : Path
        File to read.
    what : str
        Name of the file in errors.
    parse_float : callable
        Converts the text of a decimal fraction to a number.

    Raises
    ------
    InputError
        If the file cannot be read or parsed (with the line), or a key is given twice.
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
        line, problem = lines[twice[0]], "is given twice"
        raise InputError(
            key_of(twice[0]), "given once", "twice", source=str(path), line=line, problem=problem
        ) from None
    except RecursionError:
        problem = "is nested too deep"
        raise InputError("content", "nested less", "nested too deep", source=str(path), problem=problem) from None
    except ValueError as error:
        raise _syntax(error, text, str(path)) from None
    return Document(str(path), text, content)


def _is_json(source: str) -> bool:
    return source.endswith(".json")


class _TwiceError(ValueError):
    """Key given twice."""


def given_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object, and raise for a repeated key as TOML does."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _TwiceError
    return made


_TOML_MUST = {
    "Expected '=' after a key": "key = value",
    "Expected ']'": "] after a section's name",
    "Expected newline": "one complete statement per line",
    "Expected ": "matching quotes around a text",
    "Invalid statement": "key = value, a [section] or a comment",
    "Invalid value": "a value (number, quoted text, true or false, list or section)",
    "Invalid initial character": "a key of letters, digits, _ and -, or a quoted key",
    "Invalid hex": "hexadecimal digits in an escape",
    "Invalid date": "a valid date or time",
    "Cannot overwrite": "each key once",
    "Cannot declare": "each section once",
    "Cannot mutate": "a section that is not complete elsewhere",
    "Cannot redefine": "a section that is not complete elsewhere",
    "Duplicate inline": "each key once",
    "Unclosed array": "a list with , between elements and ] at its end",
    "Unclosed inline": "a section with , between keys and } at its end",
    "Unterminated string": "matching quotes around a text",
    "Unescaped": "a known escape after \\",
    "Escaped character": "an escape of a valid character",
    "Illegal character": "text without control characters (line breaks only in triple quotes)",
    "Found invalid": "no control characters",
}
"""Expected content, by beginning of the parser's message."""
_JSON_MUST = {
    "Expecting value": "a value (number, double-quoted text, true or false, list or object)",
    "Expecting property name": "a key in double quotes",
    "Illegal trailing comma": "no , after the last element",
    "Expecting ':'": ": after a key",
    "Expecting ','": ", between elements",
    "Extra data": "nothing after the document",
    "Unterminated string": "a closing quote",
    "Invalid control": "text without control characters",
    "Invalid \\": "a known escape after \\",
}


def _syntax(error: ValueError, text: str, source: str) -> InputError:
    """Return a parser's error as an ``InputError`` with the line."""
    name, table = ("JSON", _JSON_MUST) if _is_json(source) else ("TOML", _TOML_MUST)
    said, lines = str(error), text.split("\n")
    must = next((must for begin, must in table.items() if said.startswith(begin)), "")
    at = re.search(r"\(?(?:at )?line (\d+)", said)
    line = int(at[1]) if at else len(text.rstrip().split("\n"))
    if said.startswith("Exceeds the limit"):
        digits = re.search(r"\d[\d_]{4299,}", text)
        must, line = "numbers of at most 4300 digits", text.count("\n", 0, digits.start() if digits else 0) + 1
    got = lines[line - 1].strip()
    problem = f": invalid {name}{must and f', expected {must}'}: {shown(got)}"
    return InputError("content", f"{name}{must and f': {must}'}", got, source=source, line=line, problem=problem)
