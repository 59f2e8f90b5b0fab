"""Where packets go: every pair of adapters along the forwarding tables, with the lane of every link."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from vlane.fabric.model import DROP_VL, Fabric, Kind, Port

__all__ = ["Hop", "Trace", "Unreachable", "trace_pairs"]


class Hop(NamedTuple):
    """A link a packet leaves by, and its lane there.

    Parameters
    ----------
    port : Port
        Output.
    vl : int
        Lane.
    """

    port: Port
    vl: int


class Unreachable(NamedTuple):
    """A pair whose packets do not arrive.

    Parameters
    ----------
    slid, dlid : int
        The pair.
    reason : str
        Where and why they stop.
    """

    slid: int
    dlid: int
    reason: str


@dataclass(slots=True)
class Trace:
    """All pairs of adapters, traced.

    Parameters
    ----------
    traffic : dict of Hop to int
        Pairs that use a lane of a link.
    waits : dict of Hop to set of Hop
        Lanes of links that a packet holding the first may wait for.
    unreachable : list of Unreachable
        Pairs that do not arrive.
    sls : dict of int to int
        Pairs by SL.
    assumed : int
        Pairs without a path record, taken as SL 0.
    bare : set of (int, int, int)
        Rows of SL2VL, by (GUID, input, output), that are missing: VL = SL modulo the data lanes is taken.
    """

    traffic: dict[Hop, int] = field(default_factory=dict)
    waits: dict[Hop, set[Hop]] = field(default_factory=dict)
    unreachable: list[Unreachable] = field(default_factory=list)
    sls: dict[int, int] = field(default_factory=dict)
    assumed: int = 0
    bare: set[tuple[int, int, int]] = field(default_factory=set)


def trace_pairs(fabric: Fabric) -> Trace:
    """Follow every ordered pair of adapter LIDs; a pair with no path record takes SL 0.

    Without any forwarding table nothing is followed, unless no switch needs one.
    """
    trace = Trace()
    if not fabric.lfts and fabric.of_kind(Kind.SWITCH):
        return trace
    owners = fabric.port_of_lid()
    adapters = {lid: port for lid, port in owners.items() if fabric.nodes[port.guid].kind is not Kind.SWITCH}
    for slid, source in sorted(adapters.items()):
        if slid != fabric.nodes[source.guid].lids[source.number]:
            continue  # LMC gives a port several destinations but one source
        for dlid, target in sorted(adapters.items()):
            if target == source:
                continue
            sl = fabric.path_sls.get((slid, dlid))
            trace.assumed += sl is None
            sl = sl or 0
            trace.sls[sl] = trace.sls.get(sl, 0) + 1
            reason = _follow(fabric, trace, source, target, dlid, sl)
            if reason:
                trace.unreachable.append(Unreachable(slid, dlid, reason))
    return trace


def _vl(fabric: Fabric, trace: Trace, guid: int, source: int, to: int, sl: int) -> int:
    row = fabric.sl2vl.get((guid, source, to))
    if row:
        return row[sl]
    trace.bare.add((guid, source, to))
    return sl % fabric.data_vls_of(Port(guid, to))


def _follow(fabric: Fabric, trace: Trace, source: Port, target: Port, dlid: int, sl: int) -> str:
    """Trace one pair; return why it does not arrive, or an empty text."""
    hops: list[Hop] = []
    output, arrived_on = source, 0
    reason = ""
    while not reason:
        vl = _vl(fabric, trace, output.guid, arrived_on, output.number, sl)
        if vl == DROP_VL:
            reason = f"{fabric.show(output)} drops SL {sl}: its VL is 15"
            break
        hops.append(Hop(output, vl))
        there = fabric.nodes[output.guid].links.get(output.number)
        if there is None:
            reason = f"{fabric.show(output)} has no cable"
        elif there == target:
            break
        elif fabric.nodes[there.guid].kind is not Kind.SWITCH:
            reason = f"delivered to {fabric.show(there)}"
        elif len(hops) > len(fabric.nodes):
            reason = f"goes round for ever through {fabric.show(there)}"
        else:
            port = fabric.lfts.get(there.guid, {}).get(dlid)
            if port is None:
                reason = f"{fabric.nodes[there.guid].name} has no entry for LID {dlid}"
            else:
                output, arrived_on = Port(there.guid, port), there.number
    for hop in hops:
        trace.traffic[hop] = trace.traffic.get(hop, 0) + 1
    for held, wanted in pairwise(hops):
        trace.waits.setdefault(held, set()).add(wanted)
    return reason
