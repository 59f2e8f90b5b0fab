"""Hardware replay of an E2CM scenario: decisions of blocks are compared with the network's log."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import vlane.hdl.ethernet
from vlane.ethernet.ecm_cp import ECMCPParameters
from vlane.ethernet.ecm_rp import ECMRPParameters
from vlane.golden.ethernet.network import DIGEST, HOPS, TIMES_A_CYCLE, Ethernet, time_units
from vlane.hdl.ethernet.ecm_cp import ECMCP
from vlane.hdl.ethernet.ecm_rp import ECMRP
from vlane.sim_top.studies.e2cm_runs import EthernetRun, network_after
from vlane.tb.ethernet.replays import PointReplay, SourceReplay
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model

_ROOM = 1 << 22
_WHOSE = 2


@dataclass(frozen=True)
class HardwareRun:
    """Scenario whose blocks are replayed in hardware.

    Parameters
    ----------
    run : EthernetRun
        Scenario, run until its sources stop.
    points : tuple of (int, int)
        Ends of the outputs whose congestion points are replayed.
    node : int
        Node whose reaction point is replayed.
    sources : str
        Digest of the hardware's sources, so that changed hardware makes a different run.
    """

    run: EthernetRun
    points: tuple[tuple[int, int], ...]
    node: int
    sources: str


def hardware_digest() -> str:
    """Return a digest of the sources of the Ethernet blocks' hardware."""
    digest = hashlib.sha256()
    for file in sorted(Path(vlane.hdl.ethernet.__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def followed(given: HardwareRun, seed: int) -> tuple[str, int, float, list[dict[str, Any]]]:
    """Run a network and replay blocks in hardware, and return digest, cycles, CPU seconds and one row per block."""
    run, begin = given.run, time.process_time()
    net = network_after(run, seed, run.seconds, logged_points=given.points, logged_nodes=[given.node], log_room=_ROOM)
    cycles = time_units(run.seconds) // TIMES_A_CYCLE
    rows = [*_points(net, given, cycles), _source(net, given, cycles)]
    of_run = {"sent_ms": run.seconds * 1000, "flit_hops": int(net.common[HOPS])}
    rows = [{"group": number, **row, **of_run} for number, row in enumerate(rows)]
    return f"{int(net.common[DIGEST]):016x}", cycles, time.process_time() - begin, rows


def _entries(net: Ethernet) -> Any:
    used = int(net.log.used[0])
    if used > _ROOM:
        raise RuntimeError(f"the log overflowed: {used} entries, space for {_ROOM}")
    return net.log.entry[:used]


def _points(net: Ethernet, given: HardwareRun, cycles: int) -> list[dict[str, Any]]:
    entries, rows = _entries(net), []
    channels = np.flatnonzero(net.log.point)
    for channel in map(int, channels):
        set_to = {**given.run.options.cp, "seed": int(net.points.seeds[channel])}
        parameters = ECMCPParameters(**set_to)
        own = entries[(entries[:, 1] < _WHOSE) & (entries[:, 2] == channel)]
        model = compile_model(ECMCP(parameters), "ecm_cp")
        replay = PointReplay(parameters, own, channel, cycles=cycles, inputs=model.inputs, outputs=model.outputs)
        with model:
            outcome = run_lockstep(model, replay)
        to = int(net.channel[channel].receiver)
        rows.append(_row(f"ecm_cp towards {_end(net, to)}", outcome.cycles, outcome.mismatch, replay, len(own)))
    return rows


def _source(net: Ethernet, given: HardwareRun, cycles: int) -> dict[str, Any]:
    entries = _entries(net)
    nodes = len(net.adapter)
    set_to: Mapping[str, Any] = {
        **given.run.options.rp,
        "flows": max(4, 1 << (nodes - 1).bit_length()),
        "seed": int(net.limiters.seeds[given.node]),
        "link_mbps": 10_000 // int(net.channel[net.adapter[given.node].channel].byte_time),
    }
    parameters = ECMRPParameters(**set_to)
    own = entries[(entries[:, 1] >= _WHOSE) & (entries[:, 2] == given.node)]
    model = compile_model(ECMRP(parameters), "ecm_rp")
    replay = SourceReplay(parameters, own, cycles=cycles, inputs=model.inputs, outputs=model.outputs)
    with model:
        outcome = run_lockstep(model, replay)
    return _row(f"ecm_rp of node {given.node + 1}", outcome.cycles, outcome.mismatch, replay, len(own))


def _row(name: str, cycles: int, mismatch: object, replay: PointReplay | SourceReplay, entries: int) -> dict[str, Any]:
    """Return the row of a block. Decisions in which the network and the block differ also count as mismatches."""
    missing = entries - replay.decisions if mismatch is None else 0
    wrong = int(mismatch is not None) + replay.wrong + missing
    return {"name": name, "compared": cycles, "decided": replay.decisions, "mismatches": wrong}


def _end(net: Ethernet, end: int) -> str:
    nodes = len(net.adapter)
    return f"node {end + 1}" if end < nodes else f"switch {end - nodes + 1}"
