"""Construction of a network from topology, routes, buffers, schedulers and traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from vlane.credits.credit_schemes import CREDIT_SCHEMES, CreditScheme
from vlane.errors import InputError
from vlane.golden.compiler.records import new_records
from vlane.golden.engine.bits import LIST_MARGIN
from vlane.golden.links.fcp_limits import new_limits
from vlane.golden.links.late_room import AGE, new_late_credits
from vlane.golden.links.remote_credit import RemoteCredit
from vlane.golden.links.returns import new_returns
from vlane.golden.links.room import BufferOccupancy, with_second_size
from vlane.golden.network.buffers import Buffers
from vlane.golden.network.congestion import Congestion
from vlane.golden.network.meters import Meters
from vlane.golden.network.pacing import Unpaced
from vlane.golden.network.parts import UndividedNetwork
from vlane.golden.network.state import Network
from vlane.golden.schedulers.bank import Write, new_bank, new_scheduler, set_port_state
from vlane.golden.switches.credit_starvation import NoStarvation
from vlane.golden.switches.inputs import Grant, port_bits_for
from vlane.golden.switches.kinds import INFINIBAND_MAKERS, Switches, infiniband_maker
from vlane.golden.switches.marking import NoMarking
from vlane.golden.switches.opa_flit_switch import new_opa_flit_switches
from vlane.golden.switches.opa_switch import new_opa_switches
from vlane.golden.switches.output_ports import new_output_ports
from vlane.golden.switches.packets import NOBODY
from vlane.golden.switches.trunk_members import new_members
from vlane.golden.switches.vl_tables import tables_with_shared_rows
from vlane.golden.topologies.cabling import CableForm, new_wiring, paces_of_ends
from vlane.golden.topologies.routing import ChannelRoutes, Routes
from vlane.golden.topologies.topology import End, Topology
from vlane.golden.traffic.senders import possible_sls
from vlane.golden.traffic.sources import Sources
from vlane.packets.fcp import CREDIT_CAP
from vlane.switches.mports import READERS, mports_of
from vlane.switches.switch_kinds import INFINIBAND, OMNI_PATH, SwitchForm
from vlane.tables.lft import UNASSIGNED
from vlane.units import BLOCK_BYTES


@dataclass(frozen=True)
class Credits:
    """Credit scheme of all links.

    Parameters
    ----------
    scheme : str
        ``returns`` (IBS-8), or flow-control packets (IBS-C1 to IBS-C6): ``fcp`` sends them on the link, ``sideband``
        next to it.
    fcp_blocks : int or None
        Number of blocks by which a limit must grow before an FCP is due; None for a quarter of the lane's partition.
    fcp_period : int
        Number of cycles after which an FCP of every lane is due.
    """

    scheme: str = "returns"
    fcp_blocks: int | None = None
    fcp_period: int = 1024

    @property
    def kind(self) -> CreditScheme:
        """Properties of the credit scheme."""
        return CREDIT_SCHEMES[self.scheme]


@dataclass(frozen=True)
class PortSettings:
    """Egress scheduler settings of all ports.

    Parameters
    ----------
    scheduler : str
        One of ``SCHEDULERS``.
    parameters : dict
        Parameters of the scheduler component, except the number of lanes.
    writes : sequence of (select, index, requester or VL, weight)
        Program-port writes for every port.
    of_port : dict of (int, int) to writes
        Writes that replace ``writes`` at single switch ports, by (switch, port).
    of_nic : dict of int to writes
        Writes that replace ``writes`` at single NICs.
    """

    scheduler: str
    parameters: dict[str, Any] = field(default_factory=dict)
    writes: Sequence[Write] = ()
    of_port: dict[tuple[int, int], Sequence[Write]] = field(default_factory=dict)
    of_nic: dict[int, Sequence[Write]] = field(default_factory=dict)


def assemble(
    topology: Topology,
    routes: Routes | ChannelRoutes,
    buffers: Buffers,
    settings: PortSettings,
    sources: Sources,
    meters: Meters,
    *,
    allocation: str = "turns",
    crossbar: str = "multiplexed",
    iterations: int = 1,
    speed: int = 1,
    credit: Credits | None = None,
    central: Buffers | None = None,
    nic: Buffers | None = None,
    flight: int = 1,
    cables: Mapping[End, CableForm] = MappingProxyType({}),
    flit_bytes: int = 64,
    patience: int = 100_000,
    congestion: Congestion | None = None,
    trunk_choice: str = "lid",
    trunk_seed: int = 0,
) -> Network:
    """Return an idle network before cycle 0.

    Parameters
    ----------
    routes : Routes or ChannelRoutes
        Forwarding and VL or channel tables; their ``kind`` selects the switch type.
    allocation : str
        ``turns`` (IBS-2 to IBS-4) or, for InfiniBand switches, ``fifo`` (IBS-Q1 to IBS-Q3; IBS-PQ1, IBS-PQ2).
    crossbar : str
        ``multiplexed``; ``flits`` (IBS-F1 to IBS-F6, OPAS-F1 to OPAS-F6); for InfiniBand switches also ``per_vl``
        (IBS-P1 to IBS-P4), which needs static partitions.
    iterations : int
        Number of allocation passes per cycle (IBS-I1), for switch forms that support more than one.
    speed : int
        Crossbar speed relative to the links (IBS-S1), for switch forms that support more than 1.
    credit : Credits
        Credit scheme; default ``returns``. Flow-control packets need static buffer partitions.
    central : Buffers
        Central buffers of Omni-Path switches; default ``buffers``.
    nic : Buffers or None
        Output buffers of NICs; default ``buffers``.
    flight : int
        Flight time of every cable in cycles, 1 to 64.
    cables : mapping of (int, int) to CableForm
        Cables that differ from the default, by the (switch, port) of one end.
    flit_bytes : int
        8, 16, 32 or 64.
    patience : int
        Number of cycles without movement after which the network is considered stuck.
    congestion : Congestion or None
        Congestion control of InfiniBand networks; None disables it.
    trunk_choice : str
        Choice among the members of a trunk, one of ``CHOICES`` (NET-6).
    trunk_seed : int
        Seed of random choices.

    Raises
    ------
    InputError
        If tables, traffic, switch form, credits or buffers do not fit together.
    """
    lanes, bits, kind = len(buffers.largest), port_bits_for(topology.ports), routes.kind
    groups = topology.switches + -(-len(topology.hosts) >> bits)
    ends = groups << bits
    _check_tables(topology, routes)
    _check_lanes(routes, sources, lanes)
    state = new_scheduler(settings.scheduler, data_vls=lanes, writes=settings.writes, **settings.parameters)
    bank = new_bank(state, ends)
    own = {(switch << bits) + port: writes for (switch, port), writes in settings.of_port.items()}
    own |= {(topology.switches << bits) + nic: writes for nic, writes in settings.of_nic.items()}
    for end, writes in own.items():
        state = new_scheduler(settings.scheduler, data_vls=lanes, writes=writes, **settings.parameters)
        set_port_state(bank, end, state)
    form = kind.form(allocation, crossbar)
    if form is None:
        problem = f": {kind.technology} switches with crossbar {crossbar} have no allocation {allocation}"
        raise InputError("allocation", "a supported allocation", allocation, problem=problem)
    for name, most, given in (("iterations", form.most_iterations, iterations), ("speed", form.most_speed, speed)):
        if not 1 <= given <= most:
            raise InputError(name, form.allowed(most), given)
    faster = {} if iterations == speed == 1 else {"iterations": iterations, "speed": speed}
    switches = _MAKERS[kind.name, allocation, crossbar](topology, routes, central or buffers, **faster)
    members = new_members(topology, bits, trunk_choice, trunk_seed)
    switches = switches._replace(inputs=switches.inputs._replace(tree_rule=routes.rule, trunk_choice=members))
    if congestion is not None and congestion.starves and form.vls_apart:
        raise InputError("crossbar", "multiplexed with credit starvation", crossbar)
    credit = credit or Credits()
    _check_credits(buffers, form, credit)
    longest = max(flight, *(each.flight_cycles for each in cables.values())) if cables else flight
    each_cycle = kind.inner_flits if form.by_flit else 1
    returns = new_returns(
        end_count=ends,
        rows=lanes if form.vls_apart else 1,
        flight=longest + (AGE if form.late else 0),
        flit_shift=(BLOCK_BYTES // flit_bytes).bit_length() - 1,
        speed=kind.inner_flits * speed,
        most_at_once=each_cycle,
    )
    remote = _remote_credit(buffers, credit, ends, longest)
    if form.late:
        remote = new_late_credits(buffers.rooms(ends), largest=buffers.largest, first_exact=topology.switches << bits)
    out_ports = new_output_ports(
        buffer=_output_buffers(buffers, nic, ends, topology.switches << bits),
        remote_credit=remote,
        returns=returns,
        bank=bank,
        largest=buffers.largest,
        pace=paces_of_ends(topology, ends, cables),
        marking=NoMarking() if congestion is None else congestion.marking(topology, bits, buffers),
        starvation=NoStarvation() if congestion is None else congestion.starvation(topology, bits, buffers),
    )
    most_of_each = max(topology.ports * lanes, topology.ports + READERS * mports_of(topology.ports))
    most_grants = topology.switches * most_of_each * each_cycle
    return Network(
        wiring=new_wiring(topology, routes, ends, flight, cables, with_fcps=credit.kind.by_fcps),
        switches=switches,
        out_ports=out_ports,
        sources=sources,
        meters=meters,
        staged_packets=np.full(sources.due.shape, NOBODY, np.int64),
        awake=np.zeros(ends >> switches.inputs.word_bits, np.int64),
        awake_ports=np.zeros(ends + LIST_MARGIN, np.int64),
        grants=new_records(Grant, most_grants),
        arriving_heads=np.zeros(0, np.int64),
        clock=np.zeros(2, np.int64),
        patience=patience,
        partition=UndividedNetwork(),
        pacing=Unpaced() if congestion is None else congestion.pacing(sources, buffers),
    )


def _output_buffers(buffers: Buffers, nic: Buffers | None, end_count: int, first_nic: int) -> BufferOccupancy:
    """Return the output buffers of all ports. If ``nic`` is given, the buffers of the NICs have that size."""
    rooms = buffers.rooms(end_count)
    if nic is None:
        return rooms
    return with_second_size(rooms, first_nic, blocks=nic.blocks, minimum=nic.minimum, maximum=nic.maximum)


def _check_credits(buffers: Buffers, form: SwitchForm, credit: Credits) -> None:
    """Reject shared buffers where static partitions are required, and an FCP period that fills the link."""
    if not (form.vls_apart or credit.kind.by_fcps):
        return
    lanes = len(buffers.minimum)
    if credit.kind.on_link and credit.fcp_period <= lanes:
        raise InputError(
            "fcp_period_cycles",
            f"more than {lanes}, the number of VLs (else the link carries only flow-control packets)",
            credit.fcp_period,
        )
    for lane, (least, most) in enumerate(zip(buffers.minimum, buffers.maximum, strict=True)):
        why = f"crossbar {form.crossbar}" if form.vls_apart else f"credits {credit.scheme}"
        if least != most:
            raise InputError(f"maximum_blocks of VL {lane}", f"equal to the minimum, {least}, with {why}", most)
        if credit.kind.by_fcps and least > CREDIT_CAP:
            raise InputError(f"minimum_blocks of VL {lane}", f"at most {CREDIT_CAP} with {why}", least)


def _remote_credit(buffers: Buffers, credit: Credits, end_count: int, flight: int) -> RemoteCredit:
    if not credit.kind.by_fcps:
        return buffers.rooms(end_count)
    return new_limits(
        end_count=end_count,
        whole=buffers.minimum,
        fcp_blocks=credit.fcp_blocks,
        period=credit.fcp_period,
        sideband=not credit.kind.on_link,
        flight=flight,
    )


def _make_infiniband(maker: Callable[..., Switches], _: Topology, routes: Any, central: Buffers) -> Switches:
    return maker(
        lanes=len(central.largest), lft=routes.lft, tables=tables_with_shared_rows(routes.vl, by_lane=routes.by_lane)
    )


def _make_round_robin(topology: Topology, routes: Any, central: Buffers, **faster: int) -> Switches:
    return _make_infiniband(infiniband_maker("turns", "multiplexed", **faster), topology, routes, central)


def _make_omni_path(maker: Callable[..., Switches], topology: Topology, routes: Any, central: Buffers) -> Switches:
    most = OMNI_PATH.most_ports
    if most is not None and topology.ports > most:
        raise InputError("ports", f"at most {most} for an {OMNI_PATH.technology} switch", topology.ports)
    rooms = central.rooms(topology.switches * mports_of(topology.ports))
    return maker(central=rooms, lft=routes.lft, sc2sc=routes.sc2sc, sc2vl=routes.sc2vl)


_MAKERS: dict[tuple[str, str, str], Callable[..., Switches]] = {
    **{(INFINIBAND.name, *words): partial(_make_infiniband, maker) for words, maker in INFINIBAND_MAKERS.items()},
    (INFINIBAND.name, "turns", "multiplexed"): _make_round_robin,
    (OMNI_PATH.name, "turns", "multiplexed"): partial(_make_omni_path, new_opa_switches),
    (OMNI_PATH.name, "turns", "flits"): partial(_make_omni_path, new_opa_flit_switches),
}
"""Constructors of a network's switches by (kind, allocation, crossbar); forms that support ``iterations`` and ``speed``
take them as keywords."""


def _check_tables(topology: Topology, routes: Routes | ChannelRoutes) -> None:
    """Reject a forwarding table that names a port without a cable."""
    cabled = np.zeros((topology.switches, UNASSIGNED + 1), np.bool_)
    cabled[:, UNASSIGNED] = True
    for switch, port in (*topology.far_ends(), *topology.hosts):
        cabled[switch, port] = True
    for switch, (row, ports) in enumerate(zip(routes.lft, cabled, strict=True)):
        wrong = np.argwhere(~ports[row])
        if len(wrong):
            place = tuple(wrong[0].tolist())
            where = f"LFT of {topology.show_switch(switch)}, LID {place[-1]}"
            raise InputError(where, "a cabled port", int(row[place]))


def _check_lanes(routes: Routes | ChannelRoutes, sources: Sources, lanes: int) -> None:
    """Reject traffic on a service level without a lane at some NIC."""
    for sl in possible_sls(sources):
        if int(routes.nic_vl[:, sl].max()) >= lanes:
            raise InputError(f"VL of SL {sl} at a NIC", f"0 to {lanes - 1}", int(routes.nic_vl[:, sl].max()))
