"""Lines of OpenSM's options file: names, values, comments, quotes, and the index of names.

All functions use the compiler's subset of Python (``docs/compiler.md``), so the same source runs in Python and
compiled. Texts are sequences of bytes; a span is a start and an end within a text. ``docs/opensm_conf.md`` has the
rules and OpenSM's functions.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import NamedTuple

LINE_BYTES = 1022
"""Size of OpenSM's line buffer, in bytes; OpenSM parses the rest of a longer line as the next line."""
NONE = -1
"""Index of an absent option."""
OPTIONS, LONG_LINES, KNOWN = 0, 1, 2
"""Places of ``Options.counts``: options, long lines, options of the preamble."""

_TAB, _NEWLINE, _RETURN, _BLANK = 9, 10, 13, 32
_QUOTE, _HASH, _APOSTROPHE, _UNDERSCORE = 34, 35, 39, 95
_ZERO, _UPPER_A, _LOWER_A = 48, 65, 97
_HASH_SEED, _HASH_FACTOR, _HASH_MASK = 2166136261, 16777619, 0xFFFFFFFF


class Options(NamedTuple):
    """Options of a text, in the order of their lines.

    The text begins with a preamble: a line for each known name, with OpenSM's default. The index of a known name in
    the preamble is also the number of the name.

    Parameters
    ----------
    text : sequence of int
        Bytes of the preamble and of the file.
    name_from, name_to, value_from, value_to : sequence of int
        Spans of name and value of each option. A value has no enclosing blanks and quotes.
    line : sequence of int
        Line number in the file; 0 in the preamble.
    first : sequence of int
        First option with the same name.
    before : sequence of int
        Previous option with the same name, or ``NONE``.
    last : sequence of int
        Last option with the same name, at the index of the first one.
    long_lines : sequence of int
        Numbers of lines longer than ``LINE_BYTES``.
    slots : sequence of int
        Hash table of names: first options, ``NONE`` for a free slot. More slots than options.
    counts : sequence of int
        Three counts: options, long lines, options of the preamble.
    """

    text: Sequence[int]
    name_from: MutableSequence[int]
    name_to: MutableSequence[int]
    value_from: MutableSequence[int]
    value_to: MutableSequence[int]
    line: MutableSequence[int]
    first: MutableSequence[int]
    before: MutableSequence[int]
    last: MutableSequence[int]
    long_lines: MutableSequence[int]
    slots: MutableSequence[int]
    counts: MutableSequence[int]


def new_options(text: Sequence[int], most: int, make: Callable[[int], MutableSequence[int]]) -> Options:
    """Return memory for the options of a text.

    Parameters
    ----------
    text : sequence of int
        Bytes of the preamble and of the file.
    most : int
        Largest number of options.
    make : callable
        Function that returns a sequence of a number of zeros.
    """
    return Options(
        text=text,
        name_from=make(most),
        name_to=make(most),
        value_from=make(most),
        value_to=make(most),
        line=make(most),
        first=make(most),
        before=make(most),
        last=make(most),
        long_lines=make(most),
        slots=make(2 * most),
        counts=make(3),
    )


def zeros(count: int) -> MutableSequence[int]:
    """Return a list of zeros."""
    return [0] * count


def read_options(options: Options, preamble: int, size: int) -> None:
    """Read the options of ``size`` bytes of text, of which the first ``preamble`` bytes are the preamble."""
    text, counts = options.text, options.counts
    for place in range(len(counts)):
        counts[place] = 0
    for slot in range(len(options.slots)):
        options.slots[slot] = NONE
    at, line = 0, 0
    while at < size:
        end = at
        while end < size and text[end] != _NEWLINE:
            end += 1
        if at >= preamble:
            line += 1
        else:
            counts[KNOWN] += 1
        stop = end - 1 if end > at and text[end - 1] == _RETURN else end
        if stop - at > LINE_BYTES:
            options.long_lines[counts[LONG_LINES]] = line
            counts[LONG_LINES] += 1
        piece = at
        while piece < stop:
            _read_piece(options, piece, min(piece + LINE_BYTES, stop), line)
            piece += LINE_BYTES
        at = end + 1


def _read_piece(options: Options, start: int, end: int, line: int) -> None:
    """Read the option of a line, or of a piece of a long line. The name ends at a blank or a tab."""
    text = options.text
    stop = start
    while stop < end and text[stop] != _HASH:
        stop += 1
    while start < stop and (text[start] == _BLANK or text[start] == _TAB):
        start += 1
    name_to, is_named = start, False
    while name_to < stop and text[name_to] != _BLANK and text[name_to] != _TAB:
        is_named = is_named or not is_blank(text[name_to])
        name_to += 1
    if not is_named:
        return
    value_from, value_to = name_to, stop
    while value_from < value_to and is_blank(text[value_from]):
        value_from += 1
    while value_to > value_from and is_blank(text[value_to - 1]):
        value_to -= 1
    if value_from < value_to:
        quote = text[value_from]
        if quote in (_QUOTE, _APOSTROPHE) and text[value_to - 1] == quote:
            value_from += 1
            value_to = max(value_to - 1, value_from)
    _add(options, start, name_to, value_from, value_to, line)


def _add(options: Options, name_from: int, name_to: int, value_from: int, value_to: int, line: int) -> None:
    """Append an option and enter its name into the hash table."""
    at = options.counts[OPTIONS]
    options.counts[OPTIONS] = at + 1
    options.name_from[at], options.name_to[at] = name_from, name_to
    options.value_from[at], options.value_to[at] = value_from, value_to
    options.line[at] = line
    digest = _HASH_SEED
    for place in range(name_from, name_to):
        digest = ((digest ^ options.text[place]) * _HASH_FACTOR) & _HASH_MASK
    slot = digest % len(options.slots)
    while options.slots[slot] != NONE and not _same_name(options, options.slots[slot], at):
        slot = slot + 1 if slot + 1 < len(options.slots) else 0
    if options.slots[slot] == NONE:
        options.slots[slot] = at
        options.first[at], options.before[at] = at, NONE
    else:
        first = options.slots[slot]
        options.first[at], options.before[at] = first, options.last[first]
    options.last[options.first[at]] = at


def _same_name(options: Options, one: int, other: int) -> bool:
    size = options.name_to[one] - options.name_from[one]
    same, place = options.name_to[other] - options.name_from[other] == size, 0
    while same and place < size:
        same = options.text[options.name_from[one] + place] == options.text[options.name_from[other] + place]
        place += 1
    return same


def is_blank(code: int) -> bool:
    """Return whether C's ``isspace`` accepts a byte."""
    return code == _BLANK or _TAB <= code <= _RETURN


def lower(code: int) -> int:
    """Return a byte as a lower-case ASCII letter, if it is an ASCII letter."""
    return code + _LOWER_A - _UPPER_A if _UPPER_A <= code < _UPPER_A + 26 else code


def is_name(options: Options, option: int) -> bool:
    """Return whether a name consists of ASCII letters, digits and underscores, without a digit in front."""
    named = True
    for place in range(options.name_from[option], options.name_to[option]):
        code = options.text[place]
        is_letter = _LOWER_A <= lower(code) < _LOWER_A + 26 or code == _UNDERSCORE
        is_digit = _ZERO <= code < _ZERO + 10 and place > options.name_from[option]
        named = named and (is_letter or is_digit)
    return named


def has_names(options: Options) -> bool:
    """Return whether any line of the file begins with a name."""
    found = False
    for option in range(options.counts[KNOWN], options.counts[OPTIONS]):
        found = found or is_name(options, option)
    return found
