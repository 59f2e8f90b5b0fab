"""Pacing settings of a source: Port_Control, CCTI_Limit, and the values of each service level."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, Signature

from vlane.congestion.cc_source import (
    BYTE_BITS,
    CCTI_BITS,
    MULTIPLIER_BITS,
    SHIFT_BITS,
    SL_BITS,
    TIMER_BITS,
    CCSourceSelect,
)
from vlane.hdl.common.select import equals

LEVEL_LAYOUT = data.StructLayout(
    {"timer": TIMER_BITS, "increase": BYTE_BITS, "trigger": BYTE_BITS, "minimum": BYTE_BITS}
)
"""Settings of a service level."""


class CCSourceProgramSignature(Signature):
    """Write port of the settings, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new setting is in force from the next cycle on.
    select : Out(CCSourceSelect)
        Setting to write; members of other settings are ignored.
    index : Out(10)
        SL (low 4 bits), or index of the CCT entry. Writes to an absent entry are ignored.
    port_mode : Out(1)
        Bit 0 of Port_Control: all packets of an SL are one flow; otherwise a flow is a pair of DLID and SL.
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
        Shift of a CCT entry.
    multiplier : Out(14)
        Multiplier of a CCT entry.
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


READ_AGE, TABLE_AGE = 2, 4
"""Cycles by which writes are delayed: to the limit and the levels, and to the CCT."""


class CCSourceSettings(wiring.Component):
    """Settings without the CCT (CCS-13 to CCS-15), delayed to match the pipeline stage that reads them.

    Parameters
    ----------
    last_entry : int
        Last index of the CCT, the highest CCTI_Limit.

    Members
    -------
    program : In(CCSourceProgramSignature())
        Write port, usable at any time.
    port_mode : Out(1)
        All packets of an SL are one flow.
    limit : Out(10)
        CCTI_Limit, two cycles late.
    sl : In(4)
        Service level to read.
    level : Out(LEVEL_LAYOUT)
        Values of that service level, in the same cycle; writes appear two cycles late.
    table : Out(CCSourceProgramSignature())
        Writes to the CCT, four cycles late.
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
                "table": Out(CCSourceProgramSignature()),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.levels = self.levels
        late = self._delay(m)
        writer, reader = self.levels.write_port(), self.levels.read_port(domain="comb")
        program, limit = late[READ_AGE], late[READ_AGE]["limit"]
        written = data.View(LEVEL_LAYOUT, writer.data)
        m.d.comb += [
            writer.en.eq(program["enable"] & equals(program["select"], int(CCSourceSelect.LEVEL))),
            writer.addr.eq(program["index"]),
            *(getattr(written, name).eq(program[name]) for name, _ in LEVEL_LAYOUT),
            reader.addr.eq(self.sl),
            self.level.as_value().eq(reader.data),
            *(Value.cast(getattr(self.table, name)).eq(value) for name, value in late[TABLE_AGE].items()),
        ]
        with m.If(self.program.enable & equals(late[0]["select"], int(CCSourceSelect.PORT_CONTROL))):
            m.d.sync += self.port_mode.eq(self.program.port_mode)
        with m.If(self._limits(m, late[0])):
            m.d.sync += self.limit.eq(Mux(limit > self.last_entry, self.last_entry, limit))
        return m

    def _delay(self, m: Module) -> list[dict[str, Value]]:
        """Return the write port delayed by 0 to ``TABLE_AGE`` cycles, by age.

        Reset does not cancel delayed writes to memories.
        """
        late = [{name: Value.cast(getattr(self.program, name)) for name in self.program.signature.members}]
        for age in range(1, TABLE_AGE + 1):
            late.append(
                {name: Signal(len(value), name=f"{name}_{age}", reset_less=True) for name, value in late[0].items()}
            )
            m.d.sync += [value.eq(late[age - 1][name]) for name, value in late[age].items()]
        return late

    @staticmethod
    def _limits(m: Module, program: dict[str, Value]) -> Value:
        """Return whether a delayed write of CCTI_Limit takes effect in this cycle. Reset cancels such writes."""
        writes: Value = program["enable"] & equals(program["select"], int(CCSourceSelect.LIMIT))
        for age in range(1, READ_AGE + 1):
            later = Signal(name=f"limits_{age}")
            m.d.sync += later.eq(writes)
            writes = later
        return writes
