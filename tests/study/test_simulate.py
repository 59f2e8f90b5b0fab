"""``vlane simulate``: runs, resuming, results, pictures, refusals."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from tests.cli.pages import assert_whole
from tests.conftest import STUDY, assert_refused, call, call_apart, long_but
from tests.network.networks import IDENTITY, made, run_to
from vlane.errors import InputError
from vlane.golden.topologies.patterns import PERMUTATIONS, permutation
from vlane.golden.topologies.routing import dmodk, up_down
from vlane.golden.topologies.topology import Topology, dumbbell, irregular, torus, tree
from vlane.golden.traffic.classes import TrafficClass
from vlane.golden.traffic.messages import new_messages
from vlane.golden.traffic.sources import advance_class, draw_packet
from vlane.sim_top.study.study_runs import run_sweep
from vlane.sim_top.study.sweep import make_sweep
from vlane.study.file import read_study_file

CONFIGS = Path(__file__).parent.parent.parent / "sim_top" / "configs"
EXAMPLES = {file.stem for file in CONFIGS.glob("*_*.toml") if "[network]" in file.read_text()}
OWN_KERNELS = {
    "irregular_ib",
    "irregular_fcp_rtl",
    "irregular_line_rate",
    "irregular_opa_rtl",
    "irregular_per_vl_rtl",
    "torus888_ib",
    "tree42_flits",
    "tree43_opa",
    "tree43_opa_rtl",
    "tree81_iterations",
    "hot_spot_cc",
    "tree_cc_inputs_rtl",
    "tree_cc_rtl",
    "tree_speed2_rtl",
}
"""Examples with combinations of switch and scheduler not compiled by other tests, which take longest."""

HOT_SPOTS = {"hot_spot_cc", "tree_cc_rtl", "tree_cc_inputs_rtl"}
"""Examples whose hosts offer more than a link can carry."""

_SHARED_UNIT = f"""[scheduler]
name = "scfq"
table = "{CONFIGS}/irregular_scfq.toml"
parameters = {{ units = "shared" }}
[buffers]"""


@pytest.mark.slow
def test_runs_do_not_depend_on_jobs_and_are_resumed(study: Path, tmp_path: Path) -> None:
    """Digests do not depend on ``--jobs``, and ``--resume`` makes only the missing run."""
    one = call("simulate", study, "--out", tmp_path / "one", "--json")
    two = call_apart("simulate", study, "--out", tmp_path / "two", "--jobs", "2", "--json")

    runs = one.json()["runs"]
    assert one.status == two.status == 0, one.err + two.err
    assert [(run["load"], run["seed"]) for run in runs] == [(0.2, 1), (0.2, 2), (0.5, 1), (0.5, 2)]
    assert [run["digest"] for run in runs] == [run["digest"] for run in two.json()["runs"]]
    assert len({run["digest"] for run in runs}) == 4

    kept = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "one" / "runs").iterdir()}
    (tmp_path / "one" / "runs" / "load0.5-seed1.json").unlink()
    again = call("simulate", study, "--out", tmp_path / "one", "--resume", "--json")

    assert [run["digest"] for run in again.json()["runs"]] == [run["digest"] for run in runs]
    fresh = {file.name for file in (tmp_path / "one" / "runs").iterdir() if file.stat().st_mtime_ns != kept[file.name]}
    assert fresh == {"load0.5-seed1.json", "load0.5-seed1.links.parquet"}


@pytest.mark.slow
def test_results_traces_and_pictures_are_written(study: Path, tmp_path: Path) -> None:
    """A study writes one row per run and level, every delivery, a picture and a page."""
    called = call("simulate", study, "--out", tmp_path / "out", "--trace", "--json")

    done = called.json()
    assert called.status == 0, called.err
    results = pl.read_parquet(done["results"])
    assert len(results) == 8
    assert set(results["sl"]) == {0, 1}
    assert results["accepted"].sum() == pytest.approx(
        sum(level["accepted"] for run in done["runs"] for level in run["per_sl"])
    )
    trace = pl.read_parquet(tmp_path / "out" / "runs" / "load0.2-seed1.trace.parquet")
    window = trace.filter((pl.col("delivered_cycle") >= 500) & (pl.col("delivered_cycle") < 3000))
    assert len(window) == sum(level["packets"] for level in done["runs"][0]["per_sl"])
    assert trace["flits"].max() == 8
    assert (tmp_path / "out" / "study.png").read_bytes().startswith(b"\x89PNG")
    assert_whole(tmp_path / "out" / "study.html")
    for level in done["runs"][0]["per_sl"]:
        assert level["offered"] == pytest.approx(0.1, rel=0.15)
        assert level["latency_p50_cycles"] <= level["latency_p99_cycles"] <= level["latency_max_cycles"]


def test_lanes_that_sent_nothing_have_no_mean(study: Path, tmp_path: Path) -> None:
    """Links without packets have no mean queueing time."""
    study.write_text(STUDY.replace("share", 'pattern = "neighbour"\nshare'))

    called = call("simulate", study, "--out", tmp_path / "out")

    assert called.status == 0, called.err
    links = pl.read_parquet(tmp_path / "out" / "runs" / "load0.5-seed1.links.parquet")
    idle, busy = links.filter(pl.col("packets") == 0), links.filter(pl.col("packets") > 0)
    assert idle["mean_queue_cycles"].null_count() == len(idle) > 0
    assert idle["mean_queue_packets"].sum() == 0
    assert busy["mean_queue_packets"].max() > 0.1
    assert busy["mean_queue_cycles"].null_count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but(EXAMPLES - OWN_KERNELS, sorted(EXAMPLES)))
def test_every_example_runs(name: str, tmp_path: Path) -> None:
    """Each shipped study runs in a shortened form and is saturated only if intended."""
    text = (CONFIGS / f"{name}.toml").read_text()
    shutil.copytree(CONFIGS, tmp_path, dirs_exist_ok=True)
    content, lines = tomllib.loads(text), []
    makes_any = all("load" not in each for each in content.get("traffic", []))
    least = 0.1 if makes_any else content["run"]["loads"][0]
    for line in text.splitlines():
        key, _, value = (part.strip() for part in line.partition("="))
        short = {"cycles": "cycles = 600", "warm_up_cycles": "warm_up_cycles = 200", "seeds": "seeds = [1]"}
        short["loads"] = f"loads = [{least}]"
        if key == "cycle":
            cycle = int(value.split("#")[0])
            short["cycle"] = f"cycle = {cycle if cycle < 600 else cycle * 600 // content['run']['cycles']}"
        lines.append(short.get(key, line))
    study = tmp_path / f"{name}.toml"
    study.write_text("\n".join(lines))

    called = call("simulate", study, "--out", tmp_path / "out", "--json")

    assert called.status == 0, called.err
    (run,) = called.json()["runs"]
    assert run["flit_hops"] > 0
    assert run["saturated"] == (name in HOT_SPOTS)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("k = 2", "k = 1", [":3:", "network.k", "at least 2", "1"]),
        ("k = 2", "kk = 2", [":3:", "network.kk", "known key", "did you mean k?"]),
        ('"tree"', '"ring"', ["network.topology", "ring"]),
        ("share = 0.5", "share = 0.4", ["traffic", "the sum of the shares is 0.9", "0.9"]),
        ("blocks = 64", "blocks = 8", ["buffers.blocks", "at least 9", "8"]),
        ("blocks = 64", "blocks = 64\nminimum_blocks = 4", ["minimum_blocks of VL 1", "at least 8", "4"]),
        ("cycles = 3000", "cycles = 500", ["warm_up_cycles", "below cycles"]),
        ("cycles = 3000", "cycle = 3000", ["run.cycle", "known key"]),
        ("bytes = [64, 512]", "bytes = [512, 64]", ["bytes", "[least, most]", "[512, 64]"]),
        ("bytes = [64, 512]", 'pattern = "transpose"\nhot_share = 0.1', ["hot_hosts", "missing"]),
        ("bytes = [64, 512]", "hot_share = 0.1\nhot_hosts = [4]", ["traffic.1.hot_hosts", "0 to 3", "4"]),
        ("sl = 1\n", 'sl = "path"\n', ["traffic.1.sl", "captured fabric", "path"]),
        (
            "[buffers]",
            '[scheduler]\nname = "drr"\n[buffers]',
            ["scheduler.table", "scheduler drr needs a table file", "missing"],
        ),
        ("[buffers]", '[scheduler]\nname = "drr"\ntable = "no.toml"\n[buffers]', ["no.toml", "cannot be read"]),
        ("[network]", "[network", ["TOML"]),
        ("[buffers]", '[switch]\nkind = "opal"\n[buffers]', ["switch.kind", "one of ib, opa", "opal"]),
        ("[buffers]", '[switch]\nkind = "opa"\nallocation = "fifo"\n[buffers]', ["switch.allocation", "turns", "fifo"]),
        (
            "[buffers]",
            '[switch]\nkind = "opa"\ncrossbar = "per_vl"\n[buffers]',
            ["switch.crossbar", "multiplexed or flits with switch.kind opa", "per_vl"],
        ),
        (
            "[buffers]",
            '[switch]\nallocation = "fifo"\niterations = 2\n[buffers]',
            ["switch.iterations", "1 with allocation fifo and crossbar multiplexed", "2"],
        ),
        (
            "[buffers]",
            '[switch]\nallocation = "fifo"\ncrossbar = "flits"\n[buffers]',
            ["switch.allocation", "turns with switch.crossbar flits", "fifo"],
        ),
        (
            "[buffers]",
            '[switch]\ncrossbar = "flits"\niterations = 2\n[buffers]',
            ["switch.iterations", "1 with allocation turns and crossbar flits", "2"],
        ),
        (
            "[buffers]",
            '[switch]\nkind = "opa"\niterations = 2\n[buffers]',
            ["switch.iterations", "1 with switch.kind opa", "2"],
        ),
        (
            "[buffers]",
            '[switch]\ncrossbar = "per_vl"\nspeed = 2\n[buffers]',
            ["switch.speed", "1 with allocation turns and crossbar per_vl", "2"],
        ),
        ("[buffers]", '[switch]\nkind = "opa"\nspeed = 2\n[buffers]', ["switch.speed", "1 with switch.kind opa", "2"]),
        ("[buffers]", "[switch]\nspeed = 3\n[buffers]", ["switch.speed", "3"]),
        ("[buffers]", "[switch]\niterations = 9\n[buffers]", ["switch.iterations", "9"]),
        ("[buffers]", "[link]\nfcp_blocks = 2\n[buffers]", ["link.fcp_blocks cannot be used"]),
        (
            "[buffers]",
            '[link]\ncredits = "fcp"\nfcp_period_cycles = 2\n[buffers]',
            ["fcp_period_cycles", "more than 2", "not 2"],
        ),
        (
            "[buffers]",
            '[link]\ncredits = "fcp"\nfcp_period_cycles = 100000\n[buffers]',
            ["link.fcp_period_cycles", "less than run.stuck_cycles, by default 100000", "not 100000"],
        ),
        ("[buffers]", _SHARED_UNIT, ["scheduler.parameters.units", "per_requester", "shared cannot be simulated"]),
        ("[buffers]", '[link]\ncredits = "absolute"\n[buffers]', ["link.credits", "one of returns, fcp,", "absolute"]),
        (
            "[buffers]",
            '[switch]\nkind = "opa"\n[link]\ncredits = "fcp"\n[buffers]',
            ["link.credits cannot be used with switch.kind opa"],
        ),
        (
            "[buffers]\nblocks = 64",
            '[link]\ncredits = "fcp"\n[buffers]\nblocks = 5000',
            ["minimum_blocks of VL 0", "at most 2048", "2500"],
        ),
        (
            "[buffers]\nblocks = 64",
            '[link]\ncredits = "fcp"\n[buffers]\nblocks = 64\nminimum_blocks = 20\nmaximum_blocks = 30',
            ["maximum_blocks of VL 0", "equal to the minimum, 20", "30"],
        ),
        (
            "[buffers]",
            "[switch]\ncentral_blocks = 9\n[buffers]",
            ["switch.central_blocks cannot be used with switch.kind ib"],
        ),
        ("[buffers]", '[switch]\nkind = "opa"\ncentral_blocks = 8\n[buffers]', ["switch.central", "at least 9", "8"]),
        (
            "[buffers]",
            f'[switch]\nkind = "opa"\n[link]\nvl_of_sl = {[0] * 16}\n[buffers]',
            ["link.vl_of_sl cannot be used with switch.kind opa"],
        ),
        (
            "[buffers]",
            f"[link]\nvl_of_sc = {[0] * 32}\n[buffers]",
            ["link.vl_of_sc cannot be used with switch.kind ib"],
        ),
        ("[buffers]", "[link]\ndata_vls = 16\n[buffers]", ["link.data_vls", "1 to 15", "16"]),
        ("sl = 1\n", "sl = 16\n", ["traffic.1.sl", "0 to 15", "16"]),
        (
            "[buffers]",
            f'[switch]\nkind = "opa"\n[link]\nvl_of_sc = {[15] * 32}\n[buffers]',
            ["VL of SL 0", "0 to 0", "255"],
        ),
    ],
)
def test_bad_study_is_refused(old: str, new: str, words: list[str], study: Path) -> None:
    """Given an invalid study, one line names file or field, and no results are written."""
    study.write_text(STUDY.replace(old, new, 1))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), *words)
    assert not (study.parent / "out" / "results.parquet").exists()


@pytest.mark.parametrize("name", PERMUTATIONS)
def test_permutations_are_permutations(name: str) -> None:
    """Each permutation is a bijection, and symmetric ones are their own inverse."""
    for topology in (torus((4, 4)), tree(4, 2)):
        to = permutation(name, topology)
        assert sorted(to) == list(range(16))
        if name in {"complement", "reversal", "transpose"}:
            assert all(to[to[host]] == host for host in range(16))
    assert permutation("complement", tree(2, 2)) == (3, 2, 1, 0)
    assert permutation("reversal", tree(2, 3))[1] == 4
    assert permutation("transpose", tree(2, 4))[1] == 4
    assert permutation("tornado", torus((5, 4)))[0] == 2 + 5 * 1
    assert permutation("neighbour", torus((3, 3), hosts=2))[2 * 8 + 1] == 2 * 0 + 1


@pytest.mark.parametrize(("name", "hosts"), [("complement", 3), ("reversal", 6), ("transpose", 8)])
def test_permutation_that_does_not_suit_is_refused(name: str, hosts: int) -> None:
    """Given an unsuitable number of hosts, a permutation is refused."""
    with pytest.raises(InputError, match="number of hosts"):
        permutation(name, dumbbell(hosts - 1, 1))


@pytest.mark.parametrize(
    ("traffic", "shares"),
    [
        (TrafficClass(0, 0.5, 64, 64), dict.fromkeys(range(4), 1 / 4)),
        (TrafficClass(0, 0.5, 64, 64, pattern="others"), {0: 0.0, 1: 1 / 3, 2: 1 / 3, 3: 1 / 3}),
        (TrafficClass(0, 0.5, 64, 64, hot_share=0.5, hot_hosts=(3,)), {0: 1 / 8, 1: 1 / 8, 2: 1 / 8, 3: 5 / 8}),
        (TrafficClass(0, 0.5, 64, 64, burst=5), dict.fromkeys(range(4), 1 / 4)),
        (TrafficClass(0, 0.5, 64, 64, regular=True), dict.fromkeys(range(4), 1 / 4)),
    ],
    ids=["uniform", "others", "hot-spot", "bursts", "regular"],
)
def test_destinations_and_load_are_as_asked(traffic: TrafficClass, shares: dict[int, float]) -> None:
    """Destinations and load of host 0 follow the class's parameters over 40,000 cycles."""
    topology, cycles = dumbbell(2, 2), 40_000
    net = made(topology, up_down(topology, IDENTITY), lanes=1, classes=[traffic], cycles=cycles)
    found: Counter[int] = Counter()
    messages = new_messages(0)
    while net.sources.due[0, 0] < cycles:
        found[draw_packet(net.sources, messages, 0, 0)[0]] += 1
        advance_class(net.sources, messages, 0, 0, int(net.sources.due[0, 0]))

    whole = sum(found.values())
    assert whole / cycles == pytest.approx(0.5, rel=0.03)
    for to, share in shares.items():
        assert found[to] / whole == pytest.approx(share, abs=0.015)


def test_regular_traffic_has_equal_distances() -> None:
    """Regular traffic of load 0.3 has packets 3 or 4 cycles apart, 1,000 cycles per 300 packets."""
    topology = dumbbell(1, 1)
    net = made(
        topology, up_down(topology, IDENTITY), lanes=1, cycles=10, classes=[TrafficClass(0, 0.3, 64, 64, regular=True)]
    )
    times = []
    for _ in range(301):
        times.append(int(net.sources.due[0, 0]))
        advance_class(net.sources, new_messages(0), 0, 0, times[-1])

    assert {later - sooner for sooner, later in pairwise(times)} == {3, 4}
    assert times[-1] - times[0] == pytest.approx(1000, abs=1)


def test_port_used_twice_is_refused() -> None:
    """Given a port with two cables, the topology is refused."""
    with pytest.raises(InputError, match="switch 0 port 0 has two cables"):
        Topology("wrong", 2, 2, (((0, 0), (1, 0)),), ((0, 0), (1, 1)))


def test_random_networks_differ_by_seed_only() -> None:
    """Random networks depend only on the seed and connect each pair of switches at most once."""
    one, same, other = (irregular(10, ports=8, hosts=4, seed=seed) for seed in (1, 1, 2))

    assert one == same
    assert one.cables != other.cables
    pairs = [tuple(sorted((a[0], b[0]))) for a, b in one.cables]
    assert len(set(pairs)) == len(pairs)


def test_load_shows_saturation() -> None:
    """Given all hosts sending to host 0, host 0 receives exactly one flit per cycle."""
    topology = tree(2, 2)
    classes = [TrafficClass(0, 0.9, 64, 64, hot_share=1.0, hot_hosts=(0,))]
    net = made(topology, dmodk(topology, IDENTITY), lanes=1, classes=classes, cycles=5000, warm_up=1000, blocks=16)

    run_to(net, 5000)

    assert net.meters.total[0, 1] == 4000


def test_kept_run_of_another_study_is_not_taken(study: Path, tmp_path: Path) -> None:
    """Given a stored run with another key or damaged content, the run is repeated."""
    told: list[float] = []
    study.write_text(STUDY.replace("loads = [0.2, 0.5]", "loads = [0.2]").replace("seeds = [1, 2]", "seeds = [1]"))
    sweep = make_sweep(read_study_file(study))
    for _ in range(2):
        (first,) = run_sweep(sweep, tmp_path, jobs=1, resume=True, trace=False, told=lambda *_: told.append(1))
    file = tmp_path / "runs" / "load0.2-seed1.json"
    document = json.loads(file.read_text())
    assert document["result"]["digest"] == first.result.digest
    file.write_text(json.dumps({**document, "key": "other", "result": {**document["result"], "digest": "wrong"}}))

    (again,) = run_sweep(sweep, tmp_path, jobs=1, resume=True, trace=False, told=lambda *_: None)

    assert again.result.digest == first.result.digest
    file.write_text("{")
    (once_more,) = run_sweep(sweep, tmp_path, jobs=1, resume=True, trace=False, told=lambda *_: None)
    assert once_more.result.digest == first.result.digest
