"""Section ``[network]`` of a study file: a model for each built-in topology (``docs/network.md``)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vlane.plugins import found

Name = Annotated[str, Field(pattern=r"^[^\x00]+$")]
"""Name of a file or folder."""
Count = Annotated[int, Field(ge=1, le=1 << 16)]
"""Number of objects, at least one."""


class Section(BaseModel):
    """Section of a study file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


_LMC = Field(0, ge=0, le=7, description="Each host has 2^lmc LIDs, each with its own path; a packet uses a random one.")

_TRUNK_CHOICE: Any = Field(
    "lid",
    description="Choice among the members of a trunk: by the forwarding table (lid), or at random at every switch, for "
    "each flow or for each packet.",
)


class TreeNetwork(Section):
    """k-ary n-tree."""

    topology: Literal["tree"] = Field(description="Selects this topology.")
    k: int = Field(ge=2, description="Links of a switch towards the hosts; it has the same number towards the roots.")
    n: int = Field(ge=1, le=8, description="Levels of switches; there are k^n hosts.")
    routing: Literal["dmodk", "valiant", "updown"] = Field(
        "dmodk", description="Routing: D-mod-k, Valiant by LMC, or up*/down*."
    )
    lmc: int = _LMC


class FatTreeNetwork(Section):
    """m-port n-tree."""

    topology: Literal["fat_tree"] = Field(description="Selects this topology.")
    m: int = Field(ge=4, description="Ports of a switch; an even number.")
    n: int = Field(ge=2, le=8, description="Levels of switches; there are 2 (m/2)^n hosts.")
    routing: Literal["dmodk", "valiant", "updown"] = Field(
        "dmodk", description="Routing: D-mod-k, Valiant by LMC, or up*/down*."
    )
    lmc: int = _LMC


class TorusNetwork(Section):
    """Torus."""

    topology: Literal["torus"] = Field(description="Selects this topology.")
    size: Annotated[list[Annotated[int, Field(ge=3, le=64)]], Field(min_length=1, max_length=6)] = Field(
        description="Switches in each dimension."
    )
    hosts_per_switch: Count = Field(1, description="Hosts at each switch.")
    trunks: Count = Field(1, description="Cables between neighbouring switches.")
    trunk_choice: Literal["lid", "flow", "packet"] = _TRUNK_CHOICE
    routing: Literal["dor", "updown"] = Field(
        "dor", description="Routing: dimension order with datelines, or up*/down*."
    )
    lmc: int = _LMC


class IrregularNetwork(Section):
    """Random network."""

    topology: Literal["irregular"] = Field(description="Selects this topology.")
    switches: int = Field(ge=2, le=1 << 16, description="Switches.")
    ports: Count = Field(description="Ports of each switch.")
    hosts_per_switch: Count = Field(description="Hosts at each switch.")
    seed: int = Field(1, description="Random seed of the cables.")
    routing: Literal["updown"] = Field("updown", description="Routing: up*/down*.")
    root: int = Field(0, ge=0, description="The switch from which up and down are counted.")


class DumbbellNetwork(Section):
    """Two connected switches."""

    topology: Literal["dumbbell"] = Field(description="Selects this topology.")
    left: Count = Field(description="Hosts at the first switch.")
    right: Count = Field(description="Hosts at the second switch.")
    trunks: Count = Field(1, description="Cables between the two switches.")
    trunk_choice: Literal["lid", "flow", "packet"] = _TRUNK_CHOICE
    routing: Literal["updown"] = Field("updown", description="Routing: up*/down*.")


class EdgesNetwork(Section):
    """Network from an edge list, a file relative to the study."""

    topology: Literal["edges"] = Field(description="Selects this topology.")
    file: Name = Field(
        description="Text file, relative to the study: two names per line for a cable, host NAME ... for hosts."
    )
    trunk_choice: Literal["lid", "flow", "packet"] = _TRUNK_CHOICE
    routing: Literal["updown"] = Field("updown", description="Routing: up*/down*.")
    root: int = Field(0, ge=0, description="The switch from which up and down are counted.")


class FabricNetwork(Section):
    """Captured fabric with its own tables, a folder relative to the study."""

    topology: Literal["fabric"] = Field(description="Selects this topology.")
    folder: Name = Field(description="Folder of dumps, relative to the study, as read by vlane fabric.")


NETWORKS: tuple[type[Section], ...] = (
    TreeNetwork,
    FatTreeNetwork,
    TorusNetwork,
    IrregularNetwork,
    DumbbellNetwork,
    EdgesNetwork,
    FabricNetwork,
)
"""Sections of the built-in topologies."""

Net = Annotated[
    TreeNetwork | FatTreeNetwork | TorusNetwork | IrregularNetwork | DumbbellNetwork | EdgesNetwork | FabricNetwork,
    Field(discriminator="topology"),
]

BY_LMC = {"dmodk", "dor"}
"""Routings that give each LID of a host its own path."""
_VLS_PER_SL = {"dor": 2}
"""VLs per SL of routings whose paths change their VL."""


def lmc_of(network: BaseModel) -> int:
    """Return the LMC of a network's hosts, or 0 for networks of plug-ins, whatever their keys."""
    return network.lmc if isinstance(network, TreeNetwork | FatTreeNetwork | TorusNetwork) else 0


def trunk_choice_of(network: BaseModel) -> str:
    """Return the choice among the members of a network's trunks."""
    return network.trunk_choice if isinstance(network, TorusNetwork | DumbbellNetwork | EdgesNetwork) else "lid"


def vls_per_sl(routing: str) -> int:
    """Return the VLs per SL under a routing, or 1 if packets keep the VL that the study assigns to their SL.

    With more VLs per SL, the VL tables depend on the incoming VL.
    """
    plugin = found("routing", routing)
    return int(plugin.options["vls_per_sl"]) if plugin else _VLS_PER_SL.get(routing, 1)
