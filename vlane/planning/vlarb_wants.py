"""Reader of wants files: requested shares, waits and upper bounds of service levels (``docs/vlarb_plan.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from vlane.documents.document import read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError, misplaced
from vlane.planning.exact import Exact, shown_exact
from vlane.rates import LinkClock, rate_of
from vlane.tables.sl2vl import SL_COUNT


@dataclass(frozen=True, slots=True)
class Wanted:
    """Requirements of one service level.

    Parameters
    ----------
    sl : int
        The service level.
    share : Fraction or None
        Least share of a full link; ``None`` for the remaining capacity.
    wait_us : Fraction or None
        Longest wait of a packet for its turn, in microseconds; ``None`` for no bound.
    high : bool
        Whether the level's entries are in the high list.
    field : str
        Key of the share in the file.
    at_most : Fraction or None
        Largest rate of the level, as a share of a full link; ``None`` for no upper bound.
    burst_packets : int
        Largest burst beyond ``at_most``, in packets of the MTU.
    """

    sl: int
    share: Fraction | None
    wait_us: Fraction | None
    high: bool
    field: str = "share"
    at_most: Fraction | None = None
    burst_packets: int = 1

    @property
    def is_guaranteed(self) -> bool:
        """Whether the level requires a share or a wait."""
        return self.share is not None or self.wait_us is not None


@dataclass(frozen=True, slots=True)
class Wants:
    """Requirements of all service levels, equal at every port.

    Parameters
    ----------
    rate_gbps : float
        Data rate of a link, in Gb/s.
    mtu : int
        Largest payload of a packet, in bytes.
    data_vls : int
        Number of data lanes of a port.
    levels : tuple of Wanted
        Requirements in the order of the file, each SL once.
    source : str
        Path of the file.
    """

    rate_gbps: float
    mtu: int
    data_vls: int
    levels: tuple[Wanted, ...]
    source: str = ""

    @property
    def clock(self) -> LinkClock:
        """Clock of a link: its period is the time of one block of 64 bytes."""
        return LinkClock(self.rate_gbps)


class _Link(BaseModel):
    """Links of the fabric."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    rate_gbps: str | Exact = Field("EDR 4X", description="Data rate, in Gb/s or by name (EDR 4X).")
    mtu: Literal[256, 512, 1024, 2048, 4096] = Field(4096, description="Largest payload of a packet, in bytes.")
    data_vls: Literal[1, 2, 4, 8, 15] = Field(8, description="Data lanes of every port.")


class _Level(BaseModel):
    """Requirements of a service level. A level without requirements gets the remaining capacity."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    sl: int = Field(ge=0, lt=SL_COUNT, description="Service level.")
    share: Exact | None = Field(None, description="Least share of a full link, above 0, at most 1.")
    rate_gbps: Exact | None = Field(None, description="Least rate in Gb/s, instead of share.")
    wait_us: Exact | None = Field(None, description="Longest wait of a packet for its turn, in microseconds.")
    at_most: Exact | None = Field(
        None, description="Largest rate of the level, as a share of a full link; the sender must enforce it."
    )
    at_most_gbps: Exact | None = Field(None, description="Largest rate in Gb/s, instead of at_most.")
    burst_packets: int | None = Field(
        None, ge=1, le=10_000, description="Largest burst beyond at_most, in packets of the MTU; 1 by default."
    )
    priority: Literal["high", "low"] | None = Field(
        None, description="List of the level's entries; high by default if wait_us is given, otherwise low."
    )


class WantsFile(BaseModel):
    """Keys of a wants file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    link: _Link
    level: list[_Level] = Field(min_length=1)


def read_wants(path: Path) -> Wants:
    """Return the requirements of a TOML file.

    Raises
    ------
    InputError
        If the file cannot be read or parsed, has an unknown or missing key, or a value is out of range.
    """
    document = read_document(path, "wants file", parse_float=Decimal)
    read = checked(WantsFile, document)
    try:
        rate = read.link.rate_gbps
        gbps = rate_of(float(rate) if isinstance(rate, Fraction) else rate, "link.rate_gbps")
        levels = tuple(_wanted(place, each, gbps) for place, each in enumerate(read.level))
        _check_once(levels)
    except InputError as error:
        raise document.placed(error) from None
    return Wants(gbps, read.link.mtu, read.link.data_vls, levels, document.source)


def _wanted(place: int, level: _Level, gbps: float) -> Wanted:
    if level.share is not None and level.rate_gbps is not None:
        raise misplaced(f"level.{place}.rate_gbps", "with share")
    if level.share is not None and not 0 < level.share <= 1:
        raise InputError(f"level.{place}.share", "above 0 and at most 1", shown_exact(level.share))
    if level.rate_gbps is not None and not 0 < level.rate_gbps <= Fraction(gbps):
        raise InputError(
            f"level.{place}.rate_gbps", f"above 0 and at most {gbps:g}, the link rate", shown_exact(level.rate_gbps)
        )
    if level.wait_us is not None and level.wait_us <= 0:
        raise InputError(f"level.{place}.wait_us", "above 0", shown_exact(level.wait_us))
    share = level.share if level.rate_gbps is None else level.rate_gbps / Fraction(gbps)
    high = level.wait_us is not None if level.priority is None else level.priority == "high"
    field = "share" if level.rate_gbps is None else "rate_gbps"
    most = _at_most(place, level, gbps, share, field)
    return Wanted(level.sl, share, level.wait_us, high, field, most, level.burst_packets or 1)


def _at_most(place: int, level: _Level, gbps: float, share: Fraction | None, field: str) -> Fraction | None:
    """Return the upper bound of a level as a share of the link."""
    if level.at_most is not None and level.at_most_gbps is not None:
        raise misplaced(f"level.{place}.at_most_gbps", "with at_most")
    name, given = ("at_most", level.at_most) if level.at_most_gbps is None else ("at_most_gbps", level.at_most_gbps)
    if given is None:
        if level.burst_packets is not None:
            raise misplaced(f"level.{place}.burst_packets", "without at_most")
        return None
    whole = Fraction(1) if name == "at_most" else Fraction(gbps)
    if not 0 < given <= whole:
        raise InputError(f"level.{place}.{name}", f"above 0, at most {float(whole):g}", shown_exact(given))
    most = given / whole
    if share is not None and most < share:
        wanted = f"at least its {field}, {float(share * (1 if field == 'share' else Fraction(gbps))):g}"
        raise InputError(f"level.{place}.{name}", wanted, shown_exact(given))
    return most


def _check_once(levels: tuple[Wanted, ...]) -> None:
    for place, each in enumerate(levels):
        if each.sl in {earlier.sl for earlier in levels[:place]}:
            problem = f": SL {each.sl} already has a [[level]] above"
            raise InputError(f"level.{place}.sl", "another SL", each.sl, problem=problem)
