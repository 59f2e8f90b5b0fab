"""Traffic sources of all NICs: generation time, size and destination of packets.

A traffic class is an unbounded queue at every NIC. Packets that are generated but not yet injected exist only as
generation times, not as objects in memory. Each (NIC, class) has its own random sequence, so its packets do not depend
on when the network injects them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Records
from vlane.golden.engine.kernel import inner
from vlane.golden.engine.pool import free_record
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.golden.traffic.classes import NEVER, PATH_SL
from vlane.golden.traffic.connections import Connections, advance_to_next_packet, next_due_connection
from vlane.golden.traffic.distributions import draw_number
from vlane.golden.traffic.messages import (
    NO_STREAM,
    NONE,
    Backlog,
    Messages,
    append_message,
    count_lost_packets,
    new_message,
    packet_count_of,
    pop_message,
    stream_of,
    take_packet_payload,
)
from vlane.golden.traffic.plugged import drawn_destination, drawn_size, forget, next_arrival, plugs

TABLE = 1024
"""Number of cycles that a row of ``patience`` covers."""
GUIDE_SHIFT = 52
CERTAIN = 1 << 30
"""Value of ``HOT`` for a hot share of 1."""

(UNIFORM, TO_OTHERS, BY_TABLE, CONNECTED, BY_WEIGHT, FROM_TRACE, BY_CONNECTION, OF_REPLIES, PLUGGED) = range(9)
(AT, TO, WITH_SL, SIZE) = range(4)
(HOTS, KIND, CLASS_SL, LEAST, MOST, BURST, HOT, TO_ONE, SIZES, SIZES_END, IN_MESSAGES) = range(11)
(ON, ON_END, OFF, OFF_END, ON_SHARE, COURSE, COURSE_END, WINDOWS, WINDOWS_END) = range(11, 20)
(BY_EVENTS, WINDOW, THINK, REPLY, DELAY, ASKS, QUEUE_PACKETS) = range(20, 27)
SETTINGS = 27
"""Number of settings of a class."""


class Sources(NamedTuple):
    """Traffic sources of all NICs.

    Parameters
    ----------
    setting : array of int64, (classes, SETTINGS)
        Settings of each class. ``SIZES`` to ``SIZES_END`` is its range of ``ranges``, empty if sizes are ``LEAST`` to
        ``MOST``. Likewise ``ON`` and ``OFF`` are its lengths of bursts and pauses, ``COURSE`` its range of ``course``,
        and ``WINDOWS`` its range of ``windows``. ``BY_EVENTS`` queues send messages that deliveries cause: requests of
        a ``WINDOW`` after ``THINK`` cycles (-1: drawn), and replies after ``DELAY`` cycles. ``REPLY`` is the queue of
        replies to a class plus 1, ``ASKS`` the class of a queue of replies plus 1, or 0. ``QUEUE_PACKETS`` is the
        capacity of an application queue in packets, 0 without limit.
    pace_row : array of int64, (NICs, classes)
        Row in ``patience``, ``gap_bounds`` and ``period``; equal loads share a row.
    patience : array of int64, (paces, 1024)
        Probability, in 2**-62, that the next packet is more than (index + 1) cycles away.
    gap_bounds : array of int64, (paces, 1024, 2)
        Bounds of the search in ``patience``, (exclusive lower, inclusive upper), for each interval of 2**52 of the
        drawn number.
    period : array of int64, (paces,)
        CBR: time between packets in 2**-32 cycles; otherwise 0.
    target : array of int64, (classes, NICs)
        Destinations of classes with a table.
    pairs : array of int64, (classes, NICs + 1)
        Weighted classes: index of each NIC's first pair in ``weighted_destinations``, and the index past the last pair.
    weighted_destinations : array of int64, (pairs, 2)
        Destination and cumulative probability, in 2**-62, of each pair.
    burst_destination : array of int64, (NICs, classes)
        Destination of the current burst, for classes with one destination per burst.
    is_sender : array of bool, (NICs, classes)
        Whether a NIC sends packets of a class if its load is above 0.
    hot : array of int64, (classes, hot hosts)
        Hot hosts.
    due : array of int64, (NICs, classes)
        Cycle of generation of the next packet.
    fraction : array of int64, (NICs, classes)
        CBR: fraction of a cycle in addition to ``due``, in 2**-32.
    burst_packets_left : array of int64, (NICs, classes)
        Number of packets left in the burst.
    bits : array of uint64, (NICs, classes, 1)
        Random sequences.
    earliest : array of int64, (NICs,)
        Minimum of ``due``.
    last_class : array of int64, (NICs,)
        Class from which each NIC injected last.
    lids : array of int64, (NICs, 2)
        First LID and number of LIDs of each NIC.
    path_sl : array of int16, (NICs, NICs) or (0, 0)
        SL of each path, for classes whose SL is ``PATH_SL``.
    trace : array of int64, (rows, 4)
        Cycle, destination, SL and bytes of packets to replay, sorted by SL, NIC and cycle.
    place : array of int64, (classes, NICs, 2)
        Next row of each NIC in ``trace`` and the index after its last; for connections, the range of each NIC's heap.
    connections : Connections
        Connections.
    active_window : array of int64, (classes, 2)
        First cycle of each class, and end of its first window.
    windows : array of int64, (windows, 2)
        First cycle and end of each window.
    window : array of int64, (NICs, classes)
        Present window of each class at each NIC.
    burst_cycles_left : array of int64, (NICs, classes)
        Cycles left of the present burst, for classes with bursts and pauses.
    course : array of int64, (rows, 2)
        Courses of the load: cycle, and probability in 2**-30 that a packet drawn for the largest load is generated.
    ranges : array of int64, (ranges, 3)
        Distributions of sizes and of lengths of bursts and pauses (``distributions.py``).
    exits : array of int64, (NICs, classes)
        Number of packets that left each application queue of limited capacity.
    exit_cycles : array of int64, (NICs, classes, largest capacity)
        Cycles in which the last of them left; packet n is in column n modulo the capacity.
    backlog : Records of Backlog, (NICs, classes) or (0, 0)
        Messages of each queue; empty if no class sends messages.
    plugged : NoPlugins or NamedTuple
        Plug-in sources of classes (``plugged.py``).
    mtu : int
        Largest payload of a packet of a message in bytes; 0 if no class sends messages.
    flit_bits : int
        Log2 of the flit size in bytes.
    """

    setting: NDArray[np.int64]
    pace_row: NDArray[np.int64]
    patience: NDArray[np.int64]
    gap_bounds: NDArray[np.int64]
    period: NDArray[np.int64]
    target: NDArray[np.int64]
    pairs: NDArray[np.int64]
    weighted_destinations: NDArray[np.int64]
    burst_destination: NDArray[np.int64]
    is_sender: NDArray[np.bool_]
    hot: NDArray[np.int64]
    due: NDArray[np.int64]
    fraction: NDArray[np.int64]
    burst_packets_left: NDArray[np.int64]
    bits: NDArray[np.uint64]
    earliest: NDArray[np.int64]
    last_class: NDArray[np.int64]
    lids: NDArray[np.int64]
    path_sl: NDArray[np.int16]
    trace: NDArray[np.int64]
    place: NDArray[np.int64]
    connections: Connections
    active_window: NDArray[np.int64]
    windows: NDArray[np.int64]
    window: NDArray[np.int64]
    burst_cycles_left: NDArray[np.int64]
    course: NDArray[np.int64]
    ranges: NDArray[np.int64]
    exits: NDArray[np.int64]
    exit_cycles: NDArray[np.int64]
    backlog: Records[Backlog]
    plugged: Any
    mtu: int
    flit_bits: int


@inner
def draw_gap(sources: Sources, nic: int, queue: int) -> int:
    """Draw the number of cycles from a packet to the next one of its class, at least 1."""
    pace = sources.pace_row[nic, queue]
    table, gap = sources.patience[pace], 1
    while True:
        drawn = draw_bits(sources.bits[nic, queue])
        if drawn >= table[0]:
            return gap
        if drawn < table[TABLE - 1]:
            gap += TABLE
            continue
        place = drawn >> GUIDE_SHIFT
        low, high = sources.gap_bounds[pace, place, 0], sources.gap_bounds[pace, place, 1]
        while high - low > 1:
            middle = (low + high) // 2
            if drawn < table[middle]:
                low = middle
            else:
                high = middle
        return gap + high


@inner
def advance_class(sources: Sources, messages: Messages, nic: int, queue: int, cycle: int) -> None:
    """Advance a class of a NIC, whose packet leaves in a cycle, to its next packet, and update when it is due."""
    setting = sources.setting[queue]
    if setting[KIND] == FROM_TRACE:
        place = sources.place[queue, nic]
        place[0] += 1
        sources.due[nic, queue] = sources.trace[place[0], AT] if place[0] < place[1] else NEVER
    elif setting[KIND] == BY_CONNECTION:
        place = sources.place[queue, nic]
        sources.due[nic, queue] = advance_to_next_packet(sources.connections, place[0], place[1])
    else:
        sources.burst_packets_left[nic, queue] -= 1
        if sources.burst_packets_left[nic, queue] == 0:
            sources.burst_packets_left[nic, queue] = setting[BURST]
            if setting[IN_MESSAGES] != 0:
                sources.backlog[nic, queue].sending = NONE
            if setting[BY_EVENTS] != 0:
                _find_due(sources, messages, nic, queue)
            else:
                sources.due[nic, queue] = _next_arrival(sources, nic, queue)
        if setting[QUEUE_PACKETS] != 0:
            _wait_for_room(sources, nic, queue, cycle)
        if setting[WINDOWS_END] - setting[WINDOWS] > 1:
            _find_window(sources, nic, queue)
    _find_earliest(sources, nic)


@inner
def _wait_for_room(sources: Sources, nic: int, queue: int, cycle: int) -> None:
    """Record that a packet leaves in a cycle, and delay the next packet until its queue has room (NET-1)."""
    exits, capacity = sources.exit_cycles[nic, queue], sources.setting[queue, QUEUE_PACKETS]
    exits[sources.exits[nic, queue] % capacity] = cycle
    sources.exits[nic, queue] += 1
    sources.due[nic, queue] = max(sources.due[nic, queue], exits[sources.exits[nic, queue] % capacity])


@inner
def _next_arrival(sources: Sources, nic: int, queue: int) -> int:
    """Return the cycle of the packet after that of cycle ``due``."""
    setting, due = sources.setting[queue], int(sources.due[nic, queue])
    if plugs(sources.plugged) and setting[KIND] == PLUGGED:
        return _draw_next(sources, nic, queue, due)
    if setting[COURSE] < setting[COURSE_END]:
        return _follow_course(sources, nic, queue, due)
    period = sources.period[sources.pace_row[nic, queue]]
    if period == 0:
        steps = draw_gap(sources, nic, queue)
    else:
        exact = sources.fraction[nic, queue] + period
        steps = exact >> 32
        sources.fraction[nic, queue] = exact & 0xFFFF_FFFF
    if setting[ON] < setting[ON_END]:
        return _skip_pauses(sources, nic, queue, due, steps)
    return due + steps


@inner
def _draw_next(sources: Sources, nic: int, queue: int, cycle: int) -> int:
    """Call a plug-in's source for the next packet after a cycle. Return the packet's cycle, or ``NEVER``."""
    return int(next_arrival(sources.plugged, nic, queue, cycle, sources.bits[nic, queue], sources.due.shape[0]))


@inner
def _skip_pauses(sources: Sources, nic: int, queue: int, cycle: int, steps: int) -> int:
    """Return the cycle ``steps`` cycles of bursts after a cycle. Pauses between bursts are not counted."""
    setting, bits = sources.setting[queue], sources.bits[nic, queue]
    left = sources.burst_cycles_left[nic, queue]
    while steps > left:
        steps -= left
        cycle += left + draw_number(sources.ranges, setting[OFF], setting[OFF_END], bits)
        left = draw_number(sources.ranges, setting[ON], setting[ON_END], bits)
    sources.burst_cycles_left[nic, queue] = left - steps
    return cycle + steps


@inner
def _follow_course(sources: Sources, nic: int, queue: int, cycle: int) -> int:
    """Return the next cycle of generation after a cycle, for a load that changes with time, or ``NEVER``.

    Packets are drawn for the largest load, and each is generated with the probability of its cycle.
    """
    setting, bits, course = sources.setting[queue], sources.bits[nic, queue], sources.course
    while True:
        cycle += draw_gap(sources, nic, queue)
        low, high = setting[COURSE], setting[COURSE_END]
        while high - low > 1:
            middle = (low + high) // 2
            if course[middle, 0] <= cycle:
                low = middle
            else:
                high = middle
        if draw_below(bits, CERTAIN) < course[low, 1]:
            return cycle
        if course[low, 1] == 0:
            while low < setting[COURSE_END] and course[low, 1] == 0:
                low += 1
            if low == setting[COURSE_END]:
                return NEVER
            cycle = course[low, 0] - 1  # the next packet does not depend on the time before


@inner
def window_has_ended(sources: Sources, nic: int, queue: int, cycle: int) -> bool:
    """Return whether the current window of a class has ended by a cycle."""
    return cycle >= sources.active_window[queue, 1] and cycle >= sources.windows[sources.window[nic, queue], 1]


@inner
def _find_window(sources: Sources, nic: int, queue: int) -> None:
    """Move a class to a later window if its next packet is due after the present one."""
    last = sources.setting[queue, WINDOWS_END] - 1
    while sources.window[nic, queue] < last and window_has_ended(sources, nic, queue, sources.due[nic, queue]):
        sources.window[nic, queue] += 1
        _begin_window(sources, nic, queue)


@inner
def _begin_window(sources: Sources, nic: int, queue: int) -> None:
    """Draw the first packet of the present window, at a random phase for CBR."""
    setting, bits = sources.setting[queue], sources.bits[nic, queue]
    sources.burst_packets_left[nic, queue] = setting[BURST]
    before = int(sources.windows[sources.window[nic, queue], 0]) - 1
    if setting[WINDOW] != 0:
        sources.backlog[nic, queue].undrawn_requests = setting[WINDOW]
        sources.due[nic, queue] = before + 1
        return
    if plugs(sources.plugged) and setting[KIND] == PLUGGED:
        forget(sources.plugged, nic, queue)
        sources.due[nic, queue] = _draw_next(sources, nic, queue, before + 1)
        return
    if setting[COURSE] < setting[COURSE_END]:
        sources.due[nic, queue] = _follow_course(sources, nic, queue, before)
        return
    period = sources.period[sources.pace_row[nic, queue]]
    steps = ((period >> 16) * draw_below(bits, 1 << 16) >> 32) + 1 if period != 0 else draw_gap(sources, nic, queue)
    if setting[ON] < setting[ON_END]:
        if draw_below(bits, CERTAIN) >= setting[ON_SHARE]:
            before += draw_number(sources.ranges, setting[OFF], setting[OFF_END], bits)
        sources.burst_cycles_left[nic, queue] = draw_number(sources.ranges, setting[ON], setting[ON_END], bits)
        sources.due[nic, queue] = _skip_pauses(sources, nic, queue, before, steps)
    else:
        sources.due[nic, queue] = before + steps


@inner
def draw_first_packet(sources: Sources, nic: int, queue: int) -> None:
    """Draw when the first packet of a class is due."""
    _begin_window(sources, nic, queue)
    _find_window(sources, nic, queue)


@inner
def end_class(sources: Sources, messages: Messages, nic: int, queue: int) -> None:
    """End the current window of a class at a NIC. The rest of a message is never sent."""
    if sources.setting[queue, IN_MESSAGES] != 0:
        backlog = sources.backlog[nic, queue]
        if backlog.sending != NONE:
            count_lost_packets(messages, backlog.sending, sources.burst_packets_left[nic, queue])
            backlog.sending = NONE
        while backlog.first != NONE:
            free_record(messages, pop_message(messages, backlog))
        backlog.undrawn_requests = 0
    if sources.window[nic, queue] + 1 < sources.setting[queue, WINDOWS_END]:
        sources.window[nic, queue] += 1
        draw_first_packet(sources, nic, queue)
    else:
        sources.due[nic, queue] = NEVER
    _find_earliest(sources, nic)


@inner
def _find_earliest(sources: Sources, nic: int) -> None:
    earliest = sources.due[nic, 0]
    for other in range(1, sources.due.shape[1]):
        earliest = min(earliest, sources.due[nic, other])
    sources.earliest[nic] = earliest


@inner
def _draw_weighted_destination(sources: Sources, nic: int, queue: int) -> int:
    """Draw a destination by the weights of a NIC's pairs."""
    low, high = sources.pairs[queue, nic], sources.pairs[queue, nic + 1] - 1
    drawn = draw_bits(sources.bits[nic, queue])
    while low < high:
        middle = (low + high) // 2
        if drawn < sources.weighted_destinations[middle, 1]:
            high = middle
        else:
            low = middle + 1
    return int(sources.weighted_destinations[low, 0])


@inner
def _draw_destination(sources: Sources, nic: int, queue: int) -> int:
    """Draw the destination of a packet. With one destination per burst, only the first packet of a burst draws."""
    setting, bits = sources.setting[queue], sources.bits[nic, queue]
    if plugs(sources.plugged) and setting[KIND] == PLUGGED:
        return int(drawn_destination(sources.plugged, nic, queue))
    if setting[TO_ONE] != 0 and sources.burst_packets_left[nic, queue] != setting[BURST]:
        return int(sources.burst_destination[nic, queue])
    if setting[HOT] != 0 and draw_below(bits, CERTAIN) < setting[HOT]:
        to = sources.hot[queue, draw_below(bits, setting[HOTS])]
    elif setting[KIND] == UNIFORM:
        to = draw_below(bits, sources.due.shape[0])
    elif setting[KIND] == TO_OTHERS:
        to = draw_below(bits, sources.due.shape[0] - 1)
        to += to >= nic
    elif setting[KIND] == BY_WEIGHT:
        to = _draw_weighted_destination(sources, nic, queue)
    else:
        to = sources.target[queue, nic]
    sources.burst_destination[nic, queue] = to
    return int(to)


@inner
def draw_size(sources: Sources, nic: int, queue: int) -> int:
    """Draw the size of a packet or message from the distribution of its class."""
    setting, bits = sources.setting[queue], sources.bits[nic, queue]
    if plugs(sources.plugged) and setting[KIND] == PLUGGED:
        return int(drawn_size(sources.plugged, nic, queue))
    if setting[SIZES] < setting[SIZES_END]:
        return draw_number(sources.ranges, setting[SIZES], setting[SIZES_END], bits)
    size = int(setting[LEAST])
    if setting[MOST] > size:
        size += draw_below(bits, setting[MOST] - size + 1)
    return size


@inner
def _message_in_progress(sources: Sources, messages: Messages, nic: int, queue: int) -> int:
    """Return the message whose packets a class sends. A new message draws destination and size."""
    backlog = sources.backlog[nic, queue]
    if backlog.sending == NONE:
        if sources.setting[queue, BY_EVENTS] != 0 and backlog.undrawn_requests == 0:
            message = pop_message(messages, backlog)
        else:
            message = draw_message(sources, messages, nic, queue, int(sources.due[nic, queue]))
            backlog.undrawn_requests = max(0, backlog.undrawn_requests - 1)
        backlog.sending = message
        sources.burst_packets_left[nic, queue] = packet_count_of(messages.pool[message].bytes, sources.mtu)
    return int(backlog.sending)


@inner
def draw_message(sources: Sources, messages: Messages, nic: int, queue: int, born: int) -> int:
    """Generate a message of a class with a drawn destination and size, and return its number."""
    to = _draw_destination(sources, nic, queue)
    return new_message(messages, nic, to, queue, draw_size(sources, nic, queue), sources.mtu, born)


@inner
def think_cycles(sources: Sources, nic: int, queue: int) -> int:
    """Return the cycles from the delivery of a reply to the generation of the next request of a window."""
    cycles = int(sources.setting[queue, THINK])
    return cycles if cycles >= 0 else draw_gap(sources, nic, queue) - 1


@inner
def _find_due(sources: Sources, messages: Messages, nic: int, queue: int) -> None:
    """Set ``due`` of a queue between two messages to the generation of the next one, or ``NEVER``."""
    backlog = sources.backlog[nic, queue]
    if backlog.undrawn_requests == 0:
        sources.due[nic, queue] = messages.pool[backlog.first].generated_cycle if backlog.first != NONE else NEVER


@inner
def enqueue_message(sources: Sources, messages: Messages, message: int) -> None:
    """Append a message, generated in a later cycle, to the queue of its source."""
    nic, number = int(messages.pool[message].source), int(messages.pool[message].queue)
    append_message(messages, sources.backlog[nic, number], message)
    if sources.backlog[nic, number].sending == NONE:
        _find_due(sources, messages, nic, number)
        _find_earliest(sources, nic)


@inner
def draw_packet(sources: Sources, messages: Messages, nic: int, queue: int) -> tuple[int, int, int, int, int, int]:
    """Draw the due packet of a class. Return (destination NIC, DLID, SL, bytes, flits, stream)."""
    setting, bits = sources.setting[queue], sources.bits[nic, queue]
    row, stream = sources.place[queue, nic, 0], NO_STREAM
    if setting[KIND] == FROM_TRACE:
        to, size = sources.trace[row, TO], sources.trace[row, SIZE]
    elif setting[KIND] == BY_CONNECTION:
        stream = next_due_connection(sources.connections, row)
        connection_state = sources.connections.each[stream]
        to, size = int(connection_state.target), int(connection_state.bytes)
    elif setting[IN_MESSAGES] != 0:
        message = _message_in_progress(sources, messages, nic, queue)
        to, size, stream = (
            int(messages.pool[message].target),
            take_packet_payload(messages, message, sources.mtu),
            stream_of(message),
        )
    else:
        to = _draw_destination(sources, nic, queue)
        size = draw_size(sources, nic, queue)
    dlid = sources.lids[to, 0]
    if sources.lids[to, 1] > 1:
        dlid += draw_below(bits, sources.lids[to, 1])
    sl = setting[CLASS_SL] if setting[KIND] != FROM_TRACE else sources.trace[row, WITH_SL]
    if sl == PATH_SL:
        sl = int(sources.path_sl[nic, to])
    flits = ((size - 1) >> sources.flit_bits) + 1
    return to, dlid, sl, size, flits, stream
