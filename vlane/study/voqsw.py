"""Section ``[voqsw]`` of a study file: tables planned by virtual output queuing in software (``docs/voqsw.md``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vlane.planning.voqsw import RESTS, SEARCHES
from vlane.study.networks import Section
from vlane.tables.sl2vl import VL_DROP

MOST_LEVELS = 4096
"""Largest number of service levels of a golden network; InfiniBand has 16."""


class VOQswSection(Section):
    """SL2VL tables and path SLs that keep packets to different outputs on different VLs."""

    sls: Annotated[int, Field(ge=1, le=MOST_LEVELS)] | Literal["full"] = Field(
        8, description="Number of service levels for paths, or full: as many as complete virtual output queuing needs."
    )
    vls: int = Field(8, ge=1, le=VL_DROP, description="Number of VLs for the outputs.")
    search: Literal[SEARCHES] = Field("growth", description="Search for the number of separate queues.")  # type: ignore[valid-type]
    first_vl: Literal["level", "output"] = Field(
        "level",
        description="VL to a path's first switch: selected by the path's SL as in InfiniBand, or by the output of the "
        "first switch, which needs an SL per output.",
    )
    rest: Literal[RESTS] = Field("lowest", description="SL of a path that is not part of a planned queue.")  # type: ignore[valid-type]
