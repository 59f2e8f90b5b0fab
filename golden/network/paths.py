"""Traversal of all paths: channel dependencies, lanes that carry traffic, and paths that do not arrive.

The rest of a packet's path depends only on its port, lane, channel, DLID and SL, so paths that meet are followed once.
NICs with equal tables are followed once, too, and so are SLs whose tables differ only in the numbering of lanes.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import lowest_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.network.meters import END
from vlane.golden.network.pacing import Pacing
from vlane.golden.network.state import Network
from vlane.golden.switches.inputs import DROPPED, Inputs, lft_row, local_port, switch_of
from vlane.golden.switches.kinds import Switches, buffer_between, central_buffers, channels_of, route, table_row
from vlane.golden.switches.trunk_members import member_count, member_port
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


class _Scratch(NamedTuple):
    """Scratch of the traversal of one SL.

    Parameters
    ----------
    seen : array of int32, (sending ends * lanes, channels)
        Mark of the last path through here: 4 * path number, + 2 with traffic, + 1 if it arrives.
    way : array of int64, (switches + 1, 2)
        Indices in ``seen`` of the path being followed.
    representative : array of int64, (NICs,)
        Representative of each NIC: the first NIC whose packets take the same paths.
    represented : array of int64, (NICs,)
        Number of NICs that a representative stands for; 0 for all other NICs.
    sends : array of bool, (NICs,)
        Whether a NIC sends to the destination.
    any_sends : array of bool, (NICs,)
        Whether any NIC of a representative does.
    """

    seen: NDArray[np.int32]
    way: NDArray[np.int64]
    representative: NDArray[np.int64]
    represented: NDArray[np.int64]
    sends: NDArray[np.bool_]
    any_sends: NDArray[np.bool_]


def follow_paths(network: Network, sls: NDArray[np.int64], path_sl: NDArray[np.int16]) -> Paths:
    """Follow the paths from every NIC to every LID on each SL of ``sls``, and the paths of the path-SL table.

    ``waits`` and ``lost`` include paths of NICs that send nothing before the end of the run.
    """
    found, lanes = _no_paths(network), network.switches.inputs.queues.queue.shape[1]
    end, anyone = int(network.meters.window[END]), np.zeros((0, 0), np.int16)
    replies = isinstance(network.pacing, Pacing)
    alike: dict[bytes, list[tuple[int, list[int]]]] = {}
    for sl in sls.tolist():
        key, order = _table_key(network, sl)
        for part in senders_of(network.sources, sl, end, replies=replies):
            key += hashlib.sha256(np.asarray(part).tobytes()).digest()
        alike.setdefault(key, []).append((sl, order))
    for members in alike.values():
        sl, first = members[0]
        one = _paths_of_sl(network, sl, senders_of(network.sources, sl, end, replies=replies), anyone)
        for member, order in members:
            renamed = np.arange(lanes)
            renamed[first] = order
            _merge_paths(one, found, renamed, member)
    for sl in np.unique(path_sl).tolist():
        senders = senders_of(network.sources, PATH_SL, end, replies=replies)
        _merge_paths(_paths_of_sl(network, sl, senders, path_sl), found, np.arange(lanes), sl)
    return found


def _paths_of_sl(network: Network, sl: int, senders: Senders, selected_switches: NDArray[np.int16]) -> Paths:
    """Return the paths on an SL, restricted to the pairs that use the SL if ``selected_switches`` is not empty."""
    paths, inputs, nics = _no_paths(network), network.switches.inputs, len(network.staged_packets)
    lanes, ends, every = inputs.queues.queue.shape[1], len(network.wiring.cable), np.arange(nics)
    alike = every if selected_switches.size else _representatives(network, sl)
    any_sends, notes = (
        np.zeros(nics, np.bool_),
        _Scratch(
            np.zeros((ends * lanes, channels_of(network.switches)), np.int32),
            np.zeros((len(inputs.drop_counts) + 1, 2), np.int64),
            alike,
            np.bincount(alike, minlength=nics),
            np.zeros(nics, np.bool_),
            np.zeros(nics, np.bool_),
        ),
    )
    _follow_all(
        network.switches, network.wiring, network.sources.lids, senders, paths, notes, any_sends, sl, selected_switches
    )
    lane = network.wiring.nic_vl[:, sl].astype(np.int64)
    at, there = (len(inputs.port) + every) * lanes + lane, lane < lanes
    paths.waits[at[there]] = paths.waits[at[alike[there]]]
    paths.carried[at[any_sends & there]] = sl
    return paths


def _representatives(network: Network, sl: int) -> NDArray[np.int64]:
    """Return for each NIC the first NIC at the same switch with equal tables for an SL."""
    inputs, first = network.switches.inputs, len(network.switches.inputs.port)
    far = network.wiring.cable["far_input"][first : first + len(network.staged_packets)]
    starts = np.stack([network.wiring.nic_vl[:, sl], network.wiring.nic_channel[:, sl]], axis=1)
    found: dict[tuple[int, bytes, bytes, bytes], int] = {}
    alike = np.zeros(len(far), np.int64)
    for nic, port in enumerate(far.tolist()):
        switch = port >> inputs.port_bits
        key = (
            switch,
            starts[nic].tobytes(),
            table_row(network.switches, switch, port - (switch << inputs.port_bits), sl),
            inputs.lft[lft_row(inputs, port)].tobytes(),
        )
        alike[nic] = found.setdefault(key, nic)
    return alike


def _no_paths(network: Network) -> Paths:
    inputs, mports = network.switches.inputs, central_buffers(network.switches)
    lanes, ends = inputs.queues.queue.shape[1], len(network.wiring.cable)
    places = (1 << inputs.port_bits) + mports
    return Paths(
        np.zeros(((ends + mports * len(inputs.drop_counts)) * lanes, -(-places * lanes // 8)), np.uint8),
        np.zeros(3, np.int64),
        np.full(ends * lanes, -1, np.int16),
    )


def _table_key(network: Network, sl: int) -> tuple[bytes, list[int]]:
    """Return a key of an SL's tables that ignores the numbering of lanes, and the lanes in canonical order."""
    lanes = network.switches.inputs.queues.queue.shape[1]
    starts = [network.wiring.nic_vl[:, sl], network.wiring.nic_channel[:, sl]]
    tables = getattr(network.switches, "tables", None)
    if tables is None or tables.by_lane:
        return hashlib.sha256(np.stack(starts).tobytes()).digest(), list(range(lanes))
    column = np.concatenate([tables.vl[..., sl].ravel(), starts[0]])
    first = {int(np.argmax(column == lane)): lane for lane in range(lanes) if (column == lane).any()}
    order = [first[place] for place in sorted(first)]
    names = np.full(256, 255, np.uint8)
    names[order] = np.arange(len(order))
    return hashlib.sha256(names[column].tobytes()).digest(), order


@kernel
def _follow_all(
    switches: Switches,
    wiring: Wiring,
    lids: NDArray[np.int64],
    senders: Senders,
    paths: Paths,
    notes: _Scratch,
    ever: NDArray[np.bool_],
    sl: int,
    selected_switches: NDArray[np.int16],
) -> None:
    # with the whole network as argument, this code would be compiled for every scheduler
    nics, number, sends = len(lids), 0, notes.sends
    for to in range(nics):
        mark_senders(senders, to, sends)
        notes.any_sends[:] = False
        for source in range(nics):
            is_asked = sends[source] and (selected_switches.size == 0 or selected_switches[source, to] == sl)
            ever[source] |= is_asked
            notes.any_sends[notes.representative[source]] |= is_asked
        for copy in range(lids[to, 1]):
            number += 1
            for source in range(nics):
                if notes.represented[source] != 0 and (
                    selected_switches.size == 0 or selected_switches[source, to] == sl
                ):
                    _follow_one(switches, wiring, paths, notes, number, source, to, lids[to, 0] + copy, sl)


@inner
def _follow_one(
    switches: Switches,
    wiring: Wiring,
    paths: Paths,
    notes: _Scratch,
    switch_number: int,
    source: int,
    output_port: int,
    dlid: int,
    sl: int,
) -> None:
    inputs, sends = switches.inputs, notes.any_sends[source]
    lanes = inputs.queues.queue.shape[1]
    end = len(inputs.port) + source
    lane, channel = int(wiring.nic_vl[source, sl]), int(wiring.nic_channel[source, sl])
    fresh, arrives = 4 * switch_number + 2 * int(sends), False
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
            for member in range(member_count(inputs.trunk_choice, end)):
                paths.carried[_member(inputs, end, member) * lanes + lane] = sl
        port = wiring.cable[end].far_input
        if port < 0:
            arrives = nic_of_end(port) == output_port
            break
        output, following, channel = route(switches, port, dlid, sl, lane, channel)
        if output == DROPPED:
            break
        first = switch_of(inputs, port) << inputs.port_bits
        _mark_waiting(switches, wiring, paths, end, port, first + output, lane, following)
        end, lane = first + output, following
    if arrives:
        for place in range(length):
            notes.seen[notes.way[place, 0], notes.way[place, 1]] |= 1
    else:
        if paths.lost[0] == 0:
            paths.lost[1], paths.lost[2] = source, dlid
        paths.lost[0] += notes.represented[source]


@inner
def _mark_waiting(
    switches: Switches,
    wiring: Wiring,
    paths: Paths,
    link_end: int,
    port: int,
    output_port: int,
    lane: int,
    next_channel: int,
) -> None:
    """Mark that packets of a channel wait at a switch for an output, perhaps through a central buffer.

    If members of trunks are drawn, the channel is the first member's, and the packets may use every member of the
    trunk before the switch and of the trunk behind the switch.

    Parameters
    ----------
    link_end : int
        Sending end of the link on which the packet arrives.
    port : int
        Input of the path by the forwarding tables.
    output_port : int
        Output of the path by the forwarding tables.
    lane : int
        VL on the link from ``link_end``.
    next_channel : int
        VL or channel on the link from ``output_port``.
    """
    inputs, lanes = switches.inputs, switches.inputs.queues.queue.shape[1]
    slots, mports = 1 << inputs.port_bits, central_buffers(switches)
    held = _first_member(inputs, link_end) * lanes + lane
    wanted = local_port(inputs, _first_member(inputs, output_port)) * lanes + next_channel
    for number in range(member_count(inputs.trunk_choice, link_end) if link_end < len(inputs.port) else 1):
        source = _member(inputs, link_end, number)
        arrives_at = port if source == link_end else int(wiring.cable[source].far_input)
        for other in range(member_count(inputs.trunk_choice, output_port)):
            output = local_port(inputs, _member(inputs, output_port, other))
            buffer = buffer_between(switches, arrives_at, output)
            if buffer >= 0:
                _waits_for(paths, held, (slots + buffer % mports) * lanes + next_channel)
                _waits_for(paths, (len(wiring.cable) + buffer) * lanes + next_channel, wanted)
            else:
                _waits_for(paths, held, wanted)


@inner
def _member(inputs: Inputs, link_end: int, member_index: int) -> int:
    """Return member ``member_index`` of the trunk of a sending end."""
    if link_end >= len(inputs.port) or member_count(inputs.trunk_choice, link_end) == 1:
        return link_end
    return link_end - local_port(inputs, link_end) + member_port(inputs.trunk_choice, link_end, member_index)


@inner
def _first_member(inputs: Inputs, link_end: int) -> int:
    return _member(inputs, link_end, 0)


@inner
def _waits_for(paths: Paths, channel: int, requested_channel: int) -> None:
    paths.waits[channel, requested_channel >> 3] |= np.uint8(1 << (requested_channel & 7))


@inner
def next_awaited_channel(waits: NDArray[np.uint8], channel: int, requested_channel: int) -> int:
    """Return the first (place, lane) from ``requested_channel`` on that a channel may wait for, or -1 for none."""
    end = 8 * waits.shape[1]
    while requested_channel < end:
        left = int(waits[channel, requested_channel >> 3]) >> (requested_channel & 7)
        if left != 0:
            return requested_channel + lowest_member(left)
        requested_channel = (requested_channel | 7) + 1
    return -1


@kernel
def _merge_paths(one: Paths, notes: Paths, renamed: NDArray[np.int64], sl: int) -> None:
    """Add the paths of one SL to ``notes``, with renamed lanes and as SL ``sl``."""
    lanes = len(renamed)
    for channel in range(len(one.waits)):
        target = channel - channel % lanes + renamed[channel % lanes]
        wanted = next_awaited_channel(one.waits, channel, 0)
        while wanted >= 0:
            _waits_for(notes, target, wanted - wanted % lanes + renamed[wanted % lanes])
            wanted = next_awaited_channel(one.waits, channel, wanted + 1)
        if channel < len(one.carried) and one.carried[channel] >= 0 and notes.carried[target] < 0:
            notes.carried[target] = sl
    if notes.lost[0] == 0:
        notes.lost[1], notes.lost[2] = one.lost[1], one.lost[2]
    notes.lost[0] += one.lost[0]
