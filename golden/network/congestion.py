"""Congestion-control settings of a network and their conversion to markers and pacing (``docs/congestion.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vlane.congestion.cc_marker import LEAST_PACKETS, CCMarkerSelect
from vlane.congestion.cc_source import CCT_LEAST_ENTRIES
from vlane.congestion.marking_write import MarkingWrite
from vlane.credits.credit_starvation import StarvationSelect, StarvationWrite, starvation_element
from vlane.errors import InputError
from vlane.golden.congestion.markers import new_markers, write_marking
from vlane.golden.congestion.sources import INCREASE, LIMIT, MINIMUM, PORT_MODE, TIMER, TRIGGER, new_sources
from vlane.golden.network.buffers import Buffers
from vlane.golden.network.pacing import Pacing, new_pacing
from vlane.golden.switches.credit_starvation import (
    NoStarvation,
    Starvation,
    new_starvation,
    write_element,
    write_starvation,
)
from vlane.golden.switches.marking import Marking, new_marking
from vlane.golden.topologies.topology import Topology
from vlane.golden.traffic.senders import possible_sls
from vlane.golden.traffic.sources import Sources


@dataclass(frozen=True, kw_only=True)
class NICSettings:
    """Congestion-control settings of a NIC.

    Parameters
    ----------
    port_control, ccti_limit : int
        Port_Control of CACongestionSetting and CCTI_Limit of CongestionControlTable.
    levels : sequence of (int, int, int, int)
        CCTI_Timer, CCTI_Increase, Trigger_Threshold and CCTI_Min of each of the 16 SLs.
    table : sequence of (int, int)
        CCT entries: shift and multiplier.
    """

    port_control: int
    ccti_limit: int
    levels: Sequence[tuple[int, int, int, int]]
    table: Sequence[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Congestion:
    """Congestion-control settings of all switches and NICs.

    Parameters
    ----------
    threshold, packet_size, marking_rate : int
        SwitchCongestionSetting components.
    victim_mask : str or int
        Ports in Victim_Mask: ``none``, ``hosts``, ``all``, or a bit mask in which bit 1 is the first port.
    by_inputs : bool
        The measure is the blocks that wait at the inputs, not those in the output buffer.
    busy_blocks, level_blocks, idle_blocks : int
        Parameters of the link's busy detector (CCM-3).
    port_control, ccti_limit : int
        Port_Control of CACongestionSetting and CCTI_Limit of CongestionControlTable.
    levels : sequence of (int, int, int, int)
        CCTI_Timer, CCTI_Increase, Trigger_Threshold and CCTI_Min of each of the 16 SLs.
    table : sequence of (int, int)
        CCT entries: shift and multiplier.
    shift_first : bool
        Shift before the multiplication (Omni-Path) instead of after it.
    flows : int
        Number of flow entries per NIC.
    tick_cycles : int
        Unit of the timers in cycles.
    cnp_interval : int
        CNP interval in cycles (NCC-7).
    held_packets : int
        Maximum number of held packets per class (NCC-12).
    elements : mapping of (int, int) to (int, int, int)
        Threshold, Packet_Size and Marking_Rate of port elements, by (switch, port from 0).
    cct_entries : int
        Number of CCT entries after all writes, if larger than ``table``.
    hosts : mapping of int to NICSettings
        Settings of single NICs.
    by_port : bool
        A NIC has one gap for all flows (NCC-17).
    starves : bool
        Switches model credit starvation.
    credit_mask : str or int
        Ports in Credit_Mask, in the form of ``victim_mask``.
    cs_threshold : int
        CS_Threshold of SwitchCongestionSetting.
    cs_return_delay : (int, int)
        CS_ReturnDelay of SwitchCongestionSetting: shift and multiplier.
    cs_elements : mapping of (int, int) to (int, (int, int))
        CS_Threshold and CS_ReturnDelay of port elements of control type 1, by (switch, port from 0).
    """

    threshold: int
    packet_size: int
    marking_rate: int
    victim_mask: str | int
    by_inputs: bool
    busy_blocks: int
    level_blocks: int
    idle_blocks: int
    port_control: int
    ccti_limit: int
    levels: Sequence[tuple[int, int, int, int]]
    table: Sequence[tuple[int, int]]
    shift_first: bool
    flows: int
    tick_cycles: int
    cnp_interval: int
    held_packets: int
    elements: Mapping[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    cct_entries: int = 0
    hosts: Mapping[int, NICSettings] = field(default_factory=dict)
    by_port: bool = False
    starves: bool = False
    credit_mask: str | int = "none"
    cs_threshold: int = 0
    cs_return_delay: tuple[int, int] = (0, 0)
    cs_elements: Mapping[tuple[int, int], tuple[int, tuple[int, int]]] = field(default_factory=dict)

    def marking(self, topology: Topology, port_bits: int, buffers: Buffers) -> Marking:
        """Return the marking state of all switch outputs.

        Raises
        ------
        InputError
            If a VL's share of the output buffer cannot hold four largest packets.
        """
        largest = max(buffers.largest)
        for lane, most in enumerate(buffers.maximum):
            if most < LEAST_PACKETS * largest:
                must = f"at least {LEAST_PACKETS * largest} with congestion control (four largest packets)"
                raise InputError(f"maximum_blocks of VL {lane}", must, most)
        markers = new_markers(
            ports=topology.switches << port_bits,
            maximum=buffers.maximum,
            largest=largest,
            busy_blocks=self.busy_blocks,
            level_blocks=self.level_blocks,
            idle_blocks=self.idle_blocks,
        )
        port = markers.port
        port["threshold"], port["packet_size"], port["marking_rate"] = (
            self.threshold,
            self.packet_size,
            self.marking_rate,
        )
        for switch in range(topology.switches):
            for at in self.masked(topology, switch):
                port[(switch << port_bits) + at].victim_mask = 1
        for (switch, _), write in self._element_writes().items():
            first = switch << port_bits
            write_marking(markers, range(first, first + topology.ports), write)
        return new_marking(markers, ports=topology.ports, by_inputs=self.by_inputs)

    def starvation(self, topology: Topology, port_bits: int, buffers: Buffers) -> Starvation | NoStarvation:
        """Return the credit-starvation state of all switch inputs."""
        if not self.starves:
            return NoStarvation()
        made = new_starvation(ports=topology.switches << port_bits, maximum=buffers.maximum)
        for switch in range(topology.switches):
            for write in self.starvation_writes(topology, switch):
                write_starvation(made, switch << port_bits, topology.ports, write)
        for (switch, _), element in self._element_writes().items():
            write_element(made, switch << port_bits, topology.ports, element)
        return made

    def starvation_writes(self, topology: Topology, switch: int) -> list[StarvationWrite]:
        """Return the writes that apply the credit-starvation settings to a switch after reset."""
        mask = sum(1 << port for port in masked_ports(self.credit_mask, topology, switch))
        shift, multiplier = self.cs_return_delay
        return [
            StarvationWrite(select=StarvationSelect.CREDIT_MASK, credit_mask=mask),
            StarvationWrite(
                select=StarvationSelect.RETURN, threshold=self.cs_threshold, shift=shift, multiplier=multiplier
            ),
        ]

    def _element_writes(self) -> dict[tuple[int, int], MarkingWrite]:
        marking = {
            (switch, port): MarkingWrite(
                select=CCMarkerSelect.PORT, port=port, threshold=threshold, packet_size=size, marking_rate=rate, valid=1
            )
            for (switch, port), (threshold, size, rate) in self.elements.items()
        }
        return marking | {
            (switch, port): starvation_element(port, threshold, delay)
            for (switch, port), (threshold, delay) in self.cs_elements.items()
        }

    def writes(self, topology: Topology, switch: int) -> list[MarkingWrite]:
        """Return the writes that apply the marking settings to a switch after reset."""
        select, mask = CCMarkerSelect, sum(1 << port for port in self.masked(topology, switch))
        return [
            MarkingWrite(select=select.VICTIM_MASK, victim_mask=mask),
            MarkingWrite(select=select.THRESHOLD, threshold=self.threshold, packet_size=self.packet_size),
            MarkingWrite(select=select.MARKING_RATE, marking_rate=self.marking_rate),
            *(write for (at, _), write in self._element_writes().items() if at == switch),
        ]

    @property
    def usual(self) -> NICSettings:
        """Settings of NICs without settings of their own."""
        return NICSettings(
            port_control=self.port_control, ccti_limit=self.ccti_limit, levels=self.levels, table=self.table
        )

    def masked(self, topology: Topology, switch: int) -> set[int]:
        """Return the outputs (from 0) of a switch that are in Victim_Mask."""
        return masked_ports(self.victim_mask, topology, switch)

    def pacing(self, traffic: Sources, buffers: Buffers) -> Pacing:
        """Return the pacing state of all NICs for the given traffic and switch buffers."""
        nics, classes = traffic.due.shape
        each = [self.hosts.get(nic, self.usual) for nic in range(nics)]
        most = max(self.cct_entries, *(len(own.table) for own in each))
        entries = max(CCT_LEAST_ENTRIES, 1 << (most - 1).bit_length())
        sources = new_sources(
            flows=self.flows,
            cct_entries=entries,
            tick_cycles=self.tick_cycles,
            shift_first=self.shift_first,
            sources=nics,
        )
        for nic, own in enumerate(each):
            sources.table[nic, : len(own.table)] = own.table
            sources.port[nic, [PORT_MODE, LIMIT]] = own.port_control, own.ccti_limit
            sources.level[nic][:, [TIMER, INCREASE, TRIGGER, MINIMUM]] = own.levels
        return new_pacing(
            sources,
            classes=classes,
            most=self.held_packets,
            interval=self.cnp_interval,
            port_blocks=max(buffers.largest) if self.by_port else 0,
            lids=int(traffic.lids.sum(axis=1).max()),
            sls=possible_sls(traffic),
        )


def masked_ports(mask: str | int, topology: Topology, switch: int) -> set[int]:
    """Return the ports (from 0) of a switch that a mask selects.

    ``mask`` is ``none``, ``hosts``, ``all``, or a bit mask in which bit 1 is the first port.
    """
    if mask == "none":
        return set()
    if mask == "hosts":
        return {port for at, port in topology.hosts if at == switch}
    every = set(range(topology.ports))
    return {port for port in every if mask >> port + 1 & 1} if isinstance(mask, int) else every
