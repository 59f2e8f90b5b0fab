"""Findings about an arbitration table, in the compiler's subset of Python: shares of whole packets, starvation."""

from __future__ import annotations

from collections.abc import Sequence

from vlane.fabric.options.findings import NO_PARTS
from vlane.fabric.options.notes import Notes, close_note, number, open_line_note, put, put_number, put_phrase, tenths
from vlane.fabric.options.words import Phrase
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_WEIGHT, VL15
from vlane.schedulers.vlarb_shares import (
    ShareTable,
    fill_shares,
    find_nearest,
    is_first,
    is_off,
    nearest_weight,
    packets_of,
    same_shares,
    total,
)

HIGH_IS_OFF, LOW_IS_OFF = 1, 2
"""Lists with a finding about shares of whole packets."""

_COMMA, _COLON, _SEMICOLON, _BLANK = 44, 58, 59, 32


def starvation_note(
    high_vl: Sequence[int],
    high_weight: Sequence[int],
    low_vl: Sequence[int],
    low_weight: Sequence[int],
    limit: int,
    vls: int,
    notes: Notes,
) -> None:
    """Find lanes without a high entry behind an unbounded high list."""
    high = _served(high_vl, high_weight, vls)
    low_only = _served(low_vl, low_weight, vls) & ~high
    if limit == LIMIT_UNBOUNDED and high != 0:
        open_line_note(notes, Phrase.STARVATION, 0)
        _say(notes, Phrase.STARVATION)
        if low_only != 0:
            _say(notes, Phrase.VL)
            _put_lanes(notes, low_only)
            _say(notes, Phrase.OF_LOW)
        else:
            _say(notes, Phrase.LOW_LIST)
        _say(notes, Phrase.MAY_STARVE)
        _put_lanes(notes, high)
        _say(notes, Phrase.OF_HIGH)
        close_note(notes)


def _served(vls: Sequence[int], weights: Sequence[int], data_vls: int) -> int:
    lanes = 0
    for entry in range(len(vls)):
        if weights[entry] > 0 and vls[entry] < data_vls:
            lanes |= 1 << vls[entry]
    return lanes


def _put_lanes(notes: Notes, lanes: int) -> None:
    begun = False
    for vl in range(VL15):
        if (lanes >> vl) & 1 != 0:
            if begun:
                _put_separator(notes, _COMMA)
            put_number(notes, vl)
            begun = True


def weights_note(
    high_vl: Sequence[int],
    high_weight: Sequence[int],
    low_vl: Sequence[int],
    low_weight: Sequence[int],
    mtu: int,
    blocks: int,
    vls: int,
    notes: Notes,
    table: ShareTable,
) -> int:
    """Find lists with shares that differ from the shares of the weights, because ports send whole packets.

    Return ``HIGH_IS_OFF`` and ``LOW_IS_OFF``, added, for the lists of the finding.
    """
    in_high, exact_high = _measured(table, high_vl, high_weight, vls, blocks)
    if in_high > 0:
        _open_weights(notes, mtu, blocks)
        _say(notes, Phrase.IN_HIGH)
        _put_advice(table, in_high, exact_high, blocks, notes)
    in_low, exact_low = _measured(table, low_vl, low_weight, vls, blocks)
    if in_low > 0:
        if in_high > 0:
            _put_separator(notes, _SEMICOLON)
        else:
            _open_weights(notes, mtu, blocks)
        _say(notes, Phrase.IN_LOW)
        _put_advice(table, in_low, exact_low, blocks, notes)
    if in_high + in_low > 0:
        close_note(notes)
    return (HIGH_IS_OFF if in_high > 0 else 0) + (LOW_IS_OFF if in_low > 0 else 0)


def _measured(
    table: ShareTable, vls: Sequence[int], weights: Sequence[int], data_vls: int, blocks: int
) -> tuple[int, bool]:
    """Return the number of entries, 0 for a list with fitting shares, and whether the nearest list is exact."""
    count = fill_shares(table, vls, weights, data_vls, blocks)
    if not is_off(table):
        return 0, False
    return count, find_nearest(table, count, packets_of(MAX_WEIGHT, blocks))


def _open_weights(notes: Notes, mtu: int, blocks: int) -> None:
    open_line_note(notes, Phrase.WEIGHTS, 0)
    put_phrase(notes.phrases, notes, Phrase.WEIGHTS, (number(mtu), number(blocks)))


def _put_advice(table: ShareTable, count: int, exact: bool, blocks: int, notes: Notes) -> None:  # noqa: FBT001
    """Append the shares of a list, and better weights."""
    _put_shares(table, count, table.given, notes)
    _put_separator(notes, _SEMICOLON)
    if exact:
        _put_nearest(table, count, blocks, notes)
        _say(notes, Phrase.EXACT)
    elif same_shares(table.near, table.given):
        _say(notes, Phrase.NO_NEARER)
    else:
        _say(notes, Phrase.NEAREST)
        _put_nearest(table, count, blocks, notes)
        _put_separator(notes, _COLON)
        _put_shares(table, count, table.near, notes)


def _put_shares(table: ShareTable, count: int, sums: Sequence[int], notes: Notes) -> None:
    weights, sent = total(table.meant), total(sums)
    for entry in range(count):
        if is_first(table, entry):
            if entry > 0:
                _put_separator(notes, _COMMA)
            vl = table.vl[entry]
            parts = (number(vl), tenths(sums[vl], sent), tenths(table.meant[vl], weights))
            put_phrase(notes.phrases, notes, Phrase.LANE_GETS, parts)


def _put_nearest(table: ShareTable, count: int, blocks: int, notes: Notes) -> None:
    for entry in range(count):
        if entry > 0:
            put(notes, _COMMA)
        put_number(notes, table.vl[entry])
        put(notes, _COLON)
        put_number(notes, nearest_weight(table.nearest[entry], blocks))


def _say(notes: Notes, phrase: int) -> None:
    put_phrase(notes.phrases, notes, phrase, NO_PARTS)


def _put_separator(notes: Notes, code: int) -> None:
    put(notes, code)
    put(notes, _BLANK)
