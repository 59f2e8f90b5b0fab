"""Traversal of all paths: channel dependencies, lanes that carry traffic, and paths that do not arrive.

The rest of a packet's path depends only on its port, lane, channel, DLID and SL, so paths that meet are followed once.
NICs with equal tables are followed once, too, and so are SLs whose tables differ only in the numbering of lanes.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.network.meters import END
from vlane.golden.network.pacing import Pacing
from vlane.golden.network.state import Network
from vlane.golden.switches.inputs import DROPPED, Inputs, local_port, switch_of
from vlane.golden.switches.kinds import Switches, buffer_between, central_buffers, channels_of, route, table_row
from vlane.golden.switches.trunk_members import choice_of, choices_of
from vlane.golden.topologies.wiring import Wiring, nic_of_end
from vlane.golden.traffic.classes import PATH_SL
from vlane.golden.traffic.senders import Senders, mark_senders, senders_of


class Paths(NamedTuple):
    """Result of the path traversal.

    Parameters
    ----------
    waits : array of uint8, (channels, places * lanes / 8)
        Bit mask of the (place, lane) pairs that a packet in a channel may wait for, as place * lanes + lane of its
        switch. A place is a port or, after the ports, a central buffer.
    lost : array of int64, (3,)
        Number of paths that do not arrive; source and DLID of the first.
    carried : array of int16, (sending ends * lanes,)
        SL of a path with traffic over each VL of a link; -1 for none.
    """

    waits: NDArray[np.uint8]
    lost: NDArray[np.int64]
    carried: NDArray[np.int16]


class _Notes(NamedTuple):
    """Scratch of the traversal of one SL.

    Parameters
    ----------
    seen : array of int32, (sending ends * lanes, channels)
        Mark of the last path through here: 4 * path number, + 2 with traffic, + 1 if it arrives.
    way : array of int64, (switches + 1, 2)
        Indices in ``seen`` of the path being followed.
    alike : array of int64, (NICs,)
        Representative of each NIC: the first NIC whose packets take the same paths.
    members : array of int64, (NICs,)
        Number of NICs that a representative stands for; 0 for all other NICs.
    sends : array of bool, (NICs,)
        Whether a NIC sends to the destination.
    any_sends : array of bool, (NICs,)
        Whether any NIC of a representative does.
    """

    seen: NDArray[np.int32]
    way: NDArray[np.int64]
    alike: NDArray[np.int64]
    members: NDArray[np.int64]
    sends: NDArray[np.bool_]
    any_sends: NDArray[np.bool_]


def follow_paths(net: Network, sls: NDArray[np.int64], path_sl: NDArray[np.int16]) -> Paths:
    """Follow the paths from every NIC to every LID, on each given SL and on the SLs of the path-SL table.

    ``waits`` and ``lost`` include paths without traffic.
    """
    found, lanes = _nothing(net), net.switches.inputs.queues.queue.shape[1]
    end, anyone = int(net.meters.window[END]), np.zeros((0, 0), np.int16)
    replies = isinstance(net.pacing, Pacing)
    alike: dict[bytes, list[tuple[int, list[int]]]] = {}
    for sl in sls.tolist():
        key, order = _column(net, sl)
        for part in senders_of(net.sources, sl, end, replies=replies):
            key += hashlib.sha256(np.asarray(part).tobytes()).digest()
        alike.setdefault(key, []).append((sl, order))
    for members in alike.values():
        sl, first = members[0]
        one = _followed(net, sl, senders_of(net.sources, sl, end, replies=replies), anyone)
        for member, order in members:
            renamed = np.arange(lanes)
            renamed[first] = order
            _add(one, found, renamed, member)
    for sl in np.unique(path_sl).tolist():
        senders = senders_of(net.sources, PATH_SL, end, replies=replies)
        _add(_followed(net, sl, senders, path_sl), found, np.arange(lanes), sl)
    return found


def _followed(net: Network, sl: int, senders: Senders, only: NDArray[np.int16]) -> Paths:
    """Return the paths on an SL, restricted to the pairs that use the SL if ``only`` is not empty."""
    paths, inputs, nics = _nothing(net), net.switches.inputs, len(net.staged)
    lanes, ends, every = inputs.queues.queue.shape[1], len(net.wiring.cable), np.arange(nics)
    alike = every if only.size else _alike(net, sl)
    any_sends, notes = (
        np.zeros(nics, np.bool_),
        _Notes(
            np.zeros((ends * lanes, channels_of(net.switches)), np.int32),
            np.zeros((len(inputs.drops) + 1, 2), np.int64),
            alike,
            np.bincount(alike, minlength=nics),
            np.zeros(nics, np.bool_),
            np.zeros(nics, np.bool_),
        ),
    )
    _follow(net.switches, net.wiring, net.sources.lids, senders, paths, notes, any_sends, sl, only)
    lane = net.wiring.nic_vl[:, sl].astype(np.int64)
    at, there = (len(inputs.port) + every) * lanes + lane, lane < lanes
    paths.waits[at[there]] = paths.waits[at[alike[there]]]
    paths.carried[at[any_sends & there]] = sl
    return paths


def _alike(net: Network, sl: int) -> NDArray[np.int64]:
    """Return for each NIC the first NIC at the same switch with equal tables for an SL."""
    inputs, first = net.switches.inputs, len(net.switches.inputs.port)
    far = net.wiring.cable["far"][first : first + len(net.staged)]
    starts = np.stack([net.wiring.nic_vl[:, sl], net.wiring.nic_channel[:, sl]], axis=1)
    found: dict[tuple[int, bytes, bytes], int] = {}
    alike = np.zeros(len(far), np.int64)
    for nic, port in enumerate(far.tolist()):
        switch = port >> inputs.port_bits
        key = (switch, starts[nic].tobytes(), table_row(net.switches, switch, port - (switch << inputs.port_bits), sl))
        alike[nic] = found.setdefault(key, nic)
    return alike


def _nothing(net: Network) -> Paths:
    inputs, mports = net.switches.inputs, central_buffers(net.switches)
    lanes, ends = inputs.queues.queue.shape[1], len(net.wiring.cable)
    places = (1 << inputs.port_bits) + mports
    return Paths(
        np.zeros(((ends + mports * len(inputs.drops)) * lanes, -(-places * lanes // 8)), np.uint8),
        np.zeros(3, np.int64),
        np.full(ends * lanes, -1, np.int16),
    )


def _column(net: Network, sl: int) -> tuple[bytes, list[int]]:
    """Return a key of an SL's tables that ignores the numbering of lanes, and the lanes in canonical order."""
    lanes = net.switches.inputs.queues.queue.shape[1]
    starts = [net.wiring.nic_vl[:, sl], net.wiring.nic_channel[:, sl]]
    tables = getattr(net.switches, "tables", None)
    if tables is None or tables.by_lane:
        return hashlib.sha256(np.stack(starts).tobytes()).digest(), list(range(lanes))
    column = np.concatenate([tables.vl[..., sl].ravel(), starts[0]])
    first = {int(np.argmax(column == lane)): lane for lane in range(lanes) if (column == lane).any()}
    order = [first[place] for place in sorted(first)]
    names = np.full(256, 255, np.uint8)
    names[order] = np.arange(len(order))
    return hashlib.sha256(names[column].tobytes()).digest(), order


@kernel
def _follow(
    switches: Switches,
    wiring: Wiring,
    lids: NDArray[np.int64],
    senders: Senders,
    paths: Paths,
    notes: _Notes,
    ever: NDArray[np.bool_],
    sl: int,
    only: NDArray[np.int16],
) -> None:
    # with the whole network as argument, this code would be compiled for every scheduler
    nics, number, sends = len(lids), 0, notes.sends
    for to in range(nics):
        mark_senders(senders, to, sends)
        notes.any_sends[:] = False
        for source in range(nics):
            is_asked = sends[source] and (only.size == 0 or only[source, to] == sl)
            ever[source] |= is_asked
            notes.any_sends[notes.alike[source]] |= is_asked
        for copy in range(lids[to, 1]):
            number += 1
            for source in range(nics):
                if notes.members[source] != 0 and (only.size == 0 or only[source, to] == sl):
                    _follow_one(switches, wiring, paths, notes, number, source, to, lids[to, 0] + copy, sl)


@inner
def _follow_one(
    switches: Switches,
    wiring: Wiring,
    paths: Paths,
    notes: _Notes,
    number: int,
    source: int,
    to: int,
    dlid: int,
    sl: int,
) -> None:
    inputs, sends = switches.inputs, notes.any_sends[source]
    lanes = inputs.queues.queue.shape[1]
    end = len(inputs.port) + source
    lane, channel = int(wiring.nic_vl[source, sl]), int(wiring.nic_channel[source, sl])
    fresh, arrives = 4 * number + 2 * int(sends), False
    length = 0
    while lane < lanes:
        before = notes.seen[end * lanes + lane, channel]
        if before >= fresh:
            arrives = before & 1 != 0
            break
        notes.seen[end * lanes + lane, channel] = fresh
        notes.way[length, 0], notes.way[length, 1] = end * lanes + lane, channel
        length += 1
        if sends and length > 1:  # first links are marked per NIC, not per representative
            for member in range(choices_of(inputs.members, end)):
                paths.carried[_member(inputs, end, member) * lanes + lane] = sl
        port = wiring.cable[end].far
        if port < 0:
            arrives = nic_of_end(port) == to
            break
        output, following, channel = route(switches, port, dlid, sl, lane, channel)
        if output == DROPPED:
            break
        first = switch_of(inputs, port) << inputs.port_bits
        _wait_at(switches, wiring, paths, end, port, first + output, lane, following)
        end, lane = first + output, following
    if arrives:
        for place in range(length):
            notes.seen[notes.way[place, 0], notes.way[place, 1]] |= 1
    else:
        if paths.lost[0] == 0:
            paths.lost[1], paths.lost[2] = source, dlid
        paths.lost[0] += notes.members[source]


@inner
def _wait_at(
    switches: Switches, wiring: Wiring, paths: Paths, end: int, port: int, to: int, lane: int, following: int
) -> None:
    """Mark that packets of a channel wait at a switch for an output, perhaps through a central buffer.

    If members of trunks are drawn, the channel is the first member's, and the packets may use every member of the
    trunk before the switch and of the trunk behind the switch.

    Parameters
    ----------
    end, port, to : int
        Sending end, input and output of the path by the forwarding tables.
    lane, following : int
        VL on the link from ``end``, and on the link from ``to``.
    """
    inputs, lanes = switches.inputs, switches.inputs.queues.queue.shape[1]
    slots, mports = 1 << inputs.port_bits, central_buffers(switches)
    held = _first_member(inputs, end) * lanes + lane
    wanted = local_port(inputs, _first_member(inputs, to)) * lanes + following
    for number in range(choices_of(inputs.members, end) if end < len(inputs.port) else 1):
        source = _member(inputs, end, number)
        arrives_at = port if source == end else int(wiring.cable[source].far)
        for other in range(choices_of(inputs.members, to)):
            output = local_port(inputs, _member(inputs, to, other))
            buffer = buffer_between(switches, arrives_at, output)
            if buffer >= 0:
                _may_wait(paths, held, (slots + buffer % mports) * lanes + following)
                _may_wait(paths, (len(wiring.cable) + buffer) * lanes + following, wanted)
            else:
                _may_wait(paths, held, wanted)


@inner
def _member(inputs: Inputs, end: int, number: int) -> int:
    """Return member ``number`` of the trunk of a sending end."""
    if end >= len(inputs.port) or choices_of(inputs.members, end) == 1:
        return end
    return end - local_port(inputs, end) + choice_of(inputs.members, end, number)


@inner
def _first_member(inputs: Inputs, end: int) -> int:
    return _member(inputs, end, 0)


@inner
def _may_wait(paths: Paths, channel: int, wanted: int) -> None:
    paths.waits[channel, wanted >> 3] |= np.uint8(1 << (wanted & 7))


@inner
def next_wait(waits: NDArray[np.uint8], channel: int, wanted: int) -> int:
    """Return the first (place, lane) from ``wanted`` on that a channel may wait for, or -1 for none."""
    end = 8 * waits.shape[1]
    while wanted < end:
        left = int(waits[channel, wanted >> 3]) >> (wanted & 7)
        if left != 0:
            return wanted + lowest(left)
        wanted = (wanted | 7) + 1
    return -1


@kernel
def _add(one: Paths, found: Paths, renamed: NDArray[np.int64], sl: int) -> None:
    """Add the paths of one SL to ``found``, with renamed lanes and as SL ``sl``."""
    lanes = len(renamed)
    for channel in range(len(one.waits)):
        target = channel - channel % lanes + renamed[channel % lanes]
        wanted = next_wait(one.waits, channel, 0)
        while wanted >= 0:
            _may_wait(found, target, wanted - wanted % lanes + renamed[wanted % lanes])
            wanted = next_wait(one.waits, channel, wanted + 1)
        if channel < len(one.carried) and one.carried[channel] >= 0 and found.carried[target] < 0:
            found.carried[target] = sl
    if found.lost[0] == 0:
        found.lost[1], found.lost[2] = one.lost[1], one.lost[2]
    found.lost[0] += one.lost[0]
