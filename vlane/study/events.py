"""What happens to a network in the middle of a run: links that stall, packets that are lost, entries written."""

from __future__ import annotations

from pydantic import Field

from vlane.study.networks import Section
from vlane.tables.lft import UNASSIGNED


class _PortFault(Section):
    cycle: int = Field(ge=0, description="The first cycle.")
    cycles: int = Field(ge=1, le=1 << 20, description="For how many cycles.")
    switch: int = Field(ge=0, description="Number of the switch.")
    port: int = Field(ge=1, description="Number of its port, from 1.")


class Stall(_PortFault):
    """A link that takes no packet for a while."""


class Loss(_PortFault):
    """Flow-control packets that a port sends and that are lost, for a while."""


class Rewrite(Section):
    """An entry of a forwarding table that is written under traffic."""

    cycle: int = Field(ge=0, description="The cycle in which it is written.")
    switch: int = Field(ge=0, description="Number of the switch.")
    lid: int = Field(ge=1, description="The LID whose entry is written.")
    port: int = Field(ge=1, le=UNASSIGNED, description="The port that packets to the LID then leave by; 255 for none.")
