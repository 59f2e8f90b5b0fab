"""OpenSM's selection and parsing of options: effective lines, limits, lists, warnings about lists.

All functions use the compiler's subset of Python. An option is its index in ``Options``; ``kind`` is a place of
``words.PREFIXES``.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from vlane.fabric.dumps.opensm_numbers import (
    UINT_MASK,
    read_list,
    scan,
    signed,
    signed_value,
    unsigned_at_most,
    unsigned_low,
)
from vlane.fabric.options.lines import KNOWN, NONE, Options
from vlane.fabric.options.words import (
    FIRST_TABLE_NAME,
    GENERAL,
    HIGH_LIMIT,
    MAX_OP_VLS,
    MAX_VLS,
    NAMES,
    PREFIXES,
    QOS,
    SL2VL,
    VLARB_HIGH,
    VLARB_LOW,
)
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT
from vlane.tables.sl2vl import SL_COUNT

IS_LIST, IS_ROW = False, True
"""Whether a list is an sl2vl option instead of pairs of VL and weight."""
VL_FIELD, WEIGHT_FIELD, ENTRY_FIELD = 0, 1, 2
"""Wrong field of an entry; ``ENTRY_FIELD``: no colon."""
FORMAT, RANGE = 0, 1
"""Kind of a fault."""
FAULT_NUMBERS = 4
"""Numbers of a fault: field, kind, span of the text."""
MOST_VLS = 15
ASSUMED_VLS = 8
"""Data lanes of a port if neither the user nor the options give a number."""
OP_VLS = (0, 1, 2, 4, 8, MOST_VLS)
"""Number of data lanes by code of max_op_vls (IBA 14.2.5.6, VLCap)."""

_PER_PREFIX, _GENERAL_OPTIONS = len(NAMES), len(PREFIXES) * len(NAMES)
_NOT_SET, _MINUS_ONE, _ZERO, _TRUE = tuple(b"(null)"), tuple(b"-1"), tuple(b"0"), tuple(b"TRUE")
_LARGEST_VL, _DROP = 14, 15
_BYTE_MAX = 0xFF
_COMMA, _COLON = 44, 58


def _is_word(text: Sequence[int], start: int, end: int, word: tuple[int, ...]) -> bool:
    same = end - start == len(word)
    for place in range(len(word)):
        same = same and text[start + place] == word[place]
    return same


def is_null(options: Options, option: int) -> bool:
    """Return whether a text option is unset by ``(null)``."""
    return _is_word(options.text, options.value_from[option], options.value_to[option], _NOT_SET)


def is_set(options: Options, option: int) -> bool:
    """Return whether the value differs from the placeholders for unset options in OpenSM's template."""
    return is_set_value(options.text, options.value_from[option], options.value_to[option])


def is_set_value(text: Sequence[int], start: int, end: int) -> bool:
    """Return whether a value differs from the placeholders for unset options in OpenSM's template."""
    is_number = _is_word(text, start, end, _MINUS_ONE) or _is_word(text, start, end, _ZERO)
    return start != end and not is_number and not _is_word(text, start, end, _NOT_SET)


def is_default(options: Options, option: int) -> bool:
    """Return whether an option is a default of OpenSM instead of a line of the file."""
    return option < options.counts[KNOWN]


def _given(options: Options, name: int) -> int:
    """Return the last line of a known name, or ``NONE``."""
    found = options.last[name]
    return NONE if is_default(options, found) else found


def is_on(options: Options) -> bool:
    """Return whether OpenSM programs QoS tables, or the text is a table without options."""
    return _is_true(options, options.last[QOS]) or is_table(options)


def _is_true(options: Options, option: int) -> bool:
    return _is_word(options.text, options.value_from[option], options.value_to[option], _TRUE)


def is_table(options: Options) -> bool:
    """Return whether the text is a table: it has lines named ``high`` or ``low`` and no QoS option."""
    names_lists = False
    for place in (VLARB_HIGH, VLARB_LOW):
        names_lists = names_lists or _given(options, FIRST_TABLE_NAME + place - HIGH_LIMIT) != NONE
    for name in range(QOS + 1):
        if _given(options, name) != NONE:
            names_lists = False
    return names_lists


def sets(options: Options, kind: int) -> bool:
    """Return whether any option of this kind of port is set."""
    found = False
    for name in range(kind * _PER_PREFIX, (kind + 1) * _PER_PREFIX):
        at = options.last[name]
        while at != NONE and not is_default(options, at):
            found = found or is_set(options, at)
            at = options.before[at]
    return found


def text_option(options: Options, kind: int, name: int) -> int:
    """Return the effective line of a list: of the kind of port, else the general one, else OpenSM's default."""
    table = FIRST_TABLE_NAME + name - HIGH_LIMIT
    if is_table(options) and (name != SL2VL or _given(options, table) != NONE):
        return options.last[table]
    for prefix in (kind, GENERAL):
        found = options.last[prefix * _PER_PREFIX + name]
        if not is_null(options, found):
            return found
    return name


def number_option(options: Options, name: int, most: int) -> int:
    """Return the last line of a number that OpenSM accepts, 0 to ``most``, or ``NONE``."""
    at = options.last[name]
    while at != NONE and not is_default(options, at):
        if is_number(options, at, most):
            return at
        at = options.before[at]
    return NONE


def is_number(options: Options, option: int, most: int) -> bool:
    """Return whether OpenSM accepts a value as a number of at most 32 bits."""
    start, end = options.value_from[option], options.value_to[option]
    scanned = scan(options.text, start, end)
    return start < end and scanned.end == end and unsigned_at_most(scanned, most)


def max_op_vls(options: Options) -> int:
    """Return the data lanes allowed by ``max_op_vls``, or ``NONE`` for an unset or unknown code."""
    found = number_option(options, MAX_OP_VLS, _BYTE_MAX)
    if found == NONE:
        return NONE
    code = unsigned_low(scan(options.text, options.value_from[found], options.value_to[found]))
    return OP_VLS[code] if 0 < code < len(OP_VLS) else NONE


def max_vls_option(options: Options, kind: int) -> int:
    """Return the effective line of ``max_vls``."""
    for prefix in (kind, GENERAL):
        at = options.last[prefix * _PER_PREFIX + MAX_VLS]
        while at != NONE and not is_default(options, at):
            if is_number(options, at, UINT_MASK):
                value = unsigned_low(scan(options.text, options.value_from[at], options.value_to[at]))
                if 0 < value <= MOST_VLS:
                    return at
                break
            at = options.before[at]
    return MAX_VLS


def limit_value(options: Options, option: int) -> int:
    """Return a limit as parsed by ``opts_parse_int32``: the number at the start, cut to 32 bits."""
    scanned = scan(options.text, options.value_from[option], options.value_to[option])
    return signed(signed_value(scanned) & UINT_MASK)


def limit_line(options: Options, kind: int, place: int) -> int:
    """Return the line at a place of the precedence, or ``NONE``: 0 for the kind of port, 1 for the general line."""
    if is_table(options):
        return _given(options, FIRST_TABLE_NAME) if place == 1 else NONE
    return _given(options, (kind if place == 0 else GENERAL) * _PER_PREFIX + HIGH_LIMIT)


def limit_option(options: Options, kind: int, place: int) -> int:
    """Return the effective line of the limit from a place of the precedence on, or ``NONE`` for OpenSM's default."""
    for each in range(place, 2):
        found = limit_line(options, kind, each)
        if found != NONE and 0 <= limit_value(options, found) <= LIMIT_UNBOUNDED:
            return found
    return NONE


def limit_from(options: Options, kind: int, place: int) -> int:
    """Return the limit from a place of the precedence on, 0 without a line."""
    found = limit_option(options, kind, place)
    return 0 if found == NONE else limit_value(options, found)


def lane_mask(vls: int) -> int:
    """Return OpenSM's mask for a number of lanes: 1, 2, 4, 8, 15 lanes give 0, 1, 3, 7, 15."""
    mask = 0
    while mask + 1 < vls:
        mask = 2 * mask + 1
    return mask


def programmed_vl(vl: int, vls: int) -> int:
    """Return the lane of an entry that OpenSM programs into a port with ``vls`` lanes."""
    return (vl % MOST_VLS) & lane_mask(vls)


def programmed_lane(lane: int, vls: int) -> int:
    """Return the lane of an SL2VL row that OpenSM programs. VL 15 stays 15."""
    vl = lane & _DROP
    return vl if vl == _DROP else vl & lane_mask(vls)


def read_entries(text: Sequence[int], start: int, end: int, numbers: MutableSequence[int]) -> int:
    """Fill ``numbers`` with pairs of VL and weight as parsed by OpenSM, and return the number of pairs."""
    given = read_list(text, start, end, numbers)
    return (given + 1) // 2


def programmed_list(
    text: Sequence[int],
    start: int,
    end: int,
    vls: int,
    numbers: MutableSequence[int],
    vl: MutableSequence[int],
    weight: MutableSequence[int],
) -> int:
    """Fill ``vl`` and ``weight`` with the entries that OpenSM programs, and return the length up to the last weight.

    Parameters
    ----------
    text : sequence of int
        Bytes.
    start, end : int
        Span of the list.
    vls : int
        Number of data lanes of the port.
    numbers : sequence of int, (128,)
        Scratch.
    vl, weight : sequence of int, (64,)
        Entries; a capacity of 64 entries is assumed.
    """
    used, count = 0, read_entries(text, start, end, numbers)
    for entry in range(len(vl)):
        vl[entry], weight[entry] = 0, 0
        if entry < count:
            vl[entry] = programmed_vl(numbers[2 * entry], vls)
            weight[entry] = numbers[2 * entry + 1] & _BYTE_MAX
            if weight[entry] > 0:
                used = entry + 1
    return used


def data_vls(options: Options, given: int) -> int:
    """Return the number of data lanes: the given one, or that of ``max_op_vls``, or 8."""
    if given > 0:
        return given
    found = max_op_vls(options)
    return ASSUMED_VLS if found == NONE else found


def read_lanes(text: Sequence[int], start: int, end: int, numbers: MutableSequence[int]) -> int:
    """Fill 16 numbers with the lanes of an sl2vl option as parsed by OpenSM, and return the number of given lanes."""
    return read_list(text, start, end, numbers)


def part_end(text: Sequence[int], start: int, end: int) -> int:
    """Return the end of the part of a list that begins at ``start``: the next comma."""
    at = start
    while at < end and text[at] != _COMMA:
        at += 1
    return at


def colon_place(text: Sequence[int], start: int, end: int) -> int:
    """Return the place of the first colon, or ``end``."""
    at = start
    while at < end and text[at] != _COLON:
        at += 1
    return at


def part_start(text: Sequence[int], start: int, end: int) -> int:
    """Return the start of the next part that is not empty, or ``end``."""
    at = start
    while at < end and text[at] == _COMMA:
        at += 1
    return at


def _check_number(
    text: Sequence[int], start: int, end: int, field: int, most: int, faults: MutableSequence[int], count: int
) -> int:
    scanned = scan(text, start, end)
    if scanned.end != end:
        return _add_fault(faults, count, field, FORMAT, start, end)
    if not 0 <= signed_value(scanned) <= most:
        return _add_fault(faults, count, field, RANGE, start, end)
    return count


def _add_fault(faults: MutableSequence[int], count: int, field: int, fault: int, start: int, end: int) -> int:
    at = FAULT_NUMBERS * count
    if at + FAULT_NUMBERS > len(faults):
        return count
    faults[at], faults[at + 1], faults[at + 2], faults[at + 3] = field, fault, start, end
    return count + 1


def list_faults(
    text: Sequence[int],
    start: int,
    end: int,
    is_row: bool,  # noqa: FBT001 - an argument of a kernel
    faults: MutableSequence[int],
) -> tuple[int, int]:
    """Fill ``faults`` with OpenSM's warnings about a list. Return the number of parts and the number of faults.

    The rules are those of ``subn_verify_vlarb`` and ``subn_verify_sl2vl``. Faults beyond the size of ``faults`` are
    left out.
    """
    parts, count = 0, 0
    at = part_start(text, start, end)
    while at < end:
        stop = part_end(text, at, end)
        parts += 1
        colon = colon_place(text, at, stop)
        if is_row:
            count = _check_number(text, at, stop, VL_FIELD, _DROP, faults, count)
        elif colon == stop:
            count = _add_fault(faults, count, ENTRY_FIELD, FORMAT, at, stop)
        else:
            count = _check_number(text, at, colon, VL_FIELD, _LARGEST_VL, faults, count)
            count = _check_number(text, colon + 1, stop, WEIGHT_FIELD, MAX_WEIGHT, faults, count)
        at = part_start(text, stop, end)
    return parts, count


def is_misread(
    text: Sequence[int],
    start: int,
    end: int,
    is_row: bool,  # noqa: FBT001 - an argument of a kernel
    numbers: MutableSequence[int],
) -> bool:
    """Return whether OpenSM misreads a list, compared with its commas and colons.

    OpenSM's check skips empty parts, but OpenSM's parser reads each empty part as 0, without a warning.

    Parameters
    ----------
    text : sequence of int
        Bytes.
    start, end : int
        Span of the list.
    is_row : bool
        Whether the list is an sl2vl option instead of pairs.
    numbers : sequence of int
        Scratch: 128 numbers for pairs, 16 for a row.
    """
    read, place = 0, 0
    if is_row:
        read_lanes(text, start, end, numbers)
    else:
        read = read_entries(text, start, end, numbers)
    at, differs = part_start(text, start, end), False
    while at < end and place < (SL_COUNT if is_row else MAX_ENTRIES):
        stop = part_end(text, at, end)
        colon = stop if is_row else colon_place(text, at, stop)
        vl = unsigned_low(scan(text, at, colon))
        if is_row:
            differs = differs or (vl ^ numbers[place]) & _DROP != 0
        else:
            weight = unsigned_low(scan(text, min(colon + 1, stop), stop)) & _BYTE_MAX
            differs = differs or programmed_vl(vl, MOST_VLS) != programmed_vl(numbers[2 * place], MOST_VLS)
            differs = differs or weight != numbers[2 * place + 1] & _BYTE_MAX
        place += 1
        at = part_start(text, stop, end)
    for rest in range(place, read):
        vl, weight = programmed_vl(numbers[2 * rest], MOST_VLS), numbers[2 * rest + 1] & _BYTE_MAX
        differs = differs or vl != 0 or weight != 0
    return differs
