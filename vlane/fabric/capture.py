"""Reader of a captured fabric's folder into one :class:`~vlane.fabric.model.Fabric`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.dumps.ibnetdiscover import read_ibnetdiscover
from vlane.fabric.dumps.lfts import read_lfts
from vlane.fabric.dumps.opensm_conf import read_opensm_conf
from vlane.fabric.dumps.path_sls import read_path_csv, read_saquery
from vlane.fabric.dumps.portinfo import read_portinfo
from vlane.fabric.dumps.sl2vl import read_opensm_sl2vl, read_smpquery_sl2vl
from vlane.fabric.dumps.vlarb_dump import read_smpquery_vlarb
from vlane.fabric.lids import LidBook
from vlane.fabric.missing import Missing
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.path_table import PathSLs
from vlane.fabric.sl2vl_tables import SL2VLTables

__all__ = ["CAPTURED", "load_fabric"]

T = TypeVar("T")

_TOPOLOGY = "ibnetdiscover.txt"
_LFTS = ("opensm-lfts.dump", "dump_fts.txt", "ibroute.txt")
_SL2VL_SET, _SL2VL_READ = "opensm-sl2vl.dump", "smpquery-sl2vl.txt"
_VLARB, _CONF, _PORT_INFO = "smpquery-vlarb.txt", "opensm.conf", "smpquery-portinfo.txt"
_PATH_CSV, _PATH_RECORDS = "path-sl.csv", "saquery-path.txt"
CAPTURED = (_TOPOLOGY, *_LFTS, _SL2VL_SET, _SL2VL_READ, _VLARB, _PATH_CSV, _PATH_RECORDS, _CONF, _PORT_INFO)
"""Files of a folder that are read as a fabric's."""
_PATHS = ("CREDIT_LOOP", "UNREACHABLE", "VL_UNSERVED")
_LISTS = ("VLARB_NARROWED", "VLARB_DIFFERS", "VL_MASKED", "WEIGHT_WRAPPED", "ENTRIES_DROPPED")
_ROWS = ("SL2VL_MASKED", "SL2VL_DIFFERS")
_LANES = ("MAX_VLS_IGNORED", "MAX_OP_VLS_EXCEEDED", "OPER_VLS_EXCEEDED")
_CONGESTION = ("CC_OFF", "CC_NOTHING_MARKS", "CC_NO_GAP", "CC_MASK_EMPTY", "CC_NO_SL", "CC_TIMER_0", "CC_CCT_SHORT")
_OPTIONS = ("LIMIT_REPLACED", "ENTRY_MALFORMED", "SL2VL_SHORT", "QOS_OFF", *_CONGESTION, "ROUTING_FALLBACK")


def load_fabric(folder: Path) -> Fabric:
    """Read the files of a captured fabric; only ``ibnetdiscover.txt`` must be there.

    Every other file may be missing; the fabric's notes then state this and what is assumed instead.

    Raises
    ------
    InputError
        If the folder holds no fabric, or a file of it cannot be used.
    """
    _check_folder(folder)
    fabric = Fabric(folder.resolve().name, read_ibnetdiscover(folder / _TOPOLOGY))
    lids = LidBook(fabric.nodes, folder / _TOPOLOGY)
    files = _Files(fabric, folder)
    if fabric.of_kind(Kind.SWITCH):
        fabric.lfts = files.first(dict.fromkeys(_LFTS, read_lfts), _PATHS, "no pair can be traced") or {}
    _check_switches(fabric, folder)
    fabric.sl2vl = (
        files.first(
            {
                _SL2VL_SET: lambda path: read_opensm_sl2vl(path, lids),
                _SL2VL_READ: lambda path: read_smpquery_sl2vl(path, lids),
            },
            (*_PATHS, *_ROWS),
            "VL = SL modulo the data lanes",
        )
        or SL2VLTables()
    )
    read_back = folder / _SL2VL_READ
    if (folder / _SL2VL_SET).exists() and read_back.exists():
        _compare(fabric, read_smpquery_sl2vl(read_back, lids))
    fabric.vlarb = (
        files.first(
            {_VLARB: lambda path: read_smpquery_vlarb(path, lids)},
            ("VL_UNSERVED", "STARVATION", "WEIGHT_BELOW_MTU", *_LISTS, "OPER_VLS_EXCEEDED"),
            "arbitration is not checked",
        )
        or {}
    )
    fabric.path_sls = (
        files.first({_PATH_CSV: read_path_csv, _PATH_RECORDS: read_saquery}, _PATHS, "every pair takes SL 0")
        or PathSLs()
    )
    fabric.conf = files.first(
        {_CONF: read_opensm_conf},
        ("STARVATION", *_LISTS, *_ROWS, *_LANES, *_OPTIONS),
        "limits are 0, nothing configured to compare",
    )
    fabric.port_infos = (
        files.first(
            {_PORT_INFO: lambda path: read_portinfo(path, lids)},
            ("WEIGHT_BELOW_MTU", *_LANES),
            "{data_vls} data lanes, by the tables; no MTU is known",
        )
        or {}
    )
    _note_bare_ports(fabric)
    return fabric


class _Files:
    """The files of a folder; missing ones are recorded."""

    def __init__(self, fabric: Fabric, folder: Path) -> None:
        self.fabric, self.folder = fabric, folder

    def first(self, readers: dict[str, Callable[[Path], T]], codes: tuple[str, ...], instead: str) -> T | None:
        """Read the first file that exists; otherwise record what cannot be checked, and what is assumed."""
        for name, read in readers.items():
            if (self.folder / name).exists():
                return read(self.folder / name)
        what = f"no {' or '.join(readers)}"
        assumed = instead.format(data_vls=self.fabric.data_vls) if "{" in instead else instead
        self.fabric.missing.append(Missing(what, codes, assumed))
        self.fabric.notes.append(f"{what}: {assumed}")
        return None


def _check_folder(folder: Path) -> None:
    try:
        is_folder, has_topology = folder.is_dir(), (folder / _TOPOLOGY).is_file()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "unreadable"
        raise InputError("fabric", "a readable folder", said, source=str(folder)) from None
    if not is_folder:
        raise InputError(
            "fabric", "a folder", "no such folder" if not folder.exists() else "a file", source=str(folder)
        )
    if not has_topology:
        raise InputError("fabric", f"a folder with {_TOPOLOGY}", "without it", source=str(folder))


def _check_switches(fabric: Fabric, folder: Path) -> None:
    """Refuse forwarding tables that do not cover exactly the fabric's switches: a truncated file lacks some."""
    if not fabric.lfts:
        return
    name = next(name for name in _LFTS if (folder / name).exists())
    switches = {node.guid for node in fabric.of_kind(Kind.SWITCH)}
    for guid in sorted(switches ^ set(fabric.lfts)):
        must = "one of every switch" if guid in switches else f"of switches in {_TOPOLOGY}"
        got = f"none of {fabric.nodes[guid].name}" if guid in switches else f"one of {guid:#x}"
        lines = sum(1 for _ in TextFile(folder / name))
        raise InputError("forwarding tables", must, got, source=str(folder / name), line=lines)


def _note_bare_ports(fabric: Fabric) -> None:
    """Record the cabled ports that the present files do not cover."""
    cabled = {Port(node.guid, number) for node in fabric.nodes.values() for number in node.links}
    bare = len(cabled) - sum(port in cabled for port in fabric.vlarb)
    if fabric.vlarb and bare:
        what = f"{bare} cabled ports have no arbitration table"
        codes = ("VL_UNSERVED", "STARVATION", "WEIGHT_BELOW_MTU", *_LISTS, "OPER_VLS_EXCEEDED")
        fabric.missing.append(Missing(f"smpquery-vlarb.txt: {what}", codes, "theirs is not checked"))
        fabric.notes.append(f"{what}: theirs is not checked")
    told = sum(port in cabled for port in fabric.port_infos)
    if fabric.port_infos and told < len(cabled):
        fabric.notes.append(
            f"OperVLs is known of {told} of {len(cabled)} ports: {fabric.data_vls} is taken for the others"
        )
        if fabric.vlarb and fabric.mtu:
            fabric.notes.append(f"the MTU of ports without PortInfo is taken as {fabric.mtu}, the largest known")
    if fabric.port_infos and not fabric.mtu:
        what = "smpquery-portinfo.txt: no NeighborMTU"
        fabric.missing.append(Missing(what, ("WEIGHT_BELOW_MTU",), "no MTU is known"))


def _compare(fabric: Fabric, read_back: SL2VLTables) -> None:
    """Use the rows that the ports returned, and record a dump that differs."""
    differ = fabric.sl2vl.differing(read_back)
    if differ:
        node = fabric.nodes[differ[0][0]]
        fabric.notes.append(
            f"opensm-sl2vl.dump and smpquery-sl2vl.txt differ in {len(differ)} rows, the first of {node.name} "
            f"in {differ[0][1]} out {differ[0][2]}: the ports' own rows are used"
        )
    fabric.sl2vl.update(read_back)
