"""Tori of the Deficit Table study without datelines: one VL for each level, with a circular dependency in every ring.

    python bench/without_datelines.py [--network torus88] [--cycles 12000] [--load 0.9935]

`vlane simulate` refuses such a study. Packets have one flit, with one message per visit (``docs/studies/dtable.md``).
The output tells for each switch kind in which cycle the network is stuck, or the NC latency.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from vlane.golden.topologies.routing import dimension_order
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.studies.study_dtable_cases import ONE_MESSAGE, SWITCHES, cases
from vlane.sim_top.study.simulate import StuckError, simulate

__all__ = ["main", "world_of"]


def world_of(network: str, switch: str, changes: dict[str, Any]) -> World:
    """Return a torus with the forwarding tables of dimension order and a single VL for each level."""
    wanted = {"network": network, "switch": switch, "variant": ONE_MESSAGE}
    case = next(each for each in cases("main", quick=True) if each.labels == wanted)
    lmc = case.study.study.network.lmc
    file = case.study.with_({"network.routing": "updown", "network.lmc": 0, **changes})
    world = make_world(file.study, file.base)
    keeps_member = file.study.switch.record.by_channel
    dor = dimension_order(world.topology, 1, keeps_member=keeps_member, lmc=lmc)
    return replace(world, routes=replace(world.routes, lft=dor.lft, lids=dor.lids))


def main() -> None:
    """Run both switch kinds and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--network", default="torus88", choices=["torus88", "torus888"])
    parser.add_argument("--cycles", type=int, default=12_000)
    parser.add_argument("--load", type=float, default=0.9935)
    given = parser.parse_args()
    for switch in SWITCHES:
        changes = {"run.cycles": given.cycles, "run.warm_up_cycles": given.cycles // 3, "run.stuck_cycles": 2000}
        world = world_of(given.network, switch, changes)
        try:
            result, _ = simulate(world, load=given.load, seed=1, with_tables=False)
        except StuckError as error:
            print(f"{given.network} {switch} load {given.load}: STUCK {str(error).splitlines()[0]}")
            continue
        shares = " ".join(f"{each.accepted / each.offered:.3f}" for each in result.per_sl)
        latency = world.study.link.clock.ns(result.per_sl[0].latency_mean_cycles)
        print(f"{given.network} {switch} load {given.load}: NC {latency:.0f} ns, accepted / offered {shares}")


if __name__ == "__main__":
    main()
