"""What the blocks of Ethernet congestion management have in common: widths, feedback, the random sequence."""

from __future__ import annotations

CYCLE_NS = 51.2
"""A cycle: a 64-byte flit at 10 Gb/s."""
BYTES_BITS = 14
"""Width of a frame's size in bytes."""
CPID_BITS = 16
"""Width of what names a congestion point or a destination."""
FEEDBACK_BYTES = 64
"""Unit of the feedback in a notification."""
FEEDBACK_BITS = 13
"""Width of the feedback: a sign and 12 bits."""
PRBS_BITS, PRBS_TAP = 31, 28
"""PRBS31 of ITU-T O.150: each bit is the exclusive or of those 31 and 28 bits before it."""
SEED = 0x2545F491
"""State of a random sequence after reset, unless given: about as many ones as zeros, so that it is well mixed."""
DRAW_BITS = 24
"""Bits of a random number: the sequence is taken 24 bits further for it."""


_APART = 0x9E3779B1
"""Between the states of two blocks: 2**32 over the golden ratio, so that states are far apart."""


def saturation_bytes(set_point_bytes: int, weight: int) -> int:
    """Return the bytes at which feedback is saturated: (2W + 1) Qeq.

    Examples
    --------
    >>> saturation_bytes(37500, 2)
    187500
    """
    return (2 * weight + 1) * set_point_bytes


def seed_of(seed: int, place: int) -> int:
    """Return the state after reset of the random sequence of a network's block, which are numbered from 0.

    Examples
    --------
    >>> seed_of(5, 0), seed_of(5, 1)
    (5, 506952119)
    """
    states = (1 << PRBS_BITS) - 1
    return (seed - 1 + place * _APART) % states + 1
