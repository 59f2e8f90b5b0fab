"""Congestion-control settings of a plain network, and their writes under traffic (NCC-14, NCC-16)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from vlane.golden.plain.pacing import PacerSettings
from vlane.golden.plain.starvation import CreditReturn


@dataclass(frozen=True, kw_only=True)
class Settings(PacerSettings):
    """Settings of all switches and NICs, named like the fields of ``golden/network/congestion.py``."""

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

    def at_host(self, host: int) -> Settings:
        """Return the settings of a host."""
        return replace(self, **self.of_host.get(host, {}))


class MarkerWrite(NamedTuple):
    """A write of a switch's marking settings in a cycle (NCC-14).

    ``mask`` lists the ports of Victim_Mask, ``limits`` are Threshold and Packet_Size, ``rate`` is Marking_Rate,
    ``element`` is a port and its element (None: invalid). Fields that are None are not written.
    """

    cycle: int
    switch: int
    mask: Collection[int] | None = None
    limits: tuple[int, int] | None = None
    rate: int | None = None
    element: tuple[int, tuple[int, int, int] | None] | None = None


class HostsWrite(NamedTuple):
    """A write of NIC settings in a cycle, after its injections (NCC-16).

    ``values`` are fields of ``Settings``; ``hosts`` is None for all NICs.
    """

    cycle: int
    values: Mapping[str, Any]
    hosts: Collection[int] | None = None
