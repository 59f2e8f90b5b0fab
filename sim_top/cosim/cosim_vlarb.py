"""Results of the VL arbiter for the tables of a plan: shares, waits and service order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.schedulers.registry import IB_ARBITER
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.cosim import CosimResult, Job, cosim_native
from vlane.sim_top.cosim.plan_vlarb import FULL, SMALL, Plan
from vlane.tb.machinery.native.model import CompiledModel
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.synthesis.mutate import Mutant
from vlane.tb.schedulers.vlarb.setting import encode_plan
from vlane.tb.schedulers.vlarb.stimulus import VLArbTraffic, planned

_EVENTS = 400
_SIZE_BITS, _MOST_BLOCKS = 7, 127


@dataclass(frozen=True, slots=True)
class LaneResult:
    """Service of one lane by one list of a table.

    Parameters
    ----------
    vl : int
        Lane.
    list : str
        ``high`` or ``low``.
    weight : int
        Sum of the lane's weights in the list.
    weight_share : float
        Lane's fraction of the list's weights.
    share_small : float
        Lane's fraction of the list's blocks, all lanes backlogged, with 64-byte packets.
    share_full : float
        The same fraction with MTU packets.
    link_share : float
        Fraction of all blocks, with MTU packets.
    packets : int
        Number of packets granted from this list, with MTU packets.
    longest_wait_cycles : int
        Longest wait of a head packet of the lane that this list granted, with MTU packets on a link of one block per
        cycle. A longer wait that had not ended with the traffic counts instead.
    """

    vl: int
    list: str
    weight: int
    weight_share: float
    share_small: float
    share_full: float
    link_share: float
    packets: int
    longest_wait_cycles: int


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """Started packet, for the picture of the service order.

    Parameters
    ----------
    cycle : int
        Cycle, counted from the start of the phase.
    vl, blocks : int
        Lane and size.
    list : str
        List that granted the packet.
    """

    cycle: int
    vl: int
    blocks: int
    list: str


@dataclass(slots=True)
class TableResult:
    """Results of one table.

    Parameters
    ----------
    where : str
        Ports with this table.
    high, low : list of [VL, weight]
        Entries of the two lists.
    limit : int
        LimitOfHighPriority.
    lanes : list of LaneResult
        Results by list and lane.
    events : list of ServiceEvent
        First packets of the phase with all lanes backlogged and MTU packets.
    """

    where: str
    high: list[tuple[int, int]]
    low: list[tuple[int, int]]
    limit: int
    lanes: list[LaneResult]
    events: list[ServiceEvent]


class _Events:
    """Collector of the first packets in each table's phase of MTU packets."""

    def __init__(self, plan: Plan, model: CompiledModel) -> None:
        self.model, self.data_vls = model, plan.parameters["data_vls"]
        self.spans = []
        start = 0
        for phase in plan.phases:
            if phase.name == FULL:
                self.spans.append((start, start + phase.cycles))
            start += phase.cycles
        self.events: list[list[ServiceEvent]] = [[] for _ in self.spans]

    def __call__(self, cycle: int, rows: Words, outs: Words) -> None:
        for (start, stop), events in zip(self.spans, self.events, strict=True):
            first, last = max(start - cycle, 0), min(stop - cycle, len(rows))  # a batch may hold several phases
            if first >= last or len(events) >= _EVENTS:
                continue
            given, shown = self.model.inputs, self.model.outputs
            inside, answers = rows[first:last], outs[first:last]
            started = np.flatnonzero(given["ready"].get(inside) & shown["grant"].get(answers))
            vl, source = (shown[name].get(answers) for name in ("vl", "from_list"))
            for at in started[: _EVENTS - len(events)]:
                lane, code = min(int(vl[at]), self.data_vls), ListCode(int(source[at]))
                blocks = given["heads__blocks"].value(inside[at]) >> _SIZE_BITS * lane & _MOST_BLOCKS
                events.append(ServiceEvent(int(cycle + first + at - start), int(vl[at]), blocks, code.word))


def job_of_plan(plan: Plan, *, seed: int) -> Job:
    """Return the description of a run: the VL arbiter with the parameters, tables and phases of a plan."""
    return Job(
        BLOCKS[IB_ARBITER],
        plan.parameters,
        seed,
        lambda inputs, outputs: planned(
            plan.parameters, plan.tables, plan.phases, seed=seed, inputs=inputs, outputs=outputs
        ),
        encode_plan(**plan.parameters, tables=plan.tables, phases=plan.phases, seed=seed),
    )


def cosim_tables(plan: Plan, *, seed: int, planted: Mutant | None = None) -> CosimResult:
    """Run a plan in compiled hardware. Report the results of its tables if hardware and golden agree."""
    collected: list[_Events] = []

    def observer(model: CompiledModel) -> _Events:
        collected.append(_Events(plan, model))
        return collected[0]

    result, traffic = cosim_native(job_of_plan(plan, seed=seed), planted=planted, observer=observer)
    if not result.mismatches and isinstance(traffic, VLArbTraffic):
        result.tables = _table_results(plan, traffic, collected[0].events)
    return result


def _table_results(plan: Plan, traffic: VLArbTraffic, events: list[list[ServiceEvent]]) -> list[TableResult]:
    by_name = {
        name: [s for p, s in zip(plan.phases, traffic.statistics, strict=True) if p.name == name]
        for name in (SMALL, FULL)
    }
    results = []
    for index, use in enumerate(plan.uses):
        table = use.table
        lanes = []
        if index < len(by_name[FULL]):
            small, full = by_name[SMALL][index], by_name[FULL][index]
            for code, entries in ((ListCode.HIGH, table.high), (ListCode.LOW, table.low)):
                served = sorted({e.vl for e in entries if e.weight and e.vl < plan.parameters["data_vls"]})
                total = sum(e.weight for e in entries if e.vl in served)
                for vl in served:
                    weight = sum(e.weight for e in entries if e.vl == vl)
                    lanes.append(
                        LaneResult(
                            vl,
                            code.word,
                            weight,
                            weight / total,
                            _part(small.blocks[vl, code], small.blocks[:, code].sum()),
                            _part(full.blocks[vl, code], full.blocks[:, code].sum()),
                            _part(full.blocks[vl, code], full.blocks.sum()),
                            int(full.packets[vl, code]),
                            longest_wait(full.longest_wait[vl], code),
                        )
                    )
        shown = events[index] if index < len(events) else []
        results.append(
            TableResult(use.where, list(table.high), list(table.low), table.limit_of_high_priority, lanes, shown)
        )
    return results


def longest_wait(waits: NDArray[np.int64], code: ListCode) -> int:
    """Return the longest wait to report for a lane and a list, from the lane's longest waits by list.

    ``ListCode.NONE`` holds the longest wait still open when the traffic ends. If it exceeds all others, it is
    reported for every list with the lane, because any of them could have ended it.
    """
    open_ = int(waits[ListCode.NONE])
    return open_ if open_ > waits[ListCode.HIGH :].max() else int(waits[code])


def _part(value: Any, whole: Any) -> float:
    return float(value) / float(whole) if whole else 0.0
