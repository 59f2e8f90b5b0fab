"""Credit counters of a shared remote buffer."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.credits.room_rule import beyond, fits
from vlane.parameters import check_range
from vlane.units import MAX_BUFFER_BLOCKS

_MAX_VLS = 32
_MAX_RETURNED = 3


class Room(wiring.Component):
    """Count the used blocks of a remote buffer, under the admission rule (``docs/ib_switch.md``, Room).

    Latency 0 for ``fits``; taken and returned blocks take effect in the next cycle. After reset the buffer is empty.

    Parameters
    ----------
    vls : int
        Lanes, 1 to 32.
    blocks : int
        Capacity of the buffer in blocks, 1 to 4096.
    minimum, maximum : int
        Blocks guaranteed to each lane, and the most that a lane may use.
    largest : int
        Blocks of the largest packet, 1 to ``maximum``.
    returned : int
        Most blocks of a lane that may come back per cycle, 1 to 3.
    behind : bool
        Whether to check the packets behind the heads too.

    Members
    -------
    blocks : In(ArrayLayout(range(largest + 1), vls))
        Sizes of the head packets.
    fits : Out(vls)
        Lanes whose whole head packet fits.
    behind_blocks : In(ArrayLayout(range(largest + 1), vls))
        With ``behind`` only: sizes of the packets behind the heads.
    fits_behind : Out(vls)
        With ``behind`` only: lanes whose head and second packet fit together.
    take : In(vls)
        Lane whose packet starts, one-hot. The packet must fit.
    take_blocks : In(range(largest + 1))
        Size of the starting packet, in blocks.
    give : In(ArrayLayout(range(returned + 1), vls))
        Returned blocks, by lane; at most the lane's used blocks are subtracted.

    Raises
    ------
    TypeError
        If a parameter has the wrong type.
    ValueError
        If a parameter is out of range.
    """

    latency = 0

    def __init__(
        self,
        *,
        vls: int,
        blocks: int,
        minimum: int,
        maximum: int,
        largest: int,
        returned: int = 1,
        behind: bool = False,
    ) -> None:
        check_range("vls", vls, 1, _MAX_VLS)
        check_range("blocks", blocks, 1, MAX_BUFFER_BLOCKS)
        check_range("minimum", minimum, 0, blocks // vls)
        check_range("maximum", maximum, max(1, minimum), blocks - (vls - 1) * minimum)
        check_range("largest", largest, 1, maximum)
        check_range("returned", returned, 1, _MAX_RETURNED)
        self.vls, self.minimum, self.maximum, self.largest = vls, minimum, maximum, largest
        self.shared, self.behind = blocks - vls * minimum, behind
        packet = Shape.cast(range(largest + 1))
        sizes = data.ArrayLayout(packet, vls)
        looks_behind = {"behind_blocks": In(sizes), "fits_behind": Out(vls)} if behind else {}
        super().__init__(
            {
                "blocks": In(sizes),
                "fits": Out(vls),
                **looks_behind,
                "take": In(vls),
                "take_blocks": In(packet),
                "give": In(data.ArrayLayout(range(returned + 1), vls)),
            }
        )
        self.used = [Signal(range(maximum + 1), name=f"used_{vl}") for vl in range(vls)]
        self.beyond = Signal(range(self.shared + 1))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        changes = []
        for vl, used in enumerate(self.used):
            used_next = Signal(range(self.maximum + 1), name=f"used_next_{vl}")
            others = Signal(range(self.shared + 1), name=f"others_{vl}")
            back = Signal.like(self.give[vl], name=f"back_{vl}")
            m.d.comb += [
                others.eq(self.beyond - beyond(used, self.minimum)),
                self.fits[vl].eq(self._fits(m, f"head_{vl}", used + self.blocks[vl], others)),
                back.eq(Mux(self.give[vl] < used, self.give[vl], used)),
                used_next.eq(used + Mux(self.take[vl], self.take_blocks, 0) - back),
            ]
            if self.behind:
                both = self.blocks[vl] + self.behind_blocks[vl]
                m.d.comb += self.fits_behind[vl].eq(self._fits(m, f"behind_{vl}", used + both, others))
            m.d.sync += used.eq(used_next)
            changes.append(beyond(used_next, self.minimum))
        m.d.sync += self.beyond.eq(sum(changes))
        return m

    def _fits(self, m: Module, name: str, held: Value, others: Signal) -> Value:
        """Return whether a lane may hold ``held`` blocks while the other lanes exceed their minimums by ``others``."""
        most = self.largest * (2 if self.behind else 1)
        after = Signal(range(self.maximum + most + 1), name=f"after_{name}")
        m.d.comb += after.eq(held)
        return fits(after, others, minimum=self.minimum, maximum=self.maximum, shared=self.shared)
