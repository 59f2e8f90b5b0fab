"""Congestion control in a plain network: egresses that mark, NICs that return CNPs and pace.

Written from ``docs/congestion.md`` (NCC-1 to NCC-16) and ``docs/cc_marker.md`` (CCM-1 to CCM-14) alone; what a NIC
keeps of its flows is ``tests/plain_pacing.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tests.plain_link import Egress, Flit, Packet, Seen, Serve, Sizes, round_robin
from tests.plain_network import Nic, PlainNetwork, Switch
from tests.plain_pacing import Flow, Pacer, PacerSettings

__all__ = ["CongestedNetwork", "Counts", "HostsWrite", "MarkerWrite", "Received", "Settings"]

_CNP_BYTES, _BLOCK_BYTES = 42, 64
_FECN, _BECN = 1, 2


@dataclass(frozen=True, kw_only=True)
class Settings(PacerSettings):
    """Settings of all switches and NICs, with golden's names."""

    threshold: int
    packet_size: int
    marking_rate: int
    victim_mask: str
    by_inputs: bool
    busy_blocks: int
    level_blocks: int
    idle_blocks: int
    cnp_interval: int
    held_packets: int
    elements: Mapping[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)


class MarkerWrite(NamedTuple):
    """Settings of a switch written in a cycle (NCC-14): the mask's ports, two numbers, a rate or an element."""

    cycle: int
    switch: int
    mask: Collection[int] | None = None
    limits: tuple[int, int] | None = None
    rate: int | None = None
    element: tuple[int, tuple[int, int, int] | None] | None = None


class HostsWrite(NamedTuple):
    """Settings of all NICs that are written in a cycle, behind its questions (NCC-16): fields of ``Settings``."""

    cycle: int
    values: Mapping[str, Any]


@dataclass(eq=False)
class Cnp(Packet):
    """A congestion notification packet, and the flow that it is of at the NIC that receives it."""

    of_dlid: int = 0


class Received(NamedTuple):
    """A packet whose last flit was received, and what its transport header says: FECN 1, BECN 2."""

    delivered: int
    source: int
    target: int
    dlid: int
    sl: int
    flits: int
    generated: int
    bth: int


class Counts(NamedTuple):
    """What happened in all switches and NICs."""

    marked: int
    fecns: int
    cnps: int
    becns: int
    held: int
    lost: int
    logged: int


class Marker:
    """A switch's output that marks; it is a scheduler and watches what the one within sees and starts."""

    def __init__(
        self,
        settings: Settings,
        egress: Egress,
        measure: Callable[[int], int],
        *,
        is_in_mask: bool,
        element: tuple[int, int, int] | None,
    ) -> None:
        sizes = egress.sizes
        self.settings, self.egress, self.measure, self.is_in_mask = settings, egress, measure, is_in_mask
        self.of_switch = (settings.threshold, settings.packet_size, settings.marking_rate)
        self.element = element
        self.serve: Serve = egress.serve
        self.level = 0
        self.starved = [False] * sizes.lanes
        self.left = [0] * sizes.lanes
        self.marked = 0
        self.because: set[str] = set()

    def __call__(self, seen: Seen, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
        """Let the scheduler decide, mark the packet that starts, and keep level and starved lanes (CCM-3, CCM-4)."""
        lane = self.serve(seen, ready)
        starts = ready and lane >= 0
        if starts:
            packet = self.egress.buffer[lane][0].packet
            if self._is_eligible(lane, packet):
                self._count(lane, packet)
            self.level = min(self.level + packet.blocks, self.settings.level_blocks)
        elif ready:
            self.level = max(self.level - self.settings.idle_blocks, 0)
        if ready:
            waiting = seen.request & ~seen.fits
            self.starved = [was or bool(waiting >> each & 1) for each, was in enumerate(self.starved)]
        if starts:
            self.starved[lane] = False
        return lane

    @property
    def in_force(self) -> tuple[int, int, int]:
        """Threshold, Packet_Size and Marking_Rate that rule (CCM-13)."""
        return self.of_switch if self.element is None else self.element

    def set(self, port: int, write: MarkerWrite) -> None:
        """Take what a write of the switch's settings says for this port (CCM-13, CCM-14)."""
        is_own = write.element is not None and write.element[0] == port
        if write.mask is not None:
            self.is_in_mask = port in write.mask
        if write.limits is not None:
            self.of_switch = (*write.limits, self.of_switch[2])
        if write.rate is not None:
            self.of_switch = (*self.of_switch[:2], write.rate)
        if write.element is not None and is_own:
            self.element = write.element[1]
        if write.rate is not None or is_own:
            self.left = [0] * len(self.left)

    def _is_eligible(self, lane: int, packet: Packet) -> bool:
        """Tell whether a packet that starts may be marked (CCM-1, CCM-2, CCM-5 to CCM-8)."""
        threshold, packet_size, _ = self.in_force
        sizes = self.egress.sizes
        limit = max(sizes.maximum[lane] * (16 - threshold) // 16, 2 * max(sizes.largest) + 1)
        is_over = threshold > 0 and self.measure(lane) >= limit
        is_root = is_over and self.level >= self.settings.busy_blocks and not self.starved[lane]
        if not is_root and not (is_over and self.is_in_mask):
            return False
        if packet.blocks < packet_size or isinstance(packet, Cnp):
            return False
        self.because.add("root" if is_root else "victim")
        return True

    def _count(self, lane: int, packet: Packet) -> None:
        """Mark every so manieth packet (CCM-10, CCM-11)."""
        if self.left[lane]:
            self.left[lane] -= 1
        else:
            self.left[lane] = self.in_force[2]
            self.marked += not packet.fecn
            packet.fecn = True


class Sweep:
    """The measure of what waits at a switch's inputs: one output and VL is looked at in each cycle (NCC-3)."""

    def __init__(self, switch: Switch) -> None:
        self.switch, self.lanes = switch, switch.sizes.lanes
        self.places = max(4, len(switch.outputs) * self.lanes)
        self.found: list[tuple[int, int, int, int]] = []
        self.measure: dict[tuple[int, int], int] = {}

    def look(self, now: int) -> None:
        """Look at the place of a cycle, before its grants; what was found three cycles ago counts from now on."""
        output, lane = divmod(now % self.places, self.lanes)
        self.found.append((now, output, lane, waiting_at_inputs(self.switch, output, lane, now)))
        while self.found[0][0] + 3 <= now:
            _, output, lane, blocks = self.found.pop(0)
            self.measure[output, lane] = blocks


def waiting_at_inputs(switch: Switch, output: int, lane: int, now: int) -> int:
    """Return the blocks of packets that may take part in a cycle, in queues whose head goes to an output and VL."""
    blocks = 0
    for port, source in enumerate(switch.inputs):
        for number, heads in enumerate(source.heads):
            there = [(since, packet) for since, packet in heads if since <= now]
            if there:
                since, first = there[0]
                to = switch.route(port, number, first, since - 2)
                if (to.output, to.out_lane) == (output, lane):
                    blocks += sum(packet.blocks for _, packet in there)
    return blocks


class Waiting:
    """Packets of a class that wait for their flows, which take turns (NCC-11)."""

    def __init__(self) -> None:
        self.turns: deque[deque[Packet]] = deque()

    def __len__(self) -> int:
        """Return how many packets wait."""
        return sum(map(len, self.turns))

    def add(self, packet: Packet, flow_of: Callable[[Packet], Flow]) -> None:
        """Let a packet wait behind the first one of its flow; a flow that begins to wait has the last turn."""
        for queue in self.turns:
            if flow_of(queue[0]) == flow_of(packet):
                queue.append(packet)
                return
        self.turns.append(deque([packet]))

    def take(self, packet: Packet) -> None:
        """Take the first packet of a turn, which is the last turn if more packets wait behind it (NCC-15)."""
        queue = next(queue for queue in self.turns if queue[0] is packet)
        self.turns.remove(queue)
        queue.popleft()
        if queue:
            self.turns.append(queue)


class CongestedNic(Nic):
    """A NIC that returns CNPs and paces its flows (NCC-6 to NCC-13); ``lids`` are the hosts' own."""

    def __init__(
        self, *given: Any, settings: Settings, lids: Sequence[int], writes: Sequence[HostsWrite]
    ) -> None:  # fmt: skip
        super().__init__(*given)
        self.settings, self.lids, self.writes = settings, lids, writes
        self.pacer = Pacer(settings, max(self.sizes.largest))
        self.waiting = [Waiting() for _ in self.queues]
        self.cnps: deque[Cnp] = deque()
        self.last_cnp: dict[tuple[int, int], int] = {}
        self.becn: tuple[int, int] | None = None
        self.chosen: Packet | None = None
        self.received: list[Received] = []
        self.fecns = self.returned = self.becns = self.held = 0

    def decide(self, now: int) -> int | None:
        """Return the queue a packet is taken from, -1 for a CNP; let its question and a BECN act (NCC-8 to NCC-10)."""
        choice = self._choose(now)
        injected = None
        if choice is not None and choice >= 0:
            assert self.chosen is not None
            assert self.chosen is not None
            injected = self._flow_of(self.chosen)
            self.pacer.inject(injected, self.chosen.blocks, now)
        for write in self.writes:
            if write.cycle == now:
                self.settings = self.pacer.settings = replace(self.settings, **write.values)
        becn, self.becn = self.becn, None
        self.becns += becn is not None
        self.pacer.act(None if becn is None else self.pacer.flow_of(*becn), injected, now)
        return choice

    def _flow_of(self, packet: Packet) -> Flow:
        return self.pacer.flow_of(packet.dlid, packet.sl)

    def _choose(self, now: int) -> int | None:
        if self.cnps and self._has_room(self.cnps[0]):
            self.chosen = self.cnps[0]
            return -1
        for number in round_robin(self.last_queue, len(self.queues)):
            self.chosen = self._first_of(number, now)
            if self.chosen is not None:
                return number
        return None

    def _first_of(self, number: int, now: int) -> Packet | None:
        """Return what a class would inject; packets of flows that are held leave the queue (NCC-11, NCC-12)."""
        waiting, queue = self.waiting[number], self.queues[number]
        for turn in waiting.turns:
            if self.pacer.may(self._flow_of(turn[0]), now):
                return turn[0] if self._has_room(turn[0]) else None
        if not queue or queue[0].generated > now or len(waiting) >= self.settings.held_packets:
            return None
        packet = queue[0]
        if self.pacer.may(self._flow_of(packet), now):
            ahead = [turn for turn in waiting.turns if self._flow_of(turn[0]) == self._flow_of(packet)]
            assert not ahead, "a packet before others of its flow"
            return packet if self._has_room(packet) else None
        if self.settings.by_port:
            return None
        waiting.add(queue.popleft(), self._flow_of)
        self.held += 1
        return None

    def _has_room(self, packet: Packet) -> bool:
        lane = int(self.vl[packet.sl])
        return self.egress.room.fits(lane, self.sizes.largest[lane])

    def take(self, number: int) -> None:
        """Write the packet that was chosen to the output buffer (NET-2)."""
        packet = self.chosen
        assert packet is not None
        if number < 0:
            self.cnps.popleft()
            self.returned += 1
        else:
            if self.queues[number] and packet is self.queues[number][0]:
                self.queues[number].popleft()
            else:
                self.waiting[number].take(packet)
            self.last_queue = number
        lane = int(self.vl[packet.sl])
        self.egress.room.change(lane, packet.blocks)
        for place in range(packet.flits):
            self.egress.write(lane, Flit(packet, place))

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Receive a flit; a packet that is whole may make a CNP, or be one (NCC-6, NCC-9)."""
        super().receive(now, lane, flit)
        if not flit.is_last:
            return
        it, is_cnp = flit.packet, isinstance(flit.packet, Cnp)
        bth = _FECN * it.fecn + _BECN * is_cnp
        self.received.append(Received(now, it.source, self.number, it.dlid, it.sl, it.flits, it.generated, bth))
        if isinstance(it, Cnp):
            assert self.becn is None, "two BECNs in a cycle"
            self.becn = it.of_dlid, it.sl
        if it.fecn:
            self.fecns += 1
            self._answer(now, it)

    def _answer(self, now: int, packet: Packet) -> None:
        """Make the CNP of a packet with FECN (NCC-6), unless the last one is too young (NCC-7)."""
        last = self.last_cnp.get((packet.source, packet.sl))
        if last is not None and now - last < self.settings.cnp_interval:
            return
        self.last_cnp[packet.source, packet.sl] = now
        flits_per_block = self.sizes.flits_per_block
        flits = -(-_CNP_BYTES * flits_per_block // _BLOCK_BYTES)
        to = packet.source
        self.cnps.append(Cnp(self.number, to, self.lids[to], packet.sl, 1, flits, now + 1, of_dlid=packet.dlid))


class CongestedNetwork(PlainNetwork):
    """A plain network whose switches mark (NCC-1 to NCC-5) and whose NICs pace; ``lids`` are the hosts' own."""

    def __init__(
        self, far: dict[tuple[int, int], tuple[int, int]], hosts: Sequence[tuple[int, int]], *given: Any,
        settings: Settings, lids: Sequence[int], marker_writes: Sequence[MarkerWrite] = (),
        host_writes: Sequence[HostsWrite] = (), **more: Any,
    ) -> None:  # fmt: skip
        self.settings, self.lids = settings, lids
        self.marker_writes, self.host_writes = marker_writes, host_writes
        super().__init__(far, hosts, *given, **more)
        self.markers: dict[tuple[int, int], Marker] = {}
        self.sweeps = {switch.number: Sweep(switch) for switch in self.switches}
        in_mask = {"none": set(), "hosts": set(hosts), "all": {*far, *hosts}}[settings.victim_mask]
        for switch in self.switches:
            for port, egress in enumerate(switch.outputs):
                if egress.peer is not None:
                    end = (switch.number, port)
                    marker = Marker(
                        settings, egress, self._measure(switch, port), is_in_mask=end in in_mask,
                        element=settings.elements.get(end),
                    )  # fmt: skip
                    self.markers[end] = egress.serve = marker

    def new_nic(
        self, number: int, sizes: Sizes, vl: Sequence[int], egress: Egress, queues: list[deque[Packet]]
    ) -> CongestedNic:
        """Return a NIC that paces."""
        return CongestedNic(
            number, sizes, vl, egress, queues, settings=self.settings, lids=self.lids, writes=self.host_writes
        )

    def _measure(self, switch: Switch, port: int) -> Callable[[int], int]:
        if self.settings.by_inputs:
            measure = self.sweeps[switch.number].measure
            return lambda lane: measure.get((port, lane), 0)
        return lambda lane: switch.outputs[port].room.used[lane]

    def joined(self) -> None:
        """Let the sweeps look at what waits in this cycle."""
        if self.settings.by_inputs:
            for sweep in self.sweeps.values():
                sweep.look(self.now)

    def step(self) -> None:
        """Run one cycle; what was written to switches in the one before holds in it."""
        for write in self.marker_writes:
            if write.cycle + 1 == self.now:
                for (switch, port), marker in self.markers.items():
                    if switch == write.switch:
                        marker.set(port, write)
        super().step()

    def received(self, cycles: int) -> list[Received]:
        """Run up to a cycle and return what was received before it, in order."""
        self.run(cycles)
        return sorted(each for nic in self.paced for each in nic.received)

    @property
    def paced(self) -> list[CongestedNic]:
        """The NICs."""
        return [nic for nic in self.nics if isinstance(nic, CongestedNic)]

    @property
    def counts(self) -> Counts:
        """What happened up to now."""
        nics = self.paced
        return Counts(
            sum(marker.marked for marker in self.markers.values()), sum(nic.fecns for nic in nics),
            sum(nic.returned for nic in nics), sum(nic.becns for nic in nics), sum(nic.held for nic in nics),
            sum(nic.pacer.lost for nic in nics), sum(nic.pacer.logged for nic in nics),
        )  # fmt: skip
