"""Golden model of Omni-Path's channel maps: SC-1 to SC-7 (``docs/sc.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.tables.sc import SC15, SC_COUNT, SCTable

RULES = (
    Rule("forwarded", "SC-1", "a channel was mapped to a channel and a lane"),
    Rule("sc15_on_vl15", "SC-2", "the management channel stayed SC15 on VL15, independent of the tables"),
    Rule("became_sc15", "SC-3", "a data channel was mapped to SC15: dropped"),
    Rule("became_vl15", "SC-3", "a data channel was mapped to VL15: dropped"),
    Rule("no_such_lane", "SC-4", "the lane is absent at the port: dropped"),
    Rule("no_such_egress", "SC-4", "the egress is absent: dropped"),
    Rule("injected", "SC-5", "a service level was mapped to its channel"),
    Rule("injection_dropped", "SC-5", "a service level was mapped to SC15: dropped"),
    Rule("arrived_on_lane", "SC-6", "an arriving channel was mapped to its lane"),
    Rule("arrival_invalid", "SC-6", "an arriving channel has no lane here"),
)
(
    FORWARDED,
    ON_VL15,
    BECAME_SC15,
    BECAME_VL15,
    NO_LANE,
    NO_EGRESS,
    INJECTED,
    INJECTION_DROPPED,
    ARRIVED,
    ARRIVAL_INVALID,
) = range(len(RULES))

_SL2SC, _SC2SL, _SC2SC, _SC2VL_T, _SC2VL_NT = (int(table) for table in SCTable)


class SCState(NamedTuple):
    """Channel maps of a device.

    Parameters
    ----------
    data_vls : int
        Number of data lanes, without VL15.
    levels : array of int64, (2, 32)
        SL2SC and SC2SL.
    channels : array of int64, (ports, ports, 32)
        SC2SC by ingress, egress and channel.
    lanes : array of int64, (2, ports, 32)
        SC2VL_t by egress, SC2VL_nt by ingress.
    """

    data_vls: int
    levels: NDArray[np.int64]
    channels: NDArray[np.int64]
    lanes: NDArray[np.int64]


def new_state(*, ports: int, data_vls: int) -> SCState:
    """Return the state after power-on: every map is the identity."""
    same = np.arange(SC_COUNT, dtype=np.int64)
    state = SCState(
        data_vls,
        np.zeros((2, SC_COUNT), np.int64),
        np.zeros((ports, ports, SC_COUNT), np.int64),
        np.zeros((2, ports, SC_COUNT), np.int64),
    )
    for table in (state.levels, state.channels, state.lanes):
        table[:] = same
    return state


@kernel
def write(state: SCState, table: int, ingress: int, egress: int, index: int, value: int) -> None:
    """Write one entry of a map. Ignore absent ports and maps."""
    ports = state.channels.shape[0]
    if table in (_SL2SC, _SC2SL):
        state.levels[table, index] = value
    elif table == _SC2SC and ingress < ports and egress < ports:
        state.channels[ingress, egress, index] = value
    elif table == _SC2VL_T and egress < ports:
        state.lanes[0, egress, index] = value
    elif table == _SC2VL_NT and ingress < ports:
        state.lanes[1, ingress, index] = value


@inner
def has_lane(state: SCState, vl: int) -> bool:
    """Return whether a VL is a data lane of the port. Data lanes from the 15th on have a VL one higher."""
    return vl != SC15 and vl - (1 if vl > SC15 else 0) < state.data_vls


@kernel
def forward(
    state: SCState, ingress: int, egress: int, sc: int, rule_counts: NDArray[np.int64]
) -> tuple[int, int, bool]:
    """Return (channel, lane, dropped) of a forwarded packet. Channel and lane are 0 if it is dropped."""
    if egress >= state.channels.shape[0]:
        rule_counts[NO_EGRESS] += 1
        return 0, 0, True
    if sc == SC15:
        rule_counts[ON_VL15] += 1
        return SC15, SC15, False
    channel = state.channels[ingress, egress, sc]
    if channel == SC15:
        rule_counts[BECAME_SC15] += 1
        return 0, 0, True
    vl = state.lanes[0, egress, channel]
    if not has_lane(state, vl):
        rule_counts[BECAME_VL15] += vl == SC15
        rule_counts[NO_LANE] += vl != SC15
        return 0, 0, True
    rule_counts[FORWARDED] += 1
    return channel, vl, False


@kernel
def lane_in(state: SCState, ingress: int, sc: int, rule_counts: NDArray[np.int64]) -> tuple[int, bool]:
    """Return (lane, invalid) of an arriving channel. The lane is 0 if the channel is invalid."""
    if sc == SC15:
        return SC15, False
    vl = state.lanes[1, ingress, sc]
    if not has_lane(state, vl):
        rule_counts[ARRIVAL_INVALID] += 1
        return 0, True
    rule_counts[ARRIVED] += 1
    return vl, False


@inner
def inject(state: SCState, sl: int, rule_counts: NDArray[np.int64]) -> tuple[int, bool]:
    """Return (channel, dropped) of a service level at the source. The channel is 0 if the packet is dropped."""
    channel = state.levels[0, sl]
    rule_counts[INJECTED] += channel != SC15
    rule_counts[INJECTION_DROPPED] += channel == SC15
    return (0, True) if channel == SC15 else (channel, False)


@kernel
def receive(state: SCState, sc: int) -> int:
    """Return the service level of a channel at its destination."""
    return state.levels[1, sc]
