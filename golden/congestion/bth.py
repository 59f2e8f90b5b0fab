"""Base transport header in a packet's first flit: whether it may be marked, and the mark (CCM-8 to CCM-11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.packets.bth import BTH_AT, BTH_BEHIND_GRH_AT, CNP_OPCODE, FECN_BYTE, FECN_IN_BYTE, LNH_GRH
from vlane.packets.lrh import LNH_BTH

NO_HEADER, OUT_OF_REACH = -1, -2
"""Header positions: the packet has no header; the flit ends before its FECN."""

_LNH_BYTE = 1


@inner
def header_at(flit: NDArray[np.int64]) -> int:
    """Return the byte position of the base transport header in a flit, ``NO_HEADER`` or ``OUT_OF_REACH``.

    Parameters
    ----------
    flit : array of int64, (bytes,)
        Bytes of a packet's first flit, in transmission order.
    """
    lnh = flit[_LNH_BYTE] & 3
    if lnh == LNH_BTH:
        return BTH_AT
    if lnh != LNH_GRH:
        return NO_HEADER
    return BTH_BEHIND_GRH_AT if len(flit) > BTH_BEHIND_GRH_AT + FECN_BYTE else OUT_OF_REACH


@inner
def is_cnp(flit: NDArray[np.int64], position: int) -> bool:
    """Return whether the base transport header at ``position`` is that of a congestion notification packet."""
    return flit[position] == CNP_OPCODE


@inner
def has_fecn(flit: NDArray[np.int64], position: int) -> bool:
    """Return whether FECN is set in the base transport header at ``position``."""
    return flit[position + FECN_BYTE] & FECN_IN_BYTE != 0


@inner
def set_fecn(flit: NDArray[np.int64], position: int) -> None:
    """Set FECN in the base transport header at ``position``."""
    flit[position + FECN_BYTE] |= FECN_IN_BYTE
