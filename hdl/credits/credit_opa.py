"""Sender-managed credits of Omni-Path: dedicated and shared units per lane, returned by credit codes."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, Signature

from vlane.credits.credit_opa import COUNTER_BITS, BufferSelect, CreditOPAParameters, ResizeStep
from vlane.egress import MAX_REQUESTERS
from vlane.hdl.common.select import equals
from vlane.hdl.common.stored import Stored
from vlane.hdl.credits.credit_opa_receiver import CreditOPAReceiver
from vlane.hdl.credits.room_rule import beyond, fits
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

__all__ = ["BufferControlSignature", "CreditOPA", "CreditOPASender"]

_VL_BITS = 5
_CODE_BITS = 3
_MOST_CODE = 7


class BufferControlSignature(Signature):
    """Write port of the new limits, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle. Ignored during a change of limits and in the cycle of ``apply``.
    select : Out(BufferSelect)
        Limit to write: units dedicated to a lane, shared limit of a lane, or shared limit of all lanes; 3 writes
        nothing.
    vl : Out(5)
        Lane of the limit. Writes to a lane that does not exist are ignored.
    units : Out(12)
        The limit, in units of 64 bytes.
    """

    def __init__(self) -> None:
        super().__init__(
            {"enable": Out(1), "select": Out(BufferSelect), "vl": Out(_VL_BITS), "units": Out(COUNTER_BITS)}
        )


class CreditOPASender(wiring.Component):
    """Count the outstanding units per lane, and enforce limits that may change under traffic.

    Parameters
    ----------
    vls : int
        Lanes.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    blocks : In(ArrayLayout(7, vls))
        Sizes of the head packets, in units.
    fits : Out(vls)
        Lanes whose whole head packet is within the limits.
    grant : In(vls)
        Lane whose packet starts, one-hot.
    grant_blocks : In(7)
        Size of the starting packet, in units.
    returns : In(vls)
        Lane of a credit return, one-hot.
    returned : In(12)
        Returned units.
    too_large : Out(1)
        The return exceeds the outstanding units of its lane: all of them count as returned.
    program : In(BufferControlSignature())
        Write port of the new limits.
    apply : In(1)
        Put the new limits into force. Ignored during a change of limits.
    step : Out(ResizeStep)
        Current step of the change of limits.
    used : Out(ArrayLayout(12, vls))
        Outstanding units.
    """

    def __init__(self, vls: int, *, parity: bool = False) -> None:
        self.vls, self.stored = vls, Stored(parity=parity)
        counters = data.ArrayLayout(COUNTER_BITS, vls)
        super().__init__(
            {
                "blocks": In(data.ArrayLayout(BLOCKS_SHAPE, vls)),
                "fits": Out(vls),
                "grant": In(vls),
                "grant_blocks": In(BLOCKS_SHAPE),
                "returns": In(vls),
                "returned": In(COUNTER_BITS),
                "too_large": Out(1),
                "program": In(BufferControlSignature()),
                "apply": In(1),
                "step": Out(ResizeStep),
                "used": Out(counters),
            }
        )
        self.dedicated = Signal(counters)
        self.shared_limit = Signal(counters)
        self.new_dedicated = Signal(counters)
        self.new_shared = Signal(counters)
        self.overall = Signal(COUNTER_BITS)
        self.new_overall = Signal(COUNTER_BITS)
        self.changing = Signal(vls)
        self.excess = [Signal(COUNTER_BITS, name=f"excess_{vl}") for vl in range(vls)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        in_use = Signal(COUNTER_BITS + self.vls.bit_length())
        m.d.comb += in_use.eq(sum(self.excess))
        short = Signal(self.vls)
        for vl in range(self.vls):
            after = Signal(COUNTER_BITS + 1, name=f"after_{vl}")
            used, dedicated = self.used[vl], self.dedicated[vl]
            others, most = in_use - self.excess[vl], dedicated + self.shared_limit[vl]
            m.d.comb += [
                self.excess[vl].eq(beyond(used, dedicated)),
                after.eq(used + self.blocks[vl]),
                self.fits[vl].eq(fits(after, others, minimum=dedicated, maximum=most, shared=self.overall)),
                short[vl].eq(self.returns[vl] & (self.returned > used)),
            ]
            left = Mux(self.returns[vl], Mux(short[vl], 0, used - self.returned), used)
            self.stored.write(m, self.used[vl], left + Mux(self.grant[vl], self.grant_blocks, 0))
        m.d.comb += self.too_large.eq(short.any())
        self._program(m)
        self._change(m)
        self.stored.check(m)
        return m

    def _program(self, m: Module) -> None:
        idle = equals(Value.cast(self.step), int(ResizeStep.IDLE))
        with m.If(self.program.enable & idle & ~self.apply), m.Switch(self.program.select):
            with m.Case(BufferSelect.OVERALL):
                self.stored.write(m, self.new_overall, self.program.units)
            for select, limits in (
                (BufferSelect.DEDICATED, self.new_dedicated),
                (BufferSelect.SHARED, self.new_shared),
            ):
                with m.Case(select):
                    for vl in range(self.vls):
                        with m.If(equals(self.program.vl, vl)):
                            self.stored.write(m, limits[vl], self.program.units)

    def _change(self, m: Module) -> None:
        """Change the limits in an order that never permits more units than the far buffer holds.

        A lane that is not changing already has its limits, so raising rewrites the same values.
        """
        write = self.stored.write
        drained = ~Cat(self.changing[vl] & self.excess[vl].any() for vl in range(self.vls)).any()
        with m.Switch(self.step):
            with m.Case(ResizeStep.IDLE), m.If(self.apply):
                shrinks = self.new_overall < self.overall
                for vl in range(self.vls):
                    differs = (self.new_dedicated[vl] != self.dedicated[vl]) | (
                        self.new_shared[vl] != self.shared_limit[vl]
                    )
                    write(m, self.changing[vl], shrinks | differs)
                    with m.If(shrinks | differs):
                        write(m, self.shared_limit[vl], 0)
                write(m, self.step, ResizeStep.DRAIN_SHARED)
            with m.Case(ResizeStep.DRAIN_SHARED), m.If(drained):
                write(m, self.step, ResizeStep.LOWER_DEDICATED)
            with m.Case(ResizeStep.LOWER_DEDICATED):
                for vl in range(self.vls):
                    with m.If(self.new_dedicated[vl] < self.dedicated[vl]):
                        write(m, self.dedicated[vl], self.new_dedicated[vl])
                with m.If(self.new_overall < self.overall):
                    write(m, self.overall, self.new_overall)
                write(m, self.step, ResizeStep.DRAIN_DEDICATED)
            with m.Case(ResizeStep.DRAIN_DEDICATED), m.If(drained):
                write(m, self.step, ResizeStep.RAISE_DEDICATED)
            with m.Case(ResizeStep.RAISE_DEDICATED):
                self.stored.write_each(m, self.dedicated, self.new_dedicated)
                write(m, self.step, ResizeStep.RAISE_SHARED)
            with m.Case(ResizeStep.RAISE_SHARED):
                self.stored.write_each(m, self.shared_limit, self.new_shared)
                write(m, self.step, ResizeStep.RAISE_OVERALL)
            with m.Default():  # RAISE_OVERALL
                write(m, self.overall, self.new_overall)
                write(m, self.step, ResizeStep.IDLE)


class CreditOPA(wiring.Component):
    """Both ends of a port's credits (``docs/credit_opa.md``).

    Latency 0 for ``fits``. Inputs about arrivals take effect in the next cycle. Reset clears all limits: nothing fits
    until limits are programmed and applied.

    Parameters
    ----------
    parameters : CreditOPAParameters
        Shape of the component.

    Members
    -------
    blocks : In(ArrayLayout(7, vls))
        Sizes of the head packets, in units of 64 bytes.
    fits : Out(vls)
        Lanes whose whole head packet fits into the far buffer.
    grant : In(1)
        A packet starts. It must fit.
    grant_vl : In(5)
        Lane of the starting packet. A lane that does not exist changes nothing.
    grant_blocks : In(7)
        Size of the starting packet, in units.
    ltp_arrived : In(1)
        An LTP arrives.
    credit_in : In(2)
        Credit bits of the arriving LTP: two of the eight bits of a return.
    return_error : Out(1)
        The arriving bits complete a return for more units than are outstanding, or for a lane that does not exist.
    ltp_sent : In(1)
        An LTP leaves.
    credit_out : Out(2)
        Credit bits of the leaving LTP: two of the eight bits of a return.
    freed : In(1)
        Units leave the own buffer.
    freed_vl : In(5)
        Lane of those units. A lane that does not exist frees nothing.
    freed_blocks : In(2)
        Number of those units, up to 3.
    program : In(BufferControlSignature())
        Write port of the new limits.
    apply : In(1)
        Pulse: put the new limits into force. Ignored during a change of limits.
    step : Out(ResizeStep)
        Current step of the change of limits.
    used : Out(ArrayLayout(12, vls))
        Outstanding units.
    owed : Out(ArrayLayout(12, vls))
        Units still to be returned.
    dedicated : Out(ArrayLayout(12, vls))
        Dedicated limits in force.
    shared_limit : Out(ArrayLayout(12, vls))
        Shared limits in force.
    overall : Out(12)
        Shared limit of all lanes in force.
    upset : Out(1)
        Only with ``parity``: in the previous cycle a register did not match its parity bit.
    """

    latency = 0

    def __init__(self, parameters: CreditOPAParameters) -> None:
        self.parameters = p = parameters
        self.vls, self.vcu = p.vls, p.vcu
        counters = data.ArrayLayout(COUNTER_BITS, p.vls)
        super().__init__(
            {
                "blocks": In(data.ArrayLayout(BLOCKS_SHAPE, p.vls)),
                "fits": Out(p.vls),
                "grant": In(1),
                "grant_vl": In(_VL_BITS),
                "grant_blocks": In(BLOCKS_SHAPE),
                "ltp_arrived": In(1),
                "credit_in": In(2),
                "return_error": Out(1),
                "ltp_sent": In(1),
                "credit_out": Out(2),
                "freed": In(1),
                "freed_vl": In(_VL_BITS),
                "freed_blocks": In(2),
                "program": In(BufferControlSignature()),
                "apply": In(1),
                "step": Out(ResizeStep),
                "used": Out(counters),
                "owed": Out(counters),
                "dedicated": Out(counters),
                "shared_limit": Out(counters),
                "overall": Out(COUNTER_BITS),
                **({"upset": Out(1)} if p.parity else {}),
            }
        )
        self.sender = CreditOPASender(p.vls, parity=p.parity)
        self.receiver = CreditOPAReceiver(p.vls, p.vcu, parity=p.parity)
        self.stored = Stored(parity=p.parity)
        self.heard = Signal(6, reset_less=True)
        self.count = Signal(2)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.sender, m.submodules.receiver = self.sender, self.receiver
        wiring.connect(m, wiring.flipped(self.program), self.sender.program)
        m.d.comb += [
            self.sender.blocks.eq(self.blocks),
            self.fits.eq(self.sender.fits),
            self.sender.grant.eq(self._lane(self.grant, self.grant_vl)),
            self.sender.grant_blocks.eq(self.grant_blocks),
            self.sender.apply.eq(self.apply),
            self.step.eq(self.sender.step),
            self.used.eq(self.sender.used),
            self.receiver.freed.eq(self._lane(self.freed, self.freed_vl)),
            self.receiver.freed_blocks.eq(self.freed_blocks),
            self.receiver.ltp_sent.eq(self.ltp_sent),
            self.credit_out.eq(self.receiver.credit_out),
            self.owed.eq(self.receiver.owed),
            self.dedicated.eq(self.sender.dedicated),
            self.shared_limit.eq(self.sender.shared_limit),
            self.overall.eq(self.sender.overall),
        ]
        self._hear(m)
        self.stored.show(m, self, self.sender.stored, self.receiver.stored)
        return m

    def _lane(self, enable: Value, vl: Value) -> Value:
        return Cat(enable & equals(vl, lane) for lane in range(self.vls))

    def _hear(self, m: Module) -> None:
        """Assemble a return from four LTPs, lowest bits first."""
        heard, count = self.heard, self.count
        whole = Signal(data.StructLayout({"code": unsigned(_CODE_BITS), "vl": unsigned(_VL_BITS)}))
        complete = Signal()
        named = Signal()
        m.d.comb += [
            whole.eq(Cat(heard, self.credit_in)),
            complete.eq(self.ltp_arrived & count.all() & whole.code.any()),
            named.eq(whole.vl < self.vls if self.vls < MAX_REQUESTERS else 1),
            self.sender.returns.eq(self._lane(complete, whole.vl)),
            self.return_error.eq(complete & (~named | self.sender.too_large)),
        ]
        with m.Switch(whole.code):
            for code in range(1, _MOST_CODE + 1):
                with m.Case(code):
                    m.d.comb += self.sender.returned.eq(1 if code == 1 else 1 << (code - 1 + self.vcu))
        with m.If(self.ltp_arrived):
            self.stored.write(m, count, count + 1)
            self.stored.write(m, heard, Cat(heard[2:], self.credit_in))


COMPONENT = CreditOPA
