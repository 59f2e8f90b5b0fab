"""Program port of a switch's congestion settings, and its distribution to the outputs."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib.wiring import Out, Signature

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.marking_write import MASK_BITS, PORT_BITS
from vlane.hdl.common.select import equals
from vlane.hdl.congestion.marker_settings import CCMarkerProgramSignature


class MarkingProgramSignature(Signature):
    """Write port of a switch's congestion settings (IBS-M3), seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new setting is in force from the next cycle on.
    select : Out(CCMarkerSelect)
        Setting to write: a part of SwitchCongestionSetting, for all outputs, or the element of one output.
    port : Out(6)
        Output whose element is written, from 0. Writes to an absent output are ignored.
    victim_mask : Out(64)
        Victim_Mask, one bit per output, from 0; bits of absent outputs are ignored.
    threshold, packet_size, marking_rate, valid, control_type
        See ``CCMarkerProgramSignature``.
    """

    def __init__(self) -> None:
        of_output = CCMarkerProgramSignature().members
        super().__init__({**of_output, "port": Out(PORT_BITS), "victim_mask": Out(MASK_BITS)})


def program_output(m: Module, port: Any, number: int, program: Any) -> None:
    """Connect the switch's program port to one output: pass all general settings and the output's own element."""
    is_element = equals(Value.cast(port.select), int(CCMarkerSelect.PORT))
    for name in program.signature.members:
        value = getattr(port, name)
        if name == "enable":
            value = value & (~is_element | equals(port.port, number))
        elif name == "victim_mask":
            value = value[number]
        m.d.comb += getattr(program, name).eq(value)
