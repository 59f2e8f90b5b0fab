"""Congestion points of many outputs: ECP-1 to ECP-12 (``docs/ecm_cp.md``), without a clock.

A network calls ``add_frame`` when a frame joins an output's queue and ``remove_frame`` when it leaves; within a
cycle, ``add_frame`` comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.ecm_cp import CHANCE_BITS, sampling_chance
from vlane.ethernet.shared import DRAW_BITS, FEEDBACK_BYTES, saturation_bytes, seed_of
from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.ethernet.prbs import next_state, random_number

_TO_DRAW = CHANCE_BITS - DRAW_BITS


class Point:
    """A congestion point.

    Parameters
    ----------
    random_state : int
        State of the random sequence.
    queue : int
        Bytes in the queue.
    sampled_queue : int
        Bytes in the queue at the last sample.
    bytes_since_sample : int
        Bytes since the last sample, with fixed sampling.
    """

    random_state: Int64
    queue: Int32
    sampled_queue: Int32
    bytes_since_sample: Int32


class Points(NamedTuple):
    """Congestion points with equal settings.

    Parameters
    ----------
    point : Records of Point, (points,)
        State of each congestion point.
    set_point : int
        Qeq, the target queue length, in bytes.
    weight : int
        W, the weight of the queue's change.
    max_feedback : int
        Saturation value of the feedback, in bytes.
    max_queue : int
        Maximum queue length, in bytes.
    sample_bytes : int
        Bytes between samples.
    sampling_chance : int
        Sampling probability per byte in 2**-32.
    is_random : bool
        Whether frames are sampled at random, not after a fixed number of bytes.
    bcn_max : bool
        Whether the feedback is BCN_MAX above ``max_bytes``.
    bcn_stop : bool
        Whether BCN(0,0) is sent above ``stop_bytes``.
    max_bytes, stop_bytes : int
        Thresholds of BCN_MAX and of BCN(0,0).
    seeds : array of int64, (points,)
        Random state of each point after reset.
    """

    point: Records[Point]
    set_point: int
    weight: int
    max_feedback: int
    max_queue: int
    sample_bytes: int
    sampling_chance: int
    is_random: bool
    bcn_max: bool
    bcn_stop: bool
    max_bytes: int
    stop_bytes: int
    seeds: NDArray[np.int64]


class Notification(NamedTuple):
    """Result of a frame that joins the queue.

    Parameters
    ----------
    sampled : bool
        The frame is sampled.
    sends : bool
        A notification is sent to the frame's source.
    stop : bool
        The notification is BCN(0,0).
    feedback : int
        Fb of a sampled frame in units of 64 bytes; 0 for a stop.
    """

    sampled: bool
    sends: bool
    stop: bool
    feedback: int


SILENT = Notification(sampled=False, sends=False, stop=False, feedback=0)
"""Result of a frame that is not sampled."""


def new_points(
    *,
    set_point_bytes: int,
    weight: int,
    sample_bytes: int,
    sampling: str,
    queue_bytes: int,
    bcn_max: bool,
    max_bytes: int,
    bcn_stop: bool,
    stop_bytes: int,
    seed: int,
    points: int = 1,
) -> Points:
    """Return congestion points after reset, each with a seed of its own (ECP-5)."""
    made = Points(
        new_records(Point, points),
        set_point_bytes,
        weight,
        saturation_bytes(set_point_bytes, weight),
        queue_bytes,
        sample_bytes,
        sampling_chance(sample_bytes),
        sampling == "random",
        bcn_max,
        bcn_stop,
        max_bytes,
        stop_bytes,
        np.array([seed_of(seed, place) for place in range(points)], np.int64),
    )
    for place in range(points):
        reset(made, place)
    return made


@kernel
def reset(points: Points, point_index: int) -> None:
    """Reset a congestion point (ECP-12)."""
    point_state = points.point[point_index]
    point_state.queue, point_state.sampled_queue, point_state.bytes_since_sample, point_state.random_state = (
        0,
        0,
        0,
        points.seeds[point_index],
    )


@inner
def takes_sample(points: Points, point_index: int, length: int) -> bool:
    """Return whether a managed frame is sampled, and advance the sampling state."""
    point_state = points.point[point_index]
    if points.is_random:
        point_state.random_state = next_state(point_state.random_state)
        return random_number(point_state.random_state) < length * points.sampling_chance >> _TO_DRAW
    point_state.bytes_since_sample += length
    if point_state.bytes_since_sample < points.sample_bytes:
        return False
    point_state.bytes_since_sample -= points.sample_bytes
    return True


@inner
def feedback_units(feedback: int) -> int:
    """Convert a feedback from bytes to units of 64 bytes, rounded towards 0 (ECP-8)."""
    return feedback // FEEDBACK_BYTES if feedback >= 0 else -(-feedback // FEEDBACK_BYTES)


@inner
def feedback_bytes(points: Points, queue: int, last: int) -> int:
    """Return the saturated feedback of a sample in bytes (ECP-7, ECP-9)."""
    if points.bcn_max and queue > points.max_bytes:
        return -points.max_feedback
    feedback = points.set_point - queue - points.weight * (queue - last)
    return max(-points.max_feedback, min(points.max_feedback, feedback))


@inner
def add_frame(points: Points, point_index: int, length: int, managed: int, tagged: int) -> Notification:
    """Add a frame to an output's queue and return the result of sampling (ECP-1 to ECP-11).

    Parameters
    ----------
    length : int
        Frame length in bytes.
    managed : int
        Nonzero for data of a source that reacts; 0 for notifications, probes and replies.
    tagged : int
        Nonzero if the frame carries the tag of a rate limiter with the CPID of this point.
    """
    point_state = points.point[point_index]
    point_state.queue = min(point_state.queue + length, points.max_queue)
    if managed == 0 or not takes_sample(points, point_index, length):
        return SILENT
    queue, last = point_state.queue, point_state.sampled_queue
    point_state.sampled_queue = queue
    if points.bcn_stop and queue > points.stop_bytes:
        return Notification(True, True, True, 0)  # noqa: FBT003 - kernels take positional arguments only
    feedback = feedback_units(feedback_bytes(points, queue, last))
    return Notification(True, feedback < 0 or (feedback > 0 and tagged != 0), False, feedback)  # noqa: FBT003 - positional in kernels


@inner
def remove_frame(points: Points, point_index: int, length: int) -> None:
    """Remove a frame from an output's queue (ECP-1)."""
    point_state = points.point[point_index]
    point_state.queue = max(point_state.queue - length, 0)
