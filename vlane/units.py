"""Units of all layers (IBA 7.9: a credit block is 64 bytes)."""

from __future__ import annotations

from vlane.errors import InputError

__all__ = [
    "BLOCK_BYTES",
    "HEADER_BITS",
    "HEADER_BYTES",
    "MAX_BUFFER_BLOCKS",
    "MAX_DATA_VLS",
    "MAX_PACKET_BLOCKS",
    "MAX_PACKET_BYTES",
    "MOST_CYCLES",
    "MTUS",
    "blocks_of",
    "mtu_blocks",
]

BLOCK_BYTES = 64
"""Bytes of a credit block, and of a unit of an arbitration weight."""

MAX_PACKET_BLOCKS = 66
"""Blocks of the largest packet: 4096 bytes of payload with all headers (IBA 7.7)."""

MAX_PACKET_BYTES = MAX_PACKET_BLOCKS * BLOCK_BYTES
"""Bytes of the largest packet, from LRH to VCRC."""

MAX_BUFFER_BLOCKS = 4096
"""Largest number of blocks of a switch's buffer."""

MOST_CYCLES = 10**11
"""Largest number of cycles of a lockstep run, which takes a day or more."""

MAX_DATA_VLS = 15
"""Largest number of data VLs of a port (IBA 7.6.4); VL15 carries management only."""

MTUS = (256, 512, 1024, 2048, 4096)
"""Largest payloads of packets that ports can have, in bytes (IBA 7.7.8)."""

HEADER_BITS = 64
"""Bits of the local route header, the most significant bits of a packet's first flit (IBA 7.7)."""

_VCRC_BYTES = 2
HEADER_BYTES = 8 + 12 + 4 + _VCRC_BYTES
"""Bytes of LRH, BTH, ICRC and VCRC, in every packet with payload (IBA 5.2)."""


def blocks_of(packet_bytes: int, *, count_vcrc: bool = True) -> int:
    """Return the number of 64-byte blocks of a packet for credits, weights and the limit (decision VLA-1).

    Parameters
    ----------
    packet_bytes : int
        Length from LRH to VCRC, 1 to ``MAX_PACKET_BYTES``.
    count_vcrc : bool
        Whether the two bytes of the VCRC count, which matters only at a block boundary.

    Raises
    ------
    InputError
        If the length is out of range.

    Examples
    --------
    >>> blocks_of(4122), blocks_of(64), blocks_of(65)
    (65, 1, 2)
    >>> blocks_of(66, count_vcrc=False)
    1
    """
    if not 1 <= packet_bytes <= MAX_PACKET_BYTES:
        raise InputError("bytes", f"1 to {MAX_PACKET_BYTES}", packet_bytes)
    counted = packet_bytes if count_vcrc else max(1, packet_bytes - _VCRC_BYTES)
    return -(-counted // BLOCK_BYTES)


def mtu_blocks(mtu: int) -> int:
    """Return the blocks of a packet with a payload of the MTU and the usual headers.

    Examples
    --------
    >>> mtu_blocks(2048), mtu_blocks(4096)
    (33, 65)
    """
    return blocks_of(mtu + HEADER_BYTES)
