"""Completion of messages: measurement, replies, and the next request of a window (MSG-4, MSG-6 to MSG-8)."""

from __future__ import annotations

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.pool import free_record
from vlane.golden.network.message_meters import MessageMeters, count_message
from vlane.golden.traffic.messages import Messages, new_message
from vlane.golden.traffic.sources import (
    ASKS,
    DELAY,
    REPLY,
    WINDOW,
    Sources,
    draw_message,
    draw_size,
    enqueue_message,
    think_cycles,
)


@inner
def count_received_packet(
    sources: Sources, meters: MessageMeters, messages: Messages, message_number: int, cycle: int
) -> None:
    """Count the receipt of a message's packet, and complete the message with its last packet."""
    message = messages.pool[message_number]
    message.outstanding_packets -= 1
    if message.outstanding_packets == 0:
        if message.lost == 0:
            _complete_message(sources, meters, messages, message_number, cycle)
        free_record(messages, message_number)


@inner
def _complete_message(
    sources: Sources, meters: MessageMeters, messages: Messages, message_number: int, cycle: int
) -> None:
    """Count a completed message and generate its reply or the next request of its window."""
    message = messages.pool[message_number]
    queue, nic = int(message.queue), int(message.target)
    setting = sources.setting[queue]
    count_message(meters, queue, message.bytes, message.generated_cycle, cycle)
    if setting[REPLY] != 0:
        answer = int(setting[REPLY]) - 1
        size, born = draw_size(sources, nic, answer), cycle + 1 + int(setting[DELAY])
        reply = new_message(messages, nic, int(message.source), answer, size, sources.mtu, born)
        messages.pool[reply].request_cycle = message.generated_cycle
        enqueue_message(sources, messages, reply)
    elif setting[ASKS] != 0:
        count_message(meters, len(sources.setting) + queue, message.bytes, message.request_cycle, cycle)
        asks = int(setting[ASKS]) - 1
        if sources.setting[asks, WINDOW] != 0:
            born = cycle + 1 + think_cycles(sources, nic, asks)
            enqueue_message(sources, messages, draw_message(sources, messages, nic, asks, born))
