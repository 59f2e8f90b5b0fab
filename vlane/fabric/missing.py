"""Parts of a capture that a check needs and that were not captured or cannot be read."""

from __future__ import annotations

from typing import NamedTuple

from vlane.fabric.finding import Finding
from vlane.fabric.model import Port


class Missing(NamedTuple):
    """A file, or a part of one, that a check needs and does not have.

    Parameters
    ----------
    what : str
        The file, or the part.
    codes : tuple of str
        Findings that are therefore not made, or rest on an assumption.
    instead : str
        The assumption, or the part of the check that is left out.
    ports : tuple of Port
        The ports concerned; empty if it is a whole file.
    """

    what: str
    codes: tuple[str, ...]
    instead: str
    ports: tuple[Port, ...] = ()


def missing_findings(missing: list[Missing]) -> list[Finding]:
    """Return a warning for each part that was not captured."""
    return [
        Finding("NOT_CHECKED", each.what, f"not checked: {', '.join(each.codes)} ({each.instead})", each.ports)
        for each in missing
    ]
