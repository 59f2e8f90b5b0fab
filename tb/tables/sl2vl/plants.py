"""Planted bugs of the SL to VL mapping."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE = "hdl/tables/sl2vl.py"
PLANTS = (
    Plant(
        "every-input-is-input-0",
        "A row for every input is written only for input 0 and the named input.",
        _FILE,
        "meant = self.program.every_input | equals(self.program.input, port)",
        "meant = (self.program.every_input & (port == 0)) | equals(self.program.input, port)",
    ),
    Plant(
        "absent-output-is-written",
        "A row of an absent output is written to another one.",
        _FILE,
        "writer.en.eq(self.program.enable & meant & there),",
        "writer.en.eq(self.program.enable & meant),",
    ),
    Plant(
        "written-without-enable",
        "A row is written in every cycle.",
        _FILE,
        "writer.en.eq(self.program.enable & meant & there),",
        "writer.en.eq(meant & there),",
    ),
    Plant(
        "one-lane-too-many",
        "The lane after the last one is used.",
        _FILE,
        "served.eq(~missing & (mapped < self.data_vls)),",
        "served.eq(~missing & (mapped <= self.data_vls)),",
    ),
    Plant(
        "drop-is-invalid",
        "A row's value 15 is reported as an invalid lane.",
        _FILE,
        "self.invalid[port].eq(missing | (~served & (mapped != Const(VL_DROP, 4)))),",
        "self.invalid[port].eq(~served),",
    ),
    Plant(
        "last-output-is-absent",
        "The last output is treated as absent.",
        _FILE,
        "missing.eq(output >= self.outputs),",
        "missing.eq(output >= self.outputs - 1),",
    ),
    Plant(
        "levels-swapped",
        "Neighbouring levels have their lanes swapped.",
        _FILE,
        "mapped.eq(one_of((equals(self.sl[port], sl) for sl in range(SL_COUNT)), lanes)),",
        "mapped.eq(one_of((equals(self.sl[port], sl ^ 1) for sl in range(SL_COUNT)), lanes)),",
    ),
)
"""Planted bugs, each a change of one line."""
