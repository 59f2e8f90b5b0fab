"""Cables of a network: which end leads where, and who keeps count of whose room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Records

NOWHERE = -(1 << 30)


class Cable:
    """Where a port leads, and who is told of what comes in there.

    Parameters
    ----------
    far : int
        Input port at the far end; -1 - n for NIC n; ``NOWHERE`` if there is no cable.
    flight : int
        Cycles from one end to the other.
    peer : int
        Sending end at the other end of the cable; ``NOWHERE`` if there is no cable, or another model sends here.
    told, telling : int
        Sending end that keeps count of this end's room, and cycles until it hears of room that comes free: the one at
        the far end, or, with flow-control packets, the one beside it, at once.
    """

    far: Int32
    peer: Int32
    told: Int32
    flight: Int16
    telling: Int16


class Wiring(NamedTuple):
    """Which port leads where.

    Parameters
    ----------
    cable : Records of Cable, (ends,)
        What each is cabled to.
    nic_vl, nic_channel : array of uint8, (NICs, SLs)
        VL and channel of each SL at the NICs; channels are Omni-Path's.
    """

    cable: Records[Cable]
    nic_vl: NDArray[np.uint8]
    nic_channel: NDArray[np.uint8]
