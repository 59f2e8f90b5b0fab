"""Marking settings of a port: those of the switch, and the port's own element."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, Signature

from vlane.congestion.cc_marker import RATE_BITS, SIZE_BITS, THRESHOLD_BITS, CCMarkerSelect
from vlane.hdl.common.select import equals


class CCMarkerProgramSignature(Signature):
    """Write port of the marking settings, seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new setting is in force from the next cycle on.
    select : Out(CCMarkerSelect)
        Setting to write; members of other settings are ignored.
    victim_mask : Out(1)
        This port's bit of Victim_Mask.
    threshold : Out(4)
        Threshold of the switch or of the element.
    packet_size : Out(8)
        Packet_Size of the switch or of the element, in blocks of 64 bytes.
    marking_rate : Out(16)
        Marking_Rate of the switch or of the element.
    valid : Out(1)
        Valid bit of the element.
    control_type : Out(1)
        Control type of the element; 1 is credit starvation, which does not affect marking.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "select": Out(CCMarkerSelect),
                "victim_mask": Out(1),
                "threshold": Out(THRESHOLD_BITS),
                "packet_size": Out(SIZE_BITS),
                "marking_rate": Out(RATE_BITS),
                "valid": Out(1),
                "control_type": Out(1),
            }
        )


class CCMarkerSettings(wiring.Component):
    """Settings of one port, and the values in force (CCM-12 to CCM-15).

    Members
    -------
    program : In(CCMarkerProgramSignature())
        Write port, usable at any time.
    threshold : Out(4)
        Threshold in force.
    packet_size : Out(8)
        Packet_Size in force.
    marking_rate : Out(16)
        Marking_Rate in force.
    victim_mask : Out(1)
        Victim_Mask includes this port.
    restarts : Out(1)
        A marking rate is written in this cycle, which restarts the counts of unmarked packets.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "program": In(CCMarkerProgramSignature()),
                "threshold": Out(THRESHOLD_BITS),
                "packet_size": Out(SIZE_BITS),
                "marking_rate": Out(RATE_BITS),
                "victim_mask": Out(1),
                "restarts": Out(1),
            }
        )
        self.of_switch, self.of_port = self._registers("switch"), self._registers("port")
        self.port_rules = Signal()
        self.mask = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        program, select = self.program, Value.cast(self.program.select)
        of_switch, of_port = self.of_switch, self.of_port
        writes_port = program.enable & equals(select, int(CCMarkerSelect.PORT))
        writes_rate = program.enable & equals(select, int(CCMarkerSelect.MARKING_RATE))
        with m.If(program.enable & equals(select, int(CCMarkerSelect.VICTIM_MASK))):
            m.d.sync += self.mask.eq(program.victim_mask)
        with m.If(program.enable & equals(select, int(CCMarkerSelect.THRESHOLD))):
            m.d.sync += [of_switch["threshold"].eq(program.threshold), of_switch["packet_size"].eq(program.packet_size)]
        with m.If(writes_rate):
            m.d.sync += of_switch["marking_rate"].eq(program.marking_rate)
        with m.If(writes_port):
            m.d.sync += self.port_rules.eq(program.valid & ~program.control_type)
            m.d.sync += [register.eq(getattr(program, name)) for name, register in of_port.items()]
        m.d.comb += [self.victim_mask.eq(self.mask), self.restarts.eq(writes_rate | writes_port)]
        m.d.comb += [getattr(self, name).eq(Mux(self.port_rules, of_port[name], of_switch[name])) for name in of_port]
        return m

    @staticmethod
    def _registers(whose: str) -> dict[str, Signal]:
        """Return registers for the settings that both the switch and the element have."""
        widths = {"threshold": THRESHOLD_BITS, "packet_size": SIZE_BITS, "marking_rate": RATE_BITS}
        return {name: Signal(bits, name=f"{whose}_{name}") for name, bits in widths.items()}
