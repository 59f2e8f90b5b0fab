"""Phases of an Omni-Path link's life: loads, live changes, quiet stretches that are audited, resets, anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CERTAIN = 65536
"""Chances are out of this."""

FLIGHT = 16
"""Cycles from one end to the other."""

BUFFER = 1792
"""Units that each end's buffer holds."""


@dataclass(frozen=True, slots=True)
class SharedPhase:
    """A stretch of the link's life. Chances are out of 65536.

    Parameters
    ----------
    cycles : int
        Length.
    send : int
        Chance per cycle that a lane with credit sends, when the link is free.
    free : int
        Chance per cycle that units leave a buffer.
    reset : int
        Chance of a reset of both ends.
    change : int
        Chance per cycle that a new division of the far buffer is programmed.
    ltp : int
        Chance per cycle that an LTP passes, in each direction.
    least_blocks, most_blocks : int
        Packet sizes.
    audit : bool
        At its end every unit must be back.
    wild : bool
        Every input at random, also what the contract forbids.
    name : str
        For reports.
    """

    cycles: int
    send: int = CERTAIN
    free: int = CERTAIN
    reset: int = 0
    change: int = 0
    ltp: int = CERTAIN // 2
    least_blocks: int = 1
    most_blocks: int = 66
    audit: bool = False
    wild: bool = False
    name: str = ""


def shared_phases(parameters: Mapping[str, Any], cycles: int) -> tuple[SharedPhase, ...]:
    """Return phases of that many cycles in all: full and light load, live changes, an audit after each."""
    # Until buffers are empty, and every lane has said what it owes in codes: a lane needs up to eight.
    quiet = 66 + 2 * FLIGHT + BUFFER + 8 * 10 * parameters["vls"] + 100
    busy = max(500, cycles // 16)
    phases: list[SharedPhase] = []
    loads = ((CERTAIN, 45_000), (CERTAIN, CERTAIN), (3000, CERTAIN), (CERTAIN, CERTAIN))
    while sum(phase.cycles for phase in phases) < cycles:
        for number, (send, free) in enumerate(loads):
            most, change, ltp = (66, 4, 66, 33)[number], (0, 64, 16, 4)[number], (32_768, 65_536, 20_000, 300)[number]
            phases += [
                SharedPhase(busy, send=send, free=free, change=change, ltp=ltp, most_blocks=most, name="load"),
                SharedPhase(quiet, send=0, ltp=CERTAIN, audit=True, name="quiet"),
            ]
        phases += [
            SharedPhase(busy, reset=160, change=64, name="resets"),
            SharedPhase(4 * busy, wild=True, name="anything"),
            SharedPhase(1, reset=CERTAIN, send=0, ltp=0, name="reset"),
        ]
    return tuple(phases)
