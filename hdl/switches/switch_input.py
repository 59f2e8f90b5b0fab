"""Input side of a switch: buffer, look-up of heads, crossing packet."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from vlane.congestion.cc_marker import THRESHOLD_BITS
from vlane.congestion.cc_source import MULTIPLIER_BITS
from vlane.hdl.buffers.buffer_geometry import FLAGS, BufferGeometry
from vlane.hdl.common.part import Part
from vlane.hdl.links.link import CrossingSignature, ReturnSignature, with_channel, with_vl
from vlane.hdl.switches.credit_starvation import CreditStarvation
from vlane.hdl.switches.receiving_input import ReceivingInput


class SwitchInput(ReceivingInput):
    """Input side from which one packet at a time crosses (``docs/ib_switch.md``, ``docs/opa_switch.md``).

    Parameters
    ----------
    ports, geometry, data_bits, vl_bits, by_channel, counts_waiting
        See ``ReceivingInput``.
    flits : int
        Most flits that cross per cycle.
    starves : bool
        Whether the input may withhold credits (credit starvation). It then also counts waiting blocks.

    Members
    -------
    rx : In(LinkSignature(data_bits, vl_bits))
        Arriving flits.
    header : Out(64)
        Header of the head that is looked up in this cycle.
    output : In(range(ports))
        Looked-up output.
    outgoing_vl : In(lane_shape(vls))
        Looked-up outgoing lane.
    channel : In(5)
        Looked-up channel; only with ``by_channel``.
    cause : In(DropCause)
        Drop cause from the look-up.
    dropped : Out(DropCause)
        Drop cause of the head that was looked up in the previous cycle.
    valid : Out(vls)
        By lane: the first packet takes part in the allocation.
    drop : Out(vls)
        By lane: the first packet is to be dropped.
    outputs : Out(ArrayLayout(range(ports), vls))
        By lane: output of the first packet.
    outgoing_vls : Out(ArrayLayout(lane_shape(vls), vls))
        By lane: outgoing lane of the first packet.
    blocks : Out(ArrayLayout(range(largest + 1), vls))
        By lane: size of the first packet.
    waiting : Out(ArrayLayout(range(maximum + 1), vls))
        With ``counts_waiting`` only: blocks of the packets that waited in the previous cycle, by lane.
    masked, threshold, gap : In(1), In(4), In(14)
        With ``starves`` only: settings in force (see ``StarvationSettings``).
    returned : Out(ReturnSignature(flits, vl_bits))
        Blocks that left in the previous cycle; with ``starves``, those of them that are returned.
    free : Out(1)
        The input takes part in the allocation.
    granted : In(1)
        A packet crosses from the next cycle on.
    lane : In(vls)
        Lane of the crossing packet, one-hot.
    crossing : Out(CrossingSignature(...))
        Flits that cross.
    """

    names_lane = True

    def __init__(
        self,
        *,
        ports: int,
        geometry: BufferGeometry,
        data_bits: int,
        flits: int,
        vl_bits: int,
        by_channel: bool,
        counts_waiting: bool = False,
        starves: bool = False,
    ) -> None:
        self.flits = flits
        sizes = {"vls": geometry.vls, "maximum": geometry.maximum, "flits": flits, "vl_bits": vl_bits}
        self.starvation = CreditStarvation(**sizes) if starves else None
        settings = {"masked": In(1), "threshold": In(THRESHOLD_BITS), "gap": In(MULTIPLIER_BITS)} if starves else {}
        self.storage = geometry.storage(data_bits=data_bits, read_flits=flits)
        members: dict[str, Any] = {
            **settings,
            "returned": Out(ReturnSignature(flits, vl_bits)),
            "free": Out(1),
            "granted": In(1),
            "lane": In(geometry.vls),
            "crossing": Out(
                CrossingSignature(
                    flits=flits, data_bits=data_bits, vls=geometry.vls, ports=ports, largest=geometry.largest
                )
            ),
        }
        super().__init__(
            members,
            ports=ports,
            geometry=geometry,
            data_bits=data_bits,
            vl_bits=vl_bits,
            by_channel=by_channel,
            counts_waiting=counts_waiting or starves,
        )
        self._crosses = Signal(self._routed)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage = Part(self.storage, self.storage.parameters)
        received = self._receive(m)
        for lane in range(self.geometry.vls):
            leaves = self.granted & self.lane[lane]
            head = self._wait(m, received, lane, leaves)
            with m.If(leaves):
                m.d.sync += self._crosses.eq(head)
        self._cross(m)
        return m

    def _store(self, m: Module, reserves: Value, writes: Value, flit: Value) -> None:
        storage, rx = self.storage, self.rx
        m.d.comb += [
            storage.reserve_flits.eq(reserves),
            storage.reserve_vl.eq(rx.vl),
            storage.write_vl[0].eq(rx.vl),
            storage.write_count[0].eq(writes),
            storage.write_data[0].eq(flit),
        ]

    @property
    def _accepted(self) -> Value:
        accepted: Value = self.storage.accepted
        return accepted

    def _cross(self, m: Module) -> None:
        """Send a granted packet out of the buffer, as many flits per cycle as are available and allowed (X)."""
        storage, crossing, packet = self.storage, self.crossing, self._crosses
        busy = Signal()
        shown = [storage.read_data[place] for place in range(self.flits)]
        moves, is_last = flits_of_head(m, shown, storage.readable[0])
        body = shown[0][FLAGS:]
        rewritten = with_channel(body, packet.channel) if self.by_channel else with_vl(body, packet.outgoing_vl)
        m.d.comb += [
            storage.read_vl[0].eq(packet.vl),
            storage.read_count[0].eq(Mux(busy, moves, 0)),
            self.free.eq(~busy | is_last),
            crossing.count.eq(Mux(busy & ~packet.drop, moves, 0)),
            crossing.first.eq(shown[0][1]),
            crossing.last.eq(is_last),
            crossing.vl.eq(packet.outgoing_vl),
            crossing.to.eq(packet.output),
            crossing.blocks.eq(packet.blocks),
            crossing.flits[0].eq(Cat(shown[0][:FLAGS], Mux(shown[0][1], rewritten, body))),
            *(crossing.flits[place].eq(shown[place]) for place in range(1, self.flits)),
        ]
        with m.If(self.granted):
            m.d.sync += busy.eq(1)
        with m.Elif(is_last):
            m.d.sync += busy.eq(0)
        left = Signal.like(self.returned.blocks)
        m.d.comb += left.eq(Mux(busy, moves, 0))
        if self.starvation is None:
            m.d.sync += [self.returned.blocks.eq(left), self.returned.vl.eq(Mux(left.any(), packet.vl, 0))]
            return
        m.submodules.starvation = starvation = self.starvation
        connect(m, starvation.returned, flipped(self.returned))
        m.d.comb += [
            starvation.freed.eq(left),
            starvation.vl.eq(packet.vl),
            *(getattr(starvation, name).eq(getattr(self, name)) for name in ("masked", "threshold", "gap")),
            *(starvation.waiting[lane].eq(self.waiting[lane]) for lane in range(self.geometry.vls)),
        ]


def flits_of_head(m: Module, shown: list[Signal], there: Signal) -> tuple[Signal, Signal]:
    """Return how many flits of a lane's first packet may move, and whether its last flit is among them.

    Parameters
    ----------
    shown : list of Signal
        Oldest flits of the lane, 0 if absent; bit 0 marks a packet's last flit.
    there : Signal
        Number of flits available.
    """
    moves = Signal(range(len(shown) + 1))
    is_last = Signal()
    most: Value = Const(len(shown))
    for place in reversed(range(len(shown) - 1)):
        most = Mux(shown[place][0], place + 1, most)
    m.d.comb += [
        moves.eq(there.any() if len(shown) == 1 else Mux(most < there, most, there)),
        is_last.eq(Cat(flit[0] for flit in shown).any()),
    ]
    return moves, is_last
