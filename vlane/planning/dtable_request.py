"""Requests for Deficit Tables: bandwidths, distances and packet sizes (``docs/dtable_plan.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from vlane.documents.document import Document, read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError, unknown_word
from vlane.planning.exact import Exact, shown_exact
from vlane.schedulers.dtable import IB_ENTRIES, IB_SLS, MAX_SLS
from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["RequestFile", "ServiceLevel", "TableRequest", "read_request", "request_of"]

_SIZES = (32, 64, 128)
_FORMS = ("ib", "free")
_NAME_LENGTH = 32


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """Requirements of one service level.

    Parameters
    ----------
    name : str
        Name in reports.
    sl : int
        Service level, 0 to 15.
    distance : int
        Largest number of places from one entry of the level to the next, a power of two.
    mtu_blocks : int
        Largest packet of the level, in blocks of 64 bytes.
    bandwidth : Fraction
        Share of the link, above 0, at most 1.
    """

    name: str
    sl: int
    distance: int
    mtu_blocks: int
    bandwidth: Fraction


@dataclass(frozen=True, slots=True)
class TableRequest:
    """Request for a table.

    Parameters
    ----------
    entries : int
        Number of entries: 32, 64 or 128.
    gmtu_blocks : int
        Largest packet of all levels (GMTU), in blocks of 64 bytes.
    form : str
        Format of the entries, ``ib`` or ``free``.
    sls : tuple of ServiceLevel
        Requirements of the service levels, in any order.
    k : Fraction or None
        Pool per entry, in GMTUs; ``None`` for the smallest suitable value.
    w : Fraction or None
        Largest weight of an entry, in GMTUs; ``None`` for the smallest suitable value.
    source : str
        Path of the file.

    Raises
    ------
    InputError
        If a value is out of range; the message names the service level.
    """

    entries: int
    gmtu_blocks: int
    form: str
    sls: tuple[ServiceLevel, ...]
    k: Fraction | None = None
    w: Fraction | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if self.entries not in _SIZES:
            raise self.refusal("entries", "32, 64 or 128", self.entries)
        if not 1 <= self.gmtu_blocks <= MAX_PACKET_BLOCKS:
            raise self.refusal("gmtu_blocks", f"1 to {MAX_PACKET_BLOCKS}", self.gmtu_blocks)
        if self.form not in _FORMS:
            raise unknown_word("dtable_plan.form", _FORMS, self.form).at(self.source)
        if self.form == "ib" and self.entries != IB_ENTRIES:
            raise self.refusal("entries", f"{IB_ENTRIES} in the ib form", self.entries)
        for name, value in (("k", self.k), ("w", self.w)):
            if value is not None and value <= 0:
                raise self.refusal(name, "above 0", shown_exact(value))
        if not self.sls:
            problem = "is missing: give one section [[dtable_plan.sl]] per service level"
            raise self.refusal("sl", "given once per service level", "missing", problem=problem)
        self._check_levels()

    def _check_levels(self) -> None:
        most = (IB_SLS if self.form == "ib" else MAX_SLS) - 1
        seen: dict[int, str] = {}
        for level in self.sls:
            if not 1 <= len(level.name) <= _NAME_LENGTH or not level.name.isprintable():
                raise self.refusal("name", f"1 to {_NAME_LENGTH} printable characters", level.name, level=level)
            if level.name in seen.values():
                raise self.refusal("name", "unique", level.name, level=level)
            if not 0 <= level.sl <= most:
                raise self.refusal("sl", f"0 to {most}", level.sl, level=level)
            if level.sl in seen:
                raise self.refusal("sl", f"a service level that {seen[level.sl]} does not use", level.sl, level=level)
            seen[level.sl] = level.name
            if not 2 <= level.distance <= self.entries or level.distance & (level.distance - 1):
                raise self.refusal("distance", f"a power of two, 2 to {self.entries}", level.distance, level=level)
            if not 1 <= level.mtu_blocks <= self.gmtu_blocks:
                raise self.refusal("mtu_blocks", f"1 to gmtu_blocks, {self.gmtu_blocks}", level.mtu_blocks, level=level)
            if not 0 < level.bandwidth <= 1:
                raise self.refusal("bandwidth", "above 0 and at most 1", shown_exact(level.bandwidth), level=level)

    def refusal(
        self, field: str, must: str, got: object, *, level: ServiceLevel | None = None, problem: str = ""
    ) -> InputError:
        """Return the error about a field of the request or of a level."""
        if level is not None:
            place = next(place for place, each in enumerate(self.sls) if each is level)
            field = f"sl.{place}.{field}" + (f" of {level.name}" if field != "name" else "")
        return InputError(f"dtable_plan.{field}", must, got, source=self.source, problem=problem)


class _Level(BaseModel):
    """Requirements of a service level."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    name: str = Field(description="Name in reports.")
    sl: int = Field(description="Service level, 0 to 15.")
    distance: int = Field(
        description="Largest number of places from one entry of the level to the next: a power of two, at least 2."
    )
    mtu_blocks: int = Field(description="Largest packet of the level, in blocks of 64 bytes.")
    bandwidth: Exact = Field(description="Share of the link, above 0, at most 1.")


class _Request(BaseModel):
    """Table and requirements."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    entries: int = Field(description="Number of entries: 32, 64 or 128; 64 in the ib form.")
    gmtu_blocks: int = Field(description="Largest packet of all levels, in blocks of 64 bytes.")
    form: str = Field(
        "ib", description="Format of the entries. ib: packed like InfiniBand's table; free: 8 bits for each weight."
    )
    k: Exact | None = Field(
        None, description="Pool of weight per entry, in largest packets; by default the smallest suitable value."
    )
    w: Exact | None = Field(
        None, description="Largest weight of an entry, in largest packets; by default the smallest suitable value."
    )
    sl: list[_Level] = Field(default_factory=list)


class RequestFile(BaseModel):
    """Keys of a request file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    dtable_plan: _Request


def read_request(path: Path) -> TableRequest:
    """Return the ``[dtable_plan]`` of a TOML file.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range.
    """
    return _request_of(read_document(path, "plan file", parse_float=Decimal))


def request_of(content: Mapping[str, Any]) -> TableRequest:
    """Return the request of a mapping with the keys of ``[dtable_plan]``. A float has its printed decimal value.

    Raises
    ------
    InputError
        If a key is unknown or missing, or a value is out of range.
    """
    return _request_of(Document("", "", {"dtable_plan": _as_written(content)}))


def _as_written(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_written(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_as_written(held) for held in value]
    return Decimal(repr(value)) if type(value) is float else value


def _request_of(document: Document) -> TableRequest:
    read = checked(RequestFile, document).dtable_plan
    levels = tuple(ServiceLevel(one.name, one.sl, one.distance, one.mtu_blocks, one.bandwidth) for one in read.sl)
    try:
        return TableRequest(read.entries, read.gmtu_blocks, read.form, levels, read.k, read.w, document.source)
    except InputError as error:
        raise document.placed(error) from None
