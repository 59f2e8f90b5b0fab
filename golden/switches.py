"""Switches of any kind behind one set of functions; the type of their state says which kind it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray
from vlane.golden import fifo_switch, ib_switch, opa_switch
from vlane.golden.fifo_switch import FifoSwitches
from vlane.golden.ib_switch import IBSwitches
from vlane.golden.inputs import Route, queue_routed
from vlane.golden.kernel import inner
from vlane.golden.links import Links
from vlane.golden.opa_switch import OPASwitches
from vlane.golden.packets import CHANNEL, DLID, LANE, SL, Packets

__all__ = ["Switches", "allocate", "buffer_between", "central_buffers", "receive", "route", "store"]

Switches = IBSwitches | FifoSwitches | OPASwitches

_ROUTES: dict[type, Callable[..., Route]] = {
    IBSwitches: ib_switch.route,
    FifoSwitches: ib_switch.route,
    OPASwitches: opa_switch.route,
}
_ALLOCATES: dict[type, Callable[..., int]] = {
    IBSwitches: ib_switch.allocate,
    FifoSwitches: fifo_switch.allocate,
    OPASwitches: opa_switch.allocate,
}


def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> Route:
    """Look up a packet at an input that it reached on a lane."""
    return _ROUTES[type(switches)](switches, port, dlid, sl, lane, channel)


@overload(route, jit_options={"forceinline": True})
def _route(switches, port, dlid, sl, lane, channel):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    chosen = _ROUTES[switches.instance_class]

    def look_up(switches, port, dlid, sl, lane, channel):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return chosen(switches, port, dlid, sl, lane, channel)

    return look_up


def allocate(switches: Any, links: Links, packets: Packets, switch: int, cycle: int, grants: NDArray[np.int64]) -> int:
    """Run one cycle of a switch's allocation, and send what is granted on its way; return how many grants there are.

    Parameters
    ----------
    grants : array of int64, (rows, 3)
        Filled with (input port, packet, VL it arrived on) of each; input port -1 if it comes from inside.
    """
    return _ALLOCATES[type(switches)](switches, links, packets, switch, cycle, grants)


@overload(allocate, jit_options={"forceinline": True})
def _allocate(switches, links, packets, switch, cycle, grants):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    chosen = _ALLOCATES[switches.instance_class]

    def run(switches, links, packets, switch, cycle, grants):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return chosen(switches, links, packets, switch, cycle, grants)

    return run


def store(switches: Any, packets: Packets, buffer: int, packet: int) -> None:
    """Let a packet wait in a central buffer, of switches that have any."""
    opa_switch.store(switches, packets, buffer, packet)


@overload(store, jit_options={"forceinline": True})
def _store(switches, packets, buffer, packet):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    chosen = opa_switch.store

    def through(switches, packets, buffer, packet):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        chosen(switches, packets, buffer, packet)

    def nowhere(switches, packets, buffer, packet):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        return  # no switch without a centre sends there

    return through if switches.instance_class is OPASwitches else nowhere


def central_buffers(switches: Switches) -> int:
    """Return the central buffers of each switch."""
    return switches.mports if isinstance(switches, OPASwitches) else 0


def buffer_between(switches: Any, port: int, output: int) -> int:
    """Return the central buffer that a packet from an input to an output goes through, -1 for none."""
    return opa_switch.buffer_between(switches, port, output) if isinstance(switches, OPASwitches) else -1


@overload(buffer_between, jit_options={"forceinline": True})
def _buffer_between(switches, port, output):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
    chosen = opa_switch.buffer_between

    def between(switches, port, output):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return chosen(switches, port, output)

    def no_centre(switches, port, output):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        return -1

    return between if switches.instance_class is OPASwitches else no_centre


@inner
def receive(switches: Any, packets: Packets, port: int, packet: int, cycle: int) -> None:
    """Look a head up and let it wait for allocation; to be called in the cycle in which it first takes part (S1)."""
    field = packets.field[packet]
    found = route(switches, port, field[DLID], field[SL], field[LANE], field[CHANNEL])
    queue_routed(switches.inputs, packets, port, packet, found, cycle)
