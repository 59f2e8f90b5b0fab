"""Construction of flits in kernels: headers without their stamp (the VL or channel, IBA 7.7), and all words."""

from __future__ import annotations

from typing import Any

import numpy as np

from vlane.golden.engine.kernel import inner
from vlane.packets.bth import CNP_OPCODE
from vlane.packets.lrh import LNH_BTH

WORDS_PER_BLOCK = 16
"""4-byte words (the unit of PktLen) in a block of 64 bytes."""

FECN_BIT = 31
"""FECN bit in the word after the header, which contains the base transport header; BECN is the bit below."""

PSN_AT = 32
"""Lowest bit of the packet sequence number in the next word."""

_LNH_AT, _OPCODE_AT = np.uint64(48), np.uint64(56)
_VL, _CHANNEL_TOP = np.uint64(60), np.uint64(51)
_NO_OPCODE, _OPCODE = np.uint64((1 << 56) - 1), np.uint64(CNP_OPCODE << 56)


@inner
def header_of(sl: int, dlid: int, pktlen: int) -> int:
    """Return a local route header with SL, DLID and packet length. Version, VL, SLID and next header are 0."""
    return (sl << 52) | (dlid << 32) | (pktlen << 16)


@inner
def header_with_vl(header: int, lane: int) -> Any:
    """Insert a VL into a header and return it as an unsigned 64-bit number."""
    return np.uint64(header) | (np.uint64(lane) << _VL)


@inner
def header_with_channel(header: int, channel: int) -> Any:
    """Insert a service channel (Omni-Path layout: low 4 bits as the VL) into a header, as an unsigned number."""
    return header_with_vl(header, channel & 15) | (np.uint64(channel >> 4) << _CHANNEL_TOP)


@inner
def _payload(packet_number: int, flit_index: int, word: int) -> int:
    """Return the payload of a flit's word. Packets, flits and words have different payloads."""
    mixed = (packet_number * 0x9E3779B1 + flit_index * 0x85EBCA6B + word * 0xC2B2AE35) & ((1 << 60) - 1)
    return mixed ^ ((mixed & ((1 << 35) - 1)) << 25)


@inner
def flit_word(packet_number: int, flit_index: int, word: int) -> Any:
    """Return a pseudo-random word of a body flit, with the packet number modulo 16 in the top 4 bits."""
    return np.uint64(_payload(packet_number, flit_index, word)) | np.uint64(packet_number & 15) << np.uint64(60)


@inner
def first_word(packet_number: int, word: int) -> Any:
    """Return a pseudo-random word of a packet's first flit. Every eighth packet gets the opcode of a CNP."""
    value = flit_word(packet_number, 0, word)
    return value & _NO_OPCODE | _OPCODE if packet_number & 7 == 5 else value


@inner
def is_markable(header: int, second: int) -> bool:
    """Return whether a packet may be marked with FECN: a BTH follows the LRH, and the opcode is not that of a CNP."""
    lnh = np.uint64(header) >> _LNH_AT & np.uint64(3)
    return lnh == np.uint64(LNH_BTH) and np.uint64(second) >> _OPCODE_AT != np.uint64(CNP_OPCODE)
