"""Captured fabrics in Python: read, check, tables and paths as data frames, conversion to a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from vlane.errors import InputError, closest
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.model import Fabric as Captured
from vlane.fabric.model import Kind
from vlane.fabric.pair_paths import PairPaths, follow_pairs
from vlane.schedulers.registry import DEFAULT, IB_ARBITER
from vlane.tables.lft import UNASSIGNED

if TYPE_CHECKING:
    from vlane.sim_top.api.study import Study

__all__ = ["Fabric", "FabricReport", "FabricTables"]

_MOST_PAIRS = 1 << 22


class Fabric:
    """Fabric as programmed by the subnet manager (``docs/fabric.md``). ``read`` constructs a fabric.

    Examples
    --------
    >>> fabric = Fabric.read("tests/data/two_switch")
    >>> report = fabric.check()
    >>> report.ok, len(report.loops), report.unreachable_pairs
    (True, 0, 0)
    """

    def __init__(self, captured: Captured, folder: Path) -> None:
        self._captured, self._folder = captured, folder

    @classmethod
    def read(cls, folder: str | Path, *, partial: bool = False) -> Fabric:
        """Return the fabric of a folder of dumps, or of an output folder of ibdiagnet.

        Parameters
        ----------
        folder : str or Path
            The folder; only a file with nodes and cables must be there.
        partial : bool
            Leave out parts of files that cannot be read, as ``vlane fabric check`` does; otherwise they are refused.

        Raises
        ------
        InputError
            If a file is missing or rejected; names file and line.
        """
        return cls(load_fabric(Path(folder), partial=partial), Path(folder).resolve())

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self._captured.name

    @property
    def captured(self) -> Captured:
        """All data of the capture, as ``vlane.fabric.model`` describes it. Do not modify it."""
        return self._captured

    @property
    def data_vls(self) -> int:
        """Number of operational data VLs."""
        return self._captured.data_vls

    def check(self) -> FabricReport:
        """Return the findings of ``vlane fabric check``: ``ok``, ``loops``, ``unreachable``, ``warnings``, ...

        Each of ``warnings`` has ``code``, ``severity``, ``where``, ``message`` and ``ports``.
        """
        return check_fabric(self._captured)

    @cached_property
    def tables(self) -> FabricTables:
        """Programmed tables as data frames."""
        return FabricTables(self._captured)

    def paths(self, source: int | str | None = None, destination: int | str | None = None) -> pl.DataFrame:
        """Return one row for each ordered pair of adapters.

        Columns: ``source`` and ``destination`` (names), ``slid``, ``dlid``, ``sl`` (from the path record, 0 without a
        record), ``switches`` (number on the path) and ``arrives``. An adapter with several LIDs is one source and one
        destination per LID.

        Parameters
        ----------
        source, destination : int or str, optional
            LID or name of an adapter; all adapters if omitted.

        Raises
        ------
        InputError
            If no adapter has this LID or name, or there are more than 4,194,304 pairs.

        Examples
        --------
        >>> Fabric.read("tests/data/two_switch").paths(source=1)["switches"].max()
        2
        """
        found = self._follow(source, destination)
        return pl.DataFrame(
            {
                "source": self._names(found, found.source),
                "destination": self._names(found, found.target),
                "slid": found.slid,
                "dlid": found.dlid,
                "sl": found.sl,
                "switches": found.switches,
                "arrives": found.arrives,
            }
        )

    def hops(self, source: int | str | None = None, destination: int | str | None = None) -> pl.DataFrame:
        """Return one row for each link of each path, in order.

        Columns: ``slid``, ``dlid``, ``hop`` (0 is the adapter's link), and the sending end: ``node`` (name), ``port``
        and ``vl``. Parameters and errors are those of ``paths``.

        Examples
        --------
        >>> Fabric.read("tests/data/two_switch").hops(source=1).columns
        ['slid', 'dlid', 'hop', 'node', 'port', 'vl']
        """
        found = self._follow(source, destination)
        frames = [
            pl.DataFrame(
                {
                    "pair": pairs,
                    "slid": found.slid[pairs],
                    "dlid": found.dlid[pairs],
                    "hop": np.full(len(pairs), hop),
                    "node": self._names(found, out),
                    "port": out - found.wiring.first[found.wiring.node[out]],
                    "vl": vl,
                }
            )
            for hop, (pairs, out, vl) in enumerate(found.hops)
        ]
        if not frames:
            return pl.DataFrame(schema=_HOPS)
        return pl.concat(frames).sort("pair", "hop").select(pl.col(name).cast(kind) for name, kind in _HOPS.items())

    def study(self, *, loads: Sequence[float] = (0.2,), changes: Mapping[str, Any] | None = None) -> Study:
        """Return a study of this fabric with its programmed tables.

        Every host sends to all others on the SLs of the paths.

        Parameters
        ----------
        loads : sequence of float
            Loads, in flits per cycle and host.
        changes : mapping of str to object, optional
            Further changes, as for ``Study.with_``.

        Raises
        ------
        InputError
            If a value is rejected.

        Examples
        --------
        >>> Fabric.read("tests/data/two_switch").study(loads=[0.1]).model.network.topology
        'fabric'
        """
        from vlane.sim_top.api.study import Study  # noqa: PLC0415 - runs take a second to load, and checks need none

        content = {
            "network": {"topology": "fabric", "folder": self._folder.name},
            "scheduler": {"name": IB_ARBITER if self._captured.vlarb else DEFAULT},
            "traffic": [{"sl": "path", "pattern": "others", "bytes": [64, self._captured.mtu or _MTU]}],
            "run": {"loads": list(loads)},
        }
        return Study.from_dict(content, self._folder.parent).with_(changes or {})

    def __repr__(self) -> str:
        return f"<Fabric {self.name}>"

    def _follow(self, source: int | str | None, destination: int | str | None) -> PairPaths:
        slids, dlids = self._lids(source, "source"), self._lids(destination, "destination")
        lids = sum(1 for _ in self._adapter_lids())
        pairs = (lids if slids is None else len(slids)) * (lids if dlids is None else len(dlids))
        if pairs > _MOST_PAIRS:
            problem = f": {pairs} pairs exceed the limit of {_MOST_PAIRS}; name a source or a destination"
            raise InputError("source", f"a selection of at most {_MOST_PAIRS} pairs", pairs, problem=problem)
        return follow_pairs(self._captured, slids, dlids)

    def _adapter_lids(self) -> list[tuple[int, str]]:
        nodes = self._captured.nodes
        return sorted(
            (lid, nodes[port.guid].name)
            for lid, port in self._captured.port_of_lid().items()
            if nodes[port.guid].kind is not Kind.SWITCH
        )

    def _lids(self, given: int | str | None, name: str) -> list[int] | None:
        """Return the LIDs selected by a LID or an adapter name (``None`` selects all)."""
        if given is None:
            return None
        owned = self._adapter_lids()
        found = [lid for lid, own in owned if given == (own if isinstance(given, str) else lid)]
        if not found or isinstance(given, bool):
            meant = closest(given, [own for _, own in owned]) if isinstance(given, str) else ""
            raise InputError(name, "the LID or the name of an adapter", given, meant=meant)
        return found

    @staticmethod
    def _names(found: PairPaths, ports: Any) -> pl.Series:
        names = [node.name or hex(node.guid) for node in found.wiring.nodes]
        return pl.Series(names, dtype=pl.String).gather(found.wiring.node[ports])


_MTU = 2048
_HOPS = {"slid": pl.Int64, "dlid": pl.Int64, "hop": pl.Int64, "node": pl.String, "port": pl.Int64, "vl": pl.Int64}


class FabricTables:
    """Programmed tables of a fabric. Each table is a data frame, built at first use.

    Examples
    --------
    >>> tables = Fabric.read("tests/data/two_switch").tables
    >>> tables.vlarb.columns
    ['node', 'port', 'list', 'index', 'vl', 'weight', 'limit_of_high_priority']
    >>> tables.lft.columns, tables.sl2vl.columns
    (['node', 'lid', 'port'], ['node', 'input', 'output', 'sl', 'vl'])
    """

    def __init__(self, captured: Captured) -> None:
        self._captured = captured

    @cached_property
    def vlarb(self) -> pl.DataFrame:
        """One row per arbitration table entry: node, port, ``list``, ``index``, ``vl``, ``weight`` and limit."""
        rows = [
            (self._name(port.guid), port.number, which, index, entry.vl, entry.weight, table.limit_of_high_priority)
            for port in sorted(self._captured.vlarb)
            for table in [self._captured.table_of(port)]
            for which, entries in (("high", table.high), ("low", table.low))
            for index, entry in enumerate(entries)
        ]
        return pl.DataFrame(rows, schema=_VLARB, orient="row")

    @cached_property
    def sl2vl(self) -> pl.DataFrame:
        """One row per SL of each captured SL2VL row: node, ``input`` (0: adapter), ``output``, ``sl`` and ``vl``."""
        rows = [(self._name(guid), source, to, list(row)) for (guid, source, to), row in self._captured.sl2vl.items()]
        schema: dict[str, Any] = {"node": pl.String, "input": pl.Int64, "output": pl.Int64, "vl": pl.List(pl.Int64)}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        levels = frame.with_columns(sl=pl.int_ranges(0, pl.col("vl").list.len())).explode("vl", "sl")
        return levels.select("node", "input", "output", "sl", "vl")

    @cached_property
    def lft(self) -> pl.DataFrame:
        """One row per assigned entry of the forwarding tables: ``node``, ``lid``, ``port``."""
        rows = [
            (self._name(guid), lid, port)
            for guid in sorted(self._captured.lfts)
            for lid, port in enumerate(self._captured.lfts[guid])
            if port != UNASSIGNED
        ]
        return pl.DataFrame(rows, schema={"node": pl.String, "lid": pl.Int64, "port": pl.Int64}, orient="row")

    def _name(self, guid: int) -> str:
        return self._captured.nodes[guid].name or hex(guid)


_VLARB = {
    "node": pl.String,
    "port": pl.Int64,
    "list": pl.String,
    "index": pl.Int64,
    "vl": pl.Int64,
    "weight": pl.Int64,
    "limit_of_high_priority": pl.Int64,
}
