"""Coverage of a check: the elements checked without an assumption, for each class of findings.

A class has full coverage only if the capture contains all of its inputs. Missing parts are listed with the affected
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from vlane.fabric.capture import CONF, LFTS, PATH_SLS, PORT_INFOS, SL2VL, VLARB
from vlane.fabric.configured import computes_own_tables
from vlane.fabric.dump import Remarks
from vlane.fabric.every_sl import EverySL, every_sl
from vlane.fabric.finding import ABOUT_CAPTURE, CODES
from vlane.fabric.missing import Missing
from vlane.fabric.model import Fabric, Kind, Node, Port
from vlane.fabric.trace import Trace
from vlane.fabric.waits import LANES

_PATHS = ("CREDIT_LOOP", "UNREACHABLE", "VL_UNSERVED")
_LISTS = ("VLARB_NARROWED", "VLARB_DIFFERS", "VL_MASKED", "WEIGHT_WRAPPED", "ENTRIES_DROPPED")
_ROWS = ("SL2VL_MASKED", "SL2VL_DIFFERS")
_LANES = ("MAX_VLS_IGNORED", "MAX_OP_VLS_EXCEEDED")
_BOTH = ("OPER_VLS_EXCEEDED", "LIMIT_DIFFERS")
"""Findings from a comparison of PortInfo with the options."""
_PORTS = ("STARVATION", "WEIGHT_BELOW_MTU", *_BOTH)
_OPTIONS = tuple(code for code in CODES if code not in {*_PATHS, *_LISTS, *_ROWS, *_LANES, *_PORTS, *ABOUT_CAPTURE})
"""Findings about the options file alone."""


class Coverage(NamedTuple):
    """Extent to which a class of findings was checked.

    Parameters
    ----------
    element : str
        Kind of the counted elements, in the plural.
    checked : int
        Number of elements checked without an assumption.
    present : int
        Number of elements in the fabric.
    """

    element: str
    checked: int
    present: int

    @property
    def is_full(self) -> bool:
        """Whether every element was checked."""
        return self.checked == self.present

    def __str__(self) -> str:
        return f"{self.checked:,} of {self.present:,} {self.element}"


class Extent(NamedTuple):
    """Extent of a check.

    Parameters
    ----------
    coverage : dict of str to Coverage
        Coverage of each class of findings, by code.
    missing : list of Missing
        Parts missing from the capture, with the affected classes.
    """

    coverage: dict[str, Coverage]
    missing: list[Missing]


def extent_of(fabric: Fabric, trace: Trace) -> Extent:
    """Return the extent to which a capture, with the paths of its pairs, was checked."""
    every = every_sl(fabric, trace)
    coverage = _coverage(fabric, trace, every)
    return Extent(coverage, _missing(fabric, trace, every, coverage))


def _coverage(fabric: Fabric, trace: Trace, every: EverySL) -> dict[str, Coverage]:
    present = trace.pairs + _pairs_without_lid(fabric)

    def of_pairs(*, holds: bool) -> Coverage:
        return Coverage("pairs", trace.pairs if holds else trace.pairs - trace.unsure, present)

    has_conf, ports = fabric.conf is not None, fabric.cabled
    lists = [port in fabric.vlarb for port in ports]
    lanes = [port in fabric.port_infos for port in ports]
    limits = [
        known and fabric.port_infos[port].high_limit is not None for port, known in zip(ports, lanes, strict=True)
    ]
    mtus = [known and fabric.port_infos[port].mtu > 0 for port, known in zip(ports, lanes, strict=True)]

    def of_ports(*needs: Iterable[bool]) -> Coverage:
        return Coverage("cabled ports", sum(map(all, zip(*needs, strict=True))), len(ports))

    conf = [has_conf] * len(ports)
    return {
        "CREDIT_LOOP": of_pairs(holds=every.loops),
        "UNREACHABLE": of_pairs(holds=every.arrivals),
        "VL_UNSERVED": _unserved(fabric, trace, every.served),
        "STARVATION": of_ports(lists, lanes, (fabric.knows_limit(port) for port in ports)),
        "WEIGHT_BELOW_MTU": of_ports(lists, lanes, mtus),
        **dict.fromkeys(_LISTS, of_ports(lists, conf)),
        **dict.fromkeys(_ROWS, _rows(fabric)),
        **dict.fromkeys(_LANES, of_ports(lanes, conf)),
        "OPER_VLS_EXCEEDED": of_ports(lists, lanes, conf),
        "LIMIT_DIFFERS": of_ports(limits, conf),
        **dict.fromkeys(_OPTIONS, Coverage("option files", int(has_conf), 1)),
    }


def _pairs_without_lid(fabric: Fabric) -> int:
    """Return the number of ordered pairs with at least one adapter port without a LID."""
    absent = sum(len(node.without_lid) for node in fabric.nodes.values())
    adapters = [node for node in fabric.nodes.values() if node.kind is not Kind.SWITCH]
    sources = sum(len(node.lids) for node in adapters)
    targets = sum(1 << node.lmc.get(number, 0) for node in adapters for number in node.lids)
    return absent * (sources + targets + absent - 1)


def _unserved(fabric: Fabric, trace: Trace, served: frozenset[Port]) -> Coverage:
    """Count the ports in use. A switch without a forwarding table may use all of its ports.

    ``served`` contains the ports that need no path SLs, because they serve the lanes of all SLs.
    """
    if trace.pairs and not trace.traffic.any():
        return Coverage("ports in use", 0, len(fabric.cabled))
    used = trace.traffic.reshape(-1, LANES).sum(axis=1)
    unsure = trace.unsure_traffic.reshape(-1, LANES).sum(axis=1)
    numbers = {number: trace.wiring.port(number) for number in np.flatnonzero(used).tolist()}
    ports = {port: not unsure[number] or port in served for number, port in numbers.items()}
    for node in _switches_without_table(fabric):
        ports.update({Port(node.guid, number): False for number in node.links})
    checked = sum(sure and port in fabric.vlarb and port in fabric.port_infos for port, sure in ports.items())
    return Coverage("ports in use", checked, len(ports))


def _rows(fabric: Fabric) -> Coverage:
    present = checked = 0
    for node in fabric.nodes.values():
        if node.kind is Kind.ROUTER:
            continue
        cabled = np.array(sorted(node.links), np.int64)
        is_switch = node.kind is Kind.SWITCH
        rows = len(cabled) * (len(cabled) - 1) if is_switch else len(cabled)
        present += rows
        table = fabric.sl2vl.table(node.guid)
        if table is None or fabric.conf is None or (is_switch and computes_own_tables(fabric.conf)):
            continue
        inputs = cabled if is_switch else np.zeros(1, np.int64)
        known = table[np.ix_(inputs, cabled)] >= 0
        checked += int(known.sum()) - (int(known.diagonal().sum()) if is_switch else 0)
    return Coverage("SL2VL rows between cabled ports", checked, present)


def _switches_without_table(fabric: Fabric) -> list[Node]:
    return [node for node in fabric.of_kind(Kind.SWITCH) if node.guid not in fabric.lfts]


def _missing(fabric: Fabric, trace: Trace, every: EverySL, coverage: dict[str, Coverage]) -> list[Missing]:
    found = [
        *_missing_paths(fabric, trace, every),
        *_missing_lists(fabric),
        *_missing_conf(fabric),
        *_missing_port_infos(fabric),
    ]
    known = [each._replace(codes=tuple(code for code in each.codes if not coverage[code].is_full)) for each in found]
    return known + _failed_discovery(fabric.remarks, fabric.topology_file)


def _files(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _missing_paths(fabric: Fabric, trace: Trace, every: EverySL) -> list[Missing]:
    found = []
    absent = tuple(Port(node.guid, number) for node in fabric.nodes.values() for number in node.without_lid)
    if absent:
        what = f"{_counted(len(absent), 'adapter port has', 'adapter ports have')} no LID: {fabric.show_all(absent)}"
        found.append(Missing(what, _PATHS, "their pairs are not checked", absent))
    switches = _switches_without_table(fabric)
    if switches and not fabric.lfts:
        found.append(Missing(f"no forwarding tables ({_files(LFTS[:5])})", _PATHS, "no pair can be traced"))
    elif switches:
        names = ", ".join(fabric.show_node(node) for node in switches[:3]) + (", ..." if len(switches) > 3 else "")
        what = f"forwarding tables of {len(switches)} of {len(fabric.of_kind(Kind.SWITCH))} switches: {names}"
        instead = f"{trace.lost.unknown} pairs are followed only as far as these switches"
        found.append(Missing(what, _PATHS, instead, tuple(Port(node.guid, 0) for node in switches)))
    if not fabric.sl2vl:
        found.append(
            Missing(f"no SL2VL rows ({_files(SL2VL[:3])})", (*_PATHS, *_ROWS), "VL = SL modulo the data lanes")
        )
    elif trace.bare:
        ports = tuple(sorted(trace.wiring.port(to) for _, to in trace.bare))
        source, to = min(trace.bare)
        at = f"{fabric.show(trace.wiring.port(to))} from port {trace.wiring.port(source).number}"
        what = f"{_counted(len(trace.bare), 'SL2VL row in use is', 'SL2VL rows in use are')} missing, the first of {at}"
        instead = "VL = SL modulo the data lanes is assumed"
        found.append(Missing(what, (*_PATHS, *_ROWS), instead, tuple(dict.fromkeys(ports))))
    pairs = sum(trace.sls.values())
    if not fabric.path_sls and trace.pairs:
        found.append(_missing_path_sls(fabric, trace, every))
    elif trace.assumed:
        what = f"path SLs of {trace.assumed:,} of {pairs:,} pairs"
        found.append(Missing(what, _PATHS, "SL 0 is assumed for these pairs"))
    return found


def _missing_path_sls(fabric: Fabric, trace: Trace, every: EverySL) -> Missing:
    """Return the classes of findings that differ between SLs, if the capture has no path SLs."""
    in_use = _unserved(fabric, trace, every.served).present
    same = dict(zip(_PATHS, (every.loops, every.arrivals, in_use == len(every.served)), strict=True))
    holding = [code for code in _PATHS if same[code]]
    drops = f"; SL2VL rows in use drop SL {', '.join(map(str, every.dropped))}" if every.dropped else ""
    same_text = f"; {_listed(holding)}: the same result for every SL" if holding else ""
    instead = f"every pair takes SL 0{drops}{same_text}"
    return Missing(f"no path SLs ({_files(PATH_SLS[:3])})", tuple(c for c in _PATHS if not same[c]), instead)


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _missing_lists(fabric: Fabric) -> list[Missing]:
    codes = ("VL_UNSERVED", "STARVATION", "WEIGHT_BELOW_MTU", *_LISTS, "OPER_VLS_EXCEEDED")
    if not fabric.vlarb:
        return [Missing(f"no arbitration lists ({_files(VLARB)})", codes, "arbitration is not checked")]
    return _bare_ports(fabric, lambda port: port in fabric.vlarb, "arbitration lists", codes, "theirs is not checked")


def _bare_ports(
    fabric: Fabric, has: Callable[[Port], bool], name: str, codes: tuple[str, ...], instead: str
) -> list[Missing]:
    bare = tuple(port for port in fabric.cabled if not has(port))
    if not bare:
        return []
    what = f"{name} of {len(bare)} of {len(fabric.cabled)} cabled ports: {fabric.show_all(bare)}"
    return [Missing(what, codes, instead, bare)]


def _missing_conf(fabric: Fabric) -> list[Missing]:
    if fabric.conf is None:
        codes = (*(() if _knows_limits(fabric) else ("STARVATION",)), *_LISTS, *_ROWS, *_LANES, *_BOTH)
        return [Missing(f"no {CONF}", (*codes, *_OPTIONS), "limits are 0, nothing configured to compare")]
    if computes_own_tables(fabric.conf) and fabric.of_kind(Kind.SWITCH):
        instead = "the rows that this engine computes are not compared with qos_sl2vl"
        return [Missing(f"{fabric.conf.file} routing_engine torus-2QoS", _ROWS, instead)]
    return []


def _knows_limits(fabric: Fabric) -> bool:
    return all(map(fabric.knows_limit, fabric.cabled))


def _missing_port_infos(fabric: Fabric) -> list[Missing]:
    codes = ("VL_UNSERVED", "STARVATION", "WEIGHT_BELOW_MTU", *_LANES, *_BOTH)
    if not fabric.port_infos:
        instead = f"{_counted(fabric.data_vls, 'data lane', 'data lanes')}, judged by the tables; no MTU is known"
        return [Missing(f"no PortInfo ({_files(PORT_INFOS)})", codes, instead)]
    instead = (
        _counted(fabric.data_vls, "data lane", "data lanes")
        + (f" and MTU {fabric.mtu}" if fabric.mtu else "")
        + " are assumed there"
    )
    found = _bare_ports(fabric, lambda port: port in fabric.port_infos, "PortInfo", codes, instead)
    without = [port for port, info in fabric.port_infos.items() if not info.mtu and port in set(fabric.cabled)]
    if without:
        what = f"NeighborMTU of {len(without)} ports: {fabric.show_all(without)}"
        instead = f"MTU {fabric.mtu} is assumed there" if fabric.mtu else "no MTU is known"
        found.append(Missing(what, ("WEIGHT_BELOW_MTU",), instead, tuple(without)))
    return found


def _failed_discovery(remarks: Remarks, file: str) -> list[Missing]:
    """Return the failed queries of topology discovery, behind which nodes may be missing."""
    failures = remarks.failures(file)
    if not failures:
        return []
    line, text = failures[0]
    what = f"{file}:{line}: {_counted(len(failures), 'failed query', 'failed queries')} ({text.strip()[:120]})"
    return [Missing(what, _PATHS, "nodes and cables behind it may be missing, and are not counted")]


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
