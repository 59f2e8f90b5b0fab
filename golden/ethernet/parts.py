"""Parts of an Ethernet network: links, adapters, and what is measured of flows and switches."""

from __future__ import annotations

from vlane.golden.compiler.records import Int16, Int32, Int64


class Channel:
    """One direction of a link, with the transmitter before it and the input behind it.

    Parameters
    ----------
    until, ends : int
        Time until which its transmitter is silent; at which its last frame ends.
    rests : int
        Time until which its transmitter, which serves slowly, starts no frame but PAUSE.
    joined, looked : int
        Cycle in which a frame joined the transmitter's queue last; for which a look at the input's watermarks is due.
    sending, length, input : int
        Of the frame on the wire: 1 if there is one, 2 if it is a PAUSE; its bytes; in whose memory it stands.
    sender, receiver : int
        Its ends: nodes, then switches.
    local : int
        Which input of the receiving switch it is.
    turn : int
        The input that is served next, where inputs are served in turns.
    unit, slower : int
        Times that a byte takes; how many times as long its frames take now.
    is_waking, is_said : int
        An event is under way that ends the silence; that says a PAUSE again.
    """

    until: Int64
    ends: Int64
    rests: Int64
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
    is_waking: Int16
    is_said: Int16


class Adapter:
    """A node's adapter.

    Parameters
    ----------
    ready : int
        Cycle from which on its reaction point takes the next order.
    due : int
        Cycle of the reaction point's next visit that was not begun.
    served, waited : int
        Time of the event that looks for the next order, ``NONE`` if there is none; of the one for which tokens lacked.
    granted : int
        Frames that may start, or will.
    turn : int
        The flow that is asked for first.
    channel : int
        To its switch.
    slot : int
        Times of a frame on its link.
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
    """What is measured of a flow.

    Parameters
    ----------
    made, delivered, dropped : int
        Frames with data.
    messages, completed : int
        Messages that were made; that arrived whole.
    waited, longest : int
        Cycles from when a message was made to when it was whole: their sum, and the most.
    serial, whole : int
        The message that arrives, and how many of its frames did.
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
    """What is measured of a switch: frames with data that did not fit, other ones, and notifications by sign."""

    dropped: Int64
    lost: Int64
    lowering: Int64
    raising: Int64
