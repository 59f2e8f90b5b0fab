"""Pacing of a source: permission to inject, the effect of BECNs, and recovery by timers.

An input presented in cycle t acts in cycle t + 1 on the state at the start of that cycle. The outputs show the result
five cycles later.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.congestion.cc_source import (
    BYTE_BITS,
    CCTI_BITS,
    DLID_BITS,
    LOST_BITS,
    LOST_MOST,
    SHOWN_CYCLES,
    SL_BITS,
    WAYS,
    CCSourceParameters,
)
from vlane.hdl.common.select import equals, exceeds
from vlane.hdl.congestion.ask_stages import AskStages
from vlane.hdl.congestion.flow_sets import KEY_LAYOUT, TICK_BITS, FlowSets, set_of
from vlane.hdl.congestion.injection_gap import CYCLE_BITS, GAP_STAGES, InjectionGap
from vlane.hdl.congestion.source_settings import CCSourceProgramSignature, CCSourceSettings
from vlane.hdl.congestion.tell_stages import TellStages
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

__all__ = ["CCSource"]


class CCSource(wiring.Component):
    """Decide which flow may inject. Accept one request and one BECN per cycle (``docs/cc_source.md``).

    Latency 6: an input acts in the next cycle and is answered five cycles later. Settings may be written at any time.

    Parameters
    ----------
    parameters : CCSourceParameters
        Shape of the component.

    Members
    -------
    ask : In(1)
        Request to inject a packet.
    ask_dlid : In(16)
        Destination LID of the packet.
    ask_sl : In(4)
        Service level of the packet.
    ask_blocks : In(7)
        Size of the packet, in blocks.
    may : Out(1)
        The packet requested six cycles ago may be injected. It counts as injected from the cycle in which the request
        acted.
    known : Out(1)
        The requested packet's flow is known.
    ccti : Out(10)
        CCTI of that flow; 0 if it is unknown.
    becn : In(1)
        A BECN arrives.
    becn_dlid : In(16)
        Destination LID of the BECN's flow.
    becn_sl : In(4)
        Service level of the BECN's flow.
    lost : Out(1)
        The BECN received six cycles ago found no free entry and is ignored.
    lost_becns : Out(16)
        Number of BECNs lost before that BECN; a saturating counter.
    log : Out(1)
        The BECN received six cycles ago raised a CCTI to Trigger_Threshold or above.
    log_dlid : Out(16)
        Destination LID of the logged flow.
    log_sl : Out(4)
        Service level of the logged flow.
    taken : Out(range(flows + 1))
        Number of entries in use in the cycle in which the answered inputs acted.
    program : In(CCSourceProgramSignature())
        Write port of the settings and the CCT.
    """

    latency = 1 + SHOWN_CYCLES

    def __init__(self, parameters: CCSourceParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "ask": In(1),
                "ask_dlid": In(DLID_BITS),
                "ask_sl": In(SL_BITS),
                "ask_blocks": In(BLOCKS_SHAPE),
                "may": Out(1),
                "known": Out(1),
                "ccti": Out(CCTI_BITS),
                "becn": In(1),
                "becn_dlid": In(DLID_BITS),
                "becn_sl": In(SL_BITS),
                "lost": Out(1),
                "lost_becns": Out(LOST_BITS),
                "log": Out(1),
                "log_dlid": Out(DLID_BITS),
                "log_sl": Out(SL_BITS),
                "taken": Out(range(p.flows + 1)),
                "program": In(CCSourceProgramSignature()),
            }
        )
        self.sets = p.flows // WAYS
        self.set_bits = (self.sets - 1).bit_length()
        self.flow_sets, self.settings = FlowSets(self.sets), CCSourceSettings(p.cct_entries - 1)
        self.gaps = InjectionGap(cct_entries=p.cct_entries, shift_first=p.shift_first, place_bits=self.set_bits + 2)
        self.asks, self.tells = AskStages(self.sets), TellStages(self.sets)
        # current cycle as the third stage sees it: three cycles behind the inputs
        self.cycle = Signal(CYCLE_BITS, init=2**CYCLE_BITS - 3)
        self.tick = Signal(TICK_BITS, init=2**TICK_BITS - 1)
        self.part = Signal(range(p.tick_cycles), init=p.tick_cycles - 3)
        self.place = Signal(range(p.flows), init=1)  # entry 0 is visited in the first cycle

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.flow_sets, m.submodules.settings, m.submodules.gaps = self.flow_sets, self.settings, self.gaps
        for part, written in ((self.settings, self.program), (self.gaps, self.settings.table)):
            m.d.comb += [
                Value.cast(getattr(part.program, name)).eq(Value.cast(getattr(written, name)))
                for name in written.signature.members
            ]
        self._count_time(m)
        self._present(m)
        self.asks.add(m, self.tells, self.flow_sets, self.gaps, self.cycle)
        self.tells.add(m, self.asks, self.flow_sets, self.settings, self.gaps, (self.cycle, self.tick))
        self._write_gap(m)
        self._answer(m)
        self._report(m)
        return m

    def _count_time(self, m: Module) -> None:
        """Count cycles, and ticks of 1.024 us (CCS-7)."""
        part, last = self.part, self.parameters.tick_cycles - 1
        m.d.sync += [self.cycle.eq(self.cycle + 1), part.eq(part + 1), self.gaps.cycle.eq(self.cycle)]
        with m.If(part == last):
            m.d.sync += [part.eq(0), self.tick.eq(self.tick + 1)]

    def _key(self, m: Module, name: str, dlid: Value, sl: Value) -> tuple[data.View[data.StructLayout], Value]:
        """Return the key and the set of an input's flow (CCS-6)."""
        key = Signal(KEY_LAYOUT, name=f"{name}_key")
        m.d.comb += [key.dlid.eq(Mux(self.settings.port_mode, 0, dlid)), key.sl.eq(sl)]
        return key, set_of(key, self.set_bits)

    def _present(self, m: Module) -> None:
        """Register the inputs for the next cycle. Without a BECN, visit the next entry instead (CCS-8, CCS-14)."""
        asks, tells, place = self.asks, self.tells, self.place
        ask_key, ask_set = self._key(m, "ask", self.ask_dlid, self.ask_sl)
        becn_key, becn_set = self._key(m, "becn", self.becn_dlid, self.becn_sl)
        m.d.sync += [
            asks.asked[0].eq(self.ask),
            asks.keys[0].eq(ask_key),
            asks.sets[0].eq(ask_set),
            asks.blocks[0].eq(self.ask_blocks),
            tells.told[0].eq(self.becn),
            tells.keys[0].eq(becn_key),
            tells.sets[0].eq(Mux(self.becn, becn_set, place[2:])),
            tells.visited[0].eq(Cat(equals(place[:2], way) for way in range(WAYS))),
        ]
        with m.If(~self.becn):
            m.d.sync += place.eq(place + 1)

    def _write_gap(self, m: Module) -> None:
        """Record injections, and write the resulting not-before five cycles later."""
        flow_sets, gaps, asks = self.flow_sets, self.gaps, self.asks
        m.d.sync += [flow_sets.marks.eq(Mux(asks.inject, asks.ways[4], 0)), flow_sets.marked_set.eq(asks.sets[4])]
        m.d.comb += [
            flow_sets.gap.eq(gaps.injected[GAP_STAGES - 1]),
            flow_sets.gap_ways.eq(Cat(equals(gaps.gap_place[:2], way) for way in range(WAYS))),
            flow_sets.gap_set.eq(gaps.gap_place[2:]),
            flow_sets.not_before.eq(gaps.not_before),
        ]

    def _answer(self, m: Module) -> None:
        """Drive the answer to the injection request."""
        asks = self.asks
        m.d.sync += [
            self.may.eq(asks.asked[4] & ~(asks.is_known & asks.held)),
            self.known.eq(asks.is_known),
            self.ccti.eq(Mux(asks.is_known, asks.ccti, 0)),
        ]

    def _report(self, m: Module) -> None:
        """Drive the outputs about the BECN, and count lost BECNs and used entries (CCS-5, CCS-12)."""
        tells = self.tells
        raises = Signal()
        before = Signal(CCTI_BITS)
        flow = Signal(KEY_LAYOUT, name="raised_flow")
        trigger = Signal(BYTE_BITS)
        m.d.sync += [
            raises.eq(tells.told[4] & ~tells.lost),
            before.eq(tells.before),
            flow.eq(tells.keys[4]),
            trigger.eq(tells.level[4].trigger),
            self.lost.eq(tells.lost),
        ]
        with m.If(raises & exceeds(trigger, before) & ~exceeds(trigger, tells.last.ccti)):
            m.d.comb += [self.log.eq(1), self.log_dlid.eq(flow.dlid), self.log_sl.eq(flow.sl)]
        with m.If(tells.had_taken):
            m.d.sync += self.taken.eq(self.taken + 1)
        with m.Elif(self.flow_sets.frees.any()):
            m.d.sync += self.taken.eq(self.taken - 1)
        with m.If(self.lost & (self.lost_becns != LOST_MOST)):
            m.d.sync += self.lost_becns.eq(self.lost_becns + 1)


COMPONENT = CCSource
