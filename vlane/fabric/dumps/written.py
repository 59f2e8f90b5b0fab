"""Writer of a fabric's dumps, in the formats of the common tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from vlane.documents.files import not_an_input, write_whole
from vlane.errors import InputError
from vlane.fabric.model import Fabric, Kind, Node
from vlane.tables.lft import UNASSIGNED

_WORDS = {Kind.SWITCH: "Switch", Kind.CA: "Channel Adapter", Kind.ROUTER: "Router"}
_SHORT = {Kind.SWITCH: ("Switch", "switchguid"), Kind.CA: ("Ca", "caguid"), Kind.ROUTER: ("Rt", "rtguid")}
_HEAD = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n"
_RULE = "#--------------------------------------------------------\n"


def write_dumps(fabric: Fabric, folder: Path, names: tuple[str, ...] = (), *, option: str = "--out") -> list[Path]:
    """Write a fabric's files into a folder, created if missing, and return the files.

    Parameters
    ----------
    fabric : Fabric
        Fabric to write.
    folder : Path
        Output folder; other files in the folder are kept.
    names : tuple of str
        Names of ``DUMPS``; all by default. A file without content is not written.
    option : str
        Name of the option in error messages.

    Raises
    ------
    InputError
        If a file cannot be written or is an input of this command. No file is written then.
    """
    for name in names or DUMPS:
        not_an_input(folder / name, option=option)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "unwritable"
        problem = f": cannot write the folder: {reason}"
        raise InputError(option, "a writable folder", reason, source=str(folder), problem=problem) from None
    written = []
    for name in names or DUMPS:
        text = "".join(DUMPS[name](fabric))
        if text:
            write_whole(folder / name, text, option=option)
            written.append(folder / name)
    return written


def _lid(node: Node, number: int) -> int:
    return next((node.lids[port] for port in (number, 0) if port in node.lids), 0)


def _nodes(fabric: Fabric) -> list[Node]:
    return [node for kind in Kind for node in fabric.of_kind(kind)]


def _topology(fabric: Fabric) -> Iterator[str]:
    yield "#\n# Topology file: written by vlane\n#\n"
    for node in _nodes(fabric):
        word, guid = _SHORT[node.kind]
        yield f"\nvendid=0x0\ndevid=0x0\nsysimgguid={node.guid:#x}\n{guid}={node.guid:#x}({node.guid:x})\n"
        line = f'{word}\t{node.ports} "{node.kind.value}-{node.guid:016x}"\t\t# "{node.name}"'
        if node.kind is Kind.SWITCH and 0 in node.lids:
            line += f" base port 0 lid {node.lids[0]} lmc {node.lmc.get(0, 0)}"
        yield f"{line}\n"
        for number, far in sorted(node.links.items()):
            there = fabric.nodes[far.guid]
            line = f'[{number}]\t"{there.kind.value}-{there.guid:016x}"[{far.number}]\t\t# '
            if node.kind is not Kind.SWITCH:
                line += f"lid {node.lids.get(number, 0)} lmc {node.lmc.get(number, 0)} "
            generation, _, width = node.rates.get(number, "").partition(" ")
            rate = f" {width.lower()}{generation}" if width else ""
            yield f'{line}"{there.name}" lid {_lid(there, far.number)}{rate}\n'


def _forwarding(fabric: Fabric) -> Iterator[str]:
    owners = fabric.port_of_lid()
    for guid, table in sorted(fabric.lfts.items()):
        node = fabric.nodes[guid]
        yield f"Unicast lids [0-{len(table) - 1}] of switch Lid {_lid(node, 0)} guid 0x{guid:016x} ('{node.name}'):\n"
        rows = [(lid, out) for lid, out in enumerate(table) if out != UNASSIGNED]
        for lid, out in rows:
            owner = fabric.nodes[owners[lid].guid] if lid in owners else None
            whose = f" # {_WORDS[owner.kind]} portguid 0x{owner.guid:016x}: '{owner.name}'" if owner else ""
            yield f"0x{lid:04x} {out:03d}{whose}\n"
        yield f"{len(rows)} lids dumped\n"


def _sl2vl(fabric: Fabric) -> Iterator[str]:
    for node in _nodes(fabric):
        rows: dict[int, list[str]] = {}
        is_switch = node.kind is Kind.SWITCH
        numbers = fabric.sl2vl.table(node.guid)
        places = [] if numbers is None else np.argwhere(numbers.T >= 0).tolist()
        for to, source in places:
            vls = " ".join(f"{vl:<2d}" for vl in fabric.sl2vl[node.guid, source, to])
            rows.setdefault(0 if is_switch else to, []).append(f"{source:<3d} {to if is_switch else 0:<3d} : {vls}\n")
        for number, lines in sorted(rows.items()):
            yield f'{_WORDS[node.kind]} 0x{node.guid:016x}, base LID {_lid(node, number)}, "{node.name}"\n'
            yield _HEAD + _RULE
            yield from lines
            yield f"{_RULE}\n"


def _vlarb(fabric: Fabric) -> Iterator[str]:
    for port, lists in sorted(fabric.vlarb.items()):
        lid = _lid(fabric.nodes[port.guid], port.number)
        yield f"$ smpquery vlarb {lid} {port.number}\n# VLArbitration tables: Lid {lid} port {port.number} "
        yield f"LowCap {lists.low_cap} HighCap {lists.high_cap}\n"
        for name, entries in (("Low", lists.low), ("High", lists.high)):
            yield f"# {name} priority VL Arbitration Table:\n"
            for start in range(0, len(entries), 8):
                some = entries[start : start + 8]
                yield f"VL    : |{''.join(f'{hex(entry.vl):<4s}|' for entry in some)}\n"
                yield f"WEIGHT: |{''.join(f'{hex(entry.weight):<4s}|' for entry in some)}\n"


def _portinfo(fabric: Fabric) -> Iterator[str]:
    for port, info in sorted(fabric.port_infos.items()):
        lid = _lid(fabric.nodes[port.guid], port.number)
        yield f"$ smpquery portinfo {lid} {port.number}\n# Port info: Lid {lid} port {port.number}\n"
        if info.mtu:
            yield f"NeighborMTU:.....................{info.mtu}\n"
        if info.high_limit is not None:
            yield f"VLHighLimit:.....................{info.high_limit}\n"
        yield f"OperVLs:.........................VL0{f'-{info.vls - 1}' if info.vls > 1 else ''}\n"


def _paths(fabric: Fabric) -> Iterator[str]:
    if fabric.path_sls:
        yield "slid,dlid,sl\n"
    for slid, dlid in sorted(fabric.path_sls):
        yield f"{slid},{dlid},{fabric.path_sls[slid, dlid]}\n"


DUMPS: dict[str, Callable[[Fabric], Iterator[str]]] = {
    "ibnetdiscover.txt": _topology,
    "opensm-lfts.dump": _forwarding,
    "opensm-sl2vl.dump": _sl2vl,
    "smpquery-vlarb.txt": _vlarb,
    "smpquery-portinfo.txt": _portinfo,
    "path-sl.csv": _paths,
}
"""Writers by file name."""
