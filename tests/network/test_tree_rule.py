"""Trees that forward by rule, against forwarding tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import STUDY, assert_refused, call
from tests.network.networks import IDENTITY, made, replayed
from vlane.golden.switches.inputs import output_of
from vlane.golden.topologies.routing import dmodk
from vlane.golden.topologies.topology import Topology, fat_tree, tree
from vlane.tables.lft import UNASSIGNED


@pytest.fixture
def by_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a subnet to three LIDs, so that larger trees forward by rule."""
    for module in ("golden.topologies.routing", "sim_top.study.study_runs", "sim_top.cosim.network_hardware"):
        monkeypatch.setattr(f"vlane.{module}.FIRST_MULTICAST", 4)


@pytest.mark.parametrize(
    ("topology", "lmc"),
    [(tree(4, 3), 0), (tree(3, 2), 1), (fat_tree(4, 3), 0), (fat_tree(8, 2), 2), (tree(2, 1), 0)],
    ids=str,
)
def test_rule_and_tables_of_a_tree_are_one(topology: Topology, lmc: int) -> None:
    """Rule and table give the same output for every LID at every switch, and equal deliveries."""
    by_table, by_rule = (dmodk(topology, IDENTITY, lmc=lmc, by_rule=each) for each in (False, True))
    trace = [(at, at * 7 % len(topology.hosts), at * 5 % len(topology.hosts), 0, 200) for at in range(400)]
    nets = [made(topology, each, lanes=1, trace=trace, cycles=1500, largest=8) for each in (by_table, by_rule)]
    bits = nets[1].switches.inputs.port_bits

    for switch, row in enumerate(by_table.lft):
        found = [output_of(nets[1].switches.inputs, switch << bits, lid) for lid in range(len(row) + 2)]
        assert found == [*row.tolist(), UNASSIGNED, UNASSIGNED]
    assert by_rule.lft.size == 0
    assert replayed(nets[0], 1500) == replayed(nets[1], 1500)


@pytest.mark.usefixtures("by_rule")
def test_features_that_need_tables_are_refused(study: Path) -> None:
    """Given ``--trace``, hardware or rewrites in a network that forwards by rule, the run is refused."""
    out, rewrite = study.parent / "out", "[[rewrite]]\ncycle = 5\nswitch = 0\nlid = 1\nport = 1\n"
    assert_refused(call("simulate", study, "--out", out, "--trace"), "--trace cannot be used with more than 3 LIDs")
    assert_refused(
        call("cosim", "network", study, "--rtl", "0"), "network: 4 LIDs exceed the limit of switches in hardware, 3"
    )
    study.write_text(STUDY + rewrite)
    assert_refused(call("simulate", study, "--out", out), "rewrite cannot be used in a network that forwards by rule")


@pytest.mark.usefixtures("by_rule")
def test_run_by_rule_is_reported(study: Path) -> None:
    """A run with forwarding by rule reports the fact on stderr."""
    study.write_text(STUDY.replace("cycles = 3000", "cycles = 700"))

    called = call("simulate", study, "--out", study.parent / "out")

    assert called.status == 0
    assert "4 LIDs exceed a subnet's 3: switches forward by rule" in called.err
