"""The ``[congestion]`` section of a study file: InfiniBand's congestion control (``docs/congestion.md``)."""

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
from vlane.errors import InputError
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
"""Keys that an options file of OpenSM says."""
_SHIFT, _LAST = 3, 127


def geometric_cct(longest: int = 128) -> list[tuple[int, int]]:
    """Return a CCT of 128 entries: a packet and its gap grow by one factor, from no gap to ``longest`` packets.

    Examples
    --------
    >>> geometric_cct()[0], geometric_cct()[64], geometric_cct()[127]
    ((3, 0), (3, 84), (3, 1024))
    """
    gaps = ((longest + 1) ** (entry / _LAST) - 1 for entry in range(_LAST + 1))
    return [(_SHIFT, int((1 << _SHIFT) * gap + 1e-6)) for gap in gaps]


class CongestionSection(Section):
    """Congestion control; settings have the names of the attributes' components (IBA, Annex A10)."""

    opensm_conf: Name | None = Field(
        None, description="An options file of OpenSM beside the study, whose cc_ options are taken for the attributes."
    )
    threshold: int = Field(
        2, ge=0, le=LARGEST_THRESHOLD, description="Of all switches: 0 marks nothing, 15 marks soonest."
    )
    packet_size: int = Field(
        0, ge=0, lt=1 << SIZE_BITS, description="Blocks of the smallest packet that is marked; 0 for all."
    )
    marking_rate: int = Field(
        0, ge=0, lt=1 << RATE_BITS, description="Eligible packets that pass between two that are marked."
    )
    victim_mask: VictimMask = Field(
        "none", description="Outputs that mark packets of victims, too: none, those to hosts, or all."
    )
    credit_mask: VictimMask = Field(
        "none", description="Ports that hold room back from those that send to them: none, those to hosts, or all."
    )
    cs_threshold: int = Field(
        0, ge=0, le=LARGEST_THRESHOLD, description="CS_Threshold of all switches: 0 holds nothing back, 15 soonest."
    )
    cs_return_delay: ReturnDelay = Field(
        [0, 0], description="CS_ReturnDelay of all switches, [shift, multiplier] as an entry of the CCT."
    )
    measure: Literal["output", "inputs"] = Field(
        "output", description="How full a VL is: its blocks in the output buffer, or those that wait at the inputs."
    )
    busy_blocks: int = Field(
        BUSY_BLOCKS, ge=0, le=MAX_LEVEL, description="Level from which a link is busy; 0 for always."
    )
    level_blocks: int = Field(LEVEL_BLOCKS, ge=1, le=MAX_LEVEL, description="Highest level of a link.")
    idle_blocks: int = Field(IDLE_BLOCKS, ge=0, le=255, description="By how much the level falls in an idle cycle.")
    port_control: Literal[0, 1] = Field(0, description="0: a flow is a DLID and an SL; 1: it is an SL.")
    ccti_increase: int = Field(1, ge=0, lt=1 << BYTE_BITS, description="By how much a BECN raises the flow's CCTI.")
    ccti_timer: int = Field(
        10, ge=0, lt=1 << TIMER_BITS, description="Units of 1.024 us after which the CCTI falls by 1."
    )
    ccti_limit: int = Field(127, ge=0, lt=CCT_ENTRIES, description="Highest CCTI.")
    ccti_min: int = Field(0, ge=0, lt=1 << BYTE_BITS, description="CCTI to which the timer lowers.")
    trigger_threshold: int = Field(
        0, ge=0, lt=1 << BYTE_BITS, description="CCTI from which a BECN is logged; 0 for never."
    )
    cct: CCT | None = Field(
        None, description="Entries of the CCT as [shift, multiplier]; a geometric one of 128 entries unless given."
    )
    pacing: Literal["flow", "port"] = Field(
        "flow", description="A gap for each flow, or one for all packets of a host, as the HFI1 adapter has it."
    )
    shift_first: bool = Field(
        default=False, description="The shift is applied to the packet's size before the multiplication."
    )
    flows: Literal[8, 16, 32, 64, 128, 256] = Field(256, description="Entries of a NIC for flows that are slowed.")
    cnp_interval_cycles: int = Field(
        0, ge=0, le=1 << 30, description="Cycles within which a NIC returns one CNP to a source and SL; 0 for no limit."
    )
    held_packets: int = Field(
        1024, ge=1, le=1 << 20, description="Packets of a class that may wait at a NIC for their flows to go on."
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
        """The CCT, as (shift, multiplier)."""
        return geometric_cct() if self.cct is None else [(shift, multiplier) for shift, multiplier in self.cct]

    @property
    def starves(self) -> bool:
        """Whether ports may hold room back: something is said of it."""
        keys = ("credit_mask", *CS_KEYS)
        written = any(part.given(keys) for part in self.write) or any(part.given(CS_KEYS) for part in self.port)
        return written or not self.model_fields_set.isdisjoint(keys)

    @property
    def usual_host(self) -> HostSettings:
        """What a host is set to that has no settings of its own."""
        return HostSettings(self.port_control, self.ccti_limit, [self.level(sl) for sl in range(SL_COUNT)], self.table)

    def level(self, sl: int) -> dict[str, int]:
        """Return the CACongestionEntry of an SL, by component."""
        own = next((each for each in self.sl if each.sl == sl), None)
        values = {name: getattr(self, name) for name in LEVEL_KEYS}
        return values if own is None else {**values, **own.given(LEVEL_KEYS)}


def check_congestion(study: Study, words: str) -> None:
    """Refuse congestion control where there is none, and settings that cannot work.

    Raises
    ------
    InputError
        If the study has ``[congestion]`` and something that does not go with it; ``words`` say its kind of switch.
    """
    given = study.congestion
    if given is None:
        return
    if study.switch.record.by_channel:
        raise InputError("congestion", f"left out {words}", "given")
    for field in (*_ATTRIBUTES, "sl") if given.opensm_conf else ():
        if field in given.model_fields_set:
            raise InputError(f"congestion.{field}", "left out with opensm_conf, which says it", "given")
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
    """Refuse settings of hosts that cannot work, from the start on or once they are written.

    Raises
    ------
    InputError
        Naming the key of the section, of the part or of the write.
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
