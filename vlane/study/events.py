"""Events during a run: stalled links, lost flow-control packets, rewritten table entries."""

from __future__ import annotations

from pydantic import Field

from vlane.study.networks import Section
from vlane.tables.lft import UNASSIGNED


class _PortFault(Section):
    cycle: int = Field(ge=0, description="First cycle.")
    cycles: int = Field(ge=1, le=1 << 20, description="Number of cycles.")
    switch: int = Field(ge=0, description="Number of the switch.")
    port: int = Field(ge=1, description="Number of its port, from 1.")


class Stall(_PortFault):
    """Link that takes no packets for some cycles."""


class Loss(_PortFault):
    """Loss of all flow-control packets that a port sends for some cycles."""


class Rewrite(Section):
    """Forwarding table entry that is written under traffic."""

    cycle: int = Field(ge=0, description="Cycle of the write.")
    switch: int = Field(ge=0, description="Number of the switch.")
    lid: int = Field(ge=1, description="LID of the entry.")
    port: int = Field(ge=1, le=UNASSIGNED, description="New output port for the LID; 255: none.")
