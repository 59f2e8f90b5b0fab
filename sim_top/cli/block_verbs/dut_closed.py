"""Reports of comparisons of decisions: elastic, with an own golden, or under policies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from vlane.dut_map import ElasticTiming
from vlane.sim_top.dut.closed_run import ClosedResult, ClosedRun
from vlane.sim_top.dut.findings import Failure
from vlane.sim_top.output.console import say, screen, table


def closed_document(
    run: ClosedRun,
    result: ClosedResult,
    map_file: Path | None,
    golden: Path | None,
    policy: Path | None,
    waves: Path | None,
) -> dict[str, Any]:
    """Return the JSON document of a run."""
    return {
        "block": run.block.name,
        "mode": _mode(run),
        "verdict": _verdict(run, result),
        "parameters": dict(run.parameters),
        "golden": str(golden) if golden else None,
        "policy": str(policy) if policy else None,
        "cycles": result.cycles,
        "decisions": result.decisions,
        "checked": result.checked,
        "resets": result.resets,
        "seconds": round(result.seconds, 3),
        "seed": run.seed,
        "elastic": result.elastic or None,
        "rules": result.rules,
        "unreachable_rules": result.unreachable,
        "policies": [asdict(line) for line in result.lines],
        "failure": asdict(result.failure) if result.failure else None,
        "first_difference": result.difference.document() if result.difference else None,
        "before": [asdict(cycle) for cycle in result.before],
        "ended": result.ended or None,
        "waves": str(waves) if waves else None,
        "dut": [str(file) for file in run.design.files],
        "top": run.design.top,
        "map": str(map_file) if map_file else None,
    }


def _mode(run: ClosedRun) -> str:
    if run.policy is not None:
        return "policy"
    return "elastic" if isinstance(run.given.timing, ElasticTiming) else "lockstep"


def _verdict(run: ClosedRun, result: ClosedResult) -> str:
    if result.failure is not None and result.failure.kind == "bench":
        return "bench"
    if result.failure is not None or result.difference is not None:
        return "violation" if run.policy is not None else "difference"
    if result.ended:
        return "ended"
    return "no violation seen" if run.policy is not None else "agrees"


def print_closed(run: ClosedRun, result: ClosedResult) -> None:
    """Print the result of a run."""
    top, rate = run.design.top, result.cycles / result.seconds if result.seconds else 0
    speed = f" ({rate:,.0f} per second)" if rate else ""
    resets = f"{result.resets} reset{'s' * (result.resets != 1)}"
    say(f"{result.cycles:,} cycles of {top}{speed}, {result.decisions:,} decisions, {resets}")
    if result.elastic:
        counts = result.elastic
        say(
            f"at most {counts['most_states']} golden states at a time, {counts['loose_decisions']:,} loose decisions, "
            f"longest wait {counts['longest_wait']} cycles beyond the latency, "
            f"{counts['transitions']:,} different pairs of state and requests"
        )
    if result.rules:
        _print_rules(result)
    if result.lines:
        _print_policies(result)
    if result.failure is not None:
        _print_failure(run, result.failure, result)
    elif result.difference is not None:
        say(f"DIFFERENCE with seed {run.seed} in {result.difference}", style="red")
    elif result.ended:
        say(f"{top}: {result.ended}", style="red")
    elif run.policy is not None:
        say(f"{top}: no violation seen", style="green")
    else:
        golden = "golden" if run.golden_file is None else run.golden_file.name
        what = "decision" if result.elastic else "compared answer"
        say(f"{top} and {golden} agree in every {what}", style="green")


def _print_rules(result: ClosedResult) -> None:
    unreachable = result.unreachable
    happened = [f"{name} {count:,}" for name, count in result.rules.items() if count]
    missing = [name for name, count in result.rules.items() if not count and name not in (unreachable or ())]
    say(f"rules: {', '.join(happened) or 'none'}")
    if missing:
        say(f"rules that did not happen: {', '.join(missing)}")
    if unreachable is None:
        say("rules that no requests can reach: not determined, golden has too many states to search")
    elif unreachable:
        say(f"rules that no requests can reach: {', '.join(unreachable)}")


def _print_policies(result: ClosedResult) -> None:
    rows = [
        [
            line.name,
            "always" if line.worst is None else "measured" if line.limit is None else f"{line.limit:g}",
            "" if line.worst is None else f"{line.worst:g}",
            f"{line.coverage:,}",
            "VIOLATED"
            if result.failure and result.failure.kind == line.name
            else "holds"
            if line.coverage
            else "no case",
        ]
        for line in result.lines
    ]
    screen.print(table("policies", ["policy", ">limit", ">worst", ">coverage", ""], rows))


def _print_failure(run: ClosedRun, failure: Failure, result: ClosedResult) -> None:
    if failure.kind == "bench":
        say(f"BENCH with seed {run.seed} in {failure}", style="red")
    else:
        kind = "VIOLATION" if run.policy is not None else "DIFFERENCE"
        say(f"{kind} ({failure.kind}) with seed {run.seed} in {failure}", style="red")
    if failure.decisions:
        rows = [
            [
                f"{each.cycle:,}",
                str(each.winner),
                attempt.state,
                f"{attempt.offset:+d}",
                attempt.requests,
                _lane(attempt.winner),
                ", ".join(attempt.rules),
            ]
            for each in failure.decisions
            for attempt in each.attempts
        ]
        columns = [">cycle", ">granted", "golden's state", ">sampled", ">requests", ">golden", "rules"]
        screen.print(table("decisions, with golden's answer for each state and sampling point", columns, rows))
    if result.before:
        _print_cycles(run, result)


def _lane(winner: int | None) -> str:
    return "none" if winner is None else str(winner)


def _print_cycles(run: ClosedRun, result: ClosedResult) -> None:
    wiring, rows = run.wiring, []
    for row, key in ((wiring.dut_inputs, "dut_inputs"), (wiring.dut_outputs, "dut_outputs")):
        for name, port in row.ports.items():
            values = [f"{getattr(cycle, key)[name]:0{port.bits}b}" for cycle in result.before]
            rows.append([f"{'-> ' * (key == 'dut_outputs')}{name}", *values])
    screen.print(table("ports by cycle", [run.design.top, *(f">{cycle.cycle}" for cycle in result.before)], rows))
