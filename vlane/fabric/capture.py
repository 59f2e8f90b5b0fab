"""Reader of a captured fabric's folder into one :class:`~vlane.fabric.model.Fabric`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.dump import Remarks
from vlane.fabric.dumps.db_csv import DbCsv, read_db_csv
from vlane.fabric.dumps.ibnetdiscover import read_ibnetdiscover
from vlane.fabric.dumps.lfts import read_lfts
from vlane.fabric.dumps.name_map import apply_names, read_name_map
from vlane.fabric.dumps.net_dump import read_net_dump
from vlane.fabric.dumps.opensm_conf import read_opensm_conf
from vlane.fabric.dumps.path_sls import read_path_csv, read_path_records, read_psl, read_saquery
from vlane.fabric.dumps.portinfo import read_portinfo
from vlane.fabric.dumps.sl2vl import read_opensm_sl2vl, read_slvl, read_smpquery_sl2vl
from vlane.fabric.dumps.subnet_lst import read_subnet_lst
from vlane.fabric.dumps.vlarb_dump import read_smpquery_vlarb
from vlane.fabric.lids import LidBook
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.path_table import PathSLs
from vlane.fabric.sl2vl_tables import SL2VLTables
from vlane.fabric.topology import Topology

__all__ = ["CAPTURED", "CONF", "LFTS", "PATH_SLS", "PORT_INFOS", "SL2VL", "TOPOLOGY", "VLARB", "load_fabric"]

T = TypeVar("T")

_DB_CSV, CONF = "ibdiagnet2.db_csv", "opensm.conf"
TOPOLOGY = (
    "ibnetdiscover.txt",
    "ibdiagnet2.ibnetdiscover",
    _DB_CSV,
    "ibdiagnet2.lst",
    "opensm-subnet.lst",
    "ibdiagnet2.net_dump",
)
LFTS = (
    "opensm-lfts.dump",
    "dump_fts.txt",
    "ibroute.txt",
    "ibdiagnet2.fdbs",
    "opensm.fdbs",
    "osm.fdbs",
    "ibdiagnet.fdbs",
    "opensm.fwd",
)
_SL2VL_SET, _SL2VL_READ = "opensm-sl2vl.dump", ("smpquery-sl2vl.txt", "ibdiagnet2.slvl", "ibdiagnet.slvl")
SL2VL = (_SL2VL_SET, *_SL2VL_READ)
VLARB = ("smpquery-vlarb.txt", _DB_CSV)
PORT_INFOS = ("smpquery-portinfo.txt", _DB_CSV)
_PATH_CSV, _SAQUERY, _PATH_RECORDS = "path-sl.csv", "saquery-path.txt", "opensm-path-records.dump"
_PSL = ("ibdiagnet2.psl", "ibdiagnet.psl")
PATH_SLS = (_PATH_CSV, _SAQUERY, _PATH_RECORDS, *_PSL)
_NAMES = ("node-name-map", "node-name-map.txt", "ib-node-name-map", "ib-node-name-map.txt")
CAPTURED = tuple(dict.fromkeys((*TOPOLOGY, *LFTS, *SL2VL, *VLARB, *PATH_SLS, CONF, *PORT_INFOS, *_NAMES)))
"""Names of all files that can be part of a capture. The first usable file of each group is read."""


def load_fabric(folder: Path, *, partial: bool = False, names: Path | None = None) -> Fabric:
    """Read the files of a captured fabric. Only a file of ``TOPOLOGY`` is required.

    Parameters
    ----------
    folder : Path
        The folder.
    partial : bool
        Leave out unreadable files and parts of files, and record them in ``Fabric.remarks``. Nodes and cables must be
        readable in any case.
    names : Path, optional
        A node-name-map to read instead of a node-name-map in the folder.

    Raises
    ------
    InputError
        If the folder holds no fabric, or a file cannot be used.
    """
    _check_folder(folder)
    files = _Files(folder, Remarks(partial))
    name, topology = files.topology()
    fabric = Fabric(folder.resolve().name, topology.nodes, name, remarks=files.remarks)
    fabric.notes.extend(topology.notes)
    lids = LidBook(fabric.nodes, folder / name, topology.initiator)
    _rename(fabric, files, names)
    remarks = files.remarks
    if fabric.of_kind(Kind.SWITCH):
        fabric.lfts = files.first(dict.fromkeys(LFTS, lambda path: read_lfts(path, remarks))) or {}
        _check_switches(fabric, folder)
    fabric.sl2vl = _sl2vl(fabric, files, lids)
    fabric.vlarb = (
        files.first(
            {
                VLARB[0]: lambda path: read_smpquery_vlarb(path, lids, remarks),
                _DB_CSV: lambda _path: _of_fabric(fabric, files.db_csv.vlarb),
            }
        )
        or {}
    )
    fabric.path_sls = (
        files.first(
            {
                _PATH_CSV: lambda path: read_path_csv(path, remarks),
                _SAQUERY: lambda path: read_saquery(path, remarks),
                _PATH_RECORDS: lambda path: read_path_records(path, remarks),
                **dict.fromkeys(_PSL, lambda path: read_psl(path, fabric.nodes, remarks)),
            }
        )
        or PathSLs()
    )
    fabric.conf = files.first({CONF: read_opensm_conf})
    fabric.port_infos = (
        files.first(
            {
                PORT_INFOS[0]: lambda path: read_portinfo(path, lids, remarks),
                _DB_CSV: lambda _path: _of_fabric(fabric, files.db_csv.port_infos),
            }
        )
        or {}
    )
    return fabric


class _Files:
    """Files of a capture. An unreadable file is recorded, and the next file of its group is tried."""

    def __init__(self, folder: Path, remarks: Remarks) -> None:
        self.folder, self.remarks = folder, remarks

    def topology(self) -> tuple[str, Topology]:
        """Return the first usable file of ``TOPOLOGY`` and its content.

        Raises
        ------
        InputError
            If no file is usable. The error is about the first file.
        """
        readers: dict[str, Callable[[Path], Topology | None]] = {
            **dict.fromkeys(TOPOLOGY[:2], lambda path: read_ibnetdiscover(path, self.remarks)),
            _DB_CSV: lambda _path: self.db_csv.topology(),
            **dict.fromkeys(TOPOLOGY[3:5], lambda path: read_subnet_lst(path, self.remarks)),
            TOPOLOGY[5]: lambda path: read_net_dump(path, self.remarks),
        }
        failed: InputError | None = None
        for name in self._present(readers):
            try:
                found = readers[name](self.folder / name)
            except InputError as error:
                failed = failed or error
                self.remarks.leave_out(name, error)
                continue
            if found is not None:
                return name, found
        if failed is not None:
            raise failed
        raise InputError(
            "fabric",
            f"a folder with a file of nodes and cables ({', '.join(TOPOLOGY)})",
            "a folder without these files",
            source=str(self.folder),
            problem=f": no file of nodes and cables; expected one of {', '.join(TOPOLOGY)}",
        )

    def first(self, readers: dict[str, Callable[[Path], T]]) -> T | None:
        """Return the content of the first usable file, or ``None``."""
        for name in self._present(readers):
            try:
                found = readers[name](self.folder / name)
            except InputError as error:
                self.remarks.leave_out(name, error)
                continue
            if found:
                return found
        return None

    @cached_property
    def db_csv(self) -> DbCsv:
        """Tables of ``ibdiagnet2.db_csv``. Empty if the file is unreadable."""
        try:
            return read_db_csv(self.folder / _DB_CSV, self.remarks)
        except InputError as error:
            self.remarks.leave_out(_DB_CSV, error)
            return DbCsv()

    def _present(self, names: Iterable[str]) -> Iterator[str]:
        return (name for name in names if (self.folder / name).exists())


def _of_fabric(fabric: Fabric, found: dict[Port, T]) -> dict[Port, T]:
    """Return the entries of ports in the fabric."""
    nodes = fabric.nodes
    return {port: each for port, each in found.items() if port.guid in nodes and port.number <= nodes[port.guid].ports}


def _check_folder(folder: Path) -> None:
    try:
        is_folder = folder.is_dir()
        has_topology = is_folder and any((folder / name).is_file() for name in TOPOLOGY)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "unreadable"
        problem = f": cannot read the folder: {said}"
        raise InputError("fabric", "a readable folder", said, source=str(folder), problem=problem) from None
    if not is_folder:
        got = "a file" if folder.exists() else "no such folder"
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError("fabric", "a folder", got, problem=problem, source=str(folder))
    if not has_topology:
        must = f"a folder with a file of nodes and cables ({', '.join(TOPOLOGY)})"
        problem = f": no file of nodes and cables; expected one of {', '.join(TOPOLOGY)}"
        raise InputError("fabric", must, "a folder without these files", source=str(folder), problem=problem)


def _rename(fabric: Fabric, files: _Files, names: Path | None) -> None:
    """Rename nodes according to a node-name-map."""
    if names is not None:
        apply_names(fabric.nodes, read_name_map(names, files.remarks))
        return
    found = files.first(dict.fromkeys(_NAMES, lambda path: read_name_map(path, files.remarks)))
    if found:
        apply_names(fabric.nodes, found)


def _check_switches(fabric: Fabric, folder: Path) -> None:
    """Record missing forwarding tables, and tables of unknown switches."""
    if not fabric.lfts:
        return
    name = next(name for name in LFTS if (folder / name).exists())
    switches = {node.guid for node in fabric.of_kind(Kind.SWITCH)}
    for guid in sorted(switches ^ set(fabric.lfts)):
        is_missing = guid in switches
        must = "present for every switch" if is_missing else f"of switches in {fabric.topology_file}"
        got = f"absent for {fabric.show_node(fabric.nodes[guid])}" if is_missing else f"of unknown switch {guid:#x}"
        lines = sum(1 for _ in TextFile(folder / name))
        error = InputError("forwarding tables", must, got, source=str(folder / name), line=lines)
        if not is_missing:
            del fabric.lfts[guid]
            fabric.remarks.leave_out(name, error)
        elif not fabric.remarks.partial:
            raise error


def _sl2vl(fabric: Fabric, files: _Files, lids: LidBook) -> SL2VLTables:
    """Return the SL2VL rows. Rows returned by ports take precedence over rows of OpenSM's dump."""
    remarks = files.remarks
    dumped = files.first({_SL2VL_SET: lambda path: read_opensm_sl2vl(path, lids, remarks)})
    returned = files.first(
        {
            _SL2VL_READ[0]: lambda path: read_smpquery_sl2vl(path, lids, remarks),
            **dict.fromkeys(_SL2VL_READ[1:], lambda path: read_slvl(path, fabric.nodes, remarks)),
        }
    )
    if dumped is None or returned is None:
        return dumped or returned or SL2VLTables()
    differ = dumped.differing(returned)
    if differ:
        node = fabric.nodes[differ[0][0]]
        fabric.notes.append(
            f"{_SL2VL_SET} differs from the ports' own rows in {len(differ)} rows, the first at "
            f"{fabric.show_node(node)} in {differ[0][1]} out {differ[0][2]}: the ports' own rows are used"
        )
    dumped.update(returned)
    return dumped
