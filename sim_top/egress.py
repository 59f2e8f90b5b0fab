"""One output port: queues per lane, a scheduler, a link of one block per cycle.

A packet that arrives in cycle t may start in t; it holds the link for its blocks. A stretch in which nothing
can start is skipped once more cycles of it would change nothing: the arbiter says how many that takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vlane.arrivals import Arrival, Credit
from vlane.egress import ListCode
from vlane.units import blocks_of
from vlane.vlarb import VL15

__all__ = ["Arbiter", "Departure", "EgressRun", "LaneSummary", "PortHeads", "run_egress"]


class PortHeads(NamedTuple):
    """What the arbiter sees in a cycle.

    Parameters
    ----------
    request, fits : int
        Bits per lane, VL15 last.
    blocks : list of int
        Sizes of the head packets.
    behind : int
        Bits per data lane: behind the head is another packet that fits after it.
    behind_blocks : list of int
        Sizes of those.
    """

    request: int
    fits: int
    blocks: list[int]
    behind: int
    behind_blocks: list[int]


class Arbiter(Protocol):
    """Golden or hardware, cycle by cycle."""

    @property
    def patience(self) -> int:
        """Ready cycles, of those in which some packet fits, after which one without a grant changes nothing."""
        ...

    @property
    def rest(self) -> int:
        """Ready cycles, of those in which no packet fits, after which one more changes nothing."""
        ...

    def ready_cycle(self, heads: PortHeads) -> tuple[int, ListCode] | None:
        """Run a cycle in which the link is ready; return (VL, list) of the packet that starts."""
        ...

    def busy_cycles(self, heads: Sequence[PortHeads]) -> None:
        """Run cycles in which the link is not ready, given what is seen in each."""
        ...


class Departure(NamedTuple):
    """A packet that left.

    Parameters
    ----------
    cycle : int
        Of its first flit.
    vl, bytes : int
        The packet.
    list : str
        ``high``, ``low``, ``vl15`` or ``none``.
    """

    cycle: int
    vl: int
    bytes: int
    list: str


class LaneSummary(NamedTuple):
    """What a lane got.

    Parameters
    ----------
    vl, packets, bytes : int
        Lane, packets and bytes that left.
    share : float
        Of all bytes that left.
    mean_wait_cycles : float
        From arrival to the first flit.
    max_wait_cycles : int
        The longest.
    left_behind : int
        Packets that never left: no entry serves them, or no credit came.
    """

    vl: int
    packets: int
    bytes: int
    share: float
    mean_wait_cycles: float
    max_wait_cycles: int
    left_behind: int


@dataclass(frozen=True, slots=True)
class EgressRun:
    """A finished run.

    Parameters
    ----------
    departures : list of Departure
        In order.
    per_vl : list of LaneSummary
        For every lane that arrivals named.
    """

    departures: list[Departure]
    per_vl: list[LaneSummary]


def run_egress(
    arbiter: Arbiter, arrivals: list[Arrival], credits_in: list[Credit] | None, *, data_vls: int
) -> EgressRun:
    """Run arrivals through a port until nothing more can leave.

    Parameters
    ----------
    arbiter : Arbiter
        With its table loaded.
    arrivals : list of Arrival
        In order of cycle; lanes below ``data_vls`` or 15.
    credits_in : list of Credit or None
        In order of cycle; lanes they do not name, or all of them, are unlimited.
    data_vls : int
        Data lanes of the arbiter.
    """
    port = _Queues(arrivals, credits_in or [], data_vls)
    departures: list[Departure] = []
    waits: dict[int, list[int]] = {}
    cycle = port.next_event(-1)
    fruitless = 0
    while cycle is not None:
        fruitless = 0 if port.advance(cycle) else fruitless
        heads = port.heads()
        granted = arbiter.ready_cycle(heads)
        if granted is None:
            fruitless += 1
            fits = heads.request & heads.fits != 0
            waits_on = fruitless < (arbiter.patience if fits else arbiter.rest)
            cycle = cycle + 1 if waits_on else port.next_event(cycle)
            continue
        fruitless = 0
        vl, source = granted
        packet = port.take(vl)
        departures.append(Departure(cycle, vl, packet.bytes, source.word))
        waits.setdefault(vl, []).append(cycle - packet.cycle)
        ends = cycle + blocks_of(packet.bytes)
        arbiter.busy_cycles([port.heads_in(busy) for busy in range(cycle + 1, ends)])
        cycle = ends
    return EgressRun(departures, _summaries(departures, waits, port))


_UNLIMITED = 1 << 62


class _Queues:
    """What waits at the port, and the room of the next node."""

    def __init__(self, arrivals: list[Arrival], credits_in: list[Credit], data_vls: int) -> None:
        self.data_vls = data_vls
        self.coming = deque(arrivals)
        self.credits_coming = deque(credits_in)
        self.room = {credit.vl: 0 for credit in credits_in}
        self.queues: dict[int, deque[Arrival]] = {vl: deque() for vl in sorted({a.vl for a in arrivals})}

    def next_event(self, cycle: int) -> int | None:
        """Return the next cycle after ``cycle`` in which something arrives; ``None`` if nothing does."""
        times = [coming[0].cycle for coming in (self.coming, self.credits_coming) if coming]
        return max(min(times), cycle + 1) if times else None

    def advance(self, cycle: int) -> bool:
        """Let what is due come in; tell whether anything did."""
        before = len(self.coming) + len(self.credits_coming)
        while self.coming and self.coming[0].cycle <= cycle:
            packet = self.coming.popleft()
            self.queues[packet.vl].append(packet)
        while self.credits_coming and self.credits_coming[0].cycle <= cycle:
            credit = self.credits_coming.popleft()
            self.room[credit.vl] += credit.blocks
        return len(self.coming) + len(self.credits_coming) != before

    def heads_in(self, cycle: int) -> PortHeads:
        """Let what is due in a cycle come in; return what is seen."""
        self.advance(cycle)
        return self.heads()

    def heads(self) -> PortHeads:
        """Return what is seen."""
        request, fits, behind = 0, 0, 0
        blocks, behind_blocks = ([0] * (self.data_vls + 1) for _ in range(2))
        for vl, queue in self.queues.items():
            if queue:
                lane = self.data_vls if vl == VL15 else vl
                request |= 1 << lane
                blocks[lane] = blocks_of(queue[0].bytes)
                room = self.room.get(vl, _UNLIMITED)
                fits |= (room >= blocks[lane]) << lane
                if vl != VL15 and len(queue) > 1:
                    behind_blocks[lane] = blocks_of(queue[1].bytes)
                    behind |= (room >= blocks[lane] + behind_blocks[lane]) << lane
        return PortHeads(request, fits, blocks, behind, behind_blocks)

    def take(self, vl: int) -> Arrival:
        packet = self.queues[vl].popleft()
        if vl in self.room:
            self.room[vl] -= blocks_of(packet.bytes)
        return packet


def _summaries(departures: list[Departure], waits: dict[int, list[int]], port: _Queues) -> list[LaneSummary]:
    sent: dict[int, int] = {}
    for departure in departures:
        sent[departure.vl] = sent.get(departure.vl, 0) + departure.bytes
    whole = sum(sent.values())
    return [
        LaneSummary(
            vl, len(waits.get(vl, [])), sent.get(vl, 0), sent.get(vl, 0) / whole if whole else 0.0,
            sum(waits[vl]) / len(waits[vl]) if vl in waits else 0.0, max(waits.get(vl, [0])), len(queue),
        )
        for vl, queue in port.queues.items()
    ]  # fmt: skip
