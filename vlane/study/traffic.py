"""Sections ``[[traffic]]`` and ``[trace]`` of a study file: the traffic of the hosts (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from vlane.errors import InputError, misplaced, missing_value
from vlane.study.networks import Name, Section
from vlane.tables.sc import SC_COUNT
from vlane.units import MAX_PACKET_BYTES

FILE_PATTERNS = ("list", "matrix")
"""Patterns that a file defines."""
_CLOSE = 1e-3
"""Tolerance of sums of loads and shares, in flits per cycle and host."""

_Load = Annotated[float, Field(ge=0, le=1)]
_Hosts = list[Annotated[int, Field(ge=0)]]


class Traffic(Section):
    """Traffic class, at all hosts or some."""

    sl: Annotated[int, Field(ge=0, lt=SC_COUNT)] | Literal["path"] = Field(
        0, description="Service level, or path for that of the captured path record or of [voqsw]."
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Fraction of the load that classes with their own load leave; the sum of all shares is 1.",
    )
    load: _Load | Annotated[list[_Load], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="Load of this class in flits per cycle and host, instead of a share: the same in every run, or "
        "[a, b] from the run with the smallest load to the run with the largest.",
    )
    bytes: int | Annotated[list[int], Field(min_length=2, max_length=2)] = Field(
        64, description="Packet size in bytes including headers, or [least, most] with equal probability of each size."
    )
    pattern: Literal[
        "uniform",
        "others",
        "connections",
        "complement",
        "reversal",
        "transpose",
        "tornado",
        "neighbour",
        "list",
        "matrix",
    ] = Field(
        "uniform",
        description="Destinations: any host, any other host, one random other host per source (connections), a "
        "permutation of the hosts, or pairs from a file.",
    )
    file: Name | None = Field(
        None,
        description="CSV or Parquet file, relative to the study. Pattern list: columns source, destination and "
        "optionally weight. Pattern matrix: a row of weights per source, without a header.",
    )
    hosts: Annotated[_Hosts, Field(min_length=1)] | None = Field(
        None, description="Numbers of the sending hosts. [default: all hosts]"
    )
    active_cycles: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: cycles in which the hosts send; packets that wait at the end are discarded."
    )
    hot_share: float = Field(
        0.0, ge=0, le=1, description="Fraction of the class's packets that is sent to the hot hosts instead."
    )
    hot_hosts: _Hosts = Field([], description="Numbers of the hot hosts.")
    burst: int = Field(1, ge=1, le=1 << 16, description="Packets generated at the same time.")
    burst_to: Literal["each", "one"] = Field(
        "each", description="Random destination per packet of a burst, or one for the whole burst."
    )
    regular: bool = Field(default=False, description="Equal intervals between packets instead of random ones.")

    @property
    def sizes(self) -> tuple[int, int]:
        """Smallest and largest packet size in bytes."""
        return (self.bytes[0], self.bytes[1]) if isinstance(self.bytes, list) else (self.bytes, self.bytes)

    @property
    def span(self) -> tuple[float, float] | None:
        """Own load in the runs with the smallest and the largest load, or ``None``."""
        if self.load is None:
            return None
        return (self.load[0], self.load[1]) if isinstance(self.load, list) else (self.load, self.load)

    @model_validator(mode="after")
    def _check(self) -> Traffic:
        least, most = self.sizes
        given = self.model_fields_set
        if not 1 <= least <= most <= MAX_PACKET_BYTES:
            raise InputError("bytes", f"1 to {MAX_PACKET_BYTES}, or [least, most]", self.bytes)
        if self.hot_share and not self.hot_hosts:
            if "hot_hosts" in given:
                raise InputError("hot_hosts", "a non-empty list of hosts with hot_share", "an empty list")
            raise missing_value("hot_hosts", "it is required with hot_share")
        if self.load is not None and "share" in given:
            raise misplaced("share", "with load")
        if (self.file is None) == (self.pattern in FILE_PATTERNS):
            if self.file:
                raise misplaced("file", f"with pattern {self.pattern}")
            raise missing_value("file", f"pattern {self.pattern} requires it")
        if self.burst_to == "one" and self.burst == 1:
            raise misplaced("burst_to", "without burst")
        if self.active_cycles is not None and self.active_cycles[0] >= self.active_cycles[1]:
            raise InputError("active_cycles", "[from, to] with from < to", self.active_cycles)
        if self.hosts is not None and len(set(self.hosts)) != len(self.hosts):
            raise InputError("hosts", "a list without repeated hosts", self.hosts)
        return self


class PacketTrace(Section):
    """Replayed packets, in addition to the traffic or instead of it."""

    file: Name = Field(
        description="CSV or Parquet file, relative to the study, with columns cycle, source, destination, sl, bytes."
    )


def check_loads(traffic: Sequence[Traffic], load: float, field: str) -> None:
    """Reject a load that the classes cannot reach, or for which a host would send more than its link carries.

    Raises
    ------
    InputError
        As for ``class_loads``, or if the load of a host exceeds 1 at some time; the error names ``field``.
    """
    if load > 1 and all(each.hosts is None for each in traffic):
        raise InputError(field, "at most 1.0", load)
    loads = class_loads(traffic, load)
    hosts: set[int | None] = {None, *(host for each in traffic for host in each.hosts or ())}
    starts = {0, *(each.active_cycles[0] for each in traffic if each.active_cycles)}
    for host in hosts:
        mine = [
            (each, own) for each, own in zip(traffic, loads, strict=True) if each.hosts is None or host in each.hosts
        ]
        for start in starts:
            both = sum(own for each, own in mine if _is_active(each, start))
            if both > 1 + _CLOSE:
                who = "every host" if host is None else f"host {host}"
                problem = f": with load {load}, {who} sends {both:g} flits per cycle; the limit is 1"
                raise InputError(field, "a load of at most 1 for each host", load, problem=problem)


def _is_active(each: Traffic, cycle: int) -> bool:
    return each.active_cycles is None or each.active_cycles[0] <= cycle < each.active_cycles[1]


def class_loads(traffic: Sequence[Traffic], load: float) -> list[float]:
    """Return the load of each class in a run with a given load, in flits per cycle and host.

    Classes without their own load share the rest in proportion to their shares. Loads from a to b move proportionally,
    so that the sum of all classes is the load of the run.

    Raises
    ------
    InputError
        If the sum of the shares is not 1, or the classes cannot reach the load.

    Examples
    --------
    >>> made = [Traffic(load=0.1), Traffic(load=[0.1, 0.5])]
    >>> class_loads(made, 0.4)
    [0.1, 0.30000000000000004]
    >>> class_loads([Traffic(load=0.1), Traffic(share=0.75), Traffic(share=0.25)], 0.5)
    [0.1, 0.30000000000000004, 0.1]
    """
    if not traffic:
        return []
    spans, shares = [each.span for each in traffic], [each.share for each in traffic if each.load is None]
    if shares and not 1 - _CLOSE <= sum(shares) <= 1 + _CLOSE:
        problem = f": the sum of the shares is {sum(shares):g}; it must be 1"
        raise InputError("traffic", "classes whose shares sum to 1", f"{sum(shares):g}", problem=problem)
    first, last = (sum(span[end] for span in spans if span) for end in (0, 1))
    moves = any(span and span[0] != span[1] for span in spans)
    if shares and moves:
        problem = ": a class has load = [a, b], so every class needs a load instead of a share"
        raise InputError("traffic", "classes with loads", "a class with a share", problem=problem)
    if shares:
        if load < first - _CLOSE:
            raise InputError("run.loads", f"at least {first:g}, the sum of the classes' own loads", load)
        rest = max(0.0, load - first)
        return [span[0] if span else rest * each.share for each, span in zip(traffic, spans, strict=True)]
    if moves and abs(last - first) <= _CLOSE:
        problem = f": the loads [a, b] of all classes have the same sum at both ends, {first:g}; the sums must differ"
        raise InputError("traffic", "classes whose loads [a, b] have different sums", first, problem=problem)
    if not min(first, last) - _CLOSE <= load <= max(first, last) + _CLOSE:
        least, most = sorted((first, last))
        must = f"{least:g} to {most:g}" if moves else f"{first:g}"
        raise InputError("run.loads", f"{must}, the sum of the classes' own loads", load)
    part = min(1.0, max(0.0, (load - first) / (last - first))) if moves else 0.0
    return [span[0] + part * (span[1] - span[0]) for span in spans if span]
