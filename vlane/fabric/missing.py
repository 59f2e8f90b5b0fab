"""Parts of a capture that are missing or unreadable but required by a check."""

from __future__ import annotations

from typing import NamedTuple

from vlane.fabric.finding import Finding
from vlane.fabric.model import Port


class Missing(NamedTuple):
    """A missing file or a missing part of a file.

    Parameters
    ----------
    what : str
        Description of the file or the part.
    codes : tuple of str
        Affected findings: not checked, or resting on an assumption.
    instead : str
        Assumption, or omitted part of the check.
    ports : tuple of Port
        Affected ports; empty if a whole file is missing.
    """

    what: str
    codes: tuple[str, ...]
    instead: str
    ports: tuple[Port, ...] = ()


_LISTED, _MOST = 6, 9
"""Number of codes in a message that shortens its list, and in the longest list that is not shortened."""


def missing_findings(missing: list[Missing]) -> list[Finding]:
    """Return a warning for each missing part. Long lists of codes are shortened, and ``Missing.codes`` has all."""
    return [Finding("NOT_CHECKED", each.what, _message(each), each.ports) for each in missing]


def _message(part: Missing) -> str:
    if not part.codes:
        return part.instead
    codes, more = part.codes, len(part.codes) - _LISTED
    listed = ", ".join(codes) if len(codes) <= _MOST else f"{', '.join(codes[:_LISTED])} and {more} others, see --json"
    return f"not checked: {listed} ({part.instead})"
