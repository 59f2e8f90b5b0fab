"""What the arbitration tables of a captured fabric give each service level: shares of a full link, longest waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from vlane.fabric.model import Fabric, Kind, Port
from vlane.golden.schedulers import vlarb
from vlane.golden.schedulers.bank import new_scheduler
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.planning.vlarb_waits import longest_wait
from vlane.schedulers.vlarb import VLArbTable
from vlane.tables.sl2vl import VL_DROP
from vlane.units import mtu_blocks

_ASSUMED_MTU = 4096
_MOST_DECISIONS = 200_000


@dataclass(frozen=True)
class LevelGets:
    """What a service level gets at some ports.

    Parameters
    ----------
    sl : int
        The level.
    vls : tuple of int
        Lanes that its packets take there; several if that depends on where they come from; 15 stands for dropped.
    share : float
        Of a link that every level wants more of, if all send packets of the MTU.
    least, most : float
        The same if its own packets, or those of all others, are of one block instead.
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
        """Whether its packets go nowhere, wherever they come from."""
        return set(self.vls) == {VL_DROP}

    @property
    def served(self) -> bool:
        """Whether it is sent at all."""
        return not self.dropped and self.most > 0


@dataclass(frozen=True)
class PortsAlike:
    """Ports with one table, MTU and map of levels to lanes.

    Parameters
    ----------
    ports : tuple of Port
        In order.
    table : VLArbTable
        Theirs.
    mtu : int
        In bytes; 4096 if nothing says it.
    levels : tuple of LevelGets
        Those that send, by SL.
    """

    ports: tuple[Port, ...]
    table: VLArbTable
    mtu: int
    levels: tuple[LevelGets, ...]


def explain(fabric: Fabric, sls: Sequence[int]) -> list[PortsAlike]:
    """Return what every port's table gives the service levels that send, equal ports once.

    Levels that share a lane share what the lane gets: each has the lane's share.
    """
    used = tuple(sls)
    alike: dict[tuple[VLArbTable, int, int, tuple[tuple[int, ...], ...]], list[Port]] = {}
    for port in sorted(fabric.vlarb):
        if port.number and port.number in fabric.nodes[port.guid].links:
            lanes = tuple(_lanes(fabric, port, sl) for sl in used)
            mtu = fabric.mtu_of(port) or _ASSUMED_MTU
            alike.setdefault((fabric.table_of(port), fabric.data_vls_of(port), mtu, lanes), []).append(port)
    return [
        PortsAlike(tuple(ports), table, mtu, tuple(_levels(table, data_vls, mtu, dict(zip(used, lanes, strict=True)))))
        for (table, data_vls, mtu, lanes), ports in alike.items()
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
    """Return each lane's share of a link of which all lanes given want more than there is, by golden's arbiter.

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
    parameters: dict[str, Any] = {**table.shape(), "vl15": False}
    writes = table.writes({**parameters, "data_vls": data_vls})
    state = new_scheduler("vlarb", data_vls=data_vls, writes=writes, **parameters)
    blocks = np.zeros(data_vls + 1, np.int64)
    for lane, size in sizes.items():
        blocks[lane] = size
    heads = Heads(sum(1 << lane for lane in sizes), (1 << data_vls) - 1, blocks, 0, blocks)
    rules = np.zeros(vlarb.RULE_COUNT, np.int64)
    sent = dict.fromkeys(sizes, 0)
    seen: dict[bytes, dict[int, int]] = {}
    for _ in range(_MOST_DECISIONS):  # decisions repeat themselves as soon as the state does: the share is exact
        before = seen.setdefault(state.regs.tobytes(), dict(sent))
        if any(sent[lane] != before[lane] for lane in sent):
            sent = {lane: count - before[lane] for lane, count in sent.items()}
            break
        lane, _, granted = vlarb.step(state, heads, True, False, NO_WRITE, False, rules)  # noqa: FBT003 - as of hardware
        if not granted:
            break
        sent[int(lane)] += sizes[int(lane)]
    whole = sum(sent.values())
    return {lane: count / whole if whole else 0.0 for lane, count in sent.items()}
