"""Comparable result of a network run with switches in hardware."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MixedRun:
    """Result of one run.

    Parameters
    ----------
    digest : str
        Digest of all deliveries with their cycles.
    bad_flits : int
        Number of flits corrupted by the hardware.
    dropped : int
        Number of packets that the hardware dropped.
    marked : int
        Number of packets that the hardware marked.
    seconds : float
        CPU time without compilation.
    mismatch : str
        First differing signal, if it was searched for.
    """

    digest: str
    bad_flits: int
    dropped: int
    marked: int
    seconds: float
    mismatch: str = ""
