"""The ``[connections]`` and ``[admission]`` sections of a study file (``docs/network.md``, ``docs/admission.md``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vlane.planning.fill_in import FITS
from vlane.sl2vl import SL_COUNT
from vlane.study_networks import Name, Section
from vlane.vlarb import MAX_ENTRIES

__all__ = ["AdmissionSection", "ConnectionsSection"]


class ConnectionsSection(Section):
    """Connections at a constant bit rate, beside the traffic or instead of it."""

    file: Name = Field(
        description="CSV or Parquet beside the study: source, destination, sl, bytes, interval_cycles and, if packets "
        "have deadlines, deadline_cycles of each connection."
    )


class AdmissionSection(Section):
    """Arbitration tables that are filled in for the connections, one after the other, where all ports agree."""

    distances: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_ENTRIES)]], Field(min_length=1, max_length=SL_COUNT)
    ] = Field(description="Most entries of the high list from one of a connection to its next, for each SL from 0.")
    budget: float = Field(
        0.8, gt=0, le=1, description="Part of every link that connections may have; the low list has what they leave."
    )
    fit: Literal[FITS] = Field("best", description="Free set that a new sequence of entries is taken from.")  # type: ignore[valid-type]
