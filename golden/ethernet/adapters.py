"""Adapters of an Ethernet network (ETH-12 to ETH-18).

They give orders to the reaction point, start granted frames, and send probes and replies.
"""

from __future__ import annotations

from vlane.ethernet.ecm_rp import ASK_CYCLES, NOTICE_CYCLES, VISIT_CYCLES, Notice
from vlane.golden.engine.bins import FACTORS, MASK, bin_of, mixed
from vlane.golden.engine.kernel import inner
from vlane.golden.ethernet import limiters, logs, probers
from vlane.golden.ethernet.frames import CONTROL_BYTES, DATA, NONE, PROBE, REPLY, Frame, append, free, new_frame, take
from vlane.golden.ethernet.heap import SERVE, push
from vlane.golden.ethernet.messages import begun
from vlane.golden.ethernet.network import CYCLE_BITS, DIGEST, FINE_BITS, FRAME_BYTES, WAITING, Ethernet

_AHEAD = 2
"""Maximum number of granted frames that wait for the wire (ETH-14)."""
_CYCLE = (1 << CYCLE_BITS) - 1
_FAR = 1 << 38
"""A cycle beyond any run."""
_PROBE = int(Notice.PROBE)


@inner
def ask_to_serve(net: Ethernet, node: int, time: int) -> None:
    """Schedule the adapter's next order for ``time`` or later, when its reaction point is ready (ETH-12)."""
    adapter_state = net.adapter[node]
    at = max((time + _CYCLE) & ~_CYCLE, adapter_state.ready << CYCLE_BITS)
    if adapter_state.served == NONE or at < adapter_state.served:
        adapter_state.served = at
        push(net.heap, at, SERVE, node)


@inner
def serve(net: Ethernet, node: int, time: int) -> None:
    """Give the reaction point its next order, if it is ready: feedback first, then questions (ETH-12 to ETH-14)."""
    adapter_state = net.adapter[node]
    if time != adapter_state.served:
        return
    adapter_state.served = NONE
    cycle = time >> CYCLE_BITS
    while max(adapter_state.due, adapter_state.ready) < cycle:
        begins = max(adapter_state.due, adapter_state.ready)
        adapter_state.ready = begins + ASK_CYCLES
        adapter_state.due = (begins // VISIT_CYCLES + 1) * VISIT_CYCLES
    if adapter_state.ready > cycle:
        ask_to_serve(net, node, adapter_state.ready << CYCLE_BITS)
        return
    place = take(net.frames, net.feedback[node])
    if place != NONE:
        frame = net.frames.frame[place]
        limiters.receive_notification(net.limiters, node, frame.source, frame.notice, frame.tag, frame.feedback, cycle)
        if net.log.node[node] != 0:
            _log(net, node, logs.HEARD, frame.source, (frame.source, frame.notice, frame.tag, frame.feedback), 0, cycle)
        free(net.frames, place)
        adapter_state.ready = cycle + NOTICE_CYCLES
        ask_to_serve(net, node, adapter_state.ready << CYCLE_BITS)
        return
    if adapter_state.granted >= _AHEAD:
        return
    flow, nodes, soonest = adapter_state.turn, net.adapter.shape[0], _FAR
    for _ in range(nodes):
        if net.messages.backlog[node, flow].frames != 0:
            at = limiters.ready_at(net.limiters, node, flow, FRAME_BYTES, cycle)
            if at == cycle:
                _grant(net, node, flow, cycle)
                adapter_state.turn = flow + 1 if flow + 1 < nodes else 0
                adapter_state.ready = cycle + ASK_CYCLES
                ask_to_serve(net, node, adapter_state.ready << CYCLE_BITS)
                return
            soonest = min(soonest, at)
        flow = flow + 1 if flow + 1 < nodes else 0
    if soonest != _FAR:
        _wait(net, node, soonest << CYCLE_BITS)


@inner
def _wait(net: Ethernet, node: int, time: int) -> None:
    """Schedule a retry for when tokens can suffice.

    Do not schedule the same time twice.
    """
    adapter_state = net.adapter[node]
    adapter_state.served = time
    if adapter_state.waited != time:
        adapter_state.waited = time
        push(net.heap, time, SERVE, node)


@inner
def _grant(net: Ethernet, node: int, flow: int, cycle: int) -> None:
    """Grant a frame whose tokens suffice.

    It carries the tag of its limiter (ETH-13).
    """
    limiters.may(net.limiters, node, flow, FRAME_BYTES, cycle)
    place = new_frame(net.frames, DATA, node, flow, FRAME_BYTES)
    frame, limiter = net.frames.frame[place], net.limiters.flow[node, flow]
    frame.born, frame.serial, frame.of, frame.is_last = begun(net.messages, node, flow)
    frame.ready = cycle + ASK_CYCLES
    frame.tag, frame.is_tagged = limiter.cpid, limiter.limited != 0 and limiter.probe == 0
    if net.log.node[node] != 0:
        _log(net, node, logs.ASKED, flow, (flow, FRAME_BYTES, 0, 0), 1, cycle)
    append(net.frames, net.granted[node], place)
    net.adapter[node].granted += 1
    net.common[WAITING] -= 1


@inner
def _log(
    net: Ethernet, node: int, kind: int, flow: int, given: tuple[int, int, int, int], may: int, cycle: int
) -> None:
    flow_state = net.limiters.flow[node, flow]
    there = int(flow_state.limited != 0)
    logs.note(net.log, cycle, kind, node, given, (may, there, flow_state.rate * there, flow_state.cpid * there))


@inner
def next_frame(net: Ethernet, node: int, time: int) -> int:
    """Return the next frame that an adapter sends.

    Probes and replies precede data (ETH-15, ETH-16).
    """
    cycle = time >> CYCLE_BITS
    place = take(net.frames, net.control[node])
    if place != NONE:
        frame = net.frames.frame[place]
        if frame.kind == PROBE:
            frame.stamp, frame.counted = cycle, probers.carried(net.probers, node, frame.destination)
        return place
    first = net.granted[node].first
    if first == NONE or net.frames.frame[first].ready << CYCLE_BITS > time:
        return NONE
    place = take(net.frames, net.granted[node])
    net.adapter[node].granted -= 1
    to = net.frames.frame[place].destination
    if net.probes:
        is_limited = limiters.is_limited(net.limiters, node, to)
        if probers.count(net.probers, node, to, FRAME_BYTES, is_limited):
            probe = new_frame(net.frames, PROBE, node, to, CONTROL_BYTES)
            append(net.frames, net.control[node], probe)
    ask_to_serve(net, node, time)
    return place


@inner
def receive(net: Ethernet, node: int, place: int, time: int) -> bool:
    """Receive a frame and return whether a reply is ready to be sent (ETH-16, ETH-17)."""
    frame = net.frames.frame[place]
    cycle = time >> CYCLE_BITS
    if frame.kind == DATA:
        _deliver(net, frame, time)
        free(net.frames, place)
        return False
    if frame.kind == PROBE:
        frame.kind, frame.arrival = REPLY, cycle
        frame.source, frame.destination = frame.destination, frame.source
        frame.input = NONE
        append(net.frames, net.control[node], place)
        return True
    if frame.kind == REPLY:
        found = probers.returned(net.probers, node, frame.source, frame.stamp, frame.arrival, frame.counted)
        if not found.valid:
            free(net.frames, place)
            return False
        frame.notice, frame.tag, frame.feedback = _PROBE, frame.source, found.feedback
    append(net.frames, net.feedback[node], place)
    ask_to_serve(net, node, time)
    return False


@inner
def _deliver(net: Ethernet, frame: Frame, time: int) -> None:
    """Count a delivered data frame, and its message if it is complete (ETH-18)."""
    flow, cycle = net.flow[frame.source, frame.destination], time >> CYCLE_BITS
    flow.delivered += 1
    who = frame.source * net.adapter.shape[0] + frame.destination
    net.common[DIGEST] = (net.common[DIGEST] + mixed(who ^ frame.serial * FACTORS[2] & MASK, cycle)) & MASK
    part = min(time // net.part, net.course.shape[0] - 1)
    net.course[part, frame.source, frame.destination] += frame.length
    if flow.serial != frame.serial:
        flow.serial, flow.whole = frame.serial, 0
    flow.whole += 1
    if frame.is_last != 0 and flow.whole == frame.of:
        waited = cycle - frame.born
        flow.completed += 1
        flow.waited += waited
        flow.longest = max(flow.longest, waited)
        net.completion[frame.source, frame.destination, bin_of(waited, FINE_BITS)] += 1
