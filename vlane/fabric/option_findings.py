"""Findings about the options of OpenSM, without tables of ports."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vlane.fabric.dumps.opensm_conf import PLACE, OpenSMConf, Option
from vlane.fabric.finding import Finding
from vlane.fabric.model import Kind
from vlane.fabric.options import findings
from vlane.fabric.options.lines import OPTIONS, zeros
from vlane.fabric.options.notes import BYTES, ROW_NUMBERS, ROWS, Notes
from vlane.fabric.options.rules import FAULT_NUMBERS
from vlane.fabric.options.table_findings import starvation_note, weights_note
from vlane.fabric.options.words import PHRASES, Phrase
from vlane.schedulers.vlarb import MAX_ENTRIES, VLArbTable
from vlane.schedulers.vlarb_shares import new_share_table
from vlane.shown import harmless
from vlane.tables.sl2vl import SL_COUNT
from vlane.units import mtu_blocks

_NOTE_BYTES, _SHARE_BYTES = 512, 8192
"""Bounds on the bytes of a finding about a line, and about the shares of both lists."""
_FURTHER_NOTES = 3 * MAX_ENTRIES
"""Bound on the number of findings in addition to one per line."""


def line_findings(conf: OpenSMConf) -> list[Finding]:
    """Find lines that OpenSM ignores or cuts."""
    return _found(conf, partial(findings.line_notes, conf.parsed))


def off_findings(conf: OpenSMConf) -> list[Finding]:
    """Find that OpenSM programs no table."""
    return _found(conf, partial(findings.off_note, conf.parsed))


def list_findings(conf: OpenSMConf, kind: Kind) -> list[Finding]:
    """Find limits and lists that OpenSM replaces or misreads."""
    scratch = _scratch(conf)
    return _found(conf, lambda notes: findings.list_notes(conf.parsed, PLACE[kind], notes, scratch), kind)


def reduced_findings(conf: OpenSMConf, kind: Kind, vls: int) -> list[Finding]:
    """Find numbers that OpenSM reduces for ports with ``vls`` lanes, and entries beyond the largest capacity."""
    scratch = _scratch(conf)
    return _found(conf, lambda notes: findings.reduced_notes(conf.parsed, PLACE[kind], vls, notes, scratch), kind)


def starvation_findings(where: str, table: VLArbTable, vls: int) -> list[Finding]:
    """Find lanes without a high entry behind an unbounded high list, at ports with ``vls`` lanes."""
    notes = new_notes(1)
    starvation_note(*table.columns(), vls, notes)
    return _table_findings(where, notes)


def share_findings(where: str, table: VLArbTable, *, mtu: int, vls: int) -> list[Finding]:
    """Find lists with shares that differ from the weights because ports with ``vls`` lanes send whole packets."""
    notes, (high_vl, high_weight, low_vl, low_weight, _) = new_notes(1, _SHARE_BYTES), table.columns()
    blocks, shares = mtu_blocks(mtu), new_share_table(zeros)
    weights_note(high_vl, high_weight, low_vl, low_weight, mtu, blocks, vls, notes, shares)
    return _table_findings(where, notes)


def _table_findings(where: str, notes: Notes) -> list[Finding]:
    return [Finding(phrase.code, where, message) for phrase, _, _, message in found_notes(notes)]


def option_place(conf: OpenSMConf, option: Option, kind: Kind) -> str:
    """Return file, line, option and type of port as text for messages."""
    line = f":{option.line}" if option.line else ""
    return f"{conf.file}{line} {option.name}{_kind_text(kind)}"


def shortened(text: str, most: int = 60) -> str:
    """Return a text shortened to ``most`` characters."""
    return text if len(text) <= most else text[:most] + "..."


def found_notes(notes: Notes) -> list[tuple[Phrase, int, str, str]]:
    """Return sentence, line, name of the option and message of each finding."""
    every, made, data, start = tuple(Phrase), [], bytes(notes.out[: notes.used[BYTES]]), 0
    for row in range(notes.used[ROWS]):
        phrase, line, name_end, end = notes.rows[ROW_NUMBERS * row : ROW_NUMBERS * (row + 1)]
        name, message = (
            harmless(part.decode("utf-8", "surrogateescape")) for part in (data[start:name_end], data[name_end:end])
        )
        made.append((every[phrase], line, name, message))
        start = end
    return made


def new_notes(most: int, size: int = _NOTE_BYTES) -> Notes:
    """Return memory for ``most`` findings of ``size`` bytes."""
    return Notes(PHRASES, bytearray(size * most), [0] * (ROW_NUMBERS * most), [0, 0])


def _found(conf: OpenSMConf, find: Callable[[Notes], None], kind: Kind | None = None) -> list[Finding]:
    notes = new_notes(conf.parsed.counts[OPTIONS] + _FURTHER_NOTES)
    find(notes)
    of_kind = _kind_text(kind) if kind else ""
    return [
        Finding(phrase.code, f"{conf.file}{f':{line}' if line else ''}{f' {name}{of_kind}' if name else ''}", message)
        for phrase, line, name, message in found_notes(notes)
    ]


def _scratch(conf: OpenSMConf) -> findings.Scratch:
    faults = FAULT_NUMBERS * (2 * conf.text.count(b",") + 2 * SL_COUNT * MAX_ENTRIES)
    return findings.Scratch([0] * (2 * MAX_ENTRIES), [0] * SL_COUNT, [0] * faults)


def _kind_text(kind: Kind) -> str:
    return " (switches)" if kind is Kind.SWITCH else " (adapters)"
