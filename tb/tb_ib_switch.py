"""cocotb bench of the InfiniBand switch: against golden, by hand, and as a third party would write it.

``Sender``, ``Receiver`` and ``Port`` know the contract page only: they may be lifted for another device.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any, NamedTuple

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from vlane.tb.cocotb_drive import follow, qualified_agree, setting, start
from vlane.tb.directed_ib_switch import STEPS
from vlane.tb.stimulus_ib_switch import qualified

from vlane.lrh import LocalRouteHeader

_CYCLES, _DRAIN = 3000, 1500


class Packet(NamedTuple):
    """A packet as it was sent: its sender, number there, lane, header and flits."""

    sender: int
    number: int
    header: LocalRouteHeader
    flits: tuple[int, ...]


class Room:
    """Blocks that a sender may use: a minimum and a maximum per lane."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.minimum, self.maximum = told["minimum"], told["maximum"]
        self.shared = told["blocks"] - told["data_vls"] * told["minimum"]
        self.used = [0] * told["data_vls"]

    def fits(self, lane: int, blocks: int) -> bool:
        """Tell whether a packet may be sent."""
        after = [used + blocks * (lane == number) for number, used in enumerate(self.used)]
        return after[lane] <= self.maximum and sum(max(0, used - self.minimum) for used in after) <= self.shared


class Sender:
    """Drives ``rx`` of a port with random packets, and listens to ``returned``."""

    def __init__(self, dut: Any, port: int, told: dict[str, Any], source: random.Random) -> None:
        self.dut, self.port, self.told, self.source = dut, port, told, source
        self.room, self.left = Room(told), deque[tuple[int, int, int, int]]()
        self.sent: list[Packet] = []
        self.on = True

    def _packet(self) -> None:
        lane, flits = self.source.randrange(self.told["data_vls"]), self.source.randint(1, self.told["largest"])
        if not (self.on and self.source.random() < 0.7 and self.room.fits(lane, flits)):
            return
        sl, dlid = self.source.randrange(16), self.source.randrange(1, self.told["lids"])
        slid = self.port << 12 | len(self.sent) & 0xFFF  # so that no two packets look alike
        header = LocalRouteHeader(lane, 0, sl, 0, 2, dlid, 16 * flits - 1, slid)
        body = tuple(self.source.getrandbits(64) for _ in range(flits - 1))
        self.room.used[lane] += flits
        self.sent.append(Packet(self.port, len(self.sent), header, (header.pack(), *body)))
        for place, data in enumerate(self.sent[-1].flits):
            self.left.append((lane, place == 0, place == flits - 1, data))

    def drive(self) -> None:
        """Set the inputs of a cycle."""
        if not self.left:
            self._packet()
        flit = self.left.popleft() if self.left else None
        for name, value in zip(("valid", "vl", "first", "last", "data"), (1, *flit) if flit else (0,) * 5, strict=True):
            getattr(self.dut, f"rx__{self.port}__{name}").value = value

    def listen(self) -> None:
        """Take in the outputs of a cycle."""
        if int(getattr(self.dut, f"returned__{self.port}__blocks").value):
            lane = int(getattr(self.dut, f"returned__{self.port}__vl").value)
            self.room.used[lane] -= 1
            assert self.room.used[lane] >= 0, f"port {self.port}: more room of VL {lane} than was taken"


class Receiver:
    """Watches ``tx`` of a port, gives its room back with random delay, and gathers packets."""

    def __init__(self, dut: Any, port: int, told: dict[str, Any], source: random.Random) -> None:
        self.dut, self.port, self.source = dut, port, source
        self.room, self.held = Room(told), [0] * told["data_vls"]
        self.open: list[int] = []
        self.got: list[tuple[int, ...]] = []

    def drive(self) -> None:
        """Set the inputs of a cycle: back-pressure is holding blocks."""
        lanes = [lane for lane, blocks in enumerate(self.held) if blocks]
        gives = bool(lanes) and self.source.random() < 0.5
        lane = self.source.choice(lanes) if gives else 0
        self.held[lane] -= gives
        self.room.used[lane] -= gives
        getattr(self.dut, f"heard__{self.port}__blocks").value = int(gives)
        getattr(self.dut, f"heard__{self.port}__vl").value = lane

    def listen(self) -> None:
        """Take in the outputs of a cycle."""
        valid, vl, first, last, data = (
            int(getattr(self.dut, f"tx__{self.port}__{name}").value)
            for name in ("valid", "vl", "first", "last", "data")
        )
        if not valid:
            assert not self.open, f"port {self.port}: a gap in a packet"
            return
        assert bool(first) == (not self.open), f"port {self.port}: a packet inside a packet"
        if first:
            header = LocalRouteHeader.unpack(data)
            assert header.vl == vl, f"port {self.port}: VL {header.vl} in the header, {vl} on the link"
            flits = (header.pktlen + 1) // 16
            assert self.room.fits(vl, flits), f"port {self.port}: no room for a packet of VL {vl}"
            self.room.used[vl] += flits
        self.open.append(data)
        self.held[vl] += 1
        if last:
            self.got.append(tuple(self.open))
            self.open = []


@cocotb.test()
async def agrees_with_golden_in_every_cycle(dut: Any) -> None:
    """Drive the qualification and compare every output in every cycle."""
    await qualified_agree(dut, qualified)


@cocotb.test()
async def follows_the_directed_cycles(dut: Any) -> None:
    """Packets, drops, room and contention written out by hand; memories keep nothing that matters here."""
    assert await follow(dut, STEPS) == len(STEPS)


@cocotb.test()
async def delivers_every_packet_once_unchanged_and_in_order(dut: Any) -> None:
    """Senders that keep count of room, receivers that hold it back, a table of one's own: nothing of golden."""
    told = setting()["parameters"]
    ports, lanes, lids = told["ports"], told["data_vls"], told["lids"]
    source = random.Random(setting()["seed"])  # noqa: S311 - a repeatable choice
    await start(dut, [name for name, _, is_input in setting()["ports"] if is_input])
    table = await _program(dut, ports, lids, source)
    senders = [Sender(dut, port, told, source) for port in range(ports)]
    receivers = [Receiver(dut, port, told, source) for port in range(ports)]
    ends: list[Sender | Receiver] = [*senders, *receivers]
    for number in range(_CYCLES + _DRAIN):
        for each in ends:
            each.drive()
        for sender in senders:
            sender.on = number < _CYCLES
        await RisingEdge(dut.clk)
        for each in ends:
            each.listen()
        await FallingEdge(dut.clk)
    sent = [packet for sender in senders for packet in sender.sent]
    assert len(sent) > _CYCLES // 4
    assert sum(len(receiver.got) for receiver in receivers) == len(sent)
    for port, receiver in enumerate(receivers):
        wanted: dict[tuple[int, int, int], deque[tuple[int, ...]]] = {}
        for packet in sent:
            if table[packet.header.dlid] == port:
                out = packet.header._replace(vl=packet.header.sl % lanes)
                wanted.setdefault((packet.sender, packet.header.vl, out.vl), deque()).append(
                    (out.pack(), *packet.flits[1:])
                )
        for flits in receiver.got:
            flow = next((flow for flow, waiting in wanted.items() if waiting and waiting[0] == flits), None)
            assert flow is not None, f"port {port}: {[f'{flit:x}' for flit in flits]} was not next of any flow"
            wanted[flow].popleft()
        assert not any(wanted.values()), f"port {port}: packets did not come"


async def _program(dut: Any, ports: int, lids: int, source: random.Random) -> dict[int, int]:
    """Write a random forwarding table and SL2VL = SL modulo lanes; return the outputs by LID, from 0."""
    table = {lid: source.randrange(ports) for lid in range(1, lids)}
    lanes = setting()["parameters"]["data_vls"]
    row = sum((sl % lanes) << 4 * sl for sl in range(16))
    writes: list[dict[str, int]] = [{"lft__enable": 1, "lft__top": 1, "lft__lid": lids - 1}]
    writes += [{"lft__enable": 1, "lft__lid": lid, "lft__port": port + 1} for lid, port in table.items()]
    writes += [
        {"sl2vl__enable": 1, "sl2vl__every_input": 1, "sl2vl__output": port, "sl2vl__row": row} for port in range(ports)
    ]
    names = {name for write in writes for name in write}
    for write in [*writes, {}]:
        for name in names:
            getattr(dut, name).value = write.get(name, 0)
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
    return table
