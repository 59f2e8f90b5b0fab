"""Proofs of the InfiniBand switch: each part against a model, their connections, and the path of a packet."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Signal, Value

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.hdl.buffers.size_queue import SizeQueue
from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.congestion.starvation_settings import StarvationSettings
from vlane.hdl.links.fcp_limits import FCPLimits
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin
from vlane.hdl.links.room import Room
from vlane.hdl.switches.allocator import Allocator
from vlane.hdl.switches.bid_allocator import BidAllocator
from vlane.hdl.switches.credit_starvation import CreditStarvation
from vlane.hdl.switches.input_measure import InputMeasure
from vlane.hdl.switches.pair_allocator import PairAllocator
from vlane.hdl.switches.write_port import WritePort
from vlane.schedulers.registry import DEFAULT, IB_ARBITER
from vlane.tb.credits.proofs_room import (
    PART,
    PERIOD,
    STEP,
    CreditCounterProperties,
    FCPSenderProperties,
    LimitCounterProperties,
)
from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.schedulers.proofs_round_robin import RoundRobinProperties
from vlane.tb.switches.ib_switch.proofs_allocator import AllocatorProperties
from vlane.tb.switches.ib_switch.proofs_bid_allocator import BidAllocatorProperties
from vlane.tb.switches.ib_switch.proofs_credit_starvation import StarvationProperties, StarvationSettingsProperties
from vlane.tb.switches.ib_switch.proofs_input_measure import (
    InputMeasureProperties,
    LaneWaitingProperties,
    WaitingProperties,
)
from vlane.tb.switches.ib_switch.proofs_lane_input import LaneInputProperties, lane_input
from vlane.tb.switches.ib_switch.proofs_lane_output import LaneOutputProperties, lane_output
from vlane.tb.switches.ib_switch.proofs_marked_output import MarkedOutputProperties, marked_output
from vlane.tb.switches.ib_switch.proofs_pair_allocator import PairAllocatorProperties
from vlane.tb.switches.proofs_delivery import DeliveryProperties
from vlane.tb.switches.proofs_delivery_time import DeliveryTimeProperties
from vlane.tb.switches.proofs_queues import DEPTH, SizeQueueProperties, WritePortProperties
from vlane.tb.switches.proofs_switch import SwitchWiringProperties
from vlane.tb.switches.proofs_switch_input import SwitchInputProperties, switch_input
from vlane.tb.switches.proofs_switch_output import SwitchOutputProperties, switch_output
from vlane.tb.tables.proofs_tables import at

_SL = slice(52, 56)
"""Position of the SL in the local route header."""


class _SL2VLSwitchProperties(SwitchWiringProperties):
    """Check the connections of an InfiniBand switch, whatever its crossbar."""

    statements: ClassVar = {
        **SwitchWiringProperties.statements,
        "measured": "The measure of the inputs is connected to each lane's own head and waiting blocks, and each "
        "output to the measure of its own lanes.",
        "settings": "A write of the congestion settings reaches every output, a write of an element only its own "
        "output, and each output has its own bit of Victim_Mask.",
    }

    def _mapped_away(self, port_number: int) -> Value:
        dropped: Value = self.switch.map.drop[port_number]
        return dropped

    def _claim_own_properties(self, m: Module) -> None:
        s, claim = self.switch, self.claim
        for number, port in enumerate(s.inputs):
            claim(m, "lane-map", s.map.sl[number] == port.header[_SL])
            found = s.table.out_port[number]
            claim(m, "lane-map", s.map.out_port[number] + 1 == found, when=(found != 0) & (found <= s.ports))
            vl = s.map.vl[number]
            claim(m, "lane-map", port.outgoing_vl == vl, when=vl < s.geometry.vls)
        if s.measure is not None:
            self._measured(m, s.measure)
        for number, output in enumerate(s.outputs):
            if output.marker is not None:
                self._settings(m, number, output.marker.program)

    def _measured(self, m: Module, measure: InputMeasure) -> None:
        """Claim the connections of the inputs' measure."""
        s = self.switch
        for number, (port, output) in enumerate(zip(s.inputs, s.outputs, strict=True)):
            sees = [measure.valid[number] == port.valid, measure.drop[number] == port.drop]
            for lane in range(s.geometry.vls):
                pair = number * s.geometry.vls + lane
                sees += [
                    measure.output[pair] == port.outputs[lane],
                    measure.outgoing_vl[pair] == port.outgoing_vls[lane],
                    measure.waiting[pair] == port.waiting[lane],
                    output.measure[lane] == measure.measure[pair],
                ]
            self.claim(m, "measured", Cat(sees).all())

    def _settings(self, m: Module, port_number: int, program: Any) -> None:
        """Claim how a write of the switch's settings reaches an output's marker."""
        port = self.switch.congestion
        others = Value.cast(port.select) != int(CCMarkerSelect.PORT)
        self.claim(m, "settings", program.enable == (port.enable & (others | (port.port == port_number))))
        named = [name for name in program.signature.members if name not in ("enable", "victim_mask")]
        told = [Value.cast(getattr(program, name)) for name in named]
        written = [Value.cast(getattr(port, name)) for name in named]
        mask = program.victim_mask == port.victim_mask.bit_select(port_number, 1)
        self.claim(m, "settings", (Cat(told) == Cat(written)) & mask, when=program.enable)


class IBSwitchProperties(_SL2VLSwitchProperties):
    """Check the connections of a switch with a multiplexed crossbar.

    Parameters
    ----------
    switch : IBSwitch
        The component.
    """

    def _claim_own_properties(self, m: Module) -> None:
        super()._claim_own_properties(m)
        s, a, claim = self.switch, self.switch.allocator, self.claim
        for number, output in enumerate(s.outputs):
            source: Any = Value.cast(a.source[number])
            claim(m, "resources", (a.output_free[number] == output.free) & (a.room[number] == output.room))
            packets = [each for port in range(s.ports) for each in self._of_input(source[port], port)]
            self._reserves(m, output, source, packets)
            claim(m, "reserved", output.enters == 1, when=source.any())
            crossings = [port.crossing for port in s.inputs]
            self._crosses(m, output.crossing[0], [(each.to == number, each) for each in crossings])


class PerVLSwitchProperties(_SL2VLSwitchProperties):
    """Check the connections of a switch with a crossbar port for each VL.

    Parameters
    ----------
    switch : PerVLSwitch
        The component.
    """

    def _claim_sizes(self, m: Module, side: Any) -> None:
        p = self.switch.parameters
        for part in side.parts:
            self.claim(
                m, "sizes", Value.cast(int([part.maximum, part.mtu_flits, part.vls] == [p.minimum, p.largest, 1]))
            )

    def _heads(self, m: Module, port_number: int) -> None:
        s, a = self.switch, self.switch.allocator
        port, vls = s.inputs[port_number], s.geometry.vls
        sees = [
            a.valid[port_number] == port.valid,
            a.drop[port_number] == port.drop,
            a.input_free[port_number] == port.free,
            port.granted == a.granted[port_number],
        ]
        for lane in range(vls):
            pair = port_number * vls + lane
            sees += [a.output[pair] == port.outputs[lane], a.outgoing_vl[pair] == port.outgoing_vls[lane]]
            if a.queues:
                sees.append(a.sizes[pair] == port.blocks[lane])
        self.claim(m, "heads", Cat(sees).all())

    def _claim_own_properties(self, m: Module) -> None:
        super()._claim_own_properties(m)
        s, a, claim, vls = self.switch, self.switch.allocator, self.claim, self.switch.geometry.vls
        sizes = [port.blocks[lane] for port in s.inputs for lane in range(vls)]
        crossings = [crossing for port in s.inputs for crossing in port.crossing]
        for pair in range(a.pairs):
            output, lane = s.outputs[pair // vls], pair % vls
            free = a.output_free[pair // vls][lane] == output.free[lane]
            claim(m, "resources", free & (a.left[pair] == output.left[lane]))
            m.d.comb += Assume(a.source[pair] < a.pairs)
            claim(m, "reserved", output.reserved[lane] == at(sizes, a.source[pair]), when=a.takes[pair])
            claim(m, "reserved", ~output.reserved[lane].any(), when=~a.takes[pair])
            took, source = Signal(name=f"took_{pair}"), Signal.like(a.source[pair], name=f"took_from_{pair}")
            with m.If(a.takes[pair]):
                m.d.sync += [took.eq(1), source.eq(a.source[pair])]
            claim(m, "crossing", inner_signal(self.fragment, f"source_{pair}") == source, when=took)
            for number, crossing in enumerate(crossings):
                same = Cat(output.crossing[lane].valid, output.crossing[lane].flit) == Cat(
                    crossing.valid, crossing.flit
                )
                claim(m, "crossing", same, when=took & (source == number))


_SMALL = {"scheduler": DEFAULT, "entries": 1, "data_bits": 64}
_MARKED = {**_SMALL, "data_bits": 128, "marking": True, "measure": "inputs"}
INSTANCES = (
    Instance("turns", RoundRobinProperties, {"count": 4}, part=RoundRobin),
    Instance("turns-of-one", RoundRobinProperties, {"count": 1}, part=RoundRobin),
    Instance("allocation", AllocatorProperties, {"ports": 2, "vls": 2}, part=Allocator),
    Instance("allocation-three", AllocatorProperties, {"ports": 3, "vls": 3}, part=Allocator),
    Instance("bids", BidAllocatorProperties, {"ports": 2, "largest": 3}, part=BidAllocator),
    Instance("bids-three", BidAllocatorProperties, {"ports": 3, "largest": 3}, part=BidAllocator),
    Instance(
        "pair-turns",
        PairAllocatorProperties,
        {"ports": 2, "vls": 2, "blocks": 3, "largest": 2, "queues": False},
        part=PairAllocator,
    ),
    Instance(
        "pair-queues",
        PairAllocatorProperties,
        {"ports": 2, "vls": 2, "blocks": 3, "largest": 2, "queues": True},
        part=PairAllocator,
    ),
    Instance(
        "room",
        CreditCounterProperties,
        {"vls": 3, "blocks": 9, "minimum": 2, "maximum": 5, "largest": 2, "returned": 1, "behind": True},
        part=Room,
    ),
    Instance(
        "room-faster",
        CreditCounterProperties,
        {"vls": 2, "blocks": 6, "minimum": 2, "maximum": 4, "largest": 2, "returned": 2, "behind": True},
        part=Room,
    ),
    Instance(
        "limits", LimitCounterProperties, {"vls": 2, "blocks": PART, "largest": 2, "behind": True}, part=FCPLimits
    ),
    Instance(
        "tells", FCPSenderProperties, {"vls": 3, "blocks": PART, "step": STEP, "period": PERIOD}, part=FCPRoundRobin
    ),
    Instance(
        "tells-faster",
        FCPSenderProperties,
        {"vls": 2, "blocks": PART, "step": STEP, "period": PERIOD, "returned": 2},
        part=FCPRoundRobin,
    ),
    Instance("write-port", WritePortProperties, {"vls": 3}, part=WritePort),
    Instance("sizes", SizeQueueProperties, {"depth": DEPTH, "largest": 3}, part=SizeQueue),
    Instance("input", SwitchInputProperties, {"flits": 1, "largest": 2, "channels": False}, part=switch_input),
    Instance("input-faster", SwitchInputProperties, {"flits": 2, "largest": 3, "channels": False}, part=switch_input),
    Instance("measure", InputMeasureProperties, {"ports": 2, "vls": 2, "maximum": 5}, part=InputMeasure),
    Instance("measure-of-six", InputMeasureProperties, {"ports": 2, "vls": 3, "maximum": 3}, part=InputMeasure),
    Instance(
        "input-waits",
        WaitingProperties,
        {"flits": 1, "largest": 2, "channels": False, "waiting": True},
        part=switch_input,
    ),
    Instance(
        "input-waits-faster",
        WaitingProperties,
        {"flits": 2, "largest": 2, "channels": False, "waiting": True},
        part=switch_input,
    ),
    Instance("lane-input-waits", LaneWaitingProperties, {"largest": 2, "waiting": True}, part=lane_input),
    Instance(
        "starvation", StarvationProperties, {"vls": 2, "maximum": 3, "flits": 1, "vl_bits": 4}, part=CreditStarvation
    ),
    Instance(
        "starvation-faster",
        StarvationProperties,
        {"vls": 2, "maximum": 4, "flits": 2, "vl_bits": 4},
        part=CreditStarvation,
    ),
    Instance("starvation-settings", StarvationSettingsProperties, {}, part=StarvationSettings),
    Instance("output", SwitchOutputProperties, {"flits": 1, "write_ports": 1, "fcp": False}, part=switch_output),
    Instance("output-fcp", SwitchOutputProperties, {"flits": 1, "write_ports": 1, "fcp": True}, part=switch_output),
    Instance("output-faster", SwitchOutputProperties, {"flits": 2, "write_ports": 1, "fcp": False}, part=switch_output),
    Instance(
        "output-fcp-faster", SwitchOutputProperties, {"flits": 2, "write_ports": 1, "fcp": True}, part=switch_output
    ),
    Instance("output-marked", MarkedOutputProperties, {"flits": 1, "measured": False}, part=marked_output),
    Instance("output-marked-faster", MarkedOutputProperties, {"flits": 2, "measured": True}, part=marked_output),
    Instance("lane-input", LaneInputProperties, {"largest": 2}, part=lane_input),
    Instance("lane-output", LaneOutputProperties, {"fcp": False}, part=lane_output),
    Instance("lane-output-fcp", LaneOutputProperties, {"fcp": True}, part=lane_output),
    Instance(
        "connections",
        IBSwitchProperties,
        {
            "ports": 3,
            "data_vls": 3,
            "blocks": 12,
            "minimum": 2,
            "maximum": 8,
            "largest": 2,
            "lids": 4,
            "scheduler": IB_ARBITER,
            "entries": 2,
            "line_rate": True,
            "data_bits": 64,
        },
    ),
    Instance(
        "connections-fcp",
        IBSwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 8,
            "minimum": 4,
            "maximum": 4,
            "largest": 2,
            "lids": 4,
            **_SMALL,
            "credit": "fcp",
        },
    ),
    Instance(
        "connections-faster",
        IBSwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 8,
            "minimum": 2,
            "maximum": 6,
            "largest": 2,
            "lids": 4,
            **_SMALL,
            "speed": 2,
        },
    ),
    Instance(
        "connections-fcp-faster",
        IBSwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 8,
            "minimum": 4,
            "maximum": 4,
            "largest": 2,
            "lids": 4,
            **_SMALL,
            "credit": "fcp",
            "speed": 2,
        },
    ),
    Instance(
        "connections-queues",
        PerVLSwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 8,
            "minimum": 4,
            "maximum": 4,
            "largest": 2,
            "lids": 4,
            **_SMALL,
            "crossbar": "per_vl",
            "allocation": "fifo",
        },
    ),
    Instance(
        "connections-pairs-fcp",
        PerVLSwitchProperties,
        {
            "ports": 2,
            "data_vls": 3,
            "blocks": 12,
            "minimum": 4,
            "maximum": 4,
            "largest": 2,
            "lids": 4,
            "scheduler": IB_ARBITER,
            "entries": 2,
            "line_rate": True,
            "data_bits": 64,
            "crossbar": "per_vl",
            "credit": "fcp",
        },
    ),
    Instance(
        "connections-measured",
        IBSwitchProperties,
        {"ports": 2, "data_vls": 2, "blocks": 8, "minimum": 4, "maximum": 4, "largest": 1, "lids": 4, **_MARKED},
    ),
    Instance(
        "connections-measured-faster",
        IBSwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 10,
            "minimum": 4,
            "maximum": 6,
            "largest": 1,
            "lids": 4,
            **_MARKED,
            "speed": 2,
        },
    ),
    Instance(
        "connections-pairs-measured",
        PerVLSwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 8,
            "minimum": 4,
            "maximum": 4,
            "largest": 1,
            "lids": 4,
            **_MARKED,
            "crossbar": "per_vl",
        },
    ),
    Instance(
        "delivery",
        DeliveryProperties,
        {"ports": 2, "data_vls": 2, "blocks": 5, "minimum": 2, "maximum": 3, "largest": 2, "lids": 3, **_SMALL},
    ),
    Instance(
        "delivery-of-three",
        DeliveryProperties,
        {"ports": 3, "data_vls": 2, "blocks": 3, "minimum": 1, "maximum": 2, "largest": 1, "lids": 4, **_SMALL},
    ),
    Instance(
        "delivery-faster",
        DeliveryProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 4,
            "minimum": 2,
            "maximum": 2,
            "largest": 2,
            "lids": 3,
            **_SMALL,
            "speed": 2,
        },
    ),
    Instance(
        "delivery-in-time",
        partial(DeliveryTimeProperties, granted=4, sent=3),
        {"ports": 2, "data_vls": 2, "blocks": 3, "minimum": 1, "maximum": 2, "largest": 1, "lids": 3, **_SMALL},
    ),
)
"""Proven instances: the parts, then their connections, then the path of a packet through small switches."""
