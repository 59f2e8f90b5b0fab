"""Generator of captures of fabrics of any size, in the formats of the usual tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

FILES = ("smpquery-sl2vl.txt", "smpquery-vlarb.txt", "smpquery-portinfo.txt", "path-sl.csv", "opensm.conf")
"""What a capture may lack beside the topology, the forwarding tables and OpenSM's own SL2VL dump."""

_SWITCH, _HOST = 0x200000, 0x100000
_PORTINFO = """LinkWidthActive:.................4X
LinkState:.......................Active
NeighborMTU:.....................{mtu}
VLCap:...........................VL0-7
VLHighLimit:.....................0
VLArbHighCap:....................8
VLArbLowCap:.....................8
MtuCap:..........................4096
OperVLs:.........................VL0-{last}
"""

End = tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """Network of switches and hosts with a route from every switch to every host.

    Parameters
    ----------
    ports : list of int
        Number of ports of each switch.
    cables : dict of (int, int) to (int, int)
        Cables in both directions, as (switch, port) with ports from 1.
    hosts : list of (int, int)
        Switch and port of each host.
    route : callable
        Function of a switch and a host that returns the output port.
    """

    ports: list[int]
    cables: dict[End, End]
    hosts: list[End]
    route: Callable[[int, int], int]


def tree(k: int, n: int) -> Plan:
    """Return a k-ary n-tree without credit loops.

    Level 0 has the leaves. Ports 1 to k lead down and ports k + 1 to 2 k lead up.
    """
    width = k ** (n - 1)
    cables: dict[End, End] = {}
    for level, place, up in product(range(n - 1), range(width), range(k)):
        weight = k**level
        above = place - place // weight % k * weight + up * weight
        here, there = (level * width + place, k + 1 + up), ((level + 1) * width + above, 1 + place // weight % k)
        cables[here], cables[there] = there, here
    ports = [2 * k if level < n - 1 else k for level in range(n) for _ in range(width)]
    hosts = [(host // k, 1 + host % k) for host in range(width * k)]

    def route(switch: int, host: int) -> int:
        level, place = divmod(switch, width)
        leaf = host // k
        if level == 0:
            return 1 + host % k if place == leaf else k + 1 + host % k
        weight = k**level
        if place // weight == leaf // weight:
            return 1 + leaf // (weight // k) % k
        return k + 1 + host // weight % k

    return Plan(ports, cables, hosts, route)


def torus(size: tuple[int, ...], hosts: int, *, wrap: bool = True) -> Plan:
    """Return a torus with dimension-order routing, or a mesh without wrap-around.

    Rings of four and more switches have credit loops. Ports 1 to ``hosts`` lead to hosts, followed by an up and a down
    port for each dimension.
    """
    weights = [1]
    for extent in size:
        weights.append(weights[-1] * extent)
    switches = weights.pop()
    cables: dict[End, End] = {}
    for switch, (axis, (extent, weight)) in product(range(switches), enumerate(zip(size, weights, strict=True))):
        at = switch // weight % extent
        if wrap or at + 1 < extent:
            there = switch + ((at + 1) % extent - at) * weight
            here, far = (switch, hosts + 1 + 2 * axis), (there, hosts + 2 + 2 * axis)
            cables[here], cables[far] = far, here

    def route(switch: int, host: int) -> int:
        target, port = divmod(host, hosts)
        for axis, (extent, weight) in enumerate(zip(size, weights, strict=True)):
            way = target // weight % extent - switch // weight % extent
            if way:
                up = way > 0 if not wrap else way % extent <= extent // 2
                return hosts + (1 if up else 2) + 2 * axis
        return 1 + port

    places = [(switch, 1 + port) for switch in range(switches) for port in range(hosts)]
    return Plan([hosts + 2 * len(size)] * switches, cables, places, route)


def write_capture(
    folder: Path,
    plan: Plan,
    *,
    without: tuple[str, ...] = (),
    vls: int = 4,
    mtu: int = 2048,
    levels: int = 4,
    row: Callable[[int, int, int, int], int] = lambda _switch, _source, _to, sl: sl,
    names: Callable[[str], str] = lambda name: name,
) -> Path:
    """Write a plan's capture, with LIDs for the switches first and then for the hosts.

    Parameters
    ----------
    folder : Path
        Output folder, created if missing.
    plan : Plan
        Network.
    without : tuple of str
        Names of ``FILES`` to leave out.
    vls, mtu, levels : int
        Number of data lanes and MTU of every port, and number of service levels used by path records in turn.
    row : callable
        Lane for a switch, input, output and SL, taken modulo ``vls``.
    names : callable
        Function that makes a node description of ``S0`` or ``H0``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    writers: dict[str, Callable[[], Iterator[str]]] = {
        "ibnetdiscover.txt": lambda: _topology(plan, names),
        "opensm-lfts.dump": lambda: _lfts(plan, names),
        "opensm-sl2vl.dump": lambda: _sl2vl(plan, names, vls, row),
        "smpquery-sl2vl.txt": lambda: _sl2vl_queries(plan, vls, row),
        "smpquery-vlarb.txt": lambda: _vlarb(plan, vls),
        "smpquery-portinfo.txt": lambda: _portinfo(plan, vls, mtu),
        "path-sl.csv": lambda: _paths(plan, levels),
        "opensm.conf": lambda: iter(["qos TRUE\n", f"qos_vlarb_low {_entries(vls)}\n", "qos_vlarb_high 0:0\n"]),
    }
    for name, lines in writers.items():
        if name not in without:
            with (folder / name).open("w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(lines())
    return folder


def _lid(plan: Plan, host: int) -> int:
    return 1 + len(plan.ports) + host


def _topology(plan: Plan, names: Callable[[str], str]) -> Iterator[str]:
    by_switch: dict[int, dict[int, str]] = {switch: {} for switch in range(len(plan.ports))}
    for (switch, port), (far, far_port) in plan.cables.items():
        name = names(f"S{far}")
        by_switch[switch][port] = f'[{port}]\t"S-{_SWITCH + far:016x}"[{far_port}]\t\t# "{name}" lid {1 + far} 4xSDR\n'
    for host, (switch, port) in enumerate(plan.hosts):
        guid, name = _HOST + 2 * host, names(f"H{host}")
        by_switch[switch][port] = (
            f'[{port}]\t"H-{guid:016x}"[1]({guid + 1:x}) \t\t# "{name}" lid {_lid(plan, host)} 4xSDR\n'
        )
    yield "#\n# Topology file: generated\n#\n\n"
    for switch, links in by_switch.items():
        guid, name = _SWITCH + switch, names(f"S{switch}")
        yield f"vendid=0x0\ndevid=0x0\nsysimgguid={guid:#x}\nswitchguid={guid:#x}({guid:x})\n"
        yield f'Switch\t{plan.ports[switch]} "S-{guid:016x}"\t\t# "{name}" base port 0 lid {1 + switch} lmc 0\n'
        yield from (links[port] for port in sorted(links))
        yield "\n"
    for host, (switch, port) in enumerate(plan.hosts):
        guid = _HOST + 2 * host
        yield f'vendid=0x0\ndevid=0x0\nsysimgguid={guid:#x}\ncaguid={guid:#x}\nCa\t1 "H-{guid:016x}"\t\t'
        yield f'# "{names(f"H{host}")}"\n[1]({guid + 1:x}) \t"S-{_SWITCH + switch:016x}"[{port}]\t\t'
        yield f'# lid {_lid(plan, host)} lmc 0 "{names(f"S{switch}")}" lid {1 + switch} 4xSDR\n\n'


def _lfts(plan: Plan, names: Callable[[str], str]) -> Iterator[str]:
    switches, hosts = len(plan.ports), len(plan.hosts)
    lids = switches + hosts
    heads = [f"0x{_lid(plan, host):04x} " for host in range(hosts)]
    tails = [
        f" # Channel Adapter portguid 0x{_HOST + 2 * host + 1:016x}: '{names(f'H{host}')}'\n" for host in range(hosts)
    ]
    for switch in range(switches):
        guid, name, lid = _SWITCH + switch, names(f"S{switch}"), 1 + switch
        yield f"Unicast lids [0-{lids}] of switch Lid {lid} guid 0x{guid:016x} ('{name}'):\n"
        yield f"0x{lid:04x} 000 # Switch portguid 0x{guid:016x}: '{name}'\n"
        yield "".join([f"{heads[host]}{plan.route(switch, host):03d}{tails[host]}" for host in range(hosts)])
        yield f"{hosts + 1} lids dumped\n"


def _row_text(lanes: Callable[[int], int], vls: int, form: str) -> str:
    return "".join(form.format(lanes(sl) % vls) for sl in range(16))


def _sl2vl(
    plan: Plan, names: Callable[[str], str], vls: int, row: Callable[[int, int, int, int], int]
) -> Iterator[str]:
    rule = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n#" + "-" * 56 + "\n"
    for switch, ports in enumerate(plan.ports):
        yield f'Switch 0x{_SWITCH + switch:016x}, base LID {1 + switch}, "{names(f"S{switch}")}"\n{rule}'
        for to, source in product(range(1, ports + 1), range(ports + 1)):
            lanes = _row_text(lambda sl, s=switch, i=source, o=to: row(s, i, o, sl), vls, "{:<2d} ")  # type: ignore[misc]
            yield f"{source:<3d} {to:<3d} : {lanes}\n"
        yield f"#{'-' * 56}\n\n"
    lanes = _row_text(lambda sl: sl, vls, "{:<2d} ")
    for host in range(len(plan.hosts)):
        yield f'Channel Adapter 0x{_HOST + 2 * host + 1:016x}, base LID {_lid(plan, host)}, "{names(f"H{host}")}"\n'
        yield f"{rule}0   0   : {lanes}\n#{'-' * 56}\n\n"


def _cabled(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield LID and port number of every cabled port."""
    yield from sorted((1 + switch, port) for switch, port in [*plan.cables, *plan.hosts])
    yield from ((_lid(plan, host), 1) for host in range(len(plan.hosts)))


def _sl2vl_queries(plan: Plan, vls: int, row: Callable[[int, int, int, int], int]) -> Iterator[str]:
    for lid, port in _cabled(plan):
        yield f"$ smpquery sl2vl {lid} {port}\n# SL2VL table: Lid {lid}\n"
        yield "#                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n"
        if lid > len(plan.ports):
            yield f"ports: in  0, out  0: |{_row_text(lambda sl: sl, vls, '{:2d}|')}\n"
            continue
        for source in range(plan.ports[lid - 1] + 1):
            lanes = _row_text(lambda sl, s=lid - 1, i=source, o=port: row(s, i, o, sl), vls, "{:2d}|")  # type: ignore[misc]
            yield f"ports: in {source:2d}, out {port:2d}: |{lanes}\n"


def _entries(vls: int) -> str:
    return ",".join(f"{vl}:{64 if vl < vls else 0}" for vl in range(8))


def _vlarb(plan: Plan, vls: int) -> Iterator[str]:
    lanes = "VL    : |" + "".join(f"0x{vl:x} |" for vl in range(8)) + "\n"
    low = "WEIGHT: |" + "".join("0x40|" if vl < vls else "0x0 |" for vl in range(8)) + "\n"
    none = "|".join(["0x0 "] * 8)
    tables = (
        f"# Low priority VL Arbitration Table:\n{lanes}{low}"
        f"# High priority VL Arbitration Table:\nVL    : |{none}|\nWEIGHT: |{none}|\n"
    )
    for lid, port in _cabled(plan):
        yield f"$ smpquery vlarb {lid} {port}\n"
        yield f"# VLArbitration tables: Lid {lid} port {port} LowCap 8 HighCap 8\n{tables}"


def _portinfo(plan: Plan, vls: int, mtu: int) -> Iterator[str]:
    fields = _PORTINFO.format(mtu=mtu, last=min(vls, 15) - 1)
    for lid, port in _cabled(plan):
        yield f"$ smpquery portinfo {lid} {port}\n# Port info: Lid {lid} port {port}\n{fields}"


def _paths(plan: Plan, levels: int) -> Iterator[str]:
    yield "slid,dlid,sl,mtu,rate\n"
    hosts = range(len(plan.hosts))
    for host in hosts:
        here = _lid(plan, host)
        yield "".join([f"{here},{_lid(plan, far)},{(host + far) % levels},0x84,0x83\n" for far in hosts if far != host])
