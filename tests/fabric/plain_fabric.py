"""Plain model of packet paths: one pair after the other, with dictionaries instead of arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from vlane.fabric.model import Fabric, Kind, Port
from vlane.tables.lft import UNASSIGNED

Step = tuple[Port, int]


@dataclass
class PlainTrace:
    """Pairs per lane of a link, waiting links, lost pairs with reasons, pairs by SL, missing rows, unsure pairs."""

    traffic: dict[Step, int] = field(default_factory=dict)
    waits: dict[Step, set[Step]] = field(default_factory=dict)
    unreachable: list[tuple[int, int, str]] = field(default_factory=list)
    sls: dict[int, int] = field(default_factory=dict)
    assumed: int = 0
    bare: set[tuple[int, int, int]] = field(default_factory=set)
    unsure: set[tuple[int, int]] = field(default_factory=set)
    unsure_traffic: dict[Step, int] = field(default_factory=dict)
    unknown: int = 0


def plain_trace(fabric: Fabric) -> PlainTrace:
    """Follow every pair of adapters. Pairs in a forwarding loop do not count as traffic or waits."""
    trace = PlainTrace()
    owners = fabric.port_of_lid()
    adapters = {lid: port for lid, port in owners.items() if fabric.nodes[port.guid].kind is not Kind.SWITCH}
    for slid, source in sorted(adapters.items()):
        if slid != fabric.nodes[source.guid].lids[source.number]:
            continue
        for dlid, target in sorted(adapters.items()):
            if target != source:
                sl = fabric.path_sls.get((slid, dlid))
                trace.assumed += sl is None
                trace.sls[sl or 0] = trace.sls.get(sl or 0, 0) + 1
                reason, is_unsure = _follow(fabric, trace, source, target, dlid, sl)
                if is_unsure:
                    trace.unsure.add((slid, dlid))
                if reason == "unknown":
                    trace.unknown += 1
                elif reason:
                    trace.unreachable.append((slid, dlid, reason))
    return trace


def _follow(
    fabric: Fabric, trace: PlainTrace, source: Port, target: Port, dlid: int, path_sl: int | None
) -> tuple[str, bool]:
    steps: list[Step] = []
    unsure_steps: list[Step] = []
    sl, is_unsure = path_sl or 0, path_sl is None or not fabric.sl2vl
    output, arrived_on, reason = source, 0, ""
    while True:
        node = fabric.nodes[output.guid]
        if output.number > node.ports:
            reason = f"{node.name} port {output.number} has no cable"
            break
        row = fabric.sl2vl.get((output.guid, arrived_on, output.number))
        if row is None:
            trace.bare.add((output.guid, arrived_on, output.number))
            is_unsure = True
        vl = row[sl] if row else sl % fabric.data_vls_of(output)
        if vl == 15:
            reason = f"{node.name} port {output.number} drops SL {sl}: its VL is 15"
            break
        if len(steps) > len(fabric.nodes):
            return "goes round for ever", is_unsure
        steps.append((output, vl))
        if is_unsure:
            unsure_steps.append((output, vl))
        there = node.links.get(output.number)
        if there is None:
            reason = f"{node.name} port {output.number} has no cable"
            break
        if there == target:
            break
        far = fabric.nodes[there.guid]
        if far.kind is not Kind.SWITCH:
            reason = f"delivered to {far.name} port {there.number}"
            break
        if there.guid not in fabric.lfts:
            reason, is_unsure = "unknown", True
            break
        table = fabric.lfts[there.guid]
        port = table[dlid] if dlid < len(table) else UNASSIGNED
        if port == UNASSIGNED:
            reason = f"{far.name} has no entry for LID {dlid}"
            break
        output, arrived_on = Port(there.guid, port), there.number
    for step in steps:
        trace.traffic[step] = trace.traffic.get(step, 0) + 1
    for step in unsure_steps:
        trace.unsure_traffic[step] = trace.unsure_traffic.get(step, 0) + 1
    for held, wanted in pairwise(steps):
        trace.waits.setdefault(held, set()).add(wanted)
    return reason, is_unsure
