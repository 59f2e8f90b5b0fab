"""Phases of an InfiniBand link: initialization, losses, audited quiet phases, resets, random inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CERTAIN = 65536
"""Denominator of all probabilities."""

DEAD = "dead link"
"""Name of the phase without arrivals, long enough for the watchdogs of both ends."""

AHEAD = "limits run ahead"
"""Name of the phase in which limits advance beyond the last FCP."""

FLIGHT = 16
"""Cycles from one end of the link to the other."""


@dataclass(frozen=True, slots=True)
class LinkPhase:
    """A phase of traffic. Probabilities are in 1/65536.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    loss : int
        Probability that a packet or FCP is lost.
    corrupt : int
        Probability that an FCP arrives with wrong bits.
    send : int
        Probability per cycle that a lane with credit sends when the link is free.
    free : int
        Probability per cycle that a block leaves a buffer.
    reset : int
        Probability of a reset of both ends.
    initializing : int
        Probability per cycle that the port is in link initialization.
    least_blocks, most_blocks : int
        Smallest and largest packet, in blocks.
    audit : bool
        Whether to check at the end that every buffer is empty and every credit is back at its sender.
    wild : bool
        Whether every input is random, including values that the contract forbids.
    hold : bool
        Whether FCPs are taken only just after a period. Until the next period a block of one lane enters and leaves in
        every cycle, so the lane's limit advances beyond the last FCP.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    loss: int = 0
    corrupt: int = 0
    send: int = CERTAIN
    free: int = CERTAIN
    reset: int = 0
    initializing: int = 0
    least_blocks: int = 1
    most_blocks: int = 66
    audit: bool = False
    wild: bool = False
    hold: bool = False
    name: str = ""


_RATES = (0, 65, 655, 3277, 6554)
"""Loss probabilities: 0, 0.1, 1, 5 and 10 %."""


def _quiet_cycles(parameters: Mapping[str, Any]) -> int:
    """Return the number of cycles after which the link is idle."""
    # Until the last packet has left and all buffers have drained (a block per cycle); then one period, its FCPs, the
    # answers to them, and the flight time of both.
    lanes = int(parameters["data_vls"])
    return 66 + FLIGHT + lanes * parameters["buffer_blocks"] + parameters["fcp_period"] + 2 * lanes + 2 * FLIGHT


def full_round(parameters: Mapping[str, Any]) -> int:
    """Return the length in cycles of the shortest run that contains every kind of phase."""
    rest = 6 * _quiet_cycles(parameters) + 4 * parameters["fcp_period"] + 18 * parameters["watchdog_cycles"] + 400
    return 13 * int(rest) // 3


def link_phases(parameters: Mapping[str, Any], cycles: int) -> tuple[LinkPhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: link initialization, losses up to 10 %, an audit after each."""
    period, quiet = parameters["fcp_period"], _quiet_cycles(parameters)
    busy = max(500, cycles // (2 * len(_RATES) + 3))
    unheard = max(busy, min(16 * parameters["watchdog_cycles"], cycles // 4))
    phases = [LinkPhase(2 * period + 100, send=0, initializing=CERTAIN, name="set-up")]
    sizes = ((1, 1), (1, 66), (1, min(66, parameters["buffer_blocks"])), (30, 66), (1, 4))
    loads = ((CERTAIN, CERTAIN), (CERTAIN, 20_000), (9000, CERTAIN), (CERTAIN, 50_000), (30_000, 30_000))
    while sum(phase.cycles for phase in phases) < cycles:
        for rate, (least, most), (send, free) in zip(_RATES, sizes, loads, strict=True):
            lossy = {"loss": rate, "corrupt": rate, "least_blocks": least, "most_blocks": most}
            phases += [
                LinkPhase(busy, **lossy, send=send, free=free, name=f"{rate / 655.36:g} % lost"),
                LinkPhase(quiet, send=0, audit=True, name="quiet"),
            ]
        phases += [
            LinkPhase(busy, loss=3277, corrupt=3277, reset=40, initializing=600, name="resets"),
            LinkPhase(min(2 * parameters["watchdog_cycles"] + 100, busy), loss=CERTAIN, name=DEAD),
            LinkPhase(quiet, send=0, audit=True, name="quiet"),
            LinkPhase(busy, wild=True, name="anything"),
            LinkPhase(unheard, wild=True, loss=CERTAIN, name="anything, few FCPs"),
            LinkPhase(busy, wild=True, hold=True, name=AHEAD),
            LinkPhase(1, reset=CERTAIN, send=0, name="reset"),
            LinkPhase(2 * period + 100, send=0, name="set-up again"),
        ]
    return tuple(phases)
