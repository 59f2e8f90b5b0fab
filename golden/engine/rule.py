"""Countable events of a block, each of which exercises a rule of its docs page."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A countable event.

    Parameters
    ----------
    name : str
        Name of the event in reports.
    decision : str
        Id of the rule that it exercises; several ids are separated by commas.
    text : str
        Description of the event.
    """

    name: str
    decision: str
    text: str
