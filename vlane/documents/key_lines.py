"""Lines of the keys of a TOML or JSON text, which the parsers of the standard library do not keep.

The text has been parsed already: here nothing is checked, and nothing but keys and their lines is looked at.
Lists and tables are walked with a stack of our own, so depth costs no recursion; patterns are linear in time.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

Path = tuple[str | int, ...]
"""Keys and, in lists, places from 0, from the whole document down."""

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
    r"""Return the line, from 1, of every table, list element and key of a TOML text that can be parsed.

    A table that is only implied has the line where it is first implied; one with a header has the header's.

    Examples
    --------
    >>> toml_key_lines('[run]\nloads = [\n  0.1,\n  0.2 ]')
    {('run',): 1, ('run', 'loads'): 2, ('run', 'loads', 0): 3, ('run', 'loads', 1): 4}
    """
    return _Keys(text).of_toml()


def json_key_lines(text: str) -> tuple[dict[Path, int], list[Path]]:
    r"""Return the line of every key and list element of a JSON text that can be parsed, and what is given twice.

    Examples
    --------
    >>> json_key_lines('{"a": {"b": 1,\n "b": 2}}')
    ({('a',): 1, ('a', 'b'): 2}, [('a', 'b')])
    """
    return _Keys(text).of_json()


class _Keys:
    """A walk over the parts of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[Path, int] = {}
        self.twice: list[Path] = []
        self.last: dict[Path, int] = {}  # place of the last element of each list of tables

    def of_toml(self) -> dict[Path, int]:
        """Walk over statements: headers, and keys with their values."""
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
        """Walk over the one value."""
        self._value(_Parts(self.text, _JSON), (), ":")
        return self.lines, self.twice

    def _header(self, keys: list[str], line: int, *, is_list: bool) -> Path:
        """Note a table's header, or that of one more table of a list; return where its keys belong."""
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
        """Note a key, which may be dotted; return its place."""
        for key in keys[:-1]:
            base = (*base, key)
            self.lines.setdefault(base, line)
        at = (*base, keys[-1])
        if at in self.lines:
            self.twice.append(at)
        self.lines[at] = line
        return at

    def _value(self, parts: _Parts, at: Path, gives: str) -> None:
        """Walk over a value, and over lists and tables within it; ``gives`` stands between key and value."""
        opened: list[tuple[Path, int]] = []  # where each list or table is, and the place of the element, -1 in a table
        begins = True  # an element or a key, else what comes belongs to the scalar before: a date may have a blank
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
        """Note what begins in a list, or a key in a table; return its place and the first part of its value."""
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
    """Strings, brackets, separators, line ends and bare words of a text; blanks and comments are left out."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._matches = pattern.finditer(text)
        self._ends = 1
        self.line = 1

    def next(self) -> str:
        """Return the next part, nothing behind the last; ``line`` is the line it begins in."""
        for match in self._matches:
            if match.lastgroup != "skip":
                self.line = self._ends
                self._ends += match.group().count("\n")
                return match.group()
        return ""


def _toml_keys(parts: list[str]) -> list[str]:
    """Return the keys of a dotted key, quoted ones as they are meant."""
    keys = []
    document: Any = tomllib.loads(f"{''.join(parts)} = 0")
    while isinstance(document, dict):
        ((key, document),) = document.items()
        keys.append(key)
    return keys
