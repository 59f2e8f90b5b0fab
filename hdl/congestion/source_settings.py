"""Settings of a source's pacing: Port_Control, CCTI_Limit, and the values of each service level."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature
from vlane.hdl.common.select import equals

from vlane.cc_source import (
    BYTE_BITS,
    CCTI_BITS,
    MULTIPLIER_BITS,
    SHIFT_BITS,
    SL_BITS,
    TIMER_BITS,
    CCSourceSelect,
)

__all__ = ["LEVEL_LAYOUT", "CCSourceProgramSignature", "CCSourceSettings"]

LEVEL_LAYOUT = data.StructLayout(
    {"timer": TIMER_BITS, "increase": BYTE_BITS, "trigger": BYTE_BITS, "minimum": BYTE_BITS}
)
"""Values of a service level."""


class CCSourceProgramSignature(Signature):
    """Write port of the settings, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new setting holds from the next cycle on.
    select : Out(CCSourceSelect)
        What is written; members that belong to something else are ignored.
    index : Out(10)
        SL, of which the low 4 bits count, or entry of the CCT; an absent entry is not written.
    port_mode : Out(1)
        Bit 0 of Port_Control: flows are SLs.
    limit : Out(10)
        CCTI_Limit.
    timer : Out(16)
        CCTI_Timer of an SL, in ticks.
    increase : Out(8)
        CCTI_Increase of an SL.
    trigger : Out(8)
        Trigger_Threshold of an SL.
    minimum : Out(8)
        CCTI_Min of an SL.
    shift : Out(2)
        Shift of an entry of the CCT.
    multiplier : Out(14)
        Multiplier of an entry of the CCT.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "select": Out(CCSourceSelect),
                "index": Out(CCTI_BITS),
                "port_mode": Out(1),
                "limit": Out(CCTI_BITS),
                "timer": Out(TIMER_BITS),
                "increase": Out(BYTE_BITS),
                "trigger": Out(BYTE_BITS),
                "minimum": Out(BYTE_BITS),
                "shift": Out(SHIFT_BITS),
                "multiplier": Out(MULTIPLIER_BITS),
            }
        )


class CCSourceSettings(wiring.Component):
    """Settings, but for the CCT (CCS-13 to CCS-15).

    Parameters
    ----------
    last_entry : int
        Of the CCT: the highest limit.

    Members
    -------
    program : In(CCSourceProgramSignature())
        Writes settings, at any time.
    port_mode : Out(1)
        Flows are SLs.
    limit : Out(10)
        CCTI_Limit.
    sl : In(4)
        A service level.
    level : Out(LEVEL_LAYOUT)
        Its values, in the same cycle.
    """

    def __init__(self, last_entry: int) -> None:
        self.last_entry = last_entry
        self.levels = Memory(shape=LEVEL_LAYOUT.size, depth=1 << SL_BITS, init=[])
        super().__init__(
            {
                "program": In(CCSourceProgramSignature()),
                "port_mode": Out(1),
                "limit": Out(CCTI_BITS),
                "sl": In(SL_BITS),
                "level": Out(LEVEL_LAYOUT),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.levels = self.levels
        writer, reader = self.levels.write_port(), self.levels.read_port(domain="comb")
        program, select = self.program, Value.cast(self.program.select)
        written = data.View(LEVEL_LAYOUT, writer.data)
        m.d.comb += [
            writer.en.eq(program.enable & equals(select, int(CCSourceSelect.LEVEL))),
            writer.addr.eq(program.index),
            *(getattr(written, name).eq(getattr(program, name)) for name, _ in LEVEL_LAYOUT),
            reader.addr.eq(self.sl),
            self.level.as_value().eq(reader.data),
        ]
        with m.If(program.enable & equals(select, int(CCSourceSelect.PORT_CONTROL))):
            m.d.sync += self.port_mode.eq(program.port_mode)
        with m.If(program.enable & equals(select, int(CCSourceSelect.LIMIT))):
            m.d.sync += self.limit.eq(Mux(program.limit > self.last_entry, self.last_entry, program.limit))
        return m
