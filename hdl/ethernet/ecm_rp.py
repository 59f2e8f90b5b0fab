"""Reaction point of ECM and E2CM: rate limiters of many flows, in memory."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from vlane.ethernet.ecm_rp import (
    ASK_CYCLES,
    FRACTION_BITS,
    GAIN_BITS,
    NOTICE_CYCLES,
    RATE_BITS,
    RATE_FRACTION_BITS,
    SCALE_BITS,
    TIME_BITS,
    TOKENS_PER_BYTE,
    VISIT_CYCLES,
    ECMRPParameters,
    Notice,
    feedback_scale,
)
from vlane.ethernet.shared import BYTES_BITS, CPID_BITS, FEEDBACK_BITS
from vlane.hdl.common.select import equals
from vlane.hdl.ethernet.prbs import PRBS
from vlane.hdl.ethernet.serial_multiplier import FACTOR_BITS, PRODUCT_CYCLES, SHORT_BITS, SerialMultiplier

__all__ = ["ECMRP"]

_TOKEN_BITS = (((1 << BYTES_BITS) - 1) * TOKENS_PER_BYTE).bit_length()
_ELAPSED = 2
"""Step in which the cycles since the last update of a flow's tokens are known."""
_COUNTED = _ELAPSED + PRODUCT_CYCLES
_FRACTION = _COUNTED + 1
_GAIN = _FRACTION + PRODUCT_CYCLES
_CHANGE = _GAIN + PRODUCT_CYCLES
_CHANGED = _CHANGE + PRODUCT_CYCLES
RECORD_LAYOUT = data.StructLayout(
    {"tokens": _TOKEN_BITS, "last": TIME_BITS, "rate": RATE_BITS, "cpid": CPID_BITS, "probe": 1}
)
"""Record of a flow."""


class ECMRP(wiring.Component):
    """Keep the rate limiters of a source's flows (``docs/ecm_rp.md``).

    The component executes one order at a time: a request to start a frame takes 14 cycles, a notice 40. Step k is the
    k-th cycle after the order is taken. Both: 1 read the record; 2 the cycles since the last update of the tokens; 10
    and 11 the tokens; a request is decided in 12 and its record written in 13. A notice: 11 to 19 the fraction, 19 to
    27 the gain of the flow's own rate, 27 to 35 the change, 36 the new rate, 38 the limiter's new state, 39 write the
    record.

    Parameters
    ----------
    parameters : ECMRPParameters
        Shape of the component.

    Members
    -------
    ready : Out(1)
        The component accepts an order in this cycle.
    order : In(1)
        An order is given.
    ask : In(1)
        The order asks whether a frame may start; otherwise it is a notice.
    flow : In(range(flows))
        Flow of the order.
    frame_bytes : In(14)
        Size of the frame, in bytes.
    notice : In(Notice)
        Kind of the notice.
    cpid : In(16)
        CPID of the notice's sender.
    feedback : In(signed(13))
        Fb in units of 64 bytes.
    done : Out(1)
        The order is complete; the outputs below are valid.
    may : Out(1)
        The frame may start.
    limited : Out(1)
        The flow has a limiter after the order.
    rate : Out(22)
        Rate of the limiter, in 1/256 Mb/s.
    probe : Out(1)
        The limiter was last lowered by a probe.
    tag : Out(16)
        CPID that last lowered the limiter.
    limiters : Out(range(flows + 1))
        Number of limiters installed.
    """

    latency = ASK_CYCLES

    def __init__(self, parameters: ECMRPParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "ready": Out(1),
                "order": In(1),
                "ask": In(1),
                "flow": In(range(p.flows)),
                "frame_bytes": In(BYTES_BITS),
                "notice": In(Notice),
                "cpid": In(CPID_BITS),
                "feedback": In(signed(FEEDBACK_BITS)),
                "done": Out(1),
                "may": Out(1),
                "limited": Out(1),
                "rate": Out(RATE_BITS),
                "probe": Out(1),
                "tag": Out(CPID_BITS),
                "limiters": Out(range(p.flows + 1)),
            }
        )
        self.link, self.least = p.link_mbps << RATE_FRACTION_BITS, p.least_mbps << RATE_FRACTION_BITS
        self.bucket = p.bucket_bytes * TOKENS_PER_BYTE
        self.prbs, self.multiplier = PRBS(p.seed), SerialMultiplier()
        self.records = Memory(shape=RECORD_LAYOUT.size, depth=p.flows, init=[])
        self.installed = Signal(p.flows)
        self.now = Signal(TIME_BITS)
        self.count = Signal(range(NOTICE_CYCLES))
        self.due = Signal()
        self.visits = Signal()
        self.asks = Signal()
        self.place = Signal(range(p.flows))
        self.next_place = Signal(range(p.flows))
        self.since = Signal(range(VISIT_CYCLES))
        self.of_notice = Signal(Notice)
        self.of_cpid = Signal(CPID_BITS)
        self.size = Signal(FEEDBACK_BITS)
        self.falls = Signal()
        self.is_rise = Signal()
        self.at = Signal(TIME_BITS)
        self.fetched = Signal(RECORD_LAYOUT)
        self.record = Signal(RECORD_LAYOUT)
        self.was = Signal()
        self.needed = Signal(_TOKEN_BITS)
        self.product = Signal(FACTOR_BITS + SHORT_BITS + 1)
        self.fraction = Signal(FRACTION_BITS + 1)
        self.change = Signal(RATE_BITS + 1)
        self.total = Signal.like(self.limiters)
        self.raised = Signal(RATE_BITS + 2)
        self.stays = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.prbs, m.submodules.multiplier, m.submodules.records = self.prbs, self.multiplier, self.records
        writer, reader = self.records.write_port(), self.records.read_port(domain="sync")
        place = Mux(self.order, self.flow, self.next_place)
        m.d.comb += [
            self.ready.eq(equals(self.count, 0)),
            reader.addr.eq(place),
            reader.en.eq(self.ready),
            self.fetched.eq(reader.data),
            writer.addr.eq(self.place),
            writer.data.eq(self.record.as_value()),
        ]
        self._take(m, place)
        with m.Switch(self.count):
            with m.Case(1):
                m.d.sync += [self.record.eq(self.fetched), self.was.eq(Array(self.installed)[self.place])]
            with m.Case(_ELAPSED):
                self._elapse(m)
            with m.Case(_COUNTED):
                m.d.sync += self.product.eq(self.multiplier.product + self.record.tokens)
            with m.Case(_FRACTION):
                self._count(m)
            with m.Case(_FRACTION + 1), m.If(self.asks):
                self._answer(m)
            with m.Case(_GAIN):
                self._gain(m)
            with m.Case(_CHANGE):
                self._multiply_change(m)
            with m.Case(_CHANGED):
                product = self.multiplier.product
                m.d.sync += self.change.eq(Mux(self.falls, product >> FRACTION_BITS + 1, product >> FRACTION_BITS))
            with m.Case(_CHANGED + 1):
                self._sum(m)
            with m.Case(_CHANGED + 2):
                self._react(m)
        is_last = Mux(self.asks, self.count == ASK_CYCLES - 1, self.count == NOTICE_CYCLES - 1)
        m.d.comb += writer.en.eq(is_last)
        with m.If(is_last):
            self._show(m)
        return m

    def _take(self, m: Module, place: Value) -> None:
        """Accept an order, or begin a due visit: a request whose answer is not shown (ERP-16)."""
        begins = Signal()
        m.d.comb += begins.eq(self.ready & (self.order | self.due))
        m.d.sync += [self.now.eq(self.now + 1), self.since.eq(self.since + 1), self.done.eq(0)]
        m.d.sync += [each.eq(0) for each in (self.may, self.limited, self.rate, self.probe, self.tag)]
        is_last = Mux(self.asks, self.count == ASK_CYCLES - 1, self.count == NOTICE_CYCLES - 1)
        with m.If(begins):
            m.d.sync += self.count.eq(1)
        with m.Elif(is_last):
            m.d.sync += self.count.eq(0)
        with m.Elif(~self.ready):
            m.d.sync += self.count.eq(self.count + 1)
        with m.If(begins):
            m.d.sync += [
                self.asks.eq(self.ask | ~self.order),
                self.visits.eq(~self.order),
                self.place.eq(place),
                self.at.eq(self.now),
                self.of_notice.eq(self.notice),
                self.of_cpid.eq(self.cpid),
                self.falls.eq(self.feedback < 0),
                self.is_rise.eq(self.feedback > 0),
                self.size.eq(Mux(self.feedback < 0, -self.feedback, self.feedback)),
                self.needed.eq(self.frame_bytes * TOKENS_PER_BYTE),
            ]
        with m.If(begins & ~self.order):
            m.d.sync += [self.due.eq(0), self.next_place.eq(self.next_place + 1)]
        with m.If(self.since == VISIT_CYCLES - 1):
            m.d.sync += self.due.eq(1)

    def _elapse(self, m: Module) -> None:
        """Multiply the rate, 0 while the flow is stopped, by the cycles since the last update of the tokens (ERP-3)."""
        elapsed = Signal(TIME_BITS)
        m.d.comb += [
            elapsed.eq(self.at - self.record.last),
            self.multiplier.load.eq(1),
            self.multiplier.factor.eq(self.record.rate),
            self.multiplier.digits.eq(Mux(elapsed[-1], 0, elapsed)),
        ]
        m.d.sync += self.stays.eq(elapsed[-1])
        with m.If(~elapsed[-1]):
            m.d.sync += self.record.last.eq(self.at)
        with m.If(self.needed > self.bucket):
            m.d.sync += self.needed.eq(self.bucket)

    def _count(self, m: Module) -> None:
        """Clamp the tokens to a full bucket, and start to compute the feedback as a fraction (ERP-3, ERP-6)."""
        m.d.sync += self.record.tokens.eq(Mux(self.product > self.bucket, self.bucket, self.product))
        m.d.comb += [
            self.multiplier.load.eq(1),
            self.multiplier.factor.eq(feedback_scale(self.parameters.set_point_bytes, self.parameters.weight)),
            self.multiplier.digits.eq(self.size),
        ]

    def _answer(self, m: Module) -> None:
        """Start the frame if its tokens are available (ERP-1, ERP-2, ERP-4)."""
        enough = ~self.stays & (self.record.tokens >= self.needed)
        m.d.sync += self.stays.eq(self.was & ~enough)
        with m.If(enough & ~self.visits):
            m.d.sync += self.record.tokens.eq(self.record.tokens - self.needed)

    def _gain(self, m: Module) -> None:
        """Start to compute the gain from the flow's own rate (ERP-8)."""
        p, scaled = self.parameters, self.multiplier.product >> SCALE_BITS
        one = 1 << FRACTION_BITS
        m.d.sync += self.fraction.eq(Mux(scaled > one, one, scaled))
        m.d.comb += [
            self.multiplier.load.eq(1),
            self.multiplier.factor.eq(self.record.rate),
            self.multiplier.digits.eq(Mux(self.of_notice == Notice.PROBE, p.probe_gain, p.gain)),
        ]

    def _multiply_change(self, m: Module) -> None:
        """Start to multiply the fraction by the rate (fall) or by the largest increase (rise) (ERP-7, ERP-8)."""
        p = self.parameters
        most = Mux(
            self.of_notice == Notice.PROBE, self.link * p.probe_gain >> GAIN_BITS, self.link * p.gain >> GAIN_BITS
        )
        if p.gain_of == "current":
            most = self.multiplier.product >> GAIN_BITS
        m.d.comb += [
            self.multiplier.load.eq(1),
            self.multiplier.factor.eq(Mux(self.falls, Mux(self.was, self.record.rate, self.link), most)),
            self.multiplier.digits.eq(self.fraction),
        ]

    def _sum(self, m: Module) -> None:
        """Compute the raised and the lowered rate. The lowered rate is at least the minimum rate."""
        record, drifts = self.record, self.of_notice == Notice.DRIFT
        lowered = Signal(signed(RATE_BITS + 2))
        m.d.comb += lowered.eq(Mux(self.was, record.rate, self.link) - self.change)
        m.d.sync += self.raised.eq(record.rate + Mux(drifts, self.parameters.drift, self.change))
        m.d.sync += self.change.eq(Mux(lowered < self.least, self.least, lowered))

    def _react(self, m: Module) -> None:
        """Install, lower, raise or remove the flow's limiter (ERP-5 to ERP-13)."""
        record, notice = self.record, self.of_notice
        mine = (record.probe == (notice == Notice.PROBE)) & (record.cpid == self.of_cpid)
        any_probe = (notice == Notice.PROBE) & (not self.parameters.strict)
        tells = Signal()
        installs = Signal()
        removes = Signal()
        stops = Signal()
        drifts = Signal()
        falls = Signal()
        rises = Signal()
        m.d.comb += [
            tells.eq((notice == Notice.POINT) | (notice == Notice.PROBE)),
            stops.eq((notice == Notice.STOP) & ~self.asks),
            drifts.eq((notice == Notice.DRIFT) & self.was),
            falls.eq(tells & self.falls),
            rises.eq((tells & self.is_rise & self.was & (mine | any_probe)) | drifts),
            installs.eq((stops | falls) & ~self.was),
            removes.eq(rises & (self.raised >= self.link)),
            self.prbs.draw.eq(stops),
        ]
        with m.If(stops):
            wait = self.prbs.number & ((1 << self.parameters.stop_bits) - 1)
            m.d.sync += [record.rate.eq(self.least), record.tokens.eq(self.bucket), record.last.eq(self.at + 1 + wait)]
        with m.Elif(falls):
            m.d.sync += record.rate.eq(self.change)
            with m.If(~self.was):
                m.d.sync += [record.tokens.eq(0), record.last.eq(self.at)]
        with m.Elif(rises):
            m.d.sync += record.rate.eq(self.raised)
        with m.If(stops | falls):
            m.d.sync += [record.probe.eq(notice == Notice.PROBE), record.cpid.eq(self.of_cpid)]
        with m.If(installs):
            m.d.sync += self.total.eq(self.total + 1)
        with m.Elif(removes):
            m.d.sync += self.total.eq(self.total - 1)
        m.d.sync += [
            self.was.eq((self.was | installs) & ~removes),
            Array(self.installed)[self.place].eq((self.was | installs) & ~removes),
            self.stays.eq(1),
        ]

    def _show(self, m: Module) -> None:
        """Drive the answer to an order."""
        record, there = self.record, self.was & ~self.visits
        m.d.sync += [
            self.limiters.eq(self.total),
            self.done.eq(~self.visits),
            self.may.eq(~self.visits & ~self.stays),
            self.limited.eq(there),
            self.rate.eq(Mux(there, record.rate, 0)),
            self.probe.eq(there & record.probe),
            self.tag.eq(Mux(there, record.cpid, 0)),
        ]


COMPONENT = ECMRP
