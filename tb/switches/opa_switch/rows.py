"""Omni-Path part of a switch's rows: headers with a channel, the maps, the central buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.engine.rule import Rule
from vlane.golden.switches.packets import NOBODY, Packet
from vlane.switches.mports import MPORT
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sc import SC15, SC_COUNT, SCTable
from vlane.tb.machinery.native.packing import put
from vlane.tb.switches.flits import on_channel
from vlane.tb.switches.surroundings_switch import RULES as SHARED_RULES
from vlane.tb.switches.surroundings_switch import W_FIVE, W_FOUR, W_ONE, W_THREE, W_TWO, SwitchSurroundings

_NUMBERS = 32
_PASSES = 0x0FF7_0000_F800_FFFF
"""Header bits that pass through unchanged: link version, service level, next header, reserved bits, SLID."""

OWN_RULES = (
    Rule("to_centre", "OPAS-4", "a packet was granted a central link"),
    Rule("from_centre", "OPAS-2", "a packet was granted from a central buffer"),
    Rule("large_to_centre", "OPAS-6", "a packet of several flits was granted a central link"),
)
"""Rules of the central buffers."""

RULES = (*SHARED_RULES, *OWN_RULES)
(TO_CENTRE, FROM_CENTRE, LARGE) = range(len(SHARED_RULES), len(RULES))
_SC2SC, _SC2VL_T = int(SCTable.SC2SC), int(SCTable.SC2VL_T)


@inner
def lane_numbers(switches: Any) -> int:
    """Return how many lanes a link can name."""
    return _NUMBERS


@inner
def describe(switches: Any, lane: int, bits: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet with a random channel, which is the stamp. Its SL passes through unchanged."""
    channel = draw_below(bits, SC_COUNT)
    return _PASSES, 0, channel, channel


@inner
def stamp_of(switches: Any, field: Packet, lane: int) -> int:
    """Return the stamp: the channel."""
    return int(field.channel)


@inner
def stamped(switches: Any, header: int, stamp: int) -> Any:
    """Return a header with its channel."""
    return on_channel(header, stamp)


@inner
def count_kinds(switches: Any, surroundings: SwitchSurroundings, count: int, rules: NDArray[np.int64]) -> None:
    """Count the grants into and out of the central buffers."""
    for index in range(count):
        port, field = surroundings.grants[index].port, surroundings.packets.pool[surroundings.grants[index].packet]
        if port == NOBODY:
            rules[FROM_CENTRE] += 1
        elif field.output >= 0 and field.output // MPORT != port // MPORT:
            rules[TO_CENTRE] += 1
            rules[LARGE] += field.blocks > 1


@inner
def draw_map(switches: Any, surroundings: SwitchSurroundings, slot: int, bits: NDArray[np.uint64]) -> None:
    """Draw an entry of one of the maps, occasionally of an absent map or for an absent port."""
    ports, write = len(surroundings.tx), surroundings.written[slot]
    beyond = 64 if draw_below(bits, 16) == 0 else ports
    write[W_ONE] = draw_below(bits, 8) if draw_below(bits, 8) == 0 else _SC2SC + draw_below(bits, 2)
    write[W_TWO], write[W_THREE] = draw_below(bits, beyond), draw_below(bits, beyond)
    write[W_FOUR], write[W_FIVE] = draw_below(bits, SC_COUNT), draw_below(bits, SC_COUNT)
    if draw_below(bits, 16) != 0 and write[W_ONE] == _SC2VL_T:
        write[W_FIVE] = draw_below(bits, surroundings.up.taken.shape[1])


@inner
def apply_map(switches: Any, surroundings: SwitchSurroundings, slot: int) -> None:
    """Apply a write to golden's maps, which number lanes without VL15."""
    write, ports = surroundings.written[slot], len(surroundings.tx)
    if write[W_THREE] >= ports:
        return
    if write[W_ONE] == _SC2SC and write[W_TWO] < ports:
        switches.sc2sc[0, write[W_TWO], write[W_THREE], write[W_FOUR]] = write[W_FIVE]
    elif write[W_ONE] == _SC2VL_T:
        vl = write[W_FIVE]
        switches.sc2vl[0, write[W_THREE], write[W_FOUR]] = UNASSIGNED if vl == SC15 else vl - (vl > SC15)


@inner
def show_map(
    switches: Any,
    surroundings: SwitchSurroundings,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    ins: NDArray[np.int64],
    first: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Write an entry to the program port."""
    write = surroundings.written[slot]
    put(rows, row, ins, first, is_enabled)
    for place in range(W_ONE, W_FIVE + 1):
        put(rows, row, ins, first + place, write[place])
