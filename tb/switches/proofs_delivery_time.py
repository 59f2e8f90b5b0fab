"""Proof that a packet at the head of its lane advances within a bounded time while the next place has space."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Signal, Value

from vlane.tb.switches.proofs_delivery import DeliveryProperties
from vlane.tb.tables.proofs_tables import at


class DeliveryTimeProperties(DeliveryProperties):
    """Follow a packet of one flit, with the claims of ``DeliveryProperties`` and with its schedulers.

    Parameters
    ----------
    switch : IBSwitch
        The component. Its largest packet has one block, its scheduler is ``rr``.
    granted : int
        Number of cycles within which the packet is granted.
    sent : int
        Number of cycles within which the packet is on the link.
    """

    stages = (("granted-in-time", "sent-in-time"),)

    def __init__(self, switch: Any, granted: int, sent: int) -> None:
        self.statements = {  # type: ignore[misc]  # the statements contain the numbers of cycles
            **DeliveryProperties.statements,
            "grants": "A scheduler grants only a lane that can send.",
            "granted-in-time": f"A packet at the head of its lane crosses within {granted} cycles, counted from the "
            "third one after its head's arrival, if in each of them its output is free and has "
            "space for it, whatever other packets there are.",
            "sent-in-time": f"A packet that crossed is on the link within {sent} cycles, if in each of them the link "
            "is not stalled and the far end has credit for every lane, whatever other packets there "
            "are.",
        }
        super().__init__(switch)
        self.granted, self.sent_cycles = granted, sent
        self.depth = max(granted, sent) + 2

    def _cut_out_parts(self, output: Any) -> tuple[Any, ...]:
        return (output.remote,)

    def _assume_scheduler(self, m: Module, scheduler: Any, able: Value) -> None:  # noqa: ARG002 - nothing is assumed
        self.each("grants", able, when=scheduler.grant)

    def _claim_leaves_once(self, m: Module) -> None:
        super()._claim_leaves_once(m)
        switch, f = self.switch, self.followed
        room, ready, fits = Signal(), Signal(), Signal()
        of_output = [
            Cat(at(output.room, f.lane) & output.free[0], ready_now, Value.cast(output.remote.fits).all())
            for output, ready_now in zip(switch.outputs, switch.ready, strict=True)
        ]
        m.d.comb += Cat(room, ready, fits).eq(Array(of_output)[f.to])
        is_first = f.let_in & Cat(self.first_places).any()
        crosses = [self._crossing(number) for number in range(switch.ports)]
        mine = [busy & (record.vl == f.came_on) & (f.port == number) for number, (busy, record) in enumerate(crosses)]
        waits = is_first & ~Cat(mine).any() & room
        self._within(m, "granted-in-time", waits, self.granted)
        stays = Cat(each for lanes in self.at_lane for each in lanes).any() & ready & fits
        self._within(m, "sent-in-time", stays, self.sent_cycles)

    def _within(self, m: Module, name: str, waits: Value, cycles: int) -> None:
        """Claim that a condition lasts less than ``cycles`` cycles."""
        count = Signal(range(cycles + 2), name=f"count_{name}")
        with m.If(waits & (count <= cycles)):
            m.d.sync += count.eq(count + 1)
        with m.Elif(~waits):
            m.d.sync += count.eq(0)
        self.each(name, count < cycles, when=waits)
