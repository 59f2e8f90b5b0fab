"""Proofs of one Omni-Path credit port: its sender against a reference model of one arbitrary lane."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value

from vlane.credits.credit_opa import COUNTER_BITS, LTPS_PER_RETURN, BufferSelect, ResizeStep, returned_units
from vlane.tb.machinery.proofs.port_model import PortModel
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant

_WIDE = 20


def units_of(code: Value, vcu: int) -> Value:
    """Return the number of units that a return code encodes."""
    return at([Value.cast(returned_units(each, vcu)) for each in range(8)], code)


def shared_units(held: Value, dedicated: Value) -> Value:
    """Return the outstanding units of a lane in excess of its dedicated units."""
    return Mux(held > dedicated, held - dedicated, 0)


def total(values: list[Value]) -> Value:
    """Return the sum of a list of values."""
    return sum(values[1:], values[0])


class LaneModel(PortModel):
    """Reference model of the outstanding units of one lane."""

    def outstanding(self, m: Module) -> tuple[Signal, Signal]:
        """Claim the outstanding units, and which returns are errors.

        Return the LTPs of the current return so far, and their bits.
        """
        p, vls = self.ports, self.ports.parameters.vls
        ltps, earlier, whole = Signal(2), Signal(6), Signal(8)
        returns, here = Signal(), Signal()
        m.d.comb += [
            whole.eq(earlier | p.credit_in << 6),
            returns.eq(p.ltp_arrived & (ltps == LTPS_PER_RETURN - 1) & (whole[:3] != 0)),
            here.eq(returns & (whole[3:] == self.lane)),
        ]
        with m.If(p.ltp_arrived):
            m.d.sync += ltps.eq(ltps + 1)
            for place in range(LTPS_PER_RETURN - 1):
                with m.If(ltps == place):
                    m.d.sync += earlier.eq((p.credit_in << 2 * place) | Mux(place == 0, 0, earlier))
        taken, back, out, units = Signal(_WIDE), Signal(_WIDE), Signal(COUNTER_BITS), Signal(COUNTER_BITS + 1)
        m.d.comb += [out.eq(taken - back), units.eq(units_of(whole[:3], p.parameters.vcu))]
        with m.If(here):
            m.d.sync += back.eq(Mux(units > out, taken, back + units))
        with m.If(p.grant & (p.grant_vl == self.lane)):
            m.d.sync += taken.eq(taken + p.grant_blocks)
        self.claim(m, "outstanding", at(p.used, self.lane) == out)
        self.claim(m, "return-error", p.return_error == (units > out), when=here)
        self.claim(m, "return-error", p.return_error, when=returns & (whole[3:] >= vls))
        self.claim(m, "return-error", ~p.return_error, when=~returns)
        return ltps, earlier


class CreditOPASenderProperties(Properties):
    """Check a port against a reference model of one arbitrary lane: units taken, units returned, and limits.

    Parameters
    ----------
    port : CreditOPA
        The component.
    """

    statements: ClassVar = {
        "outstanding": "The outstanding units of a lane are those of its granted packets minus those returned, also "
        "when a packet is granted in the cycle of a return; after an excessive return only those "
        "granted in its cycle.",
        "return-format": "A return consists of the 8 bits of four LTPs, counted from reset: the code, then the lane, "
        "lowest bits first.",
        "return-error": "A return is reported as an error exactly when its code is not 0 and its lane is absent or "
        "has fewer units outstanding than are returned.",
        "fits": "A packet fits exactly when its lane stays within its dedicated and shared limits, and the shared units"
        " of all lanes stay within the overall limit; shared units are used after the dedicated ones.",
        "to-come": "The new limits are those written last; writes during a change, in the cycle that requests a "
        "change, or for an absent lane have no effect.",
        "who-changes": "A change affects the lanes whose limits differ from the new ones, and all lanes if the "
        "overall limit shrinks.",
        "steps": "A change passes through its steps in order; it waits only while an affected lane has shared units "
        "outstanding.",
        "in-force": "The limits in force follow the steps: sharing stops at the start, dedicated and overall limits "
        "shrink, then dedicated, shared and overall limits grow to the new ones.",
    }

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.port, self.m = port, Module()
        self.lane = constant(self.m, "watched_lane", 5, 0, port.parameters.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.port), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.port
        m.submodules.port = p
        ltps, earlier = LaneModel(self.claim, p, self.lane).outstanding(m)
        self.claim(m, "return-format", p.count == ltps)
        for place in range(1, LTPS_PER_RETURN):
            self.claim(m, "return-format", p.heard[6 - 2 * place :] == earlier[: 2 * place], when=ltps == place)
            self.claim(m, "return-format", earlier[2 * place :] == 0, when=ltps == place)
        self._fits(m)
        self._limits(m)
        return m

    def _lanes(self, values: Any) -> list[Value]:
        return [values[vl] for vl in range(self.port.parameters.vls)]

    def _of_lane(self, values: Any) -> Value:
        return at(self._lanes(values), self.lane)

    def _fits(self, m: Module) -> None:
        p = self.port
        shares = [
            shared_units(used, limit) for used, limit in zip(self._lanes(p.used), self._lanes(p.dedicated), strict=True)
        ]
        dedicated, shared = self._of_lane(p.dedicated), self._of_lane(p.shared_limit)
        after, others = Signal(16), Signal(20)
        m.d.comb += [
            after.eq(self._of_lane(p.used) + self._of_lane(p.blocks)),
            others.eq(total([Mux(self.lane == vl, 0, share) for vl, share in enumerate(shares)])),
        ]
        within = (after <= dedicated + shared) & (others + shared_units(after, dedicated) <= p.overall)
        self.claim(m, "fits", self._of_lane(p.fits) == within)

    def _limits(self, m: Module) -> None:
        """Claim the new limits, the limits in force, and the order of a change."""
        p, s = self.port, self.port.sender
        idle, step = Signal(), Signal(3)
        names = ("dedicated", "shared", "overall")
        to_come, in_force = ([Signal(COUNTER_BITS, name=f"{when}_{name}") for name in names] for when in ("new", "now"))
        m.d.comb += idle.eq(step == int(ResizeStep.IDLE))
        with m.If(p.program.enable & idle & ~p.apply):
            for select, limit in zip(BufferSelect, to_come, strict=True):
                of_lane = Value.cast(1) if select == BufferSelect.OVERALL else p.program.vl == self.lane
                with m.If((Value.cast(p.program.select) == int(select)) & of_lane):
                    m.d.sync += limit.eq(p.program.units)
        self.claim(m, "to-come", self._of_lane(s.new_dedicated) == to_come[0])
        self.claim(m, "to-come", self._of_lane(s.new_shared) == to_come[1])
        self.claim(m, "to-come", s.new_overall == to_come[2])
        self._change(m, idle, step, to_come, in_force)

    def _change(self, m: Module, idle: Value, step: Signal, to_come: list[Signal], in_force: list[Signal]) -> None:
        """Claim which lanes change in which step, and the limits in force."""
        p, s = self.port, self.port.sender
        changing, drained, differs, shrinks = Signal(), Signal(), Signal(), Signal()
        waiting = [s.changing[vl] & (p.used[vl] > p.dedicated[vl]) for vl in range(p.parameters.vls)]
        m.d.comb += [
            drained.eq(total(waiting) == 0),
            shrinks.eq(to_come[2] < in_force[2]),
            differs.eq((to_come[0] != in_force[0]) | (to_come[1] != in_force[1])),
        ]
        with m.If(idle & p.apply):
            m.d.sync += [step.eq(1), changing.eq(shrinks | differs)]
            with m.If(shrinks | differs):
                m.d.sync += in_force[1].eq(0)
        with m.Elif(step == int(ResizeStep.RAISE_OVERALL)):
            m.d.sync += [step.eq(0), in_force[2].eq(to_come[2])]
        waits = (step == int(ResizeStep.DRAIN_SHARED)) | (step == int(ResizeStep.DRAIN_DEDICATED))
        with m.Elif(~idle & (~waits | drained)):
            m.d.sync += step.eq(step + 1)
        with m.If(step == int(ResizeStep.LOWER_DEDICATED)):
            with m.If(changing & (to_come[0] < in_force[0])):
                m.d.sync += in_force[0].eq(to_come[0])
            with m.If(shrinks):
                m.d.sync += in_force[2].eq(to_come[2])
        with m.If(changing & (step == int(ResizeStep.RAISE_DEDICATED))):
            m.d.sync += in_force[0].eq(to_come[0])
        with m.If(changing & (step == int(ResizeStep.RAISE_SHARED))):
            m.d.sync += in_force[1].eq(to_come[1])
        self.claim(m, "steps", (Value.cast(p.step) == step) & (step <= int(ResizeStep.RAISE_OVERALL)))
        self.claim(m, "who-changes", self._of_lane(s.changing) == changing, when=~idle)
        self.claim(m, "who-changes", ~differs, when=~idle & ~changing)
        self.claim(m, "in-force", self._of_lane(p.dedicated) == in_force[0])
        self.claim(m, "in-force", self._of_lane(p.shared_limit) == in_force[1])
        self.claim(m, "in-force", p.overall == in_force[2])
