"""Records of an Ethernet network: links, adapters, and measurements of flows and switches."""

from __future__ import annotations

from vlane.golden.compiler.records import Int16, Int32, Int64


class Channel:
    """State of one direction of a link: its transmitter and the input at its far end.

    Parameters
    ----------
    until : int
        Time until which the transmitter is paused.
    ends : int
        Time at which the transmitter's last frame ends.
    no_start_until : int
        Time until which a slow transmitter starts no frame except PAUSE.
    joined : int
        Last cycle in which a frame joined the transmitter's queue.
    looked : int
        Cycle of the scheduled watermark check.
    sending : int
        Frame on the wire: 0 for none, 1 for a frame, 2 for PAUSE.
    length : int
        Length in bytes of the frame on the wire.
    input : int
        Input whose memory contains the frame on the wire.
    sender, receiver : int
        Ends of the link: nodes, then switches.
    local : int
        Input number at the receiving switch.
    turn : int
        Next input to serve, if inputs are served in turns.
    unit : int
        Time units per byte.
    slower : int
        Current service factor.
    wake_scheduled : int
        Whether an event for the end of the pause is pending.
    refresh_scheduled : int
        Whether an event for a PAUSE refresh is pending.
    """

    until: Int64
    ends: Int64
    no_start_until: Int64
    joined: Int64
    looked: Int64
    sending: Int32
    length: Int32
    input: Int32
    sender: Int32
    receiver: Int32
    local: Int32
    turn: Int32
    unit: Int16
    slower: Int16
    wake_scheduled: Int16
    refresh_scheduled: Int16


class Adapter:
    """State of a node's adapter.

    Parameters
    ----------
    ready : int
        First cycle in which the reaction point accepts the next order.
    due : int
        Cycle of the reaction point's next visit.
    served : int
        Time of the event for the next order, ``NONE`` for none.
    waited : int
        Time of the last retry scheduled for missing tokens.
    granted : int
        Number of granted frames that have not started.
    turn : int
        Flow to ask for first.
    channel : int
        Channel to the switch.
    slot : int
        Time of a data frame on the adapter's link, in time units.
    """

    ready: Int64
    due: Int64
    served: Int64
    waited: Int64
    granted: Int32
    turn: Int32
    channel: Int32
    slot: Int32


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
    serial : int
        Number of the message that arrives.
    whole : int
        Number of frames of this message received so far.
    """

    made: Int64
    delivered: Int64
    messages: Int64
    completed: Int64
    waited: Int64
    longest: Int64
    serial: Int64
    dropped: Int32
    whole: Int32


class Switch:
    """Counters of a switch: dropped data frames, other dropped frames, notifications that lower and raise rates."""

    dropped: Int64
    lost: Int64
    lowering: Int64
    raising: Int64
