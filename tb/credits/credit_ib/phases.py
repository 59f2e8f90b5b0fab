"""Phases of an InfiniBand link's life: set-up, losses, quiet stretches that are audited, resets, anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CERTAIN = 65536
"""Chances are out of this."""

DEAD = "dead link"
"""Name of the phase in which nothing arrives, long enough for the watchdog of both ends."""

AHEAD = "limits run ahead"
"""Name of the phase in which limits run ahead of what was said."""

FLIGHT = 16
"""Cycles from one end to the other."""


@dataclass(frozen=True, slots=True)
class LinkPhase:
    """A stretch of the link's life. Chances are out of 65536.

    Parameters
    ----------
    cycles : int
        Length.
    loss : int
        Chance that a packet or FCP is lost.
    corrupt : int
        Chance that an FCP arrives with wrong bits.
    send : int
        Chance per cycle that a lane with credit sends, when the link is free.
    free : int
        Chance per cycle that a block leaves a buffer.
    reset : int
        Chance of a reset of both ends.
    initializing : int
        Chance that the port says, in a cycle, that the link is being set up.
    least_blocks, most_blocks : int
        Packet sizes.
    audit : bool
        At its end every buffer must be empty and every block of credit at its sender.
    wild : bool
        Every input at random, also what the contract forbids.
    hold : bool
        FCPs are taken only just after a period; until the next one a block of one lane comes and goes in every cycle,
        so that its limit runs ahead of what was said.
    name : str
        For reports.
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
"""Chances of a loss: 0, 0.1, 1, 5 and 10 %."""


def _quiet(parameters: Mapping[str, Any]) -> int:
    """Return the cycles after which nothing moves any more."""
    # Until the last packet has left and all buffers are empty (a block a cycle); then one period, its FCPs, the
    # answers to them, and the flight of both.
    lanes = int(parameters["data_vls"])
    return 66 + FLIGHT + lanes * parameters["buffer_blocks"] + parameters["fcp_period"] + 2 * lanes + 2 * FLIGHT


def full_round(parameters: Mapping[str, Any]) -> int:
    """Return the cycles from which every kind of phase comes: ten of 13 parts are busy, some for longer."""
    rest = 6 * _quiet(parameters) + 4 * parameters["fcp_period"] + 18 * parameters["watchdog_cycles"] + 400
    return 13 * int(rest) // 3


def link_phases(parameters: Mapping[str, Any], cycles: int) -> tuple[LinkPhase, ...]:
    """Return phases of that many cycles in all: the first set-up, losses up to 10 %, an audit after each."""
    period, quiet = parameters["fcp_period"], _quiet(parameters)
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
