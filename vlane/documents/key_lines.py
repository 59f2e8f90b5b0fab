"""Lines of the keys of a TOML or JSON text, which the parsers of the standard library do not record.

The text must already have been parsed; only keys and their lines are examined. An explicit stack handles lists and
tables, so depth costs no recursion; all patterns run in linear time.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

Path = tuple[str | int, ...]
"""Keys and list indices (from 0), from the root of the document."""

# Not possessive: Python 3.11.0 to 3.11.4 match possessive groups of several alternatives wrongly.
_STRINGS = r'''
    """(?:[^"\\]|\\.|"(?!""))*"{3,5}
  | \'\'\'(?:[^\']|\'(?!\'\'))*\'{3,5}
  | "(?:[^"\\\n]|\\.)*"
  | \'[^\'\n]*+\'
'''
_TOML = re.compile(
    rf"(?P<newline>\n)|(?P<skip>[ \t\r]++|\#[^\n]*+)|{_STRINGS}|[\[\]{{}},=]|[^\s\[\]{{}},=\#\"']++",
    re.DOTALL | re.VERBOSE,
)
_JSON = re.compile(r'(?P<newline>\n)|(?P<skip>[ \t\r]++)|"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)


def toml_key_lines(text: str) -> dict[Path, int]:
    r"""Return the line, from 1, of every table, list element and key of a valid TOML text.

    An implicit table has the line that first implies it; a table with a header has the header's line.

    Examples
    --------
    >>> toml_key_lines('[run]\nloads = [\n  0.1,\n  0.2 ]')
    {('run',): 1, ('run', 'loads'): 2, ('run', 'loads', 0): 3, ('run', 'loads', 1): 4}
    """
    return _Keys(text).of_toml()


def json_key_lines(text: str) -> tuple[dict[Path, int], list[Path]]:
    r"""Return the line of every key and list element of a valid JSON text, and the repeated keys.

    Examples
    --------
    >>> json_key_lines('{"a": {"b": 1,\n "b": 2}}')
    ({('a',): 1, ('a', 'b'): 2}, [('a', 'b')])
    """
    return _Keys(text).of_json()


class _Keys:
    """Walk over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[Path, int] = {}
        self.twice: list[Path] = []
        self.last: dict[Path, int] = {}  # index of the last element of each list of tables

    def of_toml(self) -> dict[Path, int]:
        """Process statements: headers, and keys with their values."""
        base: Path = ()
        parts = _Parts(self.text, _TOML)
        while part := parts.next():
            if part == "\n":
                continue
            line, keys = parts.line, []
            if part == "[":
                brackets = 1
                while (part := parts.next()) != "]":
                    brackets += part == "["
                    keys += [] if part == "[" else [part]
                if brackets == 2:
                    parts.next()
                base = self._header(_toml_keys(keys), line, is_list=brackets == 2)
            else:
                while part != "=":
                    keys.append(part)
                    part = parts.next()
                self._value(parts, self._key(base, _toml_keys(keys), line), "=")
        return self.lines

    def of_json(self) -> tuple[dict[Path, int], list[Path]]:
        """Process the top-level value."""
        self._value(_Parts(self.text, _JSON), (), ":")
        return self.lines, self.twice

    def _header(self, keys: list[str], line: int, *, is_list: bool) -> Path:
        """Record the header of a table or of an element of a list of tables and return the path of its keys."""
        at: Path = ()
        for key in keys[:-1]:
            at = (*at, key)
            self.lines.setdefault(at, line)
            if at in self.last:
                at = (*at, self.last[at])
        at = (*at, keys[-1])
        if not is_list:
            self.lines[at] = line
            return at
        self.lines.setdefault(at, line)
        self.last[at] = self.last.get(at, -1) + 1
        at = (*at, self.last[at])
        self.lines[at] = line
        return at

    def _key(self, base: Path, keys: list[str], line: int) -> Path:
        """Record a key, which may be dotted, and return its path."""
        for key in keys[:-1]:
            base = (*base, key)
            self.lines.setdefault(base, line)
        at = (*base, keys[-1])
        if at in self.lines:
            self.twice.append(at)
        self.lines[at] = line
        return at

    def _value(self, parts: _Parts, at: Path, gives: str) -> None:
        """Process a value with nested lists and tables. ``gives`` is the separator between key and value."""
        opened: list[tuple[Path, int]] = []  # path of each list or table, and index of the element, -1 in a table
        begins = (
            True  # an element or key starts here; otherwise the token continues a scalar (a date may contain a blank)
        )
        while part := parts.next():
            if part == "\n":
                if not opened and gives == "=":
                    return
            elif part in {"]", "}"}:
                opened.pop()
                begins = False
            elif part == ",":
                inside, place = opened[-1]
                opened[-1], begins = (inside, place + (place >= 0)), True
            elif begins:
                if opened:
                    at, part = self._element(parts, part, *opened[-1], gives)
                begins = part in {"[", "{"}
                if begins:
                    opened.append((at, 0 if part == "[" else -1))

    def _element(self, parts: _Parts, part: str, inside: Path, place: int, gives: str) -> tuple[Path, str]:
        """Record the start of a list element or table key and return its path and the first token of its value."""
        line = parts.line
        if place >= 0:
            self.lines[*inside, place] = line
            return (*inside, place), part
        keys, value = [part], parts.next()
        while value != gives:
            keys.append(value)
            value = parts.next()
        at = self._key(inside, _toml_keys(keys) if gives == "=" else [json.loads(part)], line)
        while (value := parts.next()) == "\n":
            pass
        return at, value


class _Parts:
    """Tokens of a text: strings, brackets, separators, line ends and bare words, without blanks and comments."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._matches = pattern.finditer(text)
        self._ends = 1
        self.line = 1

    def next(self) -> str:
        """Return the next token, empty after the last, and set ``line`` to the line on which it starts."""
        for match in self._matches:
            if match.lastgroup != "skip":
                self.line = self._ends
                self._ends += match.group().count("\n")
                return match.group()
        return ""


def _toml_keys(parts: list[str]) -> list[str]:
    """Return the keys of a dotted key, unquoted."""
    keys = []
    document: Any = tomllib.loads(f"{''.join(parts)} = 0")
    while isinstance(document, dict):
        ((key, document),) = document.items()
        keys.append(key)
    return keys
