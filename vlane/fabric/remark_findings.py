"""Findings about the capture: unreadable, replaced and skipped parts, and messages of the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlane.fabric.finding import Finding

if TYPE_CHECKING:
    from vlane.fabric.dump import Remarks

_LONGEST = 160


def remark_findings(remarks: Remarks) -> list[Finding]:
    """Return one finding for each file and kind of remark."""
    return [*_unreadable(remarks), *_replaced(remarks), *_skipped(remarks), *_diagnostics(remarks)]


def _unreadable(remarks: Remarks) -> list[Finding]:
    found = []
    for file, errors in remarks.unreadable.items():
        first, more = errors[0], len(errors) - 1
        where = f"{file}:{first.line}" if first.line else file
        others = f"; {more} other parts of the file are left out, too" if more else ""
        found.append(Finding("UNREADABLE", where, f"{first.of(first.field)}: this part is left out{others}"))
    return found


def _replaced(remarks: Remarks) -> list[Finding]:
    return [
        Finding(
            "BLOCK_REPLACED",
            file,
            f"{blocks} elements are described twice (first: {first}), {differing} of them with differences: "
            "the later description is used",
        )
        for file, (blocks, differing, first) in remarks.replaced.items()
    ]


def _skipped(remarks: Remarks) -> list[Finding]:
    return [
        Finding("PART_SKIPPED", file, f"{count} {kind} are skipped") for file, (count, kind) in remarks.skipped.items()
    ]


def _diagnostics(remarks: Remarks) -> list[Finding]:
    found = []
    for file, lines in remarks.diagnostics.items():
        line, text = lines[0]
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        found.append(
            Finding("TOOL_DIAGNOSTIC", f"{file}:{line}", f"the tool reported: {text.strip()[:_LONGEST]}{more}")
        )
    return found
