"""cocotb bench of hardware switches inside a golden network, which the bench runs cycle by cycle.

Golden runs on a separate thread and stops in every cycle until the simulator has run that cycle.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from cocotb.utils import get_sim_time

from vlane.golden.network.network import DONE
from vlane.golden.network.runs import Change, run_to
from vlane.golden.network.state import Network
from vlane.golden.switches.packets import Packets, new_packets
from vlane.tb.machinery.cocotb_benches.cocotb_drive import setting
from vlane.tb.machinery.native.rows import Words
from vlane.tb.networks.carried_network import CarriedNetwork, expected_at
from vlane.tb.networks.hardware import BAD_FLITS, DROPPED, MARKS
from vlane.tb.networks.network import run_with_hardware

_CLOCK_NS = 2
_STEP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Pins:
    """Input and output vectors of the simulated top module, one of each per switch.

    Inputs are driven after a falling clock edge, and outputs are read at the next falling edge.
    """

    def __init__(self, dut: Any, switches: list[int], words: tuple[int, int]) -> None:
        self.clk, self.edge = dut.clk, 0
        self.given = [getattr(dut, f"given_{number}") for number in switches]
        self.shown = [getattr(dut, f"shown_{number}") for number in switches]
        self.bytes = 8 * words[1]
        self.rows = np.zeros((len(switches), words[1]), np.uint64)

    async def cycle(self, given: Words) -> None:
        """Drive one input row per switch, wait for a clock cycle and store the output rows in ``rows``."""
        for pin, row in zip(self.given, given, strict=True):
            pin.value = int.from_bytes(row.tobytes(), "little")
        await FallingEdge(self.clk)
        self.edge = int(get_sim_time("step"))
        for number, pin in enumerate(self.shown):
            value = int(str(pin.value), 2)
            self.rows[number] = np.frombuffer(value.to_bytes(self.bytes, "little"), np.uint64)


class Golden:
    """The software part of the network, which runs in its own thread in step with the simulator.

    After it has computed the inputs of all hardware switches, the thread waits for the switches' outputs.
    """

    def __init__(self, carried: CarriedNetwork) -> None:
        self._wants, self._settled = threading.Semaphore(0), threading.Semaphore(0)
        self._count = len(carried.switches)
        self._step = _STEP(self._wait)
        address = ctypes.cast(self._step, ctypes.c_void_p).value
        assert address is not None
        devices = np.arange(1, 1 + self._count)
        self.net, self.cycles, self.faults = carried.net, carried.cycles, carried.faults
        self.hardware = carried.hardware._replace(step=address, device=devices)
        self.reason: int | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def _wait(self, device: int, _given: int, _shown: int) -> None:
        if device == self._count:
            self._wants.release()
            self._settled.acquire()

    def _run(self) -> None:
        def run_on(network: Network, packets: Packets, end_cycle: int) -> int:
            return run_with_hardware(network, packets, self.hardware, end_cycle)

        try:
            self.reason, _ = run_to(self.net, new_packets(1 << 14), self.cycles, run_on, self.faults)
        finally:
            self._wants.release()

    def wants_cycle(self) -> bool:
        """Wait until golden has computed the inputs of a cycle. Return False if the run has ended instead."""
        self._wants.acquire()
        return self.reason is None

    def settled(self, rows: Words) -> None:
        """Store the output rows of the switches and let golden continue with the next cycle."""
        self.hardware.shown[:] = rows
        self._settled.release()


class Watch:
    """Reference run of the whole network in golden, which predicts the outputs of the hardware switches."""

    def __init__(self, carried: CarriedNetwork) -> None:
        assert carried.plain is not None
        self.carried, self.net = carried, carried.plain
        self.packets, self.faults = new_packets(1 << 14), deque[Change](carried.plain_faults)

    def differs(self, cycle: int, rows: Words) -> dict[str, Any]:
        """Return cycle, instance and expected values of the first output that differs, or an empty dictionary."""
        _, self.packets = run_to(self.net, self.packets, cycle + 1, changes=self.faults)
        for number, switch in enumerate(self.carried.switches):
            for port in range(self.carried.hardware.ports):
                end = int(self.carried.hardware.first[number]) + port
                wanted = expected_at(self.net.out_ports.sending[end], port, cycle)
                if any(self.carried.outputs[name].value(rows[number]) != value for name, value in wanted.items()):
                    return {"cycle": cycle, "instance": f"switch_{switch}", "expected": wanted}
        return {}


@cocotb.test()
async def delivers_what_golden_delivers(dut: Any) -> None:
    """Simulate the network with its hardware switches and log the digest of deliveries and the error counts.

    If a reference run exists, stop at the first output that differs from it and log the difference.
    """
    carried: CarriedNetwork = pickle.loads(Path(setting()["carried"]).read_bytes())  # noqa: S301 - written by our own process
    hardware = carried.hardware
    pins = Pins(dut, carried.switches, (hardware.given.shape[1], hardware.shown.shape[1]))
    Clock(dut.clk, _CLOCK_NS, unit="ns").start()
    await FallingEdge(dut.clk)
    for given in carried.boot:
        await pins.cycle(given)
    watch = Watch(carried) if carried.plain is not None else None
    golden, cycle, found = Golden(carried), 0, dict[str, Any]()
    start = 0.0
    while not found and golden.wants_cycle():
        await pins.cycle(hardware.given)
        if cycle == 0:
            start = time.process_time()  # golden has been compiled by now
        if watch:
            found = watch.differs(cycle, pins.rows)
        if not found:
            golden.settled(pins.rows)
        cycle += 1
    if found:
        dut._log.info("VLANE_DIFFERS %s", json.dumps({**found, "time": pins.edge}))
        return
    net, counts = golden.net, golden.hardware.counts
    said = {
        "is_done": golden.reason == DONE,
        "cycle": int(net.clock[0]),
        "digest": f"{int(net.meters.digest[0]):016x}",
        "bad_flits": int(counts[BAD_FLITS]),
        "dropped": int(counts[DROPPED]),
        "marked": int(counts[MARKS]),
        "seconds": time.process_time() - start,
    }
    dut._log.info("VLANE %s", json.dumps(said))
