"""Rules of a block that a run can show to have happened."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Rule"]


class Rule(NamedTuple):
    """One countable event.

    Parameters
    ----------
    name : str
        Its name in reports.
    decision : str
        The decision of the contract it shows.
    text : str
        What happened.
    """

    name: str
    decision: str
    text: str
