"""The ``[connections]`` and ``[admission]`` sections of a study file (``docs/network.md``, ``docs/admission.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from vlane.credits.credit_schemes import CREDIT_SCHEMES
from vlane.errors import InputError
from vlane.planning.fill_in import FITS
from vlane.schedulers.registry import IB_ARBITER
from vlane.schedulers.vlarb import MAX_ENTRIES
from vlane.study.networks import Name, Section
from vlane.tables.sl2vl import SL_COUNT

if TYPE_CHECKING:
    from vlane.study.study import Study


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


def check_admission(study: Study, words: str) -> None:
    """Refuse tables that are filled in where others are given, or nobody asks for them.

    Raises
    ------
    InputError
        If the study has ``[admission]`` and something that does not go with it; ``words`` say its kind of switch.
    """
    if study.admission is None:
        return
    if study.connections is None:
        raise InputError("admission", "left out without connections", "given")
    if study.scheduler.name != IB_ARBITER:
        must = f"left out with scheduler.name {study.scheduler.name}: tables are those of {IB_ARBITER}"
        raise InputError("admission", must, "given")
    if study.switch.record.by_channel:
        raise InputError("admission", f"left out {words}", "given")
    if study.network.topology == "fabric":
        raise InputError("admission", "left out with a captured fabric, which has its own tables", "given")
    if study.scheduler.table is not None:
        raise InputError("scheduler.table", "left out with [admission], which makes the tables", "given")
    if study.voqsw is not None:
        raise InputError("voqsw", "left out with [admission], whose connections have SLs of their own", "given")
    if study.cable:
        raise InputError("cable", "left out with [admission], for which all links are alike", "given")
    if CREDIT_SCHEMES[study.link.credits].by_fcps:
        must = "returns with [admission], whose budget counts packets alone"
        raise InputError("link.credits", must, study.link.credits)
    entries = study.scheduler.parameters.get("entries", MAX_ENTRIES)
    if entries != MAX_ENTRIES:
        raise InputError("scheduler.parameters.entries", f"{MAX_ENTRIES} with [admission]", entries)
