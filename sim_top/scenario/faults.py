"""Changes of a study's network during a run: faults, table swaps and written settings (``docs/network.md``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from vlane.errors import InputError, misplaced
from vlane.golden.network.faults import lose_fcps, stall_link, write_forwarding_entry
from vlane.golden.network.runs import Change
from vlane.sim_top.scenario.equipment import without_cable
from vlane.sim_top.scenario.setting_writes import changes_of_settings, check_settings
from vlane.sim_top.scenario.swaps import changes_of_swaps, check_swaps
from vlane.sim_top.scenario.world import World
from vlane.study.events import Loss, Rewrite, Stall
from vlane.tables.lft import UNASSIGNED


def check_faults(world: World) -> None:
    """Reject faults that cannot occur, stalls that look like a deadlock, and two writes of a table in a cycle.

    Table swaps and written settings of congestion control are checked, too.

    Raises
    ------
    InputError
        If a fault is rejected; names its section and field.
    """
    topology, study = world.topology, world.study
    cabled, most = {*topology.far_ends(), *topology.hosts}, world.routes.lft.shape[-1] - 1
    faults: list[tuple[str, Stall | Rewrite | Loss]] = [
        *((f"stall.{number}", fault) for number, fault in enumerate(study.stall)),
        *((f"rewrite.{number}", fault) for number, fault in enumerate(study.rewrite)),
        *((f"loss.{number}", fault) for number, fault in enumerate(study.loss)),
    ]
    if study.rewrite and world.routes.lft.ndim > 2:
        raise misplaced(
            "rewrite", f"with routing {getattr(study.network, 'routing', '')}, whose tables depend on the input port"
        )
    if study.rewrite and len(world.routes.rule):
        raise misplaced("rewrite", "in a network that forwards by rule, without tables")
    written: set[tuple[int, int]] = set()
    silent: dict[tuple[str, int, int], int] = {}
    for where, fault in faults:
        if fault.switch >= topology.switches:
            raise InputError(f"{where}.switch", f"0 to {topology.switches - 1}", fault.switch)
        if fault.cycle >= study.run.cycles:
            raise InputError(f"{where}.cycle", f"below the run's cycles, {study.run.cycles}", fault.cycle)
        is_none = isinstance(fault, Rewrite) and fault.port == UNASSIGNED
        if not is_none and (fault.switch, fault.port - 1) not in cabled:
            raise without_cable(f"{where}.port", fault.switch, fault.port)
        if not isinstance(fault, Rewrite):
            what, period = ("losses", study.link.fcp_period_cycles) if isinstance(fault, Loss) else ("stalls", 0)
            port = what, fault.switch, fault.port
            silent[port] = silent.get(port, period) + fault.cycles
            if silent[port] >= study.run.stuck_cycles:
                more = f" and link.fcp_period_cycles, {period}" if period else ""
                must = f"below run.stuck_cycles, {study.run.stuck_cycles}, summed over all {what} of the port{more}"
                raise InputError(f"{where}.cycles", must, fault.cycles)
            continue
        if fault.lid > most:
            raise InputError(f"{where}.lid", f"1 to {most}", fault.lid)
        if (fault.cycle, fault.switch) in written:
            problem = f": switch {fault.switch} has another rewrite in cycle {fault.cycle}"
            raise InputError(f"{where}.cycle", "a cycle without another rewrite", fault.cycle, problem=problem)
        written.add((fault.cycle, fault.switch))
    check_swaps(world)
    check_settings(world)


def faults_of(world: World, hardware: Sequence[int] = ()) -> deque[Change]:
    """Return a study's faults, swaps and writes sorted by cycle. The switches in ``hardware`` are in hardware."""
    study = world.study
    stalls = [stall_link(each.switch, each.port - 1, cycle=each.cycle, cycles=each.cycles) for each in study.stall]
    writes = [
        write_forwarding_entry(
            each.switch, each.lid, UNASSIGNED if each.port == UNASSIGNED else each.port - 1, cycle=each.cycle
        )
        for each in study.rewrite
    ]
    losses = [
        lose_fcps(
            each.switch, each.port - 1, cycle=each.cycle, cycles=each.cycles, notice_delay=each.switch in hardware
        )
        for each in study.loss
    ]
    return in_order([*stalls, *losses, *writes, *changes_of_swaps(world, hardware), *changes_of_settings(world)])


def in_order(changes: list[Change]) -> deque[Change]:
    """Return changes sorted by cycle. Changes of the same cycle keep their order."""
    return deque(sorted(changes, key=lambda change: change.cycle))
