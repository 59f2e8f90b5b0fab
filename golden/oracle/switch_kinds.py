"""Functions of the switch oracles that depend on switch type, credit scheme or scheduler.

They are dispatched on the type of the state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.restored import restore
from vlane.golden.links.fcp_limits import FCPLimits, count_freed
from vlane.golden.links.room import BufferOccupancy, release
from vlane.golden.oracle.switch_machine import RING, SwitchMachine
from vlane.golden.oracle.words import read, write
from vlane.golden.schedulers.by_name import MODULES
from vlane.golden.schedulers.heads import Program
from vlane.golden.switches.ib_switch import FasterIBSwitches, IBSwitches
from vlane.golden.switches.kinds import INFINIBAND_SWITCHES, vls_cross_independently
from vlane.golden.switches.opa_switch import OPASwitches
from vlane.golden.switches.output_ports import send_due_fcp
from vlane.golden.switches.packets import Packet
from vlane.golden.switches.per_vl_fifo_switch import PerVLFifoSwitches
from vlane.golden.switches.per_vl_switch import PerVLSwitches
from vlane.packets.fcp import COUNTER_MODULUS
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sc import SC15, SCTable
from vlane.tables.sl2vl import SL_COUNT

_LANE, _CHANNEL_TOP, _LANE_BITS = np.uint64(60), np.uint64(51), np.uint64(15)
_SC2SC, _SC2VL_T = int(SCTable.SC2SC), int(SCTable.SC2VL_T)
_RETURNED_LANES, _RETURNED_BLOCKS = range(2)


@inner
def _vl_stamp(switches: Any, field: Packet, lane: int) -> int:
    return lane


@inner
def _channel_stamp(switches: OPASwitches, field: Packet, lane: int) -> int:
    return int(field.channel)


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, _vl_stamp), OPASwitches: _channel_stamp})
def outgoing_channel_field(switches: Any, field: Packet, lane: int) -> int:
    """Return the header field of a packet that leaves on a lane: the VL or, for Omni-Path, the channel."""


@inner
def _with_vl(switches: Any, header: Any, stamp: int) -> Any:
    return header & ~(_LANE_BITS << _LANE) | np.uint64(stamp) << _LANE


@inner
def _with_channel(switches: OPASwitches, header: Any, stamp: int) -> Any:
    kept = header & ~(_LANE_BITS << _LANE | np.uint64(1) << _CHANNEL_TOP)
    return kept | np.uint64(stamp & 15) << _LANE | np.uint64(stamp >> 4) << _CHANNEL_TOP


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, _with_vl), OPASwitches: _with_channel})
def with_channel_field(switches: Any, header: Any, stamp: int) -> Any:
    """Return a header, as an unsigned number, with its VL or channel replaced."""


@inner
def _channel(switches: OPASwitches, header: Any) -> int:
    low, top = header >> _LANE, header >> _CHANNEL_TOP & np.uint64(1)
    return int(low | top << np.uint64(4))


@by_type({OPASwitches: _channel}, default=True)
def channel_of(switches: Any, header: Any) -> int:
    """Return the channel in a header, or 0 for switches without channels."""
    return 0


@inner
def _write_sl2vl(switches: Any, ports: int, fields: NDArray[np.int64]) -> None:
    every, to_input, to_output, row = fields[1], fields[2], fields[3], fields[4]
    if to_output >= ports:
        return
    for port in range(ports):
        if every != 0 or port == to_input:
            for sl in range(SL_COUNT):
                switches.tables.vl[switches.tables.row[0, port], to_output, sl] = (row >> 4 * sl) & 15


@inner
def _write_sc(switches: OPASwitches, ports: int, fields: NDArray[np.int64]) -> None:
    table, ingress, egress, index, value = fields[1], fields[2], fields[3], fields[4], fields[5]
    if egress >= ports:
        return
    if table == _SC2SC and ingress < ports:
        switches.sc2sc[0, ingress, egress, index] = value
    elif table == _SC2VL_T:
        switches.sc2vl[0, egress, index] = UNASSIGNED if value == SC15 else value - (value > SC15)


@by_type({**dict.fromkeys(INFINIBAND_SWITCHES, _write_sl2vl), OPASwitches: _write_sc})
def write_map(switches: Any, ports: int, fields: NDArray[np.int64]) -> None:
    """Apply a program-port write to the SL2VL or channel maps."""


@inner
def _restore_ib(switches: IBSwitches, initial: IBSwitches) -> None:
    restore(switches.inputs, initial.inputs)
    restore(switches.output, initial.output)


@inner
def _restore_per_vl(switches: PerVLSwitches, initial: PerVLSwitches) -> None:
    restore(switches.inputs, initial.inputs)
    restore(switches.input_free_from, initial.input_free_from)
    restore(switches.output_free_from, initial.output_free_from)
    restore(switches.last_pair, initial.last_pair)


@inner
def _restore_per_vl_fifo(switches: PerVLFifoSwitches, initial: PerVLFifoSwitches) -> None:
    restore(switches.inputs, initial.inputs)
    restore(switches.input_free_from, initial.input_free_from)
    restore(switches.output_free_from, initial.output_free_from)
    restore(switches.requested_outputs, initial.requested_outputs)
    restore(switches.requested_lanes, initial.requested_lanes)
    restore(switches.requests, initial.requests)


@inner
def _restore_opa(switches: OPASwitches, initial: OPASwitches) -> None:
    restore(switches.inputs, initial.inputs)
    restore(switches.centre, initial.centre)
    restore(switches.write_port, initial.write_port)
    restore(switches.written, initial.written)
    restore(switches.last_candidate, initial.last_candidate)


@by_type(
    {
        IBSwitches: _restore_ib,
        FasterIBSwitches: _restore_ib,
        PerVLSwitches: _restore_per_vl,
        PerVLFifoSwitches: _restore_per_vl_fifo,
        OPASwitches: _restore_opa,
    }
)
def restore_switches(switches: Any, initial: Any) -> None:
    """Reset the input ports and the allocation."""


@by_type({FCPLimits: count_freed}, default=True)
def count_returned(remote_credit: Any, port: int, lane: int, blocks: int) -> None:
    """Add blocks that left an input buffer in the previous cycle to the port's flow-control limit."""


@inner
def _send_fcp(remote_credit: FCPLimits, machine: SwitchMachine, port: int, cycle: int) -> bool:
    outside = len(machine.switches.inputs.port) + port
    if not send_due_fcp(machine.out_ports, port, outside, cycle, 1):
        return False
    lane = int(remote_credit.end[port].last_lane)
    fcp = machine.state.limit_sent[port, (cycle + 1) % RING]
    fcp[0], fcp[1] = lane + 1, remote_credit.limit_sent[port, lane]
    return True


@by_type({FCPLimits: _send_fcp}, default=True)
def send_fcp(remote_credit: Any, machine: SwitchMachine, port: int, cycle: int) -> bool:
    """Send a due flow-control packet if the port is free and return whether one is sent."""
    return False


@inner
def _receive_returns(
    remote_credit: BufferOccupancy, machine: SwitchMachine, input_words: NDArray[np.uint64], port: int
) -> None:
    received, places = machine.received_credit[port], machine.credit_in_places
    received[0] = received[1] = 0
    if vls_cross_independently(machine.switches):
        lanes = read(input_words, places, port)
        for lane in range(remote_credit.lane.shape[1]):
            if remote_credit.lane[port, lane].blocks != 0:
                received[0] |= lanes & 1 << lane
        received[1] = 1
        return
    blocks, lane = read(input_words, places, 2 * port), read(input_words, places, 2 * port + 1)
    if lane < remote_credit.lane.shape[1]:
        received[0], received[1] = 1 << lane, min(blocks, int(remote_credit.lane[port, lane].blocks))


@inner
def _receive_limits(
    remote_credit: FCPLimits, machine: SwitchMachine, input_words: NDArray[np.uint64], port: int
) -> None:
    received, places = machine.received_credit[port], machine.credit_in_places
    valid, lane = read(input_words, places, 3 * port), read(input_words, places, 3 * port + 1)
    received[0], received[1] = -1, read(input_words, places, 3 * port + 2)
    if valid != 0 and lane < len(remote_credit.partition_blocks):
        received[0] = lane


@by_type({BufferOccupancy: _receive_returns, FCPLimits: _receive_limits})
def receive_credit(remote_credit: Any, machine: SwitchMachine, input_words: NDArray[np.uint64], port: int) -> None:
    """Store the credits that a port receives in a cycle."""


@inner
def _apply_returns(remote_credit: BufferOccupancy, received: Any, port: int) -> None:
    lanes = received[0]
    while lanes != 0:
        release(remote_credit, port, lowest_member(lanes), received[1])
        lanes &= lanes - 1


@inner
def _apply_limit(remote_credit: FCPLimits, received: Any, port: int) -> None:
    if received[0] >= 0:
        remote_credit.limit[port, received[0]] = received[1]


@by_type({BufferOccupancy: _apply_returns, FCPLimits: _apply_limit})
def apply_received_credit(remote_credit: Any, received: Any, port: int) -> None:
    """Apply the stored credits, which count from the next cycle on."""


@inner
def _write_returns(
    remote_credit: BufferOccupancy, machine: SwitchMachine, port: int, slot: int, output_words: NDArray[np.uint64]
) -> None:
    returned = machine.state.freed_lanes[port, slot]
    if returned[_RETURNED_LANES] == 0:
        return
    if vls_cross_independently(machine.switches):
        write(output_words, machine.credit_out_places, port, returned[_RETURNED_LANES])
    else:
        write(output_words, machine.credit_out_places, 2 * port, returned[_RETURNED_BLOCKS])
        write(output_words, machine.credit_out_places, 2 * port + 1, lowest_member(returned[_RETURNED_LANES]))
    returned[_RETURNED_LANES] = 0


@inner
def _write_limits(
    remote_credit: FCPLimits, machine: SwitchMachine, port: int, slot: int, output_words: NDArray[np.uint64]
) -> None:
    machine.state.freed_lanes[port, slot, _RETURNED_LANES] = 0
    fcp = machine.state.limit_sent[port, slot]
    if fcp[0] != 0:
        write(output_words, machine.credit_out_places, 3 * port, 1)
        write(output_words, machine.credit_out_places, 3 * port + 1, fcp[0] - 1)
        write(output_words, machine.credit_out_places, 3 * port + 2, fcp[1] % COUNTER_MODULUS)
        fcp[0] = 0


@by_type({BufferOccupancy: _write_returns, FCPLimits: _write_limits})
def write_credit_outputs(
    remote_credit: Any, machine: SwitchMachine, port: int, slot: int, output_words: NDArray[np.uint64]
) -> None:
    """Write the credits that a port sends in a cycle to the output words."""


@by_type({module.State: module.reset for module in MODULES})
def reset_scheduler(state: Any) -> None:
    """Reset a scheduler."""


@by_type({module.State: module.program for module in MODULES})
def program(state: Any, write: Program) -> None:
    """Apply a program-port write to a scheduler."""


def _requests(module: Any) -> Any:
    if not hasattr(module, "SWAP_PENDING"):
        return _no_swap
    place = module.SWAP_PENDING

    @inner
    def requests(state: Any) -> None:
        state.regs[place] = 1

    return requests


@inner
def _no_swap(state: Any) -> None:
    """Do nothing: the scheduler has one table."""


@by_type({module.State: _requests(module) for module in MODULES})
def request_swap(state: Any) -> None:
    """Request an exchange of the tables in the scheduler's next ready cycle, possibly this one."""
