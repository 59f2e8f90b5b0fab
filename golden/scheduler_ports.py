"""One port of a scheduler's state that has all ports as the first axis of its arrays."""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden import drr, dtable, dtable_line_rate, rr, scfq, vlarb, vlarb_line_rate
from vlane.golden.deficit import Turns
from vlane.golden.kernel import inner
from vlane.golden.lanes import Lanes
from vlane.golden.list_walk import ListWalk

__all__ = [
    "LineRateVLArbPorts",
    "VLArbPorts",
    "drr_at",
    "dtable_at",
    "dtable_line_rate_at",
    "rr_at",
    "scfq_at",
    "vlarb_at",
    "vlarb_line_rate_at",
]


class VLArbPorts(NamedTuple):
    """VL arbiters, which do not keep how many lanes they have.

    Parameters
    ----------
    state : VLArbState
        Of one or all ports.
    data_vls : int
        Lanes.
    """

    state: vlarb.VLArbState
    data_vls: int


class LineRateVLArbPorts(NamedTuple):
    """VL arbiters of the line-rate form, which do not keep how many lanes they have.

    Parameters
    ----------
    state : LineRateState
        Of one or all ports.
    data_vls : int
        Lanes.
    """

    state: vlarb_line_rate.LineRateState
    data_vls: int


@inner
def _lanes_at(lanes: Lanes, port: int) -> Lanes:
    """Return the map of one port."""
    return Lanes(
        lanes.data_vls, lanes.has_vl15, lanes.requesters, lanes.mapped,
        lanes.owner[port], lanes.last[port], lanes.lane[port],
    )  # fmt: skip


@inner
def _turns_at(turns: Turns, port: int) -> Turns:
    """Return the turns of one port."""
    return Turns(turns.regs[port], turns.deficit[port], turns.keep, turns.most_kept, turns.most_accumulated)


@inner
def vlarb_at(state: vlarb.VLArbState, port: int) -> vlarb.VLArbState:
    """Return the VL arbiter of one port."""
    return vlarb.VLArbState(state.vl[port], state.weight[port], state.limit[port], state.regs[port])


@inner
def dtable_at(bank: dtable.DTableState, port: int) -> dtable.DTableState:
    """Return the Deficit Table of one port."""
    return dtable.DTableState(
        _lanes_at(bank.lanes, port), _turns_at(bank.turns, port), bank.owner[port], bank.weight[port], bank.regs[port]
    )


@inner
def drr_at(bank: drr.DRRState, port: int) -> drr.DRRState:
    """Return the deficit round robin of one port."""
    return drr.DRRState(_lanes_at(bank.lanes, port), _turns_at(bank.turns, port), bank.owner[port], bank.quantum[port])


@inner
def scfq_at(bank: scfq.SCFQState, port: int) -> scfq.SCFQState:
    """Return the fair queueing of one port."""
    return scfq.SCFQState(
        _lanes_at(bank.lanes, port), bank.shared, bank.tag_bits, bank.reciprocal[port], bank.tag[port], bank.regs[port]
    )


@inner
def rr_at(bank: rr.RRState, port: int) -> rr.RRState:
    """Return the round robin of one port."""
    return rr.RRState(_lanes_at(bank.lanes, port), bank.regs[port])


@inner
def _walk_at(state: ListWalk, port: int) -> ListWalk:
    """Return the list of one port."""
    return ListWalk(
        state.entries, state.lane[port], state.weight[port], state.named[port], state.held[port], state.regs[port]
    )


@inner
def vlarb_line_rate_at(state: vlarb_line_rate.LineRateState, port: int) -> vlarb_line_rate.LineRateState:
    """Return the VL arbiter of one port, line-rate form."""
    high, low = state.walks
    return vlarb_line_rate.LineRateState(
        (_walk_at(high, port), _walk_at(low, port)), state.limit[port], state.current[port], state.regs[port]
    )


@inner
def dtable_line_rate_at(bank: dtable_line_rate.LineRateState, port: int) -> dtable_line_rate.LineRateState:
    """Return the Deficit Table of one port, line-rate form."""
    return dtable_line_rate.LineRateState(
        bank.data_vls, bank.has_vl15, bank.mtu_blocks, _walk_at(bank.table, port), bank.account[port],
        bank.head_before[port], bank.regs[port],
    )  # fmt: skip
