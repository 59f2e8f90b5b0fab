"""Reference model of the VL buffer, written from its page: a queue of registers for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Fragment, Module, Mux, Signal, Value

from vlane.tb.credits.proofs_room_account import AdmissionModel

_COUNT = 14


class BufferModel:
    """Compute the outputs of a VL buffer for any inputs (``docs/vlbuffer.md``, VLB-1 to VLB-8).

    Parameters
    ----------
    m : Module
        Module to which the model is added.
    buffer : VLBuffer
        Buffer whose inputs and parameters the model uses.

    Attributes
    ----------
    outputs : list of (Value, Value)
        Each output of the buffer, or element of one, with its required value.
    held : list of Signal
        Flits in each lane.
    used : list of Signal
        Flits reserved for each lane, stored ones included.
    promised : Signal
        Flits of the storage that are reserved, or kept free for a lane's minimum.
    flits : list of list of Signal
        By lane: its flits, oldest first.
    kept : list of list of Value
        By position of the write ports, and by lane: a flit is written there.
    """

    def __init__(self, m: Module, buffer: Any) -> None:
        self.m, self.buffer = m, buffer
        b = buffer
        self._lanes = range(b.vls)
        self.held, self.used = (
            [Signal(_COUNT, name=f"account_{name}_{vl}") for vl in self._lanes] for name in ("held", "used")
        )
        self.promised = Signal(_COUNT + 2, name="account_promised")
        self._leaving = [Signal(3, name=f"account_leaving_{vl}") for vl in self._lanes]
        removed, readable = self._reads()
        room, accepted, gained = self._reserves()
        self.kept, discarded = self._writes(gained)
        for vl in self._lanes:
            came = sum(lanes[vl] for lanes in self.kept)
            m.d.comb += self._leaving[vl].eq(removed[vl])
            m.d.sync += [
                self.held[vl].eq(self.held[vl] - self._leaving[vl] + came),
                self.used[vl].eq(self.used[vl] - self._leaving[vl] + gained[vl]),
            ]
        flits = self.queues("flits", list(b.write_data))
        shown: list[Value] = []
        for port in range(b.readers):
            for index in range(b.read_flits):
                oldest = [self._element_or_zero(flits[vl], index) for vl in self._lanes]
                shown.append(Mux(readable[port] > index, self._of_read_lane(port, oldest), 0))
        self.flits = flits
        self.outputs = [
            (b.accepted, accepted),
            (b.discarded, discarded),
            *zip(b.room, room, strict=True),
            *zip(b.read_data, shown, strict=True),
            *zip(b.readable, readable, strict=True),
            *zip(b.held, self.held, strict=True),
            *zip(b.used, self.used, strict=True),
        ]

    def leaving_of(self, vl: Value) -> Value:
        """Return the number of flits that are read from a lane in this cycle."""
        return Array(self._leaving)[vl]

    def queues(self, name: str, arrivals: Sequence[Value]) -> list[list[Signal]]:
        """Return one queue of registers per lane, whose entries enter and leave with the lane's flits.

        Parameters
        ----------
        arrivals : sequence of Value
            Value that enters with each written flit, by position of the write ports.
        """
        b, m = self.buffer, self.m
        made = []
        for vl in self._lanes:
            queue = [Signal(len(arrivals[0]), name=f"account_{name}_{vl}_{place}") for place in range(b.maximum)]
            after = Signal(_COUNT, name=f"account_{name}_after_{vl}")
            m.d.comb += after.eq(self.held[vl] - self._leaving[vl])
            for place, entry in enumerate(queue):
                stays: Value = entry
                for count in range(1, b.readers * b.read_flits + 1):
                    stays = Mux(self._leaving[vl] == count, self._element_or_zero(queue, place + count), stays)
                earlier: Value = Const(0)
                for lanes, new in zip(self.kept, arrivals, strict=True):
                    stays = Mux(lanes[vl] & (after + earlier == place), new, stays)
                    earlier = earlier + lanes[vl]
                m.d.sync += entry.eq(stays)
            made.append(queue)
        return made

    @staticmethod
    def _element_or_zero(queue: Sequence[Value], place: int) -> Value:
        return queue[place] if place < len(queue) else Const(0, len(queue[0]))

    def _of_read_lane(self, port: int, by_lane: Sequence[Value]) -> Value:
        found: Value = Const(0, len(by_lane[0]))
        for vl, value in enumerate(by_lane):
            found = Mux(self.buffer.read_vl[port] == vl, value, found)
        return found

    def _reads(self) -> tuple[list[Value], list[Value]]:
        """Return the number of flits that leave each lane (VLB-6, VLB-7), and the number that each port shows."""
        b = self.buffer
        removed: list[Value] = [Const(0)] * b.vls
        shown: list[Value] = []
        for port in range(b.readers):
            held = self._of_read_lane(port, self.held)
            readable = Mux(held < b.read_flits, held, b.read_flits)
            asked = Mux(b.read_count[port] < readable, b.read_count[port], readable)
            shown.append(readable)
            for vl in self._lanes:
                takes = (b.read_vl[port] == vl) & (removed[vl] == 0)
                removed[vl] = Mux(takes, asked, removed[vl])
        return removed, shown

    def _reserves(self) -> tuple[list[Value], Value, list[Value]]:
        """Return which lanes have space, whether a packet is accepted, and each lane's gain (VLB-1 to VLB-3)."""
        b = self.buffer
        rule = AdmissionModel(b.flits, b.minimum, b.maximum)
        self.m.d.comb += self.promised.eq(rule.promised(self.used))
        room = [rule.fits(used, b.mtu_flits, self.promised) for used in self.used]
        asks = [
            (b.reserve_vl == vl) & (b.reserve_flits != 0) & rule.fits(used, b.reserve_flits, self.promised)
            for vl, used in enumerate(self.used)
        ]
        return room, Cat(asks).any(), [Mux(each, b.reserve_flits, 0) for each in asks]

    def _writes(self, gained: Sequence[Value]) -> tuple[list[list[Value]], Value]:
        """Return which flits are written to which lanes, and how many are discarded (VLB-4, VLB-5)."""
        b = self.buffer
        kept: list[list[Value]] = []
        lost: Value = Const(0)
        for place in range(b.writers * b.write_flits):
            port, index = divmod(place, b.write_flits)
            comes = b.write_count[port] > index
            lanes = [
                comes
                & (b.write_vl[port] == vl)
                & (self.held[vl] + sum(other[vl] for other in kept) < self.used[vl] + gained[vl])
                for vl in self._lanes
            ]
            lost = lost + (comes & ~Cat(lanes).any())
            kept.append(lanes)
        return kept, lost


def with_model_inside(buffer: Any) -> BufferModel:
    """Replace the logic of a buffer by the reference model, for proofs of components that contain the buffer."""
    Fragment.get(buffer, None)  # otherwise Amaranth warns about unused submodules
    m = Module()
    account = BufferModel(m, buffer)
    m.d.comb += [output.eq(value) for output, value in account.outputs]
    buffer.elaborate = lambda _platform: m
    return account
