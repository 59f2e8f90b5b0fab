"""Buffer sizes of a network."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError
from vlane.golden.links.room import BufferOccupancy, new_occupancy


@dataclass(frozen=True)
class Buffers:
    """Buffer sizes in 64-byte blocks.

    Parameters
    ----------
    blocks : int
        Size of each input and output buffer.
    minimum, maximum : tuple of int
        Guaranteed and maximum number of blocks of each lane.
    largest : tuple of int
        Blocks of the largest packet of each lane.

    Raises
    ------
    InputError
        If a minimum is smaller than the lane's largest packet, the minima exceed the buffer, or a maximum is out of
        range.
    """

    blocks: int
    minimum: tuple[int, ...]
    maximum: tuple[int, ...]
    largest: tuple[int, ...]

    def __post_init__(self) -> None:
        if sum(self.minimum) > self.blocks:
            raise InputError("blocks", f"at least {sum(self.minimum)}, the sum of minimum_blocks", self.blocks)
        for lane, (least, most, packet) in enumerate(zip(self.minimum, self.maximum, self.largest, strict=True)):
            if least < packet:
                raise InputError(
                    f"minimum_blocks of VL {lane}", f"at least {packet}, the blocks of the largest packet", least
                )
            if not least <= most <= self.blocks - sum(self.minimum) + least:
                must = f"{least} to {self.blocks - sum(self.minimum) + least}, the blocks not reserved for other VLs"
                raise InputError(f"maximum_blocks of VL {lane}", must, most)

    def rooms(self, buffer_count: int) -> BufferOccupancy:
        """Return ``buffer_count`` empty buffers of this size."""
        return new_occupancy(buffers=buffer_count, blocks=self.blocks, minimum=self.minimum, maximum=self.maximum)
