"""Marking of packets at an output port of a switch."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from vlane.congestion.cc_marker import (
    LARGEST_THRESHOLD,
    RATE_BITS,
    SIZE_BITS,
    THRESHOLD_BITS,
    CCMarkerParameters,
    marking_limit,
)
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.congestion.bth_marker import BTHMarker
from vlane.hdl.congestion.marker_settings import CCMarkerProgramSignature, CCMarkerSettings
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

__all__ = ["CCMarker"]


class CCMarker(wiring.Component):
    """When a packet starts on a link, decide whether to mark it, and set FECN (``docs/cc_marker.md``).

    Latency 0: the decision uses the state at the start of the packet's first cycle and changes the flit in that cycle.
    Settings may be written at any time.

    Parameters
    ----------
    parameters : CCMarkerParameters
        Shape of the component.

    Members
    -------
    measure : In(ArrayLayout(range(measure_blocks + 1), data_vls))
        Fill of each lane, in blocks of 64 bytes.
    free : In(1)
        The link is free: a packet may start in this cycle.
    asks : In(data_vls)
        The lane has a head packet.
    fits : In(data_vls)
        The far end has credit for the whole head packet.
    start : In(1)
        A packet starts.
    start_vl : In(4)
        Lane of the starting packet. VL15 and lanes that do not exist mark nothing.
    start_blocks : In(7)
        Size of the starting packet, in blocks.
    flit_in : In(data_bits)
        Flit, first byte in the most significant bits; when a packet starts, its first flit.
    flit_out : Out(data_bits)
        The flit, with FECN if the packet is marked.
    mark : Out(1)
        The starting packet is marked.
    root : Out(1)
        The lane of the starting packet is a root of congestion.
    victim : Out(1)
        The lane of the starting packet is a victim of congestion elsewhere.
    over : Out(data_vls)
        Lanes whose measure has reached the marking limit.
    program : In(CCMarkerProgramSignature())
        Write port of the settings.
    threshold : Out(4)
        Threshold in force.
    packet_size : Out(8)
        Packet_Size in force.
    marking_rate : Out(16)
        Marking_Rate in force.
    victim_mask : Out(1)
        Victim_Mask includes this port.
    level : Out(range(level_blocks + 1))
        Leaky bucket of the link's load: blocks sent, less ``idle_blocks`` for each idle cycle.
    starved : Out(data_vls)
        A head of the lane has waited for credit since the lane's last packet started.
    left : Out(ArrayLayout(16, data_vls))
        Number of eligible packets of the lane that still pass unmarked.
    """

    latency = 0

    def __init__(self, parameters: CCMarkerParameters) -> None:
        self.parameters = p = parameters
        self.data_vls = p.data_vls
        super().__init__(
            {
                "measure": In(data.ArrayLayout(range(p.measure_blocks + 1), p.data_vls)),
                "free": In(1),
                "asks": In(p.data_vls),
                "fits": In(p.data_vls),
                "start": In(1),
                "start_vl": In(4),
                "start_blocks": In(BLOCKS_SHAPE),
                "flit_in": In(p.data_bits),
                "flit_out": Out(p.data_bits),
                "mark": Out(1),
                "root": Out(1),
                "victim": Out(1),
                "over": Out(p.data_vls),
                "program": In(CCMarkerProgramSignature()),
                "threshold": Out(THRESHOLD_BITS),
                "packet_size": Out(SIZE_BITS),
                "marking_rate": Out(RATE_BITS),
                "victim_mask": Out(1),
                "level": Out(range(p.level_blocks + 1)),
                "starved": Out(p.data_vls),
                "left": Out(data.ArrayLayout(RATE_BITS, p.data_vls)),
            }
        )
        self.settings, self.header = CCMarkerSettings(), BTHMarker(p.data_bits)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.settings, m.submodules.header = settings, header = self.settings, self.header
        connect(m, flipped(self.program), settings.program)
        m.d.comb += [
            self.threshold.eq(settings.threshold),
            self.packet_size.eq(settings.packet_size),
            self.marking_rate.eq(settings.marking_rate),
            self.victim_mask.eq(settings.victim_mask),
            header.flit_in.eq(self.flit_in),
            header.mark.eq(self.mark),
            self.flit_out.eq(header.flit_out),
        ]
        starts = Signal(self.data_vls)
        m.d.comb += starts.eq(Cat(self.start & equals(self.start_vl, lane) for lane in range(self.data_vls)))
        self._compare(m)
        self._follow(m, starts)
        self._decide(m, starts)
        return m

    def _compare(self, m: Module) -> None:
        """Compare every lane's measure with the limit for the threshold in force (CCM-1, CCM-2)."""
        p, thresholds = self.parameters, range(1, LARGEST_THRESHOLD + 1)
        bounds = range(p.maximum + 1)
        limits = (Const(marking_limit(each, maximum=p.maximum, largest=p.largest), bounds) for each in thresholds)
        limit = Signal(bounds)
        m.d.comb += [
            limit.eq(one_of((self.threshold == each for each in thresholds), limits)),
            *(self.over[lane].eq(self.threshold.any() & (self.measure[lane] >= limit)) for lane in range(p.data_vls)),
        ]

    def _follow(self, m: Module, starts: Signal) -> None:
        """Track how busy the link is, and which lanes are starved (CCM-3, CCM-4)."""
        p = self.parameters
        raised, most = self.level + self.start_blocks, p.level_blocks
        with m.If(self.start):
            m.d.sync += self.level.eq(Mux(raised > most, most, raised))
        if p.idle_blocks:
            with m.Elif(self.free):
                m.d.sync += self.level.eq(Mux(self.level < p.idle_blocks, 0, self.level - p.idle_blocks))
        waits = Mux(self.free, self.asks & ~self.fits, 0)
        m.d.sync += self.starved.eq((self.starved | waits) & ~starts)

    def _decide(self, m: Module, starts: Signal) -> None:
        """Mark the first eligible packet of a lane, then one in Marking_Rate + 1 (CCM-5 to CCM-10)."""
        busy = Signal()
        admits = Signal(self.data_vls)
        large_enough = Signal()
        eligible = Signal(self.data_vls)
        is_root = self.over & ~self.starved & busy.replicate(self.data_vls)
        due = Cat(~self.left[lane].any() for lane in range(self.data_vls))
        m.d.comb += [
            busy.eq(self.level >= self.parameters.busy_blocks if self.parameters.busy_blocks else 1),
            admits.eq(is_root | (self.over & self.victim_mask.replicate(self.data_vls))),
            large_enough.eq(self.start_blocks >= self.packet_size),
            eligible.eq(Mux(large_enough & self.header.markable, starts & admits, 0)),
            self.mark.eq((eligible & due).any()),
            self.root.eq((starts & is_root).any()),
            self.victim.eq((starts & self.over & self.starved).any()),
        ]
        for lane in range(self.data_vls):
            left = self.left[lane]
            with m.If(self.settings.restarts):
                m.d.sync += left.eq(0)
            with m.Elif(eligible[lane]):
                m.d.sync += left.eq(Mux(due[lane], self.marking_rate, left - 1))


COMPONENT = CCMarker
