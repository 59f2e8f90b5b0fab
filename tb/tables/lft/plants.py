"""Planted bugs of the LFT look-up."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE = "hdl/tables/lft.py"
PLANTS = (
    Plant(
        "top-is-above",
        "The LID equal to the top of the table is not routed.",
        _FILE,
        "with m.Elif((dlid > self.top) | (dlid >= self.entries)):",
        "with m.Elif((dlid >= self.top) | (dlid >= self.entries)):",
    ),
    Plant(
        "past-the-end",
        "A LID beyond the end of the table is looked up if the top is above it.",
        _FILE,
        "with m.Elif((dlid > self.top) | (dlid >= self.entries)):",
        "with m.Elif(dlid > self.top):",
    ),
    Plant(
        "top-writes-an-entry",
        "A write of the top also writes an entry.",
        _FILE,
        "writes_entry = self.program.enable & ~self.program.top",
        "writes_entry = self.program.enable",
    ),
    Plant(
        "absent-entry-is-written",
        "A write beyond the end of the table changes another entry.",
        _FILE,
        "writer.en.eq(writes_entry & (self.program.lid < self.entries)),",
        "writer.en.eq(writes_entry),",
    ),
    Plant(
        "top-without-enable",
        "The top is written without enable.",
        _FILE,
        "with m.If(self.program.enable & self.program.top):",
        "with m.If(self.program.top):",
    ),
    Plant(
        "last-port-is-missing",
        "The last port is treated as absent.",
        _FILE,
        "with m.Elif(reader.data > self.ports):",
        "with m.Elif(reader.data >= self.ports):",
    ),
    Plant(
        "first-multicast-lid",
        "The first multicast LID is treated as above the top.",
        _FILE,
        "with m.Elif(dlid >= FIRST_MULTICAST):",
        "with m.Elif(dlid > FIRST_MULTICAST):",
    ),
)
"""Planted bugs, each a change of one line."""
