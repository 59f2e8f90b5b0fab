"""Geometry of a buffer, and factories for storage and credit counters of that geometry."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.buffers.vlbuffer import VLBufferParameters
from vlane.hdl.buffers.vlbuffer import VLBuffer
from vlane.hdl.links.fcp_limits import FCPLimits
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin, FCPTimes
from vlane.hdl.links.room import Room

FLAGS = 2
"""Bits that are kept with each flit, below its data: last, first."""


@dataclass(frozen=True, slots=True)
class BufferGeometry:
    """Geometry of a buffer, in 64-byte blocks.

    Parameters
    ----------
    vls : int
        Lanes.
    blocks : int
        All of them.
    minimum, maximum : int
        Guaranteed to and allowed for each lane.
    largest : int
        Of the largest packet.
    """

    vls: int
    blocks: int
    minimum: int
    maximum: int
    largest: int

    def storage(
        self, *, data_bits: int, writers: int = 1, readers: int = 1, write_flits: int = 1, read_flits: int = 1
    ) -> VLBuffer:
        """Return an empty buffer for flits of so many carried bits; ports are those of ``VLBuffer``."""
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
        """Return what a sender knows of such a buffer; up to ``returned`` blocks come back in a cycle.

        With ``behind`` it looks at the packets behind the heads too.
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
        """Return the part of one lane of such a buffer, empty; each lane has its part of the buffer."""
        blocks = self.minimum
        own = BufferGeometry(1, max(2, blocks), blocks, blocks, self.largest)
        return own.storage(data_bits=data_bits)

    def round_robin(self, fcp: FCPTimes, *, returned: int, vls_apart: bool = False) -> FCPRoundRobin:
        """Return what tells the limits of such a buffer by flow-control packets; each VL has its part of the buffer.

        Up to ``returned`` blocks of a lane leave it in a cycle; with ``vls_apart`` blocks of several lanes may.
        """
        return FCPRoundRobin(
            vls=self.vls, blocks=self.minimum, step=fcp.step, period=fcp.period, returned=returned, vls_apart=vls_apart
        )

    def limits(self, *, behind: bool = False) -> FCPLimits:
        """Return the same, told by flow-control packets; each lane has its part of the buffer."""
        return FCPLimits(vls=self.vls, blocks=self.minimum, largest=self.largest, behind=behind)
