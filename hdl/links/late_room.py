"""Credits for the far buffer, decided from state five cycles old (IBF-7, ``docs/fast_switch.md``).

Stages of a packet started in cycle d:

    d + 1   take, give        the start and a return are inputs
    d + 2   used              blocks of the lane; change of the blocks beyond the minima
    d + 3   beyond            blocks of all lanes beyond their minima
    d + 4   flags             comparisons with constants
    d + 5   fits              choice by the starts of d + 1 to d + 4
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

_RECENT = 4
"""Starts before a decision that are not counted in the blocks in use."""


class LateRoom(wiring.Component):
    """Count a far buffer's blocks and report the lanes with space for the largest packet.

    Parameters
    ----------
    vls, blocks, minimum, maximum, largest : int
        Lanes, and the far buffer in blocks, as for ``BufferGeometry``.

    Members
    -------
    starts : In(vls)
        Lane of the packet that starts in this cycle, one-hot or 0.
    take, take_blocks : In(vls), In(range(largest + 1))
        The packet that started in the cycle before: its lane, one-hot or 0, and its size.
    give : In(vls)
        Lane of which a block returned in the cycle before, one-hot or 0.
    fits : Out(vls)
        Lanes whose largest packet fits.
    """

    def __init__(self, *, vls: int, blocks: int, minimum: int, maximum: int, largest: int) -> None:
        self.vls, self.minimum, self.maximum, self.largest = vls, minimum, maximum, largest
        self.shared = blocks - vls * minimum
        super().__init__(
            {
                "starts": In(vls),
                "take": In(vls),
                "take_blocks": In(range(largest + 1)),
                "give": In(vls),
                "fits": Out(vls),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        margin = 2 * self.largest + _RECENT - 1
        grows, shrinks, used = self._count(m)
        beyond = Signal(range(self.shared + 1))
        m.d.sync += beyond.eq(beyond + grows - shrinks)
        common = [Signal(name=f"common_{number}") for number in range(2)]
        m.d.sync += [
            flag.eq(beyond <= self.shared - more if more <= self.shared else 0)
            for flag, more in zip(common, (self.largest, margin), strict=True)
        ]
        recent = [Signal(self.vls, name=f"recent_{age}") for age in range(1, _RECENT + 1)]
        m.d.sync += [recent[0].eq(self.starts), *(recent[age].eq(recent[age - 1]) for age in range(1, _RECENT))]
        # In the cycle before the decision recent[0] to recent[2] are what will be two to four cycles old.
        older = reduce(or_, recent[:3])
        for lane in range(self.vls):
            own = [self._flags(m, lane, number, used[lane], more) for number, more in enumerate((self.largest, margin))]
            free = own[0][0] & (own[0][1] | common[0])
            after_other = own[0][0] & (own[0][1] | common[1])
            after_own = own[1][0] & (own[1][1] | common[1])
            if_own, if_other, if_none = (Signal(name=f"{name}_{lane}") for name in ("if_own", "if_other", "if_none"))
            m.d.sync += [
                if_own.eq(after_own),
                if_other.eq(Mux(older[lane], after_own, after_other)),
                if_none.eq(Mux(older[lane], after_own, Mux(older.any(), after_other, free))),
            ]
            m.d.comb += self.fits[lane].eq(Mux(recent[0][lane], if_own, Mux(recent[0].any(), if_other, if_none)))
        return m

    def _flags(self, m: Module, lane: int, number: int, used: Signal, more: int) -> tuple[Signal, Signal]:
        """Return whether ``more`` blocks stay within the lane's maximum and minimum, two cycles later."""
        found = []
        for name, limit in (("maximum", self.maximum), ("minimum", self.minimum)):
            early, flag = (Signal(name=f"{when}_{name}_{number}_{lane}") for when in ("early", "below"))
            m.d.sync += [early.eq(used <= limit - more if more <= limit else 0), flag.eq(early)]
            found.append(flag)
        return found[0], found[1]

    def _count(self, m: Module) -> tuple[Signal, Signal, list[Signal]]:
        """Count the blocks of each lane. Return the change of the blocks beyond the minima, and the counts."""
        grows, shrinks = Signal.like(self.take_blocks), Signal()
        grown: list[Value] = []
        shrunk: list[Value] = []
        used = [Signal(range(self.maximum + 1), name=f"used_{lane}") for lane in range(self.vls)]
        for lane, count in enumerate(used):
            gives = Signal(name=f"gives_{lane}")
            takes = Signal.like(self.take_blocks, name=f"takes_{lane}")
            left = Signal.like(count, name=f"left_{lane}")
            below = Signal.like(self.take_blocks, name=f"below_{lane}")
            m.d.comb += [
                gives.eq(self.give[lane] & count.any()),
                takes.eq(Mux(self.take[lane], self.take_blocks, 0)),
                left.eq(count - gives),
                below.eq(Mux(left >= self.minimum, 0, Mux(self.minimum - left > takes, takes, self.minimum - left))),
            ]
            m.d.sync += count.eq(left + takes)
            grown.append(takes - below)
            shrunk.append(gives & (count > self.minimum))
        m.d.sync += [grows.eq(reduce(or_, (value[: len(grows)] for value in grown))), shrinks.eq(Cat(shrunk).any())]
        return grows, shrinks, used
