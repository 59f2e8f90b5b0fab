"""Who may wait for whom: the channels that the tables chain together, and the hops of every path.

A channel is a VL of a link, numbered by the sending end, or of a central buffer, numbered after all of those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.network.meters import END
from vlane.golden.network.network import Network
from vlane.golden.network.sources import Sources, pairs_of_class
from vlane.golden.network.traffic import PATH_SL
from vlane.golden.network.wiring import Wiring
from vlane.golden.switches.inputs import DROPPED, switch_of
from vlane.golden.switches.kinds import Switches, buffer_between, central_buffers, route

__all__ = ["Paths", "find_cycle", "follow_paths"]


class Paths(NamedTuple):
    """All paths, followed.

    Parameters
    ----------
    waits : array of bool, (channels, places * lanes)
        Whether a packet that holds a channel may wait for (place, lane) of the switch that it is at: a port, or,
        after those, a central buffer.
    hops : array of int64, (NICs, NICs)
        Switches passed by the first LID of each destination; -1 where no path arrives.
    lost : array of int64, (3,)
        Paths that do not arrive, and (source, DLID) of the first.
    carried : array of int64, (sending ends * lanes, 3)
        Source, DLID and SL of the first path with traffic over a VL of a link; source -1 if there is none.
    """

    waits: NDArray[np.bool_]
    hops: NDArray[np.int64]
    lost: NDArray[np.int64]
    carried: NDArray[np.int64]


def follow_paths(net: Network, sls: NDArray[np.int64], path_sl: NDArray[np.uint8]) -> Paths:
    """Follow every LID from every NIC, on each SL given, and on the path's own if there are any of those.

    All paths count for ``waits``, ``hops`` and ``lost``: those without traffic too.
    """
    inputs, nics, mports = net.switches.inputs, len(net.staged), central_buffers(net.switches)
    lanes = inputs.queues.queue.shape[1]
    channels = (len(net.wiring.cable) + mports * len(inputs.waiting)) * lanes
    paths = Paths(
        np.zeros((channels, ((1 << inputs.port_bits) + mports) * lanes), np.bool_),
        np.full((nics, nics), -1, np.int64), np.zeros(3, np.int64),
        np.full((len(net.wiring.cable) * lanes, 3), -1, np.int64),
    )  # fmt: skip
    pairs = _pairs_with_traffic(net.sources, sls, int(net.meters.window[END]))
    _follow(net.switches, net.wiring, net.sources.lids, paths, sls, path_sl, pairs)
    return paths


def _pairs_with_traffic(sources: Sources, sls: NDArray[np.int64], end: int) -> NDArray[np.bool_]:
    """Return by SL given, and last for packets on their path's SL, which NIC sends to which."""
    nics = sources.due.shape[0]
    pairs = np.zeros((len(sls) + 1, nics, nics), np.bool_)
    places = {**{int(sl): place for place, sl in enumerate(sls)}, PATH_SL: len(sls)}
    for number in range(len(sources.setting)):
        sl, sends = pairs_of_class(sources, number, end)
        if sl in places:
            pairs[places[sl]] |= sends
    return pairs


@kernel
def _follow(
    switches: Switches,
    wiring: Wiring,
    lids: NDArray[np.int64],
    paths: Paths,
    sls: NDArray[np.int64],
    path_sl: NDArray[np.uint8],
    pairs: NDArray[np.bool_],
) -> None:
    # the whole network as one argument would mean this code again for every scheduler
    nics = len(lids)
    for to in range(nics):
        for copy in range(lids[to, 1]):
            dlid = lids[to, 0] + copy
            for source in range(nics):
                for number in range(len(sls)):
                    sends = pairs[number, source, to]
                    _follow_one(switches, wiring, paths, source, to, dlid, sls[number], copy == 0, sends)
                if path_sl.size != 0:
                    sl = int(path_sl[source, to])
                    _follow_one(switches, wiring, paths, source, to, dlid, sl, copy == 0, pairs[len(sls), source, to])


@inner
def _follow_one(
    switches: Switches,
    wiring: Wiring,
    paths: Paths,
    source: int,
    to: int,
    dlid: int,
    sl: int,
    counts: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    sends: bool,  # noqa: FBT001
) -> None:
    inputs = switches.inputs
    lanes, slots, ends = inputs.queues.queue.shape[1], 1 << inputs.port_bits, len(wiring.cable)
    mports = paths.waits.shape[1] // lanes - slots
    end = len(inputs.port) + source
    lane, channel = int(wiring.nic_vl[source, sl]), int(wiring.nic_channel[source, sl])
    arrives, hops, held = lane < lanes, 0, end
    while arrives:
        if sends and paths.carried[end * lanes + lane, 0] < 0:
            carried = paths.carried[end * lanes + lane]
            carried[0], carried[1], carried[2] = source, dlid, sl
        port = wiring.cable[end].far
        if port < 0:
            arrives = -1 - port == to
            break
        output, following, channel = route(switches, port, dlid, sl, lane, channel)
        hops += 1
        if output == DROPPED or hops > len(inputs.waiting):
            arrives = False
            break
        buffer = buffer_between(switches, port, output)
        if buffer >= 0:
            paths.waits[held * lanes + lane, (slots + buffer % mports) * lanes + following] = True
            held, lane = ends + buffer, following
        paths.waits[held * lanes + lane, output * lanes + following] = True
        held = end = (switch_of(inputs, port) << inputs.port_bits) + output
        lane = following
    if not arrives:
        if paths.lost[0] == 0:
            paths.lost[1], paths.lost[2] = source, dlid
        paths.lost[0] += 1
    elif counts:
        paths.hops[source, to] = hops


def find_cycle(net: Network, paths: Paths) -> list[tuple[int, int]]:
    """Return a circle of channels that wait for each other, as (sending end, or past those central buffer; VL)."""
    inputs, ends, mports = net.switches.inputs, len(net.wiring.cable), central_buffers(net.switches)
    lanes, slots = inputs.queues.queue.shape[1], 1 << inputs.port_bits
    held, wanted = np.nonzero(paths.waits)
    holder, place = held // lanes, wanted // lanes
    switch = np.where(holder < ends, net.wiring.cable["far"][np.minimum(holder, ends - 1)] >> inputs.port_bits, 0)
    if mports:
        switch = np.where(holder < ends, switch, (holder - ends) // mports)
    target = np.where(place < slots, (switch << inputs.port_bits) + place, ends + switch * mports + place - slots)
    following = target * lanes + wanted % lanes
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
