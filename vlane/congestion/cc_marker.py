"""Congestion marking by a switch's output port: parameters, limits and write selectors (``docs/cc_marker.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.errors import InputError
from vlane.parameters import Parameters, whole
from vlane.units import MAX_DATA_VLS

THRESHOLD_BITS = 4
"""Width of Threshold."""
SIZE_BITS = 8
"""Width of Packet_Size."""
RATE_BITS = 16
"""Width of Marking_Rate."""
LARGEST_THRESHOLD = (1 << THRESHOLD_BITS) - 1
"""Most aggressive threshold."""
LEAST_PACKETS = 4
"""Smallest capacity of a lane in the measured buffer, in largest packets."""
BUSY_BLOCKS, LEVEL_BLOCKS, IDLE_BLOCKS = 1024, 2048, 16
"""Defaults of the busy detector: busy level, highest level, decrement per idle cycle."""
MAX_LEVEL = 65535
"""Upper bound of the busy detector's level."""

MEASURES = OF_OUTPUT, OF_INPUTS = "output", "inputs"
"""Measures of a lane's fill: its blocks in the output buffer, or blocks waiting for the output at the inputs."""

_BYTES_OF_FLIT = 64
_WORD_BITS = 64


class CCMarkerSelect(IntEnum):
    """Target of a write: parts of SwitchCongestionSetting, or this port's SwitchPortCongestionSettingElement."""

    VICTIM_MASK = 0
    THRESHOLD = 1
    MARKING_RATE = 2
    PORT = 3

    @property
    def of_switch(self) -> bool:
        """Whether the target is a part of SwitchCongestionSetting."""
        return self is not CCMarkerSelect.PORT


def marking_limit(threshold: int, *, maximum: int, largest: int) -> int:
    """Return the fill of a VL, in blocks, from which it is over its threshold (CCM-1).

    Parameters
    ----------
    threshold : int
        Threshold, 1 to 15; 0 has no limit.
    maximum, largest : int
        Largest number of blocks of the VL in the buffer, and size in blocks of its largest packet.

    Examples
    --------
    >>> [marking_limit(threshold, maximum=128, largest=16) for threshold in (1, 8, 12, 15)]
    [120, 64, 33, 33]
    """
    return max(maximum * (LARGEST_THRESHOLD + 1 - threshold) // (LARGEST_THRESHOLD + 1), 2 * largest + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class CCMarkerParameters(Parameters):
    """Parameters of ``cc_marker``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    data_vls: int = whole(8, 1, MAX_DATA_VLS, "data lanes")
    maximum: int = whole(128, 4, 4095, "largest number of blocks of a lane in the measured buffer")
    largest: int = whole(32, 1, 66, "blocks of the largest packet, at most a quarter of maximum")
    measure_blocks: int = whole(128, 4, 65535, "largest measure, at least maximum")
    busy_blocks: int = whole(BUSY_BLOCKS, 0, MAX_LEVEL, "level from which the link counts as busy; 0: always")
    level_blocks: int = whole(LEVEL_BLOCKS, 1, MAX_LEVEL, "highest level, at least busy_blocks")
    idle_blocks: int = whole(IDLE_BLOCKS, 0, 255, "decrement of the level per idle cycle")
    data_bits: int = whole(128, 128, 8 * _BYTES_OF_FLIT, "carried bits per 64-byte flit, a multiple of 64")

    def check(self) -> None:
        """Reject a buffer below four largest packets, bounds below their minimum, and odd ``data_bits``."""
        if LEAST_PACKETS * self.largest > self.maximum:
            raise InputError("largest", f"at most a quarter of maximum, {self.maximum // LEAST_PACKETS}", self.largest)
        if self.measure_blocks < self.maximum:
            raise InputError("measure_blocks", f"at least maximum, {self.maximum}", self.measure_blocks)
        if self.level_blocks < self.busy_blocks:
            raise InputError("level_blocks", f"at least busy_blocks, {self.busy_blocks}", self.level_blocks)
        if self.data_bits % _WORD_BITS:
            raise InputError("data_bits", f"a multiple of {_WORD_BITS}", self.data_bits)
