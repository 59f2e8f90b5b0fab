"""Completion of messages: measurement, replies, and the next request of a window (MSG-4, MSG-6 to MSG-8)."""

from __future__ import annotations

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.pool import free
from vlane.golden.network.message_meters import MessageMeters, count_message
from vlane.golden.traffic.messages import Messages, new_message
from vlane.golden.traffic.sources import ASKS, DELAY, REPLY, WINDOW, Sources, draw_message, draw_size, enqueue, think


@inner
def receive_part(sources: Sources, meters: MessageMeters, messages: Messages, number: int, cycle: int) -> None:
    """Note that the last flit of a packet of a message is received in a cycle.

    With its last packet the message is complete, unless a packet was lost, and freed.
    """
    message = messages.pool[number]
    message.coming -= 1
    if message.coming == 0:
        if message.lost == 0:
            _complete(sources, meters, messages, number, cycle)
        free(messages, number)


@inner
def _complete(sources: Sources, meters: MessageMeters, messages: Messages, number: int, cycle: int) -> None:
    """Count a complete message, and generate the message that it causes."""
    message = messages.pool[number]
    queue, nic = int(message.queue), int(message.target)
    setting = sources.setting[queue]
    count_message(meters, queue, message.bytes, message.born, cycle)
    if setting[REPLY] != 0:
        answer = int(setting[REPLY]) - 1
        size, born = draw_size(sources, nic, answer), cycle + 1 + int(setting[DELAY])
        reply = new_message(messages, nic, int(message.source), answer, size, sources.mtu, born)
        messages.pool[reply].begun = message.born
        enqueue(sources, messages, reply)
    elif setting[ASKS] != 0:
        count_message(meters, len(sources.setting) + queue, message.bytes, message.begun, cycle)
        asks = int(setting[ASKS]) - 1
        if sources.setting[asks, WINDOW] != 0:
            born = cycle + 1 + think(sources, nic, asks)
            enqueue(sources, messages, draw_message(sources, messages, nic, asks, born))
