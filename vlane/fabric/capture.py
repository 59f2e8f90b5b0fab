"""A captured fabric's folder, read into one :class:`~vlane.fabric.model.Fabric`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vlane.errors import InputError
from vlane.fabric.ibnetdiscover import read_ibnetdiscover
from vlane.fabric.lfts import read_lfts
from vlane.fabric.lids import LidBook
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.opensm_conf import read_opensm_conf
from vlane.fabric.path_sls import read_path_csv, read_saquery
from vlane.fabric.portinfo import read_portinfo
from vlane.fabric.sl2vl import read_opensm_sl2vl, read_smpquery_sl2vl
from vlane.fabric.vlarb_dump import read_smpquery_vlarb

__all__ = ["load_fabric"]

T = TypeVar("T")

_TOPOLOGY = "ibnetdiscover.txt"
_LFTS = ("opensm-lfts.dump", "dump_fts.txt", "ibroute.txt")


def load_fabric(folder: Path) -> Fabric:
    """Read the files of a captured fabric; only ``ibnetdiscover.txt`` must be there.

    Every other file may be missing; the fabric's notes then say so, and what is assumed instead.

    Raises
    ------
    InputError
        If the folder holds no fabric, or a file of it cannot be used.
    """
    try:
        is_folder, has_topology = folder.is_dir(), (folder / _TOPOLOGY).is_file()
    except OSError as error:
        raise InputError("fabric", "a readable folder", error.strerror or "unreadable", source=str(folder)) from None
    if not is_folder:
        raise InputError(
            "fabric", "a folder", "no such folder" if not folder.exists() else "a file", source=str(folder)
        )
    if not has_topology:
        raise InputError("fabric", f"a folder with {_TOPOLOGY}", "without it", source=str(folder))
    fabric = Fabric(folder.resolve().name, read_ibnetdiscover(folder / _TOPOLOGY))
    lids = LidBook(fabric.nodes, folder / _TOPOLOGY)
    fabric.lfts = _first(fabric, folder, [(name, read_lfts) for name in _LFTS], "no pair can be traced") or {}
    _check_switches(fabric, folder)

    fabric.sl2vl = (
        _first(
            fabric,
            folder,
            [
                ("opensm-sl2vl.dump", lambda path: read_opensm_sl2vl(path, lids)),
                ("smpquery-sl2vl.txt", lambda path: read_smpquery_sl2vl(path, lids)),
            ],
            "VL = SL modulo the data lanes",
        )
        or {}
    )
    read_back = folder / "smpquery-sl2vl.txt"
    if (folder / "opensm-sl2vl.dump").is_file() and read_back.is_file():
        _compare(fabric, read_smpquery_sl2vl(read_back, lids))
    fabric.vlarb = (
        _first(
            fabric,
            folder,
            [("smpquery-vlarb.txt", lambda path: read_smpquery_vlarb(path, lids))],
            "arbitration is not checked",
        )
        or {}
    )
    cabled = {Port(node.guid, number) for node in fabric.nodes.values() for number in node.links}
    bare = cabled - set(fabric.vlarb)
    if fabric.vlarb and bare:
        fabric.notes.append(f"{len(bare)} cabled ports have no arbitration table: theirs is not checked")
    fabric.path_sls = (
        _first(
            fabric,
            folder,
            [("path-sl.csv", read_path_csv), ("saquery-path.txt", read_saquery)],
            "every pair takes SL 0",
        )
        or {}
    )
    fabric.conf = _first(
        fabric, folder, [("opensm.conf", read_opensm_conf)], "limits are 0, nothing configured to compare"
    )
    fabric.oper_vls = (
        _first(
            fabric,
            folder,
            [("smpquery-portinfo.txt", lambda path: read_portinfo(path, lids))],
            f"{fabric.data_vls} data lanes, by the tables",
        )
        or {}
    )
    if fabric.oper_vls and cabled - set(fabric.oper_vls):
        told = len(cabled & set(fabric.oper_vls))
        fabric.notes.append(
            f"OperVLs is known of {told} of {len(cabled)} ports: {fabric.data_vls} is taken for the others"
        )
    return fabric


def _check_switches(fabric: Fabric, folder: Path) -> None:
    """Refuse forwarding tables of other switches than the fabric's; a file that was cut off lacks some."""
    if not fabric.lfts:
        return
    name = next(name for name in _LFTS if (folder / name).is_file())
    switches = {node.guid for node in fabric.of_kind(Kind.SWITCH)}
    for guid in sorted(switches ^ set(fabric.lfts)):
        must = "one of every switch" if guid in switches else f"of switches in {_TOPOLOGY}"
        got = f"none of {fabric.nodes[guid].name}" if guid in switches else f"one of {guid:#x}"
        lines = len((folder / name).read_text(encoding="utf-8").splitlines())
        raise InputError("forwarding tables", must, got, source=str(folder / name), line=lines)


def _first(fabric: Fabric, folder: Path, readers: list[tuple[str, Callable[[Path], T]]], instead: str) -> T | None:
    """Read the first file that is there; note it if none is."""
    for name, read in readers:
        if (folder / name).exists():
            return read(folder / name)
    fabric.notes.append(f"no {' or '.join(name for name, _ in readers)}: {instead}")
    return None


def _compare(fabric: Fabric, read_back: dict[tuple[int, int, int], tuple[int, ...]]) -> None:
    """Let the rows that the ports returned hold, and note a dump that says otherwise."""
    differ = [key for key, row in read_back.items() if fabric.sl2vl.get(key, row) != row]
    if differ:
        node = fabric.nodes[differ[0][0]]
        fabric.notes.append(
            f"opensm-sl2vl.dump and smpquery-sl2vl.txt differ in {len(differ)} rows, the first of {node.name} "
            f"in {differ[0][1]} out {differ[0][2]}: the ports' own rows are used"
        )
    fabric.sl2vl.update(read_back)
