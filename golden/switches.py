"""Switches of any kind behind one set of functions; the type of their state says which kind it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden import fifo_switch, ib_switch, opa_switch, per_vl_switch, vl_tables
from vlane.golden.fifo_switch import FifoSwitches
from vlane.golden.ib_switch import IBSwitches
from vlane.golden.inputs import Route, queue_routed
from vlane.golden.kernel import by_type, inner
from vlane.golden.links import Links
from vlane.golden.opa_switch import OPASwitches
from vlane.golden.packets import Packets
from vlane.golden.per_vl_switch import PerVLSwitches

__all__ = ["Switches", "allocate", "buffer_between", "central_buffers", "receive", "route", "store"]

Switches = IBSwitches | FifoSwitches | PerVLSwitches | OPASwitches
_INFINIBAND = (IBSwitches, FifoSwitches, PerVLSwitches)


@by_type({**dict.fromkeys(_INFINIBAND, vl_tables.route), OPASwitches: opa_switch.route})
def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> Route:
    """Look up a packet at an input that it reached on a lane."""


@by_type(
    {
        FifoSwitches: fifo_switch.allocate_one,
        PerVLSwitches: per_vl_switch.allocate_one,
        OPASwitches: opa_switch.allocate_one,
    }
)
def _allocate_one(
    switches: Any, links: Links, packets: Packets, switch: int, cycle: int, grants: NDArray[np.int64], count: int
) -> int:
    """Run one cycle of a switch's allocation, behind so many grants of others; return how many there are then."""


@inner
def _allocate_each(switches: Any, links: Links, packets: Packets, cycle: int, grants: NDArray[np.int64]) -> int:
    count, waiting = 0, switches.inputs.waiting
    for switch in range(len(waiting)):
        if waiting[switch] != 0:
            count = _allocate_one(switches, links, packets, switch, cycle, grants, count)
    return count


_ONE_BY_ONE = (FifoSwitches, PerVLSwitches, OPASwitches)


@by_type({IBSwitches: ib_switch.allocate, **dict.fromkeys(_ONE_BY_ONE, _allocate_each)})
def allocate(switches: Any, links: Links, packets: Packets, cycle: int, grants: NDArray[np.int64]) -> int:
    """Run one cycle of all switches' allocation, and send what is granted on its way; return how many grants there are.

    Parameters
    ----------
    grants : array of int64, (as many as switches may grant in a cycle, 3)
        Filled with (input port, packet, VL it arrived on) of each; input port -1 if it comes from inside.
    """


@inner
def _no_centre(switches: Any, packets: Packets, buffer: int, packet: int) -> None:
    """No packet of a switch without a centre comes here."""


@by_type({**dict.fromkeys(_INFINIBAND, _no_centre), OPASwitches: opa_switch.store})
def store(switches: Any, packets: Packets, buffer: int, packet: int) -> None:
    """Let a packet wait in a central buffer, of switches that have any."""


def central_buffers(switches: Switches) -> int:
    """Return the central buffers of each switch."""
    return switches.mports if isinstance(switches, OPASwitches) else 0


@inner
def _never_between(switches: Any, port: int, output: int) -> int:  # noqa: ARG001 - as Omni-Path's
    return -1


@by_type({**dict.fromkeys(_INFINIBAND, _never_between), OPASwitches: opa_switch.buffer_between})
def buffer_between(switches: Any, port: int, output: int) -> int:
    """Return the central buffer that a packet from an input to an output goes through, -1 for none."""


@inner
def receive(switches: Any, packets: Packets, port: int, packet: int, cycle: int) -> None:
    """Look a head up and let it wait for allocation; to be called in the cycle in which it first takes part (S1)."""
    field = packets.pool[packet]
    found = route(switches, port, field.dlid, field.sl, field.lane, field.channel)
    queue_routed(switches.inputs, packets, port, packet, found, cycle)
