"""What a check could not examine, because a file or part of it is missing."""

from __future__ import annotations

from typing import NamedTuple

from vlane.fabric.finding import Finding


class Missing(NamedTuple):
    """A file, or part of one, that was not captured.

    Parameters
    ----------
    what : str
        The file, or the part that it lacks.
    codes : tuple of str
        Findings that therefore cannot be made, or rest on an assumption.
    instead : str
        What is assumed instead, or not checked.
    """

    what: str
    codes: tuple[str, ...]
    instead: str


def missing_findings(missing: list[Missing]) -> list[Finding]:
    """Return a warning for everything that was not captured."""
    return [
        Finding("NOT_CHECKED", each.what, f"not checked: {', '.join(each.codes)} ({each.instead})") for each in missing
    ]


def unchecked_codes(missing: list[Missing]) -> tuple[str, ...]:
    """Return the codes of all findings that cannot be made, or rest on an assumption, each once."""
    return tuple(dict.fromkeys(code for each in missing for code in each.codes))
