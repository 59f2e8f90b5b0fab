"""Proof of an output that marks: the inputs of its marker, and the flit that the marker returns."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.schedulers.ports import BLOCKS_SHAPE
from vlane.hdl.switches.switch_output import SwitchOutput
from vlane.tb.switches.proofs_switch_output import MAXIMUM, VLS, SwitchOutputProperties, switch_output
from vlane.tb.tables.proofs_tables import at

_DATA_BITS = 1


class AnyMarker(wiring.Component):
    """Stand-in for the marker that returns an arbitrary flit."""

    def __init__(self) -> None:
        super().__init__(
            {
                "measure": In(data.ArrayLayout(range(MAXIMUM + 1), VLS)),
                "free": In(1),
                "asks": In(VLS),
                "fits": In(VLS),
                "start": In(1),
                "start_vl": In(4),
                "start_blocks": In(BLOCKS_SHAPE),
                "flit_in": In(_DATA_BITS),
                "flit_out": Out(_DATA_BITS),
            }
        )
        self.parameters: dict[str, int] = {}

    def elaborate(self, _platform: object) -> Module:
        return Module()


def marked_output(*, flits: int, measured: bool) -> SwitchOutput:
    """Return an output side whose marker is cut out, so that the returned flit is a free input of the proof."""
    return switch_output(flits=flits, write_ports=1, fcp=False, marker=AnyMarker(), measured=measured)


class MarkedOutputProperties(SwitchOutputProperties):
    """Check the marker's inputs and the use of its flit.

    The model and the assumptions are those of ``SwitchOutputProperties``.

    Parameters
    ----------
    output : SwitchOutput
        Output as returned by ``marked_output``.
    """

    statements: ClassVar = {
        "write-ports": SwitchOutputProperties.statements["write-ports"],
        "marker": "The marker's inputs equal the scheduler's: when a packet may start, which lanes request, and "
        "whose head fits; also the lane and the size of a starting packet.",
        "marker-measure": "The marker's measure of a lane is the used and reserved blocks of the lane in the buffer, "
        "or the output's measure input if the inputs are measured.",
        "marked": "The flit that the marker returns is on the link in the next cycle.",
    }

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*super().ports(), self.output.marker.flit_out]

    def elaborate(self, _platform: object) -> Module:
        m, o, claim = self.m, self.output, self.claim
        m.submodules.output = o
        self._assume_decisions(m)
        self._enters(m, 0)
        s, marker = o.scheduler, o.marker
        starts = s.grant & s.ready
        claim(m, "marker", marker.free == s.ready)
        claim(m, "marker", (marker.asks == s.heads.request) & (marker.fits == s.heads.fits))
        claim(m, "marker", marker.start == starts)
        told = (marker.start_vl == s.vl) & (marker.start_blocks == at(s.heads.blocks, s.vl))
        claim(m, "marker", told, when=starts)
        for lane in range(VLS):
            used, came = Signal(4, name=f"used_{lane}"), Signal(2, name=f"came_{lane}")
            now = (
                used + came - (o.tx.valid & (o.tx.vl == lane))
            )  # a flit that left in the previous cycle is on the link now
            m.d.sync += [used.eq(now), came.eq(Mux(o.reserved_vl == lane, o.reserved, 0))]
            claim(m, "marker-measure", marker.measure[lane] == (o.measure[lane] if o.measured else now[:4]))
        before = Signal(_DATA_BITS)
        m.d.sync += before.eq(marker.flit_out)
        claim(m, "marked", o.tx.data == before, when=o.tx.valid)
        return m
