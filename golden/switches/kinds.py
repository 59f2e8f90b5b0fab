"""Common functions for all switch types.

The type of the state selects the implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.switches import (
    fast_switch,
    fifo_switch,
    flit_switch,
    ib_switch,
    opa_flit_switch,
    opa_switch,
    per_vl_fifo_switch,
    per_vl_switch,
    vl_tables,
)
from vlane.golden.switches.fast_switch import FastSwitches
from vlane.golden.switches.fifo_switch import FifoSwitches
from vlane.golden.switches.flit_switch import FlitSwitches
from vlane.golden.switches.ib_switch import FasterIBSwitches, IBSwitches
from vlane.golden.switches.inputs import DROPPED, ROUTED, Grant, LookUp, local_port, queue_routed, switch_of
from vlane.golden.switches.opa_flit_switch import OPAFlitSwitches
from vlane.golden.switches.opa_switch import OPASwitches
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Packet, Packets
from vlane.golden.switches.per_vl_fifo_switch import PerVLFifoSwitches
from vlane.golden.switches.per_vl_switch import PerVLSwitches
from vlane.golden.switches.trunk_members import drawn_member

Switches = (
    IBSwitches
    | FasterIBSwitches
    | FifoSwitches
    | PerVLSwitches
    | PerVLFifoSwitches
    | FlitSwitches
    | FastSwitches
    | OPASwitches
    | OPAFlitSwitches
)
INFINIBAND_SWITCHES = (
    IBSwitches,
    FasterIBSwitches,
    FifoSwitches,
    PerVLSwitches,
    PerVLFifoSwitches,
    FlitSwitches,
    FastSwitches,
)
"""State types of InfiniBand switches, one for each form of allocation and crossbar."""
OMNI_PATH_SWITCHES = (OPASwitches, OPAFlitSwitches)
"""State types of Omni-Path switches, one for each form of crossbar."""


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, vl_tables.route), **dict.fromkeys(OMNI_PATH_SWITCHES, opa_switch.route)})
def route(switches: Any, port: int, dlid: int, sl: int, lane: int, channel: int) -> LookUp:
    """Return the output, outgoing VL and channel of a packet that reached an input on a lane."""


@by_type(
    {
        FifoSwitches: fifo_switch.allocate_one,
        PerVLSwitches: per_vl_switch.allocate_one,
        PerVLFifoSwitches: per_vl_fifo_switch.allocate_one,
        OPASwitches: opa_switch.allocate_one,
        OPAFlitSwitches: opa_flit_switch.allocate_one,
    }
)
def _allocate_one(
    switches: Any,
    out_ports: OutputPorts,
    packets: Packets,
    switch: int,
    cycle: int,
    grants: Records[Grant],
    grant_count: int,
) -> int:
    """Run a cycle of a switch's allocation.

    The grants are appended to the first ``grant_count`` grants; return the new count.
    """


@inner
def _allocate_each(switches: Any, out_ports: OutputPorts, packets: Packets, cycle: int, grants: Records[Grant]) -> int:
    inputs, count = switches.inputs, 0
    more = inputs.port_bits - inputs.word_bits
    for switch in range(len(inputs.drop_counts)):
        any_waits = inputs.nonempty_inputs[switch << more]
        for word in range((switch << more) + 1, (switch + 1) << more):
            any_waits |= inputs.nonempty_inputs[word]
        if any_waits != 0:
            count = _allocate_one(switches, out_ports, packets, switch, cycle, grants, count)
    return count


_TOGETHER = (IBSwitches, FasterIBSwitches)
_PER_VL = (PerVLSwitches, PerVLFifoSwitches)
_ONE_BY_ONE = (FifoSwitches, *_PER_VL, *OMNI_PATH_SWITCHES)


@by_type(
    {
        **dict.fromkeys(_TOGETHER, ib_switch.allocate),
        FlitSwitches: flit_switch.allocate,
        FastSwitches: fast_switch.allocate,
        **dict.fromkeys(_ONE_BY_ONE, _allocate_each),
    }
)
def allocate(switches: Any, out_ports: OutputPorts, packets: Packets, cycle: int, grants: Records[Grant]) -> int:
    """Run an allocation cycle of all switches, schedule the granted packets, and return the number of grants.

    Parameters
    ----------
    grants : Records of Grant, (maximum number of grants per cycle,)
        Output: the grants.
    """


@by_type({IBSwitches: ib_switch.list_waiting}, default=True)
def list_waiting(switches: Any) -> None:
    """List the inputs with a packet before the packets of a cycle arrive, if ``request_on_arrival`` needs the list."""


@by_type({IBSwitches: ib_switch.request_on_arrival}, default=True)
def request_on_arrival(switches: Any, out_ports: OutputPorts, port: int, lane: int, cycle: int) -> None:
    """Request the output of a packet that arrived at an empty input on a VL, after ``list_waiting``."""


@inner
def _freed_one_block(switches: Any, field: Packet) -> tuple[int, int]:
    return 1, 1


@by_type(dict.fromkeys((FlitSwitches, OPAFlitSwitches), _freed_one_block), default=True)
def freed_by_grant(switches: Any, field: Packet) -> tuple[int, int]:
    """Return the flits and blocks of input-buffer space that the grant of a packet frees."""
    return field.flits, field.blocks


@inner
def _vls_cross_independently(switches: Any) -> bool:
    return True


@by_type(dict.fromkeys(_PER_VL, _vls_cross_independently), default=True)
def vls_cross_independently(switches: Any) -> bool:
    """Return whether packets of several VLs of one input can cross in the same cycle."""
    return False


@inner
def _has_single_arrival(switches: Any) -> bool:
    return True


@by_type(dict.fromkeys((*_TOGETHER, FifoSwitches, FlitSwitches), _has_single_arrival), default=True)
def has_single_arrival(switches: Any) -> bool:
    """Return whether at most one packet per cycle reaches an output from the crossbar."""
    return False


@inner
def _fast_delay(switches: FastSwitches) -> int:
    return fast_switch.SENT


@by_type({FastSwitches: _fast_delay}, default=True)
def send_delay(switches: Any) -> int:
    """Return by how many cycles a started packet is on the link later than in the exact form."""
    return 0


@by_type({OPASwitches: opa_switch.store}, default=True)
def store_in_centre(switches: Any, packets: Packets, buffer: int, packet: int) -> None:
    """Append a packet to its queue in a central buffer, for the second allocation."""


@by_type(dict.fromkeys(OMNI_PATH_SWITCHES, opa_switch.central_buffers), default=True)
def central_buffers(switches: Any) -> int:
    """Return the number of central buffers per switch, or 0 for InfiniBand switches."""
    return 0


@inner
def _no_central_heads(switches: Any) -> NDArray[np.int64]:
    return np.zeros((0, switches.inputs.queues.queue.shape[1]), np.int64)


@by_type(
    {
        **dict.fromkeys(INFINIBAND_SWITCHES, _no_central_heads),
        OPASwitches: opa_switch.central_heads,
        OPAFlitSwitches: opa_flit_switch.central_heads,
    }
)
def central_heads(switches: Any) -> NDArray[np.int64]:
    """Return the head packet of each central-buffer queue as an array (buffers, VLs), or -1 for none."""


@by_type(dict.fromkeys(OMNI_PATH_SWITCHES, opa_switch.buffer_between), default=True)
def buffer_between(switches: Any, port: int, output: int) -> int:
    """Return the central buffer between an input and an output, or -1 for none."""
    return -1


@by_type(dict.fromkeys(OMNI_PATH_SWITCHES, opa_switch.channels), default=True)
def channels_of(switches: Any) -> int:
    """Return the number of channels that the switch tables distinguish, 1 without channels."""
    return 1


@inner
def receive_packet(switches: Any, packets: Packets, port: int, packet: int, cycle: int) -> bool:
    """Route a packet and append it to its input queue (IBS-1)."""
    field, inputs = packets.pool[packet], switches.inputs
    output, lane, channel = route(switches, port, field.dlid, field.sl, field.lane, field.channel)
    if output != DROPPED:
        switch, local = switch_of(inputs, port), local_port(inputs, port)
        output = drawn_member(inputs.trunk_choice, packets, packet, switch, port - local, local, output, cycle - ROUTED)
    return queue_routed(inputs, packets, port, packet, (output, lane, channel), cycle)


def _vl_row(switches: Any, switch: int, port: int, sl: int) -> bytes:
    vl: NDArray[np.uint8] = switches.tables.vl[switches.tables.row[switch, port]]
    return (vl if switches.tables.by_lane else vl[:, sl]).tobytes()


_ROWS: dict[type, Callable[[Any, int, int, int], bytes]] = {
    **dict.fromkeys(INFINIBAND_SWITCHES, _vl_row),
    **dict.fromkeys(OMNI_PATH_SWITCHES, opa_switch.table_row),
}


def table_row(switches: Switches, switch: int, port: int, sl: int) -> bytes:
    """Return a key that is equal for inputs with identical routes for packets of this SL."""
    return _ROWS[type(switches)](switches, switch, port, sl)


INFINIBAND_MAKERS: dict[tuple[str, str], Callable[..., Switches]] = {
    ("turns", "multiplexed"): ib_switch.new_ib_switches,
    ("fifo", "multiplexed"): fifo_switch.new_fifo_switches,
    ("turns", "per_vl"): per_vl_switch.new_per_vl_switches,
    ("fifo", "per_vl"): per_vl_fifo_switch.new_per_vl_fifo_switches,
    ("turns", "flits"): flit_switch.new_flit_switches,
    ("bids", "multiplexed"): fast_switch.new_fast_switches,
}
"""Constructors of empty switches by (allocation, crossbar), with the parameters of ``new_ib_switches``."""


def infiniband_maker(allocation: str, crossbar: str, *, iterations: int = 1, speed: int = 1) -> Callable[..., Switches]:
    """Return the constructor of a switch form, with the given number of iterations and crossbar speed.

    The constructor has the parameters of ``new_ib_switches``. Only the default form supports iterations or speed
    above 1.
    """
    if iterations == speed == 1:
        return INFINIBAND_MAKERS[allocation, crossbar]
    return partial(ib_switch.new_faster_ib_switches, iterations=iterations, speed=speed)
