"""Comparison of options with programmed tables: masked lanes, wrapped weights, dropped entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from vlane.fabric.dumps.opensm_conf import Configured, OpenSMConf, Option, complaints
from vlane.fabric.dumps.opensm_numbers import signed
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Kind, Port, ProgrammedVLArb
from vlane.fabric.option_findings import line_findings, list_findings, option_place, shortened
from vlane.fabric.sl2vl_tables import SL2VLRow
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

_Groups = dict[tuple[bool, int, ProgrammedVLArb], list[Port]]
_MASKS = (15, 8, 4, 2, 1)
_MOST_LANES = 16
_ENGINE_WITH_OWN_TABLES = "torus-2QoS"
_ENGINES_WITH_ROOTS = ("updn", "dnup")


def compare_configured(fabric: Fabric) -> list[Finding]:
    """Return the differences between the options and the tables of the ports, option by option."""
    conf = fabric.conf
    if conf is None:
        return []
    findings = [*line_findings(conf), *_routing(conf)]
    if not conf.qos:
        if conf.sets_qos:
            findings.append(Finding("QOS_OFF", conf.file, "qos is not TRUE, so the qos_ options have no effect"))
        return findings
    for kind in (Kind.SWITCH, Kind.CA, Kind.ROUTER):
        if fabric.of_kind(kind):
            ports = sorted(port for port in fabric.vlarb if fabric.nodes[port.guid].kind is kind)
            findings += _compare_kind(fabric, conf, kind, ports)
    return list(dict.fromkeys(findings))


def _compare_kind(fabric: Fabric, conf: OpenSMConf, kind: Kind, ports: list[Port]) -> Iterator[Finding]:
    configured = conf.configured(kind)
    groups = _grouped(fabric, conf, ports)
    yield from list_findings(conf, kind)
    yield from _limits(fabric, conf, configured, kind)
    yield from _lanes(fabric, conf, configured, kind)
    for option in (configured.high, configured.low):
        for (narrowed, _, programmed), same in groups.items():
            entries = programmed.high if option is configured.high else programmed.low
            if narrowed:
                yield from _compare_narrowed(fabric, conf, configured, option, entries, same)
            else:
                yield from _compare_list(fabric, conf, configured, option, kind, entries, same)
    yield from _exceeded(fabric, groups)
    yield from _compare_sl2vl(fabric, conf, configured, kind)


def _limits(fabric: Fabric, conf: OpenSMConf, configured: Configured, kind: Kind) -> Iterator[Finding]:
    """Compare programmed limits with the configured limit. Ports with one lane have no arbitration."""
    differ: dict[int, list[Port]] = {}
    for port, held in sorted(fabric.held_limits.items()):
        node = fabric.nodes[port.guid]
        if node.kind is kind and port.number in node.links and fabric.data_vls_of(port) > 1:
            differ.setdefault(held, []).append(port)
    option = configured.limit_option() or Option("qos_high_limit (OpenSM's default)", "0", 0)
    for held, ports in differ.items():
        if held != configured.limit():
            said = f"{fabric.show_all(ports)}: LimitOfHighPriority is {held}, but OpenSM makes {configured.limit()}"
            yield Finding("LIMIT_DIFFERS", option_place(conf, option, kind), said, tuple(ports))


def _grouped(fabric: Fabric, conf: OpenSMConf, ports: list[Port]) -> _Groups:
    """Group ports with equal tables, capacities and lanes."""
    own_tables = computes_own_tables(conf)
    same: dict[tuple[bool, int, int], list[Port]] = {}
    for port in ports:  # compared by identity: hashing long lists is slow, and few are alive
        key = (own_tables and _towards_adapter(fabric, port), fabric.data_vls_of(port), id(fabric.vlarb[port]))
        same.setdefault(key, []).append(port)
    groups: _Groups = {}
    for (narrowed, vls, _), alike in same.items():
        groups.setdefault((narrowed, vls, fabric.vlarb[alike[0]]), []).extend(alike)
    return groups


def _towards_adapter(fabric: Fabric, port: Port) -> bool:
    """Return whether a port is a switch port towards an adapter, where torus-2QoS truncates the lists."""
    node = fabric.nodes[port.guid]
    far = node.links.get(port.number)
    return node.kind is Kind.SWITCH and far is not None and fabric.nodes[far.guid].kind is not Kind.SWITCH


def computes_own_tables(conf: OpenSMConf) -> bool:
    """Return whether the routing engine computes SL2VL rows and truncates arbitration lists itself."""
    engine = conf.get("routing_engine")
    return engine is not None and engine.value.split(",")[0].strip() == _ENGINE_WITH_OWN_TABLES


def _compare_narrowed(
    fabric: Fabric,
    conf: OpenSMConf,
    configured: Configured,
    option: Option,
    entries: tuple[tuple[int, int], ...],
    ports: list[Port],
) -> Iterator[Finding]:
    """Compare lists towards adapters: torus-2QoS keeps VL 0, keeps VL 4 as VL 1, and drops the rest."""
    where = option_place(conf, option, Kind.SWITCH)
    at = f"{fabric.show(ports[0])}{_more(ports)}"
    cap = len(entries)
    kept = [(vl // 4, weight) for vl, weight in configured.programmed_list(option, cap=cap, vls=15) if vl in (0, 4)]
    if tuple(kept + [(0, 0)] * (cap - len(kept))) == entries:
        yield Finding(
            "VLARB_NARROWED",
            where,
            f"{at} {_ENGINE_WITH_OWN_TABLES} keeps VL 0 and VL 4 (as VL 1) towards adapters: "
            + ", ".join(f"VL {vl} weight {weight}" for vl, weight in kept),
            tuple(ports),
        )
    else:
        yield Finding(
            "VLARB_DIFFERS",
            where,
            f"{at} {list(entries)} differs from {_ENGINE_WITH_OWN_TABLES}'s result for this option",
            tuple(ports),
        )


def _lanes(fabric: Fabric, conf: OpenSMConf, configured: Configured, kind: Kind) -> Iterator[Finding]:
    """Compare the configured lanes with the operational lanes of all ports with PortInfo."""
    running: dict[int, list[Port]] = {}
    for port in fabric.cabled:
        if fabric.nodes[port.guid].kind is kind and port in fabric.port_infos:
            running.setdefault(fabric.port_infos[port].vls, []).append(port)
    option = conf.get("max_op_vls")
    for lanes, ports in running.items():
        runs = f"{fabric.show_all(ports)} {'runs' if len(ports) == 1 else 'run'} {lanes} data lanes"
        if configured.max_vls.line and configured.most_lanes != lanes:
            text = f"{shortened(configured.max_vls.value)} has no effect: {runs}; max_op_vls limits the lanes"
            yield Finding("MAX_VLS_IGNORED", option_place(conf, configured.max_vls, kind), text, tuple(ports))
        if option and conf.max_op_vls is not None and lanes > conf.max_op_vls:
            text = f"{shortened(option.value)} allows {conf.max_op_vls} data lanes, but {runs}"
            yield Finding("MAX_OP_VLS_EXCEEDED", option_place(conf, option, kind), text, tuple(ports))


def _compare_list(
    fabric: Fabric,
    conf: OpenSMConf,
    configured: Configured,
    option: Option,
    kind: Kind,
    entries: tuple[tuple[int, int], ...],
    ports: list[Port],
) -> Iterator[Finding]:
    where = option_place(conf, option, kind)
    cap = len(entries)
    pairs = configured.pairs(option)
    lost = [pair for pair in pairs[cap:] if pair.weight & 0xFF] if option.line else []
    if lost:
        yield Finding(
            "ENTRIES_DROPPED",
            where,
            f"{len(pairs)} entries are configured, but the ports hold {cap}: {len(pairs) - cap} entries were dropped",
            tuple(ports),
        )
    vls = next((v for v in _MASKS if configured.programmed_list(option, cap=cap, vls=v) == entries), None)
    if vls is None:
        expected = configured.programmed_list(option, cap=cap, vls=fabric.data_vls_of(ports[0]))
        index = next(i for i in range(cap) if expected[i] != entries[i])
        yield Finding(
            "VLARB_DIFFERS",
            where,
            f"{fabric.show(ports[0])}{_more(ports)} entry {index} is VL {entries[index][0]} "
            f"weight {entries[index][1]}, but "
            f"OpenSM programs VL {expected[index].vl} weight {expected[index].weight} for this option",
            tuple(ports),
        )
        return
    if not option.line:
        return
    for index, (pair, entry) in enumerate(zip(pairs, entries, strict=False)):
        if pair.vl != entry[0]:
            yield Finding(
                "VL_MASKED",
                where,
                f"entry {index}: VL {signed(pair.vl)} was programmed as VL {entry[0]} (weight {entry[1]})",
                tuple(ports),
            )
        if pair.weight != entry[1]:
            yield Finding(
                "WEIGHT_WRAPPED",
                where,
                f"entry {index}: VL {pair.vl} weight {signed(pair.weight)} was programmed as weight {entry[1]}",
                tuple(ports),
            )


def _more(ports: list[Port]) -> str:
    return f" and {len(ports) - 1} more:" if len(ports) > 1 else ":"


def _exceeded(fabric: Fabric, groups: _Groups) -> Iterator[Finding]:
    for (_, vls, programmed), ports in groups.items():
        beyond = sorted({e.vl for e in programmed.high + programmed.low if e.weight and e.vl >= vls})
        if beyond:
            yield Finding(
                "OPER_VLS_EXCEEDED",
                fabric.show(ports[0]) + _more(ports).rstrip(":"),
                f"arbitration entries name VL {', '.join(map(str, beyond))}, but the ports run VL 0 to {vls - 1}: "
                "these entries are skipped, and another heavy sweep would program other lanes",
                tuple(ports),
            )


def _compare_sl2vl(fabric: Fabric, conf: OpenSMConf, configured: Configured, kind: Kind) -> Iterator[Finding]:
    option = configured.sl2vl
    where = option_place(conf, option, kind)
    if computes_own_tables(conf):
        return
    given = next((int(each.text) for each in complaints(option) if each.kind == "long"), 0)
    if given:
        text = f"{given} lanes are given for {SL_COUNT} SLs: {given - SL_COUNT} lanes were dropped"
        yield Finding("ENTRIES_DROPPED", where, text)
    made = {configured.programmed_row(vls) for vls in _MASKS}
    written = configured.lanes()
    for (lanes, row), places in _distinct_rows(fabric, kind).items():
        (guid, source, to), count = places.first, places.count
        at = f"{fabric.show(Port(guid, to))} from port {source}" + (f" and {count - 1} more rows" if count > 1 else "")
        ports = tuple(sorted(places.outputs))
        if row not in made:
            text = f"{at}: {_spell(row)} differs from OpenSM's result for this option"
            yield Finding("SL2VL_DIFFERS", where, text, ports)
            continue
        cut = [sl for sl, vl in enumerate(written) if vl != row[sl]]
        if cut and option.line:
            said = ", ".join(f"SL {sl} maps to VL {row[sl]} instead of VL {written[sl]}" for sl in cut[:4])
            more = f" and {len(cut) - 4} more" if len(cut) > 4 else ""
            yield Finding("SL2VL_MASKED", where, f"{at}: {said}{more}", ports)
        if any(vl >= lanes for vl in row if vl != VL_DROP):
            yield Finding(
                "OPER_VLS_EXCEEDED",
                where,
                f"{at} names lanes beyond VL {lanes - 1}: another heavy sweep would program other lanes",
                ports,
            )


@dataclass
class _Places:
    """Places of one SL2VL row.

    Parameters
    ----------
    first : (int, int, int)
        GUID, input and output of the first place.
    count : int
        Number of places.
    outputs : set of Port
        Output ports with this row.
    """

    first: tuple[int, int, int]
    count: int = 0
    outputs: set[Port] = field(default_factory=set)


def _distinct_rows(fabric: Fabric, kind: Kind) -> dict[tuple[int, SL2VLRow], _Places]:
    """Return the different rows of cabled outputs by the port's lanes, with their places."""
    found: dict[tuple[int, SL2VLRow], _Places] = {}
    for node in fabric.of_kind(kind):
        table = fabric.sl2vl.table(node.guid)
        outputs = sorted(node.links)
        if table is None:
            continue
        lanes = np.array([fabric.data_vls_of(Port(node.guid, to)) for to in outputs], np.int64)
        keys = table[:, outputs].astype(np.int64) * _MOST_LANES + lanes
        different, first, counts = np.unique(keys, return_index=True, return_counts=True)
        for at in np.argsort(first).tolist():
            number, vls = divmod(int(different[at]), _MOST_LANES)
            if number < 0:
                continue
            source, to = divmod(int(first[at]), len(outputs))
            places = found.setdefault((vls, fabric.sl2vl.rows[number]), _Places((node.guid, source, outputs[to])))
            places.count += int(counts[at])
            having = np.flatnonzero((keys == different[at]).any(axis=0)).tolist()
            places.outputs.update(Port(node.guid, outputs[column]) for column in having)
    return found


def _spell(row: tuple[int, ...]) -> str:
    return ",".join(map(str, row))


def _routing(conf: OpenSMConf) -> Iterator[Finding]:
    engine = conf.get("routing_engine")
    if engine is None or "no_fallback" in engine.value:
        return
    names = [name.strip() for name in engine.value.split(",")]
    if names[0] in _ENGINES_WITH_ROOTS and conf.get("root_guid_file") is None:
        yield Finding(
            "ROUTING_FALLBACK",
            f"{conf.file}:{engine.line} routing_engine",
            f"{names[0]} without root_guid_file falls back to min-hop if OpenSM finds no roots; "
            f"'{names[0]},no_fallback' refuses instead",
        )
