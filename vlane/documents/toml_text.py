"""Values and documents as TOML text, and values parsed from options."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from datetime import date, time
from typing import Any

from vlane.documents.document import key_of
from vlane.errors import InputError

_OPENS = "[{\"'"
"""First characters of values with a closing delimiter."""
_CLOSES = {"[": "]", "{": "}"}


def parse_value(text: str, field: str) -> Any:
    """Parse a value in TOML syntax. A bare word is text.

    Raises
    ------
    InputError
        If the text is empty, or an unclosed list, section or quotation; names the field.

    Examples
    --------
    >>> parse_value("256", "x"), parse_value("[0.2, 0.5]", "x"), parse_value("dtable", "x"), parse_value('"1"', "x")
    (256, [0.2, 0.5], 'dtable', '1')
    """
    word = text.strip()
    if not word:
        raise InputError(field, "given a value", "empty", problem="needs a value")
    if "\n" not in word and not word.startswith("#"):
        try:
            return tomllib.loads(f"value = {word}")["value"]
        except (ValueError, RecursionError):
            pass
    if word[0] in _OPENS:
        raise InputError(field, "a valid TOML value", text)
    return word


def split_values(text: str, field: str) -> list[Any]:
    """Return the values of a comma-separated list. Commas within brackets and quotes do not separate.

    Raises
    ------
    InputError
        If a value is rejected by ``parse_value``; names the field.

    Examples
    --------
    >>> split_values('64,256', "x"), split_values('[1, 2],[3, 4]', "x"), split_values('"a,b",c', "x")
    ([64, 256], [[1, 2], [3, 4]], ['a,b', 'c'])
    """
    parts, closes, quote, escaped = [""], [], "", False
    for character in text:
        if quote:
            ends = character == quote and not escaped
            escaped = quote == '"' and character == "\\" and not escaped
            quote = "" if ends else quote
        elif character in "\"'":
            quote = character
        elif character in _CLOSES:
            closes.append(_CLOSES[character])
        elif closes and character == closes[-1]:
            closes.pop()
        elif character == "," and not closes:
            parts.append("")
            continue
        parts[-1] += character
    return [parse_value(part, field) for part in parts]


def toml_value(value: Any) -> str:
    """Return a value in TOML syntax on one line.

    Examples
    --------
    >>> toml_value({"form": "free", "sizes": [1, 2.5, True]})
    '{form = "free", sizes = [1, 2.5, true]}'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key_of((str(key),))} = {toml_value(held)}" for key, held in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def toml_document(content: Mapping[str, Any]) -> str:
    """Return a TOML document of sections and lists of sections.

    Examples
    --------
    >>> print(toml_document({"run": {"loads": [0.5]}, "traffic": [{"sl": 0}, {"sl": 1}]}), end="")
    [run]
    loads = [0.5]
    <BLANKLINE>
    [[traffic]]
    sl = 0
    <BLANKLINE>
    [[traffic]]
    sl = 1
    """
    plain, parts = "", []
    for key, value in content.items():
        name = key_of((key,))
        if isinstance(value, Mapping):
            parts.append(f"[{name}]\n{_lines(value)}")
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            parts += [f"[[{name}]]\n{_lines(each)}" for each in value]
        else:
            plain += f"{name} = {toml_value(value)}\n"
    return "\n".join([plain] * bool(plain) + parts)


def _lines(section: Mapping[str, Any]) -> str:
    return "".join(f"{key_of((str(key),))} = {toml_value(value)}\n" for key, value in section.items())
