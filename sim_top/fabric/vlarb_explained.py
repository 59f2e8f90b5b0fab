"""Shares of a full link and longest waits of service levels, from a captured fabric or from the options of OpenSM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from vlane.fabric.dumps.opensm_conf import OpenSMConf
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.options.lines import zeros
from vlane.schedulers.vlarb import VLArbTable
from vlane.schedulers.vlarb_service import NO_BOUND, measure_lane, new_lane_service
from vlane.tables.sl2vl import VL_DROP
from vlane.units import mtu_blocks

ASSUMED_MTU = 4096
"""Assumed MTU of ports without a captured MTU."""
_TYPES = {Kind.SWITCH: "switches", Kind.CA: "adapters", Kind.ROUTER: "routers"}


@dataclass(frozen=True)
class LevelGets:
    """Share and wait of a service level at some ports.

    Parameters
    ----------
    sl : int
        Service level.
    vls : tuple of int
        Lanes of the level's packets; several if the lane depends on the input port; 15: dropped.
    share : float
        Share of a saturated link, with packets of the MTU in all levels.
    least, most : float
        Smallest and largest of three shares: ``share``, and the shares with packets of one block in this level or in
        all other levels.
    wait_blocks : float
        Longest wait of a packet for its turn, in blocks of 64 bytes; infinite if there is no bound.
    sharing : tuple of int
        Other levels with a lane in common; share and wait are those of the lane.
    """

    sl: int
    vls: tuple[int, ...]
    share: float
    least: float
    most: float
    wait_blocks: float
    sharing: tuple[int, ...]

    @property
    def dropped(self) -> bool:
        """Whether packets of the level are dropped from every input port."""
        return set(self.vls) == {VL_DROP}

    @property
    def served(self) -> bool:
        """Whether the level has a share above 0 under load."""
        return not self.dropped and self.most > 0


@dataclass(frozen=True)
class PortsAlike:
    """Ports with one table, MTU and map of levels to lanes.

    Parameters
    ----------
    names : tuple of str
        Names of the ports, or of the types of ports.
    label : str
        Short form of the names.
    table : VLArbTable
        Arbitration lists and limit.
    mtu : int
        MTU in bytes.
    limit_source : str
        Source of the limit: ``PortInfo``, a line of ``opensm.conf``, or OpenSM's default.
    levels : tuple of LevelGets
        Levels with traffic, by SL.
    """

    names: tuple[str, ...]
    label: str
    table: VLArbTable
    mtu: int
    limit_source: str
    levels: tuple[LevelGets, ...]


def explain(fabric: Fabric, sls: Sequence[int]) -> list[PortsAlike]:
    """Return shares and waits of service levels at every kind of port of a captured fabric.

    Levels in one lane all have the lane's share, because they divide it in an unspecified way.
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
    """Return shares and waits at ports programmed by OpenSM from its options.

    Parameters
    ----------
    conf : OpenSMConf
        Options of OpenSM.
    sls : sequence of int
        Levels with traffic.
    mtu, data_vls : int
        MTU in bytes and number of data lanes of every port. A capacity of 64 entries per list is assumed.
    """
    alike: dict[tuple[VLArbTable, tuple[int, ...], str], list[str]] = {}
    for kind, name in _TYPES.items():
        if kind is Kind.ROUTER and not conf.sets(kind):
            continue
        configured = conf.configured(kind)
        option, table = configured.limit_option(), configured.table(data_vls)
        source = f"{conf.file}:{option.line} {option.name}" if option else "OpenSM's default"
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
    """Return the lanes of a level's packets at an output port."""
    node, data_vls = fabric.nodes[port.guid], fabric.data_vls_of(port)
    inputs = [0] if node.kind is not Kind.SWITCH else [each for each in node.links if each != port.number]
    rows = [fabric.sl2vl.get((port.guid, each, port.number)) for each in inputs]
    return tuple(sorted({row[sl] if row else sl % data_vls for row in rows}))


def _levels(table: VLArbTable, data_vls: int, mtu: int, lanes: Mapping[int, tuple[int, ...]]) -> Iterator[LevelGets]:
    used = sorted({lane for each in lanes.values() for lane in each if lane < data_vls})
    senders, shares, waits = sum(1 << lane for lane in used), {}, {}
    for lane in used:
        service = new_lane_service(zeros)
        measure_lane(service, *table.columns(), senders, lane, mtu_blocks(mtu))
        sent, whole = service.shares[::2], service.shares[1::2]
        shares[lane] = [part / most if most else 0.0 for part, most in zip(sent, whole, strict=True)]
        waits[lane] = inf if service.wait[0] == NO_BOUND else service.wait[0]
    for sl, each in lanes.items():
        mine = [lane for lane in each if lane in shares]
        yield LevelGets(
            sl,
            each,
            share=min((shares[lane][0] for lane in mine), default=0.0),
            least=min((min(shares[lane]) for lane in mine), default=0.0),
            most=max((max(shares[lane]) for lane in mine), default=0.0),
            wait_blocks=max((waits[lane] for lane in mine), default=inf),
            sharing=tuple(other for other, lanes_of in lanes.items() if other != sl and set(mine) & set(lanes_of)),
        )
