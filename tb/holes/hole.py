"""A judged hole of code coverage, and the judged holes of each block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

__all__ = ["Hole", "judged_holes"]


@dataclass(frozen=True, slots=True)
class Hole:
    """Bits that a block's qualification leaves as they are.

    Parameters
    ----------
    signals : str
        Regular expression of the whole path of a signal, names of instances and its own joined by points.
    bits : range
        Its bits.
    reason : str
        Why they stay, as a sentence.
    """

    signals: str
    bits: range
    reason: str

    def covers(self, signal: str, bit: int) -> bool:
        """Return whether a bit of a signal is one of them."""
        return bit in self.bits and re.fullmatch(self.signals, signal) is not None


def judged_holes(name: str) -> tuple[Hole, ...]:
    """Return the judged holes of a block: ``HOLES`` of the module ``holes_NOUN`` beside this one, if there is one."""
    module = f"vlane.tb.holes.holes_{name}"
    if find_spec(module) is None:
        return ()
    found: tuple[Hole, ...] = import_module(module).HOLES
    return found
