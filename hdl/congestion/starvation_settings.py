"""Credit-starvation settings of a port: those of the switch, and the port's own element."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, Signature

from vlane.congestion.cc_marker import THRESHOLD_BITS, CCMarkerSelect
from vlane.congestion.cc_source import MULTIPLIER_BITS, SHIFT_BITS
from vlane.congestion.marking_write import MASK_BITS
from vlane.credits.credit_starvation import StarvationSelect
from vlane.hdl.common.select import equals


class StarvationProgramSignature(Signature):
    """Write port of the credit-starvation settings (IBS-K6), seen from its driver.

    Parameters
    ----------
    mask_bits : int
        Width of Credit_Mask: the switch's ports, or 1.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new setting is in force from the next cycle on.
    select : Out(StarvationSelect)
        Setting to write; members of the other setting are ignored.
    credit_mask : Out(mask_bits)
        Credit_Mask, one bit per port, from 0; bits of absent ports are ignored.
    threshold : Out(4)
        CS_Threshold.
    shift, multiplier : Out(2), Out(14)
        CS_ReturnDelay.
    """

    def __init__(self, mask_bits: int = MASK_BITS) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "select": Out(StarvationSelect),
                "credit_mask": Out(mask_bits),
                "threshold": Out(THRESHOLD_BITS),
                "shift": Out(SHIFT_BITS),
                "multiplier": Out(MULTIPLIER_BITS),
            }
        )


class StarvationSettings(wiring.Component):
    """Settings of one port, and the values in force (IBS-K6).

    Members
    -------
    program : In(StarvationProgramSignature(1))
        Writes of the switch's settings for this port, at any time.
    element : In(1)
        The port's element is written in this cycle.
    rules : In(1)
        The written element is valid and of control type 1.
    element_threshold : In(4)
        CS_Threshold of the written element.
    element_delay : In(16)
        CS_ReturnDelay of the written element, shift in the most significant bits.
    masked : Out(1)
        Credit_Mask includes this port.
    threshold : Out(4)
        CS_Threshold in force.
    gap : Out(14)
        Cycles that CS_ReturnDelay adds to the gap after each returned block.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "program": In(StarvationProgramSignature(1)),
                "element": In(1),
                "rules": In(1),
                "element_threshold": In(THRESHOLD_BITS),
                "element_delay": In(SHIFT_BITS + MULTIPLIER_BITS),
                "masked": Out(1),
                "threshold": Out(THRESHOLD_BITS),
                "gap": Out(MULTIPLIER_BITS),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        program, select = self.program, Value.cast(self.program.select)
        port_rules = Signal()
        of_switch, of_port = self._registers("switch"), self._registers("port")
        with m.If(program.enable & equals(select, int(StarvationSelect.CREDIT_MASK))):
            m.d.sync += self.masked.eq(program.credit_mask)
        with m.If(program.enable & equals(select, int(StarvationSelect.RETURN))):
            m.d.sync += of_switch["threshold"].eq(program.threshold)
            m.d.sync += of_switch["gap"].eq(program.multiplier >> program.shift)
        with m.If(self.element):
            m.d.sync += port_rules.eq(self.rules)
            m.d.sync += of_port["threshold"].eq(self.element_threshold)
            m.d.sync += of_port["gap"].eq(self.element_delay[:MULTIPLIER_BITS] >> self.element_delay[MULTIPLIER_BITS:])
        m.d.comb += [getattr(self, name).eq(Mux(port_rules, of_port[name], of_switch[name])) for name in of_port]
        return m

    @staticmethod
    def _registers(whose: str) -> dict[str, Signal]:
        """Return registers for the settings that both the switch and the element have."""
        widths = {"threshold": THRESHOLD_BITS, "gap": MULTIPLIER_BITS}
        return {name: Signal(bits, name=f"{whose}_{name}") for name, bits in widths.items()}


def program_input(m: Module, starvation: Any, congestion: Any, number: int, settings: StarvationSettings) -> None:
    """Connect the switch's two program ports to the settings of one input."""
    program, is_element = settings.program, equals(Value.cast(congestion.select), int(CCMarkerSelect.PORT))
    for name in program.signature.members:
        value = getattr(starvation, name)
        m.d.comb += getattr(program, name).eq(value[number] if name == "credit_mask" else value)
    m.d.comb += [
        settings.element.eq(congestion.enable & is_element & equals(congestion.port, number)),
        settings.rules.eq(congestion.valid & congestion.control_type),
        settings.element_threshold.eq(congestion.threshold),
        settings.element_delay.eq(congestion.marking_rate),
    ]
