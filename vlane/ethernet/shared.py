"""Definitions shared by the blocks of Ethernet congestion management: widths, feedback, random sequence."""

from __future__ import annotations

CYCLE_NS = 51.2
"""Duration of a cycle: a 64-byte flit at 10 Gb/s."""
BYTES_BITS = 14
"""Width of a frame's size in bytes."""
CPID_BITS = 16
"""Width of the identifier of a congestion point or destination."""
FEEDBACK_BYTES = 64
"""Unit of the feedback in a notification."""
FEEDBACK_BITS = 13
"""Width of the feedback: a sign and 12 bits."""
PRBS_BITS, PRBS_TAP = 31, 28
"""PRBS31 of ITU-T O.150: each bit is the XOR of the bits 31 and 28 positions earlier."""
SEED = 0x2545F491
"""Default state of a random sequence after reset, with about as many ones as zeros."""
DRAW_BITS = 24
"""Bits of a random number; the sequence advances by 24 bits per number."""


_APART = 0x9E3779B1
"""Difference between the states of two blocks: 2**32 divided by the golden ratio, so that states are far apart."""


def saturation_bytes(set_point_bytes: int, weight: int) -> int:
    """Return the bytes at which feedback saturates: (2W + 1) Qeq.

    Examples
    --------
    >>> saturation_bytes(37500, 2)
    187500
    """
    return (2 * weight + 1) * set_point_bytes


def seed_of(seed: int, place: int) -> int:
    """Return the random state after reset of a network's block, given its number from 0.

    Examples
    --------
    >>> seed_of(5, 0), seed_of(5, 1)
    (5, 506952119)
    """
    states = (1 << PRBS_BITS) - 1
    return (seed - 1 + place * _APART) % states + 1
