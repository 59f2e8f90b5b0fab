"""NICs of a network under congestion control: CNPs, BECNs, flows that wait (NCC-6 to NCC-17 of ``docs/congestion.md``).

What a BECN does in a cycle, and the visit of a cycle, are done as the next one starts: after all questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_source import SHORTEST_GAP
from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.congestion.sources import NOBODY as UNKNOWN
from vlane.golden.congestion.sources import PORT_MODE, TRIGGER, Sources, answer, find, gap_of, hear, is_held, visit
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.switches.packets import NOBODY, Packets, Queues, free, new_queues, pop, push
from vlane.packets.bth import PSN_MODULUS
from vlane.tables.sl2vl import SL_COUNT

(FECNS, CNPS, BECNS, HELD, LOGGED) = range(5)
COUNTS = ("fecns", "cnps", "becns", "held", "logged")
"""Of each NIC since the start: packets received with FECN, CNPs sent, CNPs received, packets that had to wait, log
events."""


class Unpaced(NamedTuple):
    """NICs that hold nothing back.

    Parameters
    ----------
    kind : int
        0; a tuple of nothing is no type of its own.
    """

    kind: int = 0


class PacedNIC:
    """What a NIC keeps.

    Parameters
    ----------
    told : int
        Cycle in which a BECN acted last.
    not_before : int
        With a gap per port: first cycle in which it may inject again (NCC-17).
    """

    told: Int64
    not_before: Int64


class Waiting:
    """Packets of a class that wait at a NIC. The first ones of their flows are a list, and behind each are the others.

    Parameters
    ----------
    first, last : int
        Of the list; ``first`` is ``NOBODY`` if it is empty.
    packets : int
        All that wait.
    """

    first: Int32
    last: Int32
    packets: Int32


class Pacing(NamedTuple):
    """NICs that pace.

    Parameters
    ----------
    sources : Sources
        Flows that are slowed down, and the settings.
    nic : Records of PacedNIC, (NICs,)
        State of each.
    cnps : Queues
        CNPs that are to be sent, a queue for each NIC.
    waiting : Records of Waiting, (NICs, classes)
        Of each class.
    most : int
        Packets of a class that may wait at a NIC.
    interval : int
        Least cycles between two CNPs of a NIC to a source and SL; 0 for none.
    last_cnp : array of int64, (NICs, NICs, SLs) or (0, 0, 0)
        Cycle in which each of these was made last, if there is an interval.
    counts : array of int64, (NICs, 5)
        What ``COUNTS`` names.
    port_blocks : int
        With a gap per port: the packet size, in blocks, from which the gap is computed; 0 for a gap per flow.
    psn : array of int32, (NICs, SLs of the traffic, LIDs)
        Packet sequence number of the next packet that a NIC injects to a DLID on an SL (NCC-18).
    psn_row : array of int64, (16,)
        Place of each SL in ``psn``.
    """

    sources: Sources
    nic: Records[PacedNIC]
    cnps: Queues
    waiting: Records[Waiting]
    most: int
    interval: int
    last_cnp: NDArray[np.int64]
    counts: NDArray[np.int64]
    port_blocks: int
    psn: NDArray[np.int32]
    psn_row: NDArray[np.int64]


_LONG_AGO = -(1 << 60)


def new_pacing(
    sources: Sources, *, classes: int, most: int, interval: int, port_blocks: int, lids: int, sls: Sequence[int]
) -> Pacing:
    """Return NICs without CNPs, with nothing that waits; as many as there are sources.

    Parameters
    ----------
    lids : int
        LIDs are below it.
    sls : sequence of int
        SLs of the traffic, each once.
    """
    nics = len(sources.flow)
    nic, waiting = new_records(PacedNIC, nics), new_records(Waiting, nics, classes)
    waiting["first"] = NOBODY
    nic["told"] = -1
    sides = (nics, nics, SL_COUNT) if interval else (0, 0, 0)
    last_cnp = np.full(sides, _LONG_AGO, np.int64)
    counts = np.zeros((nics, len(COUNTS)), np.int64)
    psn, psn_row = np.zeros((nics, len(sls), lids), np.int32), np.zeros(SL_COUNT, np.int64)
    psn_row[list(sls)] = range(len(sls))
    return Pacing(
        sources, nic, new_queues(nics, 1), waiting, most, interval, last_cnp, counts, port_blocks, psn, psn_row
    )


@inner
def _flow_dlid(pacing: Pacing, nic: int, dlid: int) -> int:
    """Return the DLID of a flow of a NIC: 0 while flows are SLs (CCS-6)."""
    return 0 if pacing.sources.port[nic, PORT_MODE] != 0 else dlid


@inner
def flow_waits(pacing: Pacing, packets: Packets, nic: int, number: int, packet: int) -> int:
    """Return the first packet of a class that waits and is of a packet's flow; ``NOBODY`` if there is none."""
    field, head = packets.pool[packet], int(pacing.waiting[nic, number].first)
    while head != NOBODY:
        other = packets.pool[head]
        if other.sl == field.sl and _flow_dlid(pacing, nic, other.dlid) == _flow_dlid(pacing, nic, field.dlid):
            return head
        head = int(other.arrived)
    return NOBODY


@inner
def is_flow_held(pacing: Pacing, packets: Packets, nic: int, packet: int, cycle: int) -> bool:
    """Tell whether the flow of a packet, or the port, may not inject in a cycle (CCS-3, NCC-17)."""
    if pacing.port_blocks != 0:
        return cycle < pacing.nic[nic].not_before
    place = place_of_flow(pacing, packets, nic, packet)
    return place != UNKNOWN and is_held(pacing.sources.flow[nic, place], cycle)


@inner
def note_injected(pacing: Pacing, packets: Packets, nic: int, packet: int, cycle: int) -> None:
    """Let a packet that is not held be injected in a cycle (CCS-2, NCC-17)."""
    sources, blocks = pacing.sources, packets.pool[packet].blocks
    if pacing.port_blocks == 0:
        answer(sources, nic, place_of_flow(pacing, packets, nic, packet), blocks, cycle)
    elif sources.sweep[nic].taken != 0:
        largest = 0
        for place in range(sources.flow.shape[1]):
            entry = sources.flow[nic, place]
            if entry.known != 0:
                largest = max(largest, entry.ccti)
        gap = gap_of(sources, nic, largest, pacing.port_blocks)
        pacing.nic[nic].not_before = cycle + max(blocks + gap, SHORTEST_GAP)


@inner
def number_packet(pacing: Pacing, packets: Packets, nic: int, packet: int) -> None:
    """Give a packet that a NIC injects the sequence number that its flow is at (NCC-18)."""
    field = packets.pool[packet]
    row = pacing.psn[nic, pacing.psn_row[field.sl]]
    psn = packets.origin[packet].psn = int(row[field.dlid])
    row[field.dlid] = (psn + 1) % PSN_MODULUS


@inner
def place_of_flow(pacing: Pacing, packets: Packets, nic: int, packet: int) -> int:
    """Return the entry of a packet's flow; ``sources.NOBODY`` if it is not known."""
    field = packets.pool[packet]
    return find(pacing.sources, nic, _flow_dlid(pacing, nic, field.dlid), field.sl)


# Of the first packet of a flow that waits, `arrived` is the next one of the list, `asks` the last of its flow.


@inner
def wait(pacing: Pacing, packets: Packets, nic: int, number: int, packet: int, head: int) -> None:
    """Let a packet wait: behind those of its flow, whose first is ``head``, or as the first of it (NCC-11)."""
    own = pacing.waiting[nic, number]
    own.packets += 1
    pacing.counts[nic, HELD] += 1
    packets.chain[packet].next = NOBODY
    if head != NOBODY:
        packets.chain[packets.pool[head].asks].next = packet
        packets.pool[head].asks = packet
    else:
        packets.pool[packet].asks = packet
        _append(pacing, packets, nic, number, packet)


@inner
def _append(pacing: Pacing, packets: Packets, nic: int, number: int, head: int) -> None:
    own = pacing.waiting[nic, number]
    packets.pool[head].arrived = NOBODY
    if own.first == NOBODY:
        own.first = head
    else:
        packets.pool[own.last].arrived = head
    own.last = head


@inner
def first_to_go(pacing: Pacing, packets: Packets, nic: int, number: int, cycle: int) -> tuple[int, int]:
    """Return the first packet of the list that may be injected in a cycle, and the one before it in the list."""
    before, head = NOBODY, int(pacing.waiting[nic, number].first)
    while head != NOBODY and is_flow_held(pacing, packets, nic, head, cycle):
        before, head = head, int(packets.pool[head].arrived)
    return head, before


@inner
def let_go(pacing: Pacing, packets: Packets, nic: int, number: int, head: int, before: int) -> None:
    """Take a packet out of the list, where it is behind ``before``; the next one of its flow goes to the end of it."""
    own = pacing.waiting[nic, number]
    following, behind, last = (
        int(packets.pool[head].arrived),
        int(packets.chain[head].next),
        int(packets.pool[head].asks),
    )
    if before == NOBODY:
        own.first = following
    else:
        packets.pool[before].arrived = following
    if own.last == head:
        own.last = before
    own.packets -= 1
    if behind != NOBODY:
        packets.pool[behind].asks = last
        _append(pacing, packets, nic, number, behind)


@inner
def forget_waiting(pacing: Pacing, packets: Packets, nic: int, number: int) -> None:
    """Let what waits of a class never be sent: the class has ended."""
    own = pacing.waiting[nic, number]
    head = int(own.first)
    while head != NOBODY:
        packet, head = head, int(packets.pool[head].arrived)
        while packet != NOBODY:
            behind = int(packets.chain[packet].next)
            free(packets, packet)
            packet = behind
    own.first = own.last = NOBODY
    own.packets = 0


@inner
def queue_cnp(pacing: Pacing, packets: Packets, nic: int, packet: int, cycle: int) -> bool:
    """Count a packet with FECN, and let it be the CNP that it causes, in a cycle; tell whether it makes one (NCC-7)."""
    pacing.counts[nic, FECNS] += 1
    if pacing.interval != 0:
        source, sl = packets.origin[packet].source, packets.pool[packet].sl
        if cycle < pacing.last_cnp[nic, source, sl] + pacing.interval:
            return False
        pacing.last_cnp[nic, source, sl] = cycle
    push(packets, pacing.cnps, nic, 0, packet)
    return True


@inner
def first_cnp(pacing: Pacing, packets: Packets, nic: int, cycle: int) -> int:
    """Return the CNP that a NIC may send in a cycle, ``NOBODY`` if there is none (NCC-6, NCC-8)."""
    packet = int(pacing.cnps.queue[nic, 0].head)
    return packet if packet != NOBODY and packets.origin[packet].born <= cycle else NOBODY


@inner
def take_cnp(pacing: Pacing, packets: Packets, nic: int) -> None:
    """Take the first CNP out of its queue."""
    pop(packets, pacing.cnps, nic, 0)
    pacing.counts[nic, CNPS] += 1


@inner
def take_becn(pacing: Pacing, nic: int, dlid: int, sl: int, cycle: int) -> None:
    """Let a BECN for a flow act in a cycle, once all questions of it are answered (NCC-9)."""
    place, before = hear(pacing.sources, nic, _flow_dlid(pacing, nic, dlid), sl, cycle)
    pacing.nic[nic].told = cycle
    pacing.counts[nic, BECNS] += 1
    if place != UNKNOWN:
        trigger = pacing.sources.level[nic, sl, TRIGGER]
        pacing.counts[nic, LOGGED] += before < trigger <= pacing.sources.flow[nic, place].ccti


@inner
def _no_sweep(pacing: Unpaced, cycle: int) -> None:
    """No flows are known."""


@inner
def _sweep(pacing: Pacing, cycle: int) -> None:
    last = pacing.sources.flow.shape[1] - 1
    for nic in range(len(pacing.nic)):
        if pacing.nic[nic].told == cycle:
            continue
        own = pacing.sources.sweep[nic]
        if own.taken != 0:
            visit(pacing.sources, nic, own.next, cycle)
        own.next = own.next + 1 if own.next < last else 0


@by_type({Unpaced: _no_sweep, Pacing: _sweep})
def sweep(pacing: Any, cycle: int) -> None:
    """Visit the entry of every NIC whose turn it was in a cycle, once all questions of it are answered (NCC-13)."""
