"""A study's network with switches in hardware, against golden alone: the same packets in the same cycles."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.network import DONE, POOL_EMPTY, Network, run_to
from vlane.golden.packets import NOBODY, Packets, grown, new_packets
from vlane.golden.routing import Routes
from vlane.hdl.ib_switch import IBSwitch
from vlane.sim_top.simulate import StuckError
from vlane.sim_top.world import World, make_network
from vlane.tb.model import CompiledModel, compile_model
from vlane.tb.rtl_network import BAD_FLITS, DROPPED, WORDS, Hardware, run_mixed
from vlane.tb.stimulus import Layout
from vlane.tb.stimulus_ib_switch import GOLDEN_PARAMETERS, schedule_row, switch_elements

from vlane.errors import InputError
from vlane.lft import UNASSIGNED
from vlane.units import BLOCK_BYTES

__all__ = ["MixedResult", "cosim_network", "hardware_parameters"]

_POOL = 1 << 14


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
    run_to(plain, packets, 0)
    start = time.thread_time()
    reason, packets = run_to(plain, packets, cycles)
    golden_seconds = time.thread_time() - start
    if reason != DONE:
        raise StuckError(f"cycle {int(plain.clock[0])} of golden")
    with _mixed(world, make_network(world, load=load, seed=seed), switches, parameters) as (net, hardware):
        packets = _run_to(net, new_packets(_POOL), hardware, 0)
        start = time.thread_time()
        _run_to(net, packets, hardware, cycles)
        mixed_seconds = time.thread_time() - start
    return MixedResult(
        tuple(switches), parameters, cycles, int(plain.meters.total[:, 0].sum()), f"{int(plain.meters.digest[0]):016x}",
        f"{int(net.meters.digest[0]):016x}", int(hardware.counts[BAD_FLITS]), int(hardware.counts[DROPPED]),
        int(plain.switches.inputs.drops[list(switches)].sum()), golden_seconds, mixed_seconds,
    )  # fmt: skip


def _run_to(net: Network, packets: Packets, hardware: Hardware, end: int) -> Packets:
    while (reason := run_mixed(net, packets, hardware, end)) == POOL_EMPTY:
        packets = grown(packets, 2 * len(packets.field) + net.staged.size)
    if reason != DONE:
        raise StuckError(f"cycle {int(net.clock[0])} with hardware")
    return packets


def _routes(world: World) -> Routes:
    """Return the tables of InfiniBand's switches."""
    if not isinstance(world.routes, Routes):
        raise InputError("switch.kind", "ib for switches in hardware", world.study.switch.kind)
    return world.routes


def hardware_parameters(world: World) -> dict[str, Any]:
    """Return the hardware's parameters for a study's switches.

    Raises
    ------
    InputError
        If the study asks for what the hardware has not.
    """
    study, settings, buffers = world.study, world.settings, world.buffers
    for field, value, must in (
        ("switch.allocation", study.switch.allocation, "turns"),
        ("switch.crossbar", study.switch.crossbar, "multiplexed"),
        ("link.credits", study.link.credits, "returns"),
        ("link.flit_bytes", study.link.flit_bytes, BLOCK_BYTES),
    ):
        if value != must:
            raise InputError(field, f"{must} for switches in hardware", value)
    if _routes(world).by_lane:
        raise InputError("network.routing", "one whose VL tables go by SL, for switches in hardware", "dor")
    for field, values, hint in (
        ("buffers.minimum_blocks", buffers.minimum, ""),
        ("buffers.maximum_blocks", buffers.maximum, ""),
        ("buffers.largest_blocks", buffers.largest, "given, "),
    ):
        if len(set(values)) > 1:
            raise InputError(field, f"{hint}the same for every VL, for switches in hardware", list(values))
    entries = settings.parameters.get("entries")
    fixed = {**GOLDEN_PARAMETERS[settings.scheduler], **({"entries": entries} if entries else {})}
    if settings.parameters != fixed:
        raise InputError("scheduler.parameters", f"{fixed} for switches in hardware", settings.parameters)
    parameters = {
        "ports": world.topology.ports, "data_vls": world.data_vls, "blocks": buffers.blocks,
        "minimum": buffers.minimum[0], "maximum": buffers.maximum[0], "largest": buffers.largest[0],
        "scheduler": settings.scheduler, "entries": entries or 1, "lids": max(2, world.routes.lft.shape[1]),
        "data_bits": 64 * WORDS,
    }  # fmt: skip
    try:
        IBSwitch.check_parameters(**parameters)
    except ValueError as error:
        field, _, rest = str(error).partition(" must be ")
        must, _, got = rest.rpartition(", not ")
        raise InputError(f"switches in hardware: {field}", must, got) from None
    return parameters


@contextlib.contextmanager
def _mixed(
    world: World, net: Network, switches: Sequence[int], parameters: Mapping[str, Any]
) -> Iterator[tuple[Network, Hardware]]:
    """Cable a network at rest to devices that hold the study's tables."""
    ports, bits, far = parameters["ports"], net.switches.inputs.port_bits, net.wiring.far
    for number, switch in enumerate(switches):
        for port in range(ports):
            far[far == (switch << bits) + port] = -1 - (len(net.staged) + number * ports + port)
    ends = len(switches) * ports
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(compile_model(IBSwitch(**parameters), "ib_switch"))
        others = (CompiledModel(first.library, first.ports) for _ in switches[1:])
        devices = [first, *map(stack.enter_context, others)][: len(switches)]
        for device, switch in zip(devices, switches, strict=True):
            device.run(_boot(world, switch, device.inputs, device.input_words, parameters))
        ins, outs = switch_elements(first.inputs, first.outputs, ports=ports, words=WORDS)
        yield (
            net._replace(outside=np.full(ends, NOBODY, np.int64)),
            Hardware(
                first.step[0], np.array([device.step[1] for device in devices], np.int64),
                np.array([switch << bits for switch in switches], np.int64), ports, ins, outs,
                np.zeros((len(switches), first.input_words), np.uint64),
                np.zeros((len(switches), first.output_words), np.uint64), np.zeros((ends, 5), np.int64),
                np.full((ends, 4), NOBODY, np.int64), np.zeros((ends, 3), np.int64),
                np.zeros(parameters["data_vls"], np.int64), np.zeros(2, np.int64),
            ),
        )  # fmt: skip


def _boot(world: World, switch: int, inputs: Layout, words: int, parameters: Mapping[str, Any]) -> NDArray[np.uint64]:
    """Return rows that program a switch: forwarding table, SL2VL, the schedulers of its outputs."""
    ports, routes, settings = parameters["ports"], _routes(world), world.settings
    writes: list[dict[str, int]] = [{"lft__enable": 1, "lft__top": 1, "lft__lid": parameters["lids"] - 1}]
    writes += [
        {"lft__enable": 1, "lft__lid": lid, "lft__port": int(port) + 1 if port != UNASSIGNED else UNASSIGNED}
        for lid, port in enumerate(routes.lft[switch])
    ]
    for given in range(ports):
        for output in range(ports):
            lanes = sum(int(vl) << 4 * sl for sl, vl in enumerate(routes.vl[switch, given, output]))
            writes.append({"sl2vl__enable": 1, "sl2vl__input": given, "sl2vl__output": output, "sl2vl__row": lanes})
    for port in range(ports):
        told = settings.of_port.get((switch, port), settings.writes)
        writes += [schedule_row(inputs, write, 1 << port) for write in told]
    if "swap" in inputs:
        writes += [{"swap": (1 << ports) - 1}, {}]
    rows = np.zeros((len(writes), words), np.uint64)
    for row, values in zip(rows, writes, strict=True):
        for name, value in values.items():
            inputs[name].put(row[np.newaxis], value)
    return rows
