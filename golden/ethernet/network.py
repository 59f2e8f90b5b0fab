"""State of an Ethernet network and its construction (``docs/ethernet.md``)."""

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
from vlane.golden.ethernet.probers import Probers, new_probers, set_minimum_delay
from vlane.golden.ethernet.watermarks import Watermarks, new_watermarks, set_watermarks

FRAME_BYTES = 1500
"""Size of a data frame in bytes."""
CYCLE_BITS = 6
TIMES_A_CYCLE = 1 << CYCLE_BITS
"""Time units per cycle; the unit is the time of a byte at 10 Gb/s, 0.8 ns."""
FINE_BITS = 4
"""Log2 of the number of completion-time bins per power of two."""
_BINS = 44 << FINE_BITS
_FRAMES, _MESSAGES, _EVENTS = 1 << 17, 1 << 16, 1 << 17
(NOW, STOP, WAITING, DIGEST, HOPS, COMMON) = range(6)
"""Indices of ``Ethernet.common``."""


@dataclass(frozen=True)
class Scheme:
    """Congestion management scheme.

    Parameters
    ----------
    points : bool
        Outputs of managed switches are congestion points.
    probing : str
        Probed flows: ``none``, ``limited`` or ``all``.
    pause : bool
        Inputs of switches pause their neighbours.
    """

    points: bool = True
    probing: str = "none"
    pause: bool = True


@dataclass(frozen=True)
class Service:
    """A change of an output's service rate.

    Parameters
    ----------
    seconds : float
        Time of the change.
    ends : (int, int)
        Sender and receiver of the link.
    slower : int
        Factor by which the time between frames is extended; 1 for the link's rate.
    """

    seconds: float
    ends: tuple[int, int]
    slower: int


@dataclass(frozen=True)
class Options:
    """Options of a network in addition to its scheme.

    Parameters
    ----------
    flight_times : int
        Flight time of every link in units of 0.8 ns.
    by_arrival : bool
        Outputs serve frames in order of arrival over all inputs; otherwise they serve inputs in turns.
    drift_cycles : int
        Cycles between two drifts of every rate limiter; 0 for none.
    cp, rp, prober, pause : mapping of str to object
        Block parameters that differ from their defaults.
    """

    flight_times: int = 1250
    by_arrival: bool = True
    drift_cycles: int = 0
    cp: Mapping[str, Any] = field(default_factory=dict)
    rp: Mapping[str, Any] = field(default_factory=dict)
    prober: Mapping[str, Any] = field(default_factory=dict)
    pause: Mapping[str, Any] = field(default_factory=dict)


class Ethernet(NamedTuple):
    """State of a network.

    Parameters
    ----------
    common : array of int64, (5,)
        ``NOW``: time. ``STOP``: time at which sources stop. ``WAITING``: number of frames waiting in adapters.
        ``DIGEST``: digest of all deliveries. ``HOPS``: number of 64-byte flits sent on links.
    heap : Heap
        Pending events.
    frames, messages, points, limiters, probers, watermarks
        State of the respective modules; congestion points and input memories are numbered like channels.
    channel : Records of Channel, (channels,)
        Links.
    adapter : Records of Adapter, (nodes,)
        Adapters.
    flow : Records of Flow, (nodes, nodes)
        Measurements by source and destination.
    switch : Records of Switch, (switches,)
        Measurements by switch.
    in_flight : Records of Queue, (channels,)
        Frames in flight.
    frames_to_join : Records of Queue, (channels,)
        Arrived frames that could not join their output queue yet.
    pending_notifications : Records of Queue, (channels,)
        Notifications not yet sent by an output's congestion point.
    late_notifications : Records of Queue, (channels,)
        Notifications that could not join a queue yet.
    control : Records of Queue, (nodes,)
        Probes and replies to send.
    granted : Records of Queue, (nodes,)
        Granted data frames.
    feedback : Records of Queue, (nodes,)
        Feedback for the reaction point.
    queue : Records of Queue, (inputs and 1, channels)
        Output queues: by input if inputs are served in turns, otherwise only the first row.
    inputs : array of int64, (switches,)
        Number of inputs of each switch, including that of its own notifications.
    route : array of int64, (switches, nodes)
        Output channel by switch and destination.
    managed : array of int64, (switches,)
        Whether a switch's outputs are congestion points.
    service : array of int64, (changes, 3)
        Time, channel and factor of each service change.
    delivered_bytes : array of int64, (parts, nodes, nodes)
        Bytes delivered in each part of the run.
    sampled_outputs : array of int64, (queues,)
        Outputs whose queues are sampled.
    sampled_lengths : array of int64, (looks, queues)
        Sampled queue lengths in bytes.
    completion : array of int64, (nodes, nodes, bins)
        Histogram of message completion times.
    log : Log
        Log of chosen blocks.
    part_time : int
        Duration of a part of the run, in time units.
    sampling_time : int
        Sampling period of queues, in time units.
    flight_time : int
        Flight time of every link, in time units.
    drift_cycles : int
        Number of cycles between two drifts of a rate limiter.
    has_probes : bool
        Whether flows are probed.
    has_pause : bool
        Whether inputs of switches pause their neighbours.
    by_arrival : bool
        Whether outputs serve frames in order of arrival over all inputs.
    """

    common: NDArray[np.int64]
    heap: Heap
    frames: Frames
    messages: Messages
    points: Points
    limiters: Limiters
    probers: Probers
    watermarks: Watermarks
    channel: Records[Channel]
    adapter: Records[Adapter]
    flow: Records[Flow]
    switch: Records[Switch]
    in_flight: Records[Queue]
    frames_to_join: Records[Queue]
    pending_notifications: Records[Queue]
    late_notifications: Records[Queue]
    control: Records[Queue]
    granted: Records[Queue]
    feedback: Records[Queue]
    queue: Records[Queue]
    inputs: NDArray[np.int64]
    route: NDArray[np.int64]
    managed: NDArray[np.int64]
    service: NDArray[np.int64]
    delivered_bytes: NDArray[np.int64]
    sampled_outputs: NDArray[np.int64]
    sampled_lengths: NDArray[np.int64]
    completion: NDArray[np.int64]
    log: Log
    part_time: int
    sampling_time: int
    flight_time: int
    drift_cycles: int
    has_probes: bool
    has_pause: bool
    by_arrival: bool


def time_units_per_byte(mbps: int) -> int:
    """Return the transmission time of a byte at a rate, in time units of 0.8 ns."""
    return 10_000 // mbps


def minimum_delay_cycles(fabric: Fabric, source: int, destination: int, flight_times: int) -> int:
    """Return the minimum one-way delay of a probe in cycles, rounded up at each node."""
    channels, time = fabric.channels(), 0
    for channel in fabric.path(source, destination):
        time = ((time + 64 * time_units_per_byte(channels[channel][2]) + flight_times >> CYCLE_BITS) + 1) << CYCLE_BITS
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
    """Return an idle Ethernet network.

    Parameters
    ----------
    load, shares, mean_frames, seed
        Arguments of ``new_messages``.
    stop_seconds : float
        Time at which sources stop.
    watched : sequence of (int, int)
        Ends of the outputs whose queues are sampled.
    services : sequence of Service
        Service changes; changes of equal time apply in this order.
    part_seconds : float
        Duration of a part of the run, for the counts of delivered bytes.
    parts : int
        Number of parts. Deliveries after the last part count in the last part.
    look_seconds : float
        Period of queue samples.
    looks : int
        Largest number of queue samples. Later samples are omitted.
    logged_points : sequence of (int, int)
        Ends of the outputs whose congestion points are logged.
    logged_nodes : sequence of int
        Nodes whose reaction points are logged.
    log_room : int
        Capacity of the log in entries.
    """
    ways = fabric.channels()
    number = {(one, other): place for place, (one, other, _) in enumerate(ways)}
    nodes, switches, channels = fabric.nodes, fabric.switches, len(ways)
    channel, inputs = new_records(Channel, channels), np.zeros(switches, np.int64)
    channel["last_join_cycle"], channel["next_check_cycle"], channel["service_factor"] = NONE, NONE, 1
    for place, (one, other, mbps) in enumerate(ways):
        made = channel[place]
        made.sender, made.receiver, made.byte_time = one, other, time_units_per_byte(mbps)
        if other >= nodes:
            made.receiver_input = inputs[other - nodes]
            inputs[other - nodes] += 1
    inputs += 1
    adapter = new_records(Adapter, nodes)
    adapter["order_time"], adapter["retry_time"], adapter["next_visit_cycle"] = NONE, NONE, VISIT_CYCLES
    for (one, _), place in number.items():
        if one < nodes:
            adapter[one].channel, adapter[one].frame_time = place, FRAME_BYTES * int(channel[place].byte_time)
    rp = ECMRPParameters(**options.rp)
    links = tuple(10_000 // int(channel[adapter[node].channel].byte_time) for node in range(nodes))
    limited = {**rp, "flows": nodes, "link_mbps": links}
    probed = {**E2CMProberParameters(**options.prober), "flows": nodes}
    probed["probed"] = "all" if scheme.probing == "none" else scheme.probing
    made_net = Ethernet(
        common=np.zeros(COMMON, np.int64),
        heap=new_heap(_EVENTS),
        frames=new_frames(_FRAMES),
        messages=new_messages(load, shares, mean_frames, seed=seed, message_count=_MESSAGES),
        points=new_points(**_with_seed(ECMCPParameters(**options.cp), seed), points=channels),
        limiters=new_limiters(**_with_seed(limited, seed), sources=nodes),
        probers=new_probers(**probed, sources=nodes),
        watermarks=new_watermarks(**PauseParameters(**options.pause), inputs=channels),
        channel=channel,
        adapter=adapter,
        flow=new_records(Flow, nodes, nodes),
        switch=new_records(Switch, switches),
        in_flight=new_queues(channels),
        frames_to_join=new_queues(channels),
        pending_notifications=new_queues(channels),
        late_notifications=new_queues(channels),
        control=new_queues(nodes),
        granted=new_queues(nodes),
        feedback=new_queues(nodes),
        queue=new_queues(int(inputs.max()), channels),
        inputs=inputs,
        route=np.array([[number[nodes + at, to] for to in row] for at, row in enumerate(fabric.hops)], np.int64),
        managed=np.array([scheme.points and each for each in fabric.managed], np.int64),
        service=np.array(
            [(time_units(each.seconds), number[each.ends], each.slower) for each in services], np.int64
        ).reshape(-1, 3),
        delivered_bytes=np.zeros((parts, nodes, nodes), np.int64),
        sampled_outputs=np.array([number[ends] for ends in watched], np.int64),
        sampled_lengths=np.zeros((looks, len(watched)), np.int64),
        completion=np.zeros((nodes, nodes, _BINS), np.int64),
        log=new_log(channels, nodes, [number[ends] for ends in logged_points], logged_nodes, room=log_room),
        part_time=time_units(part_seconds),
        sampling_time=time_units(look_seconds),
        flight_time=options.flight_times,
        drift_cycles=options.drift_cycles,
        has_probes=scheme.probing != "none",
        has_pause=scheme.pause,
        by_arrival=options.by_arrival,
    )
    made_net.common[STOP] = time_units(stop_seconds)
    if not scheme.pause:
        for place in range(channels):
            set_watermarks(
                made_net.watermarks, place, made_net.watermarks.high_bytes, made_net.watermarks.low_bytes, 0, 0
            )
    for source in range(nodes):
        for destination in range(nodes):
            if source != destination:
                set_minimum_delay(
                    made_net.probers,
                    source,
                    destination,
                    minimum_delay_cycles(fabric, source, destination, options.flight_times),
                )
    return made_net


def time_units(seconds: float) -> int:
    """Convert seconds to time units of 0.8 ns."""
    return round(seconds * 1.25e9)


def _with_seed(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the parameters of a block with a random seed derived from ``seed``."""
    return {**parameters, "seed": (int(parameters["seed"]) * (2 * seed + 1)) % ((1 << 31) - 1) or 1}
