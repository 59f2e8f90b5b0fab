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
    append_frame,
    free_frame,
    new_frame,
    pop_frame,
)
from vlane.golden.ethernet.heap import AGAIN, ARRIVE, CHECK, DONE, NOTIFY, RESTED, RESUME, push
from vlane.golden.ethernet.network import CYCLE_BITS, HOPS, TIMES_A_CYCLE, Ethernet
from vlane.golden.ethernet.parts import Channel
from vlane.golden.ethernet.points import Notification

_STOP, _POINT = int(Notice.STOP), int(Notice.POINT)
_QUANTUM_BYTES = 64
_SENDS, _PAUSES = 1, 2


@inner
def _check_pause_state(network: Ethernet, channel: int, cycle: int) -> None:
    """Schedule a watermark check of an input in the next cycle if its pause state may change then (ETH-8)."""
    channel_state, mark = network.channel[channel], network.watermarks.input[channel]
    turns = mark.level < mark.low if mark.sent_pause != 0 else mark.level > mark.high
    if network.has_pause and turns:
        _schedule_watermark_check(network, channel_state, channel, cycle + 1)


@inner
def _schedule_watermark_check(network: Ethernet, channel_state: Channel, channel: int, cycle: int) -> None:
    """Schedule a watermark check of an input at the start of a cycle, once."""
    if channel_state.next_check_cycle != cycle:
        channel_state.next_check_cycle = cycle
        push(network.heap, cycle << CYCLE_BITS, CHECK, channel)


@inner
def store_frame(network: Ethernet, channel: int, frame_index: int, time: int) -> bool:
    """Store a frame in its input memory. Return False if the frame does not fit and is dropped (ETH-5)."""
    frame = network.frames.frame[frame_index]
    cycle, switch = time >> CYCLE_BITS, network.channel[channel].receiver - network.adapter.shape[0]
    if not watermarks.store_frame(network.watermarks, channel, frame.length, cycle):
        network.switch[switch].dropped += frame.kind == DATA
        network.switch[switch].lost += frame.kind != DATA
        if frame.kind == DATA:
            network.flow[frame.source, frame.destination].dropped += 1
        free_frame(network.frames, frame_index)
        return False
    frame.input_channel, frame.ready = channel, NONE
    _check_pause_state(network, channel, cycle)
    return True


@inner
def enqueue_frame(network: Ethernet, switch: int, frame_index: int, late_frames: Queue, time: int) -> int:
    """Append a frame to its output queue and return the output (ETH-6).

    An output accepts one frame per cycle. A second frame waits in ``late_frames``, and ``NONE`` is returned.
    """
    frame = network.frames.frame[frame_index]
    to, cycle = network.route[switch, frame.destination], time >> CYCLE_BITS
    output = network.channel[to]
    if output.last_join_cycle == cycle:
        frame.ready = cycle
        append_frame(network.frames, late_frames, frame_index)
        return NONE
    output.last_join_cycle = cycle
    row = 0
    if not network.by_arrival:
        row = (
            network.inputs[switch] - 1
            if frame.input_channel == NONE
            else network.channel[frame.input_channel].receiver_input
        )
    append_frame(network.frames, network.queue[row, to], frame_index)
    is_managed = network.managed[switch] != 0 and frame.kind == DATA
    tag_matches = frame.is_tagged != 0 and frame.tag == to
    found = points.add_frame(network.points, to, frame.length, is_managed, tag_matches)
    if network.log.point[to] != 0:
        logs.log_entry(
            network.log,
            cycle,
            logs.JOINED,
            to,
            (frame.length, int(is_managed), frame.is_tagged, frame.tag),
            (int(found.sampled), int(found.sends), int(found.stop), found.feedback),
        )
    if found.sends or found.stop:
        _create_notification(network, to, frame.source, frame.destination, found, time)
    return to


@inner
def _create_notification(
    network: Ethernet, addressee: int, source: int, destination: int, notification: Notification, time: int
) -> None:
    """Create a notification to a source, to be sent after the congestion point's latency (ETH-7)."""
    place = new_frame(network.frames, NOTIFICATION, destination, source, CONTROL_BYTES)
    note, switch = network.frames.frame[place], network.channel[addressee].sender - network.adapter.shape[0]
    note.tag, note.feedback, note.notice_kind = addressee, notification.feedback, _STOP if notification.stop else _POINT
    network.switch[switch].raising += notification.feedback > 0
    network.switch[switch].lowering += notification.feedback <= 0
    append_frame(network.frames, network.pending_notifications[addressee], place)
    push(network.heap, time + (SHOWN_CYCLES << CYCLE_BITS), NOTIFY, addressee)


@inner
def schedule_pause_refresh(network: Ethernet, channel: int) -> None:
    """Schedule the repetition of an input's PAUSE frame while the neighbour must pause (PAU-7)."""
    again, channel_state = watermarks.refresh_cycle(network.watermarks, channel), network.channel[channel]
    if again != watermarks.NEVER and channel_state.refresh_scheduled == 0:
        channel_state.refresh_scheduled = 1
        push(network.heap, again << CYCLE_BITS, AGAIN, channel)


@inner
def receive_pause(network: Ethernet, channel: int, quanta: int, time: int) -> None:
    """Pause a transmitter for ``quanta`` quanta of its link, after the frame being sent (ETH-9)."""
    channel_state = network.channel[channel]
    begins = channel_state.busy_until if channel_state.frame_on_wire != 0 else time
    channel_state.paused_until = begins + quanta * _QUANTUM_BYTES * channel_state.byte_time


@inner
def start_frame(network: Ethernet, channel: int, time: int) -> None:
    """Start the next frame of an idle transmitter that may send (ETH-3, ETH-8, ETH-9, ETH-10)."""
    channel_state = network.channel[channel]
    if channel_state.frame_on_wire != 0:
        return
    back, cycle = channel ^ 1, time >> CYCLE_BITS
    at_switch = channel_state.sender >= network.adapter.shape[0]
    if at_switch and network.has_pause and watermarks.is_pause_frame_due(network.watermarks, back, cycle):
        place = new_frame(network.frames, PAUSE, NONE, NONE, CONTROL_BYTES)
        network.frames.frame[place].feedback = watermarks.pause_quanta(network.watermarks, back, cycle)
        watermarks.note_frame_sent(network.watermarks, back, cycle)
        schedule_pause_refresh(network, back)
        _schedule_watermark_check(network, network.channel[back], back, cycle + 1)
        _put_on_wire(network, channel_state, channel, place, time)
        return
    if time < channel_state.no_start_until:
        return
    if time < channel_state.paused_until:
        if channel_state.wake_scheduled == 0:
            channel_state.wake_scheduled = 1
            push(network.heap, channel_state.paused_until, RESUME, channel)
        return
    place = _dequeue(network, channel_state, channel) if at_switch else next_frame(network, channel_state.sender, time)
    if place != NONE:
        _put_on_wire(network, channel_state, channel, place, time)


@inner
def _dequeue(network: Ethernet, channel_state: Channel, channel: int) -> int:
    """Remove and return the next frame that an output sends (ETH-4)."""
    if network.by_arrival:
        return pop_frame(network.frames, network.queue[0, channel])
    inputs = network.inputs[channel_state.sender - network.adapter.shape[0]]
    for _ in range(inputs):
        row = channel_state.next_input
        channel_state.next_input = row + 1 if row + 1 < inputs else 0
        place = pop_frame(network.frames, network.queue[row, channel])
        if place != NONE:
            return place
    return NONE


@inner
def _put_on_wire(network: Ethernet, channel_state: Channel, channel: int, frame_index: int, time: int) -> None:
    """Put a frame on the wire. It arrives in the cycle after its last byte (ETH-2, ETH-3)."""
    frame = network.frames.frame[frame_index]
    is_pause = frame.kind == PAUSE
    channel_state.frame_on_wire, channel_state.frame_bytes, channel_state.frame_input = (
        _PAUSES if is_pause else _SENDS,
        frame.length,
        frame.input_channel,
    )
    free_at = time + frame.length * channel_state.byte_time
    channel_state.busy_until = free_at
    if channel_state.service_factor > 1 and not is_pause:
        channel_state.no_start_until = time + frame.length * channel_state.byte_time * channel_state.service_factor
        push(network.heap, channel_state.no_start_until, RESTED, channel)
    append_frame(network.frames, network.in_flight[channel], frame_index)
    push(network.heap, free_at, DONE, channel)
    push(network.heap, ((free_at + network.flight_time) // TIMES_A_CYCLE + 1) * TIMES_A_CYCLE, ARRIVE, channel)
    network.common[HOPS] += (frame.length + 63) // 64


@inner
def end_frame(network: Ethernet, channel: int, time: int) -> None:
    """End the frame being sent: free its memory and shorten the output queue (ETH-5, ETH-6)."""
    channel_state = network.channel[channel]
    if channel_state.sender >= network.adapter.shape[0] and channel_state.frame_on_wire == _SENDS:
        points.remove_frame(network.points, channel, channel_state.frame_bytes)
        if network.log.point[channel] != 0:
            logs.log_entry(
                network.log, time >> CYCLE_BITS, logs.LEFT, channel, (channel_state.frame_bytes, 0, 0, 0), (0, 0, 0, 0)
            )
        if channel_state.frame_input != NONE:
            watermarks.remove_frame(
                network.watermarks, channel_state.frame_input, channel_state.frame_bytes, time >> CYCLE_BITS
            )
            _check_pause_state(network, channel_state.frame_input, time >> CYCLE_BITS)
    channel_state.frame_on_wire = 0
