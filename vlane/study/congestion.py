"""Section ``[congestion]`` of a study file: InfiniBand congestion control (``docs/congestion.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from vlane.congestion.cc_marker import (
    BUSY_BLOCKS,
    IDLE_BLOCKS,
    LARGEST_THRESHOLD,
    LEVEL_BLOCKS,
    MAX_LEVEL,
    RATE_BITS,
    SIZE_BITS,
)
from vlane.congestion.cc_source import BYTE_BITS, CCT_ENTRIES, TIMER_BITS
from vlane.errors import InputError, misplaced
from vlane.study.congestion_parts import (
    CCT,
    CS_KEYS,
    LEVEL_KEYS,
    CongestionHost,
    CongestionPort,
    CongestionSL,
    CongestionWrite,
    ReturnDelay,
    VictimMask,
    check_parts,
    checked_cct,
    checked_delay,
)
from vlane.study.host_settings import AllHosts, HostSettings
from vlane.study.networks import Name, Section
from vlane.tables.sl2vl import SL_COUNT

if TYPE_CHECKING:
    from vlane.study.study import Study

_ATTRIBUTES = (
    "threshold",
    "packet_size",
    "marking_rate",
    "victim_mask",
    "port_control",
    "ccti_increase",
    "ccti_timer",
    "ccti_limit",
    "ccti_min",
    "trigger_threshold",
    "cct",
)
"""Keys that an OpenSM options file sets."""
_SHIFT, _LAST = 3, 127


def geometric_cct(longest: int = 128) -> list[tuple[int, int]]:
    """Return a CCT of 128 entries with geometrically growing gaps, from no gap to ``longest`` packets.

    Examples
    --------
    >>> geometric_cct()[0], geometric_cct()[64], geometric_cct()[127]
    ((3, 0), (3, 84), (3, 1024))
    """
    gaps = ((longest + 1) ** (entry / _LAST) - 1 for entry in range(_LAST + 1))
    return [(_SHIFT, int((1 << _SHIFT) * gap + 1e-6)) for gap in gaps]


class CongestionSection(Section):
    """Congestion control. Settings have the names of the attribute components (IBA, Annex A10)."""

    opensm_conf: Name | None = Field(
        None, description="OpenSM options file, relative to the study, whose cc_ options set the attributes."
    )
    threshold: int = Field(
        2,
        ge=0,
        le=LARGEST_THRESHOLD,
        description="Threshold of all switches: 0: no marking, 15: marking at the lowest fill level.",
    )
    packet_size: int = Field(
        0, ge=0, lt=1 << SIZE_BITS, description="Blocks of the smallest marked packet; 0: all packets."
    )
    marking_rate: int = Field(
        0, ge=0, lt=1 << RATE_BITS, description="Number of eligible packets between two marked ones."
    )
    victim_mask: VictimMask = Field(
        "none", description="Outputs that also mark packets of victims: none, those to hosts, or all."
    )
    credit_mask: VictimMask = Field(
        "none", description="Ports that delay returned credits (credit starvation): none, those to hosts, or all."
    )
    cs_threshold: int = Field(
        0,
        ge=0,
        le=LARGEST_THRESHOLD,
        description="CS_Threshold of all switches: 0: no credit starvation, 15: at the lowest fill level.",
    )
    cs_return_delay: ReturnDelay = Field(
        [0, 0], description="CS_ReturnDelay of all switches, [shift, multiplier] as in the CCT."
    )
    measure: Literal["output", "inputs"] = Field(
        "output",
        description="Fill level of a VL: its blocks in the output buffer, or its blocks that wait at the inputs.",
    )
    busy_blocks: int = Field(BUSY_BLOCKS, ge=0, le=MAX_LEVEL, description="Level from which a link is busy; 0: always.")
    level_blocks: int = Field(LEVEL_BLOCKS, ge=1, le=MAX_LEVEL, description="Highest level of a link.")
    idle_blocks: int = Field(IDLE_BLOCKS, ge=0, le=255, description="Decrease of the level per idle cycle.")
    port_control: Literal[0, 1] = Field(0, description="Definition of a flow: 0: DLID and SL, 1: SL.")
    ccti_increase: int = Field(1, ge=0, lt=1 << BYTE_BITS, description="Increase of a flow's CCTI per BECN.")
    ccti_timer: int = Field(
        10, ge=0, lt=1 << TIMER_BITS, description="Time after which the CCTI decreases by 1, in units of 1.024 us."
    )
    ccti_limit: int = Field(127, ge=0, lt=CCT_ENTRIES, description="Highest CCTI.")
    ccti_min: int = Field(0, ge=0, lt=1 << BYTE_BITS, description="Lowest CCTI that the timer reaches.")
    trigger_threshold: int = Field(
        0, ge=0, lt=1 << BYTE_BITS, description="CCTI from which BECNs are logged; 0: never."
    )
    cct: CCT | None = Field(
        None, description="CCT entries [shift, multiplier]. [default: a geometric CCT of 128 entries]"
    )
    pacing: Literal["flow", "port"] = Field(
        "flow", description="Injection gap per flow, or one per host as in the HFI1 adapter."
    )
    shift_first: bool = Field(default=False, description="Shift the packet size before the multiplication.")
    flows: Literal[8, 16, 32, 64, 128, 256] = Field(256, description="Entries of a NIC for throttled flows.")
    cnp_interval_cycles: int = Field(
        0,
        ge=0,
        le=1 << 30,
        description="Interval with at most one CNP of a NIC per source and SL, in cycles; 0: no limit.",
    )
    held_packets: int = Field(
        1024, ge=1, le=1 << 20, description="Packets of a class that may wait at a NIC for throttled flows."
    )
    port: list[CongestionPort] = Field(default_factory=list)
    sl: list[CongestionSL] = Field(default_factory=list)
    host: list[CongestionHost] = Field(default_factory=list)
    write: list[CongestionWrite] = Field(default_factory=list)

    @field_validator("cs_return_delay")
    @classmethod
    def _is_delay(cls, delay: list[int]) -> list[int] | None:
        return checked_delay(delay)

    @field_validator("cct")
    @classmethod
    def _fits(cls, entries: list[list[int]] | None) -> list[list[int]] | None:
        return checked_cct(entries)

    @property
    def table(self) -> list[tuple[int, int]]:
        """CCT entries (shift, multiplier)."""
        return geometric_cct() if self.cct is None else [(shift, multiplier) for shift, multiplier in self.cct]

    @property
    def starves(self) -> bool:
        """Whether ports may delay returned credits: a credit starvation key is given."""
        keys = ("credit_mask", *CS_KEYS)
        written = any(part.given(keys) for part in self.write) or any(part.given(CS_KEYS) for part in self.port)
        return written or not self.model_fields_set.isdisjoint(keys)

    @property
    def usual_host(self) -> HostSettings:
        """Settings of hosts without settings of their own."""
        return HostSettings(self.port_control, self.ccti_limit, [self.level(sl) for sl in range(SL_COUNT)], self.table)

    def level(self, sl: int) -> dict[str, int]:
        """Return the CACongestionEntry of an SL, by component."""
        own = next((each for each in self.sl if each.sl == sl), None)
        values = {name: getattr(self, name) for name in LEVEL_KEYS}
        return values if own is None else {**values, **own.given(LEVEL_KEYS)}


def check_congestion(study: Study, words: str) -> None:
    """Reject congestion control without support, and settings that cannot work.

    Raises
    ------
    InputError
        If the study has ``[congestion]`` and a conflicting key; ``words`` name its switch kind.
    """
    given = study.congestion
    if given is None:
        return
    if study.switch.record.by_channel:
        raise misplaced("congestion", words)
    for number, each in enumerate(study.traffic):
        if each.queue_packets is not None:
            raise misplaced(f"traffic.{number}.queue_packets", "with [congestion]")
    for field in (*_ATTRIBUTES, "sl") if given.opensm_conf else ():
        if field in given.model_fields_set:
            raise misplaced(f"congestion.{field}", "with opensm_conf, which sets it")
    forms = study.switch.record.forms
    marking = dict.fromkeys(form.crossbar for form in forms if form.marks)
    if study.switch.crossbar not in marking:
        raise InputError("switch.crossbar", f"{' or '.join(marking)} with [congestion]", study.switch.crossbar)
    form = next(each for each in forms if each.crossbar == study.switch.crossbar)
    if given.starves and form.vls_apart:
        raise InputError("switch.crossbar", "multiplexed with credit_mask or cs_ keys", study.switch.crossbar)
    if given.level_blocks < given.busy_blocks:
        raise InputError("congestion.level_blocks", f"at least busy_blocks, {given.busy_blocks}", given.level_blocks)
    check_parts(given.port, given.sl, given.host, given.write)
    if given.opensm_conf is None:
        check_levels(given, study.link.clock.cycle_ns)


def check_levels(given: CongestionSection, cycle_ns: float) -> None:
    """Reject host settings that cannot work, at the start or after a write.

    Raises
    ------
    InputError
        If a setting is rejected; the error names the key of the section, part or write.
    """
    interval, usual = given.cnp_interval_cycles, given.usual_host
    own = {each.sl: f"congestion.sl.{number}" for number, each in enumerate(given.sl)}
    usual.check("congestion", [sl for sl in range(SL_COUNT) if sl not in own], interval, cycle_ns)
    for sl, where in own.items():
        usual.check(where, [sl], interval, cycle_ns)
    hosts = AllHosts(usual)
    hosts.set(given.host)
    hosts.check_parts(given.host, interval, cycle_ns)
    for number in sorted(range(len(given.write)), key=lambda each: given.write[each].cycle):
        write = given.write[number]
        if write.of_hosts:
            hosts.change(write)
            for each in hosts.each():
                each.check(f"congestion.write.{number}", range(SL_COUNT), interval, cycle_ns)
