"""Parts of a study's ``[congestion]``: elements of ports, settings of SLs and hosts, writes under traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, RATE_BITS, SIZE_BITS
from vlane.congestion.cc_source import BYTE_BITS, CCT_ENTRIES, MULTIPLIER_BITS, SHIFT_BITS, TIMER_BITS
from vlane.errors import InputError
from vlane.study.networks import Section
from vlane.tables.sl2vl import SL_COUNT

CCTEntry = Annotated[list[int], Field(min_length=2, max_length=2)]
CCT = Annotated[list[CCTEntry], Field(min_length=1, max_length=CCT_ENTRIES)]
ReturnDelay = Annotated[list[int], Field(min_length=2, max_length=2)]
Hosts = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
VictimMask = Literal["none", "hosts", "all"]

RATE_KEYS = ("threshold", "packet_size", "marking_rate")
"""Keys of both SwitchCongestionSetting and port elements."""
CS_KEYS = ("cs_threshold", "cs_return_delay")
"""Keys of both SwitchCongestionSetting and port elements of control type 1."""
LEVEL_KEYS = ("ccti_timer", "ccti_increase", "trigger_threshold", "ccti_min")
"""Components of a CACongestionEntry."""

HOST_KEYS = ("ccti_limit", "port_control", "cct")
"""Settings of a whole host, not of an SL."""

_LEFT_OUT = ". [default: that of [congestion]]"
_STAYS = ". [default: unchanged]"
_AS_OTHERS = ". [default: that of other hosts]"


def checked_cct(entries: list[list[int]] | None) -> list[list[int]] | None:
    """Return the entries of a CCT.

    Raises
    ------
    InputError
        If an entry is out of range; the error names its index.
    """
    for number, (shift, multiplier) in enumerate(entries or ()):
        if not 0 <= shift < 1 << SHIFT_BITS:
            raise InputError(f"{number}.0", f"a shift, 0 to {(1 << SHIFT_BITS) - 1}", shift)
        if not 0 <= multiplier < 1 << MULTIPLIER_BITS:
            raise InputError(f"{number}.1", f"a multiplier, 0 to {(1 << MULTIPLIER_BITS) - 1}", multiplier)
    return entries


def checked_delay(delay: list[int] | None) -> list[int] | None:
    """Return a CS_ReturnDelay.

    Raises
    ------
    InputError
        If shift or multiplier is out of range; the error names its index.
    """
    for number, (name, bits) in enumerate((("shift", SHIFT_BITS), ("multiplier", MULTIPLIER_BITS))):
        if delay is not None and not 0 <= delay[number] < 1 << bits:
            raise InputError(str(number), f"a {name}, 0 to {(1 << bits) - 1}", delay[number])
    return delay


def checked_hosts(hosts: list[int]) -> list[int]:
    """Return numbers of hosts.

    Raises
    ------
    InputError
        If a host occurs twice.
    """
    if len(set(hosts)) != len(hosts):
        raise InputError("", "a list without repeated hosts", hosts)
    return hosts


class _Part(Section):
    def given(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return the given keys among some names."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class CongestionPort(_Part):
    """SwitchPortCongestionSettingElement of a port, which overrides the settings of the switch."""

    switch: int = Field(ge=0, description="Number of the switch.")
    port: int = Field(ge=1, description="Number of its port, from 1.")
    threshold: int | None = Field(None, ge=0, le=LARGEST_THRESHOLD, description=f"Threshold{_LEFT_OUT}")
    packet_size: int | None = Field(None, ge=0, lt=1 << SIZE_BITS, description=f"Packet_Size{_LEFT_OUT}")
    marking_rate: int | None = Field(None, ge=0, lt=1 << RATE_BITS, description=f"Marking_Rate{_LEFT_OUT}")
    cs_threshold: int | None = Field(
        None, ge=0, le=LARGEST_THRESHOLD, description=f"CS_Threshold, of an element of control type 1{_LEFT_OUT}"
    )
    cs_return_delay: ReturnDelay | None = Field(
        None, description=f"CS_ReturnDelay of such an element, [shift, multiplier]{_LEFT_OUT}"
    )

    @field_validator("cs_return_delay")
    @classmethod
    def _is_delay(cls, delay: list[int] | None) -> list[int] | None:
        return checked_delay(delay)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys that conflict with others, each with the rule and the problem."""
        yield from _two_elements(self)


class CongestionSL(_Part):
    """CACongestionEntry of an SL, at all hosts."""

    sl: int = Field(ge=0, lt=SL_COUNT, description="The SL.")
    ccti_increase: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Increase{_LEFT_OUT}")
    ccti_timer: int | None = Field(
        None, ge=0, lt=1 << TIMER_BITS, description=f"CCTI_Timer, in units of 1.024 us{_LEFT_OUT}"
    )
    ccti_min: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Min{_LEFT_OUT}")
    trigger_threshold: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"Trigger_Threshold{_LEFT_OUT}")


class CongestionHost(_Part):
    """Settings of some hosts, or of one SL at these hosts."""

    hosts: Hosts = Field(description="Numbers of the hosts.")
    sl: int | None = Field(None, ge=0, lt=SL_COUNT, description="SL of the SL settings. [default: all SLs]")
    ccti_increase: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Increase{_AS_OTHERS}")
    ccti_timer: int | None = Field(
        None, ge=0, lt=1 << TIMER_BITS, description=f"CCTI_Timer, in units of 1.024 us{_AS_OTHERS}"
    )
    ccti_min: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Min{_AS_OTHERS}")
    trigger_threshold: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"Trigger_Threshold{_AS_OTHERS}")
    ccti_limit: int | None = Field(None, ge=0, lt=CCT_ENTRIES, description=f"CCTI_Limit{_AS_OTHERS}")
    port_control: Literal[0, 1] | None = Field(None, description=f"Port_Control, bit 0{_AS_OTHERS}")
    cct: CCT | None = Field(None, description=f"Entries of the CCT as [shift, multiplier]{_AS_OTHERS}")

    @field_validator("cct")
    @classmethod
    def _fits(cls, entries: list[list[int]] | None) -> list[list[int]] | None:
        return checked_cct(entries)

    @field_validator("hosts")
    @classmethod
    def _differ(cls, hosts: list[int]) -> list[int]:
        return checked_hosts(hosts)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys that conflict with others, each with the rule and the problem."""
        if not self.given((*LEVEL_KEYS, *HOST_KEYS)):
            yield "", "has no settings; give for example ccti_increase or cct"
        if self.sl is None:
            return
        for name in self.given(HOST_KEYS):
            yield name, "cannot be used with sl: it applies to the whole host"


class CongestionWrite(_Part):
    """Settings that are written under traffic: of switches, a port, or hosts."""

    cycle: int = Field(ge=0, description="Cycle of the first write.")
    switch: int | None = Field(None, ge=0, description="Number of the switch. [default: all switches]")
    port: int | None = Field(None, ge=1, description="Number of the port whose element is written, from 1.")
    valid: bool = Field(
        default=True, description="Validity of the element; with false, the switch's settings apply again."
    )
    victim_mask: VictimMask | None = Field(None, description=f"Victim_Mask{_STAYS}")
    threshold: int | None = Field(None, ge=0, le=LARGEST_THRESHOLD, description=f"Threshold{_STAYS}")
    packet_size: int | None = Field(None, ge=0, lt=1 << SIZE_BITS, description=f"Packet_Size{_STAYS}")
    marking_rate: int | None = Field(None, ge=0, lt=1 << RATE_BITS, description=f"Marking_Rate{_STAYS}")
    credit_mask: VictimMask | None = Field(None, description=f"Credit_Mask{_STAYS}")
    cs_threshold: int | None = Field(None, ge=0, le=LARGEST_THRESHOLD, description=f"CS_Threshold{_STAYS}")
    cs_return_delay: ReturnDelay | None = Field(None, description=f"CS_ReturnDelay, [shift, multiplier]{_STAYS}")
    hosts: Hosts | None = Field(None, description="Numbers of the hosts for the host settings. [default: all hosts]")
    sl: int | None = Field(None, ge=0, lt=SL_COUNT, description="SL of the SL settings. [default: all SLs]")
    ccti_increase: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Increase{_STAYS}")
    ccti_timer: int | None = Field(
        None, ge=0, lt=1 << TIMER_BITS, description=f"CCTI_Timer, in units of 1.024 us{_STAYS}"
    )
    ccti_min: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Min{_STAYS}")
    trigger_threshold: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"Trigger_Threshold{_STAYS}")
    ccti_limit: int | None = Field(None, ge=0, lt=CCT_ENTRIES, description=f"CCTI_Limit{_STAYS}")
    port_control: Literal[0, 1] | None = Field(None, description=f"Port_Control, bit 0{_STAYS}")
    cct: CCT | None = Field(None, description="CCT entries [shift, multiplier] from 0 on; later entries are unchanged.")

    @field_validator("cct")
    @classmethod
    def _fits(cls, entries: list[list[int]] | None) -> list[list[int]] | None:
        return checked_cct(entries)

    @field_validator("cs_return_delay")
    @classmethod
    def _is_delay(cls, delay: list[int] | None) -> list[int] | None:
        return checked_delay(delay)

    @field_validator("hosts")
    @classmethod
    def _differ(cls, hosts: list[int] | None) -> list[int] | None:
        return hosts if hosts is None else checked_hosts(hosts)

    @property
    def of_hosts(self) -> bool:
        """Whether host settings are written."""
        return bool(self.given((*LEVEL_KEYS, *HOST_KEYS)))

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys that conflict with others, each with the rule and the problem."""
        masks = ("victim_mask", "credit_mask")
        switch, hosts = (*masks, *RATE_KEYS, *CS_KEYS), (*LEVEL_KEYS, *HOST_KEYS)
        if self.valid and not self.given((*switch, *hosts)):
            yield "", "has no settings; give for example threshold or ccti_increase"
        if self.port is not None and self.switch is None:
            yield "port", "cannot be used without switch"
        if self.port is None and not self.valid:
            yield "valid", "cannot be false without port"
        for name in self.given(masks) if self.port is not None else ():
            yield name, "cannot be used with port: it applies to the whole switch"
        if self.port is not None:
            yield from _two_elements(self)
        for name in self.given(hosts) if self.switch is not None else ():
            yield name, "cannot be used with switch: it applies to hosts"
        if self.hosts is not None and not self.of_hosts:
            yield "hosts", f"cannot be used without one of {', '.join((*LEVEL_KEYS, *HOST_KEYS))}"
        if self.sl is not None and not self.given(LEVEL_KEYS):
            yield "sl", f"cannot be used without one of {', '.join(LEVEL_KEYS)}"


def _two_elements(part: CongestionPort | CongestionWrite) -> Iterator[tuple[str, str]]:
    """Yield the keys of control type 1 in a port element with keys of control type 0."""
    for name in part.given(CS_KEYS) if part.given(RATE_KEYS) else ():
        yield name, f"cannot be used with {', '.join(part.given(RATE_KEYS))}: a port has a single control type"


def check_parts(
    ports: list[CongestionPort], levels: list[CongestionSL], hosts: list[CongestionHost], writes: list[CongestionWrite]
) -> None:
    """Reject two parts for one port, SL or host, and parts and writes with conflicting keys.

    Raises
    ------
    InputError
        If a part is rejected; the error names part and key.
    """
    seen: set[Any] = set()
    for number, port in enumerate(ports):
        if (port.switch, port.port) in seen:
            problem = f": switch {port.switch}, port {port.port} already has a [[congestion.port]] above"
            raise InputError(f"congestion.port.{number}.port", "another port", port.port, problem=problem)
        seen.add((port.switch, port.port))
    for number, level in enumerate(levels):
        if level.sl in seen:
            problem = f": SL {level.sl} already has a [[congestion.sl]] above"
            raise InputError(f"congestion.sl.{number}.sl", "another SL", level.sl, problem=problem)
        seen.add(level.sl)
    for number, part in enumerate(hosts):
        for host in part.hosts:
            if ("host", host, part.sl) in seen:
                of = f" for SL {part.sl}" if part.sl is not None else ""
                problem = f": host {host} already has a [[congestion.host]]{of} above"
                raise InputError(f"congestion.host.{number}.hosts", "other hosts", host, problem=problem)
            seen.add(("host", host, part.sl))
    named: tuple[tuple[str, Sequence[CongestionPort | CongestionHost | CongestionWrite]], ...] = (
        ("port", ports),
        ("host", hosts),
        ("write", writes),
    )
    for name, parts in named:
        for number, each in enumerate(parts):
            for key, problem in each.faults():
                where = f"congestion.{name}.{number}"
                must, got = ("left out", getattr(each, key)) if key else ("given with settings", "none")
                raise InputError(f"{where}.{key}" if key else where, must, got, problem=problem)
