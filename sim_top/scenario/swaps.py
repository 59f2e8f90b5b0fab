"""Tables of a study that are exchanged under traffic: what is written when, what cannot be (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from vlane.errors import InputError
from vlane.golden.network.runs import Change
from vlane.golden.network.swaps import table_is_swapped, writes_begin
from vlane.golden.schedulers.bank import Write
from vlane.sim_top.scenario.world import World
from vlane.study.swap import Swap, swapped_tables
from vlane.switches.switch_programs import TableWrite, swap_write, table_write


@dataclass(frozen=True, slots=True)
class TableSwap:
    """A table that some ports of a switch are given.

    Parameters
    ----------
    number : int
        Place in the study's list.
    cycle, begins : int
        Cycle in which the exchange is requested, and of the first write.
    switch : int
        Of the network.
    ports : tuple of int
        From 0.
    writes : list of (select, index, requester or VL, weight)
        One a cycle.
    """

    number: int
    cycle: int
    begins: int
    switch: int
    ports: tuple[int, ...]
    writes: list[Write]


def swaps_of(world: World) -> list[TableSwap]:
    """Return the swaps of a study, by switch and cycle; what one cycle needs is written in the order of the file.

    Raises
    ------
    InputError
        If a switch or a port is not there, or a table does not fit the schedulers, naming the key.
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
            raise InputError(f"swap.{number}{key and '.'}{key}", error.must, error.got) from None
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
    """Refuse a switch that is not there, and ports without a cable or named twice."""
    ports = swap.ports or []
    if swap.switch >= switches:
        raise InputError(f"swap.{number}.switch", f"0 to {switches - 1}", swap.switch)
    for place, port in enumerate(ports):
        if port - 1 not in cabled:
            raise InputError(f"swap.{number}.ports.{place}", f"a cabled port of switch {swap.switch}, from 1", port)
        if port in ports[:place]:
            raise InputError(f"swap.{number}.ports.{place}", "other than all before it", port)


def _cabled_ports(world: World, switches: Set[int]) -> dict[int, tuple[int, ...]]:
    """Return the ports of switches that have a cable, from 0."""
    ports: dict[int, list[int]] = {switch: [] for switch in switches}
    for switch, port in sorted({*world.topology.far_ends(), *world.topology.hosts}) if switches else ():
        if switch in ports:
            ports[switch].append(port)
    return {switch: tuple(listed) for switch, listed in ports.items()}


def check_swaps(world: World) -> None:
    """Refuse swaps of what is not there, that never happen, whose writes come too early, or two of one port and cycle.

    Raises
    ------
    InputError
        Naming the swap's key.
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
            must = f"at least {least}, as its writes begin after the swap in cycle {before.cycle}"
            raise InputError(f"swap.{after.number}.cycle", must, after.cycle)


def _check_group(group: list[TableSwap]) -> None:
    """Refuse swaps of one switch and cycle that begin before the run, or are for the same port."""
    first, taken = group[0], set[int]()
    if first.begins < 0:
        most = first.cycle - first.begins
        must = f"at least {most}, as so many writes come before it"
        raise InputError(f"swap.{first.number}.cycle", must, first.cycle)
    for each in group:
        twice = taken & set(each.ports)
        if twice:
            must = f"of ports that no other swap of switch {each.switch} in cycle {each.cycle} is for"
            raise InputError(f"swap.{each.number}.ports", must, min(twice) + 1)
        taken |= set(each.ports)


def changes_of_swaps(world: World, hardware: Collection[int]) -> list[Change]:
    """Return what a study's swaps do to a network, apart from those switches that are hardware."""
    found = []
    for each in (each for each in swaps_of(world) if each.switch not in hardware):
        must = (
            f"late enough for the exchange before it, which is still pending in cycle {each.begins}, when writes begin"
        )
        refusal = InputError(f"swap.{each.number}.cycle", must, each.cycle)
        found += [
            writes_begin(each.switch, each.ports, cycle=each.begins, refusal=refusal),
            table_is_swapped(each.switch, each.ports, each.writes, cycle=each.cycle),
        ]
    return found


def writes_of_swap(swap: TableSwap, scheduler: str) -> dict[int, TableWrite]:
    """Return what the program ports of the switch are given, by cycle."""
    written = {
        swap.begins + place: table_write(scheduler, swap.ports, write) for place, write in enumerate(swap.writes)
    }
    return {**written, swap.cycle: swap_write(swap.ports)}
