"""Messages that wait in the adapters, and their random sources (ETH-11, section Sources of ``docs/ethernet.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_bits, seeded_rng

CERTAIN = 1 << 62
"""Probability 1."""
_GOES_ON, _IS_IDLE = range(2)


class Message:
    """A message of which no frame, or not every frame, has been granted.

    Parameters
    ----------
    generated_cycle : int
        Cycle of generation.
    next_message : int
        Next message of the same flow.
    frames : int
        Number of frames.
    """

    generated_cycle: Int64
    next_message: Int32
    frames: Int32


class Backlog:
    """Messages of a flow that wait in the adapter.

    Parameters
    ----------
    started_messages : int
        Number of messages of which a frame was granted.
    frames : int
        Number of waiting frames.
    first : int
        First message; valid only while frames wait.
    last : int
        Last message.
    granted_frames : int
        Number of granted frames of the first message.
    """

    started_messages: Int64
    frames: Int64
    first: Int32
    last: Int32
    granted_frames: Int32


class Messages(NamedTuple):
    """All waiting messages, and the random sources of the nodes.

    Parameters
    ----------
    message : Records of Message
        Message pool.
    unused : array of int64, (2,)
        First unused message; number of unused messages.
    backlog : Records of Backlog, (nodes, nodes)
        Waiting messages by source and destination.
    destination_chances : array of int64, (nodes, nodes)
        Cumulative distribution of a node's destinations, in 2**-62.
    continue_chances : array of int64, (nodes, 2)
        Probability, in 2**-62, that a message continues after a frame, and that another idle slot follows.
    bits : array of uint64, (nodes, 1)
        Random sequences.
    """

    message: Records[Message]
    unused: NDArray[np.int64]
    backlog: Records[Backlog]
    destination_chances: NDArray[np.int64]
    continue_chances: NDArray[np.int64]
    bits: NDArray[np.uint64]


def new_messages(
    load: NDArray[np.float64], shares: NDArray[np.float64], mean_frames: float, *, seed: int, message_count: int
) -> Messages:
    """Return sources without messages.

    Parameters
    ----------
    load : array of float64, (nodes,)
        Load of each node as a fraction of its link; 0 for nodes that do not send.
    shares : array of float64, (nodes, nodes)
        Fraction of each node's messages to each destination; rows of sending nodes sum to 1.
    mean_frames : float
        Mean number of frames per message (geometric distribution).
    seed : int
        Seed of all random sequences.
    message_count : int
        Size of the message pool.
    """
    nodes = len(load)
    to = np.minimum(np.cumsum(shares, axis=1) * CERTAIN, float(CERTAIN)).astype(np.int64)
    for node in np.flatnonzero(load):
        to[node, np.flatnonzero(shares[node])[-1] :] = CERTAIN
    idle = np.array([mean_frames * (1 - each) / each if each else 0.0 for each in load])
    chances = np.stack([np.full(nodes, 1 - 1 / mean_frames), idle / (1 + idle)], axis=1)
    more = (chances * CERTAIN).astype(np.int64)
    message = new_records(Message, message_count)
    message["next_message"] = np.arange(1, message_count + 1)
    bits = np.array([seeded_rng(seed, node) for node in range(nodes)], np.uint64).reshape(nodes, 1)
    unused = np.array([0, message_count], np.int64)
    return Messages(message, unused, new_records(Backlog, nodes, nodes), to, more, bits)


def grown_messages(messages: Messages) -> Messages:
    """Return the pool with twice as many messages. Messages in use keep their numbers."""
    before = len(messages.message)
    message = new_records(Message, 2 * before)
    message["next_message"] = np.arange(1, 2 * before + 1)
    message[:before] = messages.message
    messages.unused[1] += before
    return messages._replace(message=message)


@inner
def _consecutive_successes(messages: Messages, node: int, probability: int) -> int:
    """Return the number of consecutive successes of an event with probability ``probability``."""
    count = 0
    while draw_bits(messages.bits[node]) < probability:
        count += 1
    return count


@inner
def generate_message(messages: Messages, node: int, cycle: int) -> tuple[int, int, int]:
    """Generate a message of a node and return (destination, frames, idle slots until the next message)."""
    drawn, to = draw_bits(messages.bits[node]), 0
    while drawn >= messages.destination_chances[node, to]:
        to += 1
    frames = 1 + _consecutive_successes(messages, node, messages.continue_chances[node, _GOES_ON])
    place = messages.unused[0]
    message, backlog_state = messages.message[place], messages.backlog[node, to]
    messages.unused[0] = message.next_message
    messages.unused[1] -= 1
    message.generated_cycle, message.frames = cycle, frames
    if backlog_state.frames == 0:
        backlog_state.first = place
    else:
        messages.message[backlog_state.last].next_message = place
    backlog_state.last = place
    backlog_state.frames += frames
    return to, frames, frames + _consecutive_successes(messages, node, messages.continue_chances[node, _IS_IDLE])


@inner
def remove_frame(messages: Messages, node: int, destination: int) -> tuple[int, int, int, bool]:
    """Remove the next frame of a flow from its backlog, which must not be empty.

    Return cycle of generation, serial number and number of frames of its message, and whether the frame is the last.
    """
    backlog_state = messages.backlog[node, destination]
    place = backlog_state.first
    message = messages.message[place]
    if backlog_state.granted_frames == 0:
        backlog_state.started_messages += 1
    backlog_state.granted_frames += 1
    backlog_state.frames -= 1
    is_last = backlog_state.granted_frames == message.frames
    if is_last:
        backlog_state.granted_frames, backlog_state.first = 0, message.next_message
        message.next_message = messages.unused[0]
        messages.unused[0] = place
        messages.unused[1] += 1
    return message.generated_cycle, backlog_state.started_messages, message.frames, is_last
