"""Sentences about shares and waits, for ``vlane vlarb explain``, its report and the page in the browser."""

from __future__ import annotations

TURNS = (
    "Every packet carries a service level, a number from 0 to 15 chosen by the sender. Every port has several lanes, "
    "each with its own queue, and assigns each level to a lane. A table of the port defines the order in which lanes "
    "send on the cable. The table matters only under overload: then each lane gets the share on this page. Capacity "
    "unused by a lane goes to other lanes."
)
MEANING = (
    "The share depends on the packet sizes, because ports send whole packets. The table gives the share for packets of "
    "the largest size, and the range of shares if the packets of this level, or of all other levels, are small. "
    "Share, Gb/s and wait are those of the lane: levels in one lane divide its share. The longest wait is the longest "
    "time of the first packet in a lane until its transmission, at one port, for the worst mix of packet sizes up to "
    "the largest size; a packet on a path of several ports may wait at every port. Waits for free buffer space in the "
    "next switch are not included."
)
DROPPED = "packets of this level are dropped here: VL 15 carries management packets only"
UNSERVED = "packets of this level get no turn here under load: no entry names the lane, or the high list starves it"
GETS = "{} Gb/s of a full cable"
GETS_RANGE = "{} to {} Gb/s of a full cable"
GETS_ENDLESS = "{}; no bound on the wait of a packet"
GETS_BOUNDED = "{}; a packet waits at most {} us for its turn"
NO_BOUND = "no bound"
TOGETHER = "{} together with SL {}"
LANE_TOGETHER = "{}, with SL {}"
DROPPED_LEVELS = (
    "Level {} is dropped{}: SL2VL maps it to VL 15.",
    "Levels {} are dropped{}: SL2VL maps them to VL 15.",
)
STARVED = ("Level {} gets no turn{} under load.", "Levels {} get no turn{} under load.")
ENDLESS = ("Level {} may wait without a bound{}.", "Levels {} may wait without a bound{}.")
AT_SOME_PORTS = " at some ports"
BOUNDED = "Every level has a bound on its wait."
