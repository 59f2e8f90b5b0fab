"""Planted bugs of the InfiniBand switch with marking and credit starvation."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_OUTPUT, _FASTER = "hdl/switches/sending_output.py", {"speed": 2}
_MEASURE, _RECEIVING = "hdl/switches/input_measure.py", "hdl/switches/receiving_input.py"
_MEASURED = {
    "marking": True,
    "measure": "inputs",
    "data_bits": 128,
    "largest": 2,
    "blocks": 24,
    "minimum": 8,
    "maximum": 8,
    "busy_blocks": 4,
    "level_blocks": 20,
}
_STARVATION = "hdl/switches/credit_starvation.py"
_STARVED = {**_MEASURED, "measure": "output", "starving": True}
_MARKING = "hdl/congestion/marking_program.py"
CONGESTION = (
    Plant(
        "drops-are-measured",
        "A queue whose first packet is dropped is counted for the stale output of its look-up.",
        _MEASURE,
        "m.d.sync += goes.eq(self.valid[port][own] & ~self.drop[port][own] & (place == Cat(lane, output)))",
        "m.d.sync += goes.eq(self.valid[port][own] & (place == Cat(lane, output)))",
        instance="measure",
        parameters=_MEASURED,
    ),
    Plant(
        "lane-of-a-later-cycle",
        "A sum is stored for the place that the sweep reaches one cycle later.",
        _MEASURE,
        "with m.If(turn[(pair + _BEHIND) % places]):",
        "with m.If(turn[(pair + 1) % places]):",
        instance="measure",
        parameters=_MEASURED,
    ),
    Plant(
        "measure-wraps-around",
        "A sum above the maximum is shown without its high bits.",
        _MEASURE,
        "m.d.comb += [total.eq(_sum(sums)), found.eq(Mux(total < self.maximum, total, self.maximum))]",
        "m.d.comb += [total.eq(_sum(sums)), found.eq(total)]",
        instance="measure",
        parameters=_MEASURED,
    ),
    Plant(
        "heads-alone-wait",
        "A packet that arrives behind another one is not counted.",
        _RECEIVING,
        "self._count(m, lane, Mux(heads.w_en, routed.blocks, 0), Mux(leaves, head.blocks, 0))",
        "self._count(m, lane, Mux(heads.w_en & ~heads.r_rdy, routed.blocks, 0), Mux(leaves, head.blocks, 0))",
        instance="input-waits",
        parameters=_MEASURED,
    ),
    Plant(
        "come-and-gone-together",
        "A packet that arrives in the cycle in which another one of its lane is granted is not counted.",
        _RECEIVING,
        "m.d.sync += self.waiting[lane].eq(self.waiting[lane] + coming - going)",
        "m.d.sync += self.waiting[lane].eq(self.waiting[lane] + Mux(going.any(), 0, coming) - going)",
        instance="input-waits",
        parameters=_MEASURED,
    ),
    Plant(
        "room-lost-behind-held-room",
        "Blocks freed while an input withholds others of their lane are lost.",
        _STARVATION,
        "total.eq(Mux(comes.any(), Mux(sums > self.maximum, self.maximum, sums), held)),",
        "total.eq(Mux(comes.any() & ~held.any(), sums, held)),",
        instance="starvation",
        parameters=_STARVED,
    ),
    Plant(
        "no-gap",
        "A lane over its threshold returns a block in every cycle, whatever CS_ReturnDelay says.",
        _STARVATION,
        "m.d.sync += left.eq(self.gap)",
        "m.d.sync += left.eq(0)",
        instance="starvation",
        parameters=_STARVED,
    ),
    Plant(
        "lane-0-returns-first",
        "Of the lanes with withheld blocks the lowest one always returns first.",
        _STARVATION,
        "m.d.comb += turns.served.eq(turns.found)",
        "m.d.comb += turns.served.eq(0)",
        instance="starvation",
        parameters=_STARVED,
    ),
    Plant(
        "delay-without-shift",
        "The shift of the switch's CS_ReturnDelay is ignored.",
        "hdl/congestion/starvation_settings.py",
        'm.d.sync += of_switch["gap"].eq(program.multiplier >> program.shift)',
        'm.d.sync += of_switch["gap"].eq(program.multiplier)',
        instance="starvation-settings",
        parameters=_STARVED,
    ),
    Plant(
        "element-for-every-output",
        "An element of the congestion settings for one output is written to all outputs.",
        _MARKING,
        "value = value & (~is_element | equals(port.port, number))",
        "value = port.enable",
        instance="connections-measured",
        parameters=_MEASURED,
    ),
    Plant(
        "mask-of-output-0",
        "Every output uses the bit of output 0 in Victim_Mask.",
        _MARKING,
        "value = value[number]",
        "value = value[0]",
        instance="connections-measured",
        parameters=_MEASURED,
    ),
    Plant(
        "busy-link-is-free",
        "The marker treats a link with a packet in transmission as free.",
        _OUTPUT,
        "marker.free.eq(self.scheduler.ready),",
        "marker.free.eq(self.ready),",
        instance="output-marked",
        parameters=_MEASURED,
    ),
    Plant(
        "stalled-packet-starts",
        "A packet that is granted while the link is not free counts as starting.",
        _OUTPUT,
        "marker.start.eq(starts),",
        "marker.start.eq(self.scheduler.grant),",
        instance="output-marked",
        parameters=_MEASURED,
    ),
    Plant(
        "buffer-instead-of-inputs",
        "The fill of the output buffer is measured instead of the inputs.",
        _OUTPUT,
        "marker.measure[lane].eq(self.measure[lane] if self.measured else self._taken(lane))",
        "marker.measure[lane].eq(self._taken(lane))",
        instance="output-marked-faster",
        parameters={**_MEASURED, **_FASTER},
    ),
)
"""Planted bugs, each a change of one line."""
