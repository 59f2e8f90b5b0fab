"""Phases of an Omni-Path link: loads, changes under traffic, audited quiet phases, resets, random inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CERTAIN = 65536
"""Denominator of all probabilities."""

FLIGHT = 16
"""Cycles from one end of the link to the other."""

BUFFER = 1792
"""Capacity of each end's buffer, in units."""


@dataclass(frozen=True, slots=True)
class SharedPhase:
    """A phase of traffic. Probabilities are in 1/65536.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    send : int
        Probability per cycle that a lane with credit sends when the link is free.
    free : int
        Probability per cycle that units leave a buffer.
    reset : int
        Probability of a reset of both ends.
    change : int
        Probability per cycle that a new division of the far buffer is programmed.
    ltp : int
        Probability per cycle and direction that an LTP is sent.
    least_blocks, most_blocks : int
        Smallest and largest packet, in units.
    audit : bool
        Whether to check at the end that every unit is back.
    wild : bool
        Whether every input is random, including values that the contract forbids.
    name : str
        Name of the phase in reports.
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
    """Return phases of ``cycles`` cycles in total: full and light load, changes of limits, an audit after each."""
    # Until the buffers have drained and every lane has returned its owed units: a lane needs up to eight codes.
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
