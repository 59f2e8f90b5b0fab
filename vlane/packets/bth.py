"""The base transport header for congestion control: its place in a packet, FECN, the opcode of a CNP (IBA 9.2)."""

from __future__ import annotations

BTH_AT = 8
"""Byte of a packet at which the header begins, behind the LRH."""

BTH_BEHIND_GRH_AT = 48
"""Byte of a packet at which it begins behind LRH and GRH."""

LNH_GRH = 3
"""Next header of the LRH: a GRH, then the IBA transport."""

PSN_MODULUS = 1 << 24
"""Packet sequence numbers, the last three bytes of the header's twelve, begin again from 0 at it."""

CNP_OPCODE = 0x80
"""Opcode, the header's first byte, of a congestion notification packet."""

CNP_BYTES = 42
"""Of a congestion notification packet without GRH: LRH, header, 16 reserved bytes, ICRC and VCRC."""

FECN_BYTE = 4
"""Byte of the header that holds FECN; BECN is the bit below it."""

FECN_IN_BYTE = 0x80
"""FECN in that byte."""


def bits_to_fecn(bth_at: int) -> int:
    """Return the bits of a packet up to the byte that holds FECN, that byte included.

    Examples
    --------
    >>> bits_to_fecn(BTH_AT), bits_to_fecn(BTH_BEHIND_GRH_AT)
    (104, 424)
    """
    return 8 * (bth_at + FECN_BYTE + 1)
