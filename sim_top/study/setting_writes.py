"""Settings of congestion control that a study writes under traffic (``docs/congestion.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vlane.golden.network.congestion import Congestion, masked_ports
from vlane.golden.network.runs import Change
from vlane.golden.network.setting_writes import (
    HostWrite,
    cct_entry,
    level_of_sl,
    limit,
    marking_is_written,
    pacing_is_written,
    port_control,
)
from vlane.sim_top.study.world import World

from vlane.cc_marker import CCMarkerSelect
from vlane.errors import InputError
from vlane.marking_write import MarkingWrite
from vlane.study_congestion_parts import LEVEL_KEYS, RATE_KEYS, CongestionPort, CongestionWrite

__all__ = ["SettingWrite", "changes_of_settings", "check_settings", "setting_writes"]

_LIMITS = ("threshold", "packet_size")


@dataclass(frozen=True, slots=True)
class SettingWrite:
    """A write of a switch's settings.

    Parameters
    ----------
    number : int
        Place in the study's list.
    cycle, switch : int
        When and where.
    write : MarkingWrite
        What.
    """

    number: int
    cycle: int
    switch: int
    write: MarkingWrite


def _by_cycle(world: World) -> list[tuple[int, CongestionWrite]]:
    """Return a study's writes with their numbers, in the order of their cycles."""
    given = world.study.congestion
    return sorted(enumerate(given.write if given else ()), key=lambda each: each[1].cycle)


def setting_writes(world: World) -> list[SettingWrite]:
    """Return the writes of all switches, each of one cycle (NCC-14)."""
    settings = world.congestion
    return [] if settings is None else list(_writes(world, settings))


def _writes(world: World, settings: Congestion) -> Iterator[SettingWrite]:
    usual = {name: getattr(settings, name) for name in RATE_KEYS}
    switches = [dict(usual) for _ in range(world.topology.switches)]
    elements = {place: dict(zip(RATE_KEYS, values, strict=True)) for place, values in settings.elements.items()}
    for number, given in _by_cycle(world):
        if given.port is not None and given.switch is not None:
            place = given.switch, given.port - 1
            values = elements.setdefault(place, dict(switches[given.switch]))
            values.update(given.given(RATE_KEYS))
            write = MarkingWrite(select=CCMarkerSelect.PORT, port=place[1], valid=int(given.valid), **values)
            yield SettingWrite(number, given.cycle, given.switch, write)
            continue
        for switch in range(len(switches)) if given.switch is None else (given.switch,):
            switches[switch].update(given.given(RATE_KEYS))
            for later, write in enumerate(_parts(world, given, switch, switches[switch])):
                yield SettingWrite(number, given.cycle + later, switch, write)


def _parts(world: World, given: CongestionWrite, switch: int, values: dict[str, int]) -> Iterator[MarkingWrite]:
    """Yield the parts of SwitchCongestionSetting that are written, in the order of Control_Map's bits."""
    if given.victim_mask is not None:
        mask = sum(1 << port for port in masked_ports(given.victim_mask, world.topology, switch))
        yield MarkingWrite(select=CCMarkerSelect.VICTIM_MASK, victim_mask=mask)
    if given.given(_LIMITS):
        yield MarkingWrite(select=CCMarkerSelect.THRESHOLD, **{name: values[name] for name in _LIMITS})
    if given.marking_rate is not None:
        yield MarkingWrite(select=CCMarkerSelect.MARKING_RATE, marking_rate=given.marking_rate)


def check_settings(world: World) -> None:
    """Refuse settings of what is not there, writes that never happen, and two of a switch in one cycle.

    Raises
    ------
    InputError
        Naming the key.
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
            raise InputError(f"{where}.port", f"a cabled port of switch {each.switch}, from 1", each.port)
        if isinstance(each, CongestionWrite) and each.cycle >= cycles:
            raise InputError(f"{where}.cycle", f"below the run's cycles, {cycles}", each.cycle)
    written: dict[tuple[int, int], int] = {}
    for write in setting_writes(world):
        before = written.setdefault((write.cycle, write.switch), write.number)
        if before != write.number:
            must = f"one without another write of switch {write.switch} under way"
            raise InputError(f"congestion.write.{write.number}.cycle", must, given.write[write.number].cycle)


def changes_of_settings(world: World) -> list[Change]:
    """Return the writes of switches and hosts as changes of golden's network."""
    settings = world.congestion
    if settings is None:
        return []
    found = [marking_is_written(each.switch, each.write, cycle=each.cycle) for each in setting_writes(world)]
    levels = [dict(zip(LEVEL_KEYS, values, strict=True)) for values in settings.levels]
    for _, given in _by_cycle(world):
        if given.of_hosts:
            found.append(pacing_is_written(list(_of_hosts(given, levels)), cycle=given.cycle))
    return found


def _of_hosts(given: CongestionWrite, levels: list[dict[str, int]]) -> Iterator[HostWrite]:
    """Yield what a write gives all hosts; the levels are changed."""
    for index, (shift, multiplier) in enumerate(given.cct or ()):
        yield cct_entry(index, shift, multiplier)
    if given.ccti_limit is not None:
        yield limit(given.ccti_limit)
    if given.port_control is not None:
        yield port_control(given.port_control)
    for sl, level in enumerate(levels):
        if given.given(LEVEL_KEYS) and given.sl in (None, sl):
            level.update(given.given(LEVEL_KEYS))
            yield level_of_sl(
                sl, timer=level["ccti_timer"], increase=level["ccti_increase"], trigger=level["trigger_threshold"],
                minimum=level["ccti_min"],
            )  # fmt: skip
