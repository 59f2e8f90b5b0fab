"""Samples of a run: at the start of the measured window, and every so many cycles (``[measure] every``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.golden.links.remote_credit import blocks_in_use, fcps_sent
from vlane.golden.network.clock import NOW
from vlane.golden.network.meters import FLITS_IN, LATENCY, MADE, Meters
from vlane.golden.network.state import Network
from vlane.golden.switches.packets import NOBODY, Packets
from vlane.golden.topologies.wiring import NOWHERE

_COUNTED = ("packets", "flits", "queued", "waited", "fcps")


@dataclass(frozen=True)
class Sample:
    """Counters of a network at the start of a cycle, since cycle 0.

    Parameters
    ----------
    cycle : array of int64, (1,)
        The cycle.
    packets, flits : array of int64, (sending ends, lanes)
        Packets and flits sent.
    queued : array of int64, (sending ends, lanes)
        Cycles for which packets requested the link.
    waited : array of int64, (sending ends, lanes)
        Cycles in which the lane's head lacked credits while the link was free.
    fcps : array of int64, (sending ends, lanes)
        Flow-control packets sent.
    output_blocks, far_blocks : array of int64, (sending ends, lanes)
        Blocks in the output buffer, and in the far buffer as counted by the sender, in this cycle.
    levels : array of int64, (levels, 4)
        Flits generated, flits received, packets with a latency and the sum of their latencies, in the measured window.
    """

    cycle: NDArray[np.int64]
    packets: NDArray[np.int64]
    flits: NDArray[np.int64]
    queued: NDArray[np.int64]
    waited: NDArray[np.int64]
    fcps: NDArray[np.int64]
    output_blocks: NDArray[np.int64]
    far_blocks: NDArray[np.int64]
    levels: NDArray[np.int64]

    @classmethod
    def of(cls, net: Network, packets: Packets) -> Sample:
        """Return the present counters of a network."""
        out_ports = net.out_ports
        return cls(
            np.array([net.clock[NOW]], np.int64),
            out_ports.counters["packets"].astype(np.int64),
            out_ports.counters["flits"].astype(np.int64),
            queued_cycles(net, packets),
            out_ports.head["credit_wait_cycles"].astype(np.int64),
            np.array(fcps_sent(out_ports.remote_credit), np.int64),
            out_ports.buffer.lane["blocks"].astype(np.int64),
            _far_blocks(net),
            _levels(net.meters),
        )

    def since(self, earlier: Sample | None) -> dict[str, NDArray[np.int64]]:
        """Return the growth of every counter since an earlier sample, or since cycle 0."""
        names = (*_COUNTED, "cycle", "levels")
        return {name: getattr(self, name) - (0 if earlier is None else getattr(earlier, name)) for name in names}


@dataclass
class Course:
    """Samples of one run.

    Parameters
    ----------
    first : int
        First cycle of the measured window.
    every : int or None
        Cycles between the samples of the tables over time; ``None`` for no such tables.
    """

    first: int
    every: int | None = None
    start: Sample | None = None
    samples: list[Sample] = field(default_factory=list)

    def next_after(self, now: int) -> int | None:
        """Return the next cycle at whose start a sample is due, from ``now`` on, or ``None``."""
        due = [] if self.start is not None or not self.first else [self.first]
        if self.every is not None:
            due.append(self.every * (len(self.samples) + 1))
        return min((cycle for cycle in due if cycle >= now), default=None)

    def take(self, net: Network, packets: Packets) -> None:
        """Keep a sample if one is due now."""
        now = int(net.clock[NOW])
        if now != self.next_after(now):
            return
        sample = Sample.of(net, packets)
        if now == self.first and self.start is None:
            self.start = sample
        if self.every is not None and now == self.every * (len(self.samples) + 1):
            self.samples.append(sample)

    def state(self) -> dict[str, NDArray[np.int64]]:
        """Return all samples as arrays, for a checkpoint."""
        kept = [("start", self.start)] * (self.start is not None)
        kept += [(str(number), sample) for number, sample in enumerate(self.samples)]
        return {f"{name}/{each.name}": getattr(sample, each.name) for name, sample in kept for each in fields(Sample)}

    def restore(self, state: Mapping[str, NDArray[np.int64]]) -> None:
        """Take the samples from a checkpoint."""
        names = dict.fromkeys(name.partition("/")[0] for name in state)
        found = {name: Sample(*(state[f"{name}/{each.name}"] for each in fields(Sample))) for name in names}
        self.start = found.pop("start", None)
        self.samples = list(found.values())

    def intervals(self) -> Iterator[tuple[Sample | None, Sample]]:
        """Yield the samples of the tables over time, each after the one before."""
        yield from zip([None, *self.samples], self.samples, strict=False)


def queued_cycles(net: Network, packets: Packets) -> NDArray[np.int64]:
    """Return, by end and lane, the cycles for which packets requested the link, until their start or until now."""
    asked = net.out_ports.counters["queued_cycles"].copy()
    heads = net.out_ports.queues.queue["head"]
    for end, lane in np.argwhere(heads != NOBODY).tolist():
        packet = int(heads[end, lane])
        while packet != NOBODY:
            asked[end, lane] += net.clock[NOW] - packets.pool[packet].link_request_cycle
            packet = int(packets.pool[packet].next)
    return asked


def _far_blocks(net: Network) -> NDArray[np.int64]:
    remote, shape = net.out_ports.remote_credit, net.out_ports.counters.shape
    found = np.zeros(shape, np.int64)
    for end, lane in np.ndindex(shape):
        found[end, lane] = blocks_in_use(remote, end, lane)
    return found


def _levels(meters: Meters) -> NDArray[np.int64]:
    made, timed = meters.part[:, :, MADE].sum(axis=1), meters.histogram.sum(axis=1)
    return np.stack([made, meters.total[:, FLITS_IN], timed, meters.total[:, LATENCY]], axis=1)


def level_course(course: Course, net: Network) -> pl.DataFrame:
    """Return one row per interval and level with traffic.

    Columns: first cycle, and first cycle after the interval; SL; flits generated and received per cycle and host;
    packets generated and received in the measured window; their mean latency in cycles. In the warm-up all are 0 and
    null.
    """
    hosts, seen = len(net.staged_packets), np.flatnonzero(_levels(net.meters).any(axis=1))
    frames = []
    for before, sample in course.intervals():
        grown = sample.since(before)
        made, received, timed, latency = grown["levels"][seen].T
        cycles = int(grown["cycle"][0])
        mean = np.divide(latency, timed, out=np.full(len(seen), np.nan), where=timed > 0)
        frames.append(
            _interval(before, sample, len(seen)).with_columns(
                sl=pl.Series(seen, dtype=pl.Int64),
                offered=pl.Series(made / (cycles * hosts)),
                accepted=pl.Series(received / (cycles * hosts)),
                packets=pl.Series(timed, dtype=pl.Int64),
                latency_mean_cycles=pl.Series(mean, nan_to_null=True),
            )
        )
    return pl.concat(frames) if frames else pl.DataFrame()


def link_course(course: Course, net: Network, links: pl.DataFrame) -> pl.DataFrame:
    """Return one row per interval and row of the table of links.

    Columns: first cycle, and first cycle after the interval; the ends and the VL as in the table of links; flits per
    cycle; blocks in the output buffer and in the far buffer at the end of the interval.
    """
    ends = np.flatnonzero(net.wiring.cable["far_input"] != NOWHERE)
    names = links.select("from", "from_kind", "from_id", "from_port", "to", "to_kind", "to_id", "to_port", "vl")
    frames = []
    for before, sample in course.intervals():
        grown = sample.since(before)
        frames.append(
            pl.concat([_interval(before, sample, len(names)), names], how="horizontal").with_columns(
                utilisation=pl.Series((grown["flits"][ends] / int(grown["cycle"][0])).ravel()),
                output_blocks=pl.Series(sample.output_blocks[ends].ravel()),
                far_blocks=pl.Series(sample.far_blocks[ends].ravel()),
            )
        )
    return pl.concat(frames) if frames else pl.DataFrame()


def _interval(before: Sample | None, sample: Sample, rows: int) -> pl.DataFrame:
    first = 0 if before is None else int(before.cycle[0])
    return pl.DataFrame({"first_cycle": [first] * rows, "end_cycle": [int(sample.cycle[0])] * rows})
