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

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import difference

_RECENT = 4
"""Starts before a decision that are not counted in the blocks in use."""


class LateRoom(wiring.Component):
    """Count a far buffer's blocks and report the lanes with space for the largest packet.

    Parameters
    ----------
    vls : int
        Number of lanes.
    blocks, minimum, maximum, largest : int
        Geometry of the far buffer in blocks, as for ``BufferGeometry``.

    Members
    -------
    began : In(1)
        A packet started in the cycle before.
    take : In(vls)
        Lane of the packet that started in the cycle before, one-hot or 0.
    take_blocks : In(ArrayLayout(range(largest + 1), vls))
        By lane: size of the head of the cycle before.
    take_less : In(ArrayLayout(range(largest + 1), vls))
        By lane: the same size less one.
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
                "began": In(1),
                "take": In(vls),
                "take_blocks": In(data.ArrayLayout(range(largest + 1), vls)),
                "take_less": In(data.ArrayLayout(range(largest + 1), vls)),
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
        recent = [self.take, *(Signal(self.vls, name=f"recent_{age}") for age in range(2, _RECENT))]
        began = Signal(_RECENT - 2)
        m.d.sync += [
            began.eq(Cat(self.began, began)),
            *(recent[age].eq(recent[age - 1]) for age in range(1, len(recent))),
        ]
        # In the cycle before the decision these starts are what will be two to four cycles old.
        older, any_older = reduce(or_, recent), Cat(self.began, began).any()
        for lane in range(self.vls):
            own = [self._flags(m, lane, number, used[lane], more) for number, more in enumerate((self.largest, margin))]
            free = own[0][0] & (own[0][1] | common[0])
            after_other = own[0][0] & (own[0][1] | common[1])
            after_own = own[1][0] & (own[1][1] | common[1])
            if_own, if_other, if_none = (Signal(name=f"{name}_{lane}") for name in ("if_own", "if_other", "if_none"))
            m.d.sync += [
                if_own.eq(after_own),
                if_other.eq(Mux(older[lane], after_own, after_other)),
                if_none.eq(Mux(older[lane], after_own, Mux(any_older, after_other, free))),
            ]
            m.d.comb += self.fits[lane].eq(Mux(self.take[lane], if_own, Mux(self.began, if_other, if_none)))
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
        grows, shrinks = Signal(range(self.largest + 1)), Signal()
        grown: list[Value] = []
        shrunk: list[Value] = []
        used = [Signal(range(self.maximum + 1), name=f"used_{lane}") for lane in range(self.vls)]
        bits = len(grows)
        for lane, count in enumerate(used):
            is_used, is_above, gives = (Signal(name=f"{name}_{lane}") for name in ("is_used", "is_above", "gives"))
            change = Signal(signed(bits + 1), name=f"change_{lane}")
            after = Signal.like(count, name=f"after_{lane}")
            # Blocks below the minimum, kept beside the count so that no sum waits for another one.
            margin = Signal(signed(len(count) + 1), init=self.minimum, name=f"margin_{lane}")
            margin_after = Signal.like(margin, name=f"margin_after_{lane}")
            below = Signal(bits, init=min(self.minimum, (1 << bits) - 1), name=f"below_{lane}")
            m.d.comb += [
                gives.eq(self.give[lane] & is_used),
                change.eq(
                    Mux(
                        self.take[lane],
                        Mux(gives, self.take_less[lane], self.take_blocks[lane]),
                        Mux(gives, C(-1, bits + 1), 0),
                    )
                ),
                after.eq(count + change),
                margin_after.eq(margin - change),
            ]
            m.d.sync += [
                count.eq(after),
                is_used.eq(after.any()),
                margin.eq(margin_after),
                is_above.eq(margin_after[-1]),
                below.eq(Mux(margin_after[-1], 0, Mux(margin_after[bits:-1].any(), ~C(0, bits), margin_after[:bits]))),
            ]
            excess = Signal(signed(bits + 1), name=f"excess_{lane}")
            m.d.comb += excess.eq(difference(self.take_blocks[lane], below, gives & ~is_above))
            grown.append(Mux(self.take[lane] & ~excess[-1], excess[:bits], 0))
            shrunk.append(gives & is_above)
        m.d.sync += [grows.eq(reduce(or_, grown)), shrinks.eq(Cat(shrunk).any())]
        return grows, shrinks, used
