"""Congestion control in a plain network: switches mark packets, NICs return CNPs and pace their flows.

Rules: NCC-1, NCC-2 and NCC-4 to NCC-18 (``docs/congestion.md``). Related modules:

- ``golden/plain/marking.py``: markers of the outputs and the sweep of the inputs (CCM-1 to CCM-14, NCC-3)
- ``golden/plain/pacing.py``: flow table of a NIC (CCS-1 to CCS-14)
- ``golden/plain/starvation.py``: delayed return of credits (IBS-K1 to IBS-K6)
- ``golden/plain/congestion_settings.py``: settings and their writes
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from vlane.golden.plain.congestion_settings import HostsWrite, MarkerWrite, Settings
from vlane.golden.plain.link import Egress, Flit, Packet, Sizes, round_robin
from vlane.golden.plain.marking import Cnp, Marker, Sweep
from vlane.golden.plain.network import Nic, PlainNetwork, Switch
from vlane.golden.plain.pacing import Flow, Pacer
from vlane.golden.plain.starvation import StarvationWrite, StarvingInput

_CNP_BYTES, _BLOCK_BYTES = 42, 64
_FECN, _BECN = 1, 2
_PSNS = 1 << 24


class Received(NamedTuple):
    """A received packet, with its congestion bits (FECN 1, BECN 2) and PSN."""

    delivered: int
    source: int
    target: int
    dlid: int
    sl: int
    flits: int
    generated: int
    bth: int
    psn: int


class Counts(NamedTuple):
    """Event counts over all switches and NICs."""

    marked: int
    fecns: int
    cnps: int
    becns: int
    held: int
    lost: int
    logged: int


class Waiting:
    """Held packets of a class, one queue per flow. Flows take turns (NCC-11)."""

    def __init__(self) -> None:
        self.turns: deque[deque[Packet]] = deque()

    def __len__(self) -> int:
        """Return the number of held packets."""
        return sum(map(len, self.turns))

    def add(self, packet: Packet, flow_of: Callable[[Packet], Flow]) -> None:
        """Append a packet to the queue of its flow. A new flow is last in turn."""
        for queue in self.turns:
            if flow_of(queue[0]) == flow_of(packet):
                queue.append(packet)
                return
        self.turns.append(deque([packet]))

    def take(self, packet: Packet) -> None:
        """Remove a packet that is first in its flow's queue. The flow moves to the end of the turns (NCC-15)."""
        queue = next(queue for queue in self.turns if queue[0] is packet)
        self.turns.remove(queue)
        queue.popleft()
        if queue:
            self.turns.append(queue)


class CongestedNic(Nic):
    """A NIC that returns CNPs and paces its flows (NCC-6 to NCC-18). ``lids`` are the LIDs of all hosts."""

    def __init__(self, *given: Any, settings: Settings, lids: Sequence[int], writes: Sequence[HostsWrite]) -> None:
        super().__init__(*given)
        self.settings, self.lids, self.writes = settings, lids, writes
        self.pacer = Pacer(settings, max(self.sizes.largest))
        self.waiting = [Waiting() for _ in self.queues]
        self.cnps: deque[Cnp] = deque()
        self.last_cnp: dict[tuple[int, int], int] = {}
        self.becn: tuple[int, int] | None = None
        self.psns: Counter[tuple[int, int]] = Counter()
        self.chosen: Packet | None = None
        self.received: list[Received] = []
        self.fecns = self.returned = self.becns = self.held = 0

    def decide(self, now: int) -> int | None:
        """Return the queue from which a packet is injected, -1 for a CNP, None for no packet (NCC-8 to NCC-10).

        The pacer sees the injection first, then the settings writes of the cycle, then the BECN or the table visit
        (CCS-11).
        """
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

    def _first_of(self, queue_number: int, now: int) -> Packet | None:
        """Return the packet that a class can inject, or None (NCC-11, NCC-12).

        A queue head whose flow is held moves to ``waiting``.
        """
        waiting, queue = self.waiting[queue_number], self.queues[queue_number]
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

    def take(self, queue: int) -> None:
        """Write the chosen packet to the output buffer and number it (NET-2, NCC-18)."""
        packet = self.chosen
        assert packet is not None
        if queue < 0:
            self.cnps.popleft()
            self.returned += 1
        else:
            if self.queues[queue] and packet is self.queues[queue][0]:
                self.queues[queue].popleft()
            else:
                self.waiting[queue].take(packet)
            self.last_queue = queue
            packet.psn = self.psns[packet.dlid, packet.sl] % _PSNS
            self.psns[packet.dlid, packet.sl] += 1
        lane = int(self.vl[packet.sl])
        self.egress.room.change(lane, packet.blocks)
        for place in range(packet.flits):
            self.egress.write(lane, Flit(packet, place))

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Receive a flit.

        The last flit of a packet with FECN triggers a CNP (NCC-6); the last flit of a CNP delivers a BECN (NCC-9).
        """
        super().receive(now, lane, flit)
        if not flit.is_last:
            return
        packet, is_cnp = flit.packet, isinstance(flit.packet, Cnp)
        bth = _FECN * packet.fecn + _BECN * is_cnp
        self.received.append(
            Received(
                now, packet.source, self.number, packet.dlid, packet.sl, packet.flits, packet.generated, bth, packet.psn
            )
        )
        if isinstance(packet, Cnp):
            assert self.becn is None, "two BECNs in a cycle"
            self.becn = packet.of_dlid, packet.sl
        if packet.fecn:
            self.fecns += 1
            self._answer(now, packet)

    def _answer(self, now: int, packet: Packet) -> None:
        """Queue the CNP for a packet with FECN (NCC-6), unless the interval since the last one is too short (NCC-7)."""
        last = self.last_cnp.get((packet.source, packet.sl))
        if last is not None and now - last < self.settings.cnp_interval:
            return
        self.last_cnp[packet.source, packet.sl] = now
        flits_per_block = self.sizes.flits_per_block
        flits = -(-_CNP_BYTES * flits_per_block // _BLOCK_BYTES)
        to = packet.source
        self.cnps.append(Cnp(self.number, to, self.lids[to], packet.sl, 1, flits, now + 1, of_dlid=packet.dlid))


class CongestedNetwork(PlainNetwork):
    """A plain network whose switches mark (NCC-1 to NCC-5) and whose NICs pace (NCC-6 to NCC-18).

    ``lids`` are the LIDs of all hosts.
    """

    def __init__(
        self,
        far: dict[tuple[int, int], tuple[int, int]],
        hosts: Sequence[tuple[int, int]],
        *given: Any,
        settings: Settings,
        lids: Sequence[int],
        marker_writes: Sequence[MarkerWrite] = (),
        host_writes: Sequence[HostsWrite] = (),
        starvation_writes: Sequence[StarvationWrite] = (),
        **more: Any,
    ) -> None:
        self.settings, self.lids = settings, lids
        self.marker_writes, self.host_writes, self.starvation_writes = marker_writes, host_writes, starvation_writes
        super().__init__(far, hosts, *given, **more)
        self.markers: dict[tuple[int, int], Marker] = {}
        self.sweeps = {switch.number: Sweep(switch) for switch in self.switches}
        masks = {"none": set[tuple[int, int]](), "hosts": set(hosts), "all": {*far, *hosts}}
        in_mask = masks[settings.victim_mask]
        self.starving = self._starving(masks[settings.credit_mask]) if settings.starves else {}
        for switch in self.switches:
            for port, egress in enumerate(switch.outputs):
                if egress.peer is not None:
                    end = (switch.number, port)
                    marker = Marker(
                        settings,
                        egress,
                        self._measure(switch, port),
                        is_in_mask=end in in_mask,
                        element=settings.elements.get(end),
                    )
                    self.markers[end] = egress.serve = marker

    def _starving(self, mask: Collection[tuple[int, int]]) -> dict[tuple[int, int], StarvingInput]:
        """Insert credit starvation between the inputs and the sending sides of all switch ports."""
        found = {}
        for switch in self.switches:
            for port, source in enumerate(switch.inputs):
                end = (switch.number, port)
                starving = found[end] = StarvingInput(source, source.egress, getattr(switch, "speed", 1))
                starving.is_in_mask, starving.of_switch = end in mask, self.settings.credit_return
                starving.element = self.settings.credit_elements.get(end)
                source.egress = starving  # type: ignore[assignment]
        return found

    def new_nic(
        self, nic_number: int, sizes: Sizes, vl: Sequence[int], egress: Egress, queues: list[deque[Packet]]
    ) -> CongestedNic:
        """Return a NIC with congestion control."""
        return CongestedNic(
            nic_number,
            sizes,
            vl,
            egress,
            queues,
            settings=self.settings.at_host(nic_number),
            lids=self.lids,
            writes=[each for each in self.host_writes if each.hosts is None or nic_number in each.hosts],
        )

    def _measure(self, switch: Switch, port: int) -> Callable[[int], int]:
        if self.settings.by_inputs:
            measure = self.sweeps[switch.number].measure
            return lambda lane: measure.get((port, lane), 0)
        return lambda lane: switch.outputs[port].room.used[lane]

    def joined(self) -> None:
        """Run the sweeps of this cycle, and record the waiting blocks for the next cycle's credits (NCC-3, IBS-K1)."""
        self.waits = {end: starving.wait(self.now) for end, starving in self.starving.items()}
        if self.settings.by_inputs:
            for sweep in self.sweeps.values():
                sweep.look(self.now)

    def step(self) -> None:
        """Run a cycle. Settings written to switches in the previous cycle apply."""
        for write in self.marker_writes:
            if write.cycle + 1 == self.now:
                for (switch, port), marker in self.markers.items():
                    if switch == write.switch:
                        marker.set(port, write)
                for (switch, port), starving in self.starving.items():
                    if switch == write.switch and write.element is not None and write.element[0] == port:
                        starving.element = None  # a port has only one element
        for credit_write in self.starvation_writes:
            if credit_write.cycle + 1 == self.now:
                for (switch, port), starving in self.starving.items():
                    if switch == credit_write.switch:
                        _set_starvation(starving, port, credit_write)
                if credit_write.element is not None and (credit_write.switch, credit_write.element[0]) in self.markers:
                    port = credit_write.element[0]
                    gone = MarkerWrite(credit_write.cycle, credit_write.switch, element=(port, None))
                    self.markers[credit_write.switch, port].set(port, gone)
        before = {end: starving.held.copy() for end, starving in self.starving.items()}
        now = self.now
        super().step()
        for end, starving in self.starving.items():
            starving.settle(now, before[end])
            starving.waited_before = self.waits[end]

    @property
    def withheld(self) -> int:
        """Number of blocks that were not returned in the cycle in which they became free."""
        return sum(starving.withheld for starving in self.starving.values())

    def received(self, cycles: int) -> list[Received]:
        """Run up to a cycle and return the packets received before it, sorted."""
        self.run(cycles)
        return sorted(each for nic in self.paced for each in nic.received)

    @property
    def paced(self) -> list[CongestedNic]:
        """The NICs."""
        return [nic for nic in self.nics if isinstance(nic, CongestedNic)]

    @property
    def counts(self) -> Counts:
        """Event counts up to now."""
        nics = self.paced
        return Counts(
            sum(marker.marked for marker in self.markers.values()),
            sum(nic.fecns for nic in nics),
            sum(nic.returned for nic in nics),
            sum(nic.becns for nic in nics),
            sum(nic.held for nic in nics),
            sum(nic.pacer.lost for nic in nics),
            sum(nic.pacer.logged for nic in nics),
        )


def _set_starvation(starving: StarvingInput, port: int, write: StarvationWrite) -> None:
    """Apply a settings write of a switch to the credit starvation of one port (IBS-K6)."""
    if write.mask is not None:
        starving.is_in_mask = port in write.mask
    if write.of_switch is not None:
        starving.of_switch = write.of_switch
    if write.element is not None and write.element[0] == port:
        starving.element = write.element[1]
