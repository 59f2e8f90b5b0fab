"""Packets from a file, and the tables of links, flows and deliveries of their run."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT, assert_refused, call
from vlane.errors import InputError
from vlane.packets.lrh import LocalRouteHeader

STUDY = """[network]
topology = "tree"
k = 2
n = 2

[buffers]
blocks = 40

[trace]
file = "packets.csv"

[measure]
flows = true

[run]
cycles = 6000
warm_up_cycles = 0
"""
HEADER = "cycle,source,destination,sl,bytes\n"


def _packets() -> list[tuple[int, ...]]:
    source = random.Random(5)  # noqa: S311 - a repeatable choice
    return [
        (
            source.randrange(3000),
            source.randrange(4),
            source.choice((0, 0, 0, 1, 2, 3)),
            source.randrange(3),
            source.randrange(1, 513),
        )
        for _ in range(1500)
    ]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study that replays packets, with host 0 as a hot spot."""
    (tmp_path / "packets.csv").write_text(HEADER + "".join(",".join(map(str, row)) + "\n" for row in _packets()))
    file = tmp_path / "replayed.toml"
    file.write_text(STUDY)
    return file


def _run(study: Path, *options: str, name: str = "out") -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    out = study.parent / name
    called = call("simulate", study, "--out", out, "--json", *options)
    assert called.status == 0, called.err
    (run,) = called.json()["runs"]
    names = [file.name.split(".")[-2] for file in (out / "runs").glob("*.parquet")]
    return run, {name: pl.read_parquet(out / "runs" / f"load1.0-seed1.{name}.parquet") for name in names}


@pytest.mark.slow
def test_every_packet_of_the_file_is_in_trace_flows_and_links(study: Path) -> None:
    """Every packet of the file is delivered, and flows and links count exactly these packets."""
    run, tables = _run(study, "--trace")
    rows = _packets()

    delivered = tables["trace"].select("cycle", "source", "destination", "sl", "flits").rows()
    assert Counter(delivered) == Counter((born, host, to, sl, -(-size // 64)) for born, host, to, sl, size in rows)
    for row in tables["trace"].sample(50, seed=1).rows(named=True):
        header = LocalRouteHeader.unpack(row["lrh"])
        assert header[:5] == (row["sl"], 0, row["sl"], 0, 2)  # each SL has its own VL; IBA transport
        assert (header.dlid, header.slid) == (row["dlid"], row["source"] + 1)
        assert header.pktlen == max(0, (row["bytes"] - 2) // 4)
    flows = {(row["source"], row["destination"], row["sl"]): row for row in tables["flows"].rows(named=True)}
    for (host, to, sl), flow in flows.items():
        mine = tables["trace"].filter((pl.col("source") == host) & (pl.col("destination") == to) & (pl.col("sl") == sl))
        latency = mine["delivered_cycle"] - mine["cycle"]
        counts = (flow["offered_flits"], flow["packets"], flow["flits"])
        assert counts == (mine["flits"].sum(), len(mine), mine["flits"].sum())
        assert flow["latency_mean_cycles"] == pytest.approx(latency.mean())
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            exact = latency.sort()[math.ceil(share * len(mine)) - 1]
            assert flow[f"latency_{name}_cycles"] == pytest.approx(exact, rel=0.016, abs=1)
        assert flow["latency_max_cycles"] == latency.max()
    links = tables["links"]
    last = links.filter(pl.col("to").str.starts_with("host"))
    assert (
        last["flits"].sum() == tables["trace"]["flits"].sum() == sum(each["accepted"] for each in run["per_sl"]) * 24000
    )
    first = links.filter(pl.col("from").str.starts_with("host"))
    assert first["packets"].sum() == len(rows)
    assert links["utilisation"].to_list() == [flits / 6000 for flits in links["flits"]]
    asked = links["mean_queue_cycles"] * links["packets"]
    assert links["mean_queue_packets"].to_list() == pytest.approx((asked / 6000).to_list())


@pytest.mark.slow
def test_waiting_for_room_and_fill_of_buffers_are_counted(study: Path) -> None:
    """Heads to the hot host wait for free space, and links to hosts never make a head wait.

    Buffer peaks are non-zero exactly on links with packets.
    """
    _, tables = _run(study)
    links = tables["links"]

    assert links.filter(pl.col("from") == "host 1")["waited_cycles"].sum() > 100
    assert links.filter(pl.col("to").str.starts_with("host"))["waited_cycles"].sum() == 0
    assert links["peak_far_blocks"].max() <= 24
    assert 8 < links["peak_output_blocks"].max() <= 24
    used = links["packets"] > 0
    assert (links["peak_output_blocks"] > 0).to_list() == (links["peak_far_blocks"] > 0).to_list() == used.to_list()


@pytest.mark.slow
def test_parquet_and_csv_are_the_same_packets(study: Path) -> None:
    """Parquet and CSV files with the same packets give the same digest, even with an extra column."""
    one, _ = _run(study)
    frame = pl.read_csv(study.parent / "packets.csv").with_columns(note=pl.lit("x"))
    frame.write_parquet(study.parent / "packets.parquet")
    study.write_text(STUDY.replace("packets.csv", "packets.parquet"))

    other, _ = _run(study, name="other")

    assert one["digest"] == other["digest"]


_TRAFFIC = """[run]
loads = [0.7]
cycles = 4000
warm_up_cycles = 500

[[traffic]]
sl = 0
share = 0.5

[[traffic]]
sl = 3
share = 0.5
bytes = [64, 512]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "network",
    [
        pytest.param("[buffers]", id="ib"),
        pytest.param('[switch]\nkind = "opa"\n[buffers]', id="opa", marks=pytest.mark.long),
    ],
)
def test_a_trace_that_was_written_replays(network: str, study: Path) -> None:
    """Given a run that ends with packets in flight, replaying the trace gives equal deliveries."""
    network = STUDY[: STUDY.index("[trace]")].replace("[buffers]", network).replace("blocks = 40", "blocks = 64")
    study.write_text(network + _TRAFFIC)
    called = call("simulate", study, "--out", study.parent / "first", "--json", "--trace")
    assert called.status == 0, called.err
    (first,) = called.json()["runs"]
    file = study.parent / "first" / "runs" / "load0.7-seed1.trace.parquet"
    run = _TRAFFIC[: _TRAFFIC.index("[[traffic]]")].replace("loads = [0.7]\n", "")
    study.write_text(f'{network}[trace]\nfile = "{file}"\n{run}')

    again, tables = _run(study, "--trace")

    written = pl.read_parquet(file)
    assert written.columns[:5] == ["cycle", "source", "destination", "sl", "bytes"]
    assert written["delivered_cycle"].null_count() == written["lrh"].null_count() > 10
    assert again["digest"] == first["digest"]
    assert tables["trace"].sort(written.columns).equals(written.sort(written.columns))


def test_unusual_packets_of_a_trace_are_reported(study: Path) -> None:
    """Packets after the end of the run, and packets to their own host, are reported with their number."""
    (study.parent / "packets.csv").write_text(HEADER + "1,0,1,0,64\n2,1,1,0,64\n6000,0,1,0,64\n")

    called = call("simulate", study, "--out", study.parent / "out")

    assert called.status == 0, called.err
    assert "1 of 3 packets of the trace are not sent: they start after the run's 6000 cycles" in called.err
    assert "1 of 3 packets of the trace have equal source and destination" in called.err
    flows = pl.read_parquet(study.parent / "out" / "runs" / "load1.0-seed1.flows.parquet")
    assert flows.filter(pl.col("source") == pl.col("destination"))["packets"].to_list() == [1]


@pytest.mark.parametrize(
    ("packets", "words"),
    [
        ("cycle,source,sl,bytes\n1,0,0,64\n", ["columns", "destination", "cycle, source, sl, bytes"]),
        (HEADER + "1,0,1,0,64\n2,0,1,0,0\n", ["packets.csv:3", "bytes", "1 to", "not 0"]),
        (HEADER + "1,0,1,0,64\n2,0,1,0,1.5\n", ["packets.csv:3", "bytes", "whole number", "1.5"]),
        (HEADER + "1,0,1,0,64\n2,x,1,0,64\n", ["packets.csv:3", "source", "whole number", "x"]),
        (HEADER, ["packets.csv", "packets", "the file has no rows below the header"]),
        (HEADER + "10000000000000,0,1,0,64\n", ["packets.csv:2", "cycle", "0 to 1099511627776", "10000000000000"]),
        (HEADER + f"{10**30},0,1,0,64\n", ["packets.csv:2", "cycle", "0 to 1099511627776"]),
        (
            HEADER + "6000,0,1,0,64\n7000,0,1,0,64\n",
            ["packets.csv", "cycle", "the first packet starts in cycle 6000, after the end of the run (6000 cycles)"],
        ),
        (HEADER + "1,0,1,,64\n", ["packets.csv:2", "sl", "whole number"]),
        (HEADER + "1,0,4,0,64\n", ["packets.csv", "destination", "0 to 3", "4"]),
        (HEADER + "1,0,1,16,64\n", ["packets.csv", "sl", "0 to 15", "16"]),
        (HEADER + "-1,0,1,0,64\n", ["packets.csv:2", "cycle", "-1"]),
        (None, ["packets.csv", "trace cannot be read as CSV or Parquet: No such file or directory"]),
    ],
)
def test_bad_file_of_packets_is_refused(packets: str | None, words: list[str], study: Path) -> None:
    """Given a malformed packet file, the command names file, line and column."""
    file = study.parent / "packets.csv"
    if packets is None:
        file.unlink()
    else:
        file.write_text(packets)

    assert_refused(call("simulate", study, "--out", study.parent / "out"), *words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '[trace]\nfile = "packets.csv"\n',
            "",
            ["traffic", "is missing: give [[traffic]], [trace] or [connections]", "missing"],
        ),
        ("[run]", "[run]\nloads = [0.5]", ["run.loads", "cannot be used without [[traffic]]"]),
        ("[run]", "[[traffic]]\n[run]", ["run.loads", "is missing: it is required with [[traffic]]", "missing"]),
        ("flows = true", 'flows = "yes"', ["measure.flows", "true or false"]),
    ],
)
def test_bad_study_of_packets_is_refused(old: str, new: str, words: list[str], study: Path) -> None:
    """Given loads without traffic, or neither traffic nor trace, the study is refused."""
    study.write_text(STUDY.replace(old, new))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), *words)


def test_header_is_laid_out_bit_for_bit() -> None:
    """A local route header packs to the bits written by hand and unpacks again.

    A value too large for its field is refused.
    """
    header = LocalRouteHeader(vl=15, lver=0, sl=1, reserved=2, lnh=3, dlid=0xABCD, pktlen=0x7FF, slid=1)

    assert header.pack() == 0xF01B_ABCD_07FF_0001
    assert LocalRouteHeader.unpack(0xF01B_ABCD_07FF_0001) == header
    with pytest.raises(InputError, match="pktlen must be 0 to 2047"):
        header._replace(pktlen=2048).pack()


@pytest.mark.slow
def test_header_of_omni_path_carries_channel_and_level(study: Path) -> None:
    """Omni-Path headers keep the low bits of SL and channel 20 in the usual fields.

    The high bits are in the reserved bits.
    """
    (study.parent / "packets.csv").write_text(HEADER + "5,1,3,20,640\n")
    study.write_text(
        STUDY.replace("[buffers]", '[switch]\nkind = "opa"\n[buffers]').replace("blocks = 40", "blocks = 64")
    )

    _, tables = _run(study, "--trace")

    (row,) = tables["trace"].rows(named=True)
    assert LocalRouteHeader.unpack(row["lrh"]) == (4, 0, 4, 3, 2, 4, 159, 2)


@pytest.mark.slow
def test_trace_contains_congestion_bits_and_sequence_numbers(tmp_path: Path) -> None:
    """Under congestion control, a trace contains FECN, BECN and each flow's sequence numbers."""
    options = ("--set", "run.cycles=20000", "--set", "run.warm_up_cycles=0", "--json", "--trace")
    called = call("simulate", ROOT / "sim_top/configs/tree_cc_rtl.toml", "--out", tmp_path / "out", *options)
    assert called.status == 0, called.err

    (run,) = called.json()["runs"]
    (file,) = (tmp_path / "out" / "runs").glob("*.trace.parquet")
    arrived = pl.read_parquet(file).filter(pl.col("bth").is_not_null())
    assert (arrived["bth"] == 1).sum() == run["congestion"]["fecns"] > 100
    assert (arrived["bth"] == 2).sum() == run["congestion"]["becns"] > 100
    assert (arrived.filter(pl.col("bth") == 2)["psn"] == 0).all()
    for flow in arrived.filter(pl.col("bth") < 2).partition_by("source", "dlid", "sl"):
        assert flow["psn"].to_list() == list(range(len(flow)))
