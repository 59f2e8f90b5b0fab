"""A study's congestion control: settings of the golden network from a study's section or OpenSM options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vlane.congestion.cc_source import TICK_NS
from vlane.errors import InputError, missing_value
from vlane.fabric.congestion_options import congestion_options
from vlane.fabric.dumps.opensm_conf import read_opensm_conf
from vlane.golden.network.congestion import Congestion, NICSettings
from vlane.study.congestion import CongestionSection
from vlane.study.congestion_parts import CS_KEYS, LEVEL_KEYS, RATE_KEYS
from vlane.study.host_settings import AllHosts, HostSettings
from vlane.study.study import Study
from vlane.tables.sl2vl import SL_COUNT

_LEAST_TICK, _MOST_TICK = 64, 4096


def congestion_settings(study: Study, base: Path) -> Congestion | None:
    """Return the settings of congestion control, ``None`` without congestion control.

    Raises
    ------
    InputError
        If 1.024 us, the unit of the timers, are not 64 to 4096 cycles, or if the OpenSM options cannot be read or turn
        congestion control off.
    """
    given = study.congestion
    if given is None:
        return None
    tick = round(TICK_NS / study.link.clock.cycle_ns)
    if not _LEAST_TICK <= tick <= _MOST_TICK:
        must = f"such that 1.024 us are {_LEAST_TICK} to {_MOST_TICK} cycles with [congestion]"
        raise InputError("link.rate_gbps", must, study.link.rate_gbps)
    attributes = _of_section(given) if given.opensm_conf is None else _of_opensm(base / given.opensm_conf)
    longest = max((len(each.cct or ()) for each in given.write), default=0)
    rates = [attributes[name] for name in RATE_KEYS]
    elements = {
        (each.switch, each.port - 1): _element({**dict(zip(RATE_KEYS, rates, strict=True)), **each.given(RATE_KEYS)})
        for each in given.port
        if not each.given(CS_KEYS)
    }
    cs_elements = {
        (each.switch, each.port - 1): _cs_element({**_cs_values(attributes), **each.given(CS_KEYS)})
        for each in given.port
        if each.given(CS_KEYS)
    }
    return Congestion(
        by_inputs=given.measure == "inputs",
        busy_blocks=given.busy_blocks,
        level_blocks=given.level_blocks,
        idle_blocks=given.idle_blocks,
        shift_first=given.shift_first,
        flows=given.flows,
        tick_cycles=tick,
        cnp_interval=given.cnp_interval_cycles,
        held_packets=given.held_packets,
        elements=elements,
        cs_elements=cs_elements,
        starves=given.starves or bool(attributes["credit_mask"] and attributes["cs_threshold"]),
        cct_entries=longest,
        hosts=_of_hosts(given, attributes),
        by_port=given.pacing == "port",
        **attributes,
    )


def _of_hosts(given: CongestionSection, attributes: Mapping[str, Any]) -> dict[int, NICSettings]:
    """Return the settings of hosts that differ from the common settings."""
    levels = [dict(zip(LEVEL_KEYS, level, strict=True)) for level in attributes["levels"]]
    hosts = AllHosts(
        HostSettings(attributes["port_control"], attributes["ccti_limit"], levels, list(attributes["table"]))
    )
    hosts.set(given.host)
    return {
        host: NICSettings(
            port_control=own.port_control,
            ccti_limit=own.limit,
            table=own.table,
            levels=[_components(level) for level in own.levels],
        )
        for host, own in hosts.own.items()
    }


def _components(level: Mapping[str, int]) -> tuple[int, int, int, int]:
    return level["ccti_timer"], level["ccti_increase"], level["trigger_threshold"], level["ccti_min"]


def _cs_values(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: attributes[name] for name in CS_KEYS}


def _cs_element(values: Mapping[str, Any]) -> tuple[int, tuple[int, int]]:
    shift, multiplier = values["cs_return_delay"]
    return values["cs_threshold"], (shift, multiplier)


def _element(values: Mapping[str, int]) -> tuple[int, int, int]:
    return values["threshold"], values["packet_size"], values["marking_rate"]


def flows_held(congestion: Congestion, sl: int, blocks: int) -> tuple[int, int]:
    """Return the number of flows of a level to one host that congestion control can hold: by its timer and by its CCT.

    One of N flows to a host must inject one packet per N packet times. This needs a gap of N - 1 packets, which the CCT
    must contain at or below CCTI_Limit. The flow receives at most one BECN per (Marking_Rate + 1) packets, and each
    must raise CCTI as fast as CCTI_Timer lowers it: N x blocks x (Marking_Rate + 1) <= CCTI_Timer x CCTI_Increase, with
    the timer in cycles. With individual host settings, the smallest result counts.

    Parameters
    ----------
    congestion : Congestion
        Settings.
    sl, blocks : int
        Service level, and size of its packets in blocks.
    """
    by_timer, by_cct = [], []
    for nic in (congestion.usual, *congestion.hosts.values()):
        timer, increase, *_ = nic.levels[sl]
        by_timer.append(timer * congestion.tick_cycles * increase // (blocks * (congestion.marking_rate + 1)))
        shift, multiplier = nic.table[nic.ccti_limit]
        product = (blocks >> shift) * multiplier if congestion.shift_first else blocks * multiplier >> shift
        by_cct.append(1 + product // blocks)
    return min(by_timer), min(by_cct)


def marking_remark(study: Study, congestion: Congestion, marked: Iterable[int]) -> str:
    """Return the reason in the switch settings why no packet was marked, or an empty text without one.

    Parameters
    ----------
    study : Study
        Study of the runs.
    congestion : Congestion
        Settings of congestion control.
    marked : iterable of int
        Number of marked packets of each run.
    """
    if any(marked):
        return ""
    if not (congestion.threshold or congestion.elements or (study.congestion and study.congestion.write)):
        return "no packet was marked: Threshold is 0"
    if congestion.by_inputs or study.switch.speed > 1:
        return ""
    return (
        'no packet was marked: with measure = "output", marking needs full output buffers, which a crossbar at '
        'link speed never causes; set switch.speed = 2 or congestion.measure = "inputs"'
    )


def _of_section(given: CongestionSection) -> dict[str, Any]:
    levels = [_components(given.level(sl)) for sl in range(SL_COUNT)]
    return {
        "threshold": given.threshold,
        "packet_size": given.packet_size,
        "marking_rate": given.marking_rate,
        "victim_mask": given.victim_mask,
        "port_control": given.port_control,
        "ccti_limit": given.ccti_limit,
        "levels": levels,
        "table": given.table,
        "credit_mask": given.credit_mask,
        "cs_threshold": given.cs_threshold,
        "cs_return_delay": (given.cs_return_delay[0], given.cs_return_delay[1]),
    }


def _of_opensm(file: Path) -> dict[str, Any]:
    """Return the attributes that OpenSM sends. CCTI_Limit is the last entry of the CCT."""
    options = congestion_options(read_opensm_conf(file))
    if options is None or not options.is_on:
        problem = f"is {'FALSE' if options else 'missing'}; set it to TRUE"
        raise InputError(
            "congestion_control", "TRUE", "FALSE" if options else "missing", source=str(file), problem=problem
        )
    for option, text, must, _ in options.faults:
        raise InputError(option.name, must, text, source=str(file), line=option.line)
    if not options.cct:
        raise missing_value("cc_cct", "give a list of shift:multiplier", source=str(file))
    threshold, packet_size, marking_rate, mask = options.in_force
    sent = [options.level(sl) for sl in range(SL_COUNT)]
    levels = [(each.ccti_timer, each.ccti_increase, each.trigger_threshold, each.ccti_min) for each in sent]
    return {
        "threshold": threshold,
        "packet_size": packet_size,
        "marking_rate": marking_rate,
        "victim_mask": mask,
        "port_control": options.port_control & 1,
        "ccti_limit": len(options.cct) - 1,
        "levels": levels,
        "table": options.cct,
        **dict(zip(("credit_mask", *CS_KEYS), options.starvation, strict=True)),
    }
