"""Program port of a switch's congestion settings, and the part of a write that is for one output."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib.wiring import Out, Signature

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.marking_write import MASK_BITS, PORT_BITS
from vlane.hdl.common.select import equals
from vlane.hdl.congestion.marker_settings import CCMarkerProgramSignature


class MarkingProgramSignature(Signature):
    """Write port of the settings of a switch (IBS-M3), seen from its driver.

    Members
    -------
    enable : Out(1)
        Write in this cycle; the new setting holds from the next cycle on.
    select : Out(CCMarkerSelect)
        What is written: a part of SwitchCongestionSetting, of all outputs, or the element of one output.
    port : Out(6)
        Of an element: its output, from 0. An absent one is not written.
    victim_mask : Out(64)
        Victim_Mask, a bit for each output, from 0; those of absent outputs are ignored.
    threshold, packet_size, marking_rate, valid, control_type
        As of ``CCMarkerProgramSignature``.
    """

    def __init__(self) -> None:
        of_output = CCMarkerProgramSignature().members
        super().__init__({**of_output, "port": Out(PORT_BITS), "victim_mask": Out(MASK_BITS)})


def program_output(m: Module, port: Any, number: int, program: Any) -> None:
    """Let an output take what a write of the switch's settings says for it."""
    is_element = equals(Value.cast(port.select), int(CCMarkerSelect.PORT))
    for name in program.signature.members:
        value = getattr(port, name)
        if name == "enable":
            value = value & (~is_element | equals(port.port, number))
        elif name == "victim_mask":
            value = value[number]
        m.d.comb += getattr(program, name).eq(value)
