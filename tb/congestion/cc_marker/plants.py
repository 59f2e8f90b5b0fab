"""Planted bugs of the marker."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE, _SETTINGS, _HEADER = (
    "hdl/congestion/cc_marker.py",
    "hdl/congestion/marker_settings.py",
    "hdl/congestion/bth_marker.py",
)
PLANTS = (
    Plant(
        "threshold-0-marks",
        "Threshold 0 is treated as Threshold 1.",
        _FILE,
        "*(self.over[lane].eq(self.threshold.any() & (self.measure[lane] >= limit)) for lane in range(p.data_vls)),",
        "*(self.over[lane].eq(self.measure[lane] >= limit) for lane in range(p.data_vls)),",
    ),
    Plant(
        "limit-must-be-passed",
        "A lane is over only above its limit.",
        _FILE,
        "*(self.over[lane].eq(self.threshold.any() & (self.measure[lane] >= limit)) for lane in range(p.data_vls)),",
        "*(self.over[lane].eq(self.threshold.any() & (self.measure[lane] > limit)) for lane in range(p.data_vls)),",
    ),
    Plant(
        "fed-when-it-waits",
        "A lane stays starved when a packet of it starts.",
        _FILE,
        "m.d.sync += self.starved.eq((self.starved | waits) & ~starts)",
        "m.d.sync += self.starved.eq(self.starved | waits)",
    ),
    Plant(
        "starved-while-busy",
        "A head that waits behind a packet on the link makes its lane starved.",
        _FILE,
        "waits = Mux(self.free, self.asks & ~self.fits, 0)",
        "waits = self.asks & ~self.fits",
    ),
    Plant(
        "level-wraps",
        "The level does not saturate at its maximum.",
        _FILE,
        "m.d.sync += self.level.eq(Mux(raised > most, most, raised))",
        "m.d.sync += self.level.eq(raised)",
    ),
    Plant(
        "victims-are-roots",
        "A starved lane is called a root.",
        _FILE,
        "is_root = self.over & ~self.starved & busy.replicate(self.data_vls)",
        "is_root = self.over & busy.replicate(self.data_vls)",
    ),
    Plant(
        "mask-without-limit",
        "On a port of Victim_Mask packets are marked even if their lane is below its limit.",
        _FILE,
        "admits.eq(is_root | (self.over & self.victim_mask.replicate(self.data_vls))),",
        "admits.eq(is_root | self.victim_mask.replicate(self.data_vls)),",
    ),
    Plant(
        "small-packets-of-that-size",
        "A packet of exactly Packet_Size blocks is not marked.",
        _FILE,
        "large_enough.eq(self.start_blocks >= self.packet_size),",
        "large_enough.eq((self.start_blocks > self.packet_size) | ~self.packet_size.any()),",
    ),
    Plant(
        "every-packet-counts",
        "Packets that are not eligible count down to the next mark.",
        _FILE,
        "with m.Elif(eligible[lane]):",
        "with m.Elif(eligible[lane] | (starts[lane] & ~due[lane])):",
    ),
    Plant(
        "one-in-rate",
        "One packet of Marking_Rate is marked instead of Marking_Rate + 1.",
        _FILE,
        "m.d.sync += left.eq(Mux(due[lane], self.marking_rate, left - 1))",
        "m.d.sync += left.eq(Mux(due[lane], self.marking_rate - self.marking_rate.any(), left - 1))",
    ),
    Plant(
        "old-rate-goes-on",
        "A write of the element does not restart the count of unmarked packets.",
        _SETTINGS,
        "m.d.comb += [self.victim_mask.eq(self.mask), self.restarts.eq(writes_rate | writes_port)]",
        "m.d.comb += [self.victim_mask.eq(self.mask), self.restarts.eq(writes_rate)]",
    ),
    Plant(
        "starvation-rules-marking",
        "An element for credit starvation affects marking.",
        _SETTINGS,
        "m.d.sync += self.port_rules.eq(program.valid & ~program.control_type)",
        "m.d.sync += self.port_rules.eq(program.valid)",
    ),
    Plant(
        "becn-instead-of-fecn",
        "The bit below FECN, BECN, is set.",
        _HEADER,
        "fecn[self.data_bits - 8 * (at + FECN_BYTE) - 1] = here",
        "fecn[self.data_bits - 8 * (at + FECN_BYTE) - 2] = here",
    ),
    Plant(
        "fecn-cleared",
        "FECN of a packet that is not marked is cleared.",
        _HEADER,
        "self.flit_out.eq(self.flit_in | Cat(self.mark & place for place in fecn)),",
        "self.flit_out.eq((self.flit_in & ~Cat(fecn)) | Cat(self.mark & place for place in fecn)),",
    ),
    Plant(
        "cnps-are-marked",
        "Congestion notification packets are marked.",
        _HEADER,
        "m.d.comb += here.eq((lnh == value) & (self._byte(at) != CNP_OPCODE))",
        "m.d.comb += here.eq(lnh == value)",
    ),
)
"""Planted bugs, each a change of one line."""
