"""Congestion control at NICs: CNPs, BECNs and held flows (NCC-6 to NCC-18, ``docs/congestion.md``).

The BECN and the table visit of a cycle are executed at the start of the next cycle, after all injections of the cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_source import SHORTEST_GAP
from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.congestion.sources import NOBODY as UNKNOWN
from vlane.golden.congestion.sources import (
    PORT_MODE,
    TRIGGER,
    Sources,
    find_entry,
    injection_gap,
    is_held,
    may_inject,
    receive_becn,
    visit_entry,
)
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.switches.packets import NOBODY, Packets, Queues, discard, new_queues, pop_packet, push_packet
from vlane.packets.bth import PSN_MODULUS
from vlane.tables.sl2vl import SL_COUNT

(FECNS, CNPS, BECNS, HELD, LOGGED) = range(5)
COUNTS = ("fecns", "cnps", "becns", "held", "logged")
"""Counts of each NIC since the start of the run: packets received with FECN, CNPs sent, CNPs received, packets held,
log events."""


class Unpaced(NamedTuple):
    """NICs without congestion control.

    Parameters
    ----------
    kind : int
        Always 0. An empty tuple would not be a distinct type in compiled code.
    """

    kind: int = 0


class PacedNIC:
    """State of a NIC.

    Parameters
    ----------
    becn_cycle : int
        Cycle in which a BECN last took effect.
    not_before : int
        With a gap per port: first cycle in which the NIC may inject again (NCC-17).
    """

    becn_cycle: Int64
    not_before: Int64


class HeldPackets:
    """Held packets of a class at a NIC.

    The first packets of all held flows form a list; each heads a list of the other packets of its flow.

    Parameters
    ----------
    first : int
        First flow head, or ``NOBODY`` if no packet is held.
    last : int
        Last flow head.
    packets : int
        Total number of held packets.
    """

    first: Int32
    last: Int32
    packets: Int32


class Pacing(NamedTuple):
    """NICs with congestion control.

    Parameters
    ----------
    sources : Sources
        Throttled flows and settings.
    nic : Records of PacedNIC, (NICs,)
        State of each NIC.
    cnps : Queues
        CNPs to be sent, one queue per NIC.
    held : Records of HeldPackets, (NICs, classes)
        Held packets of each class.
    max_held : int
        Maximum number of held packets per class and NIC.
    interval : int
        Minimum number of cycles between two CNPs of a NIC to the same source and SL; 0 for no limit.
    last_cnp : array of int64, (NICs, NICs, SLs) or (0, 0, 0)
        Cycle of the last CNP by NIC, source and SL; empty without ``interval``.
    counts : array of int64, (NICs, 5)
        Counts named by ``COUNTS``.
    port_blocks : int
        With a gap per port: packet size in blocks from which the gap is computed; 0 for a gap per flow.
    psn : array of int32, (NICs, SLs of the traffic, LIDs)
        Next packet sequence number by NIC, SL and DLID (NCC-18).
    psn_row : array of int64, (16,)
        Index of each SL in ``psn``.
    """

    sources: Sources
    nic: Records[PacedNIC]
    cnps: Queues
    held: Records[HeldPackets]
    max_held: int
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
    """Return NICs without CNPs and without held packets, one for each of ``sources``.

    Parameters
    ----------
    lids : int
        Upper bound (exclusive) of the LIDs.
    sls : sequence of int
        Distinct SLs of the traffic.
    """
    nics = len(sources.flow)
    nic, waiting = new_records(PacedNIC, nics), new_records(HeldPackets, nics, classes)
    waiting["first"] = NOBODY
    nic["becn_cycle"] = -1
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
    """Return the DLID that identifies a NIC's flow: 0 while flows are SLs (CCS-6)."""
    return 0 if pacing.sources.port[nic, PORT_MODE] != 0 else dlid


@inner
def next_flow(packets: Packets, head: int) -> int:
    """Return the head of the next held flow in a NIC's list, or ``NOBODY``."""
    return int(packets.pool[head].head_arrival)


@inner
def _set_next_flow(packets: Packets, head: int, next_head: int) -> None:
    packets.pool[head].head_arrival = next_head


@inner
def last_of_flow(packets: Packets, head: int) -> int:
    """Return the last held packet of a flow.

    The number is stored in the head's ``link_request_cycle``, which a packet needs only in an egress queue.
    """
    return int(packets.pool[head].link_request_cycle)


@inner
def _set_last_of_flow(packets: Packets, head: int, last: int) -> None:
    packets.pool[head].link_request_cycle = last


@inner
def held_flow_head(pacing: Pacing, packets: Packets, nic: int, queue: int, packet: int) -> int:
    """Return the first held packet of the flow to which ``packet`` belongs, or ``NOBODY``."""
    field, head = packets.pool[packet], int(pacing.held[nic, queue].first)
    while head != NOBODY:
        other = packets.pool[head]
        if other.sl == field.sl and _flow_dlid(pacing, nic, other.dlid) == _flow_dlid(pacing, nic, field.dlid):
            return head
        head = next_flow(packets, head)
    return NOBODY


@inner
def is_flow_held(pacing: Pacing, packets: Packets, nic: int, packet: int, cycle: int) -> bool:
    """Return whether the flow of a packet, or the port, may not inject in a cycle (CCS-3, NCC-17)."""
    if pacing.port_blocks != 0:
        return cycle < pacing.nic[nic].not_before
    place = flow_entry(pacing, packets, nic, packet)
    return place != UNKNOWN and is_held(pacing.sources.flow[nic, place], cycle)


@inner
def note_injected(pacing: Pacing, packets: Packets, nic: int, packet: int, cycle: int) -> None:
    """Update the not-before of a flow, or of the port, for a packet injected in a cycle (CCS-2, NCC-17)."""
    sources, blocks = pacing.sources, packets.pool[packet].blocks
    if pacing.port_blocks == 0:
        may_inject(sources, nic, flow_entry(pacing, packets, nic, packet), blocks, cycle)
    elif sources.sweep[nic].entries_in_use != 0:
        largest = 0
        for place in range(sources.flow.shape[1]):
            entry = sources.flow[nic, place]
            if entry.known != 0:
                largest = max(largest, entry.ccti)
        gap = injection_gap(sources, nic, largest, pacing.port_blocks)
        pacing.nic[nic].not_before = cycle + max(blocks + gap, SHORTEST_GAP)


@inner
def assign_psn(pacing: Pacing, packets: Packets, nic: int, packet: int) -> None:
    """Give a packet the next sequence number of its source, DLID and SL (NCC-18)."""
    field = packets.pool[packet]
    row = pacing.psn[nic, pacing.psn_row[field.sl]]
    psn = packets.origin[packet].psn = int(row[field.dlid])
    row[field.dlid] = (psn + 1) % PSN_MODULUS


@inner
def flow_entry(pacing: Pacing, packets: Packets, nic: int, packet: int) -> int:
    """Return the flow-table entry of a packet's flow, ``sources.NOBODY`` for none."""
    field = packets.pool[packet]
    return find_entry(pacing.sources, nic, _flow_dlid(pacing, nic, field.dlid), field.sl)


@inner
def hold_packet(pacing: Pacing, packets: Packets, nic: int, queue: int, packet: int, head: int) -> None:
    """Append a packet to the held packets of its flow (NCC-11)."""
    waiting_state = pacing.held[nic, queue]
    waiting_state.packets += 1
    pacing.counts[nic, HELD] += 1
    packets.pool[packet].next = NOBODY
    if head != NOBODY:
        packets.pool[last_of_flow(packets, head)].next = packet
        _set_last_of_flow(packets, head, packet)
    else:
        _set_last_of_flow(packets, packet, packet)
        _append_flow_head(pacing, packets, nic, queue, packet)


@inner
def _append_flow_head(pacing: Pacing, packets: Packets, nic: int, queue: int, head: int) -> None:
    waiting_state = pacing.held[nic, queue]
    _set_next_flow(packets, head, NOBODY)
    if waiting_state.first == NOBODY:
        waiting_state.first = head
    else:
        _set_next_flow(packets, waiting_state.last, head)
    waiting_state.last = head


@inner
def injectable_flow_head(pacing: Pacing, packets: Packets, nic: int, queue: int, cycle: int) -> tuple[int, int]:
    """Return the first flow head that may be injected in a cycle, and its predecessor in the list."""
    before, head = NOBODY, int(pacing.held[nic, queue].first)
    while head != NOBODY and is_flow_held(pacing, packets, nic, head, cycle):
        before, head = head, next_flow(packets, head)
    return head, before


@inner
def remove_flow_head(pacing: Pacing, packets: Packets, nic: int, queue: int, head: int, predecessor: int) -> None:
    """Remove a flow head from the list of held flows, given its predecessor."""
    waiting_state = pacing.held[nic, queue]
    following, behind, last = (next_flow(packets, head), int(packets.pool[head].next), last_of_flow(packets, head))
    if predecessor == NOBODY:
        waiting_state.first = following
    else:
        _set_next_flow(packets, predecessor, following)
    if waiting_state.last == head:
        waiting_state.last = predecessor
    waiting_state.packets -= 1
    if behind != NOBODY:
        _set_last_of_flow(packets, behind, last)
        _append_flow_head(pacing, packets, nic, queue, behind)


@inner
def discard_held_packets(pacing: Pacing, packets: Packets, nic: int, queue: int) -> None:
    """Discard the held packets of a class whose window has ended."""
    waiting_state = pacing.held[nic, queue]
    head = int(waiting_state.first)
    while head != NOBODY:
        packet, head = head, next_flow(packets, head)
        while packet != NOBODY:
            behind = int(packets.pool[packet].next)
            discard(packets, packet)
            packet = behind
    waiting_state.first = waiting_state.last = NOBODY
    waiting_state.packets = 0


@inner
def queue_cnp(pacing: Pacing, packets: Packets, nic: int, packet: int, cycle: int) -> bool:
    """Count a received packet with FECN, turn its record into a CNP, and queue the CNP."""
    pacing.counts[nic, FECNS] += 1
    if pacing.interval != 0:
        source, sl = packets.origin[packet].source, packets.pool[packet].sl
        if cycle < pacing.last_cnp[nic, source, sl] + pacing.interval:
            return False
        pacing.last_cnp[nic, source, sl] = cycle
    push_packet(packets, pacing.cnps, nic, 0, packet)
    return True


@inner
def first_cnp(pacing: Pacing, packets: Packets, nic: int, cycle: int) -> int:
    """Return the CNP that a NIC may send in a cycle, or ``NOBODY`` (NCC-6, NCC-8)."""
    packet = int(pacing.cnps.queue[nic, 0].head)
    return packet if packet != NOBODY and packets.origin[packet].generated_cycle <= cycle else NOBODY


@inner
def pop_cnp(pacing: Pacing, packets: Packets, nic: int) -> None:
    """Remove the first CNP from a NIC's queue and count it as sent."""
    pop_packet(packets, pacing.cnps, nic, 0)
    pacing.counts[nic, CNPS] += 1


@inner
def apply_becn(pacing: Pacing, nic: int, dlid: int, sl: int, cycle: int) -> None:
    """Apply a BECN to a flow, after the injections of the cycle (NCC-9)."""
    place, before = receive_becn(pacing.sources, nic, _flow_dlid(pacing, nic, dlid), sl, cycle)
    pacing.nic[nic].becn_cycle = cycle
    pacing.counts[nic, BECNS] += 1
    if place != UNKNOWN:
        trigger = pacing.sources.level[nic, sl, TRIGGER]
        pacing.counts[nic, LOGGED] += before < trigger <= pacing.sources.flow[nic, place].ccti


@inner
def _no_sweep(pacing: Unpaced, cycle: int) -> None:
    """Do nothing: no congestion control."""


@inner
def _sweep(pacing: Pacing, cycle: int) -> None:
    last = pacing.sources.flow.shape[1] - 1
    for nic in range(len(pacing.nic)):
        if pacing.nic[nic].becn_cycle == cycle:
            continue
        sweep_state = pacing.sources.sweep[nic]
        if sweep_state.entries_in_use != 0:
            visit_entry(pacing.sources, nic, sweep_state.next_entry, cycle)
        sweep_state.next_entry = sweep_state.next_entry + 1 if sweep_state.next_entry < last else 0


@by_type({Unpaced: _no_sweep, Pacing: _sweep})
def sweep(pacing: Any, cycle: int) -> None:
    """Visit the flow-table entry that is due in each NIC, after the injections of the cycle (NCC-13)."""
