"""Network with switches in hardware against golden: compares all deliveries and their cycles."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vlane.golden.network.network import DONE, run
from vlane.golden.network.runs import run_to
from vlane.golden.network.state import Network
from vlane.golden.switches.marking import Marking
from vlane.golden.switches.packets import Packets, new_packets
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.network_cocotb import run_under_cocotb
from vlane.sim_top.cosim.network_hardware import cable, period_of, switch_block
from vlane.sim_top.cosim.network_run import MixedRun
from vlane.sim_top.scenario.faults import faults_of
from vlane.sim_top.scenario.world import World, make_network
from vlane.sim_top.study.congestion_counts import congestion_of
from vlane.sim_top.study.simulate import StuckError
from vlane.tb.machinery.native.model import CompiledModel, compile_model
from vlane.tb.networks.hardware import BAD_FLITS, DROPPED, MARKS
from vlane.tb.networks.network import run_with_hardware

_POOL = 1 << 14
_IDLE_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class MixedResult:
    """Results of both runs.

    Parameters
    ----------
    engine : str
        ``native`` or ``cocotb``.
    switches : tuple of int
        Switches in hardware.
    parameters : dict
        Parameters of the hardware.
    cycles : int
        Number of cycles of each run.
    deliveries : int
        Number of packets delivered in golden's run.
    digest_golden, digest_hardware : str
        Digests of all deliveries with their cycles.
    bad_flits : int
        Number of flits corrupted by the hardware.
    dropped : int
        Number of packets dropped by the hardware.
    golden_dropped : int
        Number of packets dropped by golden at the same switches.
    marked, golden_marked : int
        Number of packets marked with FECN at these switches, by hardware and by golden.
    cnps, held : int
        Number of CNPs sent by hosts, and of packets held back for their flow, in golden's run.
    golden_seconds, mixed_seconds : float
        CPU times of the runs without compilation.
    mismatch : str
        First differing signal, read from a wave of the run (cocotb only).
    """

    engine: str
    switches: tuple[int, ...]
    parameters: Mapping[str, Any]
    cycles: int
    deliveries: int
    digest_golden: str
    digest_hardware: str
    bad_flits: int
    dropped: int
    golden_dropped: int
    marked: int
    golden_marked: int
    cnps: int
    held: int
    golden_seconds: float
    mixed_seconds: float
    mismatch: str

    @property
    def agrees(self) -> bool:
        """Whether all deliveries, drops and marks are equal, bit for bit and cycle by cycle."""
        same = (self.digest_golden, self.golden_dropped, self.golden_marked, 0)
        return same == (self.digest_hardware, self.dropped, self.marked, self.bad_flits)


def cosim_network(
    world: World,
    switches: Sequence[int],
    parameters: Mapping[str, Any],
    *,
    cycles: int,
    load: float,
    seed: int,
    engine: str = "native",
) -> MixedResult:
    """Run a study's network twice, once with the given switches in hardware, and compare.

    Parameters
    ----------
    parameters : mapping
        Result of ``hardware_parameters``.
    engine : str
        ``native``, or ``cocotb``, whose bench simulates the golden network around the hardware switches.

    Raises
    ------
    StuckError
        If no flit moves any more.
    """
    plain, packets = make_network(world, load=load, seed=seed), new_packets(_POOL)
    run(plain, packets, 0)
    start = time.thread_time()
    changes = faults_of(world)
    reason, packets = run_to(plain, packets, cycles - 1, changes=changes)
    marked = _marked(
        plain, switches
    )  # a packet that starts in the last cycle reaches the hardware's link one cycle later
    if reason == DONE:
        reason, packets = run_to(plain, packets, cycles, changes=changes)
    golden_seconds = time.thread_time() - start
    if reason != DONE:
        raise StuckError(f"cycle {int(plain.clock[0])} of golden")

    def at_rest() -> Network:
        return make_network(world, load=load, seed=seed)

    expected = MixedRun(
        digest=f"{int(plain.meters.digest[0]):016x}",
        bad_flits=0,
        dropped=int(plain.switches.inputs.drop_counts[list(switches)].sum()),
        marked=marked,
        seconds=golden_seconds,
    )
    if engine == "cocotb":
        mixed = run_under_cocotb(world, at_rest, switches, parameters, cycles=cycles, expected=expected)
    else:
        mixed = _run_native(world, at_rest(), switches, parameters, cycles)
    controlled = congestion_of(plain)
    return MixedResult(
        engine=engine,
        switches=tuple(switches),
        parameters=parameters,
        cycles=cycles,
        deliveries=int(plain.meters.total[:, 0].sum()),
        digest_golden=expected.digest,
        digest_hardware=mixed.digest,
        bad_flits=mixed.bad_flits,
        dropped=mixed.dropped,
        golden_dropped=expected.dropped,
        marked=mixed.marked,
        golden_marked=expected.marked,
        cnps=controlled.cnps if controlled else 0,
        held=controlled.held if controlled else 0,
        golden_seconds=golden_seconds,
        mixed_seconds=mixed.seconds,
        mismatch=mixed.mismatch,
    )


def _marked(net: Network, switches: Sequence[int]) -> int:
    """Return the number of packets marked by golden's switches."""
    marking, bits = net.out_ports.marking, net.switches.inputs.port_bits
    if not isinstance(marking, Marking):
        return 0
    return sum(int(marking.lane["marked"][at << bits : (at + 1) << bits].sum()) for at in switches)


def _run_native(
    world: World, net: Network, switches: Sequence[int], parameters: Mapping[str, Any], cycles: int
) -> MixedRun:
    """Run a network, initially idle, with compiled devices that hold the study's tables."""
    block = switch_block(world)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(compile_model(BLOCKS[block].make(parameters), block))
        others = (CompiledModel(first.library, first.ports) for _ in switches[1:])
        devices = [first, *map(stack.enter_context, others)]
        net, hardware, faults, boots = cable(world, net, switches, parameters, first.ports)
        for device, boot in zip(devices, boots, strict=True):
            device.run(boot)
            _wait_for_period(device, -len(boot) % period_of(parameters), parameters["ports"])
        addresses = np.array([device.step[1] for device in devices], np.int64)
        hardware = hardware._replace(step=first.step[0], device=addresses)

        def run_on(net: Network, packets: Packets, end: int) -> int:
            return run_with_hardware(net, packets, hardware, end)

        packets = new_packets(_POOL)
        run_on(net, packets, 0)
        start = time.thread_time()
        reason, packets = run_to(net, packets, cycles, run_on, faults)
        seconds = time.thread_time() - start
    if reason != DONE:
        raise StuckError(f"cycle {int(net.clock[0])} with hardware")
    return MixedRun(
        digest=f"{int(net.meters.digest[0]):016x}",
        bad_flits=int(hardware.counts[BAD_FLITS]),
        dropped=int(hardware.counts[DROPPED]),
        marked=int(hardware.counts[MARKS]),
        seconds=seconds,
    )


def _wait_for_period(device: CompiledModel, cycles: int, ports: int) -> None:
    """Run a switch until its periods begin, in phase with golden's periods from cycle 0."""
    rows = np.zeros((min(cycles, _IDLE_ROWS), device.input_words), np.uint64)
    device.inputs["ready"].put(rows, (1 << ports) - 1)
    for done in range(0, cycles, _IDLE_ROWS):
        device.run(rows[: cycles - done])
