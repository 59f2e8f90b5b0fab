"""Phases of a switch's traffic: light, saturated, hot, one-flit, large, slow receivers, tables rewritten, anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.golden.schedulers.bank import REST_CYCLES

CERTAIN = 65536
"""Chances are out of this."""


@dataclass(frozen=True, slots=True)
class SwitchPhase:
    """A stretch of traffic; it begins with the tables and ends with a reset. Chances are out of 65536.

    Parameters
    ----------
    cycles : int
        Length, tables included.
    send : int
        Chance per cycle that an idle sender starts a packet, if there is room for it.
    hear : int
        Chance per cycle that a receiver lets a block go.
    least_blocks, most_blocks : int
        Packet sizes.
    hot : int
        Chance that a packet is for the first LID.
    write : int
        Chance per cycle that the forwarding table or the map to lanes is written.
    bad : int
        Chance that a packet's DLID is none that could be in the table.
    stall : int
        Chance per cycle that an output's link stalls.
    gap : int
        Chance per cycle that a sender pauses between two flits of a packet, up to as often as no switch notices.
    settle : int
        Cycles before the traffic, the writes of the tables included; without it no more than they take.
    reckless : bool
        Senders and receivers keep no count of room, and now and then name lanes that are not there.
    name : str
        For reports.
    """

    cycles: int
    send: int = CERTAIN
    hear: int = CERTAIN
    least_blocks: int = 1
    most_blocks: int = 1
    hot: int = 0
    write: int = 0
    bad: int = 0
    stall: int = 0
    gap: int = 0
    settle: int = 0
    reckless: bool = False
    name: str = ""

    @property
    def wild(self) -> bool:
        """Whether its rules are counted apart: the contract says what becomes of reckless traffic."""
        return False


_TRAFFIC = 20_000
"""Most cycles of a phase after its tables."""
_KINDS = 9


def _told(parameters: Mapping[str, Any], map_writes: int) -> int:
    """Return the most cycles that it takes to write the tables."""
    entries = max(parameters["entries"], parameters["data_vls"])
    writes = parameters["lids"] + parameters["ports"] * (3 + 2 * entries) + map_writes + 1
    return int(writes) + REST_CYCLES


def full_round(parameters: Mapping[str, Any], *, map_writes: int) -> int:
    """Return the cycles from which every kind of phase comes at its full length."""
    return _KINDS * (_TRAFFIC + _told(parameters, map_writes))


def switch_phases(parameters: Mapping[str, Any], cycles: int, *, map_writes: int) -> tuple[SwitchPhase, ...]:
    """Return phases of at least that many cycles in all, each longer than it takes to write the tables.

    Parameters
    ----------
    map_writes : int
        Most writes of the map from levels or channels to lanes.
    """
    most = parameters["largest"]
    told = _told(parameters, map_writes)
    gap = CERTAIN // 4
    heard = CERTAIN // (16 if parameters.get("starving") else 8)  # inputs that hold room back seldom use up the far one
    each = told + max(600, min(_TRAFFIC, cycles // _KINDS - told))
    kinds = (
        SwitchPhase(each, send=CERTAIN // 16, most_blocks=most, name="light"),
        SwitchPhase(each, most_blocks=most, name="saturated"),
        SwitchPhase(each, name="one flit"),
        SwitchPhase(each, least_blocks=most, most_blocks=most, name="largest"),
        SwitchPhase(
            each, send=CERTAIN // 2, most_blocks=most, hot=CERTAIN // 2, stall=CERTAIN // 64, gap=gap, name="hot spot"
        ),
        SwitchPhase(each, hear=CERTAIN // 8, most_blocks=most, stall=CERTAIN // 16, name="slow receivers"),
        SwitchPhase(
            each, hear=CERTAIN // 2, most_blocks=most, write=CERTAIN // 16, bad=CERTAIN // 32, gap=gap, name="rewritten"
        ),
        SwitchPhase(each, send=CERTAIN // 4, hear=CERTAIN // 64, most_blocks=most, name="starved"),
        SwitchPhase(
            each,
            hear=heard,
            most_blocks=most,
            write=CERTAIN // 256,
            bad=1024,
            stall=CERTAIN // 64,
            gap=gap,
            reckless=True,
            name="anything",
        ),
    )
    rounds = -(-cycles // (each * len(kinds)))
    return kinds * rounds
