"""Findings about the options of OpenSM, without tables of ports."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vlane.fabric.dumps.opensm_conf import PLACE, OpenSMConf, Option
from vlane.fabric.finding import Finding
from vlane.fabric.model import Kind
from vlane.fabric.options import findings
from vlane.fabric.options.lines import OPTIONS
from vlane.fabric.options.notes import BYTES, ROW_NUMBERS, ROWS, Notes
from vlane.fabric.options.rules import FAULT_NUMBERS
from vlane.fabric.options.words import PHRASES, Phrase
from vlane.schedulers.vlarb import MAX_ENTRIES
from vlane.shown import harmless
from vlane.tables.sl2vl import SL_COUNT

_NOTE_BYTES, _FURTHER_NOTES = 512, 3 * MAX_ENTRIES
"""Bound on the bytes of a finding, and on the number of findings in addition to one per line."""


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


def option_place(conf: OpenSMConf, option: Option, kind: Kind) -> str:
    """Return file, line, option and type of port as text for messages."""
    line = f":{option.line}" if option.line else ""
    return f"{conf.file}{line} {option.name}{_kind_text(kind)}"


def shortened(text: str, most: int = 60) -> str:
    """Return a text shortened to ``most`` characters."""
    return text if len(text) <= most else text[:most] + "..."


def found_notes(notes: Notes) -> list[tuple[Phrase, int, str, str]]:
    """Return sentence, line, name of the option and message of each finding."""
    made, data, start = [], bytes(notes.out[: notes.used[BYTES]]), 0
    for row in range(notes.used[ROWS]):
        phrase, line, name_end, end = notes.rows[ROW_NUMBERS * row : ROW_NUMBERS * (row + 1)]
        name, message = (
            harmless(part.decode("utf-8", "surrogateescape")) for part in (data[start:name_end], data[name_end:end])
        )
        made.append((Phrase(phrase), line, name, message))
        start = end
    return made


def new_notes(most: int) -> Notes:
    """Return memory for ``most`` findings."""
    return Notes(PHRASES, bytearray(_NOTE_BYTES * most), [0] * (ROW_NUMBERS * most), [0, 0])


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
