"""Findings about options and tables that need no captured fabric, in the compiler's subset of Python."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import NamedTuple

from vlane.fabric.dumps.opensm_numbers import scan, signed, signed_value
from vlane.fabric.options.lines import KNOWN, LONG_LINES, NONE, OPTIONS, Options, is_name, lower
from vlane.fabric.options.notes import (
    BYTES,
    Notes,
    add_note,
    close_note,
    number,
    open_line_note,
    open_note,
    put,
    put_dots,
    put_number,
    put_phrase,
    quoted,
    span,
)
from vlane.fabric.options.rules import (
    FAULT_NUMBERS,
    FORMAT,
    IS_LIST,
    IS_ROW,
    MOST_VLS,
    is_misread,
    is_null,
    is_number,
    is_on,
    is_set,
    limit_from,
    limit_line,
    limit_value,
    list_faults,
    programmed_lane,
    programmed_vl,
    read_entries,
    read_lanes,
    text_option,
)
from vlane.fabric.options.words import MAX_OP_VLS, MAX_VLS, NAMES, QOS, SL2VL, VLARB_HIGH, VLARB_LOW, Phrase
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

_BYTE_MAX = 0xFF
_LONGEST_LIST = 200
_MOST_LANES = 4
_QOS, _CC = tuple(b"qos"), tuple(b"cc_")
_COMMA, _COLON, _BLANK = 44, 58, 32
NO_PARTS = ((0, 0, 0),)
"""Parts of a sentence without numbers."""


class Scratch(NamedTuple):
    """Memory of the functions of this module.

    Parameters
    ----------
    numbers : sequence of int, (128,)
        Numbers of a list.
    lanes : sequence of int, (16,)
        Lanes of a row.
    faults : sequence of int
        Faults of a list.
    """

    numbers: MutableSequence[int]
    lanes: MutableSequence[int]
    faults: MutableSequence[int]


def line_notes(options: Options, notes: Notes) -> None:
    """Find lines that OpenSM ignores or cuts."""
    for option in range(options.counts[KNOWN], options.counts[OPTIONS]):
        if _is_unknown(options, option):
            add_note(options, notes, Phrase.UNKNOWN, option, NO_PARTS)
    for option in range(options.counts[KNOWN], options.counts[OPTIONS]):
        most = _most_of(options.first[option])
        if most > 0 and not is_number(options, option, most):
            value = quoted(options.value_from[option], options.value_to[option])
            add_note(options, notes, Phrase.IGNORED, option, (value, number(most)))
    for place in range(options.counts[LONG_LINES]):
        open_line_note(notes, Phrase.CUT, options.long_lines[place])
        put_phrase(options.text, notes, Phrase.CUT, NO_PARTS)
        close_note(notes)


def _most_of(name: int) -> int:
    """Return the largest number of lanes that an option accepts, or 0 for other options."""
    if name == MAX_OP_VLS:
        return _BYTE_MAX
    return MOST_VLS if name < QOS and name % len(NAMES) == MAX_VLS else 0


def _begins(options: Options, option: int, word: tuple[int, ...]) -> bool:
    start = options.name_from[option]
    begins = options.name_to[option] - start >= len(word)
    for place in range(len(word)):
        begins = begins and lower(options.text[start + place]) == word[place]
    return begins


def _is_unknown(options: Options, option: int) -> bool:
    """Return whether this is the first line of an option unknown to OpenSM: QoS, congestion control, or no name."""
    if options.first[option] < options.counts[KNOWN] or not _is_suspect(options, option):
        return False
    before = options.before[option]
    while before != NONE:
        if _is_suspect(options, before):
            return False
        before = options.before[before]
    return True


def _is_suspect(options: Options, option: int) -> bool:
    is_ours = _begins(options, option, _QOS) or _begins(options, option, _CC)
    suspect = (is_ours and is_set(options, option)) or not is_name(options, option)
    return suspect and not is_in_long_line(options, option)


def is_in_long_line(options: Options, option: int) -> bool:
    """Return whether an option stands in a line longer than OpenSM's buffer."""
    low, high = 0, options.counts[LONG_LINES]
    while low < high:  # the numbers are in order
        middle = (low + high) // 2
        if options.long_lines[middle] < options.line[option]:
            low = middle + 1
        else:
            high = middle
    return low < options.counts[LONG_LINES] and options.long_lines[low] == options.line[option]


def off_note(options: Options, notes: Notes) -> None:
    """Find that OpenSM programs no table, because ``qos`` is not TRUE."""
    if not is_on(options):
        open_line_note(notes, Phrase.QOS_OFF, 0)
        put_phrase(options.text, notes, Phrase.QOS_OFF, NO_PARTS)
        close_note(notes)


def list_notes(options: Options, kind: int, notes: Notes, scratch: Scratch) -> None:
    """Find limits and lists that OpenSM replaces or misreads, for a kind of port."""
    for place in range(2):
        option = limit_line(options, kind, place)
        if option != NONE and limit_value(options, option) > LIMIT_UNBOUNDED:
            value = span(options.value_from[option], options.value_to[option])
            add_note(options, notes, Phrase.LIMIT_REFUSED, option, (value, number(limit_from(options, kind, 0))))
    for place in range(2):
        option = limit_line(options, kind, place)
        if option != NONE:
            _limit_note(options, kind, place, option, notes)
    for name in (VLARB_HIGH, VLARB_LOW, SL2VL):
        _malformed_note(options, text_option(options, kind, name), name == SL2VL, notes, scratch)
    row = text_option(options, kind, SL2VL)
    parts, _ = list_faults(options.text, options.value_from[row], options.value_to[row], IS_ROW, scratch.faults)
    if options.line[row] > 0 and parts < SL_COUNT:
        add_note(options, notes, Phrase.SHORT_ROW, row, (number(parts),))
    if options.line[row] > 0 and parts > SL_COUNT:
        add_note(options, notes, Phrase.LONG_ROW, row, (number(parts),))


def _limit_note(options: Options, kind: int, place: int, option: int, notes: Notes) -> None:
    """Find a limit that is not a number, unless it is unset and a later line gives the limit."""
    start, end = options.value_from[option], options.value_to[option]
    scanned = scan(options.text, start, end)
    is_unset = is_null(options, option) and limit_from(options, kind, 0) == limit_from(options, kind, place + 1)
    if (scanned.end != end or start == end) and not is_unset:
        parts = (quoted(start, end), number(signed_value(scanned)))
        add_note(options, notes, Phrase.LIMIT_MISREAD, option, parts)


def _malformed_note(options: Options, option: int, is_row: bool, notes: Notes, scratch: Scratch) -> None:  # noqa: FBT001
    """Find a list that OpenSM rejects in part or misreads."""
    if options.line[option] == 0:
        return
    text, start, end = options.text, options.value_from[option], options.value_to[option]
    _, faults = list_faults(text, start, end, is_row, scratch.faults)
    bad = NONE
    for place in range(faults):
        if bad == NONE and scratch.faults[FAULT_NUMBERS * place + 1] == FORMAT:
            bad = FAULT_NUMBERS * place
    if bad == NONE and not is_misread(text, start, end, is_row, scratch.lanes if is_row else scratch.numbers):
        return
    phrase = Phrase.EMPTY_PART if bad == NONE else Phrase.BAD_LANE if is_row else Phrase.BAD_ENTRY
    wrong = quoted(0, 0) if bad == NONE else quoted(scratch.faults[bad + 2], scratch.faults[bad + 3])
    open_note(options, notes, phrase, option)
    put_phrase(options.text, notes, phrase, (wrong,))
    _put_list(options, option, is_row, notes, scratch)
    close_note(notes)


def _put_list(options: Options, option: int, is_row: bool, notes: Notes, scratch: Scratch) -> None:  # noqa: FBT001
    """Append a list as parsed by OpenSM, shortened to 200 characters."""
    begun, start, end = notes.used[BYTES], options.value_from[option], options.value_to[option]
    if is_row:
        read_lanes(options.text, start, end, scratch.lanes)
        for place in range(SL_COUNT):
            if place > 0:
                put(notes, _COMMA)
            put_number(notes, scratch.lanes[place])
    else:
        for place in range(read_entries(options.text, start, end, scratch.numbers)):
            if place > 0:
                put(notes, _COMMA)
            put_number(notes, scratch.numbers[2 * place])
            put(notes, _COLON)
            put_number(notes, scratch.numbers[2 * place + 1])
    if notes.used[BYTES] - begun > _LONGEST_LIST:
        notes.used[BYTES] = begun + _LONGEST_LIST
        put_dots(notes)


def reduced_notes(options: Options, kind: int, vls: int, notes: Notes, scratch: Scratch) -> None:
    """Find numbers that OpenSM reduces for ports with ``vls`` lanes, and entries beyond the largest capacity."""
    for name in (VLARB_HIGH, VLARB_LOW):
        option = text_option(options, kind, name)
        if options.line[option] > 0:
            _reduced_entries(options, option, vls, notes, scratch)
    row = text_option(options, kind, SL2VL)
    if options.line[row] > 0:
        _reduced_row(options, row, vls, notes, scratch)


def _reduced_entries(options: Options, option: int, vls: int, notes: Notes, scratch: Scratch) -> None:
    numbers, start, end = scratch.numbers, options.value_from[option], options.value_to[option]
    for entry in range(read_entries(options.text, start, end, numbers)):
        vl, weight = numbers[2 * entry], numbers[2 * entry + 1]
        programmed = programmed_vl(vl, vls)
        if vl != programmed:
            parts = (number(entry), number(signed(vl)), number(programmed), number(vls))
            add_note(options, notes, Phrase.MASKED, option, parts)
        if weight != weight & _BYTE_MAX:
            cut = (number(entry), number(programmed), number(signed(weight)), number(weight & _BYTE_MAX))
            add_note(options, notes, Phrase.WRAPPED, option, cut)
    parts_given, _ = list_faults(options.text, start, end, IS_LIST, scratch.faults)
    if parts_given > MAX_ENTRIES:
        add_note(options, notes, Phrase.DROPPED, option, (number(parts_given),))


def _reduced_row(options: Options, row: int, vls: int, notes: Notes, scratch: Scratch) -> None:
    read_lanes(options.text, options.value_from[row], options.value_to[row], scratch.lanes)
    cut = 0
    for sl in range(SL_COUNT):
        lane = scratch.lanes[sl]
        vl = programmed_lane(lane, vls)
        if vl not in (lane, VL_DROP):
            if cut == 0:
                open_note(options, notes, Phrase.ROW_MASKED, row)
                put_phrase(options.text, notes, Phrase.ROW_MASKED, (number(vls),))
            if cut < _MOST_LANES:
                if cut > 0:
                    put_separator(notes, _COMMA)
                put_phrase(options.text, notes, Phrase.ROW_MASKED_LANE, (number(sl), number(vl), number(lane)))
            cut += 1
    if cut > _MOST_LANES:
        put_phrase(options.text, notes, Phrase.MORE, (number(cut - _MOST_LANES),))
    if cut > 0:
        close_note(notes)


def put_separator(notes: Notes, code: int) -> None:
    """Append a separator and a blank."""
    put(notes, code)
    put(notes, _BLANK)
