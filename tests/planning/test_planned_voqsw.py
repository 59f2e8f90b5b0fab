"""Studies with ``[voqsw]``: planned tables, and hosts counted separately."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import assert_refused, call
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.simulate import simulate
from vlane.study.file import study_of

NETWORK = {"topology": "irregular", "switches": 8, "ports": 8, "hosts_per_switch": 4, "seed": 3}
BASE: dict[str, Any] = {
    "network": NETWORK,
    "link": {"flit_bytes": 8},
    "buffers": {"blocks": 128, "minimum_blocks": 16, "maximum_blocks": 16},
    "scheduler": {"name": "rr"},
    "traffic": [{"sl": "path", "bytes": 58, "pattern": "others"}],
    "run": {"loads": [0.4], "cycles": 1500, "warm_up_cycles": 300},
}
TEXT = """
[network]
topology = "irregular"
switches = 6
ports = 6
hosts_per_switch = 2
[voqsw]
sls = 4
vls = 6
[[traffic]]
sl = "path"
[run]
loads = [0.2]
cycles = 400
warm_up_cycles = 100
"""


def world_of(**sections: Any) -> World:
    return make_world(study_of({**BASE, **sections}, Path()).study, Path())


def lanes_of(world: World, source: int, to: int) -> list[tuple[int, int]]:
    """Return (VL, output) at each switch of a path, following the tables."""
    routes, far = world.routes, world.topology.far_ends()
    switch, port = world.topology.hosts[source]
    sl = int(world.path_sl[source, to])
    lane, found = int(routes.nic_vl[source, sl]), []
    while True:
        output = int(routes.lft[switch, routes.lids[to, 0]])
        found.append((lane, output))
        lane = int(routes.vl[switch, port, output, sl])  # type: ignore[union-attr]
        if (switch, output) not in far:
            assert (switch, output) == world.topology.hosts[to]
            return found
        switch, port = far[switch, output]


@pytest.mark.parametrize("vls", [8, 3])
def test_with_full_voq_every_packet_is_in_the_vl_of_its_output(vls: int) -> None:
    """With full VOQ, every packet is in the VL of its output at every switch of its path.

    With fewer VLs than outputs, outputs share VLs.
    """
    world = world_of(voqsw={"sls": "full", "vls": vls, "first_vl": "output"})

    hosts = range(len(world.topology.hosts))
    hops = [hop for source in hosts for to in hosts if to != source for hop in lanes_of(world, source, to)]
    assert len(hops) > 2000
    assert all(lane == output % vls for lane, output in hops)


def test_the_first_vl_goes_by_the_level_unless_the_output_chooses_it() -> None:
    """The option ``first_vl`` changes only the VL at the first switch."""
    by_level, by_output = (world_of(voqsw={"sls": 8, "first_vl": first}) for first in ("level", "output"))

    ways = [(lanes_of(by_level, 0, to), lanes_of(by_output, 0, to)) for to in range(1, 32)]
    assert all(one[1:] == other[1:] for one, other in ways)
    assert any(one[0] != other[0] for one, other in ways)
    assert by_level.path_sl.max() < 8 < by_output.routes.nic_vl.shape[1]


def test_a_planned_network_is_the_folder_that_the_command_writes(tmp_path: Path) -> None:
    """A network planned in a study delivers like the fabric written by ``vlane voqsw``."""
    done = call("voqsw", "--topology", "irregular:8", "--seed", 3, "--sls", 8, "--vls", 8, "--out", tmp_path / "fabric")
    assert done.status == 0
    planned = world_of(voqsw={"sls": 8, "vls": 8})
    folder = {"topology": "fabric", "folder": "fabric"}
    written = make_world(study_of({**BASE, "network": folder}, tmp_path).study, tmp_path)

    results = [simulate(world, load=0.4, seed=5)[0] for world in (planned, written)]
    assert results[0].digest == results[1].digest
    assert results[0].accepted > 0.1


def test_hosts_apart_have_rows_of_their_own() -> None:
    """Hosts counted separately have rows with SL + 16, and nothing else changes."""
    hot = [{"sl": 2, "bytes": 58, "pattern": "others", "hot_share": 0.3, "hot_hosts": [5]}]
    flows = {"flows": True}
    together = simulate(world_of(traffic=hot, measure=flows, link={"data_vls": 8, "flit_bytes": 8}), load=0.4, seed=2)
    apart = simulate(
        world_of(traffic=hot, measure={**flows, "apart": [5]}, link={"data_vls": 8, "flit_bytes": 8}), load=0.4, seed=2
    )

    assert together[0].digest == apart[0].digest
    (whole,), (others, its) = together[0].per_sl, apart[0].per_sl
    assert (whole.sl, others.sl, its.sl) == (2, 2, 18)
    assert others.packets + its.packets == whole.packets
    assert others.offered + its.offered == pytest.approx(whole.offered)
    to_it = apart[1]["flows"].filter(apart[1]["flows"]["destination"] == 5)
    assert its.packets == to_it["packets"].sum() > 0


def test_levels_beyond_the_rows_are_counted_again_from_the_first() -> None:
    """With 40 SLs, results are counted modulo 32 and no packet is lost."""
    world = world_of(network={**NETWORK, "switches": 16}, voqsw={"sls": 40, "rest": "spread"})
    result = simulate(world, load=0.1, seed=1)[0]

    assert world.routes.nic_vl.shape[1] == 40
    assert np.unique(world.path_sl).tolist() == list(range(40))
    assert [level.sl for level in result.per_sl] == list(range(32))
    assert result.accepted == pytest.approx(result.offered, rel=0.1)


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("sls = 4", "sls = 0", ["voqsw.sls", "1"]),
        ("sls = 4", 'sls = "all"', ["voqsw.sls", "full"]),
        ("vls = 6", "vls = 16", ["voqsw.vls", "15"]),
        ("vls = 6", 'search = "best"', ["voqsw.search", "growth"]),
        ("vls = 6", 'first_vl = "host"', ["voqsw.first_vl", "output"]),
        ('sl = "path"', "sl = 3", ["traffic.0.sl", "path with [voqsw]"]),
        ("[voqsw]", "[link]\ndata_vls = 3\n[voqsw]", ["link.data_vls", "at least voqsw.vls, 6"]),
        (
            "[voqsw]",
            "[link]\nvl_of_sl = [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]\n[voqsw]",
            ["link.vl_of_sl cannot be used with [voqsw]"],
        ),
        ("[voqsw]", '[switch]\nkind = "opa"\n[voqsw]', ["voqsw cannot be used with switch.kind opa"]),
        ("[run]", "[measure]\napart = [12]\n[run]", ["measure.apart", "0 to 11", "12"]),
        (
            'topology = "irregular"\nswitches = 6\nports = 6\nhosts_per_switch = 2',
            'topology = "torus"\nsize = [3, 3]',
            ["chooses VLs by incoming VL"],
        ),
        (
            'topology = "irregular"\nswitches = 6\nports = 6\nhosts_per_switch = 2',
            'topology = "tree"\nk = 2\nn = 2\nlmc = 1',
            ["several LIDs"],
        ),
    ],
)
def test_bad_sections_are_refused(tmp_path: Path, old: str, new: str, names: list[str]) -> None:
    """Given a bad section, one line names file and key."""
    assert old in TEXT
    study = tmp_path / "study.toml"
    study.write_text(TEXT.replace(old, new))

    assert_refused(call("simulate", study, "--out", tmp_path / "out"), *names)


def test_more_levels_than_a_packet_has_are_for_golden_alone(tmp_path: Path) -> None:
    """More than 16 SLs are reported in golden and refused for traces and hardware."""
    study = tmp_path / "study.toml"
    study.write_text(TEXT.replace("sls = 4", "sls = 20"))

    said = call("simulate", study, "--out", tmp_path / "out")
    assert said.status == 0
    assert "20 SLs exceed the 16 of a packet header" in said.err
    assert_refused(call("simulate", study, "--out", tmp_path / "traced", "--trace"), "--trace", "16 SLs")
    assert_refused(call("cosim", "network", study, "--rtl", "0"), "voqsw.sls", "1 to 16", "20")
