"""OpenSM's QoS options, and the tables that OpenSM programs from the options.

The rules are those of OpenSM 3.3.23, whose sources are public (``linux-rdma/opensm``); ``docs/opensm_conf.md`` says how
they were compared with the running daemon.

| step | OpenSM's function |
|---|---|
| split the file into lines, names and values | ``osm_subn_parse_conf_file`` of ``osm_subnet.c`` |
| strip blanks and quotes from a value | ``clean_val`` |
| read a number, a limit, a text | ``opts_parse_uint32``, ``opts_parse_int32``, ``opts_parse_charp`` |
| check limits and lists | ``subn_verify_high_limit``, ``subn_verify_vlarb``, ``subn_verify_sl2vl`` |
| read the lists | ``qos_build_config``, ``parse_one_unsigned`` of ``osm_qos.c`` |
| mask lanes, cut lists at the capacity of a port | ``vlarb_update_table_block``, ``sl2vl_update_table`` |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.dumps.opensm_numbers import UINT_MAX, read_list, strtol, strtoul, tokens
from vlane.fabric.model import Kind
from vlane.fabric.sl2vl_tables import SL2VLRow
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT, VLArbEntry
from vlane.tables.sl2vl import SL_COUNT

if TYPE_CHECKING:
    from pathlib import Path

NOT_SET = "(null)"
"""Value of a text option that is not set."""
OP_VLS = {"1": 1, "2": 2, "3": 4, "4": 8, "5": 15}
"""Data lanes by the number that max_op_vls has for them (IBA 14.2.5.6, VLCap)."""
_TYPE_PREFIX = {Kind.CA: "qos_ca_", Kind.SWITCH: "qos_swe_", Kind.ROUTER: "qos_rtr_"}
_PREFIXES = ("qos_", "qos_ca_", "qos_sw0_", "qos_swe_", "qos_rtr_")
_NAMES = ("max_vls", "high_limit", "vlarb_high", "vlarb_low", "sl2vl")
_DEFAULTS = {
    "max_vls": "15",
    "vlarb_high": ",".join(f"{vl}:{4 if vl == 0 else 0}" for vl in range(15)),
    "vlarb_low": ",".join(f"{vl}:{0 if vl == 0 else 4}" for vl in range(15)),
    "sl2vl": ",".join(map(str, (*range(15), 7))),
}
_CONGESTION_NAMES = (
    "cc_key",
    "cc_max_outstanding_mads",
    "cc_cct",
    *(
        f"cc_sw_cong_setting_{name}"
        for name in (
            "control_map",
            "victim_mask",
            "credit_mask",
            "threshold",
            "packet_size",
            "credit_starvation_threshold",
            "credit_starvation_return_delay",
            "marking_rate",
        )
    ),
    *(
        f"cc_ca_cong_setting_{name}"
        for name in ("port_control", "control_map", "ccti_timer", "ccti_increase", "trigger_threshold", "ccti_min")
    ),
)
_QOS = frozenset(prefix + name for prefix in _PREFIXES for name in _NAMES)
_KNOWN = _QOS.union(("qos", "qos_policy_file"), _CONGESTION_NAMES)
_OURS = ("qos", "cc_")
"""Beginnings of the names that are checked against ``_KNOWN``; OpenSM has hundreds of other options."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANKS = " \t\n\v\f\r"
_LINE_CHARACTERS = 1022
"""Characters that OpenSM reads at a time; the rest of a longer line counts as the next line."""
_MOST_VLS = 15
_LARGEST_VL, _DROP = 14, 15
_INT_BITS = 32


class Option(NamedTuple):
    """A line of the file.

    Parameters
    ----------
    name, value : str
        The name, and the value without the blanks and the quotes around it.
    line : int
        Line of the file; 0 for a default of OpenSM.
    """

    name: str
    value: str
    line: int

    @property
    def is_set(self) -> bool:
        """Whether the value differs from those that OpenSM's template writes for unset options."""
        return self.value not in (NOT_SET, "-1", "0", "")


class Pair(NamedTuple):
    """An entry of a list as OpenSM reads it, before its numbers are reduced.

    Parameters
    ----------
    vl, weight : int
        32-bit numbers without a sign.
    """

    vl: int
    weight: int

    def programmed(self, vls: int) -> VLArbEntry:
        """Return the entry that OpenSM programs into a port with that many lanes."""
        return VLArbEntry((self.vl % 15) & _mask(vls), self.weight & 0xFF)


class Complaint(NamedTuple):
    """A warning that OpenSM logs about a list.

    Parameters
    ----------
    option : Option
        The list.
    field : str
        ``vl``, ``weight``, ``entry`` (no colon) or ``length``.
    text : str
        The part of the list; for ``length`` the number of parts.
    kind : str
        ``format``, ``range``, ``short`` or ``long``.
    """

    option: Option
    field: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Configured:
    """The options that hold for one type of port.

    Parameters
    ----------
    high, low, sl2vl, max_vls : Option
        The type's own, else the general one, else OpenSM's default.
    high_limits : tuple of Option
        The type's own and the general one, as far as the file has them.
    """

    high: Option
    low: Option
    sl2vl: Option
    max_vls: Option
    high_limits: tuple[Option, ...]

    @property
    def most_lanes(self) -> int:
        """The number of ``max_vls``."""
        return strtoul(_bytes(self.max_vls.value))[0]

    def pairs(self, option: Option) -> list[Pair]:
        """Return the entries of a list as OpenSM reads them, at most 64."""
        return _pairs(option.value)

    def programmed_list(self, option: Option, *, cap: int, vls: int) -> tuple[VLArbEntry, ...]:
        """Return the list that a port of that capacity and that many lanes gets, filled up with (0, 0)."""
        entries = [pair.programmed(vls) for pair in self.pairs(option)[:cap]]
        return tuple(_filled(entries, cap))

    def lanes(self) -> list[int]:
        """Return the numbers of the sl2vl option as OpenSM reads them: 16, missing ones 0."""
        return _lanes(self.sl2vl.value)

    def programmed_row(self, vls: int) -> SL2VLRow:
        """Return the SL2VL row that a port with that many lanes gets; 15 stays 15."""
        return tuple(vl if vl == _DROP else vl & _mask(vls) for vl in (vl & 0xF for vl in self.lanes()))

    def limit(self) -> int:
        """Return the limit that is programmed: the type's own, else the general one, else 0."""
        option = self.limit_option()
        return 0 if option is None else _int32(option.value)

    def limit_option(self) -> Option | None:
        """Return the option that the limit is from, or ``None`` for OpenSM's default."""
        return next((each for each in self.high_limits if 0 <= _int32(each.value) <= LIMIT_UNBOUNDED), None)

    def refused_limits(self) -> list[Option]:
        """Return the limits above 255, which OpenSM reports and ignores; negative ones are not set."""
        return [option for option in self.high_limits if _int32(option.value) > LIMIT_UNBOUNDED]

    def misread_limits(self) -> list[tuple[Option, int]]:
        """Return the limits that are no numbers, with the number that OpenSM reads without a warning."""
        found = []
        for place, option in enumerate(self.high_limits):
            value, whole = strtol(_bytes(option.value))
            unset = option.value == NOT_SET and Configured.limit(self) == self._limit_after(place)
            if (not whole or not option.value) and not unset:
                found.append((option, value))
        return found

    def _limit_after(self, place: int) -> int:
        rest = (_int32(each.value) for each in self.high_limits[place + 1 :])
        return next((value for value in rest if 0 <= value <= LIMIT_UNBOUNDED), 0)


@dataclass(frozen=True)
class OpenSMConf:
    """An options file.

    Parameters
    ----------
    file : str
        Name of the file.
    options : tuple of Option
        Every line with a name, in order.
    long_lines : tuple of int
        Lines longer than OpenSM's buffer, whose rest OpenSM reads as another line.
    """

    file: str
    options: tuple[Option, ...]
    long_lines: tuple[int, ...] = ()

    @cached_property
    def _last(self) -> dict[str, Option]:
        return {option.name: option for option in self.options}

    def get(self, name: str) -> Option | None:
        """Return the last line of a text option, or ``None`` if there is none or its value is ``(null)``."""
        option = self._last.get(name)
        return None if option is None or option.value == NOT_SET else option

    def number(self, name: str, most: int) -> tuple[Option, int] | None:
        """Return the last line of a numeric option that OpenSM can parse, and its number; ``None`` without one."""
        for option in reversed(self.options):
            if option.name == name:
                value, whole = strtoul(_bytes(option.value))
                if option.value and whole and value <= most:
                    return option, value
        return None

    @property
    def qos(self) -> bool:
        """Whether OpenSM programs QoS tables at all."""
        option = self._last.get("qos")
        return option is not None and option.value == "TRUE"

    @property
    def unknown(self) -> list[Option]:
        """First lines of set options that OpenSM does not know: of QoS, of congestion control, and without a name."""
        first: dict[str, Option] = {}
        for option in self.options:
            is_name = _NAME.fullmatch(option.name) is not None
            is_ours = option.name.lower().startswith(_OURS) and option.is_set
            if (is_ours or not is_name) and option.name not in _KNOWN and option.line not in self.long_lines:
                first.setdefault(option.name, option)
        return list(first.values())

    @property
    def unparsed(self) -> list[tuple[Option, int]]:
        """Lines of numbers of lanes that OpenSM rejects, with the largest number that it takes."""
        most = {**{f"{prefix}max_vls": _MOST_VLS for prefix in _PREFIXES}, "max_op_vls": 0xFF}
        found = []
        for option in self.options:
            if option.name in most:
                value, whole = strtoul(_bytes(option.value))
                if not (option.value and whole and value <= most[option.name]):
                    found.append((option, most[option.name]))
        return found

    @property
    def sets_qos(self) -> bool:
        """Whether any QoS option has a value that does something."""
        return any(option.name in _QOS and option.is_set for option in self.options)

    def sets(self, kind: Kind) -> bool:
        """Return whether any option of this type of port is set."""
        return any(option.name.startswith(_TYPE_PREFIX[kind]) and option.is_set for option in self.options)

    def configured(self, kind: Kind) -> Configured:
        """Return the options that hold for the ports of one kind of node (of a switch: its external ports)."""
        high, low, sl2vl = (self._text(kind, name) for name in ("vlarb_high", "vlarb_low", "sl2vl"))
        limits = (self._last.get(prefix + "high_limit") for prefix in (_TYPE_PREFIX[kind], "qos_"))
        return Configured(high, low, sl2vl, self._max_vls(kind), tuple(filter(None, limits)))

    @property
    def max_op_vls(self) -> int | None:
        """The data lanes that max_op_vls allows, or ``None`` if it is not set or unknown."""
        found = self.number("max_op_vls", 0xFF)
        return OP_VLS.get(str(found[1])) if found else None

    def limit(self, kind: Kind) -> int:
        """Return LimitOfHighPriority of the ports of one kind of node."""
        return self.configured(kind).limit()

    def _text(self, kind: Kind, name: str) -> Option:
        typed = self.get(_TYPE_PREFIX[kind] + name)
        return typed or self.get(f"qos_{name}") or _default(name)

    def _max_vls(self, kind: Kind) -> Option:
        for prefix in (_TYPE_PREFIX[kind], "qos_"):
            found = self.number(f"{prefix}max_vls", (1 << _INT_BITS) - 1)
            if found and 0 < found[1] <= _MOST_VLS:
                return found[0]
        return _default("max_vls")


def read_opensm_conf(path: Path) -> OpenSMConf:
    """Return the options of a file.

    Raises
    ------
    InputError
        If the file cannot be read, or no line of it begins with the name of an option.
    """
    dump = TextFile(path)
    conf = _parsed(path.name, ((line, dump.line) for line in dump))
    if not any(_NAME.fullmatch(option.name) for option in conf.options):
        raise InputError("content", "OpenSM options", "none", source=str(path))
    return conf


def opensm_options(file: str, text: str) -> OpenSMConf:
    """Return the options in a text.

    Parameters
    ----------
    file : str
        Name for messages.
    text : str
        Lines of the file.

    Examples
    --------
    >>> opensm_options("opensm.conf", "qos_high_limit '4'").options
    (Option(name='qos_high_limit', value='4', line=1),)
    """
    return _parsed(file, ((line, number) for number, line in enumerate(text.split("\n"), 1)))


def _parsed(file: str, lines: Iterable[tuple[str, int]]) -> OpenSMConf:
    options: list[Option] = []
    long_lines = []
    for line, number in lines:
        if len(line) > _LINE_CHARACTERS:
            long_lines.append(number)
        options += _options_of(line, number)
    return OpenSMConf(file, tuple(options), tuple(long_lines))


def complaints(option: Option) -> list[Complaint]:
    """Return the warnings that OpenSM logs about a vlarb or sl2vl option (``subn_verify_vlarb, subn_verify_sl2vl``)."""
    if not option.line:
        return []
    return list(_lane_complaints(option) if option.name.endswith("sl2vl") else _entry_complaints(option))


def is_misread(option: Option) -> bool:
    """Return whether OpenSM reads a vlarb or sl2vl option otherwise than its commas and colons divide it.

    OpenSM's check skips empty parts. The function that reads the list takes each empty part for a 0, without a warning.
    """
    if not option.line:
        return False
    parts = tokens(option.value)
    if option.name.endswith("sl2vl"):
        meant = [strtoul(_bytes(part))[0] & 0xF for part in parts][:SL_COUNT]
        return meant != [vl & 0xF for vl in _lanes(option.value)[: len(meant)]]
    entries = []
    for part in parts[:MAX_ENTRIES]:
        vl, weight = (strtoul(_bytes(text))[0] & UINT_MAX for text in part.partition(":")[::2])
        entries.append(Pair(vl, weight).programmed(_MOST_VLS))
    read = [pair.programmed(_MOST_VLS) for pair in _pairs(option.value)]
    most = max(len(entries), len(read))
    return _filled(entries, most) != _filled(read, most)


def _options_of(line: str, number: int) -> Iterator[Option]:
    """Yield the options of a line; a line longer than OpenSM's buffer is several lines to OpenSM."""
    for start in range(0, len(line), _LINE_CHARACTERS):
        text = line[start : start + _LINE_CHARACTERS].split("#", 1)[0].lstrip(" \t")
        name = re.split(r"[ \t]", text, maxsplit=1)
        if name[0].strip(_BLANKS):
            yield Option(name[0], _cleaned(name[1] if len(name) > 1 else ""), number)


def _cleaned(text: str) -> str:
    """Strip the blanks around a value, then one pair of quotes of one kind; blanks inside the quotes stay."""
    text = text.strip(_BLANKS)
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return text[1:-1]
    return text


def _default(name: str) -> Option:
    return Option(f"qos_{name} (OpenSM's default)", _DEFAULTS[name], 0)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _mask(vls: int) -> int:
    """Lanes 1, 2, 4, 8, 15 mask with 0, 1, 3, 7, 15."""
    return 15 if vls >= _MOST_VLS else (1 << (vls - 1).bit_length()) - 1


def _int32(text: str) -> int:
    """Return a limit as ``opts_parse_int32`` reads it: the number at the start, cut to 32 bits."""
    value = strtol(_bytes(text))[0] & (1 << _INT_BITS) - 1
    return value - (value >> (_INT_BITS - 1) << _INT_BITS)


@lru_cache(maxsize=64)
def _read(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers that OpenSM reads of a list before the text ends."""
    numbers = [0] * most
    return tuple(numbers[: read_list(_bytes(text), numbers)])


def _pairs(text: str) -> list[Pair]:
    numbers = (*_read(text, 2 * MAX_ENTRIES), 0)
    return [Pair(vl, weight) for vl, weight in zip(numbers[:-1:2], numbers[1::2], strict=True)]


def _lanes(text: str) -> list[int]:
    numbers = _read(text, SL_COUNT)
    return [*numbers, *[0] * (SL_COUNT - len(numbers))]


def _filled(entries: list[VLArbEntry], count: int) -> list[VLArbEntry]:
    return entries + [VLArbEntry(0, 0)] * (count - len(entries))


def _entry_complaints(option: Option) -> Iterator[Complaint]:
    parts = tokens(option.value)
    for part in parts:
        vl, colon, weight = part.partition(":")
        if not colon:
            yield Complaint(option, "entry", part, "format")
            continue
        yield from _number_complaint(option, "vl", vl, _LARGEST_VL)
        yield from _number_complaint(option, "weight", weight, MAX_WEIGHT)
    if len(parts) > MAX_ENTRIES:
        yield Complaint(option, "length", str(len(parts)), "long")


def _lane_complaints(option: Option) -> Iterator[Complaint]:
    parts = tokens(option.value)
    for part in parts:
        yield from _number_complaint(option, "vl", part, _DROP)
    if len(parts) != SL_COUNT:
        yield Complaint(option, "length", str(len(parts)), "short" if len(parts) < SL_COUNT else "long")


def _number_complaint(option: Option, field: str, text: str, most: int) -> Iterator[Complaint]:
    value, whole = strtol(_bytes(text))
    if not whole:
        yield Complaint(option, field, text, "format")
    elif not 0 <= value <= most:
        yield Complaint(option, field, str(value), "range")
