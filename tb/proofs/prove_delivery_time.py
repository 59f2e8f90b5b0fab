"""Proof that a packet at the head of its lane leaves a small switch within so many cycles, if nothing outside holds it."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Array, Cat, Module, Signal, Value
from vlane.tb.proofs.prove_delivery import DeliveryProperties
from vlane.tb.proofs.prove_tables import at

__all__ = ["DeliveryTimeProperties"]


class DeliveryTimeProperties(DeliveryProperties):
    """The switch beside a followed packet of one flit, whose way is as ``DeliveryProperties`` claims.

    Its schedulers stay in.

    Parameters
    ----------
    switch : IBSwitch
        The component; its largest packet has one block, its scheduler is ``rr``.
    granted, sent : int
        Cycles within which the packet is granted, and within which it is on the link.
    """

    statements: ClassVar = {
        **DeliveryProperties.statements,
        "granted-in-time": "A packet that is the first of its lane crosses within the cycles that the instance names, if"
        " its output is free and has room for it in each of them, whatever else there is.",
        "sent-in-time": "A packet that crossed is on the link within the cycles that the instance names, if the link is"
        " free and the far end has room for every lane in each of them, whatever else there is.",
        "leaves-in-time": "A packet that is the first of its lane is on the link within the cycles that the instance"
        " names, if all links are free and all far ends have room in each of them, whatever else there is.",
    }
    stages = (("granted-in-time", "sent-in-time"), ("leaves-in-time",))

    def __init__(self, switch: Any, granted: int, sent: int, leaves: int) -> None:
        super().__init__(switch)
        self.granted, self.sent_cycles, self.leaves = granted, sent, leaves
        self.depth = max(granted, sent) + 2

    def _taken_out(self, output: Any) -> tuple[Any, ...]:
        return (output.remote,)

    def _leave(self, m: Module) -> None:
        super()._leave(m)
        switch, let_in = self.switch, self.let_in & ~self.drops
        room, ready, fits = Signal(), Signal(), Signal()
        of_output = [
            Cat(at(output.room, self.lane) & output.free[0], switch.ready[number], Value.cast(output.remote.fits).all())
            for number, output in enumerate(switch.outputs)
        ]
        m.d.comb += Cat(room, ready, fits).eq(Array(of_output)[self.to])
        is_first = let_in & Cat(self.first_places).any()
        crosses = [self._crossing(number) for number in range(switch.ports)]
        mine = [busy & (record.vl == self.came_on) & (self.port == number)
                for number, (busy, record) in enumerate(crosses)]  # fmt: skip
        waits = is_first & ~Cat(mine).any() & room
        self._within(m, "granted-in-time", waits, self.granted)
        stays = Cat(each for lanes in self.at_lane for each in lanes).any() & ready & fits
        self._within(m, "sent-in-time", stays, self.sent_cycles)
        beyond = let_in & Cat(each for lanes in self.at_lane for each in lanes).any()
        free = Cat(switch.ready.all(), *(Value.cast(output.remote.fits).all() for output in switch.outputs)).all()
        self._within(m, "leaves-in-time", (is_first | beyond) & free, self.leaves)

    def _within(self, m: Module, name: str, waits: Value, cycles: int) -> None:
        """Claim that something ends within so many cycles."""
        count = Signal(range(cycles + 2), name=f"count_{name}")
        with m.If(waits & (count <= cycles)):
            m.d.sync += count.eq(count + 1)
        with m.Elif(~waits):
            m.d.sync += count.eq(0)
        self.claim(m, name, count < cycles, when=waits)
