"""``vlane voqsw``: SLs and SL2VL tables that keep packets for different outputs on different VLs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from numpy.typing import NDArray

from vlane.documents.files import write_whole
from vlane.errors import InputError, misplaced, missing_value, unknown_word
from vlane.fabric.capture import CAPTURED, load_fabric
from vlane.fabric.dumps.written import DUMPS, write_dumps
from vlane.fabric.model import Fabric, Port
from vlane.golden.topologies.captured import from_fabric
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology
from vlane.planning.voqsw import (
    RESTS,
    SEARCHES,
    VOQswPlan,
    VOQswTables,
    lanes_left,
    levels_left,
    make_tables,
    plan_voqsw,
)
from vlane.planning.voqsw_checks import Clash, Misplaced, find_clashes, find_misplaced, waiting_circle
from vlane.planning.voqsw_layers import kept_layers
from vlane.planning.voqsw_paths import Ints, Paths, Tuples, find_tuples, follow_paths
from vlane.sim_top.cli.options import MOST_SEED, AsJson, numbers_of
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.fabric.voqsw_fabric import as_fabric, lanes_for, programmed
from vlane.sim_top.output.console import emit_json, say, screen, table
from vlane.sim_top.scenario.named_networks import FORMS, named_network
from vlane.sim_top.scenario.planned_voqsw import as_cabled
from vlane.tables.sl2vl import SL_COUNT

app = App()

_MOST_LEVELS = 1 << 16
_CHANGED = ("opensm-lfts.dump", "opensm-sl2vl.dump", "path-sl.csv")
_KEPT = ("ibnetdiscover.txt", "smpquery-vlarb.txt", "smpquery-portinfo.txt", "opensm.conf")
"""Files of a captured fabric that are copied unchanged."""


@dataclass(frozen=True)
class _Network:
    """Network to plan for, with its routes and the captured or generated fabric."""

    topology: Topology
    routes: Routes
    path_sl: NDArray[np.int16] | None
    fabric: Fabric
    folder: Path | None

    def sl_of(self, paths: Paths) -> Ints:
        """Return the SL of each path before VOQsw, 0 where the fabric records none."""
        if self.path_sl is None:
            return np.zeros(len(paths.source), np.int64)
        return self.path_sl[paths.source, paths.target].astype(np.int64)


@dataclass(frozen=True)
class _Checked:
    """Findings of the checks, on the tables if they were made."""

    clashes: list[Clash]
    misplaced: list[Misplaced]
    before: list[tuple[int, int, int]]
    after: list[tuple[int, int, int]]

    @property
    def ok(self) -> bool:
        return not self.clashes and not self.misplaced and (not self.after or bool(self.before))


@app.command(epilog="Example: vlane voqsw --topology irregular:16 --sls 8 --vls 8 --seed 5 --out build/voqsw")
def voqsw(
    topology: Annotated[str | None, typer.Option(metavar="T", help=f"Network: {', '.join(FORMS.values())}.")] = None,
    fabric: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of a captured fabric, instead of --topology.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Study file whose network is planned, instead of --topology.")
    ] = None,
    sls: Annotated[int, typer.Option(help="Number of SLs to use; more than 16 can be counted only.")] = 8,
    vls: Annotated[int, typer.Option(help="Number of VLs to use.")] = 8,
    aside_sls: Annotated[str, typer.Option(metavar="SL,SL", help="SLs to leave unused.")] = "",
    aside_vls: Annotated[str, typer.Option(metavar="VL,VL", help="VLs to leave unused.")] = "",
    search: Annotated[
        str,
        typer.Option(
            metavar="WAY", help="How SLs are assigned: growth (as in the paper), largest, or colouring (fewest SLs)."
        ),
    ] = "growth",
    rest: Annotated[
        str, typer.Option(metavar="WAY", help="SL of paths without a considered 4-tuple: lowest or spread.")
    ] = "lowest",
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of a random network's cables.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the tables to a folder, as a captured fabric.")
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Plan virtual output queuing in software: SL2VL tables and path SLs. Exit status 1 if a check fails."""
    start = time.perf_counter()
    if search not in SEARCHES:
        raise unknown_word("--search", SEARCHES, search)
    if rest not in RESTS:
        raise unknown_word("--rest", RESTS, rest)
    lanes = lanes_left(vls, numbers_of("--aside-vls", aside_vls, 14))
    sl_aside = numbers_of("--aside-sls", aside_sls, SL_COUNT - 1)
    levels_left(1, sl_aside)  # raises if no SL is left, even if SLs are only counted
    counted = sls > SL_COUNT - len(sl_aside)
    if counted and (out is not None or sls > _MOST_LEVELS):
        most = SL_COUNT - len(sl_aside) if out is not None else _MOST_LEVELS
        raise InputError("--sls", f"1 to {most}{' with --out (an SL has 4 bits)' if out else ''}", sls)
    levels = None if counted else levels_left(sls, sl_aside)
    network = _network(topology, fabric, study, lanes, seed)
    paths = follow_paths(as_cabled(network.topology, network.routes), network.routes.lft)
    plan, tables, checked = _planned(network, find_tuples(paths), sls, levels, lanes, search, rest)
    files: list[Path] = []
    if out is not None and tables is not None and checked.ok:
        made = programmed(network.fabric, network.topology, paths, tables)
        files = _write(made, network.folder, out)
    document = {
        "topology": network.topology.name,
        "switches": network.topology.switches,
        "hosts": len(network.topology.hosts),
        "paths": len(paths.source),
        "unreachable_pairs": paths.lost,
        "sls": sls,
        "vls": vls,
        "sls_used": plan.levels_used,
        "sls_for_full": plan.levels_for_full,
        "sls_for_full_at_least": plan.least_for_full,
        "tuples": len(plan.tuples.weight),
        "tuples_considered": plan.considered,
        "voq_share": plan.share,
        "full": plan.full,
        "layers": len(plan.layers.sls),
        "search": search,
        "rest": rest,
        "ok": checked.ok,
        "tables_checked": tables is not None,
        "clashes": [clash._asdict() for clash in checked.clashes],
        "misplaced": [each._asdict() for each in checked.misplaced],
        "credit_loop": [_shown_link(network.topology, link) for link in checked.after],
        "credit_loop_before": [_shown_link(network.topology, link) for link in checked.before],
        "files": [str(file) for file in files],
        "seconds": round(time.perf_counter() - start, 3),
    }
    if as_json:
        emit_json(document)
    else:
        _print(document, files)
    raise typer.Exit(0 if checked.ok else 1)


def _network(word: str | None, folder: Path | None, study: Path | None, lanes: tuple[int, ...], seed: int) -> _Network:
    given = [name for name, each in (("--topology", word), ("--fabric", folder), ("--study", study)) if each]
    if len(given) != 1:
        if given:
            raise misplaced(given[1], f"with {given[0]}")
        raise missing_value("network", "give one of --topology, --fabric and --study")
    if word is not None:
        data_vls = lanes_for(lanes)
        topology, routes = named_network(word, tuple(sl % data_vls for sl in range(SL_COUNT)), seed=seed)
        return _made(topology, routes, data_vls)
    if study is not None:
        from vlane.sim_top.scenario.world import make_world  # noqa: PLC0415 - the other networks need no traffic
        from vlane.study.file import read_study_file  # noqa: PLC0415
        from vlane.study.refusals import refusals_of_study  # noqa: PLC0415

        with refusals_of_study(study):
            world = make_world(read_study_file(study).study, study.parent)
        if world.routes.kind.by_channel:
            problem = "opa cannot be used: VOQsw needs SL2VL tables, and Omni-Path has tables by channel"
            raise InputError("switch.kind", "ib", "opa", source=str(study), problem=problem)
        if world.study.network.topology != "fabric":
            try:
                return _made(world.topology, cast("Routes", world.routes), lanes_for(lanes))
            except InputError as error:
                raise error.at(str(study)) from None
        folder = study.parent / world.study.network.folder
    return _captured(folder or Path(), lanes)


def _made(topology: Topology, routes: Routes, data_vls: int) -> _Network:
    as_cabled(topology, routes)  # raises for routes that no tables can express
    return _Network(topology, routes, None, as_fabric(topology, routes, data_vls=data_vls), None)


def _captured(folder: Path, lanes: tuple[int, ...]) -> _Network:
    fabric = load_fabric(folder)
    if not fabric.lfts:
        problem = ": the capture has no forwarding tables"
        raise InputError("fabric", "one with forwarding tables", "none", source=str(folder), problem=problem)
    captured = from_fabric(fabric)
    least = min(fabric.data_vls_of(Port(guid, port)) for guid, node in fabric.nodes.items() for port in node.links)
    if max(lanes) >= least:
        problem = f"uses VL {max(lanes)}, but some ports run only VL 0 to {least - 1}"
        raise InputError("--vls", f"VLs 0 to {least - 1}", f"VL {max(lanes)}", problem=problem)
    return _Network(captured.topology, captured.routes, captured.path_sl, fabric, folder)


def _planned(
    network: _Network,
    tuples: Tuples,
    sls: int,
    levels: tuple[int, ...] | None,
    lanes: tuple[int, ...],
    search: str,
    rest: str,
) -> tuple[VOQswPlan, VOQswTables | None, _Checked]:
    """Return plan, tables and findings. If the plan would create a credit loop, plan with layers instead."""
    plan, routes = plan_voqsw(tuples, sls, search, rest=rest), network.routes
    if levels is None:
        return plan, None, _check(network, plan, None, lanes)
    tables = make_tables(plan, levels, lanes, routes.vl, routes.nic_vl)
    checked = _check(network, plan, tables, lanes)
    if checked.after and not checked.before:
        plan = plan_voqsw(tuples, sls, search, kept_layers(tuples.paths, routes.vl, network.sl_of(tuples.paths)))
        tables = make_tables(plan, levels, lanes, routes.vl, routes.nic_vl)
        checked = _check(network, plan, tables, lanes)
    return plan, tables, checked


def _check(network: _Network, plan: VOQswPlan, tables: VOQswTables | None, lanes: tuple[int, ...]) -> _Checked:
    """Follow every path again, using only the tables."""
    if tables is None:
        return _Checked(find_clashes(plan.tuples, plan.considered, plan.path_level), [], [], [])
    paths = follow_paths(as_cabled(network.topology, network.routes), network.routes.lft)
    layers, place = plan.layers, plan.tuples.place[: plan.considered]
    wanted, group = layers.lanes_of_each(lanes), layers.group_of_hops(paths)
    return _Checked(
        find_clashes(plan.tuples, plan.considered, tables.path_sl),
        find_misplaced(paths, place, wanted, group, tables.vl, tables.path_sl),
        waiting_circle(paths, network.routes.vl, network.sl_of(paths)),
        waiting_circle(paths, tables.vl, tables.path_sl),
    )


def _write(made: Fabric, folder: Path | None, out: Path) -> list[Path]:
    if folder is not None and out.exists() and out.resolve() == folder.resolve():
        problem = f": {out} is the fabric's own folder; choose another"
        raise InputError("--out", "another folder than the fabric's", str(out), problem=problem)
    kept = [name for name in _KEPT if (folder / name).is_file()] if folder else []
    written = (*_CHANGED, *kept) if folder else DUMPS
    stay = [name for name in CAPTURED if name not in written and (out / name).exists()]
    if stay:
        problem = f": the folder holds {stay[0]} of another fabric; choose another folder"
        must = "a folder without another fabric's files"
        raise InputError("--out", must, stay[0], source=str(out), problem=problem)
    if folder is None:
        return write_dumps(made, out)
    files = write_dumps(made, out, _CHANGED)
    for name in kept:
        write_whole(out / name, (folder / name).read_bytes(), option="--out")
        files.append(out / name)
    return files


def _shown_link(topology: Topology, link: tuple[int, int, int]) -> dict[str, Any]:
    switch, port, vl = link
    return {"switch": topology.show_switch(switch), "port": port + 1, "vl": vl}


def _print(document: dict[str, Any], files: list[Path]) -> None:
    of_full = "" if document["full"] else f", {document['sls_for_full']} for full VOQ"
    rows = [
        ["switches, hosts, paths", f"{document['switches']}, {document['hosts']}, {document['paths']}"],
        ["SLs, VLs available", f"{document['sls']}, {document['vls']}"],
        ["SLs used", f"{document['sls_used']}{of_full}"],
        *([["layers", str(document["layers"])]] if document["layers"] > 1 else []),
        ["4-tuples planned", f"{document['tuples_considered']} of {document['tuples']}"],
        ["share of VOQ (by paths)", f"{100 * document['voq_share']:.1f} %"],
    ]
    screen.print(table(document["topology"], ["", ">"], rows))
    if document["unreachable_pairs"]:
        say(f"note: {document['unreachable_pairs']} pairs have no path")
    if not document["tables_checked"]:
        say("counted only: an SL has 4 bits, so no tables are made")
    elif document["ok"]:
        loop = "a credit loop that existed before" if document["credit_loop"] else "no credit loop"
        say(f"checked along every path: one VL per switch, input, output and SL; every VL as planned; {loop}")
    if not document["ok"] and document["credit_loop"]:
        steps = " -> ".join(f"{each['switch']} port {each['port']} VL {each['vl']}" for each in document["credit_loop"])
        say(f"fails: the tables create a credit loop: {steps}; no file was written", style="red")
    for name in ("clashes", "misplaced"):
        if document[name]:
            say(f"fails: {len(document[name])} {name}, the first at {document[name][0]}", style="red")
    for file in files:
        screen.print(str(file), markup=False, soft_wrap=True)
