"""The ``[[traffic]]`` and ``[trace]`` sections of a study file: what the hosts send (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from vlane.errors import InputError
from vlane.study.networks import Name, Section
from vlane.tables.sc import SC_COUNT
from vlane.units import MAX_PACKET_BYTES

FILE_PATTERNS = ("list", "matrix")
"""Patterns that a file says."""
_CLOSE = 1e-3
"""Of flits per cycle and host: by how much loads that are to be equal may differ."""

_Load = Annotated[float, Field(ge=0, le=1)]
_Hosts = list[Annotated[int, Field(ge=0)]]


class Traffic(Section):
    """One class of traffic, at every host or at some."""

    sl: Annotated[int, Field(ge=0, lt=SC_COUNT)] | Literal["path"] = Field(
        0, description="Service level, or path: that of the captured path record, or of [voqsw]."
    )
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Part of the load, less what classes with a load of their own take; the shares are 1 in all.",
    )
    load: _Load | Annotated[list[_Load], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="Flits per cycle and host of this class instead of a share: the same in every run, or [a, b] from "
        "the run with the least to that with the greatest load.",
    )
    bytes: int | Annotated[list[int], Field(min_length=2, max_length=2)] = Field(
        64, description="Size of a packet with its headers; of [least, most] each size is as likely."
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
        description="Who sends to whom: any host, any other host, to one other host each that the seed draws, a "
        "permutation of the hosts, or pairs from a file.",
    )
    file: Name | None = Field(
        None,
        description="CSV or Parquet beside the study with the pairs of pattern list: source, destination and, if not "
        "all are alike, weight; or of pattern matrix: a row of weights for each source, without a heading.",
    )
    hosts: Annotated[_Hosts, Field(min_length=1)] | None = Field(
        None, description="Numbers of the hosts that send; all unless given."
    )
    active_cycles: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="[from, to]: the hosts send in these cycles only, and what they did not take until then never.",
    )
    hot_share: float = Field(
        0.0, ge=0, le=1, description="Part of the class's packets that goes to the hot hosts instead."
    )
    hot_hosts: _Hosts = Field([], description="Numbers of the hot hosts.")
    burst: int = Field(1, ge=1, le=1 << 16, description="Packets that are generated at once.")
    burst_to: Literal["each", "one"] = Field(
        "each", description="Whether each packet of a burst draws its destination, or the first for all of them."
    )
    regular: bool = Field(default=False, description="Equal distances between packets instead of random ones.")

    @property
    def sizes(self) -> tuple[int, int]:
        """Least and most bytes."""
        return (self.bytes[0], self.bytes[1]) if isinstance(self.bytes, list) else (self.bytes, self.bytes)

    @property
    def span(self) -> tuple[float, float] | None:
        """Its own load in the runs with the least and the greatest load."""
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
            raise InputError("hot_hosts", "given with hot_share", "empty" if "hot_hosts" in given else "missing")
        if self.load is not None and "share" in given:
            raise InputError("share", "left out with load", self.share)
        if (self.file is None) == (self.pattern in FILE_PATTERNS):
            must = "left out" if self.file else "given"
            raise InputError("file", f"{must} with pattern {self.pattern}", "given" if self.file else "missing")
        if self.burst_to == "one" and self.burst == 1:
            raise InputError("burst_to", "each without burst", self.burst_to)
        if self.active_cycles is not None and self.active_cycles[0] >= self.active_cycles[1]:
            raise InputError("active_cycles", "[from, to] with from below to", self.active_cycles)
        if self.hosts is not None and len(set(self.hosts)) != len(self.hosts):
            raise InputError("hosts", "numbers of different hosts", self.hosts)
        return self


class PacketTrace(Section):
    """Packets that are replayed, beside the traffic or instead of it."""

    file: Name = Field(
        description="CSV or Parquet beside the study: cycle, source, destination, sl and bytes of each packet."
    )


def check_loads(traffic: Sequence[Traffic], load: float, field: str) -> None:
    """Refuse a load that the classes cannot make, or in which a host would send more than a link carries.

    Raises
    ------
    InputError
        As ``class_loads``, or if the classes of a host load it with more than 1 at a time, naming ``field``.
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
                raise InputError(field, f"such that {who} sends at most 1", f"{load}, which makes {both:g}")


def _is_active(each: Traffic, cycle: int) -> bool:
    return each.active_cycles is None or each.active_cycles[0] <= cycle < each.active_cycles[1]


def class_loads(traffic: Sequence[Traffic], load: float) -> list[float]:
    """Return the load of each class in a run of a load, in flits per cycle and host.

    Classes with a load of their own have that, the others divide what is left by their shares. Loads from a to b all
    go the same part of their way, so far that all classes together make the run's load.

    Raises
    ------
    InputError
        If the shares are not 1 in all, or the classes cannot make the load.

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
        raise InputError("traffic", "of shares that are 1 in all", f"{sum(shares):g}")
    first, last = (sum(span[end] for span in spans if span) for end in (0, 1))
    moves = any(span and span[0] != span[1] for span in spans)
    if shares and moves:
        raise InputError("traffic", "of classes that all have a load where one is [a, b]", "one with a share")
    if shares:
        if load < first - _CLOSE:
            raise InputError("run.loads", f"at least {first:g}, what classes with a load of their own take", load)
        rest = max(0.0, load - first)
        return [span[0] if span else rest * each.share for each, span in zip(traffic, spans, strict=True)]
    if moves and abs(last - first) <= _CLOSE:
        raise InputError("traffic", "of loads [a, b] whose sums at both ends differ", f"{first:g} at both")
    if not min(first, last) - _CLOSE <= load <= max(first, last) + _CLOSE:
        least, most = sorted((first, last))
        must = f"{least:g} to {most:g}" if moves else f"{first:g}"
        raise InputError("run.loads", f"{must}, what the classes' own loads make", load)
    part = min(1.0, max(0.0, (load - first) / (last - first))) if moves else 0.0
    return [span[0] + part * (span[1] - span[0]) for span in spans if span]
