"""Who may wait for whom: the channels, (link, VL), that the tables chain together, and the hops of every path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.ib_switch import DROPPED, route, switch_of
from vlane.golden.kernel import kernel
from vlane.golden.network import Network

__all__ = ["Paths", "find_cycle", "follow_paths"]


class Paths(NamedTuple):
    """All paths, followed.

    Parameters
    ----------
    waits : array of bool, (sending ends * lanes, ports * lanes)
        Whether a packet that holds the first channel may wait for (port, lane) of the switch at its end.
    hops : array of int64, (NICs, NICs)
        Switches passed by the first LID of each destination; -1 where no path arrives.
    lost : array of int64, (3,)
        Paths that do not arrive, and (source, DLID) of the first.
    """

    waits: NDArray[np.bool_]
    hops: NDArray[np.int64]
    lost: NDArray[np.int64]


def follow_paths(net: Network, sls: NDArray[np.int64], path_sl: NDArray[np.uint8]) -> Paths:
    """Follow every LID from every NIC, on each SL given, or on the path's own if there are any of those."""
    lanes, nics = net.switches.queues.head.shape[1], len(net.wiring.feeder)
    paths = Paths(
        np.zeros((len(net.wiring.far) * lanes, (1 << net.switches.port_bits) * lanes), np.bool_),
        np.full((nics, nics), -1, np.int64), np.zeros(3, np.int64),
    )  # fmt: skip
    _follow(net, paths, sls, path_sl)
    return paths


@kernel
def _follow(net: Network, paths: Paths, sls: NDArray[np.int64], path_sl: NDArray[np.uint8]) -> None:
    for to in range(len(net.wiring.feeder)):
        for copy in range(net.sources.lids[to, 1]):
            dlid = net.sources.lids[to, 0] + copy
            for source in range(len(net.wiring.feeder)):
                if path_sl.size != 0:
                    _follow_one(net, paths, source, to, dlid, int(path_sl[source, to]), copy == 0)
                else:
                    for number in range(len(sls)):
                        _follow_one(net, paths, source, to, dlid, sls[number], copy == 0 and number == 0)


@kernel
def _follow_one(
    net: Network,
    paths: Paths,
    source: int,
    to: int,
    dlid: int,
    sl: int,
    counts: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
) -> None:
    switches, wiring = net.switches, net.wiring
    lanes = switches.queues.head.shape[1]
    end, lane, hops = len(wiring.sender) + source, int(wiring.nic_vl[source, sl]), 0
    arrives = lane < lanes
    while arrives:
        port = wiring.far[end]
        if port < 0:
            arrives = -1 - port == to
            break
        output, following = route(switches, port, dlid, sl, lane)
        hops += 1
        if output == DROPPED or hops > len(switches.waiting):
            arrives = False
            break
        paths.waits[end * lanes + lane, output * lanes + following] = True
        end, lane = (switch_of(switches, port) << switches.port_bits) + output, following
    if not arrives:
        if paths.lost[0] == 0:
            paths.lost[1], paths.lost[2] = source, dlid
        paths.lost[0] += 1
    elif counts:
        paths.hops[source, to] = hops


def find_cycle(net: Network, paths: Paths) -> list[tuple[int, int]]:
    """Return the (sending end, VL) of a circle of channels that wait for each other; empty if there is none."""
    lanes = net.switches.queues.head.shape[1]
    held, wanted = np.nonzero(paths.waits)
    switch = net.wiring.far[held // lanes] >> net.switches.port_bits
    following = ((switch << net.switches.port_bits) + wanted // lanes) * lanes + wanted % lanes
    order = np.argsort(held, kind="stable")
    held, following = held[order], following[order]
    channels = len(paths.waits)
    first = np.searchsorted(held, np.arange(channels + 1))
    chain = np.zeros(channels + 1, np.int64)
    length = _circle(first, following, np.zeros(channels, np.int64), np.zeros(channels, np.int64), chain)
    return [(int(channel) // lanes, int(channel) % lanes) for channel in chain[:length]]


@kernel
def _circle(
    first: NDArray[np.int64],
    following: NDArray[np.int64],
    state: NDArray[np.int64],
    next_edge: NDArray[np.int64],
    chain: NDArray[np.int64],
) -> int:
    """Search depth first; put a circle into ``chain`` and return its length, 0 if there is none.

    ``state`` is 0 before a channel is visited, its place in the chain while it is on it, -1 afterwards.
    """
    for start in range(len(state)):
        if state[start] != 0:
            continue
        depth = 1
        chain[0], state[start], next_edge[start] = start, 1, first[start]
        while depth > 0:
            at = chain[depth - 1]
            if next_edge[at] == first[at + 1]:
                state[at] = -1
                depth -= 1
                continue
            to = following[next_edge[at]]
            next_edge[at] += 1
            if state[to] > 0:
                length = depth - state[to] + 1
                for place in range(length):
                    chain[place] = chain[state[to] - 1 + place]
                return length
            if state[to] == 0:
                chain[depth], next_edge[to] = to, first[to]
                depth += 1
                state[to] = depth
    return 0
