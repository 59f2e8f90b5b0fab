"""Parts of a study's ``[congestion]``: elements of single ports, values of single SLs, writes under traffic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from vlane.cc_marker import LARGEST_THRESHOLD, RATE_BITS, SIZE_BITS
from vlane.cc_source import BYTE_BITS, CCT_ENTRIES, MULTIPLIER_BITS, SHIFT_BITS, TIMER_BITS
from vlane.errors import InputError
from vlane.sl2vl import SL_COUNT
from vlane.study_networks import Section

__all__ = [
    "LEVEL_KEYS",
    "RATE_KEYS",
    "CCTEntry",
    "CongestionPort",
    "CongestionSL",
    "CongestionWrite",
    "VictimMask",
    "check_parts",
    "checked_cct",
]

CCTEntry = Annotated[list[int], Field(min_length=2, max_length=2)]
VictimMask = Literal["none", "hosts", "all"]

RATE_KEYS = ("threshold", "packet_size", "marking_rate")
"""What the SwitchCongestionSetting and a port's element both have."""
LEVEL_KEYS = ("ccti_timer", "ccti_increase", "trigger_threshold", "ccti_min")
"""The components of a CACongestionEntry."""

_LEFT_OUT = "; what is left out is as in [congestion]"
_STAYS = "; what is left out stays"


def checked_cct(entries: list[list[int]] | None) -> list[list[int]] | None:
    """Return entries of a CCT.

    Raises
    ------
    InputError
        If one is none, by its place.
    """
    for number, (shift, multiplier) in enumerate(entries or ()):
        if not 0 <= shift < 1 << SHIFT_BITS:
            raise InputError(f"{number}.0", f"a shift, 0 to {(1 << SHIFT_BITS) - 1}", shift)
        if not 0 <= multiplier < 1 << MULTIPLIER_BITS:
            raise InputError(f"{number}.1", f"a multiplier, 0 to {(1 << MULTIPLIER_BITS) - 1}", multiplier)
    return entries


class _Part(Section):
    def given(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return those of some keys that are given."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class CongestionPort(_Part):
    """A port's own SwitchPortCongestionSettingElement, which rules instead of the switch's settings."""

    switch: int = Field(ge=0, description="Number of the switch.")
    port: int = Field(ge=1, description="Number of its port, from 1.")
    threshold: int | None = Field(None, ge=0, le=LARGEST_THRESHOLD, description=f"Threshold{_LEFT_OUT}.")
    packet_size: int | None = Field(None, ge=0, lt=1 << SIZE_BITS, description=f"Packet_Size{_LEFT_OUT}.")
    marking_rate: int | None = Field(None, ge=0, lt=1 << RATE_BITS, description=f"Marking_Rate{_LEFT_OUT}.")


class CongestionSL(_Part):
    """The CACongestionEntry of an SL, at all hosts."""

    sl: int = Field(ge=0, lt=SL_COUNT, description="The SL.")
    ccti_increase: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Increase{_LEFT_OUT}.")
    ccti_timer: int | None = Field(
        None, ge=0, lt=1 << TIMER_BITS, description=f"CCTI_Timer, in units of 1.024 us{_LEFT_OUT}."
    )
    ccti_min: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Min{_LEFT_OUT}.")
    trigger_threshold: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"Trigger_Threshold{_LEFT_OUT}.")


class CongestionWrite(_Part):
    """Settings that are written under traffic: of switches, of a port, or of the hosts."""

    cycle: int = Field(ge=0, description="The cycle in which the first of them is written.")
    switch: int | None = Field(None, ge=0, description="The switch; all switches unless given.")
    port: int | None = Field(None, ge=1, description="Its port, from 1, whose element is written.")
    valid: bool = Field(default=True, description="Of an element: with false the switch's settings rule again.")
    victim_mask: VictimMask | None = Field(None, description=f"Victim_Mask{_STAYS}.")
    threshold: int | None = Field(None, ge=0, le=LARGEST_THRESHOLD, description=f"Threshold{_STAYS}.")
    packet_size: int | None = Field(None, ge=0, lt=1 << SIZE_BITS, description=f"Packet_Size{_STAYS}.")
    marking_rate: int | None = Field(None, ge=0, lt=1 << RATE_BITS, description=f"Marking_Rate{_STAYS}.")
    sl: int | None = Field(None, ge=0, lt=SL_COUNT, description="The SL of the next four; all SLs unless given.")
    ccti_increase: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Increase{_STAYS}.")
    ccti_timer: int | None = Field(
        None, ge=0, lt=1 << TIMER_BITS, description=f"CCTI_Timer, in units of 1.024 us{_STAYS}."
    )
    ccti_min: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"CCTI_Min{_STAYS}.")
    trigger_threshold: int | None = Field(None, ge=0, lt=1 << BYTE_BITS, description=f"Trigger_Threshold{_STAYS}.")
    ccti_limit: int | None = Field(None, ge=0, lt=CCT_ENTRIES, description=f"CCTI_Limit{_STAYS}.")
    port_control: Literal[0, 1] | None = Field(None, description=f"Port_Control, bit 0{_STAYS}.")
    cct: Annotated[list[CCTEntry], Field(min_length=1, max_length=CCT_ENTRIES)] | None = Field(
        None, description="Entries of the CCT from 0 on as [shift, multiplier]; those behind them stay."
    )

    @field_validator("cct")
    @classmethod
    def _fits(cls, entries: list[list[int]] | None) -> list[list[int]] | None:
        return checked_cct(entries)

    @property
    def of_hosts(self) -> bool:
        """Whether hosts are written."""
        return bool(self.given((*LEVEL_KEYS, *_HOST_KEYS)))

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys that do not go with the others, each with what it must be."""
        switch, hosts = ("victim_mask", *RATE_KEYS), (*LEVEL_KEYS, *_HOST_KEYS)
        if self.valid and not self.given((*switch, *hosts)):
            yield "", "settings to be written, such as threshold or ccti_increase"
        if self.port is not None and self.switch is None:
            yield "port", "left out without switch"
        if self.port is None and not self.valid:
            yield "valid", "left out without port"
        if self.port is not None and self.victim_mask is not None:
            yield "victim_mask", "left out with port: it is the switch's"
        for name in self.given(hosts) if self.switch is not None else ():
            yield name, "left out with switch: it is the hosts'"
        if self.sl is not None and not self.given(LEVEL_KEYS):
            yield "sl", f"left out without {', '.join(LEVEL_KEYS)}"


_HOST_KEYS = ("ccti_limit", "port_control", "cct")


def check_parts(ports: list[CongestionPort], levels: list[CongestionSL], writes: list[CongestionWrite]) -> None:
    """Refuse two parts of one port or SL, and writes whose keys do not go together.

    Raises
    ------
    InputError
        Naming the part and the key.
    """
    seen: set[Any] = set()
    for number, port in enumerate(ports):
        if (port.switch, port.port) in seen:
            raise InputError(f"congestion.port.{number}.port", "one that no part before it has", port.port)
        seen.add((port.switch, port.port))
    for number, level in enumerate(levels):
        if level.sl in seen:
            raise InputError(f"congestion.sl.{number}.sl", "one that no part before it has", level.sl)
        seen.add(level.sl)
    for number, write in enumerate(writes):
        for key, must in write.faults():
            where = f"congestion.write.{number}"
            raise InputError(f"{where}.{key}" if key else where, must, getattr(write, key) if key else "none")
