"""Memory of an input port, and its PAUSE requests."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, Signature

from vlane.ethernet.pause import DROP_BITS, DROP_MOST, MAX_MEMORY_BYTES, PAUSE_QUANTA, PauseParameters
from vlane.ethernet.shared import BYTES_BITS
from vlane.hdl.common.select import exceeds

__all__ = ["Pause", "PauseProgramSignature"]

_MARK = range(MAX_MEMORY_BYTES + 1)


class PauseProgramSignature(Signature):
    """Write port of the settings, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new settings are in force from the next cycle on.
    high : Out(24)
        High watermark in bytes.
    low : Out(24)
        Low watermark in bytes.
    pause_on : Out(1)
        PAUSE is enabled.
    """

    def __init__(self) -> None:
        super().__init__({"enable": Out(1), "high": Out(_MARK), "low": Out(_MARK), "pause_on": Out(1)})


class Pause(wiring.Component):
    """Track an input's memory, drop frames that do not fit, and request PAUSE frames (``docs/pause.md``).

    Latency 0: ``drop`` refers to the frame of the same cycle and the state at the start of that cycle.

    Parameters
    ----------
    parameters : PauseParameters
        Shape of the component.

    Members
    -------
    arrive : In(1)
        A frame arrives.
    arrive_bytes : In(14)
        Size of the arriving frame, in bytes.
    leave : In(1)
        A frame leaves the memory.
    leave_bytes : In(14)
        Size of the leaving frame, in bytes.
    drop : Out(1)
        The arriving frame does not fit and is dropped.
    paused : Out(1)
        The neighbour must not send.
    request : Out(1)
        A PAUSE frame is to be sent.
    quanta : Out(16)
        Pause time of that frame, in quanta; 0 resumes the neighbour.
    pause_sent : In(1)
        A PAUSE frame starts on the link.
    program : In(PauseProgramSignature())
        Write port of the settings.
    level : Out(range(memory_bytes + 1))
        Bytes in the memory.
    drops : Out(16)
        Number of dropped frames; a saturating counter.
    high : Out(24)
        High watermark in force.
    low : Out(24)
        Low watermark in force.
    pause_on : Out(1)
        PAUSE is enabled.
    """

    latency = 0

    def __init__(self, parameters: PauseParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "arrive": In(1),
                "arrive_bytes": In(BYTES_BITS),
                "leave": In(1),
                "leave_bytes": In(BYTES_BITS),
                "drop": Out(1),
                "paused": Out(1),
                "request": Out(1),
                "quanta": Out(range(PAUSE_QUANTA + 1)),
                "pause_sent": In(1),
                "program": In(PauseProgramSignature()),
                "level": Out(range(p.memory_bytes + 1)),
                "drops": Out(DROP_BITS),
                "high": Out(_MARK, init=p.high_bytes),
                "low": Out(_MARK, init=p.low_bytes),
                "pause_on": Out(1, init=1),
            }
        )
        self.held = Signal()
        self.last_sent_paused = Signal()
        self.age = Signal(range(p.refresh_cycles + 1))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self._account(m)
        self._compare(m)
        self._ask(m)
        with m.If(self.program.enable):
            m.d.sync += [getattr(self, name).eq(getattr(self.program, name)) for name in ("high", "low", "pause_on")]
        return m

    def _account(self, m: Module) -> None:
        """Update the bytes in memory. Both sums are computed before the frame is known to fit."""
        room = Signal.like(self.level)
        arrives = Signal(BYTES_BITS)
        leaves = Signal(BYTES_BITS)
        m.d.comb += [
            room.eq(self.parameters.memory_bytes - self.level),
            arrives.eq(Mux(self.arrive, self.arrive_bytes, 0)),
            leaves.eq(Mux(self.leave, self.leave_bytes, 0)),
            self.drop.eq(exceeds(arrives, room)),
        ]
        without, with_it = self.level - leaves, self.level + arrives - leaves
        level = Mux(self.drop, without, with_it)
        m.d.sync += self.level.eq(Mux(level[-1], 0, level))
        with m.If(self.drop & (self.drops != DROP_MOST)):
            m.d.sync += self.drops.eq(self.drops + 1)

    def _compare(self, m: Module) -> None:
        """Compare the level with the watermarks. Between the watermarks the previous state persists."""
        stays = self.held & ~exceeds(self.low, self.level)
        m.d.comb += self.paused.eq(self.pause_on & (exceeds(self.level, self.high) | stays))
        m.d.sync += self.held.eq(self.paused)

    def _ask(self, m: Module) -> None:
        """Request a PAUSE frame while the last frame sent differs from the current state or is due for refresh."""
        m.d.comb += self.quanta.eq(Mux(self.paused, Const(PAUSE_QUANTA), 0))
        is_old: Signal | Const = Const(0)
        if refresh := self.parameters.refresh_cycles:
            is_old = Signal()
            m.d.comb += is_old.eq(self.age == refresh)
            with m.If(self.pause_sent):
                m.d.sync += self.age.eq(1)
            with m.Elif(~is_old):
                m.d.sync += self.age.eq(self.age + 1)
        m.d.comb += self.request.eq((self.paused ^ self.last_sent_paused) | (self.paused & is_old))
        with m.If(self.pause_sent):
            m.d.sync += self.last_sent_paused.eq(self.paused)


COMPONENT = Pause
