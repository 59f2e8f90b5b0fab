"""VOQsw: its stages against the paper's procedure, checks against planted faults, files read back."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import DATA, assert_refused, call
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.dumps.written import write_dumps
from vlane.fabric.model import Fabric
from vlane.golden.topologies.captured import from_fabric
from vlane.golden.topologies.routing import Routes, up_down
from vlane.golden.topologies.topology import Topology, irregular
from vlane.planning.voqsw import VOQswPlan, lanes_left, levels_left, make_tables, plan_voqsw
from vlane.planning.voqsw_checks import find_clashes, find_misplaced, waiting_circle
from vlane.planning.voqsw_colouring import colour_paths, least_levels
from vlane.planning.voqsw_layers import kept_layers
from vlane.planning.voqsw_paths import Tuples, find_tuples, follow_paths
from vlane.planning.voqsw_search import assign_sls, grow, largest
from vlane.sim_top.fabric.voqsw_fabric import as_fabric, programmed
from vlane.sim_top.scenario.planned_voqsw import as_cabled

CAPTURES = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
SAME = tuple(sl % 8 for sl in range(16))
LINE = Topology("line", 3, 3, (((0, 1), (1, 1)), ((1, 2), (2, 1))), ((0, 0), (1, 0), (2, 0)))
"""Three switches in a row, a host at port 0 of each."""


def network(topology: Topology) -> tuple[Routes, Tuples]:
    routes = up_down(topology, SAME)
    return routes, find_tuples(follow_paths(as_cabled(topology, routes), routes.lft))


def tables_of(plan: VOQswPlan, routes: Routes, sls: int, vls: int) -> Any:
    return make_tables(plan, levels_left(sls, ()), lanes_left(vls, ()), routes.vl, routes.nic_vl)


def restarts(tuples: Tuples, sls: int) -> tuple[int, list[int]]:
    """Return the number of tuples considered and the SL of each path by the paper's figure 5."""
    neighbours = [
        [other for other in range(len(tuples.row)) if tuples.row[other] == row and other != each]
        for each, row in enumerate(tuples.row)
    ]
    found: tuple[int, list[int]] = (0, [0] * (len(tuples.first) - 1))
    for considered in range(1, len(tuples.weight) + 1):
        used: set[tuple[int, int]] = set()
        chosen = []
        for start, end in zip(tuples.first[:-1], tuples.first[1:], strict=True):
            mine = [int(each) for each in tuples.passed[start:end] if each < considered]
            valid = [not any((n, sl) in used for each in mine for n in neighbours[each]) for sl in range(sls)]
            if not any(valid):
                return found
            chosen.append(valid.index(True))
            used |= {(each, chosen[-1]) for each in mine}
        found = considered, chosen
    return found


def test_stages_on_three_switches_in_a_row() -> None:
    """For three switches in a row, tuples, weights, SLs and tables equal values found by hand."""
    routes, tuples = network(LINE)
    plan = plan_voqsw(tuples, 2)
    made = tables_of(plan, routes, 2, 3)

    assert tuples.place.tolist() == [
        [0, 0, 1, 0],
        [0, 0, 1, 2],
        [1, 0, 1, 0],
        [1, 0, 2, 0],
        [1, 1, 2, 0],
        [1, 2, 1, 0],
        [2, 0, 1, 0],
        [2, 0, 1, 1],
    ]
    assert tuples.weight.tolist() == [1] * 8
    pairs = list(zip(tuples.paths.source.tolist(), tuples.paths.target.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert plan.path_level.tolist() == [0, 1, 0, 0, 0, 1]
    assert (plan.full, plan.levels_used, plan.share) == (True, 2, 1.0)
    assert made.vl[0, 0, 1, :2].tolist() == [0, 2]  # to the host of switch 1, to switch 2
    assert made.vl[2, 0, 1, :2].tolist() == [1, 0]
    assert made.vl[1, 1, 2, :2].tolist() == [0, 0]  # SL 1 is planned, SL 0 is unused: 0 modulo 3
    assert made.vl[1, 2, 1, :2].tolist() == [0, 1]
    assert (made.vl[..., 2:] == routes.vl[..., 2:]).all()


def test_one_service_level_separates_until_two_neighbours_meet() -> None:
    """With one SL, growth stops at the second tuple, a neighbour of the first."""
    plan = plan_voqsw(network(LINE)[1], 1)

    assert (plan.considered, plan.share, plan.full, plan.levels_for_full) == (1, 1 / 8, False, 2)


def test_weights_count_paths_and_equal_ones_stand_in_order() -> None:
    """A tuple's weight is its number of paths, and tuples are ordered by weight."""
    _, tuples = network(Topology("line", 3, 4, LINE.cables, ((0, 0), (0, 3), (1, 0), (2, 0))))

    assert tuples.weight.tolist() == sorted(tuples.weight.tolist(), reverse=True)
    heaviest = tuples.place[tuples.weight == 2].tolist()
    assert heaviest == [[1, 1, 2, 0], [2, 0, 1, 1]]
    assert int(tuples.weight.sum()) == len(tuples.passed)


@pytest.mark.parametrize(
    ("switches", "hosts", "sls", "seed"),
    [(8, 1, 3, 1), (8, 1, 6, 2), (8, 2, 5, 3), (6, 2, 4, 4), (12, 1, 4, 5), (7, 2, 9, 6)],
)
def test_growth_is_that_of_the_papers_restarts(switches: int, hosts: int, sls: int, seed: int) -> None:
    """Growth in one pass gives the tuples and SLs of the paper's restarts."""
    _, tuples = network(irregular(switches, ports=4 + hosts, hosts=hosts, seed=seed))

    considered, chosen = restarts(tuples, sls)
    assert grow(tuples, sls) == considered
    assert assign_sls(tuples, considered).tolist() == chosen
    assert largest(tuples, sls) >= considered


@pytest.mark.parametrize("seed", range(1, 6))
def test_no_colouring_needs_fewer_levels_than_destinations_share_a_row(seed: int) -> None:
    """The paper's rule needs as few SLs as the lower bound, which no colouring beats."""
    _, tuples = network(irregular(8, ports=8, hosts=4, seed=seed))
    whole = len(tuples.weight)
    coloured = colour_paths(tuples, whole, 64)

    assert coloured is not None
    assert find_clashes(tuples, whole, coloured) == []
    least = least_levels(tuples)
    assert int(coloured.max()) + 1 >= least
    assert int(assign_sls(tuples, whole).max()) + 1 == least
    assert colour_paths(tuples, whole, least - 1) is None


def test_colouring_considers_more() -> None:
    """In a network of 16 switches, colouring considers more tuples than growth without a clash."""
    _, tuples = network(irregular(16, ports=8, hosts=4, seed=3))

    growth, coloured = plan_voqsw(tuples, 8), plan_voqsw(tuples, 8, "colouring")

    assert (growth.considered, coloured.considered) == (98, 100)
    assert find_clashes(tuples, coloured.considered, coloured.path_level) == []
    assert coloured.levels_used <= 8


def test_growth_goes_on_over_many_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a pass does not change the result of growth."""
    _, tuples = network(irregular(8, ports=8, hosts=4, seed=2))
    whole = grow(tuples, 8), largest(tuples, 8)

    monkeypatch.setattr("vlane.planning.voqsw_search._MOST_BITS", 27)
    monkeypatch.setattr("vlane.planning.voqsw_search._AT_ONCE", 100)

    assert (grow(tuples, 8), largest(tuples, 8)) == whole


@pytest.mark.parametrize(("switches", "sls", "vls"), [(8, 16, 8), (8, 8, 8), (16, 8, 4), (16, 4, 15), (16, 1, 1)])
def test_tables_of_random_networks_hold(switches: int, sls: int, vls: int) -> None:
    """Tables of random networks have no clash, no misplaced packet and no credit loop.

    They use only the given SLs and VLs.
    """
    routes, tuples = network(irregular(switches, ports=8, hosts=4, seed=8))
    plan = plan_voqsw(tuples, sls)
    made = tables_of(plan, routes, sls, vls)
    paths = follow_paths(tuples.paths.cabled, routes.lft)
    lanes, group = plan.layers.lanes_of_each(lanes_left(vls, ())), plan.layers.group_of_hops(paths)

    assert find_clashes(tuples, plan.considered, made.path_sl) == []
    assert find_misplaced(paths, tuples.place[: plan.considered], lanes, group, made.vl, made.path_sl) == []
    assert waiting_circle(paths, made.vl, made.path_sl) == []
    assert int(made.path_sl.max()) < sls
    assert int(made.vl[..., :sls][made.vl[..., :sls] < 15].max()) < vls
    assert plan.full == (plan.levels_for_full <= sls)


def test_levels_and_lanes_that_are_set_aside_are_not_touched() -> None:
    """Entries of reserved SLs stay unchanged, and planned entries use no reserved VL."""
    routes, tuples = network(irregular(8, ports=8, hosts=4, seed=3))
    sls, vls = levels_left(4, (0, 2)), lanes_left(3, (0, 7))
    made = make_tables(plan_voqsw(tuples, 4), sls, vls, routes.vl, routes.nic_vl)

    assert (sls, vls) == ((1, 3, 4, 5), (1, 2, 3))
    others = [sl for sl in range(16) if sl not in sls]
    assert (made.vl[..., others] == routes.vl[..., others]).all()
    assert (made.nic_vl[:, others] == routes.nic_vl[:, others]).all()
    assert set(np.unique(made.path_sl).tolist()) <= set(sls)
    used = follow_paths(tuples.paths.cabled, routes.lft)
    assert set(np.unique(made.vl.reshape(-1, 16)[used.row][:, sls]).tolist()) == set(vls)


def test_paths_without_considered_tuples_may_take_turns() -> None:
    """With ``rest="spread"``, paths without considered tuples are spread evenly over the SLs.

    The SLs of other paths stay the same.
    """
    routes, tuples = network(irregular(16, ports=8, hosts=4, seed=1))
    lowest, turns = plan_voqsw(tuples, 8), plan_voqsw(tuples, 8, rest="spread")
    bound = tuples.through(turns.considered)[0]
    free = np.setdiff1d(np.arange(len(turns.path_level)), bound)
    made = tables_of(turns, routes, 8, 8)
    lanes, group = turns.layers.lanes_of_each(lanes_left(8, ())), turns.layers.group_of_hops(tuples.paths)

    assert lowest.considered == turns.considered
    assert (lowest.path_level[bound] == turns.path_level[bound]).all()
    assert not lowest.path_level[free].any()
    assert int(np.ptp(np.bincount(turns.path_level[free]))) <= 1
    place = tuples.place[: turns.considered]
    assert find_misplaced(tuples.paths, place, lanes, group, made.vl, made.path_sl) == []


class TestPlanted:
    """Planted faults and the check that reports each."""

    routes, tuples = network(irregular(8, ports=8, hosts=4, seed=8))
    plan = plan_voqsw(tuples, 12)
    made = tables_of(plan, routes, 12, 8)
    lanes = plan.layers.lanes_of_each(lanes_left(8, ()))
    group = plan.layers.group_of_hops(tuples.paths)

    def misplaced(self, vl: Any, path_sl: Any) -> list[Any]:
        place = self.tuples.place[: self.plan.considered]
        return find_misplaced(self.tuples.paths, place, self.lanes, self.group, vl, path_sl)

    def test_a_path_with_a_neighbours_level_clashes(self) -> None:
        """Two neighbouring tuples with one SL are reported as a clash."""
        row = self.tuples.row
        one = next(each for each in range(len(row)) if (row[:each] == row[each]).any())
        other = int(np.flatnonzero(row[:one] == row[one])[0])
        path = np.repeat(np.arange(len(self.plan.path_level)), np.diff(self.tuples.first))
        first, second = (int(path[self.tuples.passed == each][0]) for each in (one, other))
        path_sl = self.made.path_sl.copy()
        path_sl[first] = path_sl[second]

        clashes = find_clashes(self.tuples, self.plan.considered, path_sl)

        assert (*self.tuples.place[one, :3].tolist(), int(path_sl[first])) in [clash[:4] for clash in clashes]

    def test_an_entry_with_another_lane_misplaces_its_packets(self) -> None:
        """An entry with another VL is reported as a misplaced packet with actual and expected VL."""
        vl = self.made.vl.copy()
        switch, entered, out, to = self.tuples.place[0].tolist()
        vl[switch, entered, out] = (to + 1) % 8

        found = self.misplaced(vl, self.made.path_sl)

        assert (switch, entered, out, to, (to + 1) % 8, to, int(self.tuples.weight[0])) in found

    def test_forwarding_that_changed_misplaces_packets(self) -> None:
        """Changed forwarding tables are reported as misplaced packets."""
        assert self.plan.full
        moved = up_down(irregular(8, ports=8, hosts=4, seed=8), SAME, root=4)
        paths = follow_paths(self.tuples.paths.cabled, moved.lft)
        group = self.plan.layers.group_of_hops(paths)

        found = find_misplaced(paths, self.tuples.place, self.lanes, group, self.made.vl, self.made.path_sl)

        assert found

    def test_a_ring_on_one_lane_waits_for_itself(self) -> None:
        """A ring of three links on one VL is reported as a cycle, unless a dateline cuts it."""
        cables = tuple(((each, 1), ((each + 1) % 3, 2)) for each in range(3))
        ring = Topology("ring", 3, 3, cables, tuple((each, 0) for each in range(3)))
        routes = up_down(ring, SAME)
        for switch in range(3):
            routes.lft[switch, 1:] = [0 if host == switch else 1 for host in range(3)]
        paths = follow_paths(as_cabled(ring, routes), routes.lft)
        path_sl = np.zeros(6, np.int64)

        assert waiting_circle(paths, routes.vl, path_sl) == [(0, 1, 0), (1, 1, 0), (2, 1, 0)]
        routes.vl[0, :, 1] = 1  # the link from switch 0 now has VL 1, which is still one VL
        assert len(waiting_circle(paths, routes.vl, path_sl)) == 3
        routes.vl[0, 2, 1] = 2  # a dateline: packets through switch 0 change their VL
        assert waiting_circle(paths, routes.vl, path_sl) == []


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Topology, tables and path SLs written to files are read back unchanged."""
    topology = irregular(8, ports=8, hosts=4, seed=4)
    routes, tuples = network(topology)
    plan = plan_voqsw(tuples, 8)
    made = tables_of(plan, routes, 8, 8)
    fabric = programmed(as_fabric(topology, routes, data_vls=8), topology, tuples.paths, made)

    write_dumps(fabric, tmp_path)
    captured = from_fabric(load_fabric(tmp_path))

    assert (set(captured.topology.cables), captured.topology.hosts) == (set(topology.cables), topology.hosts)
    assert (captured.routes.lft[:, : routes.lft.shape[1]] == routes.lft).all()
    used = made.vl[..., :8].reshape(-1, 8)[tuples.paths.row]
    assert (captured.routes.vl[..., :8].reshape(-1, 8)[tuples.paths.row] == used).all()
    assert (captured.routes.nic_vl == made.nic_vl).all()
    assert (captured.path_sl[tuples.paths.source, tuples.paths.target] == made.path_sl).all()
    assert captured.data_vls == 8
    assert len(captured.vlarb) + len(captured.host_vlarb) == 2 * fabric.cables


@pytest.mark.parametrize("name", CAPTURES)
def test_dumps_of_a_capture_are_written_as_they_were_read(name: str, tmp_path: Path) -> None:
    """Given a capture that was read and written, every field is the same when it is read again."""
    before = load_fabric(DATA / name)
    write_dumps(before, tmp_path)

    after = load_fabric(tmp_path)

    about_files = {"name", "topology_file", "conf", "notes", "remarks"}
    for field in dataclasses.fields(Fabric):
        if field.name not in about_files:
            one, other = getattr(before, field.name), getattr(after, field.name)
            assert dict(one) == dict(other), field.name


@pytest.mark.parametrize("name", CAPTURES)
def test_tables_for_a_capture_pass_the_check_of_fabrics(name: str, tmp_path: Path) -> None:
    """Planned tables for a capture pass the fabric check and change only SL2VL and path SLs."""
    called = call("voqsw", "--fabric", DATA / name, "--sls", "16", "--vls", "4", "--out", tmp_path / "out", "--json")

    document = called.json()
    assert called.status == 0, document
    assert document["ok"]
    assert document["misplaced"] == document["clashes"] == []
    before, after = load_fabric(DATA / name), load_fabric(tmp_path / "out")
    assert check_fabric(after).ok
    assert (before.nodes, before.lfts, before.vlarb) == (after.nodes, after.lfts, after.vlarb)
    assert len(after.path_sls) == document["paths"]


def test_layers_that_prevent_credit_loops_are_kept() -> None:
    """Layers that prevent credit loops are kept, with separate SLs and VLs.

    LASH separates two layers by VL, and mixing them over four VLs would create a loop.
    """
    captured = from_fabric(load_fabric(DATA / "torus44_lash"))
    tuples = find_tuples(follow_paths(as_cabled(captured.topology, captured.routes), captured.routes.lft))
    paths = tuples.paths
    path_sl = captured.path_sl[paths.source, paths.target].astype(np.int64)
    layers = kept_layers(paths, captured.routes.vl, path_sl)

    plan = plan_voqsw(tuples, 8, layers=layers)
    made = tables_of(plan, captured.routes, 8, 4)
    loose = plan_voqsw(tuples, 8)
    mixed = tables_of(loose, captured.routes, 8, 4)

    assert (len(layers.sls), layers.groups) == (2, 2)
    assert (made.path_sl // 4 == path_sl).all()
    for layer in range(2):
        between = paths.row[~paths.last & (path_sl[paths.path] == layer)]
        lanes = made.vl.reshape(-1, 16)[between][:, 4 * layer : 4 * layer + 4]
        assert set(np.unique(lanes).tolist()) == {2 * layer, 2 * layer + 1}
    assert waiting_circle(paths, made.vl, made.path_sl) == []
    assert waiting_circle(paths, mixed.vl, mixed.path_sl)
    assert loose.levels_for_full < plan.levels_for_full


def test_layers_are_kept_only_where_a_loop_would_be() -> None:
    """Layers are kept only if their absence would create a credit loop."""
    few, many = (
        call("voqsw", "--fabric", DATA / "torus44_lash", "--sls", sls, "--vls", vls, "--json").json()
        for sls, vls in (("8", "4"), ("16", "8"))
    )

    assert (few["layers"], few["ok"], few["credit_loop"]) == (2, True, [])
    assert (many["layers"], many["ok"], many["full"]) == (1, True, True)


def test_too_few_levels_or_lanes_for_the_layers_are_refused() -> None:
    """Given fewer SLs or VLs than layers, the command is refused."""
    folder = DATA / "torus44_lash"

    assert_refused(call("voqsw", "--fabric", folder, "--sls", "1"), "--sls must be at least 2", "not 1")
    assert_refused(call("voqsw", "--fabric", folder, "--vls", "1"), "--vls must be at least 2", "not 1")
    assert_refused(
        call("voqsw", "--fabric", folder, "--vls", "4", "--search", "largest"),
        "--search must be growth if the network has 2 layers",
    )


def test_the_command_tells_what_it_planned() -> None:
    """The JSON document contains the plan, which depends only on topology and seed."""
    one, same, other = (
        call("voqsw", "--topology", "irregular:16", "--sls", "8", "--vls", "8", "--seed", seed, "--json").json()
        for seed in ("5", "5", "6")
    )

    assert (one["switches"], one["hosts"], one["paths"]) == (16, 64, 64 * 60 + 64 * 3)
    assert one["sls_used"] == 8 < one["sls_for_full"]
    assert 0 < one["tuples_considered"] < one["tuples"]
    assert 0 < one["voq_share"] < 1
    assert not one["full"]
    del one["seconds"], same["seconds"]
    assert one == same
    assert one["tuples"] != other["tuples"]


def test_more_levels_than_packets_have_bits_for_are_counted() -> None:
    """A plan may use more than 16 SLs, but then has no tables."""
    needed = call("voqsw", "--topology", "irregular:16", "--json").json()["sls_for_full"]
    full = call("voqsw", "--topology", "irregular:16", "--sls", str(needed), "--json").json()

    assert needed > 16
    assert (full["full"], full["voq_share"], full["sls_used"]) == (True, 1.0, needed)
    assert not full["tables_checked"]
    assert not call("voqsw", "--topology", "irregular:16", "--sls", str(needed - 1), "--json").json()["full"]


@pytest.mark.parametrize("word", ["tree:4,2", "fat_tree:4,3", "torus:3x4,2", "dumbbell:3,5", "irregular:8,6,2"])
def test_networks_by_word(word: str) -> None:
    """Planned tables of every generated topology pass the checks."""
    document = call("voqsw", "--topology", word, "--json").json()

    assert document["ok"]
    assert document["tables_checked"]


def test_a_study_runs_on_what_is_written(tmp_path: Path) -> None:
    """A study runs on a written fabric and uses the planned SLs."""
    assert call("voqsw", "--topology", "irregular:4,6,3", "--out", tmp_path / "planned").status == 0
    study = tmp_path / "study.toml"
    study.write_text(
        '[network]\ntopology = "fabric"\nfolder = "planned"\n\n[scheduler]\nname = "vlarb"\n\n'
        "[run]\nloads = [0.2]\nseeds = [1]\ncycles = 3000\nwarm_up_cycles = 500\n\n"
        '[[traffic]]\nsl = "path"\nshare = 1.0\nbytes = 256\n'
    )

    ran = call("simulate", study, "--out", tmp_path / "results", "--json").json()
    planned = call("voqsw", "--study", study, "--json").json()

    assert not any(level["saturated"] for level in ran["runs"][0]["per_sl"])
    assert len(ran["runs"][0]["per_sl"]) == planned["sls_used"] > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["network is missing: give one of --topology, --fabric and --study"]),
        (["--topology", "irregular:8", "--study", "x.toml"], ["--study cannot be used with --topology"]),
        (["--topology", "iregular:8"], ["--topology must be one of", "did you mean irregular?"]),
        (["--topology", "irregular"], ["--topology must be irregular:SWITCHES[,PORTS,HOSTS], not irregular:"]),
        (["--topology", "irregular:8,8"], ["--topology must be irregular:SWITCHES[,PORTS,HOSTS]"]),
        (["--topology", "irregular:8,4,4"], ["--topology irregular:8,4,4: ports must be at least hosts + 2"]),
        (["--topology", "tree:1,1"], ["--topology tree:1,1: k must be 2 to"]),
        (["--topology", "edges:none.txt"], ["none.txt: edge list cannot be read"]),
        (["--topology", "irregular:9999999"], ["switches times ports must be at most 65536"]),
        (["--topology", "irregular:8", "--sls", "17", "--out", "x"], ["--sls must be 1 to 16 with --out", "not 17"]),
        (["--topology", "irregular:8", "--sls", "0"], ["--sls must be 1 to 16, not 0"]),
        (["--topology", "irregular:8", "--vls", "16"], ["--vls must be 1 to 15, not 16"]),
        (["--topology", "irregular:8", "--vls", "14", "--aside-vls", "0,3"], ["--vls must be 1 to 13, as 0, 3 of 15"]),
        (["--topology", "irregular:8", "--aside-sls", "16"], ["--aside-sls must be numbers from 0 to 15", "not 16"]),
        (["--topology", "irregular:8", "--search", "all"], ["--search must be one of growth, largest, colo"]),
        (["--topology", "irregular:8", "--rest", "spred"], ["--rest must be one of", "did you mean spread?"]),
        (["--fabric", "tests"], ["no file of nodes and cables; expected one of ibnetdiscover.txt"]),
        (
            ["--fabric", str(DATA / "irregular_s1"), "--vls", "9"],
            ["--vls uses VL 8, but some ports run only VL 0 to 7"],
        ),
        (
            ["--fabric", str(DATA / "two_switch"), "--out", str(DATA / "two_switch")],
            ["--out: ", "is the fabric's own folder"],
        ),
    ],
    ids=lambda each: "-".join(each)[:40],
)
def test_bad_input_is_one_line(arguments: list[str], words: list[str]) -> None:
    """Given bad input, one line names the option and the possible values."""
    assert_refused(call("voqsw", *arguments), *words)


def test_datelines_by_lane_are_refused(tmp_path: Path) -> None:
    """Given routes that choose VLs by datelines, planning is refused."""
    study = tmp_path / "study.toml"
    study.write_text(
        '[network]\ntopology = "torus"\nsize = [4, 4]\n\n[run]\nloads = [0.2]\ncycles = 3000\nwarm_up_cycles = 500\n\n'
        "[[traffic]]\nsl = 0\nshare = 1.0\n"
    )

    assert_refused(call("voqsw", "--study", study), "study.toml: routing chooses VLs by incoming VL")


def test_pools_say_what_is_left() -> None:
    """The lowest SLs and VLs that are not reserved are used."""
    assert levels_left(3, (1,)) == (0, 2, 3)
    with pytest.raises(InputError, match="--vls must be 1 to 15, not 16"):
        lanes_left(16, ())


def test_sixty_four_switches_take_seconds() -> None:
    """Planning 64 switches takes less than 10 seconds of CPU time."""
    _, tuples = network(irregular(64, ports=8, hosts=4, seed=1))

    start = time.process_time()
    plan = plan_voqsw(tuples, 8)

    assert time.process_time() - start < 10
    assert 200 < plan.levels_for_full < 300
    assert 0.1 < plan.share < 0.3
