"""Geometry of a buffer, with factories for its storage and its credit counters."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.buffers.vlbuffer import VLBufferParameters
from vlane.hdl.buffers.vlbuffer import VLBuffer
from vlane.hdl.links.fcp_limits import FCPLimits
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin, FCPTimes
from vlane.hdl.links.room import Room

FLAGS = 2
"""Control bits stored with each flit, below its data: last, first."""


@dataclass(frozen=True, slots=True)
class BufferGeometry:
    """Geometry of a buffer, in 64-byte blocks.

    Parameters
    ----------
    vls : int
        Lanes.
    blocks : int
        Capacity of the buffer.
    minimum, maximum : int
        Blocks guaranteed to each lane, and the most that a lane may use.
    largest : int
        Size of the largest packet.
    """

    vls: int
    blocks: int
    minimum: int
    maximum: int
    largest: int

    def storage(
        self, *, data_bits: int, writers: int = 1, readers: int = 1, write_flits: int = 1, read_flits: int = 1
    ) -> VLBuffer:
        """Return an empty buffer. ``data_bits`` are the payload bits of a flit, the ports are those of ``VLBuffer``."""
        return VLBuffer(
            VLBufferParameters(
                vls=self.vls,
                flits=self.blocks,
                minimum=self.minimum,
                maximum=self.maximum,
                mtu_flits=self.largest,
                writers=writers,
                readers=readers,
                write_flits=write_flits,
                read_flits=read_flits,
                data_bits=data_bits + FLAGS,
                form="static" if self.minimum == self.maximum else "shared",
            )
        )

    def room(self, *, returned: int, behind: bool = False) -> Room:
        """Return the sender's credit counter for a buffer of this geometry.

        Up to ``returned`` blocks come back per cycle. With ``behind`` the counter also checks the packet behind each
        head.
        """
        return Room(
            vls=self.vls,
            blocks=self.blocks,
            minimum=self.minimum,
            maximum=self.maximum,
            largest=self.largest,
            returned=returned,
            behind=behind,
        )

    def part(self, *, data_bits: int) -> VLBuffer:
        """Return an empty buffer for one lane: its fixed share of a statically partitioned buffer."""
        blocks = self.minimum
        own = BufferGeometry(1, max(2, blocks), blocks, blocks, self.largest)
        return own.storage(data_bits=data_bits)

    def round_robin(self, fcp: FCPTimes, *, returned: int, vls_apart: bool = False) -> FCPRoundRobin:
        """Return the scheduler of flow-control packets that announce this buffer's limits.

        Each VL has a fixed share of the buffer. Up to ``returned`` blocks of a lane leave the buffer per cycle; with
        ``vls_apart`` blocks of several lanes may leave in the same cycle.
        """
        return FCPRoundRobin(
            vls=self.vls, blocks=self.minimum, step=fcp.step, period=fcp.period, returned=returned, vls_apart=vls_apart
        )

    def limits(self, *, behind: bool = False) -> FCPLimits:
        """Return the sender's credit counter for limits received in flow-control packets.

        Each lane has a fixed share.
        """
        return FCPLimits(vls=self.vls, blocks=self.minimum, largest=self.largest, behind=behind)
