"""Checks of a captured fabric: faults, and settings whose effect may differ from the intention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vlane.fabric.configured import compare_configured
from vlane.fabric.congestion_options import congestion_findings
from vlane.fabric.coverage import Coverage, extent_of
from vlane.fabric.finding import ERRORS, Finding
from vlane.fabric.loops import credit_loops
from vlane.fabric.lost import Unreachable
from vlane.fabric.missing import Missing, missing_findings
from vlane.fabric.model import Fabric, Port
from vlane.fabric.option_findings import starvation_findings
from vlane.fabric.remark_findings import remark_findings
from vlane.fabric.trace import Hop, Trace, trace_pairs
from vlane.fabric.waits import LANES
from vlane.fabric.weights import weight_findings
from vlane.schedulers.vlarb import VLArbTable

__all__ = ["FabricReport", "Unserved", "check_fabric"]


class Unserved(NamedTuple):
    """A lane with traffic but without an arbitration entry.

    Parameters
    ----------
    port : Port
        Output port.
    vl : int
        Lane.
    pairs : int
        Number of pairs with packets blocked in the lane.
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
        Lanes with traffic but without an arbitration entry.
    warnings : tuple of Finding
        All findings, including errors.
    coverage : dict of str to Coverage
        Elements checked without an assumption, by code of the finding.
    missing : tuple of Missing
        Parts missing from the capture, with the affected codes.
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
        """Codes of findings without full coverage: some elements were not checked, or rest on an assumption."""
        affected = {code for each in self.missing for code in each.codes}
        return tuple(code for code, coverage in self.coverage.items() if code in affected or not coverage.is_full)

    @property
    def ok(self) -> bool:
        """Whether no error was found: no credit loop, no unreachable pair and no unserved lane."""
        return not any(finding.code in ERRORS for finding in self.warnings)

    @property
    def spotless(self) -> bool:
        """Whether no error and no warning was found, with full coverage of every class of findings."""
        return not self.not_checked and all(finding.severity == "note" for finding in self.warnings)


def check_fabric(fabric: Fabric, trace: Trace | None = None) -> FabricReport:
    """Check a fabric along the paths of all pairs. Without ``trace``, the paths are traced first."""
    trace = trace or trace_pairs(fabric)
    loops = credit_loops(trace)
    unserved = _unserved(fabric, trace)
    coverage, missing = extent_of(fabric, trace)
    assumptions = [*fabric.notes, *(f"{each.what}: {each.instead}" for each in missing)]
    limits = {limit for limit, _ in fabric.configured_limits.values()}
    if fabric.port_infos and not fabric.held_limits and limits != {0}:
        assumptions.append(
            "VLHighLimit is 0 in every PortInfo, as on simulators: the limits of opensm.conf are used instead"
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
        coverage,
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
            f"VL {vl} carries {'up to ' if len(same) > 1 else ''}{max(each.pairs for each in same)} pairs, "
            "but no weighted entry serves the lane",
            tuple(each.port for each in same),
        )
        for vl, same in by_lane.items()
    ]


def _starvation(fabric: Fabric) -> list[Finding]:
    """Find lanes without a high entry at ports with limit 255, where the high list can starve the low list."""
    findings = []
    groups: dict[tuple[VLArbTable, int], list[Port]] = {}
    for table, ports in fabric.distinct_tables().items():
        for port in ports:
            groups.setdefault((table, fabric.data_vls_of(port)), []).append(port)
    for (table, vls), ports in groups.items():
        findings += [
            each._replace(where=fabric.show_all(ports), ports=tuple(ports))
            for each in starvation_findings("", table, vls)
        ]
    return findings
