"""An Ethernet network: what it consists of, and how it is made (``docs/ethernet.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.e2cm_prober import E2CMProberParameters
from vlane.ethernet.ecm_cp import ECMCPParameters
from vlane.ethernet.ecm_rp import VISIT_CYCLES, ECMRPParameters
from vlane.ethernet.pause import PauseParameters
from vlane.golden.compiler.records import Records, new_records
from vlane.golden.ethernet.fabric import Fabric
from vlane.golden.ethernet.frames import NONE, Frames, Queue, new_frames, new_queues
from vlane.golden.ethernet.heap import Heap, new_heap
from vlane.golden.ethernet.limiters import Limiters, new_limiters
from vlane.golden.ethernet.logs import Log, new_log
from vlane.golden.ethernet.messages import Messages, new_messages
from vlane.golden.ethernet.parts import Adapter, Channel, Flow, Switch
from vlane.golden.ethernet.points import Points, new_points
from vlane.golden.ethernet.probers import Probers, new_probers, set_base
from vlane.golden.ethernet.watermarks import Watermarks, new_watermarks, set_watermarks

FRAME_BYTES = 1500
"""Size of a frame with data."""
CYCLE_BITS = 6
TIMES_A_CYCLE = 1 << CYCLE_BITS
"""Times are in bytes of a link of 10 Gb/s, 0.8 ns, of which a cycle has 64."""
FINE_BITS = 4
"""Bins of completion times are a sixteenth of their power of two wide."""
_BINS = 44 << FINE_BITS
_FRAMES, _MESSAGES, _EVENTS = 1 << 17, 1 << 16, 1 << 17
(NOW, STOP, WAITING, DIGEST, HOPS, COMMON) = range(6)
"""Places of ``Ethernet.common``."""


@dataclass(frozen=True)
class Scheme:
    """What manages congestion.

    Parameters
    ----------
    points : bool
        Outputs of managed switches are congestion points.
    probing : str
        Which flows are probed: ``none``, ``limited`` or ``all``.
    pause : bool
        Inputs of switches pause their neighbours.
    """

    points: bool = True
    probing: str = "none"
    pause: bool = True


@dataclass(frozen=True)
class Service:
    """From a time on, an output serves more slowly.

    Parameters
    ----------
    seconds : float
        When.
    ends : (int, int)
        From and to, as of a cable.
    slower : int
        A frame takes so many times as long; 1 for the link's rate.
    """

    seconds: float
    ends: tuple[int, int]
    slower: int


@dataclass(frozen=True)
class Options:
    """What may be chosen of a network beside its scheme.

    Parameters
    ----------
    flight_times : int
        Time of flight of every link, in 0.8 ns.
    by_arrival : bool
        An output serves frames in the order of their arrival over all inputs, or else the inputs in turns.
    drift_cycles : int
        Between two drifts of every rate limiter; 0: none.
    cp, rp, prober, pause : mapping of str to object
        Parameters of the blocks that are not their defaults.
    """

    flight_times: int = 1250
    by_arrival: bool = True
    drift_cycles: int = 0
    cp: Mapping[str, Any] = field(default_factory=dict)
    rp: Mapping[str, Any] = field(default_factory=dict)
    prober: Mapping[str, Any] = field(default_factory=dict)
    pause: Mapping[str, Any] = field(default_factory=dict)


class Ethernet(NamedTuple):
    """The state of a network.

    Parameters
    ----------
    common : array of int64, (5,)
        Time; time at which sources stop; frames that wait in adapters; digest of all deliveries; flits that passed a
        link.
    heap : Heap
        What happens next.
    frames, messages, points, limiters, probers, marks
        As their modules say; points and inputs' memories are numbered as channels.
    channel : Records of Channel, (channels,)
        Links.
    adapter : Records of Adapter, (nodes,)
        Nodes.
    flow : Records of Flow, (nodes, nodes)
        Measured, by source and destination.
    switch : Records of Switch, (switches,)
        Measured.
    flying, entering : Records of Queue, (channels,)
        Frames on their way to the receiver; those that arrived and could not join their output's queue yet.
    noted, late : Records of Queue, (channels,)
        Notifications that an output's congestion point is about to send; those that could not join a queue yet.
    control, granted, heard : Records of Queue, (nodes,)
        Frames that go ahead of data; data that may start; what the reaction point shall hear.
    queue : Records of Queue, (inputs and 1, channels)
        Frames that wait for an output, by input in turns; those of the first row, in the order of arrival.
    inputs : array of int64, (switches,)
        Inputs of each switch, the one of its own notifications too.
    route : array of int64, (switches, nodes)
        Channels.
    managed : array of int64, (switches,)
        Whether outputs are congestion points.
    service : array of int64, (changes, 3)
        Time, channel and how many times as long, of every change.
    course : array of int64, (parts, nodes, nodes)
        Bytes delivered in each part of the run.
    watched : array of int64, (queues,)
        Outputs whose queues are looked at.
    looked : array of int64, (looks, queues)
        Their bytes.
    completion : array of int64, (nodes, nodes, bins)
        Messages by their completion time.
    log : Log
        What chosen blocks did.
    part, look, flight, drift : int
        Times of a part of the run, between two looks, and of flight; cycles between two drifts.
    probes, paused, by_arrival : bool
        Options.
    """

    common: NDArray[np.int64]
    heap: Heap
    frames: Frames
    messages: Messages
    points: Points
    limiters: Limiters
    probers: Probers
    marks: Watermarks
    channel: Records[Channel]
    adapter: Records[Adapter]
    flow: Records[Flow]
    switch: Records[Switch]
    flying: Records[Queue]
    entering: Records[Queue]
    noted: Records[Queue]
    late: Records[Queue]
    control: Records[Queue]
    granted: Records[Queue]
    heard: Records[Queue]
    queue: Records[Queue]
    inputs: NDArray[np.int64]
    route: NDArray[np.int64]
    managed: NDArray[np.int64]
    service: NDArray[np.int64]
    course: NDArray[np.int64]
    watched: NDArray[np.int64]
    looked: NDArray[np.int64]
    completion: NDArray[np.int64]
    log: Log
    part: int
    look: int
    flight: int
    drift: int
    probes: bool
    paused: bool
    by_arrival: bool


def unit_of(mbps: int) -> int:
    """Return the times that a byte takes."""
    return 10_000 // mbps


def base_cycles(fabric: Fabric, source: int, destination: int, flight_times: int) -> int:
    """Return the least one-way delay of a probe, which starts as a cycle does."""
    channels, time = fabric.channels(), 0
    for channel in fabric.path(source, destination):
        time = ((time + 64 * unit_of(channels[channel][2]) + flight_times >> CYCLE_BITS) + 1) << CYCLE_BITS
    return time >> CYCLE_BITS


def new_ethernet(
    fabric: Fabric,
    scheme: Scheme,
    options: Options,
    *,
    load: NDArray[np.float64],
    shares: NDArray[np.float64],
    mean_frames: float,
    stop_seconds: float,
    seed: int,
    watched: Sequence[tuple[int, int]] = (),
    services: Sequence[Service] = (),
    part_seconds: float = 0.001,
    parts: int = 1000,
    look_seconds: float = 20e-6,
    looks: int = 50_000,
    logged_points: Sequence[tuple[int, int]] = (),
    logged_nodes: Sequence[int] = (),
    log_room: int = 0,
) -> Ethernet:
    """Return a network in which nothing was sent.

    Parameters
    ----------
    load, shares, mean_frames, seed
        As of ``new_messages``.
    stop_seconds : float
        When sources stop.
    watched : sequence of (int, int)
        Ends of the outputs whose queues are looked at.
    services : sequence of Service
        What changes, and when; several at one time in their order.
    part_seconds, parts, look_seconds, looks
        What is kept of the course of rates and of queues; later ones count as the last part, and are not looked at.
    logged_points, logged_nodes, log_room
        Ends of the outputs whose congestion points, and nodes whose reaction points, are logged; how many entries.
    """
    ways = fabric.channels()
    number = {(one, other): place for place, (one, other, _) in enumerate(ways)}
    nodes, switches, channels = fabric.nodes, fabric.switches, len(ways)
    channel, inputs = new_records(Channel, channels), np.zeros(switches, np.int64)
    channel["joined"], channel["looked"], channel["slower"] = NONE, NONE, 1
    for place, (one, other, mbps) in enumerate(ways):
        made = channel[place]
        made.sender, made.receiver, made.unit = one, other, unit_of(mbps)
        if other >= nodes:
            made.local = inputs[other - nodes]
            inputs[other - nodes] += 1
    inputs += 1
    adapter = new_records(Adapter, nodes)
    adapter["served"], adapter["waited"], adapter["due"] = NONE, NONE, VISIT_CYCLES
    for (one, _), place in number.items():
        if one < nodes:
            adapter[one].channel, adapter[one].slot = place, FRAME_BYTES * int(channel[place].unit)
    rp = ECMRPParameters(**options.rp)
    links = tuple(10_000 // int(channel[adapter[node].channel].unit) for node in range(nodes))
    limited = {**rp, "flows": nodes, "link_mbps": links}
    probed = {**E2CMProberParameters(**options.prober), "flows": nodes}
    probed["probed"] = "all" if scheme.probing == "none" else scheme.probing
    made_net = Ethernet(
        common=np.zeros(COMMON, np.int64),
        heap=new_heap(_EVENTS),
        frames=new_frames(_FRAMES),
        messages=new_messages(load, shares, mean_frames, seed=seed, count=_MESSAGES),
        points=new_points(**_seeded(ECMCPParameters(**options.cp), seed), points=channels),
        limiters=new_limiters(**_seeded(limited, seed), sources=nodes),
        probers=new_probers(**probed, sources=nodes),
        marks=new_watermarks(**PauseParameters(**options.pause), inputs=channels),
        channel=channel,
        adapter=adapter,
        flow=new_records(Flow, nodes, nodes),
        switch=new_records(Switch, switches),
        flying=new_queues(channels),
        entering=new_queues(channels),
        noted=new_queues(channels),
        late=new_queues(channels),
        control=new_queues(nodes),
        granted=new_queues(nodes),
        heard=new_queues(nodes),
        queue=new_queues(int(inputs.max()), channels),
        inputs=inputs,
        route=np.array([[number[nodes + at, to] for to in row] for at, row in enumerate(fabric.hops)], np.int64),
        managed=np.array([scheme.points and each for each in fabric.managed], np.int64),
        service=np.array(
            [(times_of(each.seconds), number[each.ends], each.slower) for each in services], np.int64
        ).reshape(-1, 3),
        course=np.zeros((parts, nodes, nodes), np.int64),
        watched=np.array([number[ends] for ends in watched], np.int64),
        looked=np.zeros((looks, len(watched)), np.int64),
        completion=np.zeros((nodes, nodes, _BINS), np.int64),
        log=new_log(channels, nodes, [number[ends] for ends in logged_points], logged_nodes, room=log_room),
        part=times_of(part_seconds),
        look=times_of(look_seconds),
        flight=options.flight_times,
        drift=options.drift_cycles,
        probes=scheme.probing != "none",
        paused=scheme.pause,
        by_arrival=options.by_arrival,
    )
    made_net.common[STOP] = times_of(stop_seconds)
    if not scheme.pause:
        for place in range(channels):
            set_watermarks(made_net.marks, place, made_net.marks.high_bytes, made_net.marks.low_bytes, 0, 0)
    for source in range(nodes):
        for destination in range(nodes):
            if source != destination:
                set_base(
                    made_net.probers,
                    source,
                    destination,
                    base_cycles(fabric, source, destination, options.flight_times),
                )
    return made_net


def times_of(seconds: float) -> int:
    """Return a time in 0.8 ns."""
    return round(seconds * 1.25e9)


def _seeded(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return parameters of a block whose random sequence is that of a seed."""
    return {**parameters, "seed": (int(parameters["seed"]) * (2 * seed + 1)) % ((1 << 31) - 1) or 1}
