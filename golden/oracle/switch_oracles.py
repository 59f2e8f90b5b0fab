"""Oracles of the InfiniBand and the Omni-Path switch: state after power-on, and ports."""

from __future__ import annotations

import numpy as np

from vlane.credits.credit_schemes import CREDIT_SCHEMES, RETURNS
from vlane.errors import InputError
from vlane.golden.compiler.records import new_records
from vlane.golden.links.fcp_limits import new_limits
from vlane.golden.links.remote_credit import RemoteCredit
from vlane.golden.links.returns import new_returns
from vlane.golden.links.room import BufferOccupancy, new_occupancy
from vlane.golden.oracle.egress import own_ports_of
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import RESET, Port, bits_of, places, ports_of
from vlane.golden.oracle.switch import switch_cycle
from vlane.golden.oracle.switch_machine import (
    RING,
    RULES,
    SLOTS_LEFT,
    ArrivingPacket,
    OutgoingFlit,
    SwitchMachine,
    SwitchState,
)
from vlane.golden.oracle.words import WORD_BITS
from vlane.golden.schedulers.bank import new_bank
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.switches.inputs import Grant, port_bits_for
from vlane.golden.switches.kinds import Switches, infiniband_maker
from vlane.golden.switches.opa_switch import new_opa_switches
from vlane.golden.switches.output_ports import OutputPorts, new_output_ports
from vlane.golden.switches.packets import new_packets
from vlane.golden.switches.vl_tables import tables_with_row_per_input
from vlane.packets.drop_cause import DropCause
from vlane.packets.fcp import COUNTER_BITS
from vlane.schedulers.registry import SCHEDULERS
from vlane.switches.mports import mports_of
from vlane.switches.switch_kinds import EXACT, FAST
from vlane.switches.switch_parameters import SwitchParameters
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sc import SC15, SC_COUNT, SCTable
from vlane.tables.sl2vl import SL_COUNT

_FIELDS = ("valid", "vl", "first", "last", "data")
_LFT = ("lft__enable", "lft__top", "lft__lid", "lft__port")
_SC_BITS, _PORT_BITS, _WRITTEN = 5, 6, 10


def switch_oracle(parameters: SwitchParameters) -> Oracle:
    """Return the oracle of the switch that the parameters describe.

    Raises
    ------
    InputError
        If the switch is of the fast form, which has no oracle.
    """
    if parameters.switch_form.late:
        raise InputError("form", f"{EXACT} for an oracle", FAST)
    ports, by_fcps = parameters.ports, CREDIT_SCHEMES[parameters.get("credit", RETURNS.name)].by_fcps
    inputs, outputs = ports_of(*_inputs(parameters, fcp=by_fcps)), ports_of(*_outputs(parameters, fcp=by_fcps))
    link_ports = ("fcp_rx", "fcp_tx") if by_fcps else ("far_returned", "returned")
    apart = parameters.switch_form.vls_apart
    fields = ("valid", "vl", "limit") if by_fcps else ("blocks",) if apart else ("blocks", "vl")
    program = [f"schedule__{name}" for name in ("enable", *_program_names(parameters))]
    switches, out_ports, state = _initial_state(parameters, with_fcps=by_fcps)
    machine = SwitchMachine(
        switches=switches,
        reset_switches=switches,
        out_ports=out_ports,
        reset_ports=out_ports,
        state=state,
        reset_state=state,
        lft=np.full(parameters.lids, UNASSIGNED, np.uint8),
        written=np.zeros((4, _WRITTEN), np.int64),
        flits=np.zeros((len(state.next_slot), parameters.data_bits // WORD_BITS), np.uint64),
        received_credit=np.zeros((ports, 2), np.int64),
        grants=new_records(Grant, ports * parameters.data_vls if apart else 2 * ports + 2),
        schedule_places=np.concatenate(
            [places(inputs, program), *(bits_of(inputs, name, ports) for name in ("schedule_ports", "swap"))]
        ),
        lft_places=places(inputs, _LFT),
        map_places=places(inputs, [port.name for port in inputs if port.name.startswith(("sl2vl__", "sc__"))]),
        rx=places(inputs, [f"rx__{port}__{name}" for port in range(ports) for name in _FIELDS]),
        credit_in_places=places(
            inputs, [f"{link_ports[0]}__{port}__{name}" for port in range(ports) for name in fields]
        ),
        ready=np.concatenate([bits_of(inputs, "ready", ports), places(inputs, ["rst"])]),
        tx=places(outputs, [f"tx__{port}__{name}" for port in range(ports) for name in _FIELDS]),
        credit_out_places=places(
            outputs, [f"{link_ports[1]}__{port}__{name}" for port in range(ports) for name in fields]
        ),
        dropped_places=places(outputs, ["dropped"]),
        data_bits=parameters.data_bits,
        rules=np.zeros(len(RULES), np.int64),
    )
    return Oracle(machine, switch_cycle, inputs, outputs, RULES)


def _program_names(parameters: SwitchParameters) -> list[str]:
    """Return the fields of the schedulers' program port in the order of a write.

    Without a program port, return four empty names.
    """
    program = own_ports_of(parameters.scheduler, parameters.of_scheduler()).program
    return [port.name.removeprefix("program__") for port in program] or [""] * 4


def _inputs(parameters: SwitchParameters, *, fcp: bool) -> list[Port]:
    ports, kind = range(parameters.ports), parameters.kind
    found = [RESET, *_flits(parameters, "rx", "arrives")]
    for port in ports:
        found += (
            _limits(f"fcp_rx__{port}", "arrives")
            if fcp
            else _returns(parameters, f"far_returned__{port}", "the next node's")
        )
    found += [
        Port("ready", 1, len(ports), "Bit per output: a packet may start on the link in this cycle."),
        Port("lft__enable", 1, 1, "Write the forwarding table in this cycle."),
        Port("lft__top", 1, 1, "Write the top of the forwarding table, taken from lid, instead of an entry."),
        Port("lft__lid", 16, 1, "LID of the entry, or the new top; an absent entry is not written."),
        Port("lft__port", 8, 1, "Output port of the LID, from 1 on; 0 and 255 drop."),
        *(_sc_ports() if kind.by_channel else _sl2vl_ports()),
    ]
    program = own_ports_of(parameters.scheduler, parameters.of_scheduler()).program
    if program:
        found += [
            Port("schedule__enable", 1, 1, "Write the schedulers' tables in this cycle."),
            *(Port(p.name.replace("program__", "schedule__"), p.bits, 1, p.meaning, p.codes) for p in program),
            Port("schedule_ports", 1, len(ports), "Bit per output: the output's scheduler takes the write."),
        ]
    if SCHEDULERS[parameters.scheduler].swaps:
        found.append(Port("swap", 1, len(ports), "Bit per output: request an exchange of the scheduler's tables."))
    return found


def _outputs(parameters: SwitchParameters, *, fcp: bool) -> list[Port]:
    found = list(_flits(parameters, "tx", "leaves"))
    for port in range(parameters.ports):
        found += (
            _limits(f"fcp_tx__{port}", "leaves") if fcp else _returns(parameters, f"returned__{port}", "this input's")
        )
    return [
        *found,
        Port("dropped", 3, parameters.ports, "Drop cause of a packet that arrived two cycles ago.", DropCause),
    ]


def _flits(parameters: SwitchParameters, name: str, does: str) -> list[Port]:
    return [
        port
        for number in range(parameters.ports)
        for port in (
            Port(f"{name}__{number}__valid", 1, 1, f"A flit {does}."),
            Port(f"{name}__{number}__vl", parameters.kind.vl_bits, 1, "Lane of the flit."),
            Port(f"{name}__{number}__first", 1, 1, "The flit is the first of a packet."),
            Port(f"{name}__{number}__last", 1, 1, "The flit is the last of a packet."),
            Port(
                f"{name}__{number}__data",
                parameters.data_bits,
                1,
                "Data of the flit, first byte in the most significant bits; a packet begins with its header.",
            ),
        )
    ]


def _returns(parameters: SwitchParameters, name: str, whose: str) -> list[Port]:
    if parameters.switch_form.vls_apart:
        return [Port(f"{name}__blocks", parameters.data_vls, 1, f"Bit per lane: a block left {whose} buffer.")]
    return [
        Port(f"{name}__blocks", parameters.inner_flits.bit_length(), 1, f"Blocks that left {whose} buffer."),
        Port(f"{name}__vl", parameters.kind.vl_bits, 1, "Lane of the blocks."),
    ]


def _limits(name: str, does: str) -> list[Port]:
    return [
        Port(f"{name}__valid", 1, 1, f"A flow-control packet {does}."),
        Port(f"{name}__vl", 4, 1, "Lane of the flow-control packet."),
        Port(f"{name}__limit", COUNTER_BITS, 1, "Blocks that may be sent since the start, modulo 4096."),
    ]


def _sl2vl_ports() -> list[Port]:
    return [
        Port("sl2vl__enable", 1, 1, "Write SL2VL in this cycle."),
        Port("sl2vl__every_input", 1, 1, "The row is written for every input."),
        Port("sl2vl__input", _PORT_BITS, 1, "Without every_input: the input whose row is written."),
        Port("sl2vl__output", _PORT_BITS, 1, "Output whose row is written; an absent one writes nothing."),
        Port("sl2vl__row", 64, 1, "Lanes of the 16 SLs, 4 bits each, SL 0 lowest; 15 drops."),
    ]


def _sc_ports() -> list[Port]:
    return [
        Port("sc__enable", 1, 1, "Write a map in this cycle."),
        Port("sc__table", 3, 1, "Map that is written; only SC2SC and SC2VL_T matter in a switch.", SCTable),
        Port("sc__ingress", _PORT_BITS, 1, "Port of SC2SC; an absent one writes nothing."),
        Port("sc__egress", _PORT_BITS, 1, "Port of SC2SC and SC2VL_T; an absent one writes nothing."),
        Port("sc__index", _SC_BITS, 1, "Channel whose entry is written."),
        Port("sc__value", _SC_BITS, 1, "Channel or lane that the channel is mapped to."),
    ]


def _initial_state(parameters: SwitchParameters, *, with_fcps: bool) -> tuple[Switches, OutputPorts, SwitchState]:
    """Return golden's state after power-on: no routes, identity maps, schedulers with empty tables."""
    ports, lanes = parameters.ports, parameters.data_vls
    ends = 1 << port_bits_for(ports)
    of_scheduler = parameters.of_scheduler()
    module = module_of(parameters.scheduler, of_scheduler.get("form", ""))
    out_ports = new_output_ports(
        buffer=_rooms(parameters, ends),
        remote_credit=_remote(parameters, ends, with_fcps=with_fcps),
        returns=new_returns(end_count=ends, rows=1, flight=1, flit_shift=0, speed=parameters.inner_flits),
        bank=new_bank(module.make_state(**of_scheduler), ends),
        largest=(parameters.largest,) * lanes,
    )
    inside = mports_of(ports) * int(parameters["central_blocks"]) if parameters.kind.has_centre else 0
    pool = ports * (2 * parameters.blocks + 4) + inside
    slots = pool + ports * (parameters.largest + 4)
    regs = np.zeros(4, np.int64)
    regs[SLOTS_LEFT] = slots
    state = SwitchState(
        packets=new_packets(pool),
        input_buffers=_rooms(parameters, ports),
        arriving=new_records(ArrivingPacket, ports),
        tx=new_records(OutgoingFlit, ports, RING),
        freed_lanes=np.zeros((ports, RING, 2), np.int64),
        limit_sent=np.zeros((ports, RING, 2), np.int64),
        dropped=np.zeros((ports, RING), np.int64),
        first_slot=np.zeros(pool, np.int64),
        next_slot=np.array([*range(1, slots), -1], np.int64),
        regs=regs,
    )
    state.arriving["slot"] = state.arriving["packet"] = -1
    return _switches(parameters), out_ports, state


def _switches(parameters: SwitchParameters) -> Switches:
    ports, lanes = parameters.ports, parameters.data_vls
    lft = np.full((1, parameters.lids), UNASSIGNED, np.uint8)
    if not parameters.kind.by_channel:
        vl = np.broadcast_to((np.arange(SL_COUNT) % lanes).astype(np.uint8), (1, ports, ports, SL_COUNT)).copy()
        maker = infiniband_maker(
            parameters.switch_form.allocation, parameters.switch_form.crossbar, speed=parameters["speed"]
        )
        return maker(lanes=lanes, lft=lft, tables=tables_with_row_per_input(vl, by_lane=False))
    channels = np.arange(SC_COUNT, dtype=np.uint8)
    lane_of = np.where(channels == SC15, UNASSIGNED, channels - (channels > SC15)).astype(np.uint8)
    central = new_occupancy(
        buffers=mports_of(ports),
        blocks=parameters["central_blocks"],
        minimum=(parameters["central_minimum"],) * lanes,
        maximum=(parameters["central_maximum"],) * lanes,
    )
    return new_opa_switches(
        central=central,
        lft=lft,
        sc2sc=np.broadcast_to(channels, (1, ports, ports, SC_COUNT)).copy(),
        sc2vl=np.broadcast_to(lane_of, (1, ports, SC_COUNT)).copy(),
    )


def _rooms(parameters: SwitchParameters, buffers: int) -> BufferOccupancy:
    return new_occupancy(
        buffers=buffers,
        blocks=parameters.blocks,
        minimum=(parameters.minimum,) * parameters.data_vls,
        maximum=(parameters.maximum,) * parameters.data_vls,
    )


def _remote(parameters: SwitchParameters, end_count: int, *, with_fcps: bool) -> RemoteCredit:
    """Return the outputs' credits for the far ends.

    With flow-control packets, the co-simulated far ends have entries, too.
    """
    if not with_fcps:
        return _rooms(parameters, end_count)
    return new_limits(
        end_count=2 * end_count,
        whole=(parameters.minimum,) * parameters.data_vls,
        fcp_blocks=parameters["fcp_blocks"] or None,
        period=parameters["fcp_period"],
        sideband=False,
        flight=1,
    )
