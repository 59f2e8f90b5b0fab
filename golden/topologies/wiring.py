"""Cables of a network: the ends of each cable, and the port that accounts for each receive buffer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Records
from vlane.golden.engine.kernel import inner

NOWHERE = -(1 << 30)


class Cable:
    """Cable at a port.

    Parameters
    ----------
    far_input : int
        Input port at the far end; for a NIC: its number by ``end_of_nic``; ``NOWHERE`` without a cable.
    flight_cycles : int
        Flight time in cycles.
    peer : int
        Sending port at the far end; ``NOWHERE`` without a cable, or if a co-simulated model sends there.
    credit_receiver : int
        Sending port that tracks the free space of this port's receive buffer: the port at the far end or, with
        flow-control packets, the port at this end.
    credit_delay : int
        Delay in cycles until a change reaches that sending port; none with flow-control packets.
    """

    far_input: Int32
    peer: Int32
    credit_receiver: Int32
    flight_cycles: Int16
    credit_delay: Int16


class Wiring(NamedTuple):
    """Cables of all ports.

    Parameters
    ----------
    cable : Records of Cable, (ends,)
        Cable of each port.
    nic_vl : array of uint8, (NICs, SLs)
        VL of each SL at the NICs.
    nic_channel : array of uint8, (NICs, SLs)
        Channel of each SL at the NICs; only Omni-Path has channels.
    """

    cable: Records[Cable]
    nic_vl: NDArray[np.uint8]
    nic_channel: NDArray[np.uint8]


@inner
def end_of_nic(nic: int) -> int:
    """Return the far end of a cable that leads to a NIC: -1 - ``nic``, distinct from all input ports."""
    return -1 - nic


@inner
def nic_of_end(far: int) -> int:
    """Return the NIC at the far end of a cable, the inverse of ``end_of_nic``."""
    return -1 - far
