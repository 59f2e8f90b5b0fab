"""Channel dependency graph of the routing tables, and the search for cycles (deadlocks).

A channel is a VL of a link, numbered by its sending port, or a VL of a central buffer, numbered after all links.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.network.paths import Paths, next_awaited_channel
from vlane.golden.network.state import Network
from vlane.golden.switches.kinds import central_buffers


def find_cycle(network: Network, paths: Paths) -> list[tuple[int, int]]:
    """Return a cycle of channels that wait for each other, as (place, VL) pairs.

    A place is a sending port or, numbered after all ports, a central buffer. The list is empty if the dependency
    graph has no cycle.
    """
    inputs, ends, mports = network.switches.inputs, len(network.wiring.cable), central_buffers(network.switches)
    lanes, channels = inputs.queues.queue.shape[1], len(paths.waits)
    at = np.append(
        network.wiring.cable["far_input"] >> inputs.port_bits, np.repeat(np.arange(len(inputs.drop_counts)), mports)
    )
    chain = np.zeros(channels + 1, np.int32)
    state, following = np.zeros(channels, np.int32), np.zeros(channels, np.int32)
    length = _search_cycle(paths.waits, at, inputs.port_bits, lanes, ends, mports, state, following, chain)
    return [(int(channel) // lanes, int(channel) % lanes) for channel in chain[:length]]


@inner
def _channel_index(at_switch: int, requested_channel: int, bits: int, lanes: int, end_count: int, mports: int) -> int:
    """Return the channel of a (place, lane) of switch ``at_switch``."""
    place, lane = requested_channel // lanes, requested_channel % lanes
    slots = 1 << bits
    return (
        (at_switch << bits) + place if place < slots else end_count + at_switch * mports + place - slots
    ) * lanes + lane


@kernel
def _search_cycle(
    waits: NDArray[np.uint8],
    at_switch: NDArray[np.int64],
    bits: int,
    lanes: int,
    end_count: int,
    mports: int,
    state: NDArray[np.int32],
    following: NDArray[np.int32],
    chain: NDArray[np.int32],
) -> int:
    """Search the dependency graph depth first.

    Store a cycle in ``chain`` and return its length, 0 for none. ``state`` is 0 for an unvisited channel, its
    position in the chain (from 1) while it is on the chain, and -1 afterwards. ``following`` is the place from which
    the search of a channel resumes.
    """
    for start in range(len(state)):
        if state[start] != 0:
            continue
        depth = 1
        chain[0], state[start] = start, 1
        while depth > 0:
            at = chain[depth - 1]
            wanted = next_awaited_channel(waits, at, following[at])
            if wanted < 0:
                state[at] = -1
                depth -= 1
                continue
            to = _channel_index(at_switch[at // lanes], wanted, bits, lanes, end_count, mports)
            following[at] = wanted + 1
            if state[to] > 0:
                length = depth - state[to] + 1
                for place in range(length):
                    chain[place] = chain[state[to] - 1 + place]
                return length
            if state[to] == 0:
                chain[depth] = to
                depth += 1
                state[to] = depth
    return 0
