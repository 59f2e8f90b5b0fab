"""Sections ``[[traffic]]`` and ``[trace]`` of a study file: the traffic of the hosts (``docs/network.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from vlane.errors import InputError, misplaced, missing_value
from vlane.plugins import Plugin, found, plugins_of
from vlane.study.networks import Name, Section
from vlane.study.sizes import MAX_MESSAGE_BYTES, Sizes, check_sizes
from vlane.tables.sc import SC_COUNT
from vlane.units import MAX_PACKET_BYTES

FILE_PATTERNS = ("list", "matrix")
"""Patterns that a file defines."""
_CLOSE = 1e-3
"""Tolerance of sums of loads and shares, in flits per cycle and host."""

_Load = Annotated[float, Field(ge=0, le=1)]
_Hosts = list[Annotated[int, Field(ge=0)]]
_Window = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
_MOST_WINDOWS = 1 << 12
MOST_VALUES = 16
"""Largest number of values for the source of a plug-in."""
_Value = Annotated[int, Field(ge=-(1 << 62), le=1 << 62)]
_DRAWN = ("bytes", "message_bytes", "pattern", "file", "hot_share", "hot_hosts", "burst", "burst_to", "regular")
"""Keys that the source of a plug-in replaces, in addition to those of a load over time."""


class ReplySection(Section):
    """Replies to the messages of a traffic class."""

    message_bytes: Sizes = Field(description="Payload of a reply, as for the class.")
    sl: Annotated[int, Field(ge=0, lt=SC_COUNT)] | Literal["path"] | None = Field(
        None, description="Service level of the replies. [default: that of the class]"
    )
    delay_cycles: int = Field(
        0, ge=0, le=1 << 40, description="Cycles from the delivery of a request to its reply, less 1."
    )

    @model_validator(mode="after")
    def _check(self) -> ReplySection:
        check_sizes(self.message_bytes, "message_bytes", MAX_MESSAGE_BYTES)
        return self


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
    bytes: Sizes = Field(
        64,
        description="Packet size in bytes including headers; [least, most] with equal probability of each size; a "
        "list of [size, weight]; or a CSV or Parquet file with columns bytes, and weight or cumulative.",
    )
    message_bytes: Sizes | None = Field(
        None,
        description="Payload of a message, as for bytes, instead of packets: each arrival is a message, sent in "
        "packets of up to nic.mtu_bytes and 26 bytes of headers.",
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
    active_cycles: _Window | Annotated[list[_Window], Field(min_length=1, max_length=_MOST_WINDOWS)] | None = Field(
        None,
        description="[from, to], or a list of them: cycles in which the hosts send; packets that wait at the end are "
        "discarded.",
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
    on_cycles: float | None = Field(
        None, ge=1, le=1e6, description="Mean length of bursts, in which alone packets are generated; needs off_cycles."
    )
    off_cycles: float | None = Field(None, ge=1, le=1e9, description="Mean length of the pauses between bursts.")
    pareto_shape: float | None = Field(
        None,
        gt=1,
        le=10,
        description="Shape of the Pareto distribution of bursts and pauses. [default: geometric lengths]",
    )
    rates: Name | None = Field(
        None,
        description="CSV or Parquet file, relative to the study, with columns cycle and factor: from each cycle on the "
        "load is multiplied by the factor.",
    )
    queue_packets: int | None = Field(
        None,
        ge=1,
        le=1 << 16,
        description="Capacity of a host's application queue in packets; while it is full, the host generates none. "
        "[default: unbounded]",
    )
    reply: ReplySection | None = Field(None, description="Each message is a request, which its destination answers.")
    source: Name | None = Field(
        None,
        description="Source of a plug-in, which draws gap, destination and size of each packet or message "
        "(docs/plugins.md), instead of pattern, sizes, bursts and rates.",
    )
    source_values: Annotated[list[_Value], Field(max_length=MOST_VALUES)] = Field(
        [], description="Numbers that the source receives."
    )
    window: int | None = Field(
        None,
        ge=1,
        le=1 << 16,
        description="Requests that a host has without a reply at any time, instead of a load (closed loop).",
    )
    think_cycles: float = Field(
        0.0,
        ge=0,
        le=1e9,
        description="Mean cycles from the delivery of a reply to the next request of the window, less 1: geometric, or "
        "equal with regular.",
    )

    @field_validator("active_cycles", mode="before")
    @classmethod
    def _has_windows(cls, given: Any) -> Any:
        """Reject windows of another form in one line, instead of one line for each accepted form."""
        windows = given if isinstance(given, list) and given and isinstance(given[0], list) else [given]
        for each in windows:
            is_pair = isinstance(each, list) and len(each) == 2
            if given is not None and not (is_pair and all(type(cycle) is int and cycle >= 0 for cycle in each)):
                raise InputError("", "[from, to] or a list of them, cycles from 0 on", given)
        return given

    @property
    def plugin(self) -> Plugin | None:
        """Plug-in of the source, or ``None``."""
        return None if self.source is None else found("source", self.source)

    @property
    def in_messages(self) -> bool:
        """Whether arrivals are messages instead of packets."""
        return self.message_bytes is not None or (self.plugin is not None and bool(self.plugin.options["messages"]))

    @property
    def sizes(self) -> Sizes:
        """Sizes of packets or messages."""
        if self.plugin is not None:
            return [1, int(self.plugin.options["largest_bytes"])]
        return self.bytes if self.message_bytes is None else self.message_bytes

    @property
    def largest_size(self) -> int:
        """Largest allowed size of a packet or a message in bytes."""
        return MAX_MESSAGE_BYTES if self.in_messages else MAX_PACKET_BYTES

    @property
    def windows(self) -> list[list[int]]:
        """Windows in which the hosts send, empty without ``active_cycles``."""
        given: list[Any] = self.active_cycles or []
        return [given] if given and isinstance(given[0], int) else given

    @property
    def files(self) -> list[str]:
        """Names of the files of this class."""
        reply = self.reply and self.reply.message_bytes
        return [name for name in (self.file, self.sizes, self.rates, reply) if isinstance(name, str)]

    @property
    def reply_sl(self) -> int | Literal["path"]:
        """Service level of the replies."""
        return self.sl if self.reply is None or self.reply.sl is None else self.reply.sl

    @property
    def span(self) -> tuple[float, float] | None:
        """Own load in the runs with the smallest and the largest load, or ``None``."""
        if self.load is None:
            return None
        return (self.load[0], self.load[1]) if isinstance(self.load, list) else (self.load, self.load)

    @model_validator(mode="after")
    def _check(self) -> Traffic:
        given = self.model_fields_set
        self._check_source()
        check_sizes(self.sizes, "bytes" if self.message_bytes is None else "message_bytes", self.largest_size)
        if self.message_bytes is not None:
            for key in ("bytes", "burst", "queue_packets"):
                if key in given:
                    raise misplaced(key, "with message_bytes")
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
        self._check_times()
        self._check_window()
        if self.hosts is not None and len(set(self.hosts)) != len(self.hosts):
            raise InputError("hosts", "a list without repeated hosts", self.hosts)
        return self

    def _check_source(self) -> None:
        if self.source is None:
            if self.source_values:
                raise missing_value("source", "source_values requires it")
            return
        if self.plugin is None:
            known = ", ".join(plugins_of("source"))
            must = (
                f"a source of a loaded plug-in ({known})" if known else "a source of a loaded plug-in (none is loaded)"
            )
            raise InputError("source", must, self.source)
        if self.queue_packets is not None and self.in_messages:
            raise misplaced("queue_packets", "with a source of messages")
        for key in (*_DRAWN, "on_cycles", "off_cycles", "pareto_shape", "rates", "window", "think_cycles"):
            if key in self.model_fields_set:
                raise misplaced(key, "with source")

    def _check_window(self) -> None:
        if self.reply is not None and not self.in_messages:
            if self.source is not None:
                raise misplaced("reply", "with a source of packets")
            raise missing_value("message_bytes", "reply requires it")
        if self.window is None:
            if "think_cycles" in self.model_fields_set:
                raise missing_value("window", "think_cycles requires it")
            return
        if self.reply is None:
            raise missing_value("reply", "window requires it")
        for key in ("share", "load", "on_cycles", "rates"):
            if key in self.model_fields_set:
                raise misplaced(key, "with window")
        if len(self.windows) > 1:
            raise InputError(
                "active_cycles", "one interval", self.active_cycles, problem=": window allows only one interval"
            )

    def _check_times(self) -> None:
        before = 0
        for first, end in self.windows:
            if first >= end:
                raise InputError("active_cycles", "[from, to] with from < to", self.active_cycles)
            if first < before:
                must = f"in order, from cycle {before} on after the window before"
                raise InputError("active_cycles", must, [first, end])
            before = end
        for one, other in (("on_cycles", "off_cycles"), ("off_cycles", "on_cycles"), ("pareto_shape", "on_cycles")):
            if getattr(self, one) is not None and getattr(self, other) is None:
                raise missing_value(other, f"{one} requires it")
        if self.rates is not None:
            for key, given in (("on_cycles", self.on_cycles is not None), ("regular", self.regular)):
                if given:
                    raise misplaced(key, "with rates")


class NicSection(Section):
    """Settings of all NICs."""

    mtu_bytes: Literal[256, 512, 1024, 2048, 4096] = Field(
        4096, description="Largest payload of a packet of a message in bytes."
    )


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
    starts = {0, *(first for each in traffic for first, _ in each.windows)}
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
    return not each.windows or any(first <= cycle < end for first, end in each.windows)


def class_loads(traffic: Sequence[Traffic], load: float) -> list[float]:
    """Return the load of each class in a run with a given load, in flits per cycle and host.

    Classes with a window have a load of 0. Classes without their own load share the rest in proportion to their
    shares. Loads from a to b move proportionally, so that the sum of all classes is the load of the run.

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
    if any(each.window for each in traffic):
        opened = iter(class_loads([each for each in traffic if not each.window], load))
        return [0.0 if each.window else next(opened) for each in traffic]
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
