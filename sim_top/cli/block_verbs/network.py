"""``vlane cosim network``: switches in hardware inside the golden network."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import typer

from vlane.documents.textfile import number
from vlane.errors import InputError, missing_value
from vlane.rates import LinkClock, rate_of, shown_ns
from vlane.sim_top.cli.verbs import CheckFailedError
from vlane.sim_top.cosim.cosim_network import MixedResult, cosim_network
from vlane.sim_top.cosim.network_hardware import hardware_parameters
from vlane.sim_top.output.console import emit_json, note, screen, table
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.simulate import StuckError
from vlane.study.file import StudyFile, read_study_file
from vlane.study.study import MAX_CYCLES


def run_network(
    study: Path | None,
    rtl: list[str],
    cycles: int | None,
    seed: int,
    *,
    changes: Mapping[str, Any],
    rate: str | None = None,
    engine: str,
    as_json: bool,
) -> NoReturn:
    """Run a study's first load with and without hardware, print the comparison, and exit with status 0 or 1.

    ``changes`` are values of keys that replace those of the study.

    Raises
    ------
    InputError
        If the study is missing or rejected, or no switch is named.
    """
    if study is None:
        raise missing_value("STUDY", "`vlane cosim network` needs a study file")
    file = read_study_file(study)
    file = file.with_(changes) if changes else file
    with file.refusals():
        world = make_world(file.study, study.parent)
    switches = _switches(rtl, world)
    run = world.study.run
    length = run.cycles if cycles is None else cycles
    if not 1 <= length <= MAX_CYCLES:
        raise InputError("--cycles", f"1 to {MAX_CYCLES}", length)
    with file.refusals():
        parameters = hardware_parameters(world)
        check_world(world)
        timed = run.model_copy(update={"cycles": length, "warm_up_cycles": 0})
        world = replace(world, study=world.study.model_copy(update={"run": timed}))
        check_faults(world)
    note(f"{world.topology.ports}-port switches in hardware: {', '.join(map(str, switches))}")
    start = time.perf_counter()
    try:
        with file.refusals():
            result = cosim_network(
                world, switches, parameters, cycles=length, load=run.loads[0], seed=seed, engine=engine
            )
    except StuckError as error:
        raise CheckFailedError(f"STUCK at {error}") from None
    clock = world.study.link.clock
    clock = clock if rate is None else replace(clock, rate_gbps=rate_of(rate, "--rate"))
    _tell(file, result, time.perf_counter() - start, clock, as_json=as_json)
    raise typer.Exit(0 if result.agrees else 1)


def _switches(rtl: list[str], world: World) -> list[int]:
    """Return the switches named by ``--rtl``, in ascending order."""
    must = f"0 to {world.topology.switches - 1}, or all"
    if not rtl:
        raise missing_value("--rtl", f"name the switches in hardware, {must}")
    found: set[int] = set()
    for word in (word for given in rtl for word in given.split(",")):
        switch = number(word)
        if word != "all" and (switch is None or not 0 <= switch < world.topology.switches):
            raise InputError("--rtl", must, word)
        named = set(range(world.topology.switches)) if switch is None else {switch}
        if named & found:
            raise InputError(
                "--rtl", f"{must}, each switch once", ",".join(rtl), problem=f"names switch {min(named & found)} twice"
            )
        found |= named
    return sorted(found)


def _tell(study: StudyFile, result: MixedResult, seconds: float, clock: LinkClock, *, as_json: bool) -> None:
    if as_json:
        emit_json(
            {
                "study": study.document.source,
                "changes": dict(study.changes),
                **asdict(result),
                "mismatch": result.mismatch or None,
                "rate_gbps": clock.rate_gbps,
                "cycle_ns": clock.cycle_ns,
                "simulated_ns": clock.ns(result.cycles),
                "equal": result.agrees,
                "mismatches": 0 if result.agrees else 1,
                "cycles_per_second": result.cycles / result.mixed_seconds if result.mixed_seconds else 0.0,
                "seconds": round(seconds, 3),
            }
        )
        return
    named = ", ".join(map(str, result.switches))
    rows = [
        ["deliveries", f"{result.deliveries:,}", ""],
        ["digest of the deliveries", result.digest_golden, result.digest_hardware],
        ["packets dropped by these switches", str(result.golden_dropped), str(result.dropped)],
        ["packets marked by these switches", str(result.golden_marked), str(result.marked)],
        ["corrupted flits", "", str(result.bad_flits)],
        ["CPU seconds", f"{result.golden_seconds:.2f}", f"{result.mixed_seconds:.2f}"],
    ]
    simulated = f"{result.cycles:,} cycles ({shown_ns(clock.ns(result.cycles))})"
    screen.print(table(f"{simulated}, switches in hardware: {named}", ["", ">golden", ">mixed"], rows))
    verdict = "same packets in the same cycles" if result.agrees else "DIFFERENT deliveries"
    screen.print(verdict, style="green" if result.agrees else "red")
    if result.mismatch:
        screen.print(result.mismatch, style="red", markup=False, soft_wrap=True)
