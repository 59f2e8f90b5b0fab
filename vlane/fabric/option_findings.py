"""Findings about the options of OpenSM that need no tables of ports."""

from __future__ import annotations

from collections.abc import Iterator

from vlane.fabric.dumps.opensm_conf import Configured, OpenSMConf, Option, complaints, is_misread
from vlane.fabric.finding import Finding
from vlane.fabric.model import Kind
from vlane.schedulers.vlarb import MAX_ENTRIES
from vlane.tables.sl2vl import SL_COUNT, VL_DROP


def line_findings(conf: OpenSMConf) -> Iterator[Finding]:
    """Find lines that OpenSM ignores or cuts."""
    for option in conf.unknown:
        where = f"{conf.file}:{option.line} {shortened(option.name)}"
        yield Finding("OPTION_UNKNOWN", where, "OpenSM does not know this option and ignores the line")
    for option, most in conf.unparsed:
        text = f"{shortened(option.value)!r} is not a number, 0 to {most}: OpenSM ignores the line"
        yield Finding("OPTION_IGNORED", f"{conf.file}:{option.line} {option.name}", text)
    for line in conf.long_lines:
        text = "OpenSM reads 1022 characters of a line and takes the rest for another line"
        yield Finding("OPTION_CUT", f"{conf.file}:{line}", text)


def list_findings(conf: OpenSMConf, kind: Kind) -> Iterator[Finding]:
    """Find limits and lists that OpenSM replaces, or reads otherwise than they are written."""
    configured = conf.configured(kind)
    for option in configured.refused_limits():
        text = f"limit {shortened(option.value)} is not 0 to 255: OpenSM programs {configured.limit()}"
        yield Finding("LIMIT_REPLACED", option_place(conf, option, kind), text)
    for option, value in configured.misread_limits():
        text = f"limit {shortened(option.value)!r} is not a number: OpenSM reads {value} without a warning"
        yield Finding("LIMIT_REPLACED", option_place(conf, option, kind), text)
    for option in (configured.high, configured.low, configured.sl2vl):
        yield from _malformed(conf, configured, option, kind)
    for each in complaints(configured.sl2vl):
        if each.kind == "short":
            text = f"{each.text} of {SL_COUNT} lanes given: the other SLs take VL 0"
            yield Finding("SL2VL_SHORT", option_place(conf, configured.sl2vl, kind), text)


def _malformed(conf: OpenSMConf, configured: Configured, option: Option, kind: Kind) -> Iterator[Finding]:
    """Find a list that OpenSM's check rejects in part, or that OpenSM reads otherwise than it is divided."""
    is_row = option is configured.sl2vl
    bad = [each.text for each in complaints(option) if each.kind == "format"]
    if not bad and not is_misread(option):
        return
    read = configured.lanes() if is_row else [f"{pair.vl}:{pair.weight}" for pair in configured.pairs(option)]
    form = "a lane" if is_row else "VL:weight"
    wrong = f"{shortened(bad[0])!r} is not {form}" if bad else "the list has an empty part"
    text = f"{wrong}: OpenSM reads the list as {shortened(','.join(map(str, read)), 200)}"
    yield Finding("ENTRY_MALFORMED", option_place(conf, option, kind), text)


def reduced_findings(conf: OpenSMConf, kind: Kind, vls: int) -> Iterator[Finding]:
    """Find numbers that OpenSM reduces for ports with that many lanes, and entries beyond the largest capacity."""
    configured = conf.configured(kind)
    for option in (configured.high, configured.low):
        if not option.line:
            continue
        where = option_place(conf, option, kind)
        for index, pair in enumerate(configured.pairs(option)):
            entry = pair.programmed(vls)
            if pair.vl != entry.vl:
                text = f"entry {index}: VL {signed(pair.vl)} becomes VL {entry.vl} on ports with {vls} data lanes"
                yield Finding("VL_MASKED", where, text)
            if pair.weight != entry.weight:
                text = f"entry {index}: VL {entry.vl} weight {signed(pair.weight)} becomes {entry.weight}"
                yield Finding("WEIGHT_WRAPPED", where, text)
        given = next((each.text for each in complaints(option) if each.kind == "long"), "")
        if given:
            yield Finding("ENTRIES_DROPPED", where, f"{given} entries configured, ports hold at most {MAX_ENTRIES}")
    row, where = configured.programmed_row(vls), option_place(conf, configured.sl2vl, kind)
    cut = [
        f"SL {sl} to VL {vl} not {lane}"
        for sl, (lane, vl) in enumerate(zip(configured.lanes(), row, strict=True))
        if vl not in (lane, VL_DROP)
    ]
    if cut and configured.sl2vl.line:
        more = f" and {len(cut) - 4} more" if len(cut) > 4 else ""
        yield Finding("SL2VL_MASKED", where, f"ports with {vls} data lanes: {', '.join(cut[:4])}{more}")


def option_place(conf: OpenSMConf, option: Option, kind: Kind) -> str:
    """Return file, line, option and type of port as text for messages."""
    line = f":{option.line}" if option.line else ""
    return f"{conf.file}{line} {option.name}" + (" (adapters)" if kind is not Kind.SWITCH else " (switches)")


def shortened(text: str, most: int = 60) -> str:
    """Shorten a text of any length."""
    return text if len(text) <= most else text[:most] + "..."


def signed(value: int) -> int:
    """Return a 32-bit number with its sign."""
    return value - (1 << 32) if value >> 31 else value
