"""Adapters of an Ethernet network (ETH-12 to ETH-18).

They give orders to the reaction point, start granted frames, and send probes and replies.
"""

from __future__ import annotations

from vlane.ethernet.ecm_rp import ASK_CYCLES, NOTICE_CYCLES, VISIT_CYCLES, Notice
from vlane.golden.engine.bins import FACTORS, MASK, bin_of, hash_pair
from vlane.golden.engine.kernel import inner
from vlane.golden.ethernet import limiters, logs, probers
from vlane.golden.ethernet.frames import (
    CONTROL_BYTES,
    DATA,
    NONE,
    PROBE,
    REPLY,
    Frame,
    append_frame,
    free_frame,
    new_frame,
    pop_frame,
)
from vlane.golden.ethernet.heap import SERVE, push
from vlane.golden.ethernet.messages import remove_frame
from vlane.golden.ethernet.network import CYCLE_BITS, DIGEST, FINE_BITS, FRAME_BYTES, WAITING, Ethernet

_AHEAD = 2
"""Maximum number of granted frames that wait for the wire (ETH-14)."""
_CYCLE = (1 << CYCLE_BITS) - 1
_FAR = 1 << 38
"""A cycle beyond any run."""
_PROBE = int(Notice.PROBE)


@inner
def schedule_order(network: Ethernet, node: int, time: int) -> None:
    """Schedule the adapter's next order to its reaction point, at ``time`` or when the point is ready (ETH-12)."""
    adapter_state = network.adapter[node]
    at = max((time + _CYCLE) & ~_CYCLE, adapter_state.next_order_cycle << CYCLE_BITS)
    if adapter_state.order_time == NONE or at < adapter_state.order_time:
        adapter_state.order_time = at
        push(network.heap, at, SERVE, node)


@inner
def start_order(network: Ethernet, node: int, time: int) -> None:
    """Give a ready reaction point its next order: feedback before requests to send (ETH-12 to ETH-14)."""
    adapter_state = network.adapter[node]
    if time != adapter_state.order_time:
        return
    adapter_state.order_time = NONE
    cycle = time >> CYCLE_BITS
    while max(adapter_state.next_visit_cycle, adapter_state.next_order_cycle) < cycle:
        begins = max(adapter_state.next_visit_cycle, adapter_state.next_order_cycle)
        adapter_state.next_order_cycle = begins + ASK_CYCLES
        adapter_state.next_visit_cycle = (begins // VISIT_CYCLES + 1) * VISIT_CYCLES
    if adapter_state.next_order_cycle > cycle:
        schedule_order(network, node, adapter_state.next_order_cycle << CYCLE_BITS)
        return
    place = pop_frame(network.frames, network.feedback[node])
    if place != NONE:
        frame = network.frames.frame[place]
        limiters.receive_notification(
            network.limiters, node, frame.source, frame.notice_kind, frame.tag, frame.feedback, cycle
        )
        if network.log.node[node] != 0:
            _log_decision(
                network,
                node,
                logs.HEARD,
                frame.source,
                (frame.source, frame.notice_kind, frame.tag, frame.feedback),
                0,
                cycle,
            )
        free_frame(network.frames, place)
        adapter_state.next_order_cycle = cycle + NOTICE_CYCLES
        schedule_order(network, node, adapter_state.next_order_cycle << CYCLE_BITS)
        return
    if adapter_state.granted_frames >= _AHEAD:
        return
    flow, nodes, soonest = adapter_state.next_flow, network.adapter.shape[0], _FAR
    for _ in range(nodes):
        if network.messages.backlog[node, flow].frames != 0:
            at = limiters.earliest_start(network.limiters, node, flow, FRAME_BYTES, cycle)
            if at == cycle:
                _grant_frame(network, node, flow, cycle)
                adapter_state.next_flow = flow + 1 if flow + 1 < nodes else 0
                adapter_state.next_order_cycle = cycle + ASK_CYCLES
                schedule_order(network, node, adapter_state.next_order_cycle << CYCLE_BITS)
                return
            soonest = min(soonest, at)
        flow = flow + 1 if flow + 1 < nodes else 0
    if soonest != _FAR:
        _schedule_retry(network, node, soonest << CYCLE_BITS)


@inner
def _schedule_retry(network: Ethernet, node: int, time: int) -> None:
    """Schedule another request for the first time at which the tokens can suffice."""
    adapter_state = network.adapter[node]
    adapter_state.order_time = time
    if adapter_state.retry_time != time:
        adapter_state.retry_time = time
        push(network.heap, time, SERVE, node)


@inner
def _grant_frame(network: Ethernet, node: int, flow: int, cycle: int) -> None:
    """Grant a frame whose tokens suffice. It carries the tag of its limiter (ETH-13)."""
    limiters.may_start(network.limiters, node, flow, FRAME_BYTES, cycle)
    place = new_frame(network.frames, DATA, node, flow, FRAME_BYTES)
    frame, limiter = network.frames.frame[place], network.limiters.flow[node, flow]
    frame.generated_cycle, frame.message_number, frame.message_frames, frame.is_last = remove_frame(
        network.messages, node, flow
    )
    frame.ready = cycle + ASK_CYCLES
    frame.tag, frame.is_tagged = limiter.cpid, limiter.limited != 0 and limiter.lowered_by_probe == 0
    if network.log.node[node] != 0:
        _log_decision(network, node, logs.ASKED, flow, (flow, FRAME_BYTES, 0, 0), 1, cycle)
    append_frame(network.frames, network.granted[node], place)
    network.adapter[node].granted_frames += 1
    network.common[WAITING] -= 1


@inner
def _log_decision(
    network: Ethernet, node: int, kind: int, flow: int, inputs: tuple[int, int, int, int], may: int, cycle: int
) -> None:
    flow_state = network.limiters.flow[node, flow]
    there = int(flow_state.limited != 0)
    logs.log_entry(
        network.log, cycle, kind, node, inputs, (may, there, flow_state.rate * there, flow_state.cpid * there)
    )


@inner
def next_frame(network: Ethernet, node: int, time: int) -> int:
    """Return the next frame that an adapter sends, or ``NONE``."""
    cycle = time >> CYCLE_BITS
    place = pop_frame(network.frames, network.control[node])
    if place != NONE:
        frame = network.frames.frame[place]
        if frame.kind == PROBE:
            frame.stamp, frame.flow_bytes = cycle, probers.probe_byte_count(network.probers, node, frame.destination)
        return place
    first = network.granted[node].first
    if first == NONE or network.frames.frame[first].ready << CYCLE_BITS > time:
        return NONE
    place = pop_frame(network.frames, network.granted[node])
    network.adapter[node].granted_frames -= 1
    to = network.frames.frame[place].destination
    if network.has_probes:
        is_limited = limiters.is_limited(network.limiters, node, to)
        if probers.count_frame(network.probers, node, to, FRAME_BYTES, is_limited):
            probe = new_frame(network.frames, PROBE, node, to, CONTROL_BYTES)
            append_frame(network.frames, network.control[node], probe)
    schedule_order(network, node, time)
    return place


@inner
def receive_frame(network: Ethernet, node: int, frame_index: int, time: int) -> bool:
    """Receive a frame at a node. Return whether a reply is ready to be sent (ETH-16, ETH-17)."""
    frame = network.frames.frame[frame_index]
    cycle = time >> CYCLE_BITS
    if frame.kind == DATA:
        _count_delivery(network, frame, time)
        free_frame(network.frames, frame_index)
        return False
    if frame.kind == PROBE:
        frame.kind, frame.arrival = REPLY, cycle
        frame.source, frame.destination = frame.destination, frame.source
        frame.input_channel = NONE
        append_frame(network.frames, network.control[node], frame_index)
        return True
    if frame.kind == REPLY:
        found = probers.process_reply(network.probers, node, frame.source, frame.stamp, frame.arrival, frame.flow_bytes)
        if not found.valid:
            free_frame(network.frames, frame_index)
            return False
        frame.notice_kind, frame.tag, frame.feedback = _PROBE, frame.source, found.feedback
    append_frame(network.frames, network.feedback[node], frame_index)
    schedule_order(network, node, time)
    return False


@inner
def _count_delivery(network: Ethernet, frame: Frame, time: int) -> None:
    """Count a delivered data frame, and its message if it is complete (ETH-18)."""
    flow, cycle = network.flow[frame.source, frame.destination], time >> CYCLE_BITS
    flow.delivered += 1
    who = frame.source * network.adapter.shape[0] + frame.destination
    network.common[DIGEST] = (
        network.common[DIGEST] + hash_pair(who ^ frame.message_number * FACTORS[2] & MASK, cycle)
    ) & MASK
    part = min(time // network.part_time, network.delivered_bytes.shape[0] - 1)
    network.delivered_bytes[part, frame.source, frame.destination] += frame.length
    if flow.arriving_message != frame.message_number:
        flow.arriving_message, flow.arrived_frames = frame.message_number, 0
    flow.arrived_frames += 1
    if frame.is_last != 0 and flow.arrived_frames == frame.message_frames:
        waited = cycle - frame.generated_cycle
        flow.completed += 1
        flow.waited += waited
        flow.longest = max(flow.longest, waited)
        network.completion[frame.source, frame.destination, bin_of(waited, FINE_BITS)] += 1
