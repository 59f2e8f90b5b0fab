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
from vlane.tb.switches.flits import header_with_channel
from vlane.tb.switches.switch_environment import RULES as SHARED_RULES
from vlane.tb.switches.switch_environment import W_FIVE, W_FOUR, W_ONE, W_THREE, W_TWO, SwitchEnvironment

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
    """Return the number of VLs that a flit can carry."""
    return _NUMBERS


@inner
def draw_packet(switches: Any, lane: int, rng: NDArray[np.uint64]) -> tuple[int, int, int, int]:
    """Draw a packet with a random channel and SL. The switch must not change the SL."""
    channel = draw_below(rng, SC_COUNT)
    return _PASSES, 0, channel, channel


@inner
def outgoing_channel(switches: Any, field: Packet, lane: int) -> int:
    """Return the channel that the switch writes into the header."""
    return int(field.channel)


@inner
def with_channel(switches: Any, header: int, stamp: int) -> Any:
    """Return the header with its channel set to ``stamp``."""
    return header_with_channel(header, stamp)


@inner
def count_central_grants(
    switches: Any, environment: SwitchEnvironment, count: int, rule_counts: NDArray[np.int64]
) -> None:
    """Count the grants of packets into and out of the central buffers."""
    for index in range(count):
        port, field = environment.grants[index].port, environment.packets.pool[environment.grants[index].packet]
        if port == NOBODY:
            rule_counts[FROM_CENTRE] += 1
        elif field.output >= 0 and field.output // MPORT != port // MPORT:
            rule_counts[TO_CENTRE] += 1
            rule_counts[LARGE] += field.blocks > 1


@inner
def draw_map(switches: Any, environment: SwitchEnvironment, slot: int, rng: NDArray[np.uint64]) -> None:
    """Draw a write of an entry of a channel map, occasionally of an absent map or for an absent port."""
    ports, write = len(environment.tx), environment.written[slot]
    beyond = 64 if draw_below(rng, 16) == 0 else ports
    write[W_ONE] = draw_below(rng, 8) if draw_below(rng, 8) == 0 else _SC2SC + draw_below(rng, 2)
    write[W_TWO], write[W_THREE] = draw_below(rng, beyond), draw_below(rng, beyond)
    write[W_FOUR], write[W_FIVE] = draw_below(rng, SC_COUNT), draw_below(rng, SC_COUNT)
    if draw_below(rng, 16) != 0 and write[W_ONE] == _SC2VL_T:
        write[W_FIVE] = draw_below(rng, environment.up.lane.shape[1])


@inner
def apply_map(switches: Any, environment: SwitchEnvironment, slot: int) -> None:
    """Apply a stored write to golden's channel maps, which number lanes without VL15."""
    write, ports = environment.written[slot], len(environment.tx)
    if write[W_THREE] >= ports:
        return
    if write[W_ONE] == _SC2SC and write[W_TWO] < ports:
        switches.sc2sc[0, write[W_TWO], write[W_THREE], write[W_FOUR]] = write[W_FIVE]
    elif write[W_ONE] == _SC2VL_T:
        vl = write[W_FIVE]
        switches.sc2vl[0, write[W_THREE], write[W_FOUR]] = UNASSIGNED if vl == SC15 else vl - (vl > SC15)


@inner
def write_map_inputs(
    switches: Any,
    environment: SwitchEnvironment,
    slot: int,
    rows: NDArray[np.uint64],
    row: int,
    input_fields: NDArray[np.int64],
    first_port: int,
    is_enabled: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Drive the program port of the channel maps with the stored write."""
    write = environment.written[slot]
    put(rows, row, input_fields, first_port, is_enabled)
    for place in range(W_ONE, W_FIVE + 1):
        put(rows, row, input_fields, first_port + place, write[place])
