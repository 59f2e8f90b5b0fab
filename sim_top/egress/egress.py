"""One output port: a queue per lane, a scheduler, and a link of one block per cycle.

A packet that arrives in cycle t may start in cycle t, and occupies the link for one cycle per block. Idle cycles are
skipped once the arbiter's state no longer changes; ``patience`` and ``rest`` bound the cycles until then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vlane.egress import ListCode
from vlane.schedulers.vlarb import VL15
from vlane.sim_top.egress.egress_summary import Departure, LaneSummary, Window, WindowFinder, summaries
from vlane.study.arrivals import Arrival, Credit
from vlane.units import blocks_of


class PortHeads(NamedTuple):
    """Inputs of the arbiter in a cycle.

    Parameters
    ----------
    request, fits : int
        Bit masks by lane, VL15 last.
    blocks : list of int
        Sizes of the head packets.
    behind : int
        Bit mask by data lane: a second packet follows the head and fits after it.
    behind_blocks : list of int
        Sizes of the second packets.
    cycle : int
        Cycle.
    arrived : tuple of int
        Arrival cycles of the head packets, 0 for none.
    """

    request: int
    fits: int
    blocks: list[int]
    behind: int
    behind_blocks: list[int]
    cycle: int = 0
    arrived: tuple[int, ...] = ()


class Arbiter(Protocol):
    """Interface of golden and hardware arbiters, cycle by cycle."""

    @property
    def patience(self) -> int:
        """Number of ready cycles without a grant, while a packet fits, after which the state no longer changes."""
        ...

    @property
    def rest(self) -> int:
        """Number of ready cycles, while no packet fits, after which the state no longer changes."""
        ...

    def ready_cycle(self, heads: PortHeads) -> tuple[int, ListCode] | None:
        """Run a cycle in which the link is ready and return (VL, list) of the packet that starts."""
        ...

    def busy_cycles(self, heads: Sequence[PortHeads]) -> None:
        """Run cycles in which the link is not ready, with the port's heads in each."""
        ...


@dataclass(frozen=True, slots=True)
class EgressRun:
    """Result of a run.

    Parameters
    ----------
    departures : list of Departure
        Departures in order.
    per_vl : list of LaneSummary
        Summaries of all lanes with arrivals.
    window : Window or None
        Window over which shares are counted; ``None`` for the whole run.
    """

    departures: list[Departure]
    per_vl: list[LaneSummary]
    window: Window | None

    @property
    def counted_cycles(self) -> int:
        """Length of the window over which shares are counted, to its last packet's end, or 0 without departures."""
        window = self.window
        counted = self.departures[window.first : window.end] if window else self.departures
        if not counted:
            return 0
        ends = counted[-1].cycle + blocks_of(counted[-1].bytes)
        if window is None:
            return ends - counted[0].cycle
        return max(ends, window.last_cycle + 1) - window.first_cycle


def run_egress(
    arbiter: Arbiter, arrivals: list[Arrival], credits_in: list[Credit] | None, *, data_vls: int
) -> EgressRun:
    """Run arrivals through a port until no more packet can leave.

    Parameters
    ----------
    arbiter : Arbiter
        Arbiter with its table loaded.
    arrivals : list of Arrival
        Arrivals in order of cycle, on lanes below ``data_vls`` or on VL15.
    credits_in : list of Credit or None
        Credits in order of cycle; lanes without credits are unlimited.
    data_vls : int
        Number of data lanes of the arbiter.
    """
    port = _Queues(arrivals, credits_in or [], data_vls)
    departures: list[Departure] = []
    finder = WindowFinder(departures)
    waits: dict[int, list[int]] = {}
    cycle = port.next_event(-1)
    fruitless = 0
    while cycle is not None:
        fruitless = 0 if port.advance(cycle) else fruitless
        heads = port.heads(cycle)
        finder.look(cycle, backlogged=port.is_backlogged())
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
    window = finder.found()
    behind = {vl: len(queue) for vl, queue in port.queues.items()}
    return EgressRun(departures, summaries(departures, waits, behind, window), window)


_UNLIMITED = 1 << 62


class _Queues:
    """Queues of the port, and the receiver's free space in blocks."""

    def __init__(self, arrivals: list[Arrival], credits_in: list[Credit], data_vls: int) -> None:
        self.data_vls = data_vls
        self.coming = deque(arrivals)
        self.credits_coming = deque(credits_in)
        self.room = {credit.vl: 0 for credit in credits_in}
        self.queues: dict[int, deque[Arrival]] = {vl: deque() for vl in sorted({a.vl for a in arrivals})}
        self._data_queues = [queue for vl, queue in self.queues.items() if vl != VL15]

    def next_event(self, cycle: int) -> int | None:
        """Return the next cycle after ``cycle`` with an arrival or credit, or ``None`` if there is none."""
        times = [coming[0].cycle for coming in (self.coming, self.credits_coming) if coming]
        return max(min(times), cycle + 1) if times else None

    def advance(self, cycle: int) -> bool:
        """Process arrivals and credits up to a cycle, and return whether there were any."""
        before = len(self.coming) + len(self.credits_coming)
        while self.coming and self.coming[0].cycle <= cycle:
            packet = self.coming.popleft()
            self.queues[packet.vl].append(packet)
        while self.credits_coming and self.credits_coming[0].cycle <= cycle:
            credit = self.credits_coming.popleft()
            self.room[credit.vl] += credit.blocks
        return len(self.coming) + len(self.credits_coming) != before

    def heads_in(self, cycle: int) -> PortHeads:
        """Process arrivals and credits up to a cycle, and return the heads."""
        self.advance(cycle)
        return self.heads(cycle)

    def heads(self, cycle: int) -> PortHeads:
        """Return the arbiter's inputs in a cycle."""
        request, fits, behind = 0, 0, 0
        blocks, behind_blocks, arrived = ([0] * (self.data_vls + 1) for _ in range(3))
        for vl, queue in self.queues.items():
            if queue:
                lane = self.data_vls if vl == VL15 else vl
                request |= 1 << lane
                blocks[lane], arrived[lane] = blocks_of(queue[0].bytes), queue[0].cycle
                room = self.room.get(vl, _UNLIMITED)
                fits |= (room >= blocks[lane]) << lane
                if vl != VL15 and len(queue) > 1:
                    behind_blocks[lane] = blocks_of(queue[1].bytes)
                    behind |= (room >= blocks[lane] + behind_blocks[lane]) << lane
        return PortHeads(request, fits, blocks, behind, behind_blocks, cycle, tuple(arrived))

    def is_backlogged(self) -> bool:
        """Return whether every data lane with arrivals has a packet waiting."""
        return self._data_queues != [] and all(self._data_queues)

    def take(self, vl: int) -> Arrival:
        packet = self.queues[vl].popleft()
        if vl in self.room:
            self.room[vl] -= blocks_of(packet.bytes)
        return packet
