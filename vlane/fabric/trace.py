"""Paths of packets: every pair of adapters along the forwarding tables, with the lane of every link.

Pairs to several destinations are followed together, hop by hop, as arrays. All packets to one destination leave a
switch by one port. Behind a switch, the packets of one destination, service level and lane are therefore merged into
one record, with the number of pairs and the number of pairs resting on an assumption.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from vlane.fabric.lost import Lost, Unreachable, Why
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.senders import Senders, Sent
from vlane.fabric.waits import LANES, Waits
from vlane.fabric.wiring import NOWHERE, Ints, Wiring
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

__all__ = ["Hop", "Trace", "Unreachable", "trace_pairs"]

_AT_ONCE = 100_000
"""Number of pairs, or of packets of equivalent senders, followed together."""

_LONG = 32
"""Number of links between two checks for forwarding loops; a power of two."""


class Hop(NamedTuple):
    """An output port and lane on the path of a packet.

    Parameters
    ----------
    port : Port
        Output.
    vl : int
        Lane.
    """

    port: Port
    vl: int


@dataclass(slots=True)
class Trace:
    """All pairs of adapters, traced. Hops are numbered, ``LANES`` to a port, in the order of ``Hop``.

    Parameters
    ----------
    wiring : Wiring
        The fabric's ports, numbered.
    traffic : array of int64, (hops)
        Number of pairs at each hop; a pair in a forwarding loop counts at every passage.
    unsure_traffic : array of int64, (hops)
        Number of pairs at each hop with an assumed SL, or with an assumed lane at this or an earlier hop.
    waits : Waits
        Dependencies between hops. Adapters' own links are left out, because no packet waits for them.
    lost : Lost
        Unreachable pairs.
    pairs : int
        Number of ordered pairs of adapter LIDs, followed or not.
    unsure : int
        Number of pairs with an assumed or unknown path or lane; all pairs if no pair was followed.
    sls : dict of int to int
        Number of followed pairs by SL.
    assumed : int
        Number of pairs without a path record; SL 0 is assumed.
    bare : set of (int, int)
        Missing SL2VL rows, by the numbers of input and output port, if other rows were captured; VL = SL modulo the
        data lanes is assumed.
    """

    wiring: Wiring
    traffic: Ints
    unsure_traffic: Ints
    waits: Waits
    lost: Lost
    pairs: int = 0
    unsure: int = 0
    sls: dict[int, int] = field(default_factory=dict)
    assumed: int = 0
    bare: set[tuple[int, int]] = field(default_factory=set)

    def hop(self, number: int) -> Hop:
        """Return the hop with a number."""
        return Hop(self.wiring.port(number // LANES), number % LANES)


@dataclass(slots=True)
class _Packets:
    """Packets at switch outputs: destination, input, output, SL, and numbers of pairs.

    Parameters
    ----------
    to : array of int64
        Index of the destination.
    source, out : array of int64
        Numbers of input and output port.
    sl : array of int64
        Service level.
    pairs : array of int64
        Number of pairs.
    unsure : array of int64
        Number of pairs that rest on an assumption.
    held : array of int64
        Port of the previous hop; empty for packets in the first switch.
    held_vl : array of int64
        Lane of the previous hop; empty for packets in the first switch.
    """

    to: Ints
    source: Ints
    out: Ints
    sl: Ints
    pairs: Ints
    unsure: Ints
    held: Ints
    held_vl: Ints


def trace_pairs(fabric: Fabric) -> Trace:
    """Follow every ordered pair of adapter LIDs. A pair without a path record takes SL 0.

    Without any forwarding table, pairs are followed only if the fabric has no switch. A pair is followed up to the
    first switch without a table and then counts as unsure.
    """
    wiring = Wiring(fabric)
    nothing = np.zeros(len(wiring.node) * LANES, np.int64)
    trace = Trace(wiring, nothing, nothing.copy(), Waits(wiring), Lost(fabric, wiring))
    trace.pairs = trace.unsure = _pair_count(fabric)
    if fabric.lfts or not wiring.switches:
        _Tracer(fabric, trace).run()
    return trace


def _pair_count(fabric: Fabric) -> int:
    """Return the number of ordered pairs of an adapter port and a LID of another adapter port."""
    lids = [
        1 << node.lmc.get(number, 0)
        for node in fabric.nodes.values()
        if node.kind is not Kind.SWITCH
        for number in node.lids
    ]
    return sum(sum(lids) - own for own in lids)


class _Tracer:
    """Follows pairs and records their hops in a trace."""

    def __init__(self, fabric: Fabric, trace: Trace) -> None:
        self.trace, self.wiring = trace, trace.wiring
        self.senders = Senders(fabric, trace.wiring)
        self.tracks_unsure = not self.senders.all_unsure
        self.lacks_tables = any(node.guid not in fabric.lfts for node in fabric.of_kind(Kind.SWITCH))
        self.has_table = np.array([node.guid in fabric.lfts for node in trace.wiring.nodes], bool)
        # Whether a packet at a port enters a switch; the last element belongs to NOWHERE.
        self.enters = np.append(self.wiring.switch[self.wiring.node] != NOWHERE, np.False_)

    def run(self) -> None:
        """Follow every pair."""
        senders, trace = self.senders, self.trace
        if self.tracks_unsure:
            trace.unsure = 0
        together = max(1, _AT_ONCE // senders.together)
        for first in range(0, len(senders.dlids), together):
            sent = senders.send(first, min(together, len(senders.dlids) - first))
            stopped = senders.stopped(sent, self._follow(sent))
            if stopped is not None:
                trace.lost.add(*stopped)
        trace.assumed = senders.assumed
        trace.sls = {sl: pairs for sl, pairs in enumerate(senders.pairs.sum(axis=0).tolist()) if pairs}
        hops = np.repeat(senders.ports, SL_COUNT) * LANES + senders.vls
        left = senders.vls != VL_DROP
        np.add.at(trace.traffic, hops[left], senders.pairs.reshape(-1)[left])
        if self.tracks_unsure:
            trace.unsure += senders.unsure
            np.add.at(trace.unsure_traffic, hops[left], senders.unsure_of.reshape(-1)[left])
        else:
            trace.unsure_traffic = trace.traffic
        bare = (senders.rows >= self.wiring.captured_rows) & senders.pairs.any(axis=1)
        if self.wiring.captured_rows:
            ports = senders.ports[bare]
            trace.bare.update(zip(self.wiring.first[self.wiring.node[ports]].tolist(), ports.tolist(), strict=True))

    def _follow(self, sent: Sent) -> Ints | None:
        """Follow packets to the ends of the paths. Return reasons for loss (0: arrives), or ``None`` without loss."""
        out, why = self._routed(sent.to, sent.entered)
        on = np.flatnonzero(out != NOWHERE)
        none = np.zeros(0, np.int64)
        self._count_unknown(why, sent.pairs, sent.unsure)
        packets = _Packets(
            sent.to[on], sent.entered[on], out[on], sent.sl[on], sent.pairs[on], sent.unsure[on], none, none
        )
        place = np.full(len(out), NOWHERE, np.int64)
        place[on] = np.arange(len(on))
        steps, standing, passed = [(why, place)], np.zeros(0, np.int64), 0
        while len(packets.to):
            why, goes_on, vl = self._leave(packets)
            entered = self.wiring.far[packets.out[goes_on]]
            out, why[goes_on] = self._routed(packets.to[goes_on], entered)
            self._count_unknown(why, packets.pairs, packets.unsure)
            routed = np.flatnonzero(out != NOWHERE)
            on = goes_on[routed]
            place = np.full(len(why), NOWHERE, np.int64)
            place[on], first, pairs, unsure = self._merged(packets, on, vl[on])
            of, one = routed[first], on[first]
            further = _Packets(
                packets.to[one], entered[of], out[of], packets.sl[one], pairs, unsure, packets.out[one], vl[one]
            )
            passed += 1
            if passed >= _LONG and len(on):
                # Each packet has one successor, so a repeated set of packets circulates forever as a whole.
                where = further.to * len(self.wiring.node) + further.held
                now = np.sort((where * LANES + further.held_vl) * SL_COUNT + further.sl)
                if np.array_equal(standing, now):
                    why[on] = Why.RING.at(self.wiring.far[packets.out[on]])
                    place[on], further = NOWHERE, _Packets(*[none] * 8)
                elif passed & (passed - 1) == 0:
                    standing = now
            steps.append((why, place))
            packets = further
        return _resolved(steps)

    def _routed(self, to: Ints, entered: Ints) -> tuple[Ints, Ints]:
        """Return the output of packets inside switches, or ``NOWHERE`` and the reason for loss."""
        wiring = self.wiring
        node = wiring.node[entered]
        port = self.senders.outputs[wiring.switch[node], to].astype(np.int64)
        out, why = wiring.first[node] + port, np.zeros(len(to), np.int64)
        known = port <= wiring.ports[node]
        if not known.all():
            lacks = port == UNASSIGNED
            why[lacks] = Why.NO_ENTRY.at(node[lacks], self.senders.dlids[to[lacks]])
            if self.lacks_tables:
                unknown = ~self.has_table[node]
                why[unknown] = Why.UNKNOWN.at(node[unknown])
            beyond = ~known & ~lacks
            why[beyond] = Why.NO_PORT.at(node[beyond], port[beyond])
            out[~known] = NOWHERE
        return out, why

    def _count_unknown(self, why: Ints, pairs: Ints, unsure: Ints) -> None:
        """Count pairs lost at a switch without a table as unsure pairs."""
        if self.lacks_tables and self.tracks_unsure:
            unknown = why >> 48 == Why.UNKNOWN
            self.trace.unsure += int((pairs[unknown] - unsure[unknown]).sum())

    def _leave(self, packets: _Packets) -> tuple[Ints, Ints, Ints]:
        """Send packets through their outputs. Return reasons for loss, the packets at a next switch, and lanes."""
        wiring, trace = self.wiring, self.trace
        rows = wiring.rows(packets.source, packets.out)
        if wiring.captured_rows:
            bare = rows >= wiring.captured_rows
            if bare.any():
                met = np.unique(np.stack([packets.source[bare], packets.out[bare]]), axis=1)
                trace.bare.update(zip(*met.tolist(), strict=True))
                trace.unsure += int((packets.pairs[bare] - packets.unsure[bare]).sum()) if self.tracks_unsure else 0
                packets.unsure[bare] = packets.pairs[bare]
        vl = wiring.vls(rows, packets.sl)
        why = np.zeros(len(vl), np.int64)
        left = np.flatnonzero(vl != VL_DROP)
        out, lane = packets.out[left], vl[left]
        if len(left) < len(vl):
            dropped = np.flatnonzero(vl == VL_DROP)
            why[dropped] = Why.DROPPED.at(packets.out[dropped], packets.sl[dropped])
        np.add.at(trace.traffic, out * LANES + lane, packets.pairs[left])
        if self.tracks_unsure:
            some = np.flatnonzero(packets.unsure[left])
            np.add.at(trace.unsure_traffic, (out * LANES + lane)[some], packets.unsure[left[some]])
        if len(packets.held):
            trace.waits.add(packets.held[left], packets.held_vl[left], out, lane)
        there = wiring.far[out]
        enters = self.enters[there]
        if not enters.all():
            ends = np.flatnonzero(~enters)
            there, out, ended = there[ends], out[ends], left[ends]
            bare_port = there == NOWHERE
            why[ended[bare_port]] = Why.NO_CABLE.at(out[bare_port])
            wrong = ~bare_port & (there != self.senders.targets[packets.to[ended]])
            why[ended[wrong]] = Why.DELIVERED.at(there[wrong])
            left = left[enters]
        return why, left, vl

    def _merged(self, packets: _Packets, on: Ints, vl: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Merge equivalent packets. Return each packet's group, and of each group a member, pairs and unsure pairs."""
        if not len(on):
            return on, on, on, on
        switch = self.wiring.switch[self.wiring.node[packets.out[on]]]
        lanes = packets.sl[on] * LANES + vl
        occurring = np.bincount(lanes, minlength=LANES**2) > 0
        many = int(occurring.sum())
        nearest = int(packets.to[on].min())
        key = ((packets.to[on] - nearest) * self.wiring.switches + switch) * many + (np.cumsum(occurring) - 1)[lanes]
        if int(key.max()) < 4 * len(key) + 65536:
            pairs = np.bincount(key, weights=packets.pairs[on])
            different = np.flatnonzero(pairs)
            place_of = np.zeros(len(pairs), np.int64)
            place_of[different] = np.arange(len(different))
            place, pairs = place_of[key], pairs[different]
        else:
            different, place = np.unique(key, return_inverse=True)
            pairs = np.bincount(place, weights=packets.pairs[on])
        first = np.zeros(len(different), np.int64)
        first[place] = np.arange(len(key))
        unsure: Ints = pairs.astype(np.int64)
        if self.tracks_unsure:
            weights = packets.unsure[on]
            some = np.flatnonzero(weights)
            unsure = np.bincount(place[some], weights=weights[some], minlength=len(different)).astype(np.int64)
        return place, first, pairs.astype(np.int64), unsure


def _resolved(steps: list[tuple[Ints, Ints]]) -> Ints | None:
    """Return the reason for loss of each packet of the first step, resolved from the last step backwards."""
    if not any(why.any() for why, _ in steps):
        return None
    later = np.zeros(0, np.int64)
    for why, place in reversed(steps):
        went = place != NOWHERE
        why[went] = later[place[went]]
        later = why
    return later
