"""Proofs of the measure of waiting blocks at a switch's inputs: the sweep, and the count of each input."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.hdl.switches.input_measure import InputMeasure
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.switches.ib_switch.proofs_lane_input import LaneInputProperties
from vlane.tb.switches.proofs_switch_input import VLS, SwitchInputProperties
from vlane.tb.tables.proofs_tables import constant

_SHOWN = 3
"""Cycles from the sweep's visit until its result is in force."""


class InputMeasureProperties(Properties):
    """Check the reported number of waiting blocks for one arbitrary (output, lane), for arbitrary traffic.

    Parameters
    ----------
    measure : InputMeasure
        The component.
    """

    statements: ClassVar = {
        "measure": "The measure of an output's lane is the sum of the blocks waiting in queues whose first packet "
        "went there, and was not to be dropped, at the last visit of the sweep, at most the maximum. It "
        "is in force from the third cycle after this visit to the third after the next.",
        "measure-at-reset": "Before the first visit of the sweep the measure is 0.",
    }

    def __init__(self, measure: InputMeasure) -> None:
        super().__init__()
        self.measure, self.m = measure, Module()
        self.places = measure.ports * measure.vls
        self.place = constant(self.m, "place", 4, 0, self.places - 1)
        self.bounded = 2 * self.places + _SHOWN + 1

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.measure), self.place]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.measure
        m.submodules.measure = p
        pairs = range(self.places)
        now, ago = Signal(range(self.places)), Signal(range(_SHOWN + 1))
        m.d.sync += now.eq(Mux(now == self.places - 1, 0, now + 1))
        going = Signal(self.places)
        for pair in pairs:
            port, lane = divmod(pair, p.vls)
            to = p.output[pair] * p.vls + p.outgoing_vl[pair]
            goes = p.valid[port][lane] & ~p.drop[port][lane] & (p.outgoing_vl[pair] < p.vls) & (to == self.place)
            m.d.sync += going[pair].eq(goes)
            m.d.comb += Assume(p.waiting[pair] <= p.maximum)
        waits, found, kept, seen = Signal(8), Signal(8), Signal(8), Signal()
        m.d.comb += waits.eq(sum(Mux(going[pair], p.waiting[pair], 0) for pair in pairs))
        with m.If(now == self.place):
            m.d.sync += ago.eq(1)
        with m.Elif(ago.any()):
            m.d.sync += ago.eq(Mux(ago == _SHOWN, 0, ago + 1))
        with m.If(ago == 1):
            m.d.sync += found.eq(waits)
        with m.If(ago == _SHOWN - 1):
            m.d.sync += [kept.eq(Mux(found > p.maximum, p.maximum, found)), seen.eq(1)]
        for pair in pairs:
            own = self.place == pair
            self.claim(m, "measure", p.measure[pair] == kept, when=own & seen)
            self.claim(m, "measure-at-reset", ~p.measure[pair].any(), when=own & ~seen)
        return m


class WaitingProperties(SwitchInputProperties):
    """Check an input's count of waiting blocks, under the assumptions of ``SwitchInputProperties``.

    Parameters
    ----------
    port : SwitchInput
        Input as returned by ``switch_input``.
    """

    statements: ClassVar = {
        "waits": "For each lane, `waiting` is the number of blocks of the packets that waited in the previous cycle, "
        "from the first cycle in which they take part to that of their grant."
    }

    def elaborate(self, _platform: object) -> Module:
        return _waits(self, [self.port.granted & self.port.lane[vl] for vl in range(VLS)], self.port.storage.accepted)


class LaneWaitingProperties(LaneInputProperties):
    """Check the count of waiting blocks of an input with a crossbar port per lane.

    The assumptions are those of ``LaneInputProperties``.

    Parameters
    ----------
    port : LaneInput
        Input as returned by ``lane_input``.
    """

    statements = WaitingProperties.statements

    def elaborate(self, _platform: object) -> Module:
        accepted = Cat(part.accepted for part in self.port.parts).any()
        return _waits(self, [self.port.granted[vl] for vl in range(VLS)], accepted)


def _waits(properties: Any, granted: list[Value], accepted: Value) -> Module:
    """Claim the waiting blocks, from a model that keeps the packets' sizes in order of arrival."""
    m, p, rx = properties.m, properties.port, properties.port.rx
    m.submodules.port = p
    size = Signal(4)
    m.d.comb += [size.eq(((rx.data[16:27] + 16) >> 4)[:4]), Assume(rx.data[22:27] == 0)]
    properties._assume_packets(m, size)
    for vl in range(VLS):
        most = p.geometry.maximum
        sizes = [Signal(4, name=f"size_{vl}_{place}") for place in range(most)]
        there, coming, comes_size = Signal(4, name=f"there_{vl}"), Signal(name=f"coming_{vl}"), Signal(4)
        m.d.sync += [coming.eq(rx.valid & rx.first & (rx.vl == vl) & accepted), comes_size.eq(size)]
        after = there - granted[vl]
        m.d.sync += there.eq(after + coming)
        for place in range(most):
            behind = sizes[place + 1] if place + 1 < most else Value.cast(0)
            moved = Mux(granted[vl], behind, sizes[place])
            m.d.sync += sizes[place].eq(Mux(coming & (after == place), comes_size, moved))
        before = Signal(6, name=f"before_{vl}")
        m.d.sync += before.eq(sum(Mux(there > place, sizes[place], 0) for place in range(most)))
        properties.claim(m, "waits", p.waiting[vl] == before)
    return m
