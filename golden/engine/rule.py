"""Events of a block that a run counts, each of which shows a rule of its page."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One countable event.

    Parameters
    ----------
    name : str
        Name of the event in reports.
    decision : str
        Id of the rule that it shows; several are separated by commas.
    text : str
        Description of the event.
    """

    name: str
    decision: str
    text: str
