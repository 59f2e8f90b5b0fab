"""Golden model of the LFT look-up: LFT-1 to LFT-6 (``docs/lft.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import kernel
from vlane.golden.engine.rule import Rule
from vlane.tables.lft import FIRST_MULTICAST, PERMISSIVE, UNASSIGNED, LFTCause

RULES = (
    Rule("routed", "LFT-1", "a unicast LID led to a port"),
    Rule("to_itself", "LFT-2", "the permissive LID led to port 0"),
    Rule("reserved", "LFT-3", "LID 0: dropped"),
    Rule("multicast", "LFT-3", "a multicast LID: dropped, there is no multicast table"),
    Rule("above_top", "LFT-4", "a LID above the top of the table: dropped"),
    Rule("unassigned", "LFT-5", "an entry of 255: dropped"),
    Rule("no_such_port", "LFT-6", "an entry names an absent port: dropped"),
    Rule("last_entry", "LFT-4", "the LID at the top itself was looked up"),
)
ROUTED, TO_ITSELF, RESERVED, MULTICAST, ABOVE_TOP, UNASSIGNED_RULE, NO_PORT, LAST_ENTRY = range(len(RULES))
_ROUTED, _RESERVED, _MULTICAST, _ABOVE_TOP, _UNASSIGNED, _NO_PORT = (int(cause) for cause in LFTCause)


class LFTState(NamedTuple):
    """Linear forwarding table.

    Parameters
    ----------
    ports : int
        Number of switch ports, without port 0.
    port : array of int64, (entries,)
        Output of each LID.
    top : array of int64, (1,)
        LinearFDBTop: largest LID that is looked up.
    """

    ports: int
    port: NDArray[np.int64]
    top: NDArray[np.int64]


def new_state(*, lookups: int, ports: int, entries: int) -> LFTState:
    """Return the state after power-on: every entry is unassigned, the top is 0."""
    del lookups
    return LFTState(ports, np.full(entries, UNASSIGNED, np.int64), np.zeros(1, np.int64))


@kernel
def reset(state: LFTState) -> None:
    """Reset: the top becomes 0, so only the permissive LID is routed. Entries are kept."""
    state.top[0] = 0


@kernel
def look_up(state: LFTState, dlid: int, rule_counts: NDArray[np.int64]) -> tuple[int, int]:
    """Return (port, drop cause) of a destination. The port is 255 if the packet is dropped."""
    if dlid == PERMISSIVE:
        rule_counts[TO_ITSELF] += 1
        return 0, _ROUTED
    if dlid == 0:
        rule_counts[RESERVED] += 1
        return UNASSIGNED, _RESERVED
    if dlid >= FIRST_MULTICAST:
        rule_counts[MULTICAST] += 1
        return UNASSIGNED, _MULTICAST
    if dlid > state.top[0] or dlid >= len(state.port):
        rule_counts[ABOVE_TOP] += 1
        return UNASSIGNED, _ABOVE_TOP
    rule_counts[LAST_ENTRY] += dlid == state.top[0]
    port = state.port[dlid]
    if port == UNASSIGNED:
        rule_counts[UNASSIGNED_RULE] += 1
        return UNASSIGNED, _UNASSIGNED
    if port > state.ports:
        rule_counts[NO_PORT] += 1
        return UNASSIGNED, _NO_PORT
    rule_counts[ROUTED] += 1
    return port, _ROUTED


@kernel
def write(state: LFTState, is_top: bool, lid: int, port: int) -> None:  # noqa: FBT001 - a signal of the hardware
    """Write the top, or the port of a LID. Ignore a LID out of range."""
    if is_top:
        state.top[0] = lid
    elif lid < len(state.port):
        state.port[lid] = port
