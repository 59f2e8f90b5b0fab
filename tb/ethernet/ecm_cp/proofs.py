"""Proofs of the congestion point: queue, samples and feedback, with a model of the frame seven cycles ago."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value, signed

from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs

_WIDE, _AGE = 32, 7


class ECMCPProperties(Properties):
    """Check a congestion point against a model of its queue, its sampling and each frame in the pipeline.

    Parameters
    ----------
    point : ECMCP
        The component.
    """

    statements: ClassVar = {
        "queue": "The queue is the bytes of the joined frames, up to `queue_bytes`, minus those of the frames that "
        "left, clamped at 0.",
        "random": "The random number of a managed frame is the next 24 bits of PRBS31; nothing else advances the "
        "sequence.",
        "chance": "A managed frame is sampled exactly if its random number is below floor(length x chance / 256).",
        "bytes": "With fixed sampling a frame is sampled exactly if the bytes of managed frames reach `sample_bytes`.",
        "unmanaged": "An unmanaged frame is never sampled, and without a frame there is no sample.",
        "feedback": "The feedback of a sample is (Qeq - Q) - W (Q - Q at the last sample), saturated, in units of 64 "
        "bytes rounded towards 0, or the most negative feedback above `max_bytes`; without a sample, and "
        "for a stop, it is 0.",
        "saturated": "Feedback stays within -(2W + 1) Qeq and (2W + 1) Qeq.",
        "sign": "Negative feedback is shown only if (Qeq - Q) - W (Q - Q at the last sample) is negative or the "
        "queue is above `max_bytes`, positive feedback only if that value is positive.",
        "negative": "Every negative feedback is sent to the source.",
        "positive": "Positive feedback is sent to the source exactly if its frame carries the tag of this point.",
        "silent": "Without a sample, or with feedback 0, nothing is sent, except a stop.",
        "stop": "A stop is sent exactly for a sample with the queue above `stop_bytes`.",
    }
    depth = 8
    unfolds_memories = (
        True  # product tables: without unfolding, the induction lets a memory that is never written hold anything
    )

    def __init__(self, point: Any) -> None:
        super().__init__()
        self.point, self.m = point, Module()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.point)

    def elaborate(self, _platform: object) -> Module:
        m, p, shape = self.m, self.point, self.point.parameters
        m.submodules.point = p
        joined = self._queue(m)
        sampled = self._random(m) if shape.sampling == "random" else self._bytes(m)
        last = Signal(_WIDE)
        with m.If(sampled):
            m.d.sync += last.eq(joined)
        frame = {"sampled": sampled, "queue": joined, "last": last, "mine": p.enter & p.has_tag & (p.tag == p.cpid)}
        old = {name: self._delayed(m, name, value, _AGE) for name, value in frame.items()}
        self.claim(m, "feedback", p.last == self._delayed(m, "last_known", last, 3))
        self._claim_outputs(m, old)
        return m

    def _delayed(self, m: Module, name: str, value: Any, cycles: int) -> Value:
        for age in range(1, cycles + 1):
            value = Value.cast(value)
            later = Signal(len(value), name=f"{name}_aged_{age}")
            m.d.sync += later.eq(value)
            value = later
        return Value.cast(value)

    def _queue(self, m: Module) -> Value:
        p, most = self.point, self.point.parameters.queue_bytes
        queue, joined, summed = Signal(_WIDE), Signal(_WIDE), Signal(_WIDE)
        gone = Mux(p.leave, p.leave_bytes, 0)
        m.d.comb += [summed.eq(queue + Mux(p.enter, p.enter_bytes, 0)), joined.eq(Mux(summed > most, most, summed))]
        m.d.sync += queue.eq(Mux(joined > gone, joined - gone, 0))
        self.claim(m, "queue", (p.waiting == self._delayed(m, "queue_before", queue, 1)) & (queue <= most))
        self.claim(m, "queue", p.waiting + p.room == most)
        return joined

    def _random(self, m: Module) -> Value:
        """Return whether the frame of this cycle is sampled, and claim the random state."""
        p, shape = self.point, self.point.parameters
        bits, managed = Signal(31, init=shape.seed), p.enter & p.managed
        number, after = Signal(24), bits
        for _ in range(24):  # bit by bit, as in the standard
            stepped = Signal(31)
            m.d.comb += stepped.eq((after << 1) | (after[30] ^ after[27]))
            after = stepped
        m.d.comb += number.eq(after[:24])
        with m.If(managed):
            m.d.sync += bits.eq(after)
        chance = ((1 << 32) + shape.sample_bytes // 2) // shape.sample_bytes
        sampled = Signal()
        m.d.comb += sampled.eq(managed & (number < (p.enter_bytes * chance)[8:]))
        before = Signal.like(bits, name="bits_before")
        m.d.sync += before.eq(bits)
        self.claim(m, "random", p.prbs.state == before)
        self.claim(m, "chance", p.takes[0] == self._delayed(m, "sampled_by_chance", sampled, 4))
        self.claim(m, "unmanaged", ~p.takes[0], when=~self._delayed(m, "managed", managed, 4))
        return sampled

    def _bytes(self, m: Module) -> Value:
        p, every = self.point, self.point.parameters.sample_bytes
        passed, summed, managed, sampled = Signal(_WIDE), Signal(_WIDE), p.enter & p.managed, Signal()
        m.d.comb += [summed.eq(passed + p.enter_bytes), sampled.eq(managed & (summed >= every))]
        with m.If(managed):
            m.d.sync += passed.eq(Mux(summed >= every, summed - every, summed))
        self.claim(m, "bytes", p.left == every - self._delayed(m, "passed", passed, 1))
        self.claim(m, "bytes", passed < every)
        self.claim(m, "bytes", p.takes[0] == self._delayed(m, "sampled_by_bytes", sampled, 4))
        self.claim(m, "unmanaged", ~p.takes[0], when=~self._delayed(m, "managed", managed, 4))
        return sampled

    def _claim_outputs(self, m: Module, old: dict[str, Value]) -> None:
        """Claim the outputs about the frame of seven cycles ago."""
        p, shape = self.point, self.point.parameters
        most = (2 * shape.weight + 1) * shape.set_point_bytes
        plain, held, units = Signal(signed(_WIDE)), Signal(signed(_WIDE)), Signal(signed(_WIDE))
        queue, last, sampled = old["queue"].as_signed(), old["last"].as_signed(), old["sampled"]
        maximal = old["queue"] > shape.max_bytes if shape.bcn_max else Value.cast(0)
        stops = old["queue"] > shape.stop_bytes if shape.bcn_stop else Value.cast(0)
        m.d.comb += [
            plain.eq(shape.set_point_bytes - queue - shape.weight * (queue - last)),
            held.eq(Mux(maximal | (plain < -most), -most, Mux(plain > most, most, plain))),
            units.eq(Mux(held < 0, -((-held) >> 6), held >> 6)),
        ]
        due = Mux(sampled & ~stops, units, 0)
        claim = self.claim
        claim(m, "unmanaged", p.sampled == sampled)
        claim(m, "feedback", p.feedback == due)
        claim(m, "saturated", (p.feedback >= -(most // 64)) & (p.feedback <= most // 64))
        claim(m, "sign", maximal | (plain < 0), when=p.feedback < 0)
        claim(m, "sign", plain > 0, when=p.feedback > 0)
        claim(m, "negative", p.notify, when=p.feedback < 0)
        claim(m, "positive", p.notify == old["mine"], when=p.feedback > 0)
        claim(m, "silent", ~p.notify, when=(p.feedback == 0) & ~p.stop)
        claim(m, "stop", p.stop == (sampled & stops))
        if shape.bcn_stop:
            claim(m, "stop", p.notify, when=p.stop)


_SMALL = {"set_point_bytes": 4000, "sample_bytes": 16_384, "queue_bytes": 32_767, "max_bytes": 16_000}
INSTANCES = (
    Instance("small", ECMCPProperties, {**_SMALL, "bcn_stop": True, "stop_bytes": 24_000}),
    Instance("default", ECMCPProperties, {}),
    Instance("fixed", ECMCPProperties, {**_SMALL, "sampling": "fixed", "weight": 3, "bcn_max": False}),
)
"""Proven instances."""
