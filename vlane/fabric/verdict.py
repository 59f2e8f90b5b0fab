"""Verdict of a check as text, limited to the coverage of the check."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vlane.fabric.check import FabricReport
    from vlane.fabric.coverage import Coverage


def verdict(report: FabricReport, *, ok: bool) -> str:
    """Return the verdict with its extent: the finding classes with full coverage, and the checked pairs."""
    full = len(report.coverage) - len(report.not_checked)
    extent = f"{full} of {len(report.coverage)} finding classes in full, {checked_pairs(report)}"
    return f"{'holds' if ok else 'fails'} as far as checked ({extent})"


def checked_pairs(report: FabricReport) -> Coverage:
    """Return the coverage of pairs. A checked pair was checked both for credit loops and for its arrival."""
    return min(report.coverage["CREDIT_LOOP"], report.coverage["UNREACHABLE"])


def counts(report: FabricReport) -> list[str]:
    """Return the counts of errors, warnings and notes. Error counts include the coverage if it is incomplete."""
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
    """Return the coverage in brackets, or an empty text for full coverage. Assumptions do not void found errors.

    Without path SLs or SL2VL rows, the pairs were followed, but none of them without an assumption.
    """
    coverage = report.coverage[code]
    if coverage.is_full:
        return ""
    if found or (not coverage.checked and coverage.element == "pairs" and report.path_sls):
        return (
            f" ({coverage.present - coverage.checked:,} of {coverage.present:,} {coverage.element} rest on assumptions)"
        )
    return f" ({coverage} checked)" if coverage.checked else " (not checked)"
