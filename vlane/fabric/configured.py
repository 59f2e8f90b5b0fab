"""Comparison of options with programmed tables: what OpenSM masked, wrapped, truncated or dropped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vlane.documents.textfile import number
from vlane.fabric.dumps.opensm_conf import Configured, OpenSMConf, Option
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Kind, Port, ProgrammedVLArb
from vlane.fabric.sl2vl_tables import SL2VLRow
from vlane.tables.sl2vl import VL_DROP

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
    findings = list(_routing(conf))
    if not conf.qos:
        if any(option.name.startswith("qos_") for option in conf.options):
            findings.append(Finding("QOS_OFF", conf.file, "qos is not TRUE, so the qos_ options have no effect"))
        return findings
    for kind in (Kind.SWITCH, Kind.CA, Kind.ROUTER):
        if fabric.of_kind(kind):
            ports = sorted(port for port in fabric.vlarb if fabric.nodes[port.guid].kind is kind)
            findings += _compare_kind(fabric, conf, kind, ports)
    return list(dict.fromkeys(findings))


def _where(conf: OpenSMConf, option: Option, kind: Kind) -> str:
    line = f":{option.line}" if option.line else ""
    return f"{conf.file}{line} {option.name}" + (" (adapters)" if kind is not Kind.SWITCH else " (switches)")


def _compare_kind(fabric: Fabric, conf: OpenSMConf, kind: Kind, ports: list[Port]) -> Iterator[Finding]:
    configured = conf.configured(kind)
    groups = _grouped(fabric, conf, ports)
    for option in configured.refused_limits():
        yield Finding(
            "LIMIT_REPLACED",
            _where(conf, option, kind),
            f"limit {_short(option.value)} is not 0 to 255: OpenSM programs {configured.limit()}",
        )
    yield from _lanes(fabric, conf, configured, kind, ports)
    for option in (configured.high, configured.low):
        yield from _malformed(conf, configured, option, kind)
        for (narrowed, _, programmed), same in groups.items():
            entries = programmed.high if option is configured.high else programmed.low
            if narrowed:
                yield from _compare_narrowed(fabric, conf, configured, option, entries, same)
            else:
                yield from _compare_list(fabric, conf, configured, option, kind, entries, same)
    yield from _exceeded(fabric, groups)
    yield from _compare_sl2vl(fabric, conf, configured, kind)


def _grouped(fabric: Fabric, conf: OpenSMConf, ports: list[Port]) -> _Groups:
    """Return groups of ports that can be compared together."""
    own_tables = _own_tables(conf)
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


def _own_tables(conf: OpenSMConf) -> bool:
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
    """Compare lists towards adapters: torus-2QoS keeps VL 0 and VL 4, the latter as VL 1, and drops the rest."""
    where = _where(conf, option, Kind.SWITCH)
    at = f"{fabric.show(ports[0])}{_more(ports)}"
    cap = len(entries)
    kept = [(vl // 4, weight) for vl, weight in configured.programmed_list(option, cap=cap, vls=15) if vl in (0, 4)]
    if tuple(kept + [(0, 0)] * (cap - len(kept))) == entries:
        yield Finding(
            "VLARB_NARROWED",
            where,
            f"{at} {_ENGINE_WITH_OWN_TABLES} keeps VL 0 and VL 4 (as VL 1) towards adapters: "
            + ", ".join(f"VL {vl} weight {weight}" for vl, weight in kept),
        )
    else:
        yield Finding(
            "VLARB_DIFFERS", where, f"{at} {list(entries)} is not what {_ENGINE_WITH_OWN_TABLES} makes of this option"
        )


def _lanes(
    fabric: Fabric, conf: OpenSMConf, configured: Configured, kind: Kind, ports: list[Port]
) -> Iterator[Finding]:
    """Compare the configured lanes with the operational lanes of ports whose PortInfo is known."""
    port = next((port for port in ports if port in fabric.port_infos), None)
    if port is None:
        return
    running = fabric.port_infos[port].vls
    if configured.max_vls.line and number(configured.max_vls.value) != running:
        yield Finding(
            "MAX_VLS_IGNORED",
            _where(conf, configured.max_vls, kind),
            f"{_short(configured.max_vls.value)} has no effect: {fabric.show(port)} runs {running} data lanes; "
            "max_op_vls limits them",
        )
    option = conf.get("max_op_vls")
    if option and conf.max_op_vls is not None and running > conf.max_op_vls:
        yield Finding(
            "MAX_OP_VLS_EXCEEDED",
            _where(conf, option, kind),
            f"{_short(option.value)} allows {conf.max_op_vls} data lanes, {fabric.show(port)} runs {running}",
        )


def _malformed(conf: OpenSMConf, configured: Configured, option: Option, kind: Kind) -> Iterator[Finding]:
    parts = configured.malformed(option)
    if parts:
        read = ",".join(f"{pair.vl}:{pair.weight}" for pair in configured.pairs(option))
        yield Finding(
            "ENTRY_MALFORMED",
            _where(conf, option, kind),
            f"{_short(parts[0])!r} is not VL:weight: OpenSM reads the list as {_short(read, 200)}",
        )


def _compare_list(
    fabric: Fabric,
    conf: OpenSMConf,
    configured: Configured,
    option: Option,
    kind: Kind,
    entries: tuple[tuple[int, int], ...],
    ports: list[Port],
) -> Iterator[Finding]:
    where = _where(conf, option, kind)
    cap = len(entries)
    pairs = configured.pairs(option)
    lost = [pair for pair in pairs[cap:] if pair.weight & 0xFF] if option.line else []
    if lost:
        yield Finding(
            "ENTRIES_DROPPED",
            where,
            f"{len(pairs)} entries configured, the ports hold {cap}: {len(pairs) - cap} were dropped",
        )
    vls = next((v for v in _MASKS if configured.programmed_list(option, cap=cap, vls=v) == entries), None)
    if vls is None:
        expected = configured.programmed_list(option, cap=cap, vls=fabric.data_vls_of(ports[0]))
        index = next(i for i in range(cap) if expected[i] != entries[i])
        yield Finding(
            "VLARB_DIFFERS",
            where,
            f"{fabric.show(ports[0])}{_more(ports)} entry {index} is VL {entries[index][0]} "
            f"weight {entries[index][1]}; "
            f"OpenSM makes VL {expected[index].vl} weight {expected[index].weight} of this option",
        )
        return
    if not option.line:
        return
    for index, (pair, entry) in enumerate(zip(pairs, entries, strict=False)):
        if pair.vl != entry[0]:
            yield Finding(
                "VL_MASKED",
                where,
                f"entry {index}: VL {_signed(pair.vl)} was programmed as VL {entry[0]}, weight {entry[1]}",
            )
        if pair.weight != entry[1]:
            yield Finding(
                "WEIGHT_WRAPPED",
                where,
                f"entry {index}: VL {pair.vl} weight {_signed(pair.weight)} was programmed as {entry[1]}",
            )


def _more(ports: list[Port]) -> str:
    return f" and {len(ports) - 1} more:" if len(ports) > 1 else ":"


def _short(text: str, most: int = 60) -> str:
    """Shorten a text of any length."""
    return text if len(text) <= most else text[:most] + "..."


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _exceeded(fabric: Fabric, groups: _Groups) -> Iterator[Finding]:
    for (_, vls, programmed), ports in groups.items():
        beyond = sorted({e.vl for e in programmed.high + programmed.low if e.weight and e.vl >= vls})
        if beyond:
            yield Finding(
                "OPER_VLS_EXCEEDED",
                fabric.show(ports[0]) + _more(ports).rstrip(":"),
                f"arbitration entries name VL {', '.join(map(str, beyond))}, the ports run VL 0 to {vls - 1}: "
                "those entries are skipped, and another heavy sweep would program others",
            )


def _compare_sl2vl(fabric: Fabric, conf: OpenSMConf, configured: Configured, kind: Kind) -> Iterator[Finding]:
    option = configured.sl2vl
    where = _where(conf, option, kind)
    if option.line and option.value.count(",") < 15:
        yield Finding("SL2VL_SHORT", where, f"{option.value.count(',') + 1} of 16 lanes given: the other SLs take VL 0")
    if _own_tables(conf):
        return
    if option.value.count(",") > 15:
        given = option.value.count(",") + 1
        yield Finding("ENTRIES_DROPPED", where, f"{given} lanes given, there are 16 SLs: {given - 16} were dropped")
    made = {configured.programmed_row(vls) for vls in _MASKS}
    written = configured.lanes()
    for (lanes, row), ((guid, source, to), count) in _distinct_rows(fabric, kind).items():
        port = Port(guid, to)
        at = f"{fabric.show(port)} from port {source}" + (f" and {count - 1} more rows" if count > 1 else "")
        if row not in made:
            yield Finding("SL2VL_DIFFERS", where, f"{at}: {_spell(row)} is not what OpenSM makes of this option")
            continue
        cut = [sl for sl, vl in enumerate(written) if vl != row[sl]]
        if cut and option.line:
            said = ", ".join(f"SL {sl} to VL {row[sl]} not {written[sl]}" for sl in cut[:4])
            yield Finding(
                "SL2VL_MASKED", where, f"{at}: {said}" + (f" and {len(cut) - 4} more" if len(cut) > 4 else "")
            )
        if any(vl >= lanes for vl in row if vl != VL_DROP):
            yield Finding(
                "OPER_VLS_EXCEEDED",
                where,
                f"{at} names lanes beyond VL {lanes - 1}: another heavy sweep would program others",
            )


def _distinct_rows(fabric: Fabric, kind: Kind) -> dict[tuple[int, SL2VLRow], tuple[tuple[int, int, int], int]]:
    """Return the different rows of cabled outputs by the port's lanes, with their first place and count."""
    found: dict[tuple[int, SL2VLRow], tuple[tuple[int, int, int], int]] = {}
    for node in fabric.of_kind(kind):
        table = fabric.sl2vl.table(node.guid)
        outputs = sorted(node.links)
        if table is None:
            continue
        lanes = np.array([fabric.data_vls_of(Port(node.guid, to)) for to in outputs], np.int64)
        numbers = table[:, outputs].astype(np.int64)
        keys, first, counts = np.unique(numbers * _MOST_LANES + lanes, return_index=True, return_counts=True)
        for at in np.argsort(first).tolist():
            number, vls = divmod(int(keys[at]), _MOST_LANES)
            if number < 0:
                continue
            source, to = divmod(int(first[at]), len(outputs))
            place, before = found.get((vls, fabric.sl2vl.rows[number]), ((node.guid, source, outputs[to]), 0))
            found[vls, fabric.sl2vl.rows[number]] = place, before + int(counts[at])
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
            f"{names[0]} without root_guid_file falls back to min-hop if it finds no roots; "
            f"'{names[0]},no_fallback' refuses instead",
        )
