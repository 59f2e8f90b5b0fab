"""Table swaps of a study under traffic: schedule of writes, and checks (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from vlane.errors import InputError
from vlane.golden.network.runs import Change
from vlane.golden.network.swaps import check_shadow_table, schedule_table_swap
from vlane.golden.schedulers.bank import Write
from vlane.sim_top.scenario.equipment import without_cable
from vlane.sim_top.scenario.world import World
from vlane.study.swap import Swap, swapped_tables
from vlane.switches.switch_programs import TableWrite, swap_write, table_write


@dataclass(frozen=True, slots=True)
class TableSwap:
    """New table for some ports of a switch.

    Parameters
    ----------
    number : int
        Index in the study's list.
    cycle, begins : int
        Cycle of the requested exchange, and cycle of the first write.
    switch : int
        Switch number.
    ports : tuple of int
        Ports, from 0.
    writes : list of (select, index, requester or VL, weight)
        Writes, one per cycle.
    """

    number: int
    cycle: int
    begins: int
    switch: int
    ports: tuple[int, ...]
    writes: list[Write]


def swaps_of(world: World) -> list[TableSwap]:
    """Return the swaps of a study by switch and cycle. Swaps of the same cycle are written in file order.

    Raises
    ------
    InputError
        If a switch or port does not exist, or a table does not fit the schedulers; names the key.
    """
    tables = swapped_tables(world.study.swap, world.settings.scheduler)
    parameters = {**world.settings.parameters, "data_vls": world.data_vls}
    cabled, found = _cabled_ports(world, {swap.switch for swap in world.study.swap}), []
    for number, (swap, table) in enumerate(zip(world.study.swap, tables, strict=True)):
        _check_place(swap, number, cabled[swap.switch], world.topology.switches)
        try:
            writes = table.writes(parameters)
        except InputError as error:
            key = error.field.partition(".")[2]
            raise error.of(f"swap.{number}{key and '.'}{key}") from None
        ports = tuple(port - 1 for port in swap.ports) if swap.ports else cabled[swap.switch]
        found.append(TableSwap(number, swap.cycle, swap.cycle, swap.switch, ports, writes))
    found.sort(key=lambda each: (each.switch, each.cycle))
    placed: list[TableSwap] = []
    for _, together in groupby(found, key=lambda each: (each.switch, each.cycle)):
        group = list(together)
        begins = group[0].cycle - sum(len(each.writes) for each in group)
        for each in group:
            placed.append(replace(each, begins=begins))
            begins += len(each.writes)
    return placed


def _check_place(swap: Swap, number: int, cabled: tuple[int, ...], switches: int) -> None:
    """Reject a switch that does not exist, and ports without a cable or named twice."""
    ports = swap.ports or []
    if swap.switch >= switches:
        raise InputError(f"swap.{number}.switch", f"0 to {switches - 1}", swap.switch)
    for place, port in enumerate(ports):
        if port - 1 not in cabled:
            raise without_cable(f"swap.{number}.ports.{place}", swap.switch, port)
        if port in ports[:place]:
            raise InputError(
                f"swap.{number}.ports.{place}", "listed once", port, problem=f": port {port} is listed twice"
            )


def _cabled_ports(world: World, switches: Set[int]) -> dict[int, tuple[int, ...]]:
    """Return the cabled ports of switches, from 0."""
    ports: dict[int, list[int]] = {switch: [] for switch in switches}
    for switch, port in sorted({*world.topology.far_ends(), *world.topology.hosts}) if switches else ():
        if switch in ports:
            ports[switch].append(port)
    return {switch: tuple(listed) for switch, listed in ports.items()}


def check_swaps(world: World) -> None:
    """Reject swaps outside the run, swaps whose writes overlap an earlier swap, and two swaps of a port in one cycle.

    Raises
    ------
    InputError
        If a swap is rejected; names its key.
    """
    swaps, cycles = swaps_of(world), world.study.run.cycles
    for each in sorted(swaps, key=lambda each: each.number):
        if each.cycle >= cycles:
            raise InputError(f"swap.{each.number}.cycle", f"below the run's cycles, {cycles}", each.cycle)
    for _, group in groupby(swaps, key=lambda each: (each.switch, each.cycle)):
        _check_group(list(group))
    for before, after in pairwise(swaps):
        if before.switch == after.switch and before.cycle < after.cycle and after.begins <= before.cycle:
            least = before.cycle + 1 + after.cycle - after.begins
            must = f"at least {least}, because its writes must begin after the swap in cycle {before.cycle}"
            raise InputError(f"swap.{after.number}.cycle", must, after.cycle)


def _check_group(group: list[TableSwap]) -> None:
    """Reject swaps of one switch and cycle whose writes begin before the run or that share a port."""
    first, taken = group[0], set[int]()
    if first.begins < 0:
        most = first.cycle - first.begins
        must = f"at least {most}, the number of its writes"
        raise InputError(f"swap.{first.number}.cycle", must, first.cycle)
    for each in group:
        twice = taken & set(each.ports)
        if twice:
            port = min(twice) + 1
            problem = f": port {port} of switch {each.switch} has another swap in cycle {each.cycle}"
            raise InputError(f"swap.{each.number}.ports", "ports without another swap", port, problem=problem)
        taken |= set(each.ports)


def changes_of_swaps(world: World, hardware: Collection[int]) -> list[Change]:
    """Return the changes that a study's swaps make to a network, except at switches in hardware."""
    found = []
    for each in (each for each in swaps_of(world) if each.switch not in hardware):
        problem = f": its writes begin in cycle {each.begins}, while the previous exchange is still pending"
        refusal = InputError(f"swap.{each.number}.cycle", "later", each.cycle, problem=problem)
        found += [
            check_shadow_table(each.switch, each.ports, cycle=each.begins, refusal=refusal),
            schedule_table_swap(each.switch, each.ports, each.writes, cycle=each.cycle),
        ]
    return found


def writes_of_swap(swap: TableSwap, scheduler: str) -> dict[int, TableWrite]:
    """Return the inputs of the switch's program ports, by cycle."""
    written = {
        swap.begins + place: table_write(scheduler, swap.ports, write) for place, write in enumerate(swap.writes)
    }
    return {**written, swap.cycle: swap_write(swap.ports)}
