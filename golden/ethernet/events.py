"""Event loop of an Ethernet network, until nothing is left to do or a time is reached."""

from __future__ import annotations

from vlane.ethernet.ecm_rp import Notice
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.ethernet import limiters, watermarks
from vlane.golden.ethernet.adapters import receive_frame, schedule_order, start_order
from vlane.golden.ethernet.frames import (
    CONTROL_BYTES,
    NONE,
    NOTIFICATION,
    PAUSE,
    Queue,
    append_frame,
    free_frame,
    grown_frames,
    new_frame,
    pop_frame,
)
from vlane.golden.ethernet.heap import (
    AGAIN,
    ARRIVE,
    CHECK,
    DONE,
    DRIFT,
    GENERATE,
    LOOK,
    NOTIFY,
    RESTED,
    RESUME,
    SERVE,
    SERVICE,
    grown_heap,
    kind_of,
    place_of,
    pop,
    push,
    time_of,
)
from vlane.golden.ethernet.messages import generate_message, grown_messages
from vlane.golden.ethernet.network import CYCLE_BITS, NOW, STOP, TIMES_A_CYCLE, WAITING, Ethernet, time_units
from vlane.golden.ethernet.outputs import (
    end_frame,
    enqueue_frame,
    receive_pause,
    schedule_pause_refresh,
    start_frame,
    store_frame,
)

_CHUNK_TIMES, _LATE_CHUNK_TIMES = 1_250_000, 12_500_000
_MOST_A_CHUNK = 900
_DRIFT_NOTICE = int(Notice.DRIFT)


class Running:
    """A running network.

    Parameters
    ----------
    network : Ethernet
        Result of ``new_ethernet``.
    """

    def __init__(self, network: Ethernet) -> None:
        self.net = network
        for place, (time, _, _) in enumerate(network.service.tolist()):
            push(network.heap, time, SERVICE, place)
        for node in range(len(network.adapter)):
            if network.messages.destination_chances[node, -1]:
                push(
                    network.heap,
                    draw_below(network.messages.bits[node], int(network.adapter[node].frame_time)),
                    GENERATE,
                    node,
                )
            if network.drift_cycles:
                push(network.heap, network.drift_cycles * TIMES_A_CYCLE, DRIFT, node)
        push(network.heap, network.sampling_time, LOOK, 0)

    def until(self, seconds: float) -> None:
        """Run until a time, or until the last frame is delivered after the sources stopped."""
        to = time_units(seconds)
        while int(self.net.common[NOW]) < to and not is_over(self.net):
            nodes = len(self.net.adapter)
            while self.net.messages.unused[1] < _MOST_A_CHUNK * nodes:
                self.net = self.net._replace(messages=grown_messages(self.net.messages))
            while self.net.frames.unused[1] < len(self.net.frames.frame) // 2:
                self.net = self.net._replace(frames=grown_frames(self.net.frames))
            while self.net.heap.events[0] > len(self.net.heap.event) // 2:
                self.net = self.net._replace(heap=grown_heap(self.net.heap))
            now = int(self.net.common[NOW])
            chunk = _CHUNK_TIMES if now < self.net.common[STOP] else _LATE_CHUNK_TIMES
            _run_events(self.net, min(now + chunk, to))


def is_over(network: Ethernet) -> bool:
    """Return whether the sources have stopped and every frame has been delivered or dropped."""
    common, frames = network.common, network.frames
    return bool(common[NOW] >= common[STOP] and common[WAITING] == 0 and frames.unused[1] == len(frames.frame))


@kernel
def _run_events(network: Ethernet, end_time: int) -> None:
    """Handle all events before a time."""
    while network.heap.events[0] != 0 and time_of(network.heap.event[0]) < end_time:
        event = pop(network.heap)
        time, kind, place, tried = time_of(event), kind_of(event), place_of(event), NONE
        if kind == ARRIVE:
            tried = _receive_from_link(network, place, time)
        elif kind == DONE:
            end_frame(network, place, time)
            tried = place
        elif kind == SERVE:
            start_order(network, place, time)
            tried = network.adapter[place].channel
        elif kind == NOTIFY:
            tried = _send_notification(network, place, time)
        elif kind == CHECK:
            tried = place ^ 1
        elif kind == AGAIN:
            network.channel[place].refresh_scheduled = 0
            if watermarks.refresh_cycle(network.watermarks, place) <= time >> CYCLE_BITS:
                tried = place ^ 1  # sent as soon as the transmitter is free
            else:
                schedule_pause_refresh(network, place)
        elif kind == RESUME:
            network.channel[place].wake_scheduled = 0
            tried = place
        elif kind == RESTED:
            tried = place
        elif kind == GENERATE:
            _generate_message(network, place, time)
        elif kind == SERVICE:
            network.channel[network.service[place, 1]].service_factor = network.service[place, 2]
        elif kind == DRIFT:
            _queue_drift_orders(network, place, time)
        else:
            _record_queues(network, time)
        if tried != NONE:
            start_frame(network, tried, time)
    network.common[NOW] = end_time


@inner
def _receive_from_link(network: Ethernet, channel: int, time: int) -> int:
    """Handle a frame at the far end of a link (ETH-2, ETH-5, ETH-6).

    Return the transmitter that may start then, or ``NONE``.
    """
    channel_state, nodes = network.channel[channel], network.adapter.shape[0]
    place = _pop_late_frame(network, network.frames_to_join[channel], time >> CYCLE_BITS)
    if place == NONE:
        place = pop_frame(network.frames, network.in_flight[channel])
        frame = network.frames.frame[place]
        if frame.kind == PAUSE:
            receive_pause(network, channel ^ 1, frame.feedback, time)
            free_frame(network.frames, place)
            return channel ^ 1
        if channel_state.receiver < nodes:
            return channel ^ 1 if receive_frame(network, channel_state.receiver, place, time) else NONE
        if not store_frame(network, channel, place, time):
            return NONE
    to = enqueue_frame(network, channel_state.receiver - nodes, place, network.frames_to_join[channel], time)
    if to == NONE:
        push(network.heap, time + TIMES_A_CYCLE, ARRIVE, channel)
    return to


@inner
def _pop_late_frame(network: Ethernet, late_frames: Queue, cycle: int) -> int:
    """Remove and return the first waiting frame that has not been tried in this cycle, or ``NONE``."""
    first = late_frames.first
    if first == NONE or network.frames.frame[first].ready == cycle:
        return NONE
    return pop_frame(network.frames, late_frames)


@inner
def _send_notification(network: Ethernet, output: int, time: int) -> int:
    """Send a notification of an output's congestion point (ETH-7)."""
    place = _pop_late_frame(network, network.late_notifications[output], time >> CYCLE_BITS)
    if place == NONE:
        place = pop_frame(network.frames, network.pending_notifications[output])
    switch = network.channel[output].sender - network.adapter.shape[0]
    to = enqueue_frame(network, switch, place, network.late_notifications[output], time)
    if to == NONE:
        push(network.heap, time + TIMES_A_CYCLE, NOTIFY, output)
    return to


@inner
def _generate_message(network: Ethernet, node: int, time: int) -> None:
    """Generate the next message of a source, until sources stop (ETH-11)."""
    if time >= network.common[STOP]:
        return
    to, frames, slots = generate_message(network.messages, node, time >> CYCLE_BITS)
    flow = network.flow[node, to]
    flow.messages += 1
    flow.made += frames
    network.common[WAITING] += frames
    push(network.heap, time + slots * network.adapter[node].frame_time, GENERATE, node)
    schedule_order(network, node, time)


@inner
def _queue_drift_orders(network: Ethernet, node: int, time: int) -> None:
    """Queue a drift order for every installed limiter of an adapter (ERP-13)."""
    for flow in range(network.adapter.shape[0]):
        if limiters.is_limited(network.limiters, node, flow):
            place = new_frame(network.frames, NOTIFICATION, flow, node, CONTROL_BYTES)
            network.frames.frame[place].notice_kind = _DRIFT_NOTICE
            append_frame(network.frames, network.feedback[node], place)
    schedule_order(network, node, time)
    push(network.heap, time + network.drift_cycles * TIMES_A_CYCLE, DRIFT, node)


@inner
def _record_queues(network: Ethernet, time: int) -> None:
    """Record the bytes in the watched queues."""
    at = time // network.sampling_time - 1
    if at < network.sampled_lengths.shape[0]:
        for place in range(network.sampled_outputs.shape[0]):
            network.sampled_lengths[at, place] = network.points.point[network.sampled_outputs[place]].queue
        push(network.heap, time + network.sampling_time, LOOK, 0)
