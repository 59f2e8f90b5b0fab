"""Phases of a switch's traffic: light, saturated, hot spot, small, large, slow receivers, table writes, random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.golden.schedulers.bank import REST_CYCLES

CERTAIN = 65536
"""Denominator of all probabilities."""


@dataclass(frozen=True, slots=True)
class SwitchPhase:
    """A phase of traffic that begins with the tables and ends with a reset. Probabilities are in 1/65536.

    Parameters
    ----------
    cycles : int
        Length in cycles, tables included.
    send : int
        Probability per cycle that an idle sender starts a packet for which it has credit.
    receive : int
        Probability per cycle that a receiver returns a block.
    least_blocks, most_blocks : int
        Smallest and largest packet, in blocks.
    hot : int
        Probability that a packet is for the first LID.
    write : int
        Probability per cycle that the forwarding table or the map to lanes is written.
    bad : int
        Probability that a packet's DLID cannot be in the table.
    stall : int
        Probability per cycle that an output's link stalls.
    gap : int
        Probability per cycle that a sender pauses between two flits of a packet, as long as the switch does not notice.
    settle : int
        Cycles before the traffic, table writes included; 0 for as many as the writes take.
    reckless : bool
        Whether senders and receivers ignore credits, and occasionally name absent lanes.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    send: int = CERTAIN
    receive: int = CERTAIN
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
        """Whether rule counts are excluded: False, because the contract also covers senders that ignore credits."""
        return False


_TRAFFIC = 20_000
"""Most cycles of a phase after its tables."""
_KINDS = 9


def _write_cycles(parameters: Mapping[str, Any], map_writes: int) -> int:
    """Return the largest number of cycles that the table writes take."""
    entries = max(parameters["entries"], parameters["data_vls"])
    writes = parameters["lids"] + parameters["ports"] * (3 + 2 * entries) + map_writes + 1
    return int(writes) + REST_CYCLES


def full_round(parameters: Mapping[str, Any], *, map_writes: int) -> int:
    """Return the length in cycles of the shortest run in which no phase is shortened."""
    return _KINDS * (_TRAFFIC + _write_cycles(parameters, map_writes))


def switch_phases(parameters: Mapping[str, Any], cycles: int, *, map_writes: int) -> tuple[SwitchPhase, ...]:
    """Return the phases of a run of at least ``cycles`` cycles, each longer than its table writes take.

    Parameters
    ----------
    map_writes : int
        Largest number of writes to the map from levels or channels to lanes.
    """
    most = parameters["largest"]
    write_cycles = _write_cycles(parameters, map_writes)
    gap = CERTAIN // 4
    receive_chance = CERTAIN // (
        16 if parameters.get("starving") else 8
    )  # with starvation, inputs seldom use up the far buffer
    each = write_cycles + max(600, min(_TRAFFIC, cycles // _KINDS - write_cycles))
    kinds = (
        SwitchPhase(each, send=CERTAIN // 16, most_blocks=most, name="light"),
        SwitchPhase(each, most_blocks=most, name="saturated"),
        SwitchPhase(each, name="one flit"),
        SwitchPhase(each, least_blocks=most, most_blocks=most, name="largest"),
        SwitchPhase(
            each, send=CERTAIN // 2, most_blocks=most, hot=CERTAIN // 2, stall=CERTAIN // 64, gap=gap, name="hot spot"
        ),
        SwitchPhase(each, receive=CERTAIN // 8, most_blocks=most, stall=CERTAIN // 16, name="slow receivers"),
        SwitchPhase(
            each,
            receive=CERTAIN // 2,
            most_blocks=most,
            write=CERTAIN // 16,
            bad=CERTAIN // 32,
            gap=gap,
            name="rewritten",
        ),
        SwitchPhase(each, send=CERTAIN // 4, receive=CERTAIN // 64, most_blocks=most, name="starved"),
        SwitchPhase(
            each,
            receive=receive_chance,
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
