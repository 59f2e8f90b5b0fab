"""What is wrong with a captured fabric, and what is not as its administrator may think."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx

from vlane.fabric.configured import compare_configured
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Port
from vlane.fabric.trace import Hop, Trace, Unreachable, trace_pairs
from vlane.vlarb import LIMIT_UNBOUNDED, VLArbTable

__all__ = ["FabricReport", "Unserved", "check_fabric"]


class Unserved(NamedTuple):
    """A lane of a port that packets take and no arbitration entry serves.

    Parameters
    ----------
    port : Port
        The output.
    vl : int
        The lane.
    pairs : int
        Pairs whose packets get stuck there.
    """

    port: Port
    vl: int
    pairs: int


@dataclass(frozen=True, slots=True)
class FabricReport:
    """The verdict.

    Parameters
    ----------
    loops : tuple of tuple of Hop
        Credit loops: each link waits for the next one, the last for the first.
    unreachable : tuple of Unreachable
        Pairs of adapters whose packets do not arrive.
    unserved : tuple of Unserved
        Lanes with traffic that no entry serves.
    warnings : tuple of Finding
        Everything else that may surprise; they do not make the check fail.
    assumptions : tuple of str
        What was taken for granted because nothing said it.
    path_sls : dict of int to int
        Pairs by SL.
    """

    loops: tuple[tuple[Hop, ...], ...]
    unreachable: tuple[Unreachable, ...]
    unserved: tuple[Unserved, ...]
    warnings: tuple[Finding, ...]
    assumptions: tuple[str, ...]
    path_sls: dict[int, int]

    @property
    def ok(self) -> bool:
        """No loop, every pair arrives, every used lane is served."""
        return not (self.loops or self.unreachable or self.unserved)


def check_fabric(fabric: Fabric) -> FabricReport:
    """Check a fabric; nothing of it is changed."""
    trace = trace_pairs(fabric)
    loops = credit_loops(trace)
    unserved = _unserved(fabric, trace)
    assumptions = list(fabric.notes)
    if trace.assumed:
        assumptions.append(f"{trace.assumed} pairs have no path record: SL 0 is assumed")
    if trace.bare and fabric.sl2vl:
        assumptions.append(f"{len(trace.bare)} SL2VL rows in use are missing: VL = SL modulo the data lanes is assumed")
    warnings = [
        *(_loop_finding(fabric, loop) for loop in loops),
        *_unreachable_findings(trace),
        *(
            Finding(
                "VL_UNSERVED",
                fabric.show(u.port),
                f"VL {u.vl} carries {u.pairs} pairs but no entry with a weight serves it",
            )
            for u in unserved
        ),
        *_starvation(fabric),
        *compare_configured(fabric),
    ]
    return FabricReport(loops, tuple(trace.unreachable), unserved, tuple(warnings), tuple(assumptions), trace.sls)


def credit_loops(trace: Trace) -> tuple[tuple[Hop, ...], ...]:
    """Return one loop of each set of links that wait for each other."""
    graph: nx.DiGraph[Hop] = nx.DiGraph()
    graph.add_edges_from((held, wanted) for held, all_wanted in trace.waits.items() for wanted in all_wanted)
    loops = []
    for knot in nx.strongly_connected_components(graph):
        if len(knot) > 1 or any(graph.has_edge(hop, hop) for hop in knot):
            inside = graph.subgraph(sorted(knot))
            edges = nx.find_cycle(inside, min(knot))
            loops.append(tuple(edge[0] for edge in edges))
    return tuple(sorted(loops))


def _loop_finding(fabric: Fabric, loop: tuple[Hop, ...]) -> Finding:
    steps = [f"{fabric.show(hop.port)} VL {hop.vl}" for hop in (*loop, loop[0])]
    return Finding(
        "CREDIT_LOOP",
        fabric.show(loop[0].port),
        f"{len(loop)} links wait for each other: {' -> '.join(steps)}",
    )


def _unreachable_findings(trace: Trace) -> list[Finding]:
    by_reason: dict[str, list[Unreachable]] = {}
    for pair in trace.unreachable:
        by_reason.setdefault(pair.reason, []).append(pair)
    return [
        Finding(
            "UNREACHABLE",
            f"LID {pairs[0].slid} to {pairs[0].dlid}",
            f"{len(pairs)} pairs do not arrive: {reason}",
        )
        for reason, pairs in by_reason.items()
    ]


def _unserved(fabric: Fabric, trace: Trace) -> tuple[Unserved, ...]:
    found = []
    for hop, pairs in sorted(trace.traffic.items()):
        vls = fabric.data_vls_of(hop.port)
        arbitrated = vls > 1 and hop.port in fabric.vlarb
        if hop.vl >= vls or (arbitrated and hop.vl not in fabric.table_of(hop.port).served_vls(vls)):
            found.append(Unserved(hop.port, hop.vl, pairs))
    return tuple(found)


def _starvation(fabric: Fabric) -> list[Finding]:
    """Limit 255: lanes that only the low list serves may wait for ever behind the high list."""
    findings = []
    groups: dict[tuple[VLArbTable, int], list[Port]] = {}
    for table, ports in fabric.distinct_tables().items():
        for port in ports:
            groups.setdefault((table, fabric.data_vls_of(port)), []).append(port)
    for (table, vls), ports in groups.items():
        high = {e.vl for e in table.high if e.weight and e.vl < vls}
        low_only = {e.vl for e in table.low if e.weight and e.vl < vls} - high
        if table.limit_of_high_priority == LIMIT_UNBOUNDED and high:
            behind = f"VL {', '.join(map(str, sorted(low_only)))} of the low list" if low_only else "the low list"
            findings.append(
                Finding(
                    "STARVATION",
                    port_names(fabric, ports),
                    f"LimitOfHighPriority 255 is unbounded: {behind} may starve behind VL "
                    f"{', '.join(map(str, sorted(high)))} of the high list",
                )
            )
    return findings


def port_names(fabric: Fabric, ports: list[Port]) -> str:
    """Return the first port and how many more there are."""
    return fabric.show(ports[0]) + (f" and {len(ports) - 1} more" if len(ports) > 1 else "")
