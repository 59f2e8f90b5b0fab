"""What a run of a network with switches in hardware leaves to be compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MixedRun:
    """What one run did.

    Parameters
    ----------
    digest : str
        Of every delivery and its cycle.
    bad_flits, dropped, marked : int
        Flits that came out of the hardware other than they went in; packets that it dropped, and that it marked.
    seconds : float
        CPU time, compilation apart.
    mismatch : str
        The first signal that differs, if that was looked for.
    """

    digest: str
    bad_flits: int
    dropped: int
    marked: int
    seconds: float
    mismatch: str = ""
