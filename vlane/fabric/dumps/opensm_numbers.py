"""Parsers for numbers and lists, equal to OpenSM's use of C's ``strtol``, ``strtoul`` and ``strtok_r``.

All functions but ``strtol``, ``strtoul`` and ``tokens`` use the compiler's subset of Python (``docs/compiler.md``), so
the same source runs in Python and compiled. Texts are sequences of character codes, such as ``bytes``.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

UINT_MASK = 0xFFFFFFFF
"""Mask of OpenSM's 32-bit ``unsigned`` numbers in lists."""
_LONG_MAX, _ULONG_MAX = (1 << 63) - 1, (1 << 64) - 1
_TAB, _CARRIAGE_RETURN, _BLANK, _PLUS, _MINUS = 9, 13, 32, 43, 45
_ZERO, _UPPER_A, _UPPER_X, _LOWER_A, _LOWER_X = 48, 65, 88, 97, 120
_HEXADECIMAL, _OCTAL, _DECIMAL = 16, 8, 10
_NO_DIGIT = 99
_HALF_BITS, _SIGN = 32, 1 << 31


class Scanned(NamedTuple):
    """A number as scanned by C's functions with base 0.

    Parameters
    ----------
    end : int
        Index of the first character after the number; the start index without a number.
    high, low : int
        Upper and lower 32 bits of the magnitude.
    negative : bool
        Whether a minus sign stands before the digits.
    overflow : bool
        Whether the magnitude needs more than 64 bits.
    """

    end: int
    high: int
    low: int
    negative: bool
    overflow: bool


def _digit(code: int) -> int:
    """Return the value of a hexadecimal digit, or 99 for any other character."""
    if _ZERO <= code < _ZERO + 10:
        return code - _ZERO
    if _UPPER_A <= code < _UPPER_A + 6:
        return code - _UPPER_A + 10
    if _LOWER_A <= code < _LOWER_A + 6:
        return code - _LOWER_A + 10
    return _NO_DIGIT


def scan(text: Sequence[int], start: int, size: int) -> Scanned:
    """Scan a number before ``size``: blanks, a sign, ``0x`` and hexadecimal, ``0`` and octal, or decimal digits.

    Examples
    --------
    >>> scan(b" 0xC0:7", 0, 7)
    Scanned(end=5, high=0, low=192, negative=False, overflow=False)
    """
    at = start
    while at < size and (text[at] == _BLANK or _TAB <= text[at] <= _CARRIAGE_RETURN):
        at += 1
    negative = False
    if at < size and (text[at] == _PLUS or text[at] == _MINUS):
        negative = text[at] == _MINUS
        at += 1
    base = _DECIMAL
    if at < size and text[at] == _ZERO:
        base = _OCTAL
        if at + 2 < size and (text[at + 1] == _LOWER_X or text[at + 1] == _UPPER_X) and _digit(text[at + 2]) < 16:
            base = _HEXADECIMAL
            at += 2
    first, high, low, overflow = at, 0, 0, False
    while at < size and _digit(text[at]) < base:
        low = low * base + _digit(text[at])
        high = high * base + (low >> _HALF_BITS)
        overflow = overflow or high > UINT_MASK
        low &= UINT_MASK
        high &= UINT_MASK
        at += 1
    return Scanned(at if at > first else start, high, low, negative, overflow)


def read_list(text: Sequence[int], start: int, end: int, numbers: MutableSequence[int]) -> int:
    """Fill ``numbers`` with OpenSM's parse of a list. Return the count of numbers before the end of the list.

    OpenSM cuts each number to 32 bits and skips one arbitrary character after the number (``parse_one_unsigned`` of
    ``osm_qos.c``). A missing number is 0, and all numbers beyond the end of the list are 0.

    Examples
    --------
    >>> numbers = [0] * 6
    >>> read_list(b"0:4;1:-1", 0, 8, numbers), numbers
    (4, [0, 4, 1, 4294967295, 0, 0])
    """
    at, given = start, 0
    for place in range(len(numbers)):
        numbers[place] = 0
        if at < end:
            scanned = scan(text, at, end)
            low = scanned.low
            numbers[place] = UINT_MASK if scanned.overflow else -low & UINT_MASK if scanned.negative else low
            at = scanned.end + 1
            given = place + 1
    return given


def unsigned_at_most(scanned: Scanned, most: int) -> bool:
    """Return whether ``strtoul`` returns at most a number of 32 bits."""
    low, high = scanned.low, scanned.high
    if scanned.negative:
        high = (-high - (1 if low > 0 else 0)) & UINT_MASK
        low = -low & UINT_MASK
    return not scanned.overflow and high == 0 and low <= most


def unsigned_low(scanned: Scanned) -> int:
    """Return the lowest 32 bits of the result of ``strtoul``."""
    if scanned.overflow:
        return UINT_MASK
    return -scanned.low & UINT_MASK if scanned.negative else scanned.low


def signed_value(scanned: Scanned) -> int:
    """Return the result of ``strtol``, within 64 signed bits."""
    if scanned.overflow or scanned.high >= _SIGN:
        return -_LONG_MAX - 1 if scanned.negative else _LONG_MAX
    value = scanned.high << _HALF_BITS | scanned.low
    return -value if scanned.negative else value


def signed(value: int) -> int:
    """Return an unsigned 32-bit number with its sign."""
    return value - (UINT_MASK + 1) if value >= _SIGN else value


def strtol(text: bytes) -> tuple[int, bool]:
    """Return the number at the start of a text, within 64 signed bits, and whether the number ends with the text.

    Examples
    --------
    >>> strtol(b"017"), strtol(b"12 "), strtol(b"")
    ((15, True), (12, False), (0, True))
    """
    scanned = scan(text, 0, len(text))
    return signed_value(scanned), scanned.end == len(text)


def strtoul(text: bytes) -> tuple[int, bool]:
    """Return the number at the start of a text, modulo 64 bits, and whether the number ends with the text."""
    end, high, low, negative, overflow = scan(text, 0, len(text))
    magnitude = high << _HALF_BITS | low
    return _ULONG_MAX if overflow else -magnitude & _ULONG_MAX if negative else magnitude, end == len(text)


def tokens(text: str) -> list[str]:
    """Return the parts of a list between commas as ``strtok_r`` returns them: empty parts do not count."""
    return [part for part in text.split(",") if part]
