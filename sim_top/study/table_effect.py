"""Effect of scheduler tables: programmed and measured shares, and how often a table has a choice."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.network.clock import NOW
from vlane.golden.network.state import Network
from vlane.golden.schedulers.bank import Write
from vlane.golden.schedulers.served import backlogged_shares
from vlane.golden.topologies.wiring import NOWHERE
from vlane.schedulers.plugged import find_scheduler
from vlane.sim_top.scenario.world import World
from vlane.switches.switch_kinds import SWITCH_KINDS
from vlane.units import blocks_of

BACKLOGGED = 0.75
"""Utilisation of a link from which its port counts as backlogged."""
FEW_CHOICES = 0.05
"""Share of contested decisions below which a table hardly acts."""


@dataclass(frozen=True)
class TableEffect:
    """Shares of a level at the output ports of switches. A level is represented by its VLs.

    Parameters
    ----------
    programmed : float or None
        Share of a link's flits that the table gives the level if all levels always have packets; ``None`` if ports have
        different tables.
    measured : float or None
        Share of the flits at backlogged ports; ``None`` without such a port.
    contested : float or None
        Share of the level's packets that started while another VL had a packet, too: at backlogged ports, or at all
        ports if none is backlogged. ``None`` if the level passes no such port.
    """

    programmed: float | None
    measured: float | None
    contested: float | None


def table_effects(world: World, net: Network) -> dict[int, TableEffect]:
    """Return the effect of the tables on each level, empty without tables or with a single level."""
    lanes = _lanes_of_levels(world)
    if find_scheduler(world.settings.scheduler).section is None or len(lanes) < 2:
        return {}
    switches = world.topology.switches << net.switches.inputs.port_bits
    cabled = net.wiring.cable["far_input"][:switches] != NOWHERE
    flits, packets, contested = (
        net.out_ports.counters[name][:switches][cabled] for name in ("flits", "packets", "contested")
    )
    busy = flits.sum(axis=1) / max(1, int(net.clock[NOW])) >= BACKLOGGED
    chosen = busy if busy.any() else np.ones(len(flits), np.bool_)
    programmed = _programmed(world, lanes)
    return {
        sl: TableEffect(
            programmed.get(sl),
            _share(flits[busy][:, own], flits[busy]),
            _share(contested[chosen][:, own], packets[chosen][:, own]),
        )
        for sl, own in lanes.items()
    }


def _share(part: NDArray[np.int64], whole: NDArray[np.int64]) -> float | None:
    return float(part.sum() / whole.sum()) if whole.any() else None


def _lanes_of_levels(world: World) -> dict[int, list[int]]:
    """Return the data lanes of each level with traffic."""
    lanes = {sl: world.routes.lanes_of(sl) for sl in world.levels if isinstance(sl, int)}
    return {sl: sorted(lane for lane in own if lane < world.data_vls) for sl, own in lanes.items()}


def _programmed(world: World, lanes: dict[int, list[int]]) -> dict[int, float]:
    """Return the programmed share of each level, empty if ports have different tables."""
    settings = world.settings
    if settings.of_port:
        return {}
    blocks: dict[int, int] = {}
    for sl, own in lanes.items():
        for lane in own:
            blocks[lane] = max(blocks.get(lane, 0), blocks_of(world.levels[sl]))
    writes = tuple((int(select), int(index), int(to), int(value)) for select, index, to, value in settings.writes)
    parameters = tuple(sorted(settings.parameters.items()))
    shares = _shares(settings.scheduler, tuple(blocks.items()), world.data_vls, writes, parameters)
    return {sl: sum(shares[lane] for lane in own) for sl, own in lanes.items()}


@functools.lru_cache(maxsize=64)
def _shares(
    name: str,
    blocks: tuple[tuple[int, int], ...],
    data_vls: int,
    writes: tuple[Write, ...],
    parameters: tuple[tuple[str, Any], ...],
) -> dict[int, float]:
    return backlogged_shares(name, dict(blocks), data_vls=data_vls, writes=writes, **dict(parameters))


def effect_remark(world: World, contested: Sequence[float]) -> str:
    """Return a remark if a table hardly has a choice, otherwise an empty text.

    Parameters
    ----------
    contested : sequence of float
        Share of contested decisions at backlogged ports, of each level and run.
    """
    if not contested or max(contested) >= FEW_CHOICES:
        return ""
    switch = world.study.switch
    forms = SWITCH_KINDS[switch.kind].forms
    by_lane = next((form.crossbar for form in forms if form.vls_apart), switch.crossbar)
    words = f"{max(contested):.1%} of the decisions at backlogged ports had packets of two levels"
    key = (
        f'the crossbar takes one packet at a time from an input; set switch.crossbar = "{by_lane}"'
        if switch.crossbar != by_lane
        else "raise switch.speed, or buffers.blocks"
    )
    return f"the table of {world.settings.scheduler} hardly acts: at most {words}; {key}"
