"""Shares of a full link and longest waits of service levels, from a captured fabric or from the options of OpenSM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from vlane.fabric.dumps.opensm_conf import OpenSMConf
from vlane.fabric.model import Fabric, Kind, Port
from vlane.planning.vlarb_waits import longest_wait
from vlane.schedulers.vlarb import MAX_ENTRIES, VL15, VLArbTable
from vlane.schedulers.vlarb_service import saturated_service
from vlane.tables.sl2vl import VL_DROP
from vlane.units import mtu_blocks

ASSUMED_MTU = 4096
"""MTU of ports of which nothing says it."""
_TYPES = {Kind.SWITCH: "switches", Kind.CA: "adapters", Kind.ROUTER: "routers"}


@dataclass(frozen=True)
class LevelGets:
    """Share and wait of a service level at some ports.

    Parameters
    ----------
    sl : int
        The level.
    vls : tuple of int
        Lanes of the level's packets there; several if the lane depends on the input port; 15 stands for dropped.
    share : float
        Share of a saturated link, if all levels send packets of the MTU.
    least, most : float
        Least and most of ``share`` and of the shares with packets of one block in this level, or in all other levels.
    wait_blocks : float
        Longest wait of a packet for its turn, in blocks of 64 bytes; infinite if there is no bound.
    """

    sl: int
    vls: tuple[int, ...]
    share: float
    least: float
    most: float
    wait_blocks: float

    @property
    def dropped(self) -> bool:
        """Whether the packets of the level are dropped, from every input port."""
        return set(self.vls) == {VL_DROP}

    @property
    def served(self) -> bool:
        """Whether the level sends at all."""
        return not self.dropped and self.most > 0


@dataclass(frozen=True)
class PortsAlike:
    """Ports with one table, MTU and map of levels to lanes.

    Parameters
    ----------
    names : tuple of str
        The ports, or the types of ports.
    label : str
        Short form of the names.
    table : VLArbTable
        Lists and limit.
    mtu : int
        In bytes.
    limit_source : str
        Source of the limit: ``PortInfo``, a line of ``opensm.conf``, or OpenSM's default.
    levels : tuple of LevelGets
        Levels that send, by SL.
    """

    names: tuple[str, ...]
    label: str
    table: VLArbTable
    mtu: int
    limit_source: str
    levels: tuple[LevelGets, ...]


def explain(fabric: Fabric, sls: Sequence[int]) -> list[PortsAlike]:
    """Return shares and waits of the service levels that send at every kind of port of a captured fabric.

    Levels that share a lane share what the lane gets: each has the lane's share.
    """
    used = tuple(sls)
    alike: dict[tuple[VLArbTable, int, int, tuple[tuple[int, ...], ...], str], list[Port]] = {}
    for port in sorted(fabric.vlarb):
        if port.number and port.number in fabric.nodes[port.guid].links:
            lanes = tuple(_lanes(fabric, port, sl) for sl in used)
            key = (
                fabric.table_of(port),
                fabric.data_vls_of(port),
                fabric.mtu_of(port) or ASSUMED_MTU,
                lanes,
                fabric.limit_source(port),
            )
            alike.setdefault(key, []).append(port)
    return [
        PortsAlike(
            tuple(map(fabric.show, ports)),
            fabric.show_all(ports),
            table,
            mtu,
            source,
            tuple(_levels(table, data_vls, mtu, dict(zip(used, lanes, strict=True)))),
        )
        for (table, data_vls, mtu, lanes, source), ports in alike.items()
    ]


def explain_options(conf: OpenSMConf, sls: Sequence[int], *, mtu: int, data_vls: int) -> list[PortsAlike]:
    """Return shares and waits at the ports that OpenSM programs from its options alone.

    Parameters
    ----------
    conf : OpenSMConf
        The options.
    sls : sequence of int
        Levels that send.
    mtu, data_vls : int
        Of every port. Ports are taken to hold lists of 64 entries.
    """
    alike: dict[tuple[VLArbTable, tuple[int, ...], str], list[str]] = {}
    for kind, name in _TYPES.items():
        if kind is Kind.ROUTER and not conf.sets(kind):
            continue
        configured = conf.configured(kind)
        option, lists = configured.limit_option(), []
        for listed in (configured.high, configured.low):
            entries = configured.programmed_list(listed, cap=MAX_ENTRIES, vls=data_vls)
            used = max((place for place, entry in enumerate(entries, 1) if entry.weight), default=0)
            lists.append(entries[:used])
        source = f"{conf.file}:{option.line} {option.name}" if option else "OpenSM's default"
        table = VLArbTable(lists[0], lists[1], configured.limit())
        alike.setdefault((table, configured.programmed_row(data_vls), source), []).append(name)
    return [
        PortsAlike(
            tuple(names),
            ", ".join(names),
            table,
            mtu,
            source,
            tuple(_levels(table, data_vls, mtu, {sl: (row[sl],) for sl in sls})),
        )
        for (table, row, source), names in alike.items()
    ]


def _lanes(fabric: Fabric, port: Port, sl: int) -> tuple[int, ...]:
    """Return the lanes in which packets of a level leave by a port."""
    node, data_vls = fabric.nodes[port.guid], fabric.data_vls_of(port)
    inputs = [0] if node.kind is not Kind.SWITCH else [each for each in node.links if each != port.number]
    rows = [fabric.sl2vl.get((port.guid, each, port.number)) for each in inputs]
    return tuple(sorted({row[sl] if row else sl % data_vls for row in rows}))


def _levels(table: VLArbTable, data_vls: int, mtu: int, lanes: Mapping[int, tuple[int, ...]]) -> Iterator[LevelGets]:
    used = sorted({lane for each in lanes.values() for lane in each if lane < data_vls})
    largest = mtu_blocks(mtu)
    all_large = saturated_shares(table, dict.fromkeys(used, largest), data_vls=data_vls)
    shares = {lane: [all_large[lane]] for lane in used}
    for lane in used:
        for own, others in ((1, largest), (largest, 1)):
            sizes = {each: own if each == lane else others for each in used}
            shares[lane].append(saturated_shares(table, sizes, data_vls=data_vls)[lane])
    most = dict.fromkeys(used, largest)
    for sl, each in lanes.items():
        mine = [lane for lane in each if lane in shares]
        waits = [longest_wait(table, lane, most=most) for lane in mine]
        yield LevelGets(
            sl,
            each,
            share=min((shares[lane][0] for lane in mine), default=0.0),
            least=min((min(shares[lane]) for lane in mine), default=0.0),
            most=max((max(shares[lane]) for lane in mine), default=0.0),
            wait_blocks=max(waits, default=inf),
        )


def saturated_shares(table: VLArbTable, sizes: Mapping[int, int], *, data_vls: int) -> dict[int, float]:
    """Return each lane's share of a link of which all lanes given want more than there is.

    The share is exact: it is that of a whole period of the service order, however long the period is.

    Parameters
    ----------
    table : VLArbTable
        Lists and limit.
    sizes : mapping of int to int
        Blocks of the packets of each lane that sends.
    data_vls : int
        Lanes of the port.

    Examples
    --------
    >>> from vlane.schedulers.vlarb import VLArbEntry
    >>> table = VLArbTable((VLArbEntry(0, 4), VLArbEntry(1, 12)), (), 255)
    >>> saturated_shares(table, {0: 2, 1: 2, 2: 2}, data_vls=4)
    {0: 0.25, 1: 0.75, 2: 0.0}
    """
    by_vl, sent = [0] * (VL15 + 1), [0] * (VL15 + 1)
    for lane, blocks in sizes.items():
        by_vl[lane] = blocks if lane < data_vls else 0
    saturated_service(*table.columns(), by_vl, sent)
    whole = sum(sent)
    return {lane: sent[lane] / whole if whole else 0.0 for lane in sizes}
