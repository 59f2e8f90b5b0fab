"""The ``[voqsw]`` section of a study file: tables that virtual output queuing in software plans (``docs/voqsw.md``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vlane.planning.voqsw import RESTS, SEARCHES
from vlane.study.networks import Section
from vlane.tables.sl2vl import VL_DROP

MOST_LEVELS = 4096
"""Service levels of a golden network; a packet of InfiniBand has 16."""


class VOQswSection(Section):
    """SL2VL tables and path SLs that keep packets for different outputs on different VLs."""

    sls: Annotated[int, Field(ge=1, le=MOST_LEVELS)] | Literal["full"] = Field(
        8,
        description="Service levels that paths may have, or full: as many as virtual output queuing everywhere takes.",
    )
    vls: int = Field(8, ge=1, le=VL_DROP, description="VLs that outputs are spread over.")
    search: Literal[SEARCHES] = Field("growth", description="How many queues are kept apart if not all can be.")  # type: ignore[valid-type]
    first_vl: Literal["level", "output"] = Field(
        "level",
        description="What chooses the VL to a path's first switch: its level, as in InfiniBand, or the output that it "
        "takes there, which needs an SL for each.",
    )
    rest: Literal[RESTS] = Field("lowest", description="Level of a path that no planned queue needs.")  # type: ignore[valid-type]
