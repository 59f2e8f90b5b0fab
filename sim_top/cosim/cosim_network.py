"""A study's network with switches in hardware, against golden alone: the same packets in the same cycles."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from vlane.golden.network.network import DONE, Change, Network, run, run_to
from vlane.golden.network.wiring import NOWHERE
from vlane.golden.switches.packets import NOBODY, Packets, new_packets
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.study.faults import faults_of, in_order
from vlane.sim_top.study.simulate import StuckError
from vlane.sim_top.study.world import World, make_network
from vlane.tb.native.model import CompiledModel, compile_model
from vlane.tb.native.packing import put_writes
from vlane.tb.native.rows import Words
from vlane.tb.native.stimulus import Layout
from vlane.tb.switches.rtl_hardware import BAD_FLITS, DROPPED, WORDS, Hardware, new_hardware
from vlane.tb.switches.rtl_network import run_mixed
from vlane.tb.switches.stimulus_switch import switch_elements

from vlane.credit_schemes import FCP
from vlane.errors import InputError
from vlane.lft import UNASSIGNED
from vlane.parameters import refused_parameter
from vlane.schedulers import LINE_RATE, SCHEDULERS
from vlane.switch_programs import TableWrite, lft_write, lft_writes, schedule_writes, top_write
from vlane.units import BLOCK_BYTES

__all__ = ["MixedResult", "cosim_network", "hardware_parameters", "switch_block"]

_POOL = 1 << 14
_IDLE_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class MixedResult:
    """What both runs did.

    Parameters
    ----------
    switches : tuple of int
        Those in hardware.
    parameters : dict
        Of the hardware.
    cycles : int
        Of each run.
    deliveries : int
        Packets that golden's run delivered.
    golden_digest, mixed_digest : str
        Of every delivery and its cycle.
    bad_flits : int
        Flits that came out of the hardware other than they went in.
    dropped : int
        Packets that the hardware dropped.
    golden_dropped : int
        Packets that golden dropped at the same switches.
    golden_seconds, mixed_seconds : float
        CPU time of the runs, compilation apart.
    """

    switches: tuple[int, ...]
    parameters: Mapping[str, Any]
    cycles: int
    deliveries: int
    golden_digest: str
    mixed_digest: str
    bad_flits: int
    dropped: int
    golden_dropped: int
    golden_seconds: float
    mixed_seconds: float

    @property
    def agrees(self) -> bool:
        """Whether every delivery was the same, in the same cycle, bit for bit."""
        return self.golden_digest == self.mixed_digest and not self.bad_flits and self.dropped == self.golden_dropped


def cosim_network(
    world: World, switches: Sequence[int], parameters: Mapping[str, Any], *, cycles: int, load: float, seed: int
) -> MixedResult:
    """Run a study's network twice, once with those switches in hardware, and compare.

    Parameters
    ----------
    parameters : mapping
        Those of ``hardware_parameters``.

    Raises
    ------
    StuckError
        If nothing moves any more.
    """
    plain, packets = make_network(world, load=load, seed=seed), new_packets(_POOL)
    run(plain, packets, 0)
    start = time.thread_time()
    reason, packets = run_to(plain, packets, cycles, changes=faults_of(world))
    golden_seconds = time.thread_time() - start
    if reason != DONE:
        raise StuckError(f"cycle {int(plain.clock[0])} of golden")
    with _mixed(world, make_network(world, load=load, seed=seed), switches, parameters) as (net, hardware, faults):

        def run_on(net: Network, packets: Packets, end: int) -> int:
            return run_mixed(net, packets, hardware, end)

        packets = new_packets(_POOL)
        run_on(net, packets, 0)
        start = time.thread_time()
        reason, packets = run_to(net, packets, cycles, run_on, faults)
        mixed_seconds = time.thread_time() - start
    if reason != DONE:
        raise StuckError(f"cycle {int(net.clock[0])} with hardware")
    return MixedResult(
        switches=tuple(switches),
        parameters=parameters,
        cycles=cycles,
        deliveries=int(plain.meters.total[:, 0].sum()),
        golden_digest=f"{int(plain.meters.digest[0]):016x}",
        mixed_digest=f"{int(net.meters.digest[0]):016x}",
        bad_flits=int(hardware.counts[BAD_FLITS]),
        dropped=int(hardware.counts[DROPPED]),
        golden_dropped=int(plain.switches.inputs.drops[list(switches)].sum()),
        golden_seconds=golden_seconds,
        mixed_seconds=mixed_seconds,
    )


def switch_block(world: World) -> str:
    """Return the block that a study's switches are."""
    return world.routes.kind.block


def hardware_parameters(world: World) -> dict[str, Any]:
    """Return the hardware's parameters for a study's switches.

    Raises
    ------
    InputError
        If the study asks for what the hardware has not.
    """
    study, settings, buffers, kind = world.study, world.settings, world.buffers, world.routes.kind
    for field, value, must in (
        ("switch.allocation", study.switch.allocation, "turns"),
        ("switch.crossbar", study.switch.crossbar, "multiplexed"),
        ("link.flit_bytes", study.link.flit_bytes, BLOCK_BYTES),
    ):
        if value != must:
            raise InputError(field, f"{must} for switches in hardware", value)
    if world.routes.by_lane:
        raise InputError(
            "network.routing",
            "one whose VL tables go by SL, for switches in hardware",
            getattr(study.network, "routing", ""),
        )
    if study.link.credits not in kind.hardware_credits:
        must = f"{' or '.join(kind.hardware_credits)} for switches in hardware"
        raise InputError("link.credits", must, study.link.credits)
    if settings.scheduler not in SCHEDULERS:
        raise InputError("scheduler.name", "one that has hardware, for switches in hardware", settings.scheduler)
    for field, values, hint in (
        ("buffers.minimum_blocks", buffers.minimum, ""),
        ("buffers.maximum_blocks", buffers.maximum, ""),
        ("buffers.largest_blocks", buffers.largest, "given, "),
    ):
        if len(set(values)) > 1:
            raise InputError(field, f"{hint}the same for every VL, for switches in hardware", list(values))
    entries, line_rate = settings.parameters.get("entries"), settings.parameters.get("form") == LINE_RATE
    fixed = SCHEDULERS[settings.scheduler].switch_parameters(entries or 1, line_rate=line_rate)
    if settings.parameters != fixed:
        raise InputError("scheduler.parameters", f"{fixed} for switches in hardware", settings.parameters)
    parameters = {
        "ports": world.topology.ports, "data_vls": world.data_vls, "blocks": buffers.blocks,
        "minimum": buffers.minimum[0], "maximum": buffers.maximum[0], "largest": buffers.largest[0],
        "scheduler": settings.scheduler, "entries": entries or 1, "line_rate": line_rate,
        "lids": max(2, world.routes.lft.shape[1]),
        "data_bits": 64 * WORDS,
    }  # fmt: skip
    if len(kind.hardware_credits) > 1:
        link = study.link
        parameters |= {
            "credit": link.credits, "fcp_blocks": link.fcp_blocks or 0, "fcp_period": link.fcp_period_cycles
        }  # fmt: skip
    if world.central:
        parameters |= {
            "central_blocks": world.central.blocks, "central_minimum": world.central.minimum[0],
            "central_maximum": world.central.maximum[0],
        }  # fmt: skip
    try:
        BLOCKS[switch_block(world)].shape(**parameters)
    except InputError as error:
        raise refused_parameter(error, "hardware: ") from None
    return parameters


@contextlib.contextmanager
def _mixed(
    world: World, net: Network, switches: Sequence[int], parameters: Mapping[str, Any]
) -> Iterator[tuple[Network, Hardware, deque[Change]]]:
    """Cable a network at rest to devices that hold the study's tables; give its faults too."""
    ports, bits, far = parameters["ports"], net.switches.inputs.port_bits, net.wiring.cable["far"]
    own = np.concatenate([np.arange(ports) + (switch << bits) for switch in switches])
    peers = net.wiring.cable["peer"]
    peer, peers[own] = peers[own], NOWHERE
    for number, switch in enumerate(switches):
        for port in range(ports):
            far[far == (switch << bits) + port] = -1 - (len(net.staged) + number * ports + port)
    with contextlib.ExitStack() as stack:
        block = switch_block(world)
        first = stack.enter_context(compile_model(BLOCKS[block].make(parameters), block))
        others = (CompiledModel(first.library, first.ports) for _ in switches[1:])
        devices = [first, *map(stack.enter_context, others)]
        for device, switch in zip(devices, switches, strict=True):
            boot = _boot(world, switch, device.inputs, device.input_words, parameters)
            device.run(boot)
            if parameters.get("credit") == FCP.name:
                _wait_for_period(device, -len(boot) % parameters["fcp_period"], parameters["ports"])
        ins, outs = switch_elements(first.inputs, first.outputs, ports=ports, words=WORDS)
        hardware = new_hardware(
            step=first.step[0], device=[device.step[1] for device in devices],
            first=[switch << bits for switch in switches], peer=peer, ports=ports, lanes=parameters["data_vls"],
            ends=len(far), ins=ins, outs=outs, row_words=(first.input_words, first.output_words),
        )  # fmt: skip
        faults = _faults_of_hardware(world, hardware, switches, first.inputs)
        yield net._replace(outside=np.full(len(switches) * ports, NOBODY, np.int64)), hardware, faults


def _boot(world: World, switch: int, inputs: Layout, words: int, parameters: Mapping[str, Any]) -> Words:
    """Return rows that program a switch: forwarding table, maps to lanes, the schedulers of its outputs."""
    routes, settings = world.routes, world.settings
    ports = np.where(routes.lft[switch] == UNASSIGNED, UNASSIGNED, routes.lft[switch] + 1)
    tables = [settings.of_port.get((switch, port), settings.writes) for port in range(parameters["ports"])]
    writes = [top_write(parameters["lids"]), *lft_writes(ports)]
    writes += routes.map_writes(switch)
    writes += schedule_writes(settings.scheduler, tables, line_rate=parameters["line_rate"])
    rows = np.zeros((len(writes), words), np.uint64)
    inputs["ready"].put(rows, (1 << parameters["ports"]) - 1)
    put_writes(inputs, writes, rows)
    return rows


def _wait_for_period(device: CompiledModel, cycles: int, ports: int) -> None:
    """Run a switch until a period of its flow-control packets begins, as golden's do in cycle 0."""
    rows = np.zeros((min(cycles, _IDLE_ROWS), device.input_words), np.uint64)
    device.inputs["ready"].put(rows, (1 << ports) - 1)
    for done in range(0, cycles, _IDLE_ROWS):
        device.run(rows[: cycles - done])


def _faults_of_hardware(world: World, hardware: Hardware, switches: Sequence[int], inputs: Layout) -> deque[Change]:
    """Return the faults of a network with some switches in hardware: their program ports are written too."""
    found = list(faults_of(world, switches))
    for each in sorted(world.study.rewrite, key=lambda each: each.cycle):  # so that none ends what another begins
        if each.switch in switches:
            number = switches.index(each.switch)
            row = hardware.writes[number : number + 1]
            written = lft_write(each.lid, each.port)
            found += [
                Change(each.cycle, partial(_show, inputs, written, row)),
                Change(each.cycle + 1, partial(_show, inputs, {}, row)),
            ]
    return in_order(found)


def _show(inputs: Layout, write: TableWrite, row: Words, _: Network) -> None:
    row[:] = 0
    put_writes(inputs, [write], row)
