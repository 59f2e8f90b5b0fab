"""Links and shared-memory switches of an Ethernet network: arrival, queueing and transmission (ETH-2 to ETH-10)."""

from __future__ import annotations

from vlane.ethernet.ecm_cp import SHOWN_CYCLES
from vlane.ethernet.ecm_rp import Notice
from vlane.golden.engine.kernel import inner
from vlane.golden.ethernet import logs, points, watermarks
from vlane.golden.ethernet.adapters import next_frame
from vlane.golden.ethernet.frames import (
    CONTROL_BYTES,
    DATA,
    NONE,
    NOTIFICATION,
    PAUSE,
    Queue,
    append,
    free,
    new_frame,
    take,
)
from vlane.golden.ethernet.heap import AGAIN, ARRIVE, CHECK, DONE, NOTIFY, RESTED, RESUME, push
from vlane.golden.ethernet.network import CYCLE_BITS, HOPS, TIMES_A_CYCLE, Ethernet
from vlane.golden.ethernet.parts import Channel
from vlane.golden.ethernet.points import Notification

_STOP, _POINT = int(Notice.STOP), int(Notice.POINT)
_QUANTUM_BYTES = 64
_SENDS, _PAUSES = 1, 2


@inner
def _check_input(net: Ethernet, channel: int, cycle: int) -> None:
    """Schedule a watermark check of an input in the next cycle if its pause state may change then (ETH-8)."""
    channel_state, mark = net.channel[channel], net.marks.input[channel]
    turns = mark.level < mark.low if mark.sent_pause != 0 else mark.level > mark.high
    if net.paused and turns:
        _look(net, channel_state, channel, cycle + 1)


@inner
def _look(net: Ethernet, channel_state: Channel, channel: int, cycle: int) -> None:
    """Schedule a watermark check of an input at the start of a cycle, once."""
    if channel_state.looked != cycle:
        channel_state.looked = cycle
        push(net.heap, cycle << CYCLE_BITS, CHECK, channel)


@inner
def keep(net: Ethernet, channel: int, place: int, time: int) -> bool:
    """Store a frame in an input memory and return whether it fits (ETH-5).

    A frame that does not fit is dropped and counted.
    """
    frame = net.frames.frame[place]
    cycle, switch = time >> CYCLE_BITS, net.channel[channel].receiver - net.adapter.shape[0]
    if not watermarks.arrive(net.marks, channel, frame.length, cycle):
        net.switch[switch].dropped += frame.kind == DATA
        net.switch[switch].lost += frame.kind != DATA
        if frame.kind == DATA:
            net.flow[frame.source, frame.destination].dropped += 1
        free(net.frames, place)
        return False
    frame.input, frame.ready = channel, NONE
    _check_input(net, channel, cycle)
    return True


@inner
def join(net: Ethernet, switch: int, place: int, late: Queue, time: int) -> int:
    """Append a frame to its output queue and return the output (ETH-6).

    If another frame joined in this cycle, the frame is appended to ``late`` and ``NONE`` is returned.
    """
    frame = net.frames.frame[place]
    to, cycle = net.route[switch, frame.destination], time >> CYCLE_BITS
    output = net.channel[to]
    if output.joined == cycle:
        frame.ready = cycle
        append(net.frames, late, place)
        return NONE
    output.joined = cycle
    row = 0
    if not net.by_arrival:
        row = net.inputs[switch] - 1 if frame.input == NONE else net.channel[frame.input].local
    append(net.frames, net.queue[row, to], place)
    is_managed = net.managed[switch] != 0 and frame.kind == DATA
    tag_matches = frame.is_tagged != 0 and frame.tag == to
    found = points.join(net.points, to, frame.length, is_managed, tag_matches)
    if net.log.point[to] != 0:
        logs.note(
            net.log,
            cycle,
            logs.JOINED,
            to,
            (frame.length, int(is_managed), frame.is_tagged, frame.tag),
            (int(found.sampled), int(found.sends), int(found.stop), found.feedback),
        )
    if found.sends or found.stop:
        _note(net, to, frame.source, frame.destination, found, time)
    return to


@inner
def _note(net: Ethernet, to: int, source: int, destination: int, found: Notification, time: int) -> None:
    """Create a notification, to be sent when the congestion point's latency has passed (ETH-7)."""
    place = new_frame(net.frames, NOTIFICATION, destination, source, CONTROL_BYTES)
    note, switch = net.frames.frame[place], net.channel[to].sender - net.adapter.shape[0]
    note.tag, note.feedback, note.notice = to, found.feedback, _STOP if found.stop else _POINT
    net.switch[switch].raising += found.feedback > 0
    net.switch[switch].lowering += found.feedback <= 0
    append(net.frames, net.noted[to], place)
    push(net.heap, time + (SHOWN_CYCLES << CYCLE_BITS), NOTIFY, to)


@inner
def say_again(net: Ethernet, channel: int) -> None:
    """Schedule the refresh of an input's PAUSE, if one is in force (PAU-7).

    At most one event is pending.
    """
    again, channel_state = watermarks.refreshes_at(net.marks, channel), net.channel[channel]
    if again != watermarks.NEVER and channel_state.refresh_scheduled == 0:
        channel_state.refresh_scheduled = 1
        push(net.heap, again << CYCLE_BITS, AGAIN, channel)


@inner
def hear_pause(net: Ethernet, channel: int, quanta: int, time: int) -> None:
    """Pause a transmitter for ``quanta`` quanta of its link, from the end of the frame on the wire (ETH-9)."""
    channel_state = net.channel[channel]
    begins = channel_state.ends if channel_state.sending != 0 else time
    channel_state.until = begins + quanta * _QUANTUM_BYTES * channel_state.unit


@inner
def start(net: Ethernet, channel: int, time: int) -> None:
    """Start the next frame of an idle transmitter, if it may send (ETH-3, ETH-8, ETH-9, ETH-10)."""
    channel_state = net.channel[channel]
    if channel_state.sending != 0:
        return
    back, cycle = channel ^ 1, time >> CYCLE_BITS
    at_switch = channel_state.sender >= net.adapter.shape[0]
    if at_switch and net.paused and watermarks.frame_due(net.marks, back, cycle):
        place = new_frame(net.frames, PAUSE, NONE, NONE, CONTROL_BYTES)
        net.frames.frame[place].feedback = watermarks.quanta(net.marks, back, cycle)
        watermarks.note_frame_sent(net.marks, back, cycle)
        say_again(net, back)
        _look(net, net.channel[back], back, cycle + 1)
        _send(net, channel_state, channel, place, time)
        return
    if time < channel_state.rests:
        return
    if time < channel_state.until:
        if channel_state.wake_scheduled == 0:
            channel_state.wake_scheduled = 1
            push(net.heap, channel_state.until, RESUME, channel)
        return
    place = _dequeue(net, channel_state, channel) if at_switch else next_frame(net, channel_state.sender, time)
    if place != NONE:
        _send(net, channel_state, channel, place, time)


@inner
def _dequeue(net: Ethernet, channel_state: Channel, channel: int) -> int:
    """Remove and return the next frame of an output (ETH-4)."""
    if net.by_arrival:
        return take(net.frames, net.queue[0, channel])
    inputs = net.inputs[channel_state.sender - net.adapter.shape[0]]
    for _ in range(inputs):
        row = channel_state.turn
        channel_state.turn = row + 1 if row + 1 < inputs else 0
        place = take(net.frames, net.queue[row, channel])
        if place != NONE:
            return place
    return NONE


@inner
def _send(net: Ethernet, channel_state: Channel, channel: int, place: int, time: int) -> None:
    """Put a frame on the wire.

    It arrives in the cycle after its last byte (ETH-2, ETH-3).
    """
    frame = net.frames.frame[place]
    is_pause = frame.kind == PAUSE
    channel_state.sending, channel_state.length, channel_state.input = (
        _PAUSES if is_pause else _SENDS,
        frame.length,
        frame.input,
    )
    free_at = time + frame.length * channel_state.unit
    channel_state.ends = free_at
    if channel_state.slower > 1 and not is_pause:
        channel_state.rests = time + frame.length * channel_state.unit * channel_state.slower
        push(net.heap, channel_state.rests, RESTED, channel)
    append(net.frames, net.flying[channel], place)
    push(net.heap, free_at, DONE, channel)
    push(net.heap, ((free_at + net.flight) // TIMES_A_CYCLE + 1) * TIMES_A_CYCLE, ARRIVE, channel)
    net.common[HOPS] += (frame.length + 63) // 64


@inner
def end(net: Ethernet, channel: int, time: int) -> None:
    """End a frame on the wire: free its memory and shorten its queue (ETH-5, ETH-6)."""
    channel_state = net.channel[channel]
    if channel_state.sender >= net.adapter.shape[0] and channel_state.sending == _SENDS:
        points.leave(net.points, channel, channel_state.length)
        if net.log.point[channel] != 0:
            logs.note(net.log, time >> CYCLE_BITS, logs.LEFT, channel, (channel_state.length, 0, 0, 0), (0, 0, 0, 0))
        if channel_state.input != NONE:
            watermarks.leave(net.marks, channel_state.input, channel_state.length, time >> CYCLE_BITS)
            _check_input(net, channel_state.input, time >> CYCLE_BITS)
    channel_state.sending = 0
