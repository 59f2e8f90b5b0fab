"""Admission of packets to a buffer that lanes share: reservations, and the space that is left."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import chosen, equals, one_of
from vlane.hdl.credits.room_rule import beyond

_VL_BITS = 5
_COUNT_BITS = 2
_PACKET_BITS = 10


class Admission(wiring.Component):
    """Reserve space for packets by the admission rule of ``room_rule.py``, with running totals instead of sums.

    Latency 0. Reservations and freed flits count from the next cycle on. The space of each lane is in registers, so no
    sum over the lanes lies on a path, and ``room`` is a register. The number of freed flits is known late in a cycle,
    because a scheduler decides it. Therefore this number only selects among precomputed results. Reset empties the
    buffer.

    Parameters
    ----------
    vls : int
        Lanes.
    minimum, maximum : int
        Flits guaranteed to each lane, and the most that a lane may reserve.
    shared : int
        Flits beyond the minimums.
    largest : int
        Flits of the largest packet.
    readers : int
        Number of lanes from which flits may leave in one cycle.
    read_flits : int
        Largest number of flits that may leave each of these lanes in one cycle.

    Members
    -------
    reserve_flits : In(10)
        Number of flits to reserve; 0 for none.
    reserve_vl : In(5)
        Lane of the flits to reserve.
    accepted : Out(1)
        The reservation succeeds.
    gains : Out(vls)
        The lane for which flits are reserved in this cycle, one-hot.
    leaving : In(ArrayLayout(2, vls))
        By lane: flits that are freed in this cycle.
    room : Out(vls)
        Lanes in which the largest packet can be reserved.
    used : Out(ArrayLayout(range(maximum + 1), vls))
        By lane: reserved flits.
    """

    latency = 0

    def __init__(
        self, *, vls: int, minimum: int, maximum: int, shared: int, largest: int, readers: int, read_flits: int
    ) -> None:
        self.vls, self.minimum, self.maximum, self.largest = vls, minimum, maximum, largest
        self.readers, self.read_flits = readers, read_flits
        super().__init__(
            {
                "reserve_flits": In(_PACKET_BITS),
                "reserve_vl": In(_VL_BITS),
                "accepted": Out(1),
                "gains": Out(vls),
                "leaving": In(data.ArrayLayout(_COUNT_BITS, vls)),
                "room": Out(vls),
                "used": Out(data.ArrayLayout(range(maximum + 1), vls)),
            }
        )
        most = minimum + shared
        self.used_now = [Signal(range(maximum + 1), name=f"used_{vl}") for vl in range(vls)]
        self.unused = [Signal(range(minimum + 1), init=minimum, name=f"unused_{vl}") for vl in range(vls)]
        """By lane: flits of the minimum that are not reserved."""
        self.space = [Signal(range(most + 1), init=most, name=f"space_{vl}") for vl in range(vls)]
        """By lane: unused flits of the minimum, and shared flits that no lane has reserved."""
        self.room_now = [Signal(init=largest <= min(maximum, most), name=f"room_{vl}") for vl in range(vls)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        size = self.reserve_flits
        asked = Signal(self.vls)
        used = Signal.like(self.used_now[0], name="used")
        space = Signal.like(self.space[0], name="space")
        unused = Signal.like(self.unused[0], name="unused")
        asked_state = ((used, self.used_now), (space, self.space), (unused, self.unused))
        growth = Signal(_PACKET_BITS)
        returned = Signal(range(self.readers * self.read_flits + 1))
        m.d.comb += [
            asked.eq(Cat(equals(self.reserve_vl, vl) for vl in range(self.vls))),
            *(of_asked.eq(one_of(asked, by_lane)) for of_asked, by_lane in asked_state),
            growth.eq(beyond(size, unused)),
            self.accepted.eq(asked.any() & size.any() & (used + size <= self.maximum) & (size <= space)),
        ]
        shares = [self._lane(m, vl, asked[vl], Mux(asked[vl], size, growth), returned) for vl in range(self.vls)]
        m.d.comb += returned.eq(reduce(or_, shares) if self.readers == 1 else sum(shares))
        return m

    def _lane(self, m: Module, vl: int, is_asked: Value, growth: Value, returned: Value) -> Signal:
        """Update a lane's reservations and return the flits that it returns to the shared space.

        Parameters
        ----------
        growth : Value
            Flits by which the packet of this cycle, if it is accepted, reduces the lane's space.
        returned : Value
            Flits that all lanes return to the shared space in this cycle.
        """
        used, space, leaving, gains = self.used_now[vl], self.space[vl], self.leaving[vl], self.gains[vl]
        grown = Signal(_PACKET_BITS + 1, name=f"grown_{vl}")
        reduced = Signal.like(space, name=f"reduced_{vl}")
        used_then = Signal.like(used, name=f"used_then_{vl}")
        space_then = Signal.like(space, name=f"space_then_{vl}")
        share = Signal(_COUNT_BITS, name=f"share_{vl}")
        freed = Signal.like(returned, name=f"freed_{vl}")
        unused_then = Signal.like(self.unused[vl], name=f"unused_then_{vl}")
        m.d.comb += [
            self.used[vl].eq(used),
            self.room[vl].eq(self.room_now[vl]),
            gains.eq(is_asked & self.accepted),
            grown.eq(used + self.reserve_flits),
            reduced.eq(space - growth),
            used_then.eq(Mux(gains, grown, used)),
            space_then.eq(Mux(self.accepted, reduced, space)),
            unused_then.eq(Mux(used_then - leaving < self.minimum, self.minimum - used_then + leaving, 0)),
            share.eq(Mux(gains, self._above(grown, leaving), self._above(used, leaving))),
            freed.eq(returned + leaving - share),
        ]
        m.d.sync += [
            used.eq(used_then - leaving),
            space.eq(space_then + freed),
            self.unused[vl].eq(unused_then),
            self.room_now[vl].eq(
                chosen(
                    leaving,
                    [
                        Mux(gains, grown <= self._most + count, used <= self._most + count)
                        for count in range(self.read_flits + 1)
                    ],
                )
                & chosen(
                    freed,
                    [
                        Mux(self.accepted, reduced + count >= self.largest, space + count >= self.largest)
                        for count in range(self.readers * self.read_flits + 1)
                    ],
                )
            ),
        ]
        return share

    @property
    def _most(self) -> int:
        """Largest number of reserved flits of a lane that may reserve another largest packet."""
        return self.maximum - self.largest

    def _above(self, used: Value, leaving: Value) -> Value:
        """Return how many of the leaving flits are reserved beyond the minimum."""
        excess = beyond(used, self.minimum)
        return Mux(leaving < excess, leaving, excess)
