"""Proofs of PAUSE: memory, hysteresis and requests, against a reference model driven by the inputs only."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs

_WIDE = 26


class PauseProperties(Properties):
    """Check an input against a model of its memory, its hysteresis and the PAUSE frames sent.

    Parameters
    ----------
    pause : Pause
        The component.
    """

    statements: ClassVar = {
        "level": "The level is the bytes of the frames that arrived and fitted, minus those of the frames that left, "
        "clamped at 0.",
        "no-overflow": "The level is never above `memory_bytes`.",
        "drop": "A frame is dropped exactly if it would exceed `memory_bytes` with the level at the start of the "
        "cycle; without a frame nothing is dropped.",
        "drops": "The output `drops` is the number of frames dropped since reset, at most 65535.",
        "above-high": "With PAUSE on, the neighbour is paused whenever the level is above the high watermark.",
        "below-low": "The neighbour is not paused while the level is below the low watermark, unless the level is "
        "above the high watermark.",
        "hysteresis": "Between the watermarks, both included, the neighbour is paused exactly if it was paused in "
        "the previous cycle and PAUSE is on.",
        "off": "With PAUSE off the neighbour is not paused.",
        "quanta": "A frame carries 65535 quanta if the neighbour is paused, and 0 otherwise.",
        "request": "A PAUSE frame is requested exactly while the state sent last differs from the current one, or is "
        "a PAUSE sent `refresh_cycles` or more cycles ago.",
        "settings": "The settings are those written last; after reset they are the parameters.",
    }
    depth = 2

    def __init__(self, pause: Any) -> None:
        super().__init__()
        self.pause, self.m = pause, Module()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.pause)

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.pause
        m.submodules.pause = p
        self._memory(m)
        high, low, on = self._settings(m)
        was = Signal()
        m.d.sync += was.eq(p.paused)
        self.claim(m, "above-high", p.paused, when=on & (p.level > high))
        self.claim(m, "below-low", ~p.paused, when=(p.level < low) & (p.level <= high))
        self.claim(m, "hysteresis", p.paused == (was & on), when=(p.level >= low) & (p.level <= high))
        self.claim(m, "off", ~p.paused, when=~on)
        self.claim(m, "hysteresis", p.held == was)
        self._claim_request(m)
        return m

    def _memory(self, m: Module) -> None:
        p, most = self.pause, self.pause.parameters.memory_bytes
        level, taken, sum_ = Signal(_WIDE), Signal(_WIDE), Signal(_WIDE)
        drops, full = Signal(16), Signal()
        m.d.comb += [
            full.eq(p.arrive & (level + p.arrive_bytes > most)),
            taken.eq(Mux(p.arrive & ~full, p.arrive_bytes, 0)),
            sum_.eq(level + taken),
        ]
        gone = Mux(p.leave, p.leave_bytes, 0)
        m.d.sync += level.eq(Mux(sum_ > gone, sum_ - gone, 0))
        with m.If(full & (drops != 65535)):
            m.d.sync += drops.eq(drops + 1)
        self.claim(m, "level", p.level == level)
        self.claim(m, "no-overflow", level <= most)
        self.claim(m, "drop", p.drop == full)
        self.claim(m, "drops", p.drops == drops)

    def _settings(self, m: Module) -> tuple[Value, Value, Value]:
        p, shape = self.pause, self.pause.parameters
        kept = (
            Signal(24, name="kept_high", init=shape.high_bytes),
            Signal(24, name="kept_low", init=shape.low_bytes),
            Signal(name="kept_pause", init=1),
        )
        with m.If(p.program.enable):
            m.d.sync += [kept[0].eq(p.program.high), kept[1].eq(p.program.low), kept[2].eq(p.program.pause_on)]
        self.claim(m, "settings", (p.high == kept[0]) & (p.low == kept[1]) & (p.pause_on == kept[2]))
        return kept

    def _claim_request(self, m: Module) -> None:
        p, refresh = self.pause, self.pause.parameters.refresh_cycles
        last_sent_paused, since = Signal(), Signal(range(refresh + 1))
        with m.If(p.pause_sent):
            m.d.sync += [last_sent_paused.eq(p.paused), since.eq(1)]
        with m.Elif(since < refresh):
            m.d.sync += since.eq(since + 1)
        self.claim(m, "quanta", p.quanta == Mux(p.paused, 65535, 0))
        self.claim(m, "request", p.last_sent_paused == last_sent_paused)
        self.claim(m, "request", p.request, when=p.paused != last_sent_paused)
        again = last_sent_paused & (since == refresh) if refresh else Value.cast(0)
        self.claim(m, "request", p.request == again, when=p.paused & last_sent_paused)
        self.claim(m, "request", ~p.request, when=~p.paused & ~last_sent_paused)
        if refresh:
            self.claim(m, "request", p.age == since)


INSTANCES = (
    Instance("small", PauseProperties, {"memory_bytes": 400, "high_bytes": 300, "low_bytes": 200, "refresh_cycles": 9}),
    Instance("default", PauseProperties, {}),
    Instance("no-refresh", PauseProperties, {"refresh_cycles": 0, "memory_bytes": 2**24 - 1}),
)
"""Proven instances."""
