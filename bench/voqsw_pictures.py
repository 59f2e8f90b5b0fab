"""Pictures of virtual output queuing in software: a network with its up*/down* tree, VLs under a hot spot, SLs needed.

    python bench/voqsw_pictures.py [--out DIR]

``voqsw_network.png``: random network 1 of 8 switches, links as wide as paths that take them. ``voqsw_hot_spot.png``:
what the VLs of the inputs between switches hold in that network when 40 % of all packets go to one host, under virtual
networks and under VOQsw; ``voqsw_hot_spot.gif`` shows it from the start. ``voqsw_sls.png``: SLs for full VOQ of random
networks of 8 to 64 switches, and how many they need in any case.
"""

from __future__ import annotations

import argparse
import io
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.documents.files import write_whole
from vlane.golden.network.cores import start_network
from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import irregular
from vlane.planning.voqsw import plan_voqsw
from vlane.sim_top.output.pictures import colour, new_figure, styled, write_png
from vlane.sim_top.scenario.planned_voqsw import tuples_of
from vlane.sim_top.scenario.world import World, make_network, make_world
from vlane.sim_top.studies.study_voqsw_cases import BASELINE, HOT, cases

_SWITCHES, _NETWORK, _TRAFFIC, _LOAD = 8, 1, "hot40", 0.3
_SHOWN, _FRAMES, _LAST = {BASELINE: "8 virtual networks", "full": "VOQsw, full"}, 48, 12_000
_STYLE = {"font.size": 9, "savefig.dpi": 80}


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/img"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with styled(_STYLE):
        draw_network(out / "voqsw_network.png")
        draw_hot_spot(out / "voqsw_hot_spot.png", out / "voqsw_hot_spot.gif")
        draw_levels(out / "voqsw_sls.png")


def draw_network(file: Path) -> None:
    """Draw switches by their distance from the root, tree links thick in colour, all links as wide as they are used."""
    topology = irregular(_SWITCHES, ports=8, hosts=4, seed=_NETWORK)
    routes = up_down(topology, (0,) * 16)
    paths = tuples_of(topology, routes).paths
    taken = np.bincount(paths.row // 8 // 8 * 8 + paths.row % 8, minlength=_SWITCHES * 8)
    depth, parent = {0: 0}, {}
    queue = deque([0])
    while queue:
        switch = queue.popleft()
        for (near, _), (far, _) in sorted(topology.far_ends().items()):
            if near == switch and far not in depth:
                depth[far], parent[far] = depth[switch] + 1, switch
                queue.append(far)
    places: dict[int, tuple[float, float]] = {}
    for level in range(max(depth.values()) + 1):
        row = [switch for switch in sorted(depth) if depth[switch] == level]
        for number, switch in enumerate(row):
            places[switch] = ((number + 0.5) / len(row), -level - 0.12 * (number % 2))
    figure = new_figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for (near, port), (far, its) in topology.far_ends().items():
        if near < far:
            (x, y), (to_x, to_y) = places[near], places[far]
            in_tree = parent.get(far) == near or parent.get(near) == far
            used = int(taken[near * 8 + port] + taken[far * 8 + its])
            axes.plot(
                [x, to_x],
                [y, to_y],
                color=colour(0 if in_tree else 7),
                linewidth=0.5 + used / 60,
                linestyle="-" if in_tree else "--",
                alpha=0.8,
                zorder=1,
            )
            axes.annotate(
                str(used),
                ((x + to_x) / 2, (y + to_y) / 2),
                ha="center",
                va="center",
                fontsize=7,
                bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
            )
    for switch, (x, y) in places.items():
        axes.scatter([x], [y], s=420, color="white", edgecolors="black", zorder=2)
        axes.annotate(str(switch), (x, y), ha="center", va="center", zorder=3)
    axes.set_title("8 switches, 32 hosts: tree of up*/down* from switch 0 (solid), other links (dashed), paths on each")
    axes.set_axis_off()
    write_png(figure, file)


def draw_hot_spot(file: Path, animation: Path) -> None:
    """Draw what every VL of every input between switches holds, at the end, and from the start as an animation."""
    worlds = {name: _world(name) for name in _SHOWN}
    courses = {name: _course(world) for name, world in worlds.items()}
    hot = worlds[BASELINE].study.measure.apart[0]
    figure, images = _drawn(courses, hot, frame=_FRAMES - 1)
    write_png(figure, file)
    from PIL import Image  # noqa: PLC0415 - matplotlib's own means to write pictures

    pages = []
    for frame in range(_FRAMES):
        for name, image in images.items():
            image.set_data(courses[name][frame])
        figure.suptitle(_title(hot, frame), fontsize=9)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=60)
        pages.append(Image.open(content).convert("P", palette=Image.Palette.ADAPTIVE, colors=32))
    made = io.BytesIO()
    pages[0].save(made, format="GIF", save_all=True, append_images=pages[1:], duration=120, loop=0, optimize=True)
    write_whole(animation, made.getvalue(), option="--out")


def _title(hot: int, frame: int) -> str:
    cycle = (frame + 1) * _LAST // _FRAMES
    return f"40 % of all packets to host {hot}, offered load {_LOAD}; cycle {cycle:,}, {cycle * 0.032:,.0f} us"


def _drawn(courses: dict[str, NDArray[np.int64]], hot: int, frame: int) -> tuple[Any, dict[str, Any]]:
    figure, images = new_figure(figsize=(9, 6.2), layout="constrained"), {}
    for number, (name, course) in enumerate(courses.items()):
        axes = figure.add_subplot(1, len(courses), number + 1)
        images[name] = axes.imshow(course[frame], aspect="auto", cmap="viridis", vmin=0, vmax=16)
        axes.set_title(_SHOWN[name])
        axes.set_xlabel("VL")
        axes.set_yticks(range(0, len(course[frame]), 4), [f"switch {switch}" for switch in range(_SWITCHES)])
        for switch in range(1, _SWITCHES):
            axes.axhline(4 * switch - 0.5, color="white", linewidth=0.6)
    figure.colorbar(
        next(iter(images.values())), ax=figure.axes, label="blocks taken of 16, of each input between switches"
    )
    figure.suptitle(_title(hot, frame), fontsize=9)
    return figure, images


def _world(tables: str) -> World:
    wanted = {"switches": str(_SWITCHES), "network": str(_NETWORK), "variant": "main"}
    traffic = "uniform" if tables == "full" else _TRAFFIC
    case = next(
        each for each in cases("main", quick=False) if each.labels == {**wanted, "tables": tables, "traffic": traffic}
    )
    study = case.study
    if tables == "full":  # which the study does not run with hot spots
        hot = next(
            each
            for each in cases("main", quick=False)
            if each.labels == {**wanted, "tables": "sls8", "traffic": _TRAFFIC}
        )
        study = hot.study.with_({"voqsw.sls": "full"})
    assert _TRAFFIC in HOT
    return make_world(study.study, study.base)


def _course(world: World) -> NDArray[np.int64]:
    """Return the blocks taken by VL of every input between switches, by frame, input and VL."""
    network = start_network(make_network(world, load=_LOAD, seed=1), cores=1)
    ends = [(switch << 3) + port for switch, port in sorted(world.topology.far_ends())]
    frames = []
    for frame in range(_FRAMES):
        network.run_to((frame + 1) * _LAST // _FRAMES, deque())
        net, _ = network.whole()
        far = net.wiring.cable["far_input"]
        senders = [int(np.flatnonzero(far == end)[0]) for end in ends]
        frames.append(net.out_ports.remote_credit.lane["blocks"][senders].copy())
    return np.array(frames)


def draw_levels(file: Path) -> None:
    """Draw SLs for full VOQ against the number of hosts: the paper's rule, the bound, the published counts."""
    sizes, networks = (8, 16, 32, 64), range(1, 11)
    figure = new_figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    found: dict[int, list[tuple[int, int]]] = {}
    for size in sizes:
        for seed in networks:
            topology = irregular(size, ports=8, hosts=4, seed=seed)
            routes = up_down(topology, (0,) * 16)
            plan = plan_voqsw(tuples_of(topology, routes), 1 << 12)
            found.setdefault(4 * size, []).append((plan.levels_for_full, plan.least_for_full))
    hosts = sorted(found)
    for place, name in enumerate(("paper's rule", "least possible")):
        values = np.array([[each[place] for each in found[count]] for count in hosts])
        mean = values.mean(axis=1)
        axes.errorbar(
            hosts,
            mean,
            yerr=[mean - values.min(axis=1), values.max(axis=1) - mean],
            color=colour(place),
            marker="os"[place],
            capsize=3,
            label=f"{name}, 10 networks each",
        )
    axes.plot([32, 64, 128, 256], [12, 40, 108, 257], color=colour(2), marker="^", linestyle=":", label="published")
    axes.axhline(16, color="black", linewidth=0.8)
    axes.annotate("SLs of a packet", (hosts[0], 17), fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("hosts")
    axes.set_ylabel("SLs for full VOQ")
    axes.legend()
    write_png(figure, file)


if __name__ == "__main__":
    main()
