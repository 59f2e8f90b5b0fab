"""Construction of the traffic sources of all NICs from classes, a trace and connections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.compiler.records import new_records
from vlane.golden.engine.kernel import kernel
from vlane.golden.engine.random_bits import seeded_rngs
from vlane.golden.traffic.classes import (
    NEVER,
    PairWeights,
    TrafficClass,
    course_table,
    distinct_paces,
    pair_table,
    random_derangement,
    senders_of,
)
from vlane.golden.traffic.connections import new_connections
from vlane.golden.traffic.distributions import WHOLE, stack_ranges
from vlane.golden.traffic.messages import NONE, Backlog
from vlane.golden.traffic.plugged import plugged_sources
from vlane.golden.traffic.sources import (
    ASKS,
    AT,
    BY_CONNECTION,
    BY_EVENTS,
    BY_TABLE,
    BY_WEIGHT,
    CERTAIN,
    CONNECTED,
    COURSE,
    COURSE_END,
    DELAY,
    FROM_TRACE,
    GUIDE_SHIFT,
    IN_MESSAGES,
    KIND,
    OF_REPLIES,
    OFF,
    OFF_END,
    ON,
    ON_END,
    ON_SHARE,
    PLUGGED,
    QUEUE_PACKETS,
    REPLY,
    SETTINGS,
    SIZES,
    SIZES_END,
    TABLE,
    THINK,
    TO_ONE,
    TO_OTHERS,
    UNIFORM,
    WINDOW,
    WINDOWS,
    WINDOWS_END,
    Sources,
    draw_first_packet,
)
from vlane.study.cbr_list import CbrList

_MOST_QUEUES = 64


def new_sources(
    classes: Sequence[TrafficClass],
    *,
    nics: int,
    flit_bytes: int,
    seed: int,
    lids: NDArray[np.int64],
    path_sl: NDArray[np.int16] | None = None,
    trace: NDArray[np.int64] | None = None,
    connections: CbrList | None = None,
) -> Sources:
    """Return sources before cycle 0.

    Parameters
    ----------
    classes : sequence of TrafficClass
        Traffic classes.
    nics : int
        Number of NICs.
    flit_bytes : int
        Flit size in bytes.
    seed : int
        Seed of all random sequences.
    lids : array of int64, (NICs, 2)
        First LID and number of LIDs of each NIC; a packet uses any of them.
    path_sl : array of int16, (NICs, NICs), optional
        SL of each path; required if a class's SL is ``PATH_SL``.
    trace : array of int64, (rows, 5), optional
        Cycle, source, destination, SL and bytes of packets to replay in addition to the classes; adds a queue per SL.
    connections : CbrList, optional
        Connections in addition to classes and trace; adds a queue per SL.

    Raises
    ------
    InputError
        If there are more than 64 queues.
    ValueError
        If classes of messages have different MTUs.
    """
    rows = np.zeros((0, 5), np.int64) if trace is None else trace[np.lexsort((trace[:, 0], trace[:, 1], trace[:, 3]))]
    levels, own = np.unique(rows[:, 3]), len(classes)
    connected, sls, heaps = new_connections(connections or CbrList.none(), seed, nics)
    queues = (TrafficClass(int(sl), 0.0, 1, 1) for sl in (*levels, *sls))
    answered = [number for number, each in enumerate(classes) if each.replies is not None]
    answers = (
        TrafficClass(each.replies.sl, 0.0, 0, 0, sizes=each.replies.sizes, mtu=each.mtu)
        for each in classes
        if each.replies is not None
    )
    classes = [*classes, *queues, *answers] or [TrafficClass(0, 0.0, 1, 1)]
    if len(classes) > _MOST_QUEUES:
        must = f"at most {_MOST_QUEUES} classes (each reply, and each SL of the trace and the connections, is one)"
        raise InputError("traffic", must, len(classes))
    count, hosts = len(classes), max(1, *(len(each.hot_hosts) for each in classes))
    place = np.zeros((count, nics, 2), np.int64)
    for number, sl in enumerate(levels, start=own):
        ends = np.searchsorted(rows[:, 3] * nics + rows[:, 1], int(sl) * nics + np.arange(nics + 1))
        place[number, :, 0], place[number, :, 1] = ends[:-1], ends[1:]
    place[own + len(levels) : own + len(levels) + len(sls)] = heaps
    chances, pace = distinct_paces(classes, nics, flit_bytes)
    pairs, weighed = pair_table(classes, nics)
    tables = [table for each in classes for table in (each.sizes, each.on, each.off)]
    ranges, places = stack_ranges(tables)
    course, courses = course_table(classes)
    windows = np.array([window for each in classes for window in each.active], np.int64)
    ends = np.cumsum([len(each.active) for each in classes])
    mtus = {each.mtu for each in classes if each.mtu}
    if len(mtus) > 1:
        raise ValueError("classes of messages have different MTUs")
    mtu = max(mtus, default=0)
    backlog = new_records(Backlog, *((nics, count) if mtu else (0, 0)))
    backlog["sending"] = backlog["first"] = NONE
    sources = Sources(
        setting=np.zeros((count, SETTINGS), np.int64),
        pace_row=pace,
        patience=np.zeros((len(chances), TABLE), np.int64),
        gap_bounds=np.zeros((len(chances), WHOLE >> GUIDE_SHIFT, 2), np.int64),
        period=np.zeros(len(chances), np.int64),
        target=np.full((count, nics), -1, np.int64),
        pairs=pairs,
        weighted_destinations=weighed,
        hot=np.zeros((count, hosts), np.int64),
        due=np.full((nics, count), NEVER, np.int64),
        fraction=np.zeros((nics, count), np.int64),
        burst_packets_left=np.zeros((nics, count), np.int64),
        burst_destination=np.zeros((nics, count), np.int64),
        is_sender=np.ones((nics, count), np.bool_),
        bits=np.zeros((nics, count, 1), np.uint64),
        earliest=np.full(nics, NEVER, np.int64),
        last_class=np.full(nics, count - 1, np.int64),
        lids=lids,
        path_sl=np.zeros((0, 0), np.int16) if path_sl is None else path_sl,
        trace=np.ascontiguousarray(rows[:, [0, 2, 3, 4]]),
        place=place,
        connections=connected,
        active_window=np.array([(each.active[0][0], each.active[0][1]) for each in classes], np.int64),
        windows=windows,
        window=np.tile(np.append(0, ends[:-1]), (nics, 1)),
        burst_cycles_left=np.zeros((nics, count), np.int64),
        course=course,
        ranges=ranges,
        exits=np.zeros((nics, count), np.int64),
        exit_cycles=np.zeros((nics, count, max(each.queue_packets for each in classes)), np.int64),
        backlog=backlog,
        plugged=plugged_sources(classes, nics),
        mtu=mtu,
        flit_bits=flit_bytes.bit_length() - 1,
    )
    for row, (chance, is_regular) in enumerate(chances):
        _set_pace(sources, row, chance, is_regular=is_regular)
    for number, each in enumerate(classes):
        _set_class(sources, number, each, seed)
    sources.setting[:, [SIZES, SIZES_END, ON, ON_END, OFF, OFF_END]] = places.reshape(count, 6)
    sources.setting[:, [COURSE, COURSE_END]] = courses
    sources.setting[:, WINDOWS], sources.setting[:, WINDOWS_END] = np.append(0, ends[:-1]), ends
    _set_replies(sources, answered, classes)
    sources.bits[:, :, 0] = seeded_rngs(seed, np.arange(nics)[:, None], np.arange(count))
    _draw_first_packets(sources, np.array([chance > 0 for chance, _ in chances], np.bool_))
    for number in range(own, own + len(levels)):
        sources.setting[number, KIND] = FROM_TRACE
        has = place[number, :, 0] < place[number, :, 1]
        sources.due[has, number] = sources.trace[place[number, has, 0], AT]
    for number in range(own + len(levels), own + len(levels) + len(sls)):
        sources.setting[number, KIND] = BY_CONNECTION
        has = place[number, :, 0] < place[number, :, 1]
        sources.due[has, number] = connected.heap["due"][place[number, has, 0]]
    sources.earliest[:] = sources.due.min(axis=1)
    return sources


def _set_class(sources: Sources, queue: int, traffic_class: TrafficClass, seed: int) -> None:
    kinds = {"uniform": UNIFORM, "others": TO_OTHERS, "connections": CONNECTED}
    nics = len(sources.due)
    if traffic_class.source is not None:
        kind = PLUGGED
    elif isinstance(traffic_class.pattern, str):
        kind = kinds[traffic_class.pattern]
    elif isinstance(traffic_class.pattern, PairWeights):
        kind = BY_WEIGHT
    else:
        kind = BY_TABLE
        sources.target[queue] = traffic_class.pattern
    if kind == CONNECTED:
        sources.target[queue] = random_derangement(nics, seed, queue)
    sources.is_sender[:, queue] = senders_of(traffic_class, nics)
    hot = int(traffic_class.hot_share * CERTAIN) if traffic_class.hot_hosts else 0
    sources.hot[queue, : len(traffic_class.hot_hosts)] = traffic_class.hot_hosts
    sources.setting[queue, : TO_ONE + 1] = (
        len(traffic_class.hot_hosts),
        kind,
        traffic_class.sl,
        traffic_class.least_bytes,
        traffic_class.most_bytes,
        traffic_class.burst,
        hot,
        traffic_class.burst_to_one,
    )
    sources.setting[queue, [IN_MESSAGES, QUEUE_PACKETS]] = traffic_class.mtu > 0, traffic_class.queue_packets
    sources.setting[queue, ON_SHARE] = int(CERTAIN / traffic_class.burstiness)


def _set_replies(sources: Sources, answered: Sequence[int], classes: Sequence[TrafficClass]) -> None:
    """Set the windows of classes, and the queues of replies, which follow all other queues."""
    setting = sources.setting
    for number, each in enumerate(classes):
        has_fixed = each.regular or not each.think
        setting[number, [BY_EVENTS, WINDOW]] = each.window > 0, each.window
        setting[number, THINK] = round(each.think) if has_fixed else -1
    for queue, number in enumerate(answered, start=len(classes) - len(answered)):
        replies = classes[number].replies
        setting[queue, [KIND, BY_EVENTS, ASKS]] = OF_REPLIES, 1, number + 1
        setting[number, [REPLY, DELAY]] = queue + 1, replies.delay if replies else 0


def _set_pace(sources: Sources, row: int, chance: float, *, is_regular: bool) -> None:
    sources.period[row] = round((1 << 32) / chance) if is_regular and chance > 0 else 0
    longer = 1.0
    for cycles in range(TABLE):
        longer *= 1.0 - chance
        sources.patience[row, cycles] = int(longer * WHOLE)
    rising = -sources.patience[row]
    least = np.arange(WHOLE >> GUIDE_SHIFT) << GUIDE_SHIFT
    most = least + (1 << GUIDE_SHIFT) - 1
    sources.gap_bounds[row, :, 0] = np.maximum(np.searchsorted(rising, -most, side="left") - 1, 0)
    sources.gap_bounds[row, :, 1] = np.minimum(np.searchsorted(rising, -least, side="left"), TABLE - 1)


@kernel
def _draw_first_packets(sources: Sources, sends: NDArray[np.bool_]) -> None:
    """Draw the first packet of each queue whose pace sends."""
    for nic in range(sources.due.shape[0]):
        for number in range(sources.due.shape[1]):
            if sends[sources.pace_row[nic, number]]:
                draw_first_packet(sources, nic, number)
