"""Switches in hardware for a study's network: parameters, cables, tables and faults."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from vlane.congestion.cc_marker import OF_INPUTS, OF_OUTPUT
from vlane.credits.credit_schemes import FCP
from vlane.errors import InputError
from vlane.golden.network.congestion import Congestion
from vlane.golden.network.runs import Change
from vlane.golden.network.state import Network
from vlane.golden.switches.packets import NOBODY
from vlane.golden.topologies.wiring import NOWHERE
from vlane.parameters import refused_parameter
from vlane.schedulers.registry import LINE_RATE, SCHEDULERS
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.scenario.equipment import captured_paces
from vlane.sim_top.scenario.faults import faults_of, in_order
from vlane.sim_top.scenario.setting_writes import setting_writes
from vlane.sim_top.scenario.swaps import swaps_of, writes_of_swap
from vlane.sim_top.scenario.world import World
from vlane.study.networks import trunk_choice_of
from vlane.switches.switch_kinds import SwitchKind
from vlane.switches.switch_programs import (
    TableWrite,
    congestion_write,
    lft_write,
    lft_writes,
    schedule_writes,
    top_write,
)
from vlane.tables.lft import FIRST_MULTICAST, UNASSIGNED
from vlane.tb.machinery.native.packing import put_writes
from vlane.tb.machinery.native.rows import Port, Words, row_layout, row_words
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.networks.hardware import WORDS, WORDS_WITH_BTH, Hardware, new_hardware, store_table_write
from vlane.tb.switches.stimulus_switch import switch_elements
from vlane.units import BLOCK_BYTES


class Cabled(NamedTuple):
    """Idle network whose cables lead to switches in hardware.

    Parameters
    ----------
    net : Network
        Golden part of the network.
    hardware : Hardware
        Interface to the devices; the devices and their step function are still unset.
    faults : deque of Change
        Faults of the study.
    boots : list of array of uint64, (writes, words)
        Rows that program each switch, by switch.
    """

    net: Network
    hardware: Hardware
    faults: deque[Change]
    boots: list[Words]


def switch_block(world: World) -> str:
    """Return the name of the block of a study's switches."""
    return world.routes.kind.block


def _check_rates(world: World) -> None:
    """Reject cables of different rates, which switches in hardware do not support."""
    slow = next((number for number, each in enumerate(world.study.cable) if each.relative_rate != 1), None)
    if slow is not None:
        must = "1 for switches in hardware"
        raise InputError(f"cable.{slow}.relative_rate", must, world.study.cable[slow].relative_rate)
    if paces := captured_paces(world.rates):
        switch, port = next(iter(paces))
        captured = f"{world.rates[switch, port]} at {world.topology.show_switch(switch)} port {port + 1}"
        problem = f": cables of different rates ({captured}) do not exist for switches in hardware"
        raise InputError("network", "a capture whose cables have one rate", captured, problem=problem)


def hardware_parameters(world: World) -> dict[str, Any]:
    """Return the hardware's parameters for a study's switches.

    Raises
    ------
    InputError
        If the hardware does not support a setting of the study.
    """
    study, settings, buffers, kind = world.study, world.settings, world.buffers, world.routes.kind
    _check_form(kind, study.switch.allocation, study.switch.crossbar)
    limits: tuple[tuple[str, int | str, int | str], ...] = (
        ("network.trunk_choice", trunk_choice_of(study.network), "lid"),
        ("switch.iterations", study.switch.iterations, 1),
        ("link.flit_bytes", study.link.flit_bytes, BLOCK_BYTES),
    )
    for field, given, only in limits:
        if given != only:
            raise InputError(field, f"{only} for switches in hardware", given)
    if world.routes.by_lane:
        routing = getattr(study.network, "routing", "")
        problem = f": switches in hardware map SL to VL, but {routing} maps the incoming VL"
        raise InputError("network.routing", "one with VL tables by SL", routing, problem=problem)
    levels, most = world.routes.nic_vl.shape[1], world.routes.kind.levels
    if levels > most:
        raise InputError("voqsw.sls", f"1 to {most} for switches in hardware", levels)
    if len(world.routes.rule):
        most, count = FIRST_MULTICAST - 1, int(world.routes.lids[:, 1].sum())
        problem = f": {count} LIDs exceed the limit of switches in hardware, {most}"
        raise InputError("network", f"of up to {most} LIDs", count, problem=problem)
    if study.link.credits not in kind.hardware_credits:
        must = f"{' or '.join(kind.hardware_credits)} for switches in hardware"
        raise InputError("link.credits", must, study.link.credits)
    if settings.scheduler not in SCHEDULERS:
        problem = f": {settings.scheduler} has no hardware"
        raise InputError("scheduler.name", "a scheduler with hardware", settings.scheduler, problem=problem)
    _check_rates(world)
    central = world.central or buffers
    for field, values, hint in (
        ("buffers.minimum_blocks", buffers.minimum, ""),
        ("buffers.maximum_blocks", buffers.maximum, ""),
        ("buffers.largest_blocks", buffers.largest, "given, "),
        ("switch.central_minimum_blocks", central.minimum, ""),
        ("switch.central_maximum_blocks", central.maximum, ""),
    ):
        if len(set(values)) > 1:
            raise InputError(field, f"{hint}equal for all VLs for switches in hardware", list(values))
    if world.routes.lft.ndim > 2:
        problem = ": its tables depend on the input port, but a switch in hardware has one forwarding table"
        raise InputError("network.routing", "another routing", "by input", problem=problem)
    entries, line_rate = settings.parameters.get("entries"), settings.parameters.get("form") == LINE_RATE
    fixed = SCHEDULERS[settings.scheduler].switch_parameters(entries or 1, line_rate=line_rate)
    if settings.parameters != fixed:
        raise InputError("scheduler.parameters", f"{fixed} for switches in hardware", settings.parameters)
    parameters = {
        "ports": world.topology.ports,
        "data_vls": world.data_vls,
        "blocks": buffers.blocks,
        "minimum": buffers.minimum[0],
        "maximum": buffers.maximum[0],
        "largest": buffers.largest[0],
        "scheduler": settings.scheduler,
        "entries": entries or 1,
        "line_rate": line_rate,
        "lids": max(2, world.routes.lft.shape[1]),
        "data_bits": 64 * (WORDS if world.congestion is None else WORDS_WITH_BTH),
    }
    if len(kind.hardware_forms) > 1:
        form = kind.form(study.switch.allocation, study.switch.crossbar)
        parameters |= form.parameters if form is not None else {}
    if kind.hardware_speed > 1:
        parameters["speed"] = study.switch.speed
    if len(kind.hardware_credits) > 1:
        link = study.link
        parameters |= {"credit": link.credits, "fcp_blocks": link.fcp_blocks or 0, "fcp_period": link.fcp_period_cycles}
    parameters |= _marking(world.congestion)
    if world.central:
        parameters |= {
            "central_blocks": world.central.blocks,
            "central_minimum": world.central.minimum[0],
            "central_maximum": world.central.maximum[0],
        }
    try:
        return dict(BLOCKS[switch_block(world)].shape(**parameters))
    except InputError as error:
        raise refused_parameter(error, "hardware: ") from None


def period_of(parameters: Mapping[str, Any]) -> int:
    """Return a number of cycles after which the hardware's periodic actions coincide again.

    The actions are flow-control packets, and the sweep over inputs and lanes that measures occupancy.
    """
    told = parameters["fcp_period"] if parameters.get("credit") == FCP.name else 1
    by_inputs = parameters.get("measure") == OF_INPUTS
    return math.lcm(told, parameters["ports"] * parameters["data_vls"] if by_inputs else 1)


def _check_form(kind: SwitchKind, allocation: str, crossbar: str) -> None:
    """Reject a form of switch that does not exist in hardware."""
    forms = kind.hardware_forms
    crossbars = dict.fromkeys(each.crossbar for each in forms)
    if crossbar not in crossbars:
        raise InputError("switch.crossbar", f"{' or '.join(crossbars)} for switches in hardware", crossbar)
    allocations = [each.allocation for each in forms if each.crossbar == crossbar]
    if allocation not in allocations:
        must = f"{' or '.join(allocations)} with crossbar {crossbar} for switches in hardware"
        raise InputError("switch.allocation", must, allocation)


def cable(
    world: World, net: Network, switches: Sequence[int], parameters: Mapping[str, Any], device_ports: Sequence[Port]
) -> Cabled:
    """Connect an idle network to switches in hardware whose components have these ports."""
    ports, bits, far = parameters["ports"], net.switches.inputs.port_bits, net.wiring.cable["far_input"]
    words = parameters["data_bits"] // 64
    inputs, outputs = (row_layout(device_ports, inputs=each) for each in (True, False))
    own = np.concatenate([np.arange(ports) + (switch << bits) for switch in switches])
    peers = net.wiring.cable["peer"]
    peer, peers[own] = peers[own], NOWHERE
    for number, switch in enumerate(switches):
        for port in range(ports):
            far[far == (switch << bits) + port] = -1 - (len(net.staged_packets) + number * ports + port)
    ins, outs = switch_elements(inputs, outputs, ports=ports, words=words)
    hardware = new_hardware(
        step=0,
        device=[0] * len(switches),
        first=[switch << bits for switch in switches],
        peer=peer,
        ports=ports,
        words=words,
        lanes=parameters["data_vls"],
        ends=len(far),
        input_fields=ins,
        output_fields=outs,
        row_words=(row_words(inputs), row_words(outputs)),
    )
    boots = [_boot(world, switch, inputs, row_words(inputs), parameters) for switch in switches]
    faults = _faults_of_hardware(world, hardware, switches, inputs)
    return Cabled(
        net._replace(arriving_heads=np.full(len(switches) * ports, NOBODY, np.int64)), hardware, faults, boots
    )


def _boot(world: World, switch: int, inputs: Layout, words: int, parameters: Mapping[str, Any]) -> Words:
    """Return rows that program a switch: forwarding table, SL maps and output schedulers."""
    routes, settings = world.routes, world.settings
    ports = np.where(routes.lft[switch] == UNASSIGNED, UNASSIGNED, routes.lft[switch] + 1)
    tables = [settings.of_port.get((switch, port), settings.writes) for port in range(parameters["ports"])]
    writes = [top_write(parameters["lids"]), *lft_writes(ports)]
    writes += routes.map_writes(switch)
    if world.congestion is not None:
        writes += map(congestion_write, world.congestion.writes(world.topology, switch))
        if world.congestion.starves:
            writes += map(congestion_write, world.congestion.starvation_writes(world.topology, switch))
    writes += schedule_writes(settings.scheduler, tables, line_rate=parameters["line_rate"])
    rows = np.zeros((len(writes), words), np.uint64)
    inputs["ready"].put(rows, (1 << parameters["ports"]) - 1)
    put_writes(inputs, writes, rows)
    return rows


def _marking(given: Congestion | None) -> dict[str, Any]:
    """Return the parameters of congestion marking, empty without marking."""
    if given is None:
        return {}
    measure = OF_INPUTS if given.by_inputs else OF_OUTPUT
    return {
        "marking": True,
        "starving": given.starves,
        "measure": measure,
        **{name: getattr(given, name) for name in ("busy_blocks", "level_blocks", "idle_blocks")},
    }


def _faults_of_hardware(world: World, hardware: Hardware, switches: Sequence[int], inputs: Layout) -> deque[Change]:
    """Return the study's faults, extended by the writes to the program ports of the hardware switches."""
    found = list(faults_of(world, switches))
    for number, switch in enumerate(switches):
        written = _table_writes(world, switch)
        for cycle in sorted({*written, *(each + 1 for each in written)}):
            row = partial(store_table_write, inputs, written.get(cycle, {}), hardware.writes, number)
            found.append(Change(cycle, row))
    return in_order(found)


def _table_writes(world: World, switch: int) -> dict[int, TableWrite]:
    """Return the writes to a switch's program ports by cycle: forwarding table, schedulers, marking."""
    written: dict[int, TableWrite] = {}
    for entry in world.study.rewrite:
        if entry.switch == switch:
            written.setdefault(entry.cycle, {}).update(lft_write(entry.lid, entry.port))
    for each in setting_writes(world):
        if each.switch == switch:
            written.setdefault(each.cycle, {}).update(congestion_write(each.write))
    for swap in swaps_of(world):
        if swap.switch == switch:
            for cycle, write in writes_of_swap(swap, world.settings.scheduler).items():
                at = written.setdefault(cycle, {})
                at.update({**write, "swap": write.get("swap", 0) | at.get("swap", 0)})
    return written
