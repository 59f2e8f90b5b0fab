"""Histograms with logarithmic bins, and the mixing function of digests."""

from __future__ import annotations

from vlane.golden.engine.bits import bit_length
from vlane.golden.engine.kernel import inner

MASK = (1 << 62) - 1
FACTORS = (0x9E3779B97F4A7C15 & MASK, 0xC2B2AE3D27D4EB4F & MASK, 0x165667B19E3779F9)


@inner
def bin_of(value: int, fine_bits: int) -> int:
    """Return the bin of a value. Each power of two has 2**``fine_bits`` bins."""
    shift = max(0, bit_length(value) - fine_bits - 1)
    return (shift << fine_bits) + (value >> shift)


def bin_minimum(bin_number: int, fine_bits: int) -> int:
    """Return the smallest value of a bin."""
    shift = max(0, (bin_number >> fine_bits) - 1)
    return (bin_number - (shift << fine_bits)) << shift


@inner
def hash_pair(first: int, second: int) -> int:
    """Return 62 bits that depend on the lowest 62 bits of both numbers. Wider products are cut."""
    both = (first * FACTORS[0] ^ second * FACTORS[1]) & MASK
    return (both ^ both >> 31) * FACTORS[2] & MASK
