"""Proofs of the marker: every decision and every state bit against a reference model of one arbitrary lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant

_WIDE = 20
_CNP = 0x80


@dataclass(frozen=True, slots=True)
class _SettingsModel:
    """Reference model of the settings in force."""

    threshold: Value
    packet_size: Value
    marking_rate: Value
    victim_mask: Value
    restarts: Value


class CCMarkerProperties(Properties):
    """Check the marker against a reference model of one arbitrary lane, the busy level and the settings.

    Parameters
    ----------
    marker : CCMarker
        The component.
    """

    statements: ClassVar = {
        "settings": "The settings in force are the last written ones: the element's while it is valid and of control "
        "type 0, otherwise the switch's. Reset clears them all.",
        "never": "With Threshold 0 no lane is over, and no packet is marked.",
        "limit": "With any other Threshold a lane is over its limit exactly when its measure is at least the larger "
        "of floor(maximum (16 - Threshold) / 16) and two largest packets plus one block.",
        "level": "The level is the number of blocks of started packets, minus `idle_blocks` for each cycle in which "
        "the link was free and no packet started, clamped to 0..`level_blocks` at each step.",
        "starved": "A lane is starved exactly when, since its last packet started, its head did not fit in a cycle "
        "in which the link was free.",
        "root": "A lane whose packet starts is a root exactly when it is over its limit, was not starved, and the "
        "level before this packet was at least `busy_blocks`.",
        "victim": "A lane whose packet starts is a victim exactly when it is over its limit and was starved.",
        "eligible": "A packet is marked only if its lane is a root, or is over its limit on a port in Victim_Mask; "
        "if the packet has at least Packet_Size blocks; and if its first flit has a transport header "
        "with FECN.",
        "cnp": "A congestion notification packet is never marked.",
        "absent": "A packet on VL15 or on an absent lane is never marked, and is neither root nor victim.",
        "first": "The first eligible packet of a lane is marked after reset, and after a write of Marking_Rate or of "
        "the element.",
        "rate": "After a mark exactly Marking_Rate eligible packets of the lane (the value at the mark) pass "
        "unmarked, and the next one is marked.",
        "count": "The counter of a lane changes only at its eligible packets, at a write that restarts the count, "
        "and at reset.",
        "fecn": "A flit leaves with FECN exactly when it arrived with FECN or is marked: FECN is never cleared.",
        "other-bits": "The block changes no bit other than FECN.",
        "no-start": "In a cycle without a starting packet nothing is marked, the flit is unchanged, and `root` and "
        "`victim` are 0.",
    }
    depth = 2

    def __init__(self, marker: Any) -> None:
        super().__init__()
        self.marker, self.m = marker, Module()
        self.lane = constant(self.m, "watched_lane", 4, 0, marker.data_vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.marker), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.marker
        m.submodules.marker = p
        kept = self._settings(m)
        over = self._limit(m, kept)
        busy = self._level(m)
        here, starved = Signal(), Signal()
        m.d.comb += here.eq(p.start & (p.start_vl == self.lane))
        waits = p.free & self._of_lane(p.asks) & ~self._of_lane(p.fits)
        m.d.sync += starved.eq(~here & (starved | waits))
        self.claim(m, "starved", self._of_lane(p.starved) == starved)
        self.claim(m, "root", p.root == (over & ~starved & busy), when=here)
        self.claim(m, "victim", p.victim == (over & starved), when=here)
        markable = self._flit(m)
        admitted = over & ((~starved & busy) | kept.victim_mask)
        eligible = Signal()
        m.d.comb += eligible.eq(here & admitted & (p.start_blocks >= kept.packet_size) & markable)
        self.claim(m, "eligible", ~p.mark, when=here & ~eligible)
        self._rate(m, kept, here, eligible)
        absent = p.start & (p.start_vl >= p.data_vls)
        self.claim(m, "absent", ~p.mark & ~p.root & ~p.victim, when=absent)
        self.claim(m, "no-start", ~p.mark & ~p.root & ~p.victim & (p.flit_out == p.flit_in), when=~p.start)
        return m

    def _of_lane(self, values: Any) -> Value:
        return at([values[vl] for vl in range(self.marker.data_vls)], self.lane)

    def _settings(self, m: Module) -> _SettingsModel:
        """Model the last written settings, and claim the settings in force."""
        p, w = self.marker, self.marker.program
        select = Value.cast(w.select)
        mask, valid, control = Signal(name="kept_mask"), Signal(name="kept_valid"), Signal(name="kept_control")
        whose: dict[str, list[Signal]] = {}
        for name in ("threshold", "packet_size", "marking_rate"):
            bits = len(getattr(w, name))
            whose[name] = [Signal(bits, name=f"kept_{name}_{owner}") for owner in ("switch", "port")]
        with m.If(w.enable):
            with m.If(select == CCMarkerSelect.VICTIM_MASK):
                m.d.sync += mask.eq(w.victim_mask)
            with m.If(select == CCMarkerSelect.THRESHOLD):
                m.d.sync += [whose[name][0].eq(getattr(w, name)) for name in ("threshold", "packet_size")]
            with m.If(select == CCMarkerSelect.MARKING_RATE):
                m.d.sync += whose["marking_rate"][0].eq(w.marking_rate)
            with m.If(select == CCMarkerSelect.PORT):
                m.d.sync += [valid.eq(w.valid), control.eq(w.control_type)]
                m.d.sync += [each[1].eq(getattr(w, name)) for name, each in whose.items()]
        own = valid & ~control
        ruling = {name: Mux(own, port, switch) for name, (switch, port) in whose.items()}
        for name, value in ruling.items():
            self.claim(m, "settings", getattr(p, name) == value, when=own)
            self.claim(m, "settings", getattr(p, name) == value, when=~own)
        self.claim(m, "settings", p.victim_mask == mask)
        held = p.settings
        self.claim(m, "settings", held.port_rules == own)
        for name, (switch, port) in whose.items():
            self.claim(m, "settings", (held.of_switch[name] == switch) & (held.of_port[name] == port))
        restarts = w.enable & ((select == CCMarkerSelect.MARKING_RATE) | (select == CCMarkerSelect.PORT))
        return _SettingsModel(**ruling, victim_mask=mask, restarts=restarts)

    def _limit(self, m: Module, settings: _SettingsModel) -> Value:
        """Claim when the lane is over its limit, and return whether the model is over it."""
        p, shape = self.marker, self.marker.parameters
        measure, part, over = Signal(_WIDE), Signal(_WIDE), Signal()
        m.d.comb += [
            measure.eq(self._of_lane(p.measure)),
            part.eq((shape.maximum * (16 - settings.threshold)) >> 4),
            over.eq((settings.threshold != 0) & (measure >= part) & (measure > 2 * shape.largest)),
        ]
        self.claim(m, "never", ~p.over.any() & ~p.mark, when=settings.threshold == 0)
        self.claim(m, "limit", self._of_lane(p.over) == over, when=settings.threshold != 0)
        return over

    def _level(self, m: Module) -> Value:
        """Claim the level and return whether the link is busy."""
        p, shape = self.marker, self.marker.parameters
        level, raised = Signal(_WIDE), Signal(_WIDE)
        m.d.comb += raised.eq(level + p.start_blocks)
        with m.If(p.start):
            m.d.sync += level.eq(Mux(raised < shape.level_blocks, raised, shape.level_blocks))
        with m.Elif(p.free):
            m.d.sync += level.eq(Mux(level > shape.idle_blocks, level - shape.idle_blocks, 0))
        self.claim(m, "level", (p.level == level) & (level <= shape.level_blocks))
        return level >= shape.busy_blocks

    def _flit(self, m: Module) -> Value:
        """Claim the outgoing flit and return whether the flit may be marked."""
        p, bits = self.marker, self.marker.parameters.data_bits
        octets = [Cat(*p.flit_in[bits - 8 * place - 8 : bits - 8 * place]) for place in range(bits // 8)]
        lnh = octets[1][:2]
        near, far = (lnh == 2) & (octets[8] != _CNP), Value.cast(0)
        places = [(lnh == 2, 12)]
        if bits >= 424:
            far = (lnh == 3) & (octets[48] != _CNP)
            places.append((lnh == 3, 52))
        masked = Signal(bits)
        for form, octet in places:
            place = bits - 8 * octet - 1
            is_set = p.flit_in[place] | p.mark
            self.claim(m, "fecn", p.flit_out[place] == is_set, when=form)
            with m.If(form & p.mark):
                m.d.comb += masked[place].eq(1)
        self.claim(m, "other-bits", (p.flit_out ^ p.flit_in) & ~masked == 0)
        self.claim(m, "cnp", ~p.mark, when=p.start & (lnh == 2) & (octets[8] == _CNP))
        if bits >= 424:
            self.claim(m, "cnp", ~p.mark, when=p.start & (lnh == 3) & (octets[48] == _CNP))
        return near | far

    def _rate(self, m: Module, settings: _SettingsModel, starts_on_lane: Value, eligible: Value) -> None:
        """Claim which eligible packets are marked, by counting the unmarked ones."""
        p = self.marker
        marked, rate, since, left = Signal(name="has_mark"), Signal(16), Signal(17), Signal(16)
        before, quiet = Signal(16, reset_less=True), Signal()
        m.d.comb += left.eq(self._of_lane(p.left))
        self.claim(m, "first", p.mark, when=eligible & ~marked)
        self.claim(m, "rate", p.mark == (since == rate), when=eligible & marked)
        self.claim(m, "count", left == Mux(marked, rate - since, 0))
        self.claim(m, "rate", since <= rate)
        self.claim(m, "count", left == before, when=quiet)
        m.d.sync += [before.eq(left), quiet.eq(~eligible & ~settings.restarts)]
        with m.If(settings.restarts):
            m.d.sync += [marked.eq(0), since.eq(0), rate.eq(0)]
        with m.Elif(starts_on_lane & p.mark):
            m.d.sync += [marked.eq(1), since.eq(0), rate.eq(settings.marking_rate)]
        with m.Elif(eligible):
            m.d.sync += since.eq(since + 1)


_SMALL = {
    "data_vls": 2,
    "maximum": 20,
    "largest": 5,
    "measure_blocks": 27,
    "busy_blocks": 20,
    "level_blocks": 37,
    "idle_blocks": 3,
}
INSTANCES = (
    Instance("small", CCMarkerProperties, _SMALL),
    Instance("default", CCMarkerProperties, {}),
    Instance("wide", CCMarkerProperties, {"data_vls": 15, "measure_blocks": 4608, "data_bits": 512}),
)
"""Proven instances."""
