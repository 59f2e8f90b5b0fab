"""Records of an Ethernet network: links, adapters, and measurements of flows and switches."""

from __future__ import annotations

from vlane.golden.compiler.records import Int16, Int32, Int64


class Channel:
    """State of one direction of a link: its transmitter and the input at its far end.

    Parameters
    ----------
    paused_until : int
        Time until which the transmitter is paused.
    busy_until : int
        Time at which the transmitter's last frame ends.
    no_start_until : int
        Time until which a slow transmitter starts no frame except PAUSE.
    last_join_cycle : int
        Last cycle in which a frame joined the transmitter's queue.
    next_check_cycle : int
        Cycle of the scheduled watermark check.
    frame_on_wire : int
        Frame on the wire: 0 for none, 1 for a frame, 2 for PAUSE.
    frame_bytes : int
        Length in bytes of the frame on the wire.
    frame_input : int
        Input whose memory contains the frame on the wire.
    sender, receiver : int
        Ends of the link: nodes, then switches.
    receiver_input : int
        Input number at the receiving switch.
    next_input : int
        Next input to serve, if inputs are served in turns.
    byte_time : int
        Time units per byte.
    service_factor : int
        Current service factor.
    wake_scheduled : int
        Whether an event for the end of the pause is pending.
    refresh_scheduled : int
        Whether an event for a PAUSE refresh is pending.
    """

    paused_until: Int64
    busy_until: Int64
    no_start_until: Int64
    last_join_cycle: Int64
    next_check_cycle: Int64
    frame_on_wire: Int32
    frame_bytes: Int32
    frame_input: Int32
    sender: Int32
    receiver: Int32
    receiver_input: Int32
    next_input: Int32
    byte_time: Int16
    service_factor: Int16
    wake_scheduled: Int16
    refresh_scheduled: Int16


class Adapter:
    """State of a node's adapter.

    Parameters
    ----------
    next_order_cycle : int
        First cycle in which the reaction point accepts the next order.
    next_visit_cycle : int
        Cycle of the reaction point's next visit.
    order_time : int
        Time of the event for the next order, ``NONE`` for none.
    retry_time : int
        Time of the last retry scheduled for missing tokens.
    granted_frames : int
        Number of granted frames that have not started.
    next_flow : int
        Flow to ask for first.
    channel : int
        Channel to the switch.
    frame_time : int
        Time of a data frame on the adapter's link, in time units.
    """

    next_order_cycle: Int64
    next_visit_cycle: Int64
    order_time: Int64
    retry_time: Int64
    granted_frames: Int32
    next_flow: Int32
    channel: Int32
    frame_time: Int32


class Flow:
    """Measurements of a flow.

    Parameters
    ----------
    made, delivered, dropped : int
        Data frames generated, delivered and dropped.
    messages, completed : int
        Messages generated and completed.
    waited, longest : int
        Sum and maximum of the completion times in cycles.
    arriving_message : int
        Number of the message that arrives.
    arrived_frames : int
        Number of frames of this message received so far.
    """

    made: Int64
    delivered: Int64
    messages: Int64
    completed: Int64
    waited: Int64
    longest: Int64
    arriving_message: Int64
    dropped: Int32
    arrived_frames: Int32


class Switch:
    """Counters of a switch: dropped data frames, other dropped frames, notifications that lower and raise rates."""

    dropped: Int64
    lost: Int64
    lowering: Int64
    raising: Int64
