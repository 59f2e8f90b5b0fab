"""Prober of E2CM: count the bytes of many flows, and derive feedback from returned probes."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from vlane.ethernet.e2cm_prober import (
    EXCESS_BITS,
    FLOW_BITS,
    GOODPUT_BITS,
    OCCUPANCY_BITS,
    REPLY_CYCLES,
    STAMP_BITS,
    START_CYCLES,
    E2CMProberParameters,
)
from vlane.ethernet.shared import BYTES_BITS, FEEDBACK_BITS, FEEDBACK_BYTES, saturation_bytes
from vlane.hdl.common.select import equals
from vlane.hdl.ethernet.serial_divider import SerialDivider
from vlane.hdl.ethernet.serial_multiplier import PRODUCT_CYCLES, SerialMultiplier

__all__ = ["E2CMProber", "ProberProgramSignature"]

_UNIT_BITS = (FEEDBACK_BYTES - 1).bit_length()
_COUNTED, _SINCE, _DUE, _FOLLOWS = range(2, 6)
"""Steps of a start order."""
_DIFFERENCES, _COMPARED, _EXCESS, _PRODUCT = range(2, 6)
"""Steps of a reply order; the product begins in the last of them."""
_QUOTIENT = _PRODUCT + PRODUCT_CYCLES
_KNOWN = _QUOTIENT + OCCUPANCY_BITS + 1
_CHANGED, _WEIGHTED, _SUMMED, _HELD = range(_KNOWN + 1, _KNOWN + 5)
_SUM_BITS = OCCUPANCY_BITS + 5


def record_layout(*, learned: bool) -> data.StructLayout:
    """Return the layout of a flow's record. With ``learned`` it includes the least delay.

    Configured least delays are kept in a separate memory that reset does not clear.
    """
    layout: dict[str, int] = {
        "sent": STAMP_BITS,
        "probed": STAMP_BITS,
        "begun": 1,
        "arrival": STAMP_BITS,
        "reported": STAMP_BITS,
        "occupancy": OCCUPANCY_BITS,
        "heard": 1,
        "known": 1,
    }
    return data.StructLayout({**layout, "base": STAMP_BITS} if learned else layout)


class ProberProgramSignature(Signature):
    """Write port of the configured least delays, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; replies taken in later cycles use the new delay.
    flow : Out(10)
        Flow of the delay.
    base : Out(32)
        Least one-way delay of the flow, in cycles.
    """

    def __init__(self) -> None:
        super().__init__({"enable": Out(1), "flow": Out(FLOW_BITS), "base": Out(STAMP_BITS)})


class E2CMProber(wiring.Component):
    """Decide when a probe follows a frame, and compute feedback from returned probes (``docs/e2cm_prober.md``).

    The prober executes one order at a time: a start (of a frame or probe) takes 7 cycles, a reply 40. Step k is the
    k-th cycle after the order is taken. Both: 1 read the record. A start: 2 count the bytes, 3 the bytes since the last
    probe, 4 compare them with the threshold, 5 decide whether a probe follows, 6 write the record. A reply: 2 the
    differences, 3 detect a late reply, 4 least delay and excess delay, 5 to 13 excess times bytes, 13 to 34 the
    quotient by the gap, 35 and 36 the change of occupancy, 37 the sum, 38 its saturation, 39 write the record.
    A late reply writes nothing.

    Parameters
    ----------
    parameters : E2CMProberParameters
        Shape of the component.

    Members
    -------
    ready : Out(1)
        The prober accepts an order in this cycle.
    order : In(1)
        An order is given. Ignored unless ``ready``.
    reply : In(1)
        The order is a returned probe; otherwise a start of a frame or probe.
    probe : In(1)
        A probe starts; otherwise a frame.
    flow : In(range(flows))
        Flow of the order.
    frame_bytes : In(14)
        Size of the frame, in bytes.
    limited : In(1)
        The flow has a rate limiter.
    stamp : In(32)
        Cycle in which the returned probe started on the wire.
    arrival : In(32)
        Cycle in which the returned probe arrived at the sink.
    reported : In(32)
        Bytes of the flow that the returned probe carries.
    done : Out(1)
        The order is complete; the outputs below are valid.
    follow : Out(1)
        A probe follows the frame.
    sent : Out(32)
        Bytes of the flow so far, for the probe to carry; 0 otherwise.
    valid : Out(1)
        The reply yields feedback.
    feedback : Out(signed(13))
        Fb in units of 64 bytes.
    program : In(ProberProgramSignature())
        Write port of least delays; without effect if delays are learned.
    """

    latency = START_CYCLES

    def __init__(self, parameters: E2CMProberParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "ready": Out(1),
                "order": In(1),
                "reply": In(1),
                "probe": In(1),
                "flow": In(range(p.flows)),
                "frame_bytes": In(BYTES_BITS),
                "limited": In(1),
                "stamp": In(STAMP_BITS),
                "arrival": In(STAMP_BITS),
                "reported": In(STAMP_BITS),
                "done": Out(1),
                "follow": Out(1),
                "sent": Out(STAMP_BITS),
                "valid": Out(1),
                "feedback": Out(signed(FEEDBACK_BITS)),
                "program": In(ProberProgramSignature()),
            }
        )
        self.most = saturation_bytes(p.norm_bytes, p.weight)
        self.multiplier = SerialMultiplier()
        self.divider = SerialDivider(
            quotient_bits=OCCUPANCY_BITS, divisor_bits=STAMP_BITS - 1, dividend_bits=EXCESS_BITS + GOODPUT_BITS
        )
        self.learned = p.base == "learned"
        layout = record_layout(learned=self.learned)
        self.records = Memory(shape=layout.size, depth=p.flows, init=[])
        if not self.learned:
            self.delays = Memory(shape=STAMP_BITS, depth=p.flows, init=[])
        self.clears = Signal(init=1)
        self.place = Signal(range(p.flows))
        self.count = Signal(range(REPLY_CYCLES))
        self.is_last = Signal()
        self.replies = Signal()
        self.probes = Signal()
        self.unlimited = Signal()
        self.length = Signal(BYTES_BITS)
        self.started = Signal(STAMP_BITS)
        self.came = Signal(STAMP_BITS)
        self.bytes = Signal(STAMP_BITS)
        self.fetched = Signal(layout)
        self.given = Signal(STAMP_BITS)
        self.record = Signal(layout)
        self.base = Signal(STAMP_BITS)
        self.since = Signal(STAMP_BITS)
        self.enough = Signal()
        self.follows = Signal()
        self.gap = Signal(STAMP_BITS)
        self.delay = Signal(STAMP_BITS)
        self.goodput = Signal(STAMP_BITS)
        self.late = Signal()
        self.below = Signal()
        self.excess = Signal(STAMP_BITS)
        self.occupancy = Signal(OCCUPANCY_BITS)
        self.change = Signal(signed(OCCUPANCY_BITS + 1))
        self.informs = Signal()
        self.weighted = Signal(signed(_SUM_BITS))
        self.total = Signal(signed(_SUM_BITS))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.multiplier, m.submodules.divider = self.multiplier, self.divider
        self._remember(m)
        self._take(m)
        with m.If(self.replies):
            self._compare(m)
            self._estimate(m)
            self._feed_back(m)
        with m.Else():
            self._start(m)
        with m.If(self.is_last):
            self._show(m)
        return m

    def _remember(self, m: Module) -> None:
        """Read the record of an order, write it in the last step, and clear all records after reset (EPR-13)."""
        m.submodules.records = self.records
        writer, reader = self.records.write_port(), self.records.read_port(domain="sync")
        m.d.comb += [
            reader.addr.eq(self.flow),
            reader.en.eq(self.ready),
            self.fetched.eq(reader.data),
            writer.addr.eq(self.place),
            writer.data.eq(Mux(self.clears, 0, self.record.as_value())),
            writer.en.eq(self.clears | (self.is_last & ~(self.replies & self.late))),
        ]
        m.d.comb += self.given.eq(self.fetched.base if self.learned else self._given(m))
        with m.If(self.count == 1):
            m.d.sync += [self.record.eq(self.fetched), self.base.eq(self.given)]
        with m.If(self.clears):
            m.d.sync += self.place.eq(self.place + 1)
        with m.If(self.clears & (self.place == self.parameters.flows - 1)):
            m.d.sync += self.clears.eq(0)

    def _given(self, m: Module) -> Value:
        """Return the flow's configured least delay, and write new delays (EPR-14)."""
        program = self.program
        m.submodules.delays = self.delays
        writer, reader = self.delays.write_port(), self.delays.read_port(domain="sync")
        m.d.comb += [
            reader.addr.eq(self.flow),
            reader.en.eq(self.ready),
            writer.addr.eq(program.flow),
            writer.data.eq(program.base),
            writer.en.eq(program.enable & (program.flow < self.parameters.flows)),
        ]
        return reader.data

    def _take(self, m: Module) -> None:
        """Accept an order and count its steps."""
        begins = Signal()
        m.d.comb += [self.ready.eq(equals(self.count, 0) & ~self.clears), begins.eq(self.ready & self.order)]
        m.d.sync += [each.eq(0) for each in (self.done, self.follow, self.sent, self.valid, self.feedback)]
        m.d.sync += self.is_last.eq(self.count == Mux(self.replies, REPLY_CYCLES - 2, START_CYCLES - 2))
        with m.If(self.is_last):
            m.d.sync += self.count.eq(0)
        with m.Elif(begins | ~equals(self.count, 0)):
            m.d.sync += self.count.eq(self.count + 1)
        with m.If(begins):
            m.d.sync += [
                self.replies.eq(self.reply),
                self.probes.eq(self.probe),
                self.unlimited.eq(~self.limited),
                self.place.eq(self.flow),
                self.length.eq(self.frame_bytes),
                self.started.eq(self.stamp),
                self.came.eq(self.arrival),
                self.bytes.eq(self.reported),
            ]

    def _start(self, m: Module) -> None:
        """Count a frame's bytes, and decide whether a probe follows it (EPR-1 to EPR-3)."""
        p, record = self.parameters, self.record
        excluded = self.unlimited & (p.probed == "limited")
        with m.Switch(self.count):
            with m.Case(_COUNTED), m.If(~self.probes):
                m.d.sync += record.sent.eq(record.sent + self.length)
            with m.Case(_SINCE):
                m.d.sync += self.since.eq(record.sent - record.probed)
            with m.Case(_DUE):
                m.d.sync += self.enough.eq(self.since >= p.probe_bytes)
            with m.Case(_FOLLOWS), m.If(~self.probes):
                follows = ~excluded & (self.enough | ~record.begun)
                m.d.sync += [self.follows.eq(follows), record.begun.eq(~excluded)]
                with m.If(follows):
                    m.d.sync += record.probed.eq(record.sent)

    def _compare(self, m: Module) -> None:
        """Compare a reply with the previous reply, and its delay with the least delay (EPR-6, EPR-10)."""
        record = self.record
        least = self.below | (~record.heard & self.learned)
        with m.Switch(self.count):
            with m.Case(_DIFFERENCES):
                m.d.sync += [
                    self.gap.eq(self.came - record.arrival),
                    self.delay.eq(self.came - self.started),
                    self.goodput.eq(self.bytes - record.reported),
                ]
            with m.Case(_COMPARED):
                m.d.sync += [
                    self.late.eq(record.heard & (equals(self.gap, 0) | self.gap[-1])),
                    self.below.eq(self.delay < self.base),
                ]
            with m.Case(_EXCESS):
                m.d.sync += self.excess.eq(Mux(least, 0, self.delay - self.base))
                with m.If(least):
                    m.d.sync += self.base.eq(self.delay)

    def _estimate(self, m: Module) -> None:
        """Multiply the excess delay by the bytes, and divide by the gap (EPR-7)."""
        with m.If(self.count == _PRODUCT):
            m.d.comb += [
                self.multiplier.load.eq(1),
                self.multiplier.factor.eq(_at_most(self.goodput, GOODPUT_BITS)),
                self.multiplier.digits.eq(_at_most(self.excess, EXCESS_BITS)),
            ]
        with m.If(self.count == _QUOTIENT):
            m.d.comb += [
                self.divider.load.eq(1),
                self.divider.dividend.eq(self.multiplier.product),
                self.divider.divisor.eq(self.gap),
            ]
        with m.If(self.count == _KNOWN):
            m.d.sync += self.occupancy.eq(self.divider.quotient)

    def _feed_back(self, m: Module) -> None:
        """Compute the feedback, and store the values to which the next reply is compared (EPR-8, EPR-9)."""
        p, record = self.parameters, self.record
        with m.Switch(self.count):
            with m.Case(_CHANGED):
                m.d.sync += [
                    self.change.eq(Mux(record.known, self.occupancy - record.occupancy, 0)),
                    self.total.eq(p.set_point_bytes - self.occupancy),
                ]
            with m.Case(_WEIGHTED):
                m.d.sync += self.weighted.eq(self.change * p.weight)
            with m.Case(_SUMMED):
                m.d.sync += self.total.eq(self.total - self.weighted)
            with m.Case(_HELD):
                held = Mux(self.total > self.most, self.most, self.total)
                m.d.sync += [
                    self.total.eq(Mux(self.total < -self.most, -self.most, held)),
                    record.arrival.eq(self.came),
                    record.reported.eq(self.bytes),
                    record.occupancy.eq(self.occupancy),
                    record.known.eq(record.heard),
                    record.heard.eq(1),
                    self.informs.eq(record.heard & ~self.late),
                ]
                if self.learned:
                    m.d.sync += record.base.eq(self.base)

    def _show(self, m: Module) -> None:
        """Drive the answer to an order."""
        rounded = (self.total + Mux(self.total < 0, FEEDBACK_BYTES - 1, 0)) >> _UNIT_BITS
        informs = self.replies & self.informs
        m.d.sync += [
            self.done.eq(1),
            self.follow.eq(~self.replies & ~self.probes & self.follows),
            self.sent.eq(Mux(~self.replies & self.probes, self.record.sent, 0)),
            self.valid.eq(informs),
            self.feedback.eq(Mux(informs, rounded, 0)),
        ]


def _at_most(value: Value, bits: int) -> Value:
    """Return a value, saturated to ``bits`` bits."""
    return value[:bits] | value[bits:].any().replicate(bits)


COMPONENT = E2CMProber
