"""Checks of a captured fabric: faults, and settings whose effect may differ from the intention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vlane.fabric.configured import compare_configured
from vlane.fabric.congestion_options import congestion_findings
from vlane.fabric.coverage import Coverage, coverage_of, missing_parts
from vlane.fabric.finding import ERRORS, Finding
from vlane.fabric.loops import credit_loops
from vlane.fabric.lost import Unreachable
from vlane.fabric.missing import Missing, missing_findings
from vlane.fabric.model import Fabric, Port
from vlane.fabric.remark_findings import remark_findings
from vlane.fabric.trace import Hop, Trace, trace_pairs
from vlane.fabric.waits import LANES
from vlane.fabric.weights import weight_findings
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VLArbTable

__all__ = ["FabricReport", "Unserved", "check_fabric"]


class Unserved(NamedTuple):
    """A lane of a port that packets use and no arbitration entry serves.

    Parameters
    ----------
    port : Port
        The output.
    vl : int
        The lane.
    pairs : int
        Number of pairs whose packets are blocked there.
    """

    port: Port
    vl: int
    pairs: int


@dataclass(frozen=True, slots=True)
class FabricReport:
    """Result of a check.

    Parameters
    ----------
    loops : tuple of tuple of Hop
        Credit loops: each link waits for the next link, the last for the first.
    unreachable : tuple of Unreachable
        Pairs of adapters whose packets do not arrive, at most 100,000.
    unreachable_pairs : int
        Number of pairs of adapters whose packets do not arrive.
    unserved : tuple of Unserved
        Lanes with traffic that no entry serves.
    warnings : tuple of Finding
        All findings, including those that make the check fail.
    coverage : dict of str to Coverage
        By code of a finding, the number of elements that were checked without an assumption.
    missing : tuple of Missing
        Parts that were not captured, with the codes that they affect.
    assumptions : tuple of str
        Assumptions made where no file gave the value.
    path_sls : dict of int to int
        Pairs by SL.
    """

    loops: tuple[tuple[Hop, ...], ...]
    unreachable: tuple[Unreachable, ...]
    unreachable_pairs: int
    unserved: tuple[Unserved, ...]
    warnings: tuple[Finding, ...]
    coverage: dict[str, Coverage]
    missing: tuple[Missing, ...]
    assumptions: tuple[str, ...]
    path_sls: dict[int, int]

    @property
    def not_checked(self) -> tuple[str, ...]:
        """Codes of findings that were not checked for every element, or that rest on an assumption for some."""
        affected = {code for each in self.missing for code in each.codes}
        return tuple(code for code, coverage in self.coverage.items() if code in affected or not coverage.is_full)

    @property
    def ok(self) -> bool:
        """Whether there is no loop, every pair arrives and every used lane is served, as far as was checked."""
        return not any(finding.code in ERRORS for finding in self.warnings)

    @property
    def spotless(self) -> bool:
        """Whether there is also no warning, and every class of findings was checked in full."""
        return not self.not_checked and all(finding.severity == "note" for finding in self.warnings)


def check_fabric(fabric: Fabric, trace: Trace | None = None) -> FabricReport:
    """Check a fabric along the paths of its pairs, which are followed unless they are given."""
    trace = trace or trace_pairs(fabric)
    loops = credit_loops(trace)
    unserved = _unserved(fabric, trace)
    missing = missing_parts(fabric, trace)
    assumptions = [*fabric.notes, *(f"{each.what}: {each.instead}" for each in missing)]
    limits = {limit for limit, _ in fabric.configured_limits.values()}
    if fabric.port_infos and not fabric.held_limits and limits != {0}:
        assumptions.append(
            "every port with PortInfo reads VLHighLimit 0, as ports of simulators do: limits are those of opensm.conf"
        )
    warnings = [
        *(_loop_finding(fabric, trace, loop) for loop in loops),
        *_unreachable_findings(trace),
        *_unserved_findings(fabric, unserved),
        *_starvation(fabric),
        *weight_findings(fabric),
        *compare_configured(fabric),
        *congestion_findings(fabric),
        *remark_findings(fabric.remarks),
        *missing_findings(missing),
    ]
    return FabricReport(
        loops,
        tuple(trace.lost.named()),
        trace.lost.count,
        unserved,
        tuple(warnings),
        coverage_of(fabric, trace),
        tuple(missing),
        tuple(assumptions),
        trace.sls,
    )


def _loop_finding(fabric: Fabric, trace: Trace, loop: tuple[Hop, ...]) -> Finding:
    steps = [f"{fabric.show(hop.port)} VL {hop.vl}" for hop in (*loop, loop[0])]
    numbers = [trace.wiring.number(hop.port) * LANES + hop.vl for hop in loop]
    assumed = " (the SL or lane of some packets is assumed)" if trace.unsure_traffic[numbers].any() else ""
    return Finding(
        "CREDIT_LOOP",
        fabric.show(loop[0].port),
        f"{len(loop)} links wait for each other: {' -> '.join(steps)}{assumed}",
        tuple(hop.port for hop in loop),
    )


def _unreachable_findings(trace: Trace) -> list[Finding]:
    return [
        Finding("UNREACHABLE", f"LID {slid} to {dlid}", f"{pairs} pairs do not arrive: {reason}", (port,), (slid, dlid))
        for reason, port, pairs, (slid, dlid) in trace.lost.by_reason()
    ]


def _unserved(fabric: Fabric, trace: Trace) -> tuple[Unserved, ...]:
    found = []
    served: dict[tuple[int, int], frozenset[int]] = {}
    for number in np.flatnonzero(trace.traffic).tolist():
        port, vl = trace.hop(number)
        vls = fabric.data_vls_of(port)
        unserved = vl >= vls
        if vls > 1 and port in fabric.vlarb and not unserved:
            table = fabric.table_of(port)
            if (id(table), vls) not in served:
                served[id(table), vls] = table.served_vls(vls)
            unserved = vl not in served[id(table), vls]
        if unserved:
            found.append(Unserved(port, vl, int(trace.traffic[number])))
    return tuple(found)


def _unserved_findings(fabric: Fabric, unserved: tuple[Unserved, ...]) -> list[Finding]:
    by_lane: dict[int, list[Unserved]] = {}
    for each in unserved:
        by_lane.setdefault(each.vl, []).append(each)
    return [
        Finding(
            "VL_UNSERVED",
            fabric.show_all([each.port for each in same]),
            f"VL {vl} carries {max(each.pairs for each in same)} pairs"
            f"{' and fewer' if len(same) > 1 else ''} but no entry with a weight serves it",
            tuple(each.port for each in same),
        )
        for vl, same in by_lane.items()
    ]


def _starvation(fabric: Fabric) -> list[Finding]:
    """Find lanes that only the low list serves where limit 255 lets the high list starve them."""
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
                    fabric.show_all(ports),
                    f"LimitOfHighPriority 255 is unbounded: {behind} may starve behind VL "
                    f"{', '.join(map(str, sorted(high)))} of the high list",
                    tuple(ports),
                )
            )
    return findings
