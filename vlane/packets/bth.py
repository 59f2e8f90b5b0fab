"""Fields of the base transport header for congestion control: position, FECN, opcode of a CNP (IBA 9.2)."""

from __future__ import annotations

BTH_AT = 8
"""Byte position of the header behind the LRH."""

BTH_BEHIND_GRH_AT = 48
"""Byte position of the header behind LRH and GRH."""

LNH_GRH = 3
"""Next header of the LRH: GRH, followed by IBA transport."""

PSN_MODULUS = 1 << 24
"""Modulus of packet sequence numbers, the last three bytes of the header."""

CNP_OPCODE = 0x80
"""Opcode (first byte of the header) of a congestion notification packet."""

CNP_BYTES = 42
"""Size of a congestion notification packet without GRH: LRH, header, 16 reserved bytes, ICRC and VCRC."""

FECN_BYTE = 4
"""Byte of the header with FECN; BECN is the bit below FECN."""

FECN_IN_BYTE = 0x80
"""Mask of FECN in the byte."""


def bits_to_fecn(bth_at: int) -> int:
    """Return the number of bits of a packet up to and including the byte with FECN.

    Examples
    --------
    >>> bits_to_fecn(BTH_AT), bits_to_fecn(BTH_BEHIND_GRH_AT)
    (104, 424)
    """
    return 8 * (bth_at + FECN_BYTE + 1)
