"""Proofs of a source's settings: the values written last, delayed to the stage that reads them."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from vlane.congestion.cc_source import CCSourceSelect
from vlane.hdl.congestion.source_settings import CCSourceSettings
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import constant, elaborated_module, written_last


class SettingsProperties(Properties):
    """Check that the settings in force equal the values written last, for one arbitrary SL.

    Parameters
    ----------
    settings : CCSourceSettings
        The component. The proof adds a read port for the watched SL to its memory.
    """

    statements: ClassVar = {
        "mode": "Port_Control is the value written last, and 0 after reset.",
        "limit": "CCTI_Limit is the value written last, clamped to the last CCT entry, two cycles late; 0 after reset.",
        "level": "The values of an SL are those written last, initially 0, two cycles late; reset preserves them.",
        "table": "Writes of the CCT are passed on four cycles late, even across a reset.",
    }
    depth = 4
    unfolds_memories = True

    def __init__(self, settings: CCSourceSettings) -> None:
        super().__init__()
        self.settings, self.m = settings, Module()
        self.sl = constant(self.m, "watched_sl", 4, 0, 15)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.settings), self.sl]

    def elaborate(self, _platform: object) -> Module:
        m, s, w = self.m, self.settings, self.settings.program
        m.submodules.settings = elaborated_module(s)
        select, mode = Value.cast(w.select), Signal(name="kept_mode")
        limit, limit_late, limit_later = (Signal(10, name=f"limit_{age}") for age in range(3))
        with m.If(w.enable & (select == CCSourceSelect.PORT_CONTROL)):
            m.d.sync += mode.eq(w.port_mode)
        with m.If(w.enable & (select == CCSourceSelect.LIMIT)):
            m.d.sync += limit.eq(Mux(w.limit < s.last_entry, w.limit, s.last_entry))
        m.d.sync += [limit_late.eq(limit), limit_later.eq(limit_late)]
        self.claim(m, "mode", s.port_mode == mode)
        self.claim(m, "limit", s.limit == limit_later)

        written = w.enable & (select == CCSourceSelect.LEVEL) & (w.index[:4] == self.sl)
        level = written_last(m, "level", Const(0, 40), written, Cat(w.timer, w.increase, w.trigger, w.minimum))
        late, later = (Signal(40, name=f"level_{age}", reset_less=True) for age in (1, 2))
        m.d.sync += [late.eq(level), later.eq(late)]
        reader = s.levels.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.sl)
        self.claim(m, "level", reader.data == later)
        self.claim(m, "level", s.level.as_value() == later, when=s.sl == self.sl)

        names = ("enable", "select", "index", "shift", "multiplier")
        passed: Value = Cat(Value.cast(getattr(w, name)) for name in names)
        for age in range(4):
            kept = Signal(len(passed), name=f"written_{age}", reset_less=True)
            m.d.sync += kept.eq(passed)
            passed = kept
        self.claim(m, "table", Cat(Value.cast(getattr(s.table, name)) for name in names) == passed)
        return m
