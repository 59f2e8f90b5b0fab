"""Sections ``[connections]`` and ``[admission]`` of a study file (``docs/network.md``, ``docs/admission.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from vlane.credits.credit_schemes import CREDIT_SCHEMES
from vlane.errors import InputError, misplaced
from vlane.planning.fill_in import FITS
from vlane.schedulers.registry import IB_ARBITER
from vlane.schedulers.vlarb import MAX_ENTRIES
from vlane.study.networks import Name, Section
from vlane.tables.sl2vl import SL_COUNT

if TYPE_CHECKING:
    from vlane.study.study import Study


class ConnectionsSection(Section):
    """Constant-bit-rate connections, in addition to the traffic or instead of it."""

    file: Name = Field(
        description="CSV or Parquet file, relative to the study, with columns source, destination, sl, bytes, "
        "interval_cycles and optionally deadline_cycles."
    )


class AdmissionSection(Section):
    """Arbitration tables that are filled for the connections one by one, if all ports on the path accept."""

    distances: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_ENTRIES)]], Field(min_length=1, max_length=SL_COUNT)
    ] = Field(description="Largest distance between entries of a connection in the high list, for each SL from 0.")
    budget: float = Field(
        0.8,
        gt=0,
        le=1,
        description="Fraction of every link available to connections; the rest belongs to the low list.",
    )
    fit: Literal[FITS] = Field("best", description="Choice of the free set for a new sequence of entries.")  # type: ignore[valid-type]


def check_admission(study: Study, words: str) -> None:
    """Reject admission with conflicting keys or without connections.

    Raises
    ------
    InputError
        If the study has ``[admission]`` and a conflicting key; ``words`` name its switch kind.
    """
    if study.admission is None:
        return
    if study.connections is None:
        raise misplaced("admission", "without [connections]")
    if study.scheduler.name != IB_ARBITER:
        raise misplaced("admission", f"with scheduler.name {study.scheduler.name}: it fills tables of {IB_ARBITER}")
    if study.switch.record.by_channel:
        raise misplaced("admission", words)
    if study.network.topology == "fabric":
        raise misplaced("admission", "with a captured fabric, which has its own tables")
    for key in ("table",) if study.scheduler.table is not None else sorted(study.scheduler.tables):
        raise misplaced(f"scheduler.{key}", "with [admission], which fills the tables")
    if study.voqsw is not None:
        raise misplaced("voqsw", "with [admission]: both assign the SLs")
    if study.cable:
        raise misplaced("cable", "with [admission], which requires equal links")
    if CREDIT_SCHEMES[study.link.credits].by_fcps:
        must = "returns with [admission], whose budget excludes flow-control packets"
        raise InputError("link.credits", must, study.link.credits)
    entries = study.scheduler.parameters.get("entries", MAX_ENTRIES)
    if entries != MAX_ENTRIES:
        raise InputError("scheduler.parameters.entries", f"{MAX_ENTRIES} with [admission]", entries)
