"""Proofs that InfiniBand credits recover in bounded time: after the last loss the sender's credit becomes exact.

The link of the pair may lose anything until an arbitrary moment, and nothing afterwards. From that moment on it is
prompt: an item arrives, a packet ends, and a due FCP is sent, within ``PROMPT`` cycles each.
"""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value

from vlane.tb.credits.credit_ib.proofs_pair import CreditIBPairProperties, Wire

PROMPT = 2
"""Most cycles of a flight, and of a packet, after the last loss."""


class CreditIBRecoveryProperties(CreditIBPairProperties):
    """Check that the credit of a pair of ports is exact again within bounded time after the last loss.

    Parameters
    ----------
    port : CreditIB
        The component.
    """

    statements: ClassVar = {
        **CreditIBPairProperties.statements,
        "abr-corrected": "Once nothing is lost any more, an FCP from the sender corrects ABR to the blocks sent "
        f"minus those in flight; this takes at most one period and {2 * PROMPT + 1} cycles.",
        "recovered": "Once nothing is lost any more, the credit seen by the sender, the blocks in flight and those "
        "freed since the receiver's last FCP add up to the receiver's free blocks.",
        "recovery-time": "After the last loss this takes at most, in each direction, one FCP period plus the time "
        f"of one FCP that waits for the item in transmission: {4 * PROMPT + 2} cycles for a flight "
        f"and a packet of up to {PROMPT} cycles each.",
    }
    depth = 10  # of the base case: long enough from reset to a loss and its repair

    def __init__(self, port: Any) -> None:
        super().__init__(port)
        self.quiet, self.was_calm, self.calm = Signal(), Signal(), Signal()
        self.ages = {
            wire: Signal(range(PROMPT), name=f"age_{index}") for index, wire in enumerate((self.out, self.back))
        }
        self.busy_age = Signal(range(PROMPT))

    def ports(self) -> list[Value]:
        return [*super().ports(), self.quiet]

    def may_grant(self) -> Value:
        """Return whether a packet may start: after the last loss only while no FCP is offered."""
        return ~(self.calm & self.near.fcp_valid)

    def must_end(self) -> Value:
        """Return whether the packet being sent has reached the age ``PROMPT`` after the last loss."""
        return self.calm & (self.busy_age == PROMPT - 1)

    def must_take(self) -> Value:
        """Return whether the link must accept an offered FCP: always after the last loss."""
        return self.calm

    def must_leave(self, wire: Wire) -> Value:
        """Return whether the item in flight has reached the age ``PROMPT`` after the last loss."""
        return self.calm & (self.ages[wire] == PROMPT - 1)

    def may_lose(self) -> Value:
        """Return whether the last loss is still to come."""
        return ~self.calm

    def _claim_further(self, m: Module) -> None:
        m.d.comb += self.calm.eq(self.quiet | self.was_calm)
        m.d.sync += self.was_calm.eq(self.calm)
        for wire, age in self.ages.items():
            _grow(m, age, from_0=wire.free)
        _grow(m, self.busy_age, from_0=~self.near.busy)
        since = Signal(range(64))  # cycles since the last loss
        with m.If(self.calm & ~since.all()):
            m.d.sync += since.eq(since + 1)
        corrected, due = self._correction(m, since)
        self._recovery(m, since, corrected, due)

    def _correction(self, m: Module, since: Value) -> tuple[Value, Value]:
        """Claim that ABR is corrected in time. Return whether it is correct, and whether an FCP just corrected it."""
        near, far, out, period = self.near, self.far, self.out, self.near.parameters.fcp_period
        over, waited = Signal(name="sender_due"), Signal(range(4 * PROMPT + 2), name="sender_waited")
        corrected, was_corrected = Signal(), Signal()
        m.d.comb += corrected.eq(self.calm & (self.lost == 0))
        m.d.sync += was_corrected.eq(corrected)
        with m.If(self.calm & (near.fcp_timer == period - 1)):
            m.d.sync += over.eq(1)
        with m.If(over):
            m.d.sync += waited.eq(waited + ~waited.all())
        self.claim(m, "abr-corrected", corrected, when=was_corrected)
        self.claim(m, "abr-corrected", since <= Mux(self.was_calm, near.fcp_timer, 0), when=~over)
        self.claim(m, "abr-corrected", self.was_calm, when=over)
        self.claim(m, "abr-corrected", waited == 0, when=~over)
        with m.If(over & ~corrected):
            self.claim(m, "abr-corrected", near.offer.pending[0] | out.fcp)
            self.claim(m, "abr-corrected", since <= period + waited)
            self.claim(m, "abr-corrected", waited <= self.ages[out], when=out.packet)
            self.claim(m, "abr-corrected", waited <= self.busy_age, when=near.busy)
            self.claim(m, "abr-corrected", waited <= PROMPT, when=out.free & ~near.busy)
            self.claim(m, "abr-corrected", waited <= PROMPT + 1 + self.ages[out], when=out.fcp)
        self.claim(m, "abr-corrected", since <= period + 2 * PROMPT, when=self.was_calm & ~corrected)
        return corrected, self.calm & far.returned[0]

    def _recovery(self, m: Module, since: Value, corrected: Value, visible_limit: Value) -> None:
        """Claim that the sender's credit equals the receiver's free blocks again, in time."""
        near, far, back, period = self.near, self.far, self.back, self.near.parameters.fcp_period
        over, waited = Signal(name="receiver_due"), Signal(range(8 * PROMPT), name="receiver_waited")
        fresh, recovered, freed = Signal(), Signal(), Signal()
        later, not_told = (Signal(12), Signal(12))  # blocks freed since the last FCP, and the received one, were sent
        held, taken, sends = Signal(12), Signal(7), Signal()
        m.d.comb += [
            taken.eq(Mux(far.arrived & far.accepted, far.arrived_blocks, 0)),
            freed.eq(self.frees & (held + taken != 0)),
            sends.eq(far.fcp_valid & far.fcp_taken),
        ]
        m.d.sync += [held.eq(held + taken - freed), later.eq(Mux(sends, 0, later) + freed)]
        self.claim(m, "recovered", far.room[0] + held == near.parameters.buffer_blocks)
        with m.If(sends):
            m.d.sync += fresh.eq(corrected)
        with m.If(near.fcp_arrived & fresh & self.calm):
            m.d.sync += [recovered.eq(1), not_told.eq(later + freed)]
        with m.Else():
            m.d.sync += not_told.eq(not_told + freed)
        on_the_way = Signal(12)
        m.d.comb += on_the_way.eq(far.receiver.limit[0] - back.fccl)
        self.claim(m, "recovered", (on_the_way == later) & self.was_calm & corrected, when=back.fcp & fresh)
        self.claim(m, "recovered", self.credit + self.flying + not_told == far.room[0], when=recovered)
        self.claim(m, "recovered", self.was_calm & corrected & (fresh | ~back.fcp), when=recovered)

        with m.If(visible_limit | (corrected & (far.fcp_timer == period - 1))):
            m.d.sync += over.eq(1)
        with m.If(over):
            m.d.sync += waited.eq(waited + ~waited.all())
        self.claim(m, "recovery-time", since <= far.fcp_timer, when=self.was_calm & corrected & ~over)
        self.claim(m, "recovery-time", self.was_calm & corrected, when=over)
        self.claim(m, "recovery-time", ~far.busy & ~back.packet)
        self.claim(m, "recovery-time", waited == 0, when=~over)
        with m.If(over & ~recovered):
            self.claim(m, "recovery-time", far.offer.pending[0] | (back.fcp & fresh))
            self.claim(m, "recovery-time", since <= period + 2 * PROMPT + 1 + waited)
            self.claim(m, "recovery-time", waited <= self.ages[back], when=back.fcp & ~fresh)
            self.claim(m, "recovery-time", waited <= PROMPT, when=back.free)
            self.claim(m, "recovery-time", waited <= PROMPT + 1 + self.ages[back], when=back.fcp)
        self.claim(m, "recovery-time", recovered, when=since > period + 4 * PROMPT + 1)


def _grow(m: Module, age: Signal, *, from_0: Value) -> None:
    """Count cycles up to ``PROMPT`` - 1, from 0 while ``from_0``."""
    with m.If(from_0):
        m.d.sync += age.eq(0)
    with m.Elif(age < PROMPT - 1):
        m.d.sync += age.eq(age + 1)
