"""Loads of a study's links over all runs, as a page shows them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from vlane.golden.topologies.topology import Topology
from vlane.rates import LinkClock
from vlane.sim_top.output.network_drawing import Link, Scale, drawn_network
from vlane.sim_top.output.page import Column, Drawing, Table

_END = re.compile(r"(switch|host) (\d+)(?: port (\d+))?")
_BUSIEST = 100


def loads_of_links(tables: Sequence[tuple[float, pl.DataFrame]]) -> pl.DataFrame:
    """Return one row per link and load: flits per cycle on all VLs, mean over seeds.

    Parameters
    ----------
    tables : sequence of (float, DataFrame)
        Load and table of links of each run.
    """
    whole = [
        table.group_by("from", "to", "from_name", "to_name", maintain_order=True)
        .agg(pl.col("utilisation").sum(), pl.col("waited_cycles").sum(), pl.col("mean_queue_packets").sum())
        .with_columns(load=pl.lit(load))
        for load, table in tables
    ]
    return (
        pl.concat(whole)
        .group_by("load", "from", "to", "from_name", "to_name", maintain_order=True)
        .agg(pl.col("utilisation", "waited_cycles", "mean_queue_packets").mean())
    )


def load_drawing(topology: Topology, loads: pl.DataFrame, clock: LinkClock, *, is_replay: bool) -> Drawing:
    """Return the network with links coloured by load. Readers choose among the loads. The highest is shown first."""
    found = sorted(loads["load"].unique().to_list())
    number = {load: place for place, load in enumerate(found)}
    values: dict[tuple[str, str], list[float | None]] = {}
    for load, source, target, used in loads.select("load", "from", "to", "utilisation").iter_rows():
        values.setdefault((source, target), [None] * len(found))[number[load]] = used
    links = []
    for (source, target), used in values.items():
        links.append(Link(*_node(topology, source), *_node(topology, target), tuple(used)))
    scale = Scale(
        "link load (flits per cycle)",
        1.0,
        ("0", "1"),
        "{} % of the link",
        100.0,
        "no value",
        "{} Gb/s",
        clock.rate_gbps,
    )
    names = [
        topology.switch_names[number] if number < len(topology.switch_names) else f"switch {number}"
        for number in range(topology.switches)
    ]
    host_names = [
        topology.host_names[number] if number < len(topology.host_names) else f"host {number}"
        for number in range(len(topology.hosts))
    ]
    size = topology.shape.get("size", ())
    return drawn_network(
        names,
        host_names,
        [switch for switch, _ in topology.hosts],
        links,
        scale,
        choices=[] if is_replay else [f"{load:g}" for load in found],
        chosen=0 if is_replay else len(found) - 1,
        torus=size,
        caption="Utilisation of every link, one line per direction, over all cycles of a run",
        choice_name="offered load",
    )


def _node(topology: Topology, end: str) -> tuple[int, int]:
    """Return node and port number of an end in a table of links. Host numbers follow those of switches."""
    found = _END.fullmatch(end)
    if found is None:
        raise ValueError(f"end of a link must be host N, or switch N port N, not {end}")
    number = int(found[2])
    return (number, int(found[3])) if found[1] == "switch" else (topology.switches + number, 0)


def load_table(loads: pl.DataFrame, clock: LinkClock) -> Table:
    """Return the busiest links at the highest load."""
    highest = loads.filter(pl.col("load") == loads["load"].max()).sort(
        "utilisation", descending=True, maintain_order=True
    )
    rows = [
        (
            _named(source, source_name),
            _named(target, target_name),
            100 * used,
            clock.gbps(used),
            waited,
            clock.ns(waited),
            queued,
        )
        for source, source_name, target, target_name, used, waited, queued in highest.select(
            "from", "from_name", "to", "to_name", "utilisation", "waited_cycles", "mean_queue_packets"
        )
        .head(_BUSIEST)
        .iter_rows()
    ]
    columns = [
        Column("from", is_number=False),
        Column("to", is_number=False),
        Column("load, %", form=".2f"),
        Column("Gb/s", form=".2f"),
        Column("stalled for credits, cycles", meaning="the link was free but no head packet had credits", form=",.0f"),
        Column("stalled, ns", form=",.0f"),
        Column("mean queue, packets", form=".3f"),
    ]
    shown = f"the {_BUSIEST} busiest of {len(highest):,}" if len(highest) > _BUSIEST else f"all {len(highest):,}"
    return Table(f"Links at the highest load: {shown}; sums over VLs, means over seeds", columns, rows)


def _named(end: str, name: str | None) -> str:
    return f"{end} ({name})" if name else end
