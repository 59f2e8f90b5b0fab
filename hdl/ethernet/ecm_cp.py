"""Congestion point of ECM."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.ethernet.ecm_cp import CHANCE_BITS, ECMCPParameters, sampling_chance
from vlane.ethernet.shared import BYTES_BITS, CPID_BITS, DRAW_BITS, FEEDBACK_BITS, FEEDBACK_BYTES, saturation_bytes
from vlane.hdl.common.select import exceeds
from vlane.hdl.ethernet.prbs import PRBS

__all__ = ["ECMCP"]

_STAGES = 4
"""Stages from the queue to the unsaturated feedback."""
_DIGIT, _HALF = 4, 8
"""Input bits of one product table, and of two tables together."""
_TO_UNITS = FEEDBACK_BYTES.bit_length() - 1


def _times(digit: Value, constant: int) -> Value:
    """Return the product of a digit and a constant, as a table. Four input bits take one LUT per output bit."""
    most = (1 << len(digit)) - 1
    return Array(Const(value * constant, range(most * constant + 1)) for value in range(most + 1))[digit]


class ECMCP(wiring.Component):
    """Sample the frames that join an output's queue, and compute their feedback (``docs/ecm_cp.md``).

    Latency 7: the outputs report a frame seven cycles after it joined, ``waiting`` two cycles after. A frame may join
    in every cycle.

    Stages of a frame: 0 bytes joining less bytes leaving; 1 the queue, the random number and partial products of the
    sampling chance; 2 the chance; 3 the sampling decision, and the change since the last sample; 4 the unsaturated
    feedback; 5 its magnitude; 6 the notification; then the outputs.

    Parameters
    ----------
    parameters : ECMCPParameters
        Shape of the component.

    Members
    -------
    enter : In(1)
        A frame joins the queue.
    enter_bytes : In(14)
        Size of the joining frame, in bytes.
    managed : In(1)
        The joining frame may be sampled.
    has_tag : In(1)
        The joining frame carries a tag.
    tag : In(16)
        CPID in that tag.
    cpid : In(16)
        CPID of this congestion point.
    leave : In(1)
        A frame leaves the queue.
    leave_bytes : In(14)
        Size of the leaving frame, in bytes.
    sampled : Out(1)
        The frame that joined seven cycles ago was sampled.
    notify : Out(1)
        The source of that frame is sent a notification.
    stop : Out(1)
        The notification is BCN(0,0).
    feedback : Out(signed(13))
        Fb in units of 64 bytes.
    waiting : Out(range(queue_bytes + 1))
        Bytes in the queue at the start of the previous cycle.
    """

    latency = _STAGES + 3

    def __init__(self, parameters: ECMCPParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "enter": In(1),
                "enter_bytes": In(BYTES_BITS),
                "managed": In(1),
                "has_tag": In(1),
                "tag": In(CPID_BITS),
                "cpid": In(CPID_BITS),
                "leave": In(1),
                "leave_bytes": In(BYTES_BITS),
                "sampled": Out(1),
                "notify": Out(1),
                "stop": Out(1),
                "feedback": Out(signed(FEEDBACK_BITS)),
                "waiting": Out(range(p.queue_bytes + 1)),
            }
        )
        self.most = saturation_bytes(p.set_point_bytes, p.weight)
        bits = len(self.waiting)
        self.queues = [Signal(bits, name=f"queue_{stage}") for stage in range(1, _STAGES + 1)]
        self.tags = [Signal(name=f"mine_{stage}") for stage in range(1, _STAGES + 1)]
        self.last = Signal(bits)
        self.takes = [Signal(name=f"sampled_{stage}") for stage in range(3, _STAGES + 1)]
        self.change = Signal(signed(bits + 1))
        self.offset = Signal(signed(bits + 1))
        self.raw = Signal(signed(bits + 6))
        self.room = Signal(bits, init=p.queue_bytes)
        self.joins = Signal(BYTES_BITS)
        self.counts = Signal()
        self.leaves = Signal(BYTES_BITS)
        self.net = Signal(signed(BYTES_BITS + 1))
        self.prbs = PRBS(p.seed)
        self.left = Signal(range(p.sample_bytes + 1), init=p.sample_bytes)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.prbs = self.prbs
        self._count(m)
        sampled = self._sample_at_random(m) if self.parameters.sampling == "random" else self._sample_by_bytes(m)
        self._compare(m, sampled)
        self._show(m)
        return m

    def _count(self, m: Module) -> None:
        """Track the queue (ECP-1) and its free space. Both sums are computed before the queue is known to overflow."""
        most, joins = self.parameters.queue_bytes, Mux(self.enter, self.enter_bytes, 0)
        leaves = Mux(self.leave, self.leave_bytes, 0)
        mine = Signal()
        m.d.sync += [
            self.joins.eq(joins),
            self.leaves.eq(leaves),
            self.net.eq(joins - leaves),
            self.counts.eq(self.enter & self.managed),
            mine.eq(self.has_tag & (self.tag == self.cpid)),
        ]
        over = Signal()
        after = Signal(signed(len(self.waiting) + 2))
        m.d.comb += [over.eq(exceeds(self.joins, self.room)), after.eq(self.waiting + self.net)]
        m.d.sync += [
            self.waiting.eq(Mux(over, most - self.leaves, Mux(after < 0, 0, after))),
            self.room.eq(Mux(over, self.leaves, Mux(after < 0, most, self.room - self.net))),
            self.queues[0].eq(Mux(over, most, self.waiting + self.joins)),
            self.tags[0].eq(mine),
        ]
        for chain in (self.queues, self.tags):
            m.d.sync += [later.eq(earlier) for earlier, later in pairwise(chain)]

    def _sample_at_random(self, m: Module) -> Value:
        """Return whether the frame of two cycles ago is sampled: its random number is below its chance (ECP-3)."""
        prbs = self.prbs
        chance = sampling_chance(self.parameters.sample_bytes)
        low = Signal(_HALF + CHANCE_BITS)
        high = Signal(BYTES_BITS - _HALF + CHANCE_BITS)
        limit = Signal(DRAW_BITS + 1)
        numbers = [Signal(DRAW_BITS, name=f"number_{stage}") for stage in (1, 2)]
        counts = [Signal(name=f"managed_{stage}") for stage in (1, 2)]
        m.d.comb += prbs.draw.eq(self.counts)
        m.d.sync += [
            low.eq(_times(self.joins[:_DIGIT], chance) + (_times(self.joins[_DIGIT:_HALF], chance) << _DIGIT)),
            high.eq(
                _times(self.joins[_HALF : _HALF + _DIGIT], chance)
                + (_times(self.joins[_HALF + _DIGIT :], chance) << _DIGIT)
            ),
            limit.eq((low + (high << _HALF)) >> (CHANCE_BITS - DRAW_BITS)),
            numbers[0].eq(prbs.number),
            numbers[1].eq(numbers[0]),
            counts[0].eq(prbs.draw),
            counts[1].eq(counts[0]),
        ]
        return counts[1] & exceeds(limit, numbers[1])

    def _sample_by_bytes(self, m: Module) -> Value:
        """Return whether the frame of two cycles ago completes the bytes of a sampling interval (ECP-4)."""
        every = self.parameters.sample_bytes
        left = self.left
        rest = Signal.like(self.left)
        reaches = Signal()
        m.d.comb += [rest.eq(left - self.joins), reaches.eq(~exceeds(left, self.joins))]
        sampled = [Signal(name=f"reached_{stage}") for stage in (1, 2)]
        with m.If(self.counts):
            m.d.sync += left.eq(Mux(reaches, rest + every, rest))
        m.d.sync += [sampled[0].eq(self.counts & reaches), sampled[1].eq(sampled[0])]
        return sampled[1]

    def _compare(self, m: Module, sampled: Value) -> None:
        """Compare a sample with the set point and with the previous sample (ECP-7)."""
        queue = self.queues[1]
        m.d.sync += [
            self.takes[0].eq(sampled),
            self.takes[1].eq(self.takes[0]),
            self.change.eq(queue - self.last),
            self.offset.eq(self.parameters.set_point_bytes - queue),
            self.raw.eq(self.offset - self.change * self.parameters.weight),
        ]
        with m.If(sampled):
            m.d.sync += self.last.eq(queue)

    def _show(self, m: Module) -> None:
        """Saturate the feedback and drive the notification (ECP-8 to ECP-11)."""
        p, most, units = self.parameters, self.most, self.most >> _TO_UNITS
        queue, width = self.queues[-1], len(self.raw)
        size = Signal(width)
        is_negative = Signal()
        maximal = Signal()
        stops = Signal()
        sampled = Signal()
        mine = Signal()
        m.d.sync += [
            size.eq(Mux(self.raw < 0, -self.raw, self.raw)),
            maximal.eq(queue > p.max_bytes if p.bcn_max else 0),
            stops.eq(queue > p.stop_bytes if p.bcn_stop else 0),
            is_negative.eq(self.raw < 0),
            sampled.eq(self.takes[-1]),
            mine.eq(self.tags[-1]),
        ]
        within = Signal(range(most + 1))
        falls = Signal()
        saturated = Signal()
        m.d.comb += [within.eq(size), falls.eq(is_negative | maximal)]
        m.d.comb += saturated.eq(maximal | (size > most))
        held = Mux(saturated, units, within >> _TO_UNITS)
        lowers = Mux(saturated, -units, -(within >> _TO_UNITS))
        sends = (saturated | (within >> _TO_UNITS).any()) & (falls | mine)
        m.d.sync += [
            self.sampled.eq(sampled),
            self.stop.eq(sampled & stops),
            self.notify.eq(sampled & (stops | sends)),
            self.feedback.eq(Mux(sampled & ~stops, Mux(falls, lowers, held), 0)),
        ]


COMPONENT = ECMCP
