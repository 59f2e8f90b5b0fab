"""Flow-control packet of an InfiniBand link (IBA 7.9.4): format, checksum and credit arithmetic."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from vlane.documents.whole import check_whole
from vlane.errors import InputError

COUNTER_BITS = 12
"""Width of FCTBS, FCCL and ABR, which count blocks."""
COUNTER_MODULUS = 1 << COUNTER_BITS
CREDIT_CAP = 2048
"""Largest number of blocks that a limit grants, and the largest difference that counts as "ahead"."""
FCP_BITS = 48
MAX_FCP_PERIOD = 1 << 24
"""Longest period of flow-control packets, in cycles."""

_POLYNOMIAL = 0xD008  # 0x100B, bits of a byte sent lowest first


class Op(IntEnum):
    """Operand of a flow-control packet. Packets with other operands are discarded."""

    NORMAL = 0
    INITIALIZE = 1


def lpcrc(body: int) -> int:
    """Return the checksum of the first 32 bits of a flow-control packet.

    The polynomial is that of the VCRC, x**16 + x**12 + x**3 + x + 1, over bytes in transmission order, lowest bit
    first, with all ones as start value and a complemented result.

    Examples
    --------
    >>> lpcrc(0) != lpcrc(1)
    True
    """
    crc = 0xFFFF
    for byte in body.to_bytes(4, "big"):
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFF


class FlowControlPacket(NamedTuple):
    """Fields of a flow-control packet, in transmission order.

    Parameters
    ----------
    op : Op
        Operand, 4 bits.
    fctbs : int
        Flow control total blocks sent, modulo 4096.
    vl : int
        Lane, 0 to 14.
    fccl : int
        Flow control credit limit, modulo 4096.
    """

    op: int
    fctbs: int
    vl: int
    fccl: int

    def packed(self) -> int:
        """Return the packet as 48 bits. The first transmitted bit is the highest.

        Raises
        ------
        InputError
            If a field is out of range.

        Examples
        --------
        >>> FlowControlPacket.unpacked(FlowControlPacket(0, 17, 3, 4095).packed())
        FlowControlPacket(op=0, fctbs=17, vl=3, fccl=4095)
        """
        for name, value, most in (
            ("op", self.op, 15),
            ("fctbs", self.fctbs, 4095),
            ("vl", self.vl, 14),
            ("fccl", self.fccl, 4095),
        ):
            check_whole(f"fcp.{name}", value, 0, most)
        body = self.op << 28 | self.fctbs << 16 | self.vl << 12 | self.fccl
        return body << 16 | lpcrc(body)

    @classmethod
    def unpacked(cls, bits: int) -> FlowControlPacket:
        """Return the fields of a packet of 48 bits.

        Raises
        ------
        InputError
            If the number has more bits, or the checksum is wrong.
        """
        check_whole("fcp", bits, 0, (1 << FCP_BITS) - 1)
        body, crc = bits >> 16, bits & 0xFFFF
        if crc != lpcrc(body):
            raise InputError("fcp.lpcrc", f"{lpcrc(body):#06x}", f"{crc:#06x}")
        return cls(body >> 28, body >> 16 & 4095, body >> 12 & 15, body & 4095)
