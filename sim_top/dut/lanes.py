"""Lanes of a scheduler with their VLs, and the output of a foreign design that names a lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.egress import lane_of_vl
from vlane.sim_top.dut.ports import Bits


@dataclass(frozen=True, slots=True)
class LaneWires:
    """Output of the design that names the granted lane, one-hot or as a number."""

    places: NDArray[np.int64]
    onehot: bool


@dataclass(frozen=True, slots=True)
class StrobeWires:
    """Port of the design that an elastic timing names: its bits in the row of inputs or outputs, and its level."""

    places: NDArray[np.int64]
    is_input: bool
    low: bool


class Lanes:
    """Lanes of a port with their VLs.

    Parameters
    ----------
    data_vls : int
        Number of data lanes of the port; 0 for a block without lanes.
    vl15 : bool
        Whether the port has VL15.
    """

    def __init__(self, data_vls: int, *, vl15: bool) -> None:
        found = {vl: lane_of_vl(vl, data_vls=data_vls, vl15=vl15) for vl in range(data_vls + 17)}
        self.by_vl = {vl: lane for vl, lane in found.items() if lane is not None}
        self._numbers = np.zeros(max(self.by_vl, default=0) + 1, np.int64)
        for vl, lane in self.by_vl.items():
            self._numbers[vl] = lane

    def numbers(self, vls: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the lane of each VL."""
        return self._numbers[np.minimum(vls, len(self._numbers) - 1).astype(np.int64)]

    def vls_named(self, bits: Bits, *, onehot: bool) -> int | list[int]:
        """Return the VL that the bits of a lane output name, or a list of all VLs for a one-hot output."""
        by_lane = {lane: vl for vl, lane in self.by_vl.items()}
        if onehot:
            return [by_lane[lane] for lane in np.flatnonzero(bits).tolist()]
        number = sum(int(bit) << index for index, bit in enumerate(bits))
        return by_lane.get(number, number)
