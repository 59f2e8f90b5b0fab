"""Proofs of the prober for any orders: when a probe follows, the feedback of replies, and the quotient."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data

from vlane.ethernet.e2cm_prober import EXCESS_BITS, GOODPUT_BITS, OCCUPANCY_BITS, REPLY_CYCLES, STAMP_BITS, START_CYCLES
from vlane.ethernet.shared import FEEDBACK_BITS, FEEDBACK_BYTES, saturation_bytes
from vlane.hdl.ethernet.serial_divider import SerialDivider
from vlane.tb.machinery.proofs.inside import cut_out
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import constant, elaborated_module

_READ, _PRODUCT, _QUOTIENT, _KNOWN = 2, 5, 13, 35
"""Steps in which the record is available, the product starts, the quotient starts, and the occupancy is known."""
_WIDE = 32


class E2CMProberProperties(Properties):
    """Check a prober against a reference model of one arbitrary flow, which is updated when an order of the flow ends.

    Products and quotients are unconstrained: multiplier and divider are cut out. Conditions on a second reply of the
    flow are part of the claims, not of their premises, because a solver would take very long to reach them. The
    lockstep counts such replies by rule.

    Parameters
    ----------
    prober : E2CMProber
        The component. The proof adds a read port for the watched record to its memory.
    """

    statements: ClassVar = {
        "kept": "The record of a flow is cleared after reset and then changed by the flow's own orders only; orders "
        "of other flows, writes and late replies do not change it.",
        "follow": "A probe follows a frame exactly if the frame is the flow's first, or the first one with a limiter "
        "after one without, or if `probe_bytes` were sent since the last probe.",
        "unlimited": "With `probed = limited` no probe follows a frame of a flow without a limiter.",
        "sent": "A probe carries the bytes of the flow's frames since reset, modulo 2^32.",
        "least": "The least delay is the smallest of all replies up to this one and, if delays are given, of the "
        "delay written last before the reply was taken.",
        "operands": "The multiplied excess and bytes are those of EPR-7, clamped to their largest values, and the "
        "product is divided by the gap.",
        "feedback": "The feedback of a reply is Qeq,flow - q - W (q - q of the previous reply), saturated, in units "
        "of 64 bytes rounded towards 0, where q is the quotient.",
        "saturated": "Feedback stays within -(2W + 1) and (2W + 1) times `norm_bytes`.",
        "sign": "Negative feedback is shown only if that difference is negative, positive feedback only if it is "
        "positive.",
        "first": "The first reply of a flow has no feedback, and the second reply no change of occupancy.",
        "ignored": "A reply whose probe arrived in the same cycle as the previous one, or earlier, has no feedback.",
        "time": "A start order is answered 7 cycles after it is taken, a reply after 40, and there is no other "
        "answer; an answer has only the outputs of its kind.",
    }
    depth = 3
    within = 50
    unfolds_memories = True
    any_memory = True

    def __init__(self, prober: Any) -> None:
        super().__init__()
        self.prober, self.m = prober, Module()
        p = prober.parameters
        self.free = [each for part in (prober.multiplier, prober.divider) for each in cut_out(part)]
        self.flow = constant(self.m, "watched_flow", 10, 0, p.flows - 1)
        self.most = saturation_bytes(p.norm_bytes, p.weight)
        bits = {
            "sent": STAMP_BITS,
            "probed": STAMP_BITS,
            "begun": 1,
            "arrival": STAMP_BITS,
            "reported": STAMP_BITS,
            "occupancy": OCCUPANCY_BITS,
            "heard": 1,
            "known": 1,
            "base": STAMP_BITS,
        }
        self.own = {name: Signal(width, name=f"own_{name}") for name, width in bits.items()}
        self.now: dict[str, Signal] = {}

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.prober), *self.free, self.flow]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.prober
        m.submodules.prober = elaborated_module(p)
        self.mine, self.last = Signal(), Signal()
        m.d.comb += [self.mine.eq((p.count != 0) & (p.place == self.flow)), self.last.eq(self.mine & p.is_last)]
        self._latch(m)
        self._memory(m)
        self._start(m)
        self._reply(m)
        self._answers(m)
        return m

    def _latch(self, m: Module) -> None:
        """Latch the watched flow's current order, and its configured least delay."""
        p = self.prober
        takes = p.ready & p.order & (p.flow == self.flow)
        for name in ("reply", "probe", "frame_bytes", "limited", "stamp", "arrival", "reported"):
            value = Value.cast(getattr(p, name))
            self.now[name] = Signal(len(value), name=f"now_{name}")
            with m.If(takes):
                m.d.sync += self.now[name].eq(value)
        given, was_given = Signal(STAMP_BITS, name="given"), Signal()
        self.now["base"] = Signal(STAMP_BITS, name="now_base")
        self.now["base_known"] = Signal(name="now_base_known")
        with m.If(takes):
            m.d.sync += [self.now["base"].eq(given), self.now["base_known"].eq(was_given)]
        with m.If(p.program.enable & (p.program.flow == self.flow)):
            m.d.sync += [given.eq(p.program.base), was_given.eq(1)]
        if p.learned:
            return
        reader = p.delays.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.flow)
        self.claim(m, "least", reader.data == given, when=was_given)

    def _memory(self, m: Module) -> None:
        """Claim that the memory, and the record read from memory, equal the model."""
        p, claim, own = self.prober, self.claim, self.own
        reader = p.records.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.flow)
        kept = data.View(p.record.shape(), reader.data)
        cleared = ~p.clears | (p.place > self.flow)
        names = [name for name in own if name != "base" or p.learned]
        for name in names:
            claim(m, "kept", kept[name] == own[name], when=cleared)
            claim(m, "kept", own[name] == 0, when=p.clears)
            claim(m, "kept", p.fetched[name] == own[name], when=self.mine & (p.count == 1))
        claim(m, "kept", p.count == 0, when=p.clears)
        late = {"sent", "probed", "begun"}
        steady = self.mine & (p.count >= _READ)
        for name in names:
            until = p.count < (REPLY_CYCLES - 1)
            claim(m, "kept", p.record[name] == own[name], when=steady & self.now["reply"] & until)
            if name in late:
                claim(m, "kept", p.record[name] == own[name], when=steady & self.now["reply"])
            else:
                claim(m, "kept", p.record[name] == own[name], when=steady & ~self.now["reply"])

    def _start(self, m: Module) -> None:
        """Model and claim a frame or a probe that starts."""
        p, claim, own, now = self.prober, self.claim, self.own, self.now
        starts, frame = Signal(), Signal()
        m.d.comb += [starts.eq(self.mine & ~now["reply"]), frame.eq(starts & ~now["probe"])]
        sent, since = Signal(STAMP_BITS), Signal(STAMP_BITS)
        unlimited = Value.cast(0) if p.parameters.probed == "all" else ~now["limited"]
        follows = Signal()
        m.d.comb += [
            sent.eq(own["sent"] + Mux(now["probe"], 0, now["frame_bytes"])),
            since.eq(sent - own["probed"]),
            follows.eq(~unlimited & (~own["begun"] | (since >= p.parameters.probe_bytes))),
        ]
        with m.If(self.last & frame):
            m.d.sync += [own["sent"].eq(sent), own["begun"].eq(~unlimited)]
            with m.If(follows):
                m.d.sync += own["probed"].eq(sent)
        self._order_is_held(m, "follow", frame, {"probes": "probe", "length": "frame_bytes"})
        claim(m, "follow", p.unlimited == ~now["limited"], when=frame)
        claim(m, "sent", p.probes == now["probe"], when=starts)
        claim(m, "sent", p.record.sent == own["sent"], when=starts & (p.count == _READ))
        claim(m, "sent", p.record.sent == sent, when=starts & (p.count > _READ))
        for name in ("begun", "probed"):
            early = (p.count >= _READ) & (now["probe"] | (p.count < START_CYCLES - 1))
            claim(m, "follow", p.record[name] == own[name], when=starts & early)
        claim(m, "follow", p.since == since, when=frame & (p.count > _READ + 1))
        claim(m, "follow", p.enough == (since >= p.parameters.probe_bytes), when=frame & (p.count > _READ + 2))
        claim(m, "follow", p.follows == follows, when=frame & p.is_last)
        claim(m, "follow", p.record.begun == ~unlimited, when=frame & p.is_last)
        claim(m, "follow", p.record.probed == Mux(follows, sent, own["probed"]), when=frame & p.is_last)
        answered = self._previous(m, "frame_answered", self.last & frame)
        claim(m, "follow", p.follow == self._previous(m, "followed", follows), when=answered)
        if p.parameters.probed == "limited":
            claim(m, "unlimited", ~p.follow, when=answered & self._previous(m, "unlimited", unlimited))
        carried = self._previous(m, "probe_answered", self.last & starts & now["probe"])
        claim(m, "sent", p.sent == self._previous(m, "carried", sent), when=carried)

    def _reply(self, m: Module) -> None:
        """Model and claim a reply."""
        p, claim, own, now = self.prober, self.claim, self.own, self.now
        replies, gap, delay, goodput = Signal(), Signal(STAMP_BITS), Signal(STAMP_BITS), Signal(STAMP_BITS)
        late, base, excess = Signal(), Signal(STAMP_BITS), Signal(STAMP_BITS)
        before = own["base"] if p.learned else now["base"]
        known = Value.cast(1) if p.learned else now["base_known"]
        lower = (delay < before) | (~own["heard"] & p.learned)
        m.d.comb += [
            replies.eq(self.mine & now["reply"]),
            gap.eq(now["arrival"] - own["arrival"]),
            delay.eq(now["arrival"] - now["stamp"]),
            goodput.eq(now["reported"] - own["reported"]),
            late.eq(own["heard"] & ((gap == 0) | (gap >= 1 << STAMP_BITS - 1))),
            base.eq(Mux(lower, delay, before)),
            excess.eq(delay - base),
        ]
        self._order_is_held(m, "operands", replies, {"started": "stamp", "came": "arrival", "bytes": "reported"})
        after = {step: replies & (p.count > step) for step in range(_READ - 1, _PRODUCT)}
        if not p.learned:
            claim(m, "least", p.given == now["base"], when=replies & (p.count == 1) & known)
        claim(m, "least", p.base == before, when=after[1] & (p.count <= _READ + 2) & known)
        claim(m, "operands", p.gap == gap, when=after[2])
        claim(m, "operands", p.delay == delay, when=after[2])
        claim(m, "operands", p.goodput == goodput, when=after[2])
        claim(m, "ignored", p.late == late, when=after[3])
        claim(m, "least", p.below == (delay < before), when=after[3] & known)
        claim(m, "least", p.base == base, when=after[4] & known)
        claim(m, "least", base <= delay, when=replies & p.is_last)
        claim(m, "operands", p.excess == excess, when=after[4] & known)
        multiplies, divides = replies & (p.count == _PRODUCT), replies & (p.count == _QUOTIENT)
        most = ((1 << GOODPUT_BITS) - 1, (1 << EXCESS_BITS) - 1)
        claim(m, "operands", p.multiplier.load, when=multiplies)
        claim(m, "operands", p.multiplier.factor == Mux(goodput > most[0], most[0], goodput), when=multiplies)
        claim(m, "operands", p.multiplier.digits == Mux(excess > most[1], most[1], excess), when=multiplies & known)
        product = p.multiplier.product[: EXCESS_BITS + GOODPUT_BITS]
        claim(m, "operands", p.divider.load & (p.divider.dividend == product), when=divides)
        claim(m, "operands", p.divider.divisor == gap[:-1], when=divides)
        claim(
            m,
            "feedback",
            p.occupancy == self._previous(m, "quotient", p.divider.quotient),
            when=replies & (p.count == _KNOWN),
        )
        self._feedback(m, replies, late)
        with m.If(self.last & now["reply"] & ~late):
            m.d.sync += [
                own["arrival"].eq(now["arrival"]),
                own["reported"].eq(now["reported"]),
                own["heard"].eq(1),
                own["known"].eq(own["heard"]),
                own["occupancy"].eq(p.occupancy),
                own["base"].eq(base),
            ]
        done = replies & p.is_last & ~late
        for name, value in (
            ("arrival", now["arrival"]),
            ("reported", now["reported"]),
            ("heard", 1),
            ("known", own["heard"]),
            ("occupancy", p.occupancy),
            *([("base", base)] if p.learned else []),
        ):
            claim(m, "kept", p.record[name] == value, when=done)
        claim(m, "first", own["heard"] | ~own["known"])

    def _feedback(self, m: Module, replies: Value, late: Value) -> None:
        """Model and claim the feedback, from the occupancy on."""
        p, claim, own, shape = self.prober, self.claim, self.own, self.prober.parameters
        change, plain = Signal(signed(_WIDE)), Signal(signed(_WIDE))
        held, units = Signal(signed(_WIDE)), Signal(signed(_WIDE))
        most, informs = self.most, Signal()
        m.d.comb += [
            change.eq(Mux(own["known"], p.occupancy - own["occupancy"], 0)),
            plain.eq(shape.set_point_bytes - p.occupancy - shape.weight * change),
            held.eq(Mux(plain < -most, -most, Mux(plain > most, most, plain))),
            units.eq(Mux(held < 0, -((-held) >> 6), held >> 6)),
            informs.eq(own["heard"] & ~late),
        ]
        at = {step: replies & (p.count == step) for step in range(_KNOWN + 1, REPLY_CYCLES)}
        claim(m, "feedback", p.change == change, when=at[36])
        claim(m, "feedback", p.total == shape.set_point_bytes - p.occupancy, when=at[36] | at[37])
        claim(m, "feedback", p.weighted == shape.weight * change, when=at[37])
        claim(m, "feedback", p.total == plain, when=at[38])
        claim(m, "feedback", p.total == held, when=at[39])
        claim(m, "feedback", p.informs == informs, when=at[39])
        claim(m, "saturated", (p.total >= -most) & (p.total <= most), when=(p.count == 39) & p.replies)
        limit = most // FEEDBACK_BYTES
        claim(m, "saturated", (p.feedback >= -limit) & (p.feedback <= limit))
        shown = self._previous(m, "reply_answered", self.last & self.now["reply"])
        due, was_plain = Signal(signed(FEEDBACK_BITS)), Signal(signed(_WIDE))
        m.d.sync += [due.eq(Mux(informs, units, 0)), was_plain.eq(plain)]
        claim(m, "feedback", (p.feedback == due) & (p.valid == self._previous(m, "informed", informs)), when=shown)
        claim(m, "sign", (p.feedback >= 0) | (was_plain < 0), when=shown)
        claim(m, "sign", (p.feedback <= 0) | (was_plain > 0), when=shown)
        claim(m, "first", ~p.valid, when=shown & self._previous(m, "first", ~own["heard"]))
        second = self._previous(m, "second", own["heard"] & ~own["known"] & ~late)
        aim = shape.set_point_bytes - self._previous(m, "occupancy", p.occupancy)
        claim(m, "first", (was_plain == aim) | ~second, when=shown)
        claim(m, "ignored", (~p.valid & (p.feedback == 0)) | ~self._previous(m, "late", late), when=shown)

    def _answers(self, m: Module) -> None:
        """Model the timing of an order of any flow, from its acceptance on."""
        p, claim = self.prober, self.claim
        left, answers, reply, probe = Signal(range(REPLY_CYCLES + 1)), Signal(), Signal(), Signal()
        cycles = Mux(p.replies, REPLY_CYCLES, START_CYCLES)
        takes = p.ready & p.order
        with m.If(takes):
            m.d.sync += [left.eq(Mux(p.reply, REPLY_CYCLES, START_CYCLES) - 1), answers.eq(1)]
            m.d.sync += [reply.eq(p.reply), probe.eq(p.probe)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += answers.eq(0)
        under_way = answers & (left != 0)
        claim(m, "time", p.done == (answers & (left == 0)))
        claim(m, "time", (p.count == cycles - left) & (p.replies == reply) & (p.probes == probe), when=under_way)
        claim(m, "time", p.is_last == (left == 1), when=under_way)
        claim(m, "time", (p.count == 0) & ~p.is_last, when=~under_way)
        claim(m, "time", p.ready == (~under_way & ~p.clears))
        claim(m, "time", ~under_way, when=p.clears)
        claim(m, "time", ~p.follow, when=~p.done | reply | probe)
        claim(m, "time", p.sent == 0, when=~p.done | reply | ~probe)
        claim(m, "time", ~p.valid & (p.feedback == 0), when=~p.done | ~reply)
        claim(m, "time", p.replies == self.now["reply"], when=self.mine)

    def _order_is_held(self, m: Module, name: str, when: Value, registers: dict[str, str]) -> None:
        """Claim that the registers of an order hold the values given when it was taken."""
        for register, port in registers.items():
            self.claim(m, name, getattr(self.prober, register) == self.now[port], when=when)

    def _previous(self, m: Module, name: str, value: Any) -> Value:
        value = Value.cast(value)
        before = Signal(len(value), name=f"before_{name}")
        m.d.sync += before.eq(value)
        return before


class DividerProperties(Properties):
    """Check a divider of few bits against its inputs.

    Parameters
    ----------
    divider : SerialDivider
        The component.
    """

    statements: ClassVar = {
        "quotient": "The output is the dividend divided by the divisor, rounded down, as many cycles after a load as"
        " the quotient has bits, plus one.",
        "quotient-most": "A quotient that does not fit, or a division by 0, yields the largest number.",
    }
    depth = 8
    within = 12

    def __init__(self, divider: SerialDivider) -> None:
        super().__init__()
        self.divider = divider

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.divider)

    def elaborate(self, _platform: object) -> Module:
        m, d, claim = Module(), self.divider, self.claim
        m.submodules.divider = d
        dividend, divisor = Signal.like(d.dividend), Signal.like(d.divisor)
        age = Signal(range(d.cycles + 2))
        with m.If(d.load):
            m.d.sync += [dividend.eq(d.dividend), divisor.eq(d.divisor), age.eq(1)]
        with m.Elif((age != 0) & (age <= d.cycles)):
            m.d.sync += age.eq(age + 1)
        there, most = age == d.cycles, (1 << len(d.quotient)) - 1
        fits = dividend < (divisor << len(d.quotient))
        claim(m, "quotient", d.quotient * divisor <= dividend, when=there & fits)
        claim(m, "quotient", (d.quotient + 1) * divisor > dividend, when=there & fits)
        claim(m, "quotient-most", d.quotient == most, when=there & ~fits)
        return m


INSTANCES = (
    Instance("small", E2CMProberProperties, {"flows": 4, "probe_bytes": 4096, "probed": "limited", "base": "given"}),
    Instance("learned", E2CMProberProperties, {"flows": 4, "weight": 7, "norm_bytes": 17_000}),
    Instance("divider", DividerProperties, {"quotient_bits": 4, "divisor_bits": 5, "dividend_bits": 9}, SerialDivider),
)
"""Proven instances."""
