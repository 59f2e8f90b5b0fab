"""Cables of a network: which end leads where, and who keeps count of whose room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOWHERE", "Wiring"]

NOWHERE = -(1 << 40)


class Wiring(NamedTuple):
    """Which port leads where.

    Parameters
    ----------
    far : array of int64, (sending ends,)
        Input port at the far end; -1 - n for NIC n; ``NOWHERE`` if there is no cable.
    flight : array of int64, (sending ends,)
        Cycles from one end to the other.
    peer : array of int64, (sending ends,)
        Sending end at the other end of the cable; ``NOWHERE`` if there is no cable, or another model sends here.
    told, telling : array of int64, (receiving ends,)
        Sending end that keeps count of a receiving end's room, and cycles until it hears of room that comes free:
        the one at the far end, or, with flow-control packets, the one beside it, at once.
    nic_vl, nic_channel : array of uint8, (NICs, SLs)
        VL and channel of each SL at the NICs; channels are Omni-Path's.
    """

    far: NDArray[np.int64]
    flight: NDArray[np.int64]
    peer: NDArray[np.int64]
    told: NDArray[np.int64]
    telling: NDArray[np.int64]
    nic_vl: NDArray[np.uint8]
    nic_channel: NDArray[np.uint8]
