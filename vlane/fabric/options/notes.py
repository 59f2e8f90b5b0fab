"""Writer of findings: rows of numbers, and texts as bytes, in the compiler's subset of Python."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from vlane.fabric.options.lines import Options

ROW_NUMBERS = 4
"""Numbers of a row: sentence, line, end of the place's text, end of the message."""
ROWS, BYTES = 0, 1
"""Places of ``Notes.used``."""

_NUMBER, _SPAN, _QUOTED, _TENTHS = range(4)
_ZERO, _MINUS, _APOSTROPHE, _DOT, _SLOT = 48, 45, 39, 46, 123
_LONGEST_TEXT, _DOTS = 60, 3
_CONTINUED, _CONTINUATION = 0xC0, 0x80

Part = tuple[int, int, int]
"""A number or a text in a sentence: kind, number or start, end."""


class Notes(NamedTuple):
    """Findings as rows and bytes.

    A finding that does not fit is left out, and so are all later findings.

    Parameters
    ----------
    phrases : sequence of int
        ``words.PHRASES``.
    out : sequence of int
        Bytes of the texts: place and message of each finding, one after the other.
    rows : sequence of int
        Rows of ``ROW_NUMBERS`` numbers.
    used : sequence of int
        Two counts: rows and bytes.
    """

    phrases: Sequence[int]
    out: MutableSequence[int]
    rows: MutableSequence[int]
    used: MutableSequence[int]


def number(value: int) -> Part:
    """Return a number for a sentence."""
    return _NUMBER, value, 0


def tenths(numerator: int, denominator: int) -> Part:
    """Return a percentage with one decimal for a sentence, rounded to the nearest, ties to even."""
    value, rest = 1000 * numerator // denominator, 1000 * numerator % denominator
    return _TENTHS, value + (2 * rest > denominator or (2 * rest == denominator and value % 2 == 1)), 0


def span(start: int, end: int) -> Part:
    """Return a piece of the input text, to be shortened, as a part of a sentence."""
    return _SPAN, start, end


def quoted(start: int, end: int) -> Part:
    """Return a piece of the input text, to be shortened and quoted, as a part of a sentence."""
    return _QUOTED, start, end


def clear(notes: Notes) -> None:
    """Remove all findings."""
    notes.used[ROWS] = 0
    notes.used[BYTES] = 0


def put(notes: Notes, code: int) -> None:
    """Append a byte. Past the end of ``out``, bytes are only counted."""
    at = notes.used[BYTES]
    if at < len(notes.out):
        notes.out[at] = code
    notes.used[BYTES] = at + 1


def put_number(notes: Notes, value: int) -> None:
    """Append a decimal number."""
    if value < 0:
        put(notes, _MINUS)
    rest, scale = value if value < 0 else -value, 1  # negative, because the least number has no positive one
    while (rest + scale - 1) // scale < -9:
        scale *= 10
    while scale > 0:
        put(notes, _ZERO + (10 - (rest + scale - 1) // scale % 10) % 10)
        scale //= 10


def put_span(text: Sequence[int], notes: Notes, start: int, end: int) -> None:
    """Append a part of the text, shortened to 60 characters."""
    characters, at = 0, start
    while at < end and characters <= _LONGEST_TEXT:
        is_first = text[at] & _CONTINUED != _CONTINUATION
        characters += is_first
        if characters <= _LONGEST_TEXT:
            put(notes, text[at])
        at += 1
    if characters > _LONGEST_TEXT:
        put_dots(notes)


def put_dots(notes: Notes) -> None:
    """Append three dots."""
    for _ in range(_DOTS):
        put(notes, _DOT)


def put_phrase(text: Sequence[int], notes: Notes, phrase: int, parts: tuple[Part, ...]) -> None:
    """Append a phrase, with its slots filled by ``parts`` in order."""
    at = 0
    for _ in range(phrase):
        while notes.phrases[at] != 0:
            at += 1
        at += 1
    given = 0
    while notes.phrases[at] != 0:
        if notes.phrases[at] == _SLOT:
            kind, first, last = parts[given]
            given += 1
            if kind == _NUMBER:
                put_number(notes, first)
            elif kind == _TENTHS:
                put_number(notes, first // 10)
                put(notes, _DOT)
                put_number(notes, first % 10)
            else:
                if kind == _QUOTED:
                    put(notes, _APOSTROPHE)
                put_span(text, notes, first, last)
                if kind == _QUOTED:
                    put(notes, _APOSTROPHE)
            at += 2
        else:
            put(notes, notes.phrases[at])
            at += 1


def open_note(options: Options, notes: Notes, phrase: int, option: int) -> None:
    """Begin a finding about an option."""
    is_line = options.line[option] > 0
    _open(notes, phrase, options.line[option] if is_line else 0)
    put_span(options.text, notes, options.name_from[option], options.name_to[option])
    _end_place(notes)


def open_line_note(notes: Notes, phrase: int, line: int) -> None:
    """Begin a finding about a line, 0 for the whole file."""
    _open(notes, phrase, line)
    _end_place(notes)


def _open(notes: Notes, phrase: int, line: int) -> None:
    row = ROW_NUMBERS * notes.used[ROWS]
    if row + ROW_NUMBERS <= len(notes.rows):
        notes.rows[row], notes.rows[row + 1] = phrase, line


def _end_place(notes: Notes) -> None:
    row = ROW_NUMBERS * notes.used[ROWS]
    if row + ROW_NUMBERS <= len(notes.rows):
        notes.rows[row + 2] = notes.used[BYTES]


def close_note(notes: Notes) -> None:
    """End a finding."""
    row = ROW_NUMBERS * notes.used[ROWS]
    if row + ROW_NUMBERS <= len(notes.rows) and notes.used[BYTES] <= len(notes.out):
        notes.rows[row + 3] = notes.used[BYTES]
        notes.used[ROWS] += 1


def add_note(options: Options, notes: Notes, phrase: int, option: int, parts: tuple[Part, ...]) -> None:
    """Append a finding of one sentence about an option."""
    open_note(options, notes, phrase, option)
    put_phrase(options.text, notes, phrase, parts)
    close_note(notes)
