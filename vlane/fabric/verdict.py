"""The verdict of a check in words: never more than was checked, with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vlane.fabric.check import FabricReport


def verdict(report: FabricReport, *, ok: bool) -> str:
    """Return whether the check holds, as far as was checked, with the number of finding classes checked in full."""
    full = len(report.coverage) - len(report.not_checked)
    extent = f"{full} of {len(report.coverage)} finding classes in full, {report.coverage['CREDIT_LOOP']}"
    return f"{'holds' if ok else 'fails'} as far as checked ({extent})"


def counts(report: FabricReport) -> list[str]:
    """Return the numbers of the errors, each with its coverage unless it is full, of the warnings and of the notes."""
    severities = [finding.severity for finding in report.warnings]
    numbers = [
        ("CREDIT_LOOP", len(report.loops), "credit loop"),
        ("UNREACHABLE", report.unreachable_pairs, "unreachable pair"),
        ("VL_UNSERVED", len(report.unserved), "unserved lane"),
    ]
    said = [_counted(number, noun) + _extent(report, code, number) for code, number, noun in numbers]
    return [*said, _counted(severities.count("warning"), "warning"), _counted(severities.count("note"), "note")]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _extent(report: FabricReport, code: str, found: int) -> str:
    """Return the coverage in brackets; what was found is found, whatever else was assumed."""
    coverage = report.coverage[code]
    if coverage.is_full:
        return ""
    if found:
        return (
            f" ({coverage.present - coverage.checked:,} of {coverage.present:,} {coverage.element} rest on assumptions)"
        )
    return f" ({coverage} checked)" if coverage.checked else " (not checked)"
