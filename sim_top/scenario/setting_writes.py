"""Settings of congestion control that a study writes during traffic (``docs/congestion.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationSelect, StarvationWrite, starvation_element
from vlane.errors import InputError
from vlane.golden.network.congestion import Congestion, NICSettings, masked_ports
from vlane.golden.network.runs import Change
from vlane.golden.network.setting_writes import (
    HostWrite,
    cct_entry_write,
    ccti_limit_write,
    port_control_write,
    schedule_marking_write,
    schedule_pacing_writes,
    schedule_starvation_write,
    sl_settings_write,
)
from vlane.sim_top.scenario.equipment import without_cable
from vlane.sim_top.scenario.world import World
from vlane.study.congestion_parts import CS_KEYS, LEVEL_KEYS, RATE_KEYS, CongestionPort, CongestionWrite
from vlane.study.host_settings import AllHosts, HostSettings

_LIMITS = ("threshold", "packet_size")


@dataclass(frozen=True, slots=True)
class SettingWrite:
    """Write of a switch's settings.

    Parameters
    ----------
    number : int
        Index in the study's list.
    cycle, switch : int
        Cycle and switch of the write.
    write : MarkingWrite or StarvationWrite
        Written settings.
    """

    number: int
    cycle: int
    switch: int
    write: MarkingWrite | StarvationWrite


def _by_cycle(world: World) -> list[tuple[int, CongestionWrite]]:
    """Return a study's writes with their list indices, sorted by cycle."""
    given = world.study.congestion
    return sorted(enumerate(given.write if given else ()), key=lambda each: each[1].cycle)


def setting_writes(world: World) -> list[SettingWrite]:
    """Return the writes to all switches. Each takes one cycle (NCC-14)."""
    settings = world.congestion
    return [] if settings is None else list(_writes(world, settings))


def _writes(world: World, settings: Congestion) -> Iterator[SettingWrite]:
    usual: dict[str, Any] = {name: getattr(settings, name) for name in (*RATE_KEYS, *CS_KEYS)}
    switches = [dict(usual) for _ in range(world.topology.switches)]
    elements: dict[tuple[int, int], dict[str, Any]] = {
        place: dict(zip(RATE_KEYS, values, strict=True)) for place, values in settings.elements.items()
    }
    elements |= {place: dict(zip(CS_KEYS, values, strict=True)) for place, values in settings.cs_elements.items()}
    for number, given in _by_cycle(world):
        if given.port is not None and given.switch is not None:
            place = given.switch, given.port - 1
            before = elements.get(place, {})
            keys = (
                CS_KEYS
                if given.given(CS_KEYS) or (before.keys() == set(CS_KEYS) and not given.given(RATE_KEYS))
                else RATE_KEYS
            )
            values = {name: before.get(name, switches[given.switch][name]) for name in keys} | given.given(keys)
            elements[place] = values
            yield SettingWrite(
                number, given.cycle, given.switch, _element_write(place[1], values, valid=int(given.valid))
            )
            continue
        for switch in range(len(switches)) if given.switch is None else (given.switch,):
            switches[switch].update(given.given((*RATE_KEYS, *CS_KEYS)))
            for later, write in enumerate(_parts(world, given, switch, switches[switch])):
                yield SettingWrite(number, given.cycle + later, switch, write)


def _element_write(port: int, values: dict[str, Any], *, valid: int) -> MarkingWrite:
    if values.keys() == set(CS_KEYS):
        return starvation_element(port, values["cs_threshold"], values["cs_return_delay"], valid=valid)
    return MarkingWrite(select=CCMarkerSelect.PORT, port=port, valid=valid, **values)


def _parts(
    world: World, given: CongestionWrite, switch: int, values: dict[str, Any]
) -> Iterator[MarkingWrite | StarvationWrite]:
    """Yield the written parts of SwitchCongestionSetting, in the order of Control_Map's bits."""
    if given.victim_mask is not None:
        mask = sum(1 << port for port in masked_ports(given.victim_mask, world.topology, switch))
        yield MarkingWrite(select=CCMarkerSelect.VICTIM_MASK, victim_mask=mask)
    if given.credit_mask is not None:
        mask = sum(1 << port for port in masked_ports(given.credit_mask, world.topology, switch))
        yield StarvationWrite(select=StarvationSelect.CREDIT_MASK, credit_mask=mask)
    if given.given(_LIMITS):
        yield MarkingWrite(select=CCMarkerSelect.THRESHOLD, **{name: values[name] for name in _LIMITS})
    if given.given(CS_KEYS):
        shift, multiplier = values["cs_return_delay"]
        yield StarvationWrite(
            select=StarvationSelect.RETURN, threshold=values["cs_threshold"], shift=shift, multiplier=multiplier
        )
    if given.marking_rate is not None:
        yield MarkingWrite(select=CCMarkerSelect.MARKING_RATE, marking_rate=given.marking_rate)


def check_settings(world: World) -> None:
    """Reject settings of missing switches or hosts, writes after the run, and overlapping writes of a switch.

    Raises
    ------
    InputError
        If a setting is rejected; names the key.
    """
    given, topology, cycles = world.study.congestion, world.topology, world.study.run.cycles
    if given is None:
        return
    cabled = {*topology.far_ends(), *topology.hosts} if given.port or given.write else set()
    placed: list[tuple[str, CongestionPort | CongestionWrite]] = [
        (f"congestion.port.{number}", each) for number, each in enumerate(given.port)
    ]
    placed += [(f"congestion.write.{number}", each) for number, each in enumerate(given.write)]
    for where, each in placed:
        if each.switch is not None and each.switch >= topology.switches:
            raise InputError(f"{where}.switch", f"0 to {topology.switches - 1}", each.switch)
        if each.port is not None and (each.switch, each.port - 1) not in cabled:
            raise without_cable(f"{where}.port", each.switch, each.port)
        if isinstance(each, CongestionWrite) and each.cycle >= cycles:
            raise InputError(f"{where}.cycle", f"below the run's cycles, {cycles}", each.cycle)
    for where, hosts in (
        *((f"congestion.host.{number}", each.hosts) for number, each in enumerate(given.host)),
        *((f"congestion.write.{number}", each.hosts or ()) for number, each in enumerate(given.write)),
    ):
        for host in hosts:
            if host >= len(topology.hosts):
                raise InputError(f"{where}.hosts", f"host numbers from 0 to {len(topology.hosts) - 1}", host)
    written: dict[tuple[int, int], int] = {}
    for write in setting_writes(world):
        before = written.setdefault((write.cycle, write.switch), write.number)
        if before != write.number:
            field, cycle = f"congestion.write.{write.number}.cycle", given.write[write.number].cycle
            problem = f": another write of switch {write.switch} is still in progress in cycle {cycle}"
            raise InputError(field, "after the write in progress", cycle, problem=problem)


def changes_of_settings(world: World) -> list[Change]:
    """Return the writes of switches and hosts as changes of golden's network."""
    settings = world.congestion
    if settings is None:
        return []
    found = [_change_of(each) for each in setting_writes(world)]
    hosts = AllHosts(_host(settings.usual), {nic: _host(own) for nic, own in settings.hosts.items()})
    for _, given in _by_cycle(world):
        if given.of_hosts:
            hosts.change(given)
            found += _changes_of_hosts(given, hosts, len(world.topology.hosts))
    return found


def _change_of(given: SettingWrite) -> Change:
    if isinstance(given.write, StarvationWrite):
        return schedule_starvation_write(given.switch, given.write, cycle=given.cycle)
    return schedule_marking_write(given.switch, given.write, cycle=given.cycle)


def _host(nic: NICSettings) -> HostSettings:
    levels = [dict(zip(LEVEL_KEYS, values, strict=True)) for values in nic.levels]
    return HostSettings(nic.port_control, nic.ccti_limit, levels, list(nic.table))


def _changes_of_hosts(given: CongestionWrite, hosts: AllHosts, count: int) -> Iterator[Change]:
    """Yield the changes of a write to hosts. Hosts with common settings share one change."""
    if given.hosts is None:
        others = [nic for nic in range(count) if nic not in hosts.own]
        yield schedule_pacing_writes(list(_of_host(given, hosts.usual.levels)), cycle=given.cycle, nics=others)
    for nic in hosts.own if given.hosts is None else given.hosts:
        yield schedule_pacing_writes(list(_of_host(given, hosts.own[nic].levels)), cycle=given.cycle, nics=[nic])


def _of_host(given: CongestionWrite, levels: list[dict[str, int]]) -> Iterator[HostWrite]:
    """Yield the writes to a host whose levels are given as they are after the write."""
    for index, (shift, multiplier) in enumerate(given.cct or ()):
        yield cct_entry_write(index, shift, multiplier)
    if given.ccti_limit is not None:
        yield ccti_limit_write(given.ccti_limit)
    if given.port_control is not None:
        yield port_control_write(given.port_control)
    for sl, level in enumerate(levels):
        if given.given(LEVEL_KEYS) and given.sl in (None, sl):
            yield sl_settings_write(
                sl,
                timer=level["ccti_timer"],
                increase=level["ccti_increase"],
                trigger=level["trigger_threshold"],
                minimum=level["ccti_min"],
            )
