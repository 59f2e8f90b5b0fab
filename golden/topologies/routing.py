"""Routing algorithms that produce forwarding tables and VL tables, as hardware has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vlane.egress import lane_of_vl
from vlane.errors import InputError
from vlane.golden.switches.tree_rule import NO_RULE, tree_rule
from vlane.golden.topologies.topology import Topology, torus_port
from vlane.golden.topologies.trunks import goes_up, trunk_members
from vlane.switches.switch_kinds import INFINIBAND, OMNI_PATH, SwitchKind
from vlane.switches.switch_programs import TableWrite, sc_writes, sl2vl_writes
from vlane.tables.lft import FIRST_MULTICAST, UNASSIGNED
from vlane.tables.sc import SC15, SC_COUNT
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

__all__ = ["ChannelRoutes", "Routes", "dimension_order", "dmodk", "sl_rows", "up_down", "valiant", "with_channels"]


@dataclass(frozen=True)
class Routes:
    """Forwarding and VL tables of all InfiniBand switches and NICs.

    Parameters
    ----------
    lft : array of uint8, (switches, LIDs) or (switches, inputs, LIDs)
        Output port (from 0) by DLID, or by input port and DLID; 255 for none. LID 0 is unassigned.
    vl : array of uint8, (switches, inputs, outputs, SLs)
        Outgoing VL by SL, or by incoming VL if ``by_lane``. 16 SLs, or more than a hardware packet has.
    nic_vl : array of uint8, (NICs, SLs)
        VL by SL at the source NIC.
    lids : array of int64, (NICs, 2)
        First LID and number of LIDs of each NIC.
    by_lane : bool
        The last index of ``vl`` is the incoming VL (not standard in InfiniBand) instead of the SL.
    rule : array of int64
        Rule of table-free forwarding in a tree (``lft`` is then zero LIDs wide), or ``NO_RULE``.
    """

    kind: ClassVar[SwitchKind] = INFINIBAND

    lft: NDArray[np.uint8]
    vl: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    lids: NDArray[np.int64]
    by_lane: bool = False
    rule: NDArray[np.int64] = field(default_factory=lambda: NO_RULE)

    @property
    def nic_channel(self) -> NDArray[np.uint8]:
        """Channel by SL at the source NIC: 0, because InfiniBand has no channels."""
        return np.zeros_like(self.nic_vl)

    def lanes_of(self, sl: int | None) -> set[int]:
        """Return every VL that the tables assign to packets of an SL, or of any SL for None."""
        if self.by_lane and sl is not None:
            lanes = {int(lane) for lane in np.unique(self.nic_vl[:, sl])}
            while more := {int(new) for lane in lanes for new in np.unique(self.vl[..., lane])} - lanes:
                lanes |= more
            return lanes
        sls = range(self.nic_vl.shape[1]) if sl is None else (sl,)
        rows = (np.unique(table[..., each]) for each in sls for table in (self.vl, self.nic_vl))
        return {int(lane) for row in rows for lane in row}

    def map_writes(self, switch: int) -> list[TableWrite]:
        """Return the writes that program a switch's SL2VL table after power-on."""
        return sl2vl_writes(self.vl[switch])


@dataclass(frozen=True)
class ChannelRoutes:
    """Forwarding and channel tables of all Omni-Path switches and NICs.

    Parameters
    ----------
    lft : array of uint8, (switches, LIDs)
        Output port (from 0) by DLID; 255 for none. LID 0 is unassigned.
    sc2sc : array of uint8, (switches, inputs, outputs, 32)
        Outgoing channel by channel; SC15 drops.
    sc2vl : array of uint8, (switches, outputs, 32)
        Lane by outgoing channel; 255 drops.
    nic_channel, nic_vl : array of uint8, (NICs, 32)
        Channel and lane by SL at the source NIC.
    lids : array of int64, (NICs, 2)
        First LID and number of LIDs of each NIC.
    rule : array of int64
        Rule of table-free forwarding, as in ``Routes``.
    """

    kind: ClassVar[SwitchKind] = OMNI_PATH
    by_lane: ClassVar[bool] = False

    lft: NDArray[np.uint8]
    sc2sc: NDArray[np.uint8]
    sc2vl: NDArray[np.uint8]
    nic_channel: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    lids: NDArray[np.int64]
    rule: NDArray[np.int64] = field(default_factory=lambda: NO_RULE)

    def lanes_of(self, sl: int | None) -> set[int]:
        """Return every VL of the channels that packets of an SL, or of any SL for None, may use."""
        channels = {int(channel) for channel in (self.nic_channel[0] if sl is None else self.nic_channel[:1, sl])}
        while more := {int(new) for channel in channels for new in np.unique(self.sc2sc[..., channel])} - channels:
            channels |= more
        return {int(lane) for channel in channels for lane in np.unique(self.sc2vl[..., channel])}

    def map_writes(self, switch: int) -> list[TableWrite]:
        """Return the writes that program a switch's SC2SC and SC2VL tables after power-on."""
        return sc_writes(self.sc2sc[switch], self.sc2vl[switch])


def with_channels(
    topology: Topology, routes: Routes, sc_of_sl: tuple[int, ...], vl_of_sc: tuple[int, ...], *, data_vls: int
) -> ChannelRoutes:
    """Return Omni-Path routes with equal channel maps at all switches and NICs.

    SC2SC maps channels like InfiniBand's tables map incoming VLs (``by_lane``); otherwise channels do not change. VLs
    from 16 on become lanes with a number one lower, because VL15 is not a data lane.
    """
    numbers = [UNASSIGNED if vl == SC15 else lane_of_vl(vl, data_vls=data_vls, vl15=True) for vl in vl_of_sc]
    lane = np.array([UNASSIGNED if number is None else number for number in numbers], np.uint8)
    channel = np.array(sc_of_sl, np.uint8)
    shape = (topology.switches, topology.ports, topology.ports, SC_COUNT)
    sc2sc = np.full(shape, SC15, np.uint8)
    if routes.by_lane:
        sc2sc[..., :SL_COUNT] = routes.vl
    else:
        sc2sc[:] = np.arange(SC_COUNT)
    hosts = len(topology.hosts)
    return ChannelRoutes(
        routes.lft,
        sc2sc,
        np.tile(lane, (topology.switches, topology.ports, 1)),
        np.tile(channel, (hosts, 1)),
        np.tile(lane[channel], (hosts, 1)),
        routes.lids,
        routes.rule,
    )


def sl_rows(topology: Topology, vl_of_sl: tuple[int, ...]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return (VL table, VLs of the NICs) with the same row of 16 VLs everywhere."""
    row = np.array(vl_of_sl, np.uint8)
    shape = (topology.switches, topology.ports, topology.ports, SL_COUNT)
    return np.ascontiguousarray(np.broadcast_to(row, shape)), np.tile(row, (len(topology.hosts), 1))


def _lids(topology: Topology, lids_per_nic: int = 1) -> NDArray[np.int64]:
    count = len(topology.hosts)
    return np.stack([1 + lids_per_nic * np.arange(count), np.full(count, lids_per_nic)], axis=1).astype(np.int64)


def _lids_of_lmc(topology: Topology, lmc: int) -> NDArray[np.int64]:
    """Return the LIDs of ports with an LMC. The low bits of a base LID are 0 (IBA 3.5.10)."""
    lids = _lids(topology, 1 << lmc)
    lids[:, 0] += (1 << lmc) - 1
    return lids


def up_down(topology: Topology, vl_of_sl: tuple[int, ...], *, root: int = 0) -> Routes:
    """Return up*/down* routes: up towards the root, then down.

    "Up" leads to a switch with fewer cables to the root or, at equal distance, a lower number. A switch that reaches
    the destination by down cables alone takes the shortest such path. Otherwise it takes the up cable with the
    shortest route. Ties select the lower port.

    Raises
    ------
    InputError
        If the root does not exist.
    """
    if not 0 <= root < topology.switches:
        raise InputError("root", f"0 to {topology.switches - 1}", root)
    level = topology.distances(root)
    rank = {switch: (level[switch], switch) for switch in range(topology.switches)}
    ends: dict[int, list[tuple[int, int]]] = {switch: [] for switch in rank}
    for (switch, port), (other, _) in sorted(topology.far_ends().items()):
        ends[switch].append((port, other))
    towards_root = sorted(rank, key=lambda switch: rank[switch])
    lids = _lids(topology)
    lft = np.full((topology.switches, 1 + len(topology.hosts)), UNASSIGNED, np.uint8)
    tables: dict[int, NDArray[np.uint8]] = {}
    for host, (target, port) in enumerate(topology.hosts):
        if target not in tables:
            tables[target] = _towards(target, ends, rank, towards_root)
        lft[:, lids[host, 0]] = tables[target]
        lft[target, lids[host, 0]] = port
    return Routes(lft, *sl_rows(topology, vl_of_sl), lids)


def _towards(
    target: int, ends: dict[int, list[tuple[int, int]]], rank: dict[int, tuple[int, int]], order: list[int]
) -> NDArray[np.uint8]:
    """Return the output port of every switch towards one switch."""
    far = len(order) + 1
    down, best = {target: 0}, np.full(len(order), UNASSIGNED, np.uint8)
    for switch in reversed(order):  # switches below are further from the root, so they are processed first
        ways = [(down[other] + 1, port) for port, other in ends[switch] if rank[other] > rank[switch] and other in down]
        if ways and switch != target:
            down[switch], best[switch] = min(ways)
    cost = dict(down)
    for switch in order:
        if switch not in down:
            ways = [(cost.get(other, far) + 1, port) for port, other in ends[switch] if rank[other] < rank[switch]]
            cost[switch], best[switch] = min(ways)
    return best


def dmodk(topology: Topology, vl_of_sl: tuple[int, ...], *, lmc: int = 0, by_rule: bool | None = None) -> Routes:
    """Return D-mod-k routes of a tree: a switch of level l sends up by digit l (base k) of the destination.

    LID base + c sends up by digit l of the destination plus digit l of c, modulo k, so each LID uses a different
    root. If the network has more unicast LIDs than a subnet, or as ``by_rule`` says, switches forward by rule instead
    of by table.

    Raises
    ------
    InputError
        If the topology is not a tree, or ``lmc`` gives more LIDs than a host reaches roots.
    """
    k, n = _tree(topology)
    if 1 << lmc > k ** (n - 1):
        most = (k ** (n - 1)).bit_length() - 1
        raise InputError("network.lmc", f"0 to {most} (a host reaches {k ** (n - 1)} roots)", lmc)
    lids = _lids_of_lmc(topology, lmc)
    if (int(lids.sum(axis=1).max()) > FIRST_MULTICAST) if by_rule is None else by_rule:
        lft = np.zeros((topology.switches, 0), np.uint8)
        rule = tree_rule(topology.shape, hosts=len(lids), copies=1 << lmc)
        return Routes(lft, *sl_rows(topology, vl_of_sl), lids, rule=rule)
    return _climbing(topology, vl_of_sl, lids=lids, by_destination=True)


def valiant(topology: Topology, vl_of_sl: tuple[int, ...]) -> Routes:
    """Return routes over every root of a tree: LID base + r climbs towards root r and turns down as early as possible.

    Each port has the next power of two of LIDs, as an LMC assigns them; LIDs beyond the number of roots are unused.
    """
    k, n = _tree(topology)
    roots = k ** (n - 1)
    lids = _lids(topology, 1 << (roots - 1).bit_length())
    lids[:, 1] = roots
    return _climbing(topology, vl_of_sl, lids=lids, by_destination=False)


def _tree(topology: Topology) -> tuple[int, int]:
    if "k" not in topology.shape:
        problem = f": dmodk and valiant need a tree; the topology is {topology.name}"
        raise InputError("routing", "another routing", topology.name, problem=problem)
    return topology.shape["k"], topology.shape["n"]


def _climbing(
    topology: Topology, vl_of_sl: tuple[int, ...], *, lids: NDArray[np.int64], by_destination: bool
) -> Routes:
    k, n = _tree(topology)
    row, halves = k ** (n - 1), topology.shape["halves"]
    copies = int(lids[1, 0] - lids[0, 0])
    lft = np.full((topology.switches, int(lids[0, 0]) + copies * len(topology.hosts)), UNASSIGNED, np.uint8)
    hosts = np.arange(len(topology.hosts))
    leaf = hosts // k
    for level in range(n):
        first, is_root = level * halves * row, level == n - 1
        words = np.arange(row if is_root else halves * row)
        below = is_root | (leaf[None, :] // k**level == words[:, None] // k**level)
        down = hosts // k**level % (halves * k if is_root else k)
        for copy in range(copies):
            turn = copy % row // k**level
            climbing = (hosts // k**level + turn) % k if by_destination else np.full(len(hosts), turn % k)
            ports = np.where(below, down[None, :], (k + climbing)[None, :])
            lft[first : first + len(words), lids[:, 0] + copy] = ports
    return Routes(lft, *sl_rows(topology, vl_of_sl), lids)


def dimension_order(topology: Topology, classes: int, *, keeps_member: bool = False, lmc: int = 0) -> Routes:
    """Return dimension-order routes of a torus with datelines and two VLs for each traffic class.

    SL c starts on VL 2c. In each new dimension a packet uses 2c, and 2c + 1 from the wrap-around cable on, so the VL
    tables are indexed by incoming VL. Ties at half a ring and trunk members are distributed over the destinations
    (``trunks.py``), where each LID counts as a destination. A packet that turns from the first to the second of a
    pair of dimensions keeps its trunk member. With ``keeps_member`` it also keeps the member around each ring.
    Omni-Path switches require that, because other paths lead through central buffers, where packets for hosts and for
    rings would wait for each other.

    Raises
    ------
    InputError
        If the topology is not a torus, or ``classes`` is not 1 to 7.
    """
    if "size" not in topology.shape:
        problem = f": dor needs a torus; the topology is {topology.name}"
        raise InputError("routing", "another routing", topology.name, problem=problem)
    if not 1 <= classes <= 7:
        raise InputError("classes", "1 to 7 (each has two VLs)", classes)
    size, trunks = topology.shape["size"], topology.shape["trunks"]
    step = [prod(size[:dimension]) for dimension in range(len(size))]
    lids, copies = _lids_of_lmc(topology, lmc), 1 << lmc
    lft = np.full((topology.switches, copies * (1 + len(topology.hosts))), UNASSIGNED, np.uint8)
    switches = np.arange(topology.switches)
    hosts = copies * len(topology.hosts) // topology.switches
    members = {  # the first of a pair of dimensions uses the second's members
        dimension: trunk_members(
            k,
            destinations=hosts * prod(size[dimension + 1 :]),
            trunks=trunks,
            changes=not keeps_member,
            exchanges=lmc > 0,
        )
        for dimension, k in enumerate(size)
        if dimension % 2 or dimension == len(size) - 1
    }
    at = [switches // width % k for width, k in zip(step, size, strict=True)]
    for lid in range(copies, lft.shape[1]):
        target, port = topology.hosts[lid // copies - 1]
        ports, member = np.full(topology.switches, port), np.zeros(topology.switches, np.int64)
        index, count = (lid - copies) % hosts, hosts
        for dimension in reversed(range(len(size))):
            k, goal = size[dimension], int(at[dimension][target])
            ahead = (goal - at[dimension]) % k
            tie = goes_up(goal, index, destinations=count, trunks=trunks)
            up = (2 * ahead < k) | ((2 * ahead == k) & tie)
            if dimension in members:
                member = members[dimension][np.where(up, 0, 1), at[dimension], goal, index]
            first, second = (torus_port(dimension, each, dimensions=len(size), trunks=trunks) for each in (0, 1))
            ports = np.where(ahead != 0, first + member * (second - first) + np.where(up, 0, 1), ports)
            index, count = index + count * goal, count * k
        lft[:, lid] = ports
    return Routes(lft, _dateline_rows(topology, size, trunks, step), _class_rows(topology, classes), lids, by_lane=True)


def _class_rows(topology: Topology, classes: int) -> NDArray[np.uint8]:
    row = [2 * sl if sl < classes else VL_DROP for sl in range(SL_COUNT)]
    return np.tile(np.array(row, np.uint8), (len(topology.hosts), 1))


def _dateline_rows(topology: Topology, size: tuple[int, ...], trunks: int, step: list[int]) -> NDArray[np.uint8]:
    lanes = np.arange(SL_COUNT)
    first, second = lanes & ~1, lanes | 1
    table = np.zeros((topology.switches, topology.ports, topology.ports, SL_COUNT), np.uint8)
    table[:] = first
    for dimension, k in enumerate(size):
        ups = [torus_port(dimension, member, dimensions=len(size), trunks=trunks) for member in range(trunks)]
        at = np.arange(topology.switches) // step[dimension] % k
        ring = np.array([*ups, *(port + 1 for port in ups)])
        for output in ring.tolist():
            wraps = at == (k - 1 if output in ups else 0)
            table[:, ring, output] = lanes
            table[wraps, :, output] = second
    table[..., VL_DROP] = VL_DROP
    return table
