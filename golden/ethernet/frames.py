"""Frames of an Ethernet network and their queues: linked lists in one pool."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner

DATA, PROBE, REPLY, NOTIFICATION, PAUSE = range(5)
CONTROL_BYTES = 64
"""Size of a frame without data, in bytes."""
NONE = -1


class Frame:
    """A frame.

    Parameters
    ----------
    generated_cycle : int
        Data: cycle in which the message was generated.
    stamp : int
        Cycle in which the probe started on the wire.
    arrival : int
        Cycle in which the probe arrived.
    flow_bytes : int
        Byte count of the probe's flow.
    message_number : int
        Number of a data frame's message within the flow.
    message_frames : int
        Number of frames of this message.
    next_frame : int
        Next frame of the same queue.
    source, destination, length, kind : int
        Source, destination, length in bytes, and kind.
    input_channel : int
        Channel of arrival, whose memory holds the frame; ``NONE`` for frames made by the switch.
    ready : int
        Data in an adapter: first cycle in which it may start. In a switch: last cycle in which it could not join a
        queue.
    tag : int
        CPID: of the flow's limiter for data, of the congestion point for a notification.
    feedback : int
        Feedback of a notification; time of a PAUSE, in quanta.
    notice_kind : int
        Kind of a notification.
    is_tagged : int
        Data of a flow limited by a congestion point.
    is_last : int
        Last frame of a message.
    """

    generated_cycle: Int64
    stamp: Int64
    arrival: Int64
    flow_bytes: Int64
    ready: Int64
    message_number: Int64
    message_frames: Int32
    next_frame: Int32
    source: Int32
    destination: Int32
    length: Int32
    input_channel: Int32
    tag: Int32
    feedback: Int32
    kind: Int16
    notice_kind: Int16
    is_tagged: Int16
    is_last: Int16


class Queue:
    """List of frames: first and last. ``first`` is ``NONE`` if the list is empty."""

    first: Int32
    last: Int32


class Frames(NamedTuple):
    """Pool of frames.

    Parameters
    ----------
    frame : Records of Frame
        Frames.
    unused : array of int64, (2,)
        First unused frame; number of unused frames.
    """

    frame: Records[Frame]
    unused: NDArray[np.int64]


def new_frames(frame_count: int) -> Frames:
    """Return a pool of unused frames."""
    frame = new_records(Frame, frame_count)
    frame["next_frame"] = np.arange(1, frame_count + 1)
    return Frames(frame, np.array([0, frame_count], np.int64))


def grown_frames(frames: Frames) -> Frames:
    """Return the pool with twice as many frames.

    Frames in use keep their numbers. The list of unused frames ends with the index after the pool, where the new
    frames begin.
    """
    before = len(frames.frame)
    frame = new_records(Frame, 2 * before)
    frame["next_frame"] = np.arange(1, 2 * before + 1)
    frame[:before] = frames.frame
    return Frames(frame, np.array([frames.unused[0], frames.unused[1] + before], np.int64))


def new_queues(*counts: int) -> Records[Queue]:
    """Return an array of empty queues."""
    queues = new_records(Queue, *counts)
    queues["first"], queues["last"] = NONE, NONE
    return queues


@inner
def new_frame(frames: Frames, kind: int, source: int, destination: int, length: int) -> int:
    """Allocate a frame and set kind, source, destination and length. Other fields keep old values."""
    place = frames.unused[0]
    frame = frames.frame[place]
    frames.unused[0] = frame.next_frame
    frames.unused[1] -= 1
    frame.kind, frame.source, frame.destination, frame.length = kind, source, destination, length
    frame.input_channel, frame.is_tagged, frame.is_last = NONE, 0, 0
    return place


@inner
def free_frame(frames: Frames, frame_index: int) -> None:
    """Return a frame to the pool."""
    frames.frame[frame_index].next_frame = frames.unused[0]
    frames.unused[0] = frame_index
    frames.unused[1] += 1


@inner
def append_frame(frames: Frames, queue: Queue, frame_index: int) -> None:
    """Append a frame to a queue."""
    frames.frame[frame_index].next_frame = NONE
    if queue.first == NONE:
        queue.first = frame_index
    else:
        frames.frame[queue.last].next_frame = frame_index
    queue.last = frame_index


@inner
def pop_frame(frames: Frames, queue: Queue) -> int:
    """Remove the first frame of a queue and return it, or ``NONE`` if the queue is empty."""
    place = queue.first
    if place != NONE:
        queue.first = frames.frame[place].next_frame
    return place
