"""Event loop of an Ethernet network, until nothing is left to do or a time is reached."""

from __future__ import annotations

from vlane.ethernet.ecm_rp import Notice
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import below
from vlane.golden.ethernet import limiters, watermarks
from vlane.golden.ethernet.adapters import ask_to_serve, receive, serve
from vlane.golden.ethernet.frames import (
    CONTROL_BYTES,
    NONE,
    NOTIFICATION,
    PAUSE,
    Queue,
    append,
    free,
    grown_frames,
    new_frame,
    take,
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
from vlane.golden.ethernet.messages import grown_messages, make
from vlane.golden.ethernet.network import CYCLE_BITS, NOW, STOP, TIMES_A_CYCLE, WAITING, Ethernet, times_of
from vlane.golden.ethernet.outputs import end, hear_pause, join, keep, say_again, start

_CHUNK_TIMES, _LATE_CHUNK_TIMES = 1_250_000, 12_500_000
_MOST_A_CHUNK = 900
_DRIFT_NOTICE = int(Notice.DRIFT)


class Running:
    """A running network.

    Parameters
    ----------
    net : Ethernet
        Result of ``new_ethernet``.
    """

    def __init__(self, net: Ethernet) -> None:
        self.net = net
        for place, (time, _, _) in enumerate(net.service.tolist()):
            push(net.heap, time, SERVICE, place)
        for node in range(len(net.adapter)):
            if net.messages.to[node, -1]:
                push(net.heap, below(net.messages.bits[node], int(net.adapter[node].slot)), GENERATE, node)
            if net.drift:
                push(net.heap, net.drift * TIMES_A_CYCLE, DRIFT, node)
        push(net.heap, net.look, LOOK, 0)

    def until(self, seconds: float) -> None:
        """Run until a time, or until the last frame is delivered after the sources stopped."""
        to = times_of(seconds)
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
            _run(self.net, min(now + chunk, to))


def is_over(net: Ethernet) -> bool:
    """Return whether the sources stopped and all their frames are delivered or dropped."""
    common, frames = net.common, net.frames
    return bool(common[NOW] >= common[STOP] and common[WAITING] == 0 and frames.unused[1] == len(frames.frame))


@kernel
def _run(net: Ethernet, to: int) -> None:
    """Handle all events before a time."""
    while net.heap.events[0] != 0 and time_of(net.heap.event[0]) < to:
        event = pop(net.heap)
        time, kind, place, tried = time_of(event), kind_of(event), place_of(event), NONE
        if kind == ARRIVE:
            tried = _arrive(net, place, time)
        elif kind == DONE:
            end(net, place, time)
            tried = place
        elif kind == SERVE:
            serve(net, place, time)
            tried = net.adapter[place].channel
        elif kind == NOTIFY:
            tried = _notify(net, place, time)
        elif kind == CHECK:
            tried = place ^ 1
        elif kind == AGAIN:
            net.channel[place].refresh_scheduled = 0
            if watermarks.refreshes_at(net.marks, place) <= time >> CYCLE_BITS:
                tried = place ^ 1  # sent as soon as the transmitter is free
            else:
                say_again(net, place)
        elif kind == RESUME:
            net.channel[place].wake_scheduled = 0
            tried = place
        elif kind == RESTED:
            tried = place
        elif kind == GENERATE:
            _generate(net, place, time)
        elif kind == SERVICE:
            net.channel[net.service[place, 1]].slower = net.service[place, 2]
        elif kind == DRIFT:
            _drift(net, place, time)
        else:
            _look(net, time)
        if tried != NONE:
            start(net, tried, time)
    net.common[NOW] = to


@inner
def _arrive(net: Ethernet, channel: int, time: int) -> int:
    """Handle a frame at the far end of a link (ETH-2, ETH-5, ETH-6).

    Return the transmitter that may start then, or ``NONE``.
    """
    channel_state, nodes = net.channel[channel], net.adapter.shape[0]
    place = _next_of(net, net.entering[channel], time >> CYCLE_BITS)
    if place == NONE:
        place = take(net.frames, net.flying[channel])
        frame = net.frames.frame[place]
        if frame.kind == PAUSE:
            hear_pause(net, channel ^ 1, frame.feedback, time)
            free(net.frames, place)
            return channel ^ 1
        if channel_state.receiver < nodes:
            return channel ^ 1 if receive(net, channel_state.receiver, place, time) else NONE
        if not keep(net, channel, place, time):
            return NONE
    to = join(net, channel_state.receiver - nodes, place, net.entering[channel], time)
    if to == NONE:
        push(net.heap, time + TIMES_A_CYCLE, ARRIVE, channel)
    return to


@inner
def _next_of(net: Ethernet, late: Queue, cycle: int) -> int:
    """Remove and return the first frame that could not join earlier and was not tried in this cycle, or ``NONE``."""
    first = late.first
    if first == NONE or net.frames.frame[first].ready == cycle:
        return NONE
    return take(net.frames, late)


@inner
def _notify(net: Ethernet, output: int, time: int) -> int:
    """Send a notification of an output's congestion point (ETH-7)."""
    place = _next_of(net, net.late[output], time >> CYCLE_BITS)
    if place == NONE:
        place = take(net.frames, net.noted[output])
    switch = net.channel[output].sender - net.adapter.shape[0]
    to = join(net, switch, place, net.late[output], time)
    if to == NONE:
        push(net.heap, time + TIMES_A_CYCLE, NOTIFY, output)
    return to


@inner
def _generate(net: Ethernet, node: int, time: int) -> None:
    """Generate the next message of a source, until sources stop (ETH-11)."""
    if time >= net.common[STOP]:
        return
    to, frames, slots = make(net.messages, node, time >> CYCLE_BITS)
    flow = net.flow[node, to]
    flow.messages += 1
    flow.made += frames
    net.common[WAITING] += frames
    push(net.heap, time + slots * net.adapter[node].slot, GENERATE, node)
    ask_to_serve(net, node, time)


@inner
def _drift(net: Ethernet, node: int, time: int) -> None:
    """Queue a drift order for every installed limiter of an adapter (ERP-13)."""
    for flow in range(net.adapter.shape[0]):
        if limiters.is_limited(net.limiters, node, flow):
            place = new_frame(net.frames, NOTIFICATION, flow, node, CONTROL_BYTES)
            net.frames.frame[place].notice = _DRIFT_NOTICE
            append(net.frames, net.feedback[node], place)
    ask_to_serve(net, node, time)
    push(net.heap, time + net.drift * TIMES_A_CYCLE, DRIFT, node)


@inner
def _look(net: Ethernet, time: int) -> None:
    """Record the bytes in the watched queues."""
    at = time // net.look - 1
    if at < net.looked.shape[0]:
        for place in range(net.watched.shape[0]):
            net.looked[at, place] = net.points.point[net.watched[place]].queue
        push(net.heap, time + net.look, LOOK, 0)
