"""Local route header, the first eight bytes of a packet (IBA 7.7), and the variant used for Omni-Path."""

from __future__ import annotations

from typing import Any, NamedTuple

from vlane.documents.whole import check_whole

__all__ = ["LNH_BTH", "LocalRouteHeader", "channel_bits", "pack_lrh", "packet_words"]

LNH_BTH = 2
"""Next header: IBA transport without GRH."""

_MOST = {"vl": 15, "lver": 15, "sl": 15, "lnh": 3, "dlid": 0xFFFF, "pktlen": 0x7FF, "slid": 0xFFFF, "reserved": 3}


def packet_words(size: Any) -> Any:
    """Return PktLen of packets from their bytes (LRH to VCRC, at least 2): whole 4-byte words before the VCRC.

    Examples
    --------
    >>> packet_words(64), packet_words(4096)
    (15, 1023)
    """
    return (size - 2) // 4


def pack_lrh(
    *, vl: Any, sl: Any, dlid: Any, pktlen: Any, slid: Any, lnh: Any = LNH_BTH, lver: Any = 0, reserved: Any = 0
) -> Any:
    """Return headers as 64-bit numbers, first byte highest. Fields are integers or unsigned arrays."""
    first = (vl << 12) | (lver << 8) | (sl << 4) | (reserved << 2) | lnh
    return (first << 48) | (dlid << 32) | (pktlen << 16) | slid


def channel_bits(sc: Any, sl: Any) -> tuple[Any, Any]:
    """Return the VL field and the two reserved bits of an Omni-Path header. Integers or arrays."""
    return sc & 15, sc >> 4 << 1 | sl >> 4


class LocalRouteHeader(NamedTuple):
    """Fields of a header, in transmission order.

    Parameters
    ----------
    vl : int
        Virtual lane, 4 bits; for Omni-Path, the low bits of the channel.
    lver : int
        Link version, 4 bits.
    sl : int
        Service level, 4 bits.
    reserved : int
        Reserved bits, 2 bits; for Omni-Path, the top bit of the channel, then the top bit of the service level.
    lnh : int
        Next header, 2 bits.
    dlid : int
        Destination LID, 16 bits.
    pktlen : int
        Number of 4-byte words from the header to before the VCRC, 11 bits.
    slid : int
        Source LID, 16 bits.

    Examples
    --------
    >>> header = LocalRouteHeader(vl=3, lver=0, sl=5, reserved=0, lnh=LNH_BTH, dlid=0x12, pktlen=15, slid=7)
    >>> f"{header.pack():016x}"
    '30520012000f0007'
    >>> LocalRouteHeader.unpack(header.pack()) == header
    True
    """

    vl: int
    lver: int
    sl: int
    reserved: int
    lnh: int
    dlid: int
    pktlen: int
    slid: int

    def pack(self) -> int:
        """Return the header as 64 bits.

        Raises
        ------
        InputError
            If a field is out of range.
        """
        for name, value in self._asdict().items():
            check_whole(name, value, 0, _MOST[name])
        return int(pack_lrh(**self._asdict()))

    @classmethod
    def unpack(cls, bits: int) -> LocalRouteHeader:
        """Return the fields of 64 bits. The five reserved bits before PktLen are ignored."""
        check_whole("header", bits, 0, (1 << 64) - 1)
        first = bits >> 48
        return cls(
            first >> 12,
            first >> 8 & 15,
            first >> 4 & 15,
            first >> 2 & 3,
            first & 3,
            bits >> 32 & 0xFFFF,
            bits >> 16 & 0x7FF,
            bits & 0xFFFF,
        )

    @classmethod
    def of_channel(cls, *, sc: int, sl: int, dlid: int, pktlen: int, slid: int) -> LocalRouteHeader:
        """Return a header for Omni-Path, with five bits each of channel and service level.

        Examples
        --------
        >>> LocalRouteHeader.of_channel(sc=19, sl=21, dlid=1, pktlen=15, slid=2)[:4]
        (3, 0, 5, 3)
        """
        check_whole("sc", sc, 0, 31)
        check_whole("sl", sl, 0, 31)
        vl, reserved = channel_bits(sc, sl)
        return cls(vl, 0, sl & 15, reserved, LNH_BTH, dlid, pktlen, slid)
