"""Random networks with congestion control, and the comparison of golden with the plain model."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationSelect, starvation_element
from vlane.credits.credit_starvation import StarvationWrite as GoldenStarvation
from vlane.golden.network.assembly import PortSettings
from vlane.golden.network.clock import NOW
from vlane.golden.network.congestion import Congestion, NICSettings
from vlane.golden.network.faults import stall_link
from vlane.golden.network.meters import TRACE_BTH, TRACE_DELIVERED
from vlane.golden.network.runs import Change
from vlane.golden.network.setting_writes import (
    cct_entry_write,
    ccti_limit_write,
    port_control_write,
    schedule_marking_write,
    schedule_pacing_writes,
    schedule_starvation_write,
    sl_settings_write,
)
from vlane.golden.network.state import Network
from vlane.golden.plain.congestion import CongestedNetwork, Counts, Received
from vlane.golden.plain.congestion_settings import HostsWrite, MarkerWrite, Settings
from vlane.golden.plain.credits import Credits
from vlane.golden.plain.faster import faster
from vlane.golden.plain.faults import Faults, Span
from vlane.golden.plain.link import Sizes
from vlane.golden.plain.network import Switch, Tables
from vlane.golden.plain.pacing import Level
from vlane.golden.plain.starvation import CreditReturn, StarvationWrite
from vlane.golden.plain.traffic import packets_of
from vlane.golden.switches.packets import FECN
from vlane.golden.topologies.routing import Routes, dmodk, up_down
from vlane.golden.topologies.topology import Topology, dumbbell, irregular, tree
from vlane.sim_top.study.congestion_counts import congestion_of
from vlane.tables.sl2vl import SL_COUNT

LARGEST = 8
RR = PortSettings("rr", {"requesters": 0})
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "inputs": {"by_inputs": True},
    "speed": {"speed": 2},
    "fcp": {"credit": "fcp", "by_inputs": True},
}
"""Kinds of network, each compiled separately."""


@dataclass(frozen=True)
class Case:
    """Random network with congestion control, as input of both models."""

    topology: Topology
    routes: Routes
    lanes: int
    trace: list[tuple[int, ...]]
    cycles: int
    blocks: int
    minimum: int
    flight: int
    flit_bytes: int
    settings: Settings
    stalls: tuple[Span, ...] = ()
    speed: int = 1
    credit: str = "returns"
    fcp_period: int = 50
    marker_writes: tuple[MarkerWrite, ...] = ()
    host_writes: tuple[HostsWrite, ...] = ()
    starvation_writes: tuple[StarvationWrite, ...] = ()

    def golden(self) -> Network:
        """Return the compiled network after its run."""
        net = made(
            self.topology,
            self.routes,
            lanes=self.lanes,
            trace=self.trace,
            cycles=self.cycles,
            largest=LARGEST,
            blocks=self.blocks,
            minimum=self.minimum,
            flight=self.flight,
            flit_bytes=self.flit_bytes,
            speed=self.speed,
            credit=self.credit,
            fcp_blocks=2 if self.credit == "fcp" else None,
            fcp_period=self.fcp_period,
            congestion=congestion_of_settings(self.settings),
        )
        stalls = [stall_link(it.switch, it.port, cycle=it.cycle, cycles=it.cycles) for it in self.stalls]
        writes = [each for write in self.marker_writes for each in golden_marking(write)]
        writes += [golden_pacing(write) for write in self.host_writes]
        writes += [each for write in self.starvation_writes for each in golden_starvation(write)]
        replayed(net, self.cycles, [*stalls, *writes])
        return net

    def plain(self) -> CongestedNetwork:
        """Return the plain network before its run."""
        least, routes = self.minimum, self.routes
        most = self.blocks - least * (self.lanes - 1)
        ratio = 64 // self.flit_bytes
        sizes = Sizes(self.blocks, (least,) * self.lanes, (most,) * self.lanes, (LARGEST,) * self.lanes, ratio)
        tables = Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane)
        switch: type[Switch] = Switch if self.speed == 1 else faster(speed=self.speed)
        return CongestedNetwork(
            self.topology.far_ends(),
            self.topology.hosts,
            tables,
            sizes,
            packets_of(self.trace, routes, self.flit_bytes),
            lambda: plain_serve(RR, self.lanes),
            self.flight,
            switch,
            Credits(fcp_blocks=2, fcp_period=self.fcp_period) if self.credit == "fcp" else None,
            Faults(self.stalls),
            settings=self.settings,
            lids=routes.lids[:, 0].tolist(),
            marker_writes=self.marker_writes,
            host_writes=self.host_writes,
            starvation_writes=self.starvation_writes,
        )


def golden_marking(write: MarkerWrite) -> list[Change]:
    """Return a marker write in the compiled network's format."""
    found, select = [], CCMarkerSelect
    if write.mask is not None:
        found.append(MarkingWrite(select=select.VICTIM_MASK, victim_mask=sum(1 << port for port in write.mask)))
    if write.limits is not None:
        found.append(MarkingWrite(select=select.THRESHOLD, threshold=write.limits[0], packet_size=write.limits[1]))
    if write.rate is not None:
        found.append(MarkingWrite(select=select.MARKING_RATE, marking_rate=write.rate))
    if write.element is not None:
        port, values = write.element
        threshold, size, rate = values or (15, 0, 0)
        found.append(
            MarkingWrite(
                select=select.PORT,
                port=port,
                valid=int(values is not None),
                threshold=threshold,
                packet_size=size,
                marking_rate=rate,
            )
        )
    return [schedule_marking_write(write.switch, each, cycle=write.cycle) for each in found]


def delay_of(given: CreditReturn) -> tuple[int, int]:
    """Return CS_ReturnDelay as (shift, multiplier)."""
    return given.shift, given.multiplier


def golden_starvation(write: StarvationWrite) -> list[Change]:
    """Return a credit-starvation write in the compiled network's format."""
    found: list[Change] = []
    if write.mask is not None:
        mask = sum(1 << port for port in write.mask)
        of_mask = GoldenStarvation(select=StarvationSelect.CREDIT_MASK, credit_mask=mask)
        found.append(schedule_starvation_write(write.switch, of_mask, cycle=write.cycle))
    if write.of_switch is not None:
        shift, multiplier = delay_of(write.of_switch)
        of_switch = GoldenStarvation(
            select=StarvationSelect.RETURN, threshold=write.of_switch.threshold, shift=shift, multiplier=multiplier
        )
        found.append(schedule_starvation_write(write.switch, of_switch, cycle=write.cycle))
    if write.element is not None:
        port, rules = write.element
        given = rules or CreditReturn(15, 0, 9)
        element = starvation_element(port, given.threshold, delay_of(given), valid=int(rules is not None))
        found.append(schedule_marking_write(write.switch, element, cycle=write.cycle))
    return found


def golden_pacing(write: HostsWrite) -> Change:
    """Return a write of NIC settings in the compiled network's format."""
    values, found = write.values, []
    if "port_control" in values:
        found.append(port_control_write(values["port_control"]))
    if "ccti_limit" in values:
        found.append(ccti_limit_write(values["ccti_limit"]))
    found += [
        sl_settings_write(
            sl, timer=it.ccti_timer, increase=it.ccti_increase, trigger=it.trigger_threshold, minimum=it.ccti_min
        )
        for sl, it in values.get("of_sl", {}).items()
    ]
    found += [cct_entry_write(number, *entry) for number, entry in enumerate(values.get("table", ()))]
    nics = None if write.hosts is None else sorted(write.hosts)
    return schedule_pacing_writes(found, cycle=write.cycle, nics=nics)


def congestion_of_settings(settings: Settings) -> Congestion:
    """Return congestion settings in the compiled network's format."""
    given = asdict(settings)
    for name in (*Level._fields, "of_sl", "of_host", "credit_return", "credit_elements"):
        given.pop(name)
    given |= {
        "cs_threshold": settings.credit_return.threshold,
        "cs_return_delay": delay_of(settings.credit_return),
        "cs_elements": {end: (each.threshold, delay_of(each)) for end, each in settings.credit_elements.items()},
    }
    hosts = {}
    for number in settings.of_host:
        own = settings.at_host(number)
        hosts[number] = NICSettings(
            port_control=own.port_control,
            ccti_limit=own.ccti_limit,
            table=own.table,
            levels=[own.level(sl) for sl in range(SL_COUNT)],
        )
    return Congestion(levels=[settings.level(sl) for sl in range(SL_COUNT)], hosts=hosts, **given)


def received_by(net: Network, cycles: int) -> list[Received]:
    """Return the packets a compiled network's NICs received before a cycle, sorted as in the plain model."""
    rows = net.meters.trace[: net.meters.traced[0]].tolist()
    assert len(rows) < len(net.meters.trace), "deliveries that were not kept"
    return sorted(
        Received(row[TRACE_DELIVERED], *row[:6], *row[11:13]) for row in rows if row[TRACE_DELIVERED] < cycles
    )


def counts_of(net: Network) -> Counts:
    """Return a compiled network's congestion counters.

    Golden counts FECN at a packet's head. FECN packets not yet received completely are excluded here.
    """
    counts = congestion_of(net)
    assert counts is not None
    rows = net.meters.trace[: net.meters.traced[0]]
    assert counts.fecns == np.count_nonzero(rows[:, TRACE_BTH] & FECN)
    fecns = np.count_nonzero(rows[rows[:, TRACE_DELIVERED] < net.clock[NOW], 11] & FECN)
    return Counts(*(getattr(counts, name) for name in Counts._fields))._replace(fecns=int(fecns))


def run(plain: CongestedNetwork, cycles: int) -> tuple[list[Received], Counts]:
    """Run a plain network and return its received packets and counters, aligned with golden.

    BECNs of the last cycle are excluded because golden processes them at the start of the next cycle.
    """
    plain.run(cycles - 1)
    before = plain.counts
    received = plain.received(cycles)
    return received, plain.counts._replace(becns=before.becns, lost=before.lost, logged=before.logged)


def random_settings(source: random.Random, *, by_inputs: bool) -> Settings:
    """Return random settings under which marking and throttling occur early."""
    busy, limit = source.choice((0, 8, 40)), source.choice((6, 20, 60))
    return Settings(
        threshold=source.choice((4, 7, 15)),
        packet_size=source.choice((0, 0, 2, 7)),
        marking_rate=source.choice((0, 0, 1, 3)),
        victim_mask=source.choice(("none", "hosts", "all")),
        by_inputs=by_inputs,
        busy_blocks=busy,
        level_blocks=max(1, busy + source.choice((0, 10, 60))),
        idle_blocks=source.choice((1, 4, 16)),
        port_control=source.choice((0, 0, 0, 1)),
        ccti_limit=limit,
        ccti_timer=source.choice((1, 2, 5, 20)),
        ccti_increase=source.choice((1, 2, 5)),
        trigger_threshold=source.choice((0, 2, 4)),
        ccti_min=source.choice((0, 0, 1, 2)),
        table=[(shift := source.randrange(4), (i << shift) // source.choice((1, 2, 4))) for i in range(limit + 1)],
        shift_first=source.random() < 0.3,
        flows=source.choice((4, 4, 8, 64, 256)),
        tick_cycles=64,
        cnp_interval=source.choice((0, 0, 17, 40)),
        held_packets=source.choice((1, 3, 10, 1000)),
    )


def random_world(source: random.Random) -> tuple[Topology, Routes]:
    """Return a random small topology and its routes."""
    kind = source.choice(("dumbbell", "irregular", "tree"))
    if kind == "tree":
        topology = tree(*source.choice(((2, 2), (3, 2))))
        return topology, dmodk(topology, IDENTITY)
    if kind == "dumbbell":
        topology = dumbbell(source.randrange(2, 5), source.randrange(2, 5), trunks=source.choice((1, 2)))
    else:
        topology = irregular(source.randrange(3, 5), ports=5, hosts=2, seed=source.randrange(100))
    return topology, up_down(topology, IDENTITY)


def random_packets(source: random.Random, hosts: int, lanes: int, cycles: int, load: float) -> list[tuple[int, ...]]:
    """Return random packets, half of them to a host that is a hot spot for a third of the run."""
    hot = [source.randrange(hosts) for _ in range(3)]
    trace = []
    for _ in range(int(load * hosts * cycles / 4.5)):
        born, size = source.randrange(cycles), source.choice((1, 64, source.randrange(1, 513), 512))
        to = hot[3 * born // cycles] if source.random() < 0.5 else source.randrange(hosts)
        trace.append((born, source.randrange(hosts), to, source.randrange(lanes), size))
    return trace


def case_of(seed: int, kind: str) -> Case:
    """Return the network of a seed and kind."""
    source = random.Random(f"{seed} {kind}")  # noqa: S311 - a repeatable choice
    how = KINDS[kind]
    topology, routes = random_world(source)
    lanes, cycles = source.choice((1, 2, 3)), 1200
    is_fcp = how.get("credit") == "fcp"
    least = 32 if is_fcp or lanes == 1 else source.choice((8, 32))
    flit_bytes = source.choice((64, 64, 64, 16))
    load = source.choice((0.7, 1.0)) * flit_bytes / 64
    ends = [*topology.far_ends(), *topology.hosts]
    stalls = tuple(
        Span(source.randrange(cycles), source.choice((1, 20, 150)), *source.choice(ends))
        for _ in range(source.choice((0, 0, 3, 8)))
    )
    return Case(
        topology,
        routes,
        lanes,
        random_packets(source, len(topology.hosts), lanes, cycles, load),
        cycles,
        least * lanes + (0 if is_fcp else 32 - least + source.choice((0, 9))),
        least,
        source.choice((1, 1, 3)),
        flit_bytes,
        random_settings(source, by_inputs=how.get("by_inputs", False)),
        stalls,
        how.get("speed", 1),
        how.get("credit", "returns"),
    )


def compared(case: Case) -> Counts:
    """Assert that both models agree on every delivery and counter, and return the counters."""
    net = case.golden()
    got, (expected, counts) = received_by(net, case.cycles), run(case.plain(), case.cycles)

    first = next((pair for pair in zip(got, expected, strict=False) if pair[0] != pair[1]), "a prefix of the other")
    assert got == expected, f"{case.topology.name} {case.settings}: {first}"
    assert counts_of(net) == counts
    return counts
