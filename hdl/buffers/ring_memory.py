"""Memory for the ring buffers of lanes, with the read register of block RAM."""

from __future__ import annotations

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


def ring_size(places: int) -> int:
    """Return the size of a lane's ring: the smallest power of two not below ``places``."""
    return 1 << (places - 1).bit_length()


class RingMemory(wiring.Component):
    """Memory with a write port and a read port of latency 1, as of block RAM.

    A flit written in cycle t can be addressed from t + 1 on. Contents are undefined at power-on.

    Parameters
    ----------
    width : int
        Bits of a place.
    depth : int
        Places, a power of two.

    Members
    -------
    write : In(1)
        A place is written in this cycle.
    write_place : In(range(depth))
        Place to write.
    write_data : In(width)
        Data to write.
    read_place : In(range(depth))
        Place to be read.
    read_data : Out(width)
        Contents of the place that ``read_place`` named in the cycle before.
    """

    def __init__(self, *, width: int, depth: int) -> None:
        self.width, self.depth = width, depth
        super().__init__(
            {
                "write": In(1),
                "write_place": In(range(depth)),
                "write_data": In(width),
                "read_place": In(range(depth)),
                "read_data": Out(width),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.places = memory = Memory(shape=unsigned(self.width), depth=self.depth, init=[])
        writer, reader = memory.write_port(), memory.read_port()
        m.d.comb += [
            writer.en.eq(self.write),
            writer.addr.eq(self.write_place),
            writer.data.eq(self.write_data),
            reader.addr.eq(self.read_place),
            self.read_data.eq(reader.data),
        ]
        return m
