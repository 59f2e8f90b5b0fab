"""Trees whose switches forward by rule: the same as by tables."""

from __future__ import annotations

import pytest
from vlane.golden.network.routing import dmodk
from vlane.golden.network.topology import Topology, fat_tree, tree
from vlane.golden.switches.inputs import output_of

from tests.networks import IDENTITY, made, replayed
from vlane.lft import UNASSIGNED


@pytest.mark.parametrize(
    ("topology", "lmc"),
    [(tree(4, 3), 0), (tree(3, 2), 1), (fat_tree(4, 3), 0), (fat_tree(8, 2), 2), (tree(2, 1), 0)],
    ids=str,
)
def test_rule_and_tables_of_a_tree_are_one(topology: Topology, lmc: int) -> None:
    """The same output at every switch for every LID, those of nobody too; the same deliveries."""
    by_table, by_rule = (dmodk(topology, IDENTITY, lmc=lmc, by_rule=each) for each in (False, True))
    trace = [(at, at * 7 % len(topology.hosts), at * 5 % len(topology.hosts), 0, 200) for at in range(400)]
    nets = [made(topology, each, lanes=1, trace=trace, cycles=1500, largest=8) for each in (by_table, by_rule)]
    bits = nets[1].switches.inputs.port_bits

    for switch, row in enumerate(by_table.lft):
        found = [output_of(nets[1].switches.inputs, switch << bits, lid) for lid in range(len(row) + 2)]
        assert found == [*row.tolist(), UNASSIGNED, UNASSIGNED]
    assert by_rule.lft.size == 0
    assert replayed(nets[0], 1500) == replayed(nets[1], 1500)
