"""The ``[network]`` section of a study file: a model for each topology of vlane's own (``docs/network.md``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from vlane.plugins import found

Name = Annotated[str, Field(pattern=r"^[^\x00]+$")]
"""Of a file or a folder."""
Count = Annotated[int, Field(ge=1, le=1 << 16)]
"""Of what there is at least one of."""


class Section(BaseModel):
    """A section of a study file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


_LMC = Field(0, ge=0, le=7, description="A host has 2^lmc LIDs, each with its own path; a packet draws one of them.")


class TreeNetwork(Section):
    """A k-ary n-tree."""

    topology: Literal["tree"] = Field(description="The word that chooses this network.")
    k: int = Field(ge=2, description="Links of a switch towards the hosts, and as many towards the roots.")
    n: int = Field(ge=1, le=8, description="Levels of switches; there are k^n hosts.")
    routing: Literal["dmodk", "valiant", "updown"] = Field(
        "dmodk", description="Way of the packets: D-mod-k, Valiant by LMC, or up*/down*."
    )
    lmc: int = _LMC


class FatTreeNetwork(Section):
    """An m-port n-tree."""

    topology: Literal["fat_tree"] = Field(description="The word that chooses this network.")
    m: int = Field(ge=4, description="Ports of a switch, an even number.")
    n: int = Field(ge=2, le=8, description="Levels of switches; there are 2 (m/2)^n hosts.")
    routing: Literal["dmodk", "valiant", "updown"] = Field(
        "dmodk", description="Way of the packets: D-mod-k, Valiant by LMC, or up*/down*."
    )
    lmc: int = _LMC


class TorusNetwork(Section):
    """A torus."""

    topology: Literal["torus"] = Field(description="The word that chooses this network.")
    size: Annotated[list[Annotated[int, Field(ge=3, le=64)]], Field(min_length=1, max_length=6)] = Field(
        description="Switches in each dimension."
    )
    hosts_per_switch: Count = Field(1, description="Hosts at each switch.")
    trunks: Count = Field(1, description="Cables between two neighbours.")
    routing: Literal["dor", "updown"] = Field(
        "dor", description="Way of the packets: dimension order with datelines, or up*/down*."
    )
    lmc: int = _LMC


class IrregularNetwork(Section):
    """A random network."""

    topology: Literal["irregular"] = Field(description="The word that chooses this network.")
    switches: int = Field(ge=2, le=1 << 16, description="Switches.")
    ports: Count = Field(description="Ports of each switch.")
    hosts_per_switch: Count = Field(description="Hosts at each switch.")
    seed: int = Field(1, description="Chooses the cables.")
    routing: Literal["updown"] = Field("updown", description="Way of the packets: up*/down*.")
    root: int = Field(0, ge=0, description="The switch from which up and down are counted.")


class DumbbellNetwork(Section):
    """Two switches."""

    topology: Literal["dumbbell"] = Field(description="The word that chooses this network.")
    left: Count = Field(description="Hosts at the first switch.")
    right: Count = Field(description="Hosts at the second switch.")
    trunks: Count = Field(1, description="Cables between the two switches.")
    routing: Literal["updown"] = Field("updown", description="Way of the packets: up*/down*.")


class EdgesNetwork(Section):
    """An edge list in a file beside the study."""

    topology: Literal["edges"] = Field(description="The word that chooses this network.")
    file: Name = Field(
        description="A text file next to the study: two names in a line for each cable, host NAME ... for hosts."
    )
    routing: Literal["updown"] = Field("updown", description="Way of the packets: up*/down*.")
    root: int = Field(0, ge=0, description="The switch from which up and down are counted.")


class FabricNetwork(Section):
    """A captured fabric in a folder beside the study, with its own tables."""

    topology: Literal["fabric"] = Field(description="The word that chooses this network.")
    folder: Name = Field(description="A folder of dumps beside the study, as vlane fabric reads it.")


NETWORKS: tuple[type[Section], ...] = (
    TreeNetwork,
    FatTreeNetwork,
    TorusNetwork,
    IrregularNetwork,
    DumbbellNetwork,
    EdgesNetwork,
    FabricNetwork,
)
"""A section for each topology of vlane's own."""

Net = Annotated[
    TreeNetwork | FatTreeNetwork | TorusNetwork | IrregularNetwork | DumbbellNetwork | EdgesNetwork | FabricNetwork,
    Field(discriminator="topology"),
]

BY_LMC = {"dmodk", "dor"}
"""Routings that give each of several LIDs its own path."""
_VLS_PER_SL = {"dor": 2}
"""VLs that each SL has under a routing whose paths change from one to another on their way."""


def lmc_of(network: BaseModel) -> int:
    """Return the LMC of a network's hosts; a plug-in's networks have none, whatever their keys are."""
    return network.lmc if isinstance(network, TreeNetwork | FatTreeNetwork | TorusNetwork) else 0


def vls_per_sl(routing: str) -> int:
    """Return the VLs that each SL has under a routing: 1, if its packets stay on the VL that the study gives their SL.

    Under others the VL tables go by the incoming VL.
    """
    plugin = found("routing", routing)
    return int(plugin.options["vls_per_sl"]) if plugin else _VLS_PER_SL.get(routing, 1)
