"""Settings of congestion control in a plain network, and writes of them under traffic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from vlane.golden.plain.pacing import PacerSettings
from vlane.golden.plain.starvation import CreditReturn


@dataclass(frozen=True, kw_only=True)
class Settings(PacerSettings):
    """Settings of all switches and NICs, with golden's names."""

    threshold: int
    packet_size: int
    marking_rate: int
    victim_mask: str
    by_inputs: bool
    busy_blocks: int
    level_blocks: int
    idle_blocks: int
    cnp_interval: int
    held_packets: int
    elements: Mapping[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    of_host: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    starves: bool = False
    credit_mask: str = "none"
    credit_return: CreditReturn = field(default_factory=CreditReturn)
    credit_elements: Mapping[tuple[int, int], CreditReturn] = field(default_factory=dict)

    def at_host(self, number: int) -> Settings:
        """Return what a host is set to."""
        return replace(self, **self.of_host.get(number, {}))


class MarkerWrite(NamedTuple):
    """Settings of a switch written in a cycle (NCC-14): the mask's ports, two numbers, a rate or an element."""

    cycle: int
    switch: int
    mask: Collection[int] | None = None
    limits: tuple[int, int] | None = None
    rate: int | None = None
    element: tuple[int, tuple[int, int, int] | None] | None = None


class HostsWrite(NamedTuple):
    """Settings of NICs, all or some, written in a cycle behind its questions (NCC-16): fields of ``Settings``."""

    cycle: int
    values: Mapping[str, Any]
    hosts: Collection[int] | None = None
