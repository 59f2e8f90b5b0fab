"""Independent senders and receivers for a switch test, written from the contract pages, without golden.

``Sender``, ``Receiver`` and ``delivers`` also work for other devices with the same ports.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from cocotb.triggers import FallingEdge, RisingEdge

from vlane.packets.lrh import LNH_BTH, LocalRouteHeader
from vlane.switches.switch_programs import lft_write, top_write
from vlane.tb.machinery.cocotb_benches.cocotb_drive import setting, start

_CYCLES, _DRAIN, _READY = 3000, 1500, 0.9


class SwitchKind(Protocol):
    """Interface to the differences between switches: header layout, SL or channel map, and form of credit returns."""

    blocks: int
    vls_apart: bool

    def header(self, destination_header: LocalRouteHeader, lane: int, source: random.Random) -> LocalRouteHeader:
        """Return the header with the sender's lane, from a header with destination and size."""

    def leaves(self, header: LocalRouteHeader, lanes: int) -> tuple[LocalRouteHeader, int]:
        """Return the header and the lane with which a packet must leave."""

    def map_writes(self, ports: int, lanes: int) -> Sequence[Mapping[str, int]]:
        """Return the writes that program the map on which ``leaves`` relies."""


class Packet(NamedTuple):
    """A packet that was sent: sender, lane, header and flits."""

    sender: int
    lane: int
    header: LocalRouteHeader
    flits: tuple[int, ...]


class CreditCounters:
    """Blocks in use in a remote buffer, by lane, with a minimum and a maximum per lane."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.minimum, self.maximum = settings["minimum"], settings["maximum"]
        self.shared = settings["blocks"] - settings["data_vls"] * settings["minimum"]
        self.used = [0] * settings["data_vls"]

    def fits(self, lane: int, blocks: int) -> bool:
        """Return whether ``blocks`` more blocks of a lane fit into the remote buffer."""
        after = [used + blocks * (lane == number) for number, used in enumerate(self.used)]
        return after[lane] <= self.maximum and sum(max(0, used - self.minimum) for used in after) <= self.shared


class Sender:
    """Drive random packets into a port as far as credits permit, and count the returned credits."""

    def __init__(self, dut: Any, kind: SwitchKind, port: int, settings: dict[str, Any], source: random.Random) -> None:
        self.dut, self.kind, self.port, self.settings, self.source = dut, kind, port, settings, source
        self.room, self.left = CreditCounters(settings), deque[tuple[int, int, int, int]]()
        self.sent: list[Packet] = []
        self.on = True

    def _packet(self) -> None:
        lane, flits = self.source.randrange(self.settings["data_vls"]), self.source.randint(1, self.settings["largest"])
        if not (self.on and self.source.random() < 0.7 and self.room.fits(lane, flits)):
            return
        slid = self.port << 12 | len(self.sent) & 0xFFF  # makes all packets different
        to = LocalRouteHeader(
            0, 0, 0, 0, LNH_BTH, self.source.randrange(1, self.settings["lids"]), 16 * flits - 1, slid
        )
        header = self.kind.header(to, lane, self.source)
        body = tuple(self.source.getrandbits(64) for _ in range(flits - 1))
        self.room.used[lane] += flits
        self.sent.append(Packet(self.port, lane, header, (header.pack(), *body)))
        for place, data in enumerate(self.sent[-1].flits):
            self.left.append((lane, place == 0, place == flits - 1, data))

    def drive(self) -> None:
        """Drive the next flit of the current packet, or start a packet with a probability of 70 %."""
        if not self.left:
            self._packet()
        flit = self.left.popleft() if self.left else None
        for name, value in zip(("valid", "vl", "first", "last", "data"), (1, *flit) if flit else (0,) * 5, strict=True):
            getattr(self.dut, f"rx__{self.port}__{name}").value = value

    def listen(self) -> None:
        """Read the credits that the switch returns and release the blocks. Fail if a lane returns too many."""
        blocks = int(getattr(self.dut, f"returned__{self.port}__blocks").value)
        freed = [(lane, 1) for lane in range(self.settings["data_vls"]) if blocks >> lane & 1]
        if not self.kind.vls_apart:
            freed = [(int(getattr(self.dut, f"returned__{self.port}__vl").value), blocks)] if blocks else []
        for lane, count in freed:
            self.room.used[lane] -= count
            assert self.room.used[lane] >= 0, f"port {self.port}: VL {lane} returned more blocks than were sent"


class Receiver:
    """Collect the packets that leave a port, and return credits after random delays."""

    def __init__(self, dut: Any, kind: SwitchKind, port: int, settings: dict[str, Any], source: random.Random) -> None:
        self.dut, self.kind, self.port, self.source = dut, kind, port, source
        self.room, self.held = CreditCounters(settings), [0] * settings["data_vls"]
        self.open: list[int] = []
        self.got: list[tuple[int, ...]] = []

    def drive(self) -> None:
        """Return the credit of random stored blocks. The delay creates back-pressure."""
        lanes = [lane for lane, blocks in enumerate(self.held) if blocks]
        if self.kind.vls_apart:
            self._drive_lanes(lanes)
            return
        gives = bool(lanes) and self.source.random() < 1 / (1 + self.kind.blocks)
        lane = self.source.choice(lanes) if gives else 0
        blocks = min(self.source.randint(1, self.kind.blocks), self.held[lane]) if gives else 0
        self.held[lane] -= blocks
        self.room.used[lane] -= blocks
        getattr(self.dut, f"far_returned__{self.port}__blocks").value = blocks
        getattr(self.dut, f"far_returned__{self.port}__vl").value = lane

    def _drive_lanes(self, lanes: list[int]) -> None:
        """Return one block of some of the given lanes."""
        freed = [lane for lane in lanes if self.source.random() < 0.5]
        for lane in freed:
            self.held[lane] -= 1
            self.room.used[lane] -= 1
        getattr(self.dut, f"far_returned__{self.port}__blocks").value = sum(1 << lane for lane in freed)

    def listen(self) -> None:
        """Read a flit. Fail on a gap, on interleaved packets, or on a packet without credit."""
        valid, vl, first, last, data = (
            int(getattr(self.dut, f"tx__{self.port}__{name}").value)
            for name in ("valid", "vl", "first", "last", "data")
        )
        if not valid:
            assert not self.open, f"port {self.port}: a packet has a gap"
            return
        assert bool(first) == (not self.open), f"port {self.port}: a packet began before the previous one ended"
        if first:
            header = LocalRouteHeader.unpack(data)
            flits = (header.pktlen + 1) // 16
            assert self.room.fits(vl, flits), f"port {self.port}: VL {vl} has no credit for the packet that was sent"
            self.room.used[vl] += flits
        self.open.append(data)
        self.held[vl] += 1
        if last:
            self.got.append((vl, *self.open))
            self.open = []


async def delivers(dut: Any, kind: SwitchKind) -> None:
    """Check that every packet leaves once, unchanged except for VL or channel, and in order per flow and lane."""
    settings = setting()["parameters"]
    ports, lanes, lids = settings["ports"], settings["data_vls"], settings["lids"]
    source = random.Random(setting()["seed"])  # noqa: S311 - a repeatable choice
    await start(dut, [name for name, _, is_input in setting()["ports"] if is_input])
    table = {lid: source.randrange(ports) for lid in range(1, lids)}
    await _program(dut, table, kind.map_writes(ports, lanes))
    senders = [Sender(dut, kind, port, settings, source) for port in range(ports)]
    receivers = [Receiver(dut, kind, port, settings, source) for port in range(ports)]
    await _run(dut, senders, receivers, source)
    sent = [packet for sender in senders for packet in sender.sent]
    assert len(sent) > _CYCLES // 4
    assert sum(len(receiver.got) for receiver in receivers) == len(sent)
    for port, receiver in enumerate(receivers):
        _check_received(port, receiver, [packet for packet in sent if table[packet.header.dlid] == port], kind, lanes)


async def _run(dut: Any, senders: list[Sender], receivers: list[Receiver], source: random.Random) -> None:
    """Drive and read all ends cycle by cycle. Senders stop before the last ``_DRAIN`` cycles."""
    ends: list[Sender | Receiver] = [*senders, *receivers]
    for number in range(_CYCLES + _DRAIN):
        for each in ends:
            each.drive()
        for sender in senders:
            sender.on = number < _CYCLES
        dut.ready.value = sum((source.random() < _READY) << port for port in range(len(receivers)))
        await RisingEdge(dut.clk)
        for each in ends:
            each.listen()
        await FallingEdge(dut.clk)


def _check_received(port: int, receiver: Receiver, sent: list[Packet], kind: SwitchKind, lanes: int) -> None:
    """Compare received packets with those sent: in order for each (sender, incoming lane, outgoing lane)."""
    expected: dict[tuple[int, int, int], deque[tuple[int, ...]]] = {}
    for packet in sent:
        out, lane = kind.leaves(packet.header, lanes)
        flow = (packet.sender, packet.lane, lane)
        expected.setdefault(flow, deque()).append((lane, out.pack(), *packet.flits[1:]))
    for flits in receiver.got:
        found = next((flow for flow, waiting in expected.items() if waiting and waiting[0] == flits), None)
        assert found is not None, (
            f"port {port}: packet {[f'{flit:x}' for flit in flits]} is not the next one of any flow"
        )
        expected[found].popleft()
    assert not any(expected.values()), f"port {port}: some packets were not delivered"


async def _program(dut: Any, table: Mapping[int, int], maps: Sequence[Mapping[str, int]]) -> None:
    """Write a forwarding table (outputs from 0, by LID) and the map to lanes."""
    writes: list[Mapping[str, int]] = [top_write(len(table) + 1)]
    writes += [lft_write(lid, port + 1) for lid, port in table.items()]
    writes += maps
    names = {name for write in writes for name in write}
    for write in [*writes, {}]:
        for name in names:
            getattr(dut, name).value = write.get(name, 0)
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
