"""Further tables of a run: links and VLs, flows, and a trace of all packets."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.golden.links.remote_credit import peak_blocks_in_use
from vlane.golden.network.clock import NOW
from vlane.golden.network.cores import Running
from vlane.golden.network.meters import (
    FLOW_FLITS,
    FLOW_LATENCY,
    FLOW_LEAST,
    FLOW_MOST,
    FLOW_OFFERED,
    FLOW_PACKETS,
    FLOW_TIMED,
    Meters,
)
from vlane.golden.network.state import Network
from vlane.golden.switches.packets import NOBODY, Packets, packets_in_use
from vlane.golden.topologies.wiring import NOWHERE
from vlane.packets.lrh import channel_bits, pack_lrh, packet_words
from vlane.shown import harmless
from vlane.sim_top.scenario.world import World, show_end
from vlane.sim_top.study.course import Sample
from vlane.sim_top.study.latencies import PERCENTILES, quantiles

_DELIVERY = (
    "source",
    "destination",
    "dlid",
    "sl",
    "flits",
    "cycle",
    "delivered_cycle",
    "switches",
    "bytes",
    "lane",
    "channel",
    "bth",
    "psn",
)
"""Fields of a delivery in the meters, in order."""

_TRACE = {
    **dict.fromkeys(("cycle", "source", "destination", "sl", "bytes"), pl.Int64),  # as ``read_packet_trace`` reads them
    **dict.fromkeys(("flits", "dlid", "delivered_cycle", "switches"), pl.Int64),
    "lrh": pl.UInt64,
}
_OF_BTH = dict.fromkeys(("bth", "psn"), pl.Int64)
"""Further columns of a trace with congestion control."""


def delivery_table(world: World, meters: Meters) -> pl.DataFrame:
    """Return the recorded deliveries with their headers on arrival, and clear the record."""
    rows = meters.trace[: meters.traced[0]].copy()
    meters.traced[0] = 0
    columns = dict(zip(_DELIVERY, rows.T, strict=True))
    words = {name: np.maximum(column, 0).astype(np.uint64) for name, column in columns.items()}
    vl, reserved = words["lane"], np.zeros_like(words["lane"])
    if world.routes.kind.by_channel:
        vl, reserved = channel_bits(words["channel"], words["sl"])
    lrh = pack_lrh(
        vl=vl,
        sl=words["sl"] & 15,
        reserved=reserved,
        dlid=words["dlid"],
        pktlen=packet_words(np.maximum(words["bytes"], 2)),
        slid=world.routes.lids[columns["source"], 0].astype(np.uint64),
    )
    return pl.DataFrame({**columns, "lrh": lrh}).select(
        pl.col(name).cast(kind) for name, kind in _columns(world).items()
    )


def _columns(world: World) -> dict[str, Any]:
    return _TRACE if world.congestion is None else {**_TRACE, **_OF_BTH}


def trace_table(
    world: World, network: Running, earlier: list[pl.DataFrame], net: Network, packets: Packets
) -> pl.DataFrame:
    """Return every packet sent by a NIC: arrived packets by cycle and destination, then packets in flight by birth.

    Parameters
    ----------
    network : OneCore or ManyCores
        Network whose meters hold the latest deliveries.
    earlier : list of DataFrame
        Deliveries taken from the meters before.
    net, packets : Network, Packets
        Present state of the network.
    """
    arrived = pl.concat([*earlier, *(delivery_table(world, meters) for meters in network.meters())])
    head = pl.col("delivered_cycle") - pl.col("flits")
    under_way = _under_way_table(world, net, packets)
    return pl.concat([arrived.sort(head, "destination"), under_way.sort("cycle", "source", "sl", "dlid", "bytes")])


def _under_way_table(world: World, net: Network, packets: Packets) -> pl.DataFrame:
    """Return the packets in flight. Columns about the arrival are null."""
    drawn = net.staged_packets[net.staged_packets != NOBODY]
    sent = np.setdiff1d(packets_in_use(packets), drawn)
    origin = {"cycle": "generated_cycle", "source": "source", "destination": "target", "bytes": "bytes", "psn": "psn"}
    columns = {name: packets.origin[field][sent] for name, field in origin.items()}
    columns |= {name: packets.pool[name][sent] for name in ("sl", "flits", "dlid")}
    return pl.DataFrame(columns).select(
        (pl.col(name) if name in columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in _columns(world).items()
    )


def link_table(world: World, net: Network, packets: Packets, start: Sample | None) -> pl.DataFrame:
    """Return one row for each lane of each cabled sending end.

    Columns: sending and receiving end (text; kind, number and port, null for a host's; and names of switch or host,
    null if unnamed); VL; in the measured window: packets and flits sent; flits per cycle; mean number of packets
    requesting the link; mean request time of sent packets in cycles; cycles in which the link was free but the lane's
    head had no credits; flow-control packets sent; since cycle 0: peak occupancy of the output buffer and of the far
    buffer as counted by the sender, in blocks.

    Parameters
    ----------
    start : Sample or None
        Counters at the start of the measured window; ``None`` if that is cycle 0.
    """
    wiring, out_ports = net.wiring, net.out_ports
    ends = np.flatnonzero(wiring.cable["far_input"] != NOWHERE)
    lanes = out_ports.counters.shape[1]
    sides = {"from": ends, "to": _receiving(net, wiring.cable["far_input"][ends])}
    shown = {side: [show_end(world.topology, int(end), net, names=False) for end in sides[side]] for side in sides}
    grown = {
        name: each[ends].ravel()
        for name, each in Sample.of(net, packets).since(start).items()
        if each.ndim > 1 and name != "levels"
    }
    cycles, sent = int(net.clock[NOW]) - (0 if start is None else int(start.cycle[0])), grown["packets"]
    mean = np.divide(grown["queued"], sent, out=np.full(len(sent), np.nan), where=sent > 0)
    return pl.DataFrame(
        {
            **{side: np.repeat(shown[side], lanes) for side in sides},
            **{name: each for side in sides for name, each in _tidy(world, net, side, np.repeat(sides[side], lanes))},
            **{f"{side}_name": _names(world, net, np.repeat(sides[side], lanes)) for side in sides},
            "vl": np.tile(np.arange(lanes), len(ends)),
            "packets": sent,
            "flits": grown["flits"],
            "utilisation": grown["flits"] / cycles,
            "mean_queue_packets": grown["queued"] / cycles,
            "mean_queue_cycles": pl.Series(mean, nan_to_null=True),
            "waited_cycles": grown["waited"],
            "peak_output_blocks": out_ports.buffer.lane["most_blocks"][ends].ravel(),
            "peak_far_blocks": peak_blocks_in_use(out_ports.remote_credit)[ends].ravel(),
            "fcps": grown["fcps"],
        }
    )


def _tidy(world: World, net: Network, side: str, ends: NDArray[np.int64]) -> Iterator[tuple[str, pl.Series]]:
    """Yield kind, number and port of ends, without a port for hosts."""
    bits, switches = net.switches.inputs.port_bits, world.topology.switches
    is_host = pl.Series(ends >= switches << bits)
    numbers = np.where(ends >= switches << bits, ends - (switches << bits), ends >> bits)
    ports = pl.Series((ends & ((1 << bits) - 1)) + 1, dtype=pl.Int64)
    yield f"{side}_kind", pl.Series(np.where(is_host, "host", "switch"))
    yield f"{side}_id", pl.Series(numbers, dtype=pl.Int64)
    yield f"{side}_port", ports.zip_with(~is_host, pl.Series([None], dtype=pl.Int64))


def _receiving(net: Network, far: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return receiving ends in the numbering of sending ends, NICs after switch ports."""
    return np.where(far >= 0, far, len(net.switches.inputs.port) - 1 - far)


def _names(world: World, net: Network, ends: NDArray[np.int64]) -> pl.Series:
    """Return the names of the ends' switches and hosts, or null if unnamed."""
    bits, switches = net.switches.inputs.port_bits, world.topology.switches
    numbers = np.where(ends >= switches << bits, ends - (switches << bits) + switches, ends >> bits)
    return pl.concat([_switch_names(world), _host_names(world)]).gather(numbers)


def _switch_names(world: World) -> pl.Series:
    return _named(world.topology.switch_names, world.topology.switches)


def _host_names(world: World) -> pl.Series:
    return _named(world.topology.host_names, len(world.topology.hosts))


def _named(names: tuple[str, ...], count: int) -> pl.Series:
    """Return names safe for files, or null for missing names."""
    return pl.Series([harmless(name) or None for name in names] or [None] * count, dtype=pl.String)


def flow_table(world: World, net: Network, saturated: Collection[int]) -> pl.DataFrame:
    """Return one row for each source, destination and SL with traffic in the measurement window.

    Columns: source and destination (number, and name, null if unnamed); SL; flits generated; packets and flits
    received; mean, shortest, percentiles and longest latency, null for the given saturated levels.
    """
    meters = net.meters
    source, target, level = np.nonzero(meters.flow.any(axis=3))
    rows = meters.flow[source, target, level]
    timed = rows[:, FLOW_TIMED]
    mean = np.divide(rows[:, FLOW_LATENCY], timed, out=np.full(len(rows), np.nan), where=timed > 0)
    histogram = meters.flow_histogram[source, target, level]
    sl = np.flatnonzero(meters.flow_level >= 0)[level]
    least, most = rows[:, FLOW_LEAST], rows[:, FLOW_MOST]
    table = pl.DataFrame(
        {
            "source": source,
            "destination": target,
            "sl": sl,
            "source_name": _host_names(world).gather(source),
            "destination_name": _host_names(world).gather(target),
            "offered_flits": rows[:, FLOW_OFFERED],
            "packets": rows[:, FLOW_PACKETS],
            "flits": rows[:, FLOW_FLITS],
            "latency_mean_cycles": pl.Series(mean, nan_to_null=True),
            "latency_min_cycles": least,
            **{
                f"latency_{name}_cycles": quantiles(histogram, share, least=least, most=most)
                for name, share in PERCENTILES.items()
            },
            "latency_max_cycles": most,
        }
    )
    has_latency = pl.Series(timed > 0) & ~table["sl"].is_in(list(saturated))
    return table.with_columns(
        pl.when(has_latency).then(pl.col(name)).alias(name) for name in table.columns if name.startswith("latency_")
    )
