"""BookSim2 and vlane side by side: zero-load latency, latency over load, saturation, and speed, as JSON or Markdown.

``docs/booksim.md`` has what this prints with ``--markdown``; ``--only`` makes a part of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from bars import at_least, at_most
from booksim import NETWORKS, VC_FLITS, Result, booksim_run, booksim_speed, program_at, vlane_run, vlane_speed

from vlane.errors import InputError
from vlane.sim_top.output.pictures import look, new_figure, write_png

__all__ = ["main", "speeds", "zero_load"]

ROOT = Path(__file__).resolve().parent.parent

ZERO_LOAD, EXCESS_CYCLES = 0.002, 0.1
"""Flits per cycle and host; how much a mean may exceed the formula, as few packets still meet."""

CURVES = {"tree43": (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), "torus88": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)}
CURVE_CYCLES = 8000
"""Of a run."""

SATURATION: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("tree43", "booksim", {}),
    ("tree43", "booksim", {"hold_switch_for_packet": 1}),
    ("tree43", "booksim", {"sw_allocator": "islip"}),
    ("tree43", "booksim", {"sw_allocator": "islip(4)"}),
    ("tree43", "booksim", {"num_vcs": 1}),
    ("tree43", "vlane", {}),
    ("tree43", "vlane", {"iterations": 2}),
    ("tree43", "vlane", {"iterations": 4}),
    ("tree43", "vlane", {"crossbar": "flits"}),
    ("tree43", "vlane", {"levels": 1}),
    ("torus88", "booksim", {}),
    ("torus88", "booksim", {"num_vcs": 14}),
    ("torus88", "vlane", {}),
    ("torus88", "vlane", {"levels": 7}),
)
"""Network, program, and what is other than usual: keys of BookSim's configuration; levels, or keys of ``[switch]``."""

SPEEDS = (
    *((network, flits, load) for network in ("tree43", "torus88") for flits in (1, 8) for load in (0.3, 0.7)),
    *((network, flits, 0.3) for network in ("tree242", "torus888") for flits in (1, 8)),
)
"""Network, flits of a packet, load."""

TARGET, LARGE_TARGET = 50, 100
CYCLES, LARGE_CYCLES = (8000, 80_000), (1200, 6000)
"""Of BookSim and of vlane; vlane's are more, so that a run takes long enough to be timed."""
TURNS = 3


def zero_load(program: Path) -> list[dict[str, Any]]:
    """Return the latency of packets that meet no others against h (4 + F) + 1 + F + n - 1, with F = 1."""
    rows = []
    for name, network in NETWORKS.items():
        for flits in (1, 8):
            given = {"flits": flits, "load": ZERO_LOAD, "cycles": 20_000 if network.hosts <= 64 else 4000}
            results = {
                "booksim": booksim_run(program, network, **given, ends=True),  # type: ignore[arg-type]
                "vlane": vlane_run(network, **given),  # type: ignore[arg-type]
            }
            shown: dict[str, Any] = {"network": name, "flits": flits, "switches": round(network.switches, 4)}
            worst = 0.0
            for who, result in results.items():
                formula = 5 * (result.switches or 0) + 1 + flits
                worst = max(worst, abs(result.latency - formula))
                shown[who] = {
                    "switches": round(result.switches or 0, 4),
                    "latency": round(result.latency, 3),
                    "formula": round(formula, 3),
                }
            title = f"zero load: {network.shown}, {flits} flits, cycles off the formula"
            rows.append(at_most(title, round(worst, 3), EXCESS_CYCLES, **shown))
    return rows


def curves(program: Path) -> list[dict[str, Any]]:
    """Return accepted load and mean latency over offered load, without latencies of saturated networks."""
    rows = []
    for name, loads in CURVES.items():
        for load in loads:
            for flits in (1, 8):
                given = {"flits": flits, "load": load, "cycles": CURVE_CYCLES}
                by = {
                    "booksim": booksim_run(program, NETWORKS[name], **given),  # type: ignore[arg-type]
                    "vlane": vlane_run(NETWORKS[name], **given),  # type: ignore[arg-type]
                }
                hosts = NETWORKS[name].hosts
                shown = {who: _point(each, flits=flits, load=load, hosts=hosts) for who, each in by.items()}
                rows.append({"network": name, "flits": flits, "load": load, **shown})
    return rows


def _point(result: Result, *, flits: int, load: float, hosts: int) -> dict[str, float | None]:
    """Return a point: without latency if less than 0.99 of the load is accepted, by more than chance."""
    packets = hosts * load * CURVE_CYCLES / 2 / flits
    is_saturated = result.accepted < load * (0.99 - 2.5 / packets**0.5)
    return {"accepted": round(result.accepted, 4), "latency": None if is_saturated else round(result.latency, 2)}


def saturation(program: Path) -> list[dict[str, Any]]:
    """Return accepted load at load 1, with and without changes of either program."""
    rows = []
    for name, who, changes in SATURATION:
        row: dict[str, Any] = {"network": name, "program": who, **changes}
        for flits in (1, 8):
            given: dict[str, Any] = {"flits": flits, "load": 1.0, "cycles": CURVE_CYCLES, **changes}
            network = NETWORKS[name]
            found = booksim_run(program, network, **given) if who == "booksim" else vlane_run(network, **given)
            row[f"accepted_{flits}_flits"] = round(found.accepted, 3)
        rows.append(row)
        sys.stderr.write(f"{row}\n")
    return rows


def speeds(program: Path) -> list[dict[str, Any]]:
    """Return median flit-hops per CPU second of both, run in turns, and their ratio against the target."""
    rows = []
    for name, flits, load in SPEEDS:
        network = NETWORKS[name]
        is_large = network.hosts > 64
        cycles = LARGE_CYCLES if is_large else CYCLES
        theirs, own = [], []
        for _ in range(TURNS):
            theirs.append(booksim_speed(program, network, flits=flits, load=load, cycles=cycles[0]))
            own.append(vlane_speed(network, flits=flits, load=load, cycles=cycles[1]))
        ratio = median(own) / median(theirs)
        rows.append(
            at_least(
                f"speed: {network.shown}, {flits} flits, load {load}, times BookSim2's",
                round(ratio, 1),
                LARGE_TARGET if is_large else TARGET,
                network=name,
                flits=flits,
                load=load,
                booksim_flit_hops_per_cpu_second=round(median(theirs)),
                vlane_flit_hops_per_cpu_second=round(median(own)),
            )
        )
        sys.stderr.write(f"{rows[-1]['bar']}: {rows[-1]['value']}\n")
    return rows


PARTS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "zero_load": zero_load,
    "curves": curves,
    "saturation": saturation,
    "speed": speeds,
}


def _table(heading: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    cells = [list(heading), *(list(map(str, row)) for row in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], f"|{'---|' * len(cells[0])}", *lines[1:]]) + "\n"


def _zero_load_table(rows: list[dict[str, Any]]) -> str:
    heading = (
        "network",
        "flits n",
        "mean switches",
        "BookSim: switches h",
        "5 h + 1 + n",
        "latency",
        "vlane: switches h",
        "5 h + 1 + n",
        "latency",
    )
    return _table(
        heading,
        (
            (
                NETWORKS[row["network"]].shown,
                row["flits"],
                f"{row['switches']:g}",
                *(f"{row[who][key]:.2f}" for who in ("booksim", "vlane") for key in ("switches", "formula", "latency")),
            )
            for row in rows
        ),
    )


def _curve_table(rows: list[dict[str, Any]]) -> str:
    tables = []
    for name, loads in CURVES.items():
        heading = (
            f"{NETWORKS[name].shown}, offered",
            "1 flit: BookSim",
            "1 flit: vlane",
            "8 flits: BookSim",
            "8 flits: vlane",
        )
        by = {
            (row["load"], row["flits"], who): row[who]
            for row in rows
            if row["network"] == name
            for who in ("booksim", "vlane")
        }
        body = [
            (load, *(_shown_point(by[load, flits, who]) for flits in (1, 8) for who in ("booksim", "vlane")))
            for load in loads
        ]
        tables.append(_table(heading, body))
    return "\n".join(tables)


def _shown_point(point: dict[str, float | None]) -> str:
    return f"({point['accepted']:.3f})" if point["latency"] is None else f"{point['latency']:.1f}"


def _saturation_table(rows: list[dict[str, Any]]) -> str:
    body = []
    for row in rows:
        changes = [f"`{key} = {value}`" for key, value in list(row.items())[2:-2]]
        accepted = [f"{row[f'accepted_{flits}_flits']:.3f}" for flits in (1, 8)]
        who = "BookSim2" if row["program"] == "booksim" else "vlane"
        body.append((NETWORKS[row["network"]].shown, who, " ".join(changes), *accepted))
    return _table(("accepted at load 1", "program", "changed", "1 flit", "8 flits"), body)


def _speed_table(rows: list[dict[str, Any]]) -> str:
    return _table(
        ("network", "flits", "load", "BookSim2, million flit-hops a CPU second", "vlane", "ratio", "target"),
        (
            (
                NETWORKS[row["network"]].shown,
                row["flits"],
                row["load"],
                f"{row['booksim_flit_hops_per_cpu_second'] / 1e6:.3f}",
                f"{row['vlane_flit_hops_per_cpu_second'] / 1e6:.1f}",
                f"{row['value']:.0f}",
                row["target"],
            )
            for row in rows
        ),
    )


TABLES = {"zero_load": _zero_load_table, "curves": _curve_table, "saturation": _saturation_table, "speed": _speed_table}


def _draw(rows: list[dict[str, Any]], file: Path) -> None:
    """Write the curves as a picture: latency over load, as far as the network is not saturated."""
    figure = new_figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(CURVES), sharey=True)
    looks = [(flits, who) for flits in (1, 8) for who in ("booksim", "vlane")]
    for axes, name in zip(panels, CURVES, strict=True):
        for number, (flits, who) in enumerate(looks):
            line = [
                (row["load"], row[who]["latency"])
                for row in rows
                if (row["network"], row["flits"]) == (name, flits) and row[who]["latency"] is not None
            ]
            words = f"{'BookSim2' if who == 'booksim' else 'vlane'}, {flits} flit{'s' * (flits > 1)}"
            axes.plot(*zip(*line, strict=True), label=words, **look(number))
        axes.set_title(NETWORKS[name].shown)
        axes.set_xlabel("offered load (flits per cycle and host)")
        axes.set_yscale("log")
        axes.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("mean latency (cycles)")
    panels[0].legend(frameon=False)
    write_png(figure, file)


def main() -> int:
    """Print the parts that are asked for and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--booksim", metavar="PATH", help="program of BookSim2, which you built")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="only these parts")
    parser.add_argument("--markdown", action="store_true", help="tables instead of JSON")
    parser.add_argument("--picture", metavar="FILE", help="where the curves are drawn, a PNG")
    given = parser.parse_args()
    try:
        program = program_at(given.booksim)
        found = {name: PARTS[name](program) for name in given.only or PARTS}
        if given.picture:
            _draw(found.get("curves") or curves(program), Path(given.picture))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if given.markdown:
        sys.stdout.write("\n".join(TABLES[name](rows) for name, rows in found.items()))
    else:
        json.dump({"vc_flits": VC_FLITS, **found}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
