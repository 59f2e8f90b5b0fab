"""Frames of an Ethernet network and the queues that they stand in: linked lists in one pool."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner

DATA, PROBE, REPLY, NOTIFICATION, PAUSE = range(5)
CONTROL_BYTES = 64
"""Size of every frame that carries no data."""
NONE = -1


class Frame:
    """A frame.

    Parameters
    ----------
    born : int
        Of data: cycle in which its message was made.
    stamp, arrival, counted : int
        Of a probe: cycles in which it started and arrived, and the bytes of its flow.
    serial, of : int
        Of data: which message of its flow, and how many frames that has.
    after : int
        The next frame of the queue that it stands in.
    source, destination, length, kind : int
        What it is; its length in bytes.
    input : int
        The channel that it came from, in whose memory it stands; ``NONE`` for what a switch made itself.
    ready : int
        Of data in an adapter: the cycle from which on it may start; in a switch: when it could not join a queue last.
    tag : int
        CPID of the limiter of its flow, of data; of the congestion point, of a notification.
    feedback, notice : int
        What a notification says; the time of a PAUSE, in quanta.
    is_tagged, is_last : int
        Data of a flow that a congestion point limited; the last frame of a message.
    """

    born: Int64
    stamp: Int64
    arrival: Int64
    counted: Int64
    ready: Int64
    serial: Int64
    of: Int32
    after: Int32
    source: Int32
    destination: Int32
    length: Int32
    input: Int32
    tag: Int32
    feedback: Int32
    kind: Int16
    notice: Int16
    is_tagged: Int16
    is_last: Int16


class Queue:
    """A list of frames, ``NONE`` at both ends if it is empty."""

    first: Int32
    last: Int32


class Frames(NamedTuple):
    """All frames.

    Parameters
    ----------
    frame : Records of Frame
        The pool.
    unused : array of int64, (2,)
        The first unused frame, and how many there are.
    """

    frame: Records[Frame]
    unused: NDArray[np.int64]


def new_frames(count: int) -> Frames:
    """Return a pool of unused frames."""
    frame = new_records(Frame, count)
    frame["after"] = np.arange(1, count + 1)
    return Frames(frame, np.array([0, count], np.int64))


def grown_frames(frames: Frames) -> Frames:
    """Return the pool with twice the frames; none of those in use moves.

    The list of unused frames ends behind the pool, which is where the new ones begin.
    """
    before = len(frames.frame)
    frame = new_records(Frame, 2 * before)
    frame["after"] = np.arange(1, 2 * before + 1)
    frame[:before] = frames.frame
    return Frames(frame, np.array([frames.unused[0], frames.unused[1] + before], np.int64))


def new_queues(*counts: int) -> Records[Queue]:
    """Return empty queues."""
    queues = new_records(Queue, *counts)
    queues["first"], queues["last"] = NONE, NONE
    return queues


@inner
def new_frame(frames: Frames, kind: int, source: int, destination: int, length: int) -> int:
    """Take an unused frame; its other fields are as they were, but for those that say that it is nothing special."""
    place = frames.unused[0]
    frame = frames.frame[place]
    frames.unused[0] = frame.after
    frames.unused[1] -= 1
    frame.kind, frame.source, frame.destination, frame.length = kind, source, destination, length
    frame.input, frame.is_tagged, frame.is_last = NONE, 0, 0
    return place


@inner
def free(frames: Frames, place: int) -> None:
    """Give a frame back."""
    frames.frame[place].after = frames.unused[0]
    frames.unused[0] = place
    frames.unused[1] += 1


@inner
def append(frames: Frames, queue: Queue, place: int) -> None:
    """Let a frame stand in a queue."""
    frames.frame[place].after = NONE
    if queue.first == NONE:
        queue.first = place
    else:
        frames.frame[queue.last].after = place
    queue.last = place


@inner
def take(frames: Frames, queue: Queue) -> int:
    """Take the first frame of a queue out; ``NONE`` if there is none."""
    place = queue.first
    if place != NONE:
        queue.first = frames.frame[place].after
    return place
