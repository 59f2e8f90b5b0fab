"""OpenSM's QoS options, and the tables programmed by OpenSM from the options.

The rules follow OpenSM 3.3.23 with its public sources (``linux-rdma/opensm``). ``docs/opensm_conf.md`` describes the
comparison with the running daemon.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.dumps.opensm_numbers import strtol, strtoul
from vlane.fabric.model import Kind
from vlane.fabric.options import rules
from vlane.fabric.options.lines import (
    KNOWN,
    LINE_BYTES,
    LONG_LINES,
    NONE,
    OPTIONS,
    Options,
    has_names,
    new_options,
    read_options,
    zeros,
)
from vlane.fabric.options.words import (
    ADAPTERS,
    NAMES,
    NOT_SET,
    PREAMBLE,
    QOS,
    ROUTERS,
    SL2VL,
    SWITCHES,
    VLARB_HIGH,
    VLARB_LOW,
)
from vlane.fabric.sl2vl_tables import SL2VLRow
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, VLArbEntry, VLArbTable
from vlane.tables.sl2vl import SL_COUNT

if TYPE_CHECKING:
    from pathlib import Path

PLACE = {Kind.CA: ADAPTERS, Kind.SWITCH: SWITCHES, Kind.ROUTER: ROUTERS}
"""Kinds of port of the rules, by kind of node (external ports of switches)."""
_FIELDS = {rules.VL_FIELD: "vl", rules.WEIGHT_FIELD: "weight", rules.ENTRY_FIELD: "entry"}
_BYTE_MAX = 0xFF


class Option(NamedTuple):
    """A line of the file.

    Parameters
    ----------
    name, value : str
        Name, and value without enclosing blanks and quotes.
    line : int
        Line number in the file; 0 for a default of OpenSM.
    """

    name: str
    value: str
    line: int

    @property
    def is_set(self) -> bool:
        """Whether the value differs from the placeholders for unset options in OpenSM's template."""
        text = _bytes(self.value)
        return rules.is_set_value(text, 0, len(text))


class Pair(NamedTuple):
    """An entry of a list as parsed by OpenSM. ``programmed`` reduces the numbers to the bits that a port stores.

    Parameters
    ----------
    vl, weight : int
        Unsigned 32-bit numbers.
    """

    vl: int
    weight: int

    def programmed(self, vls: int) -> VLArbEntry:
        """Return the entry programmed into a port with ``vls`` lanes."""
        return VLArbEntry(rules.programmed_vl(self.vl, vls), self.weight & _BYTE_MAX)


class Complaint(NamedTuple):
    """A warning of OpenSM's log about a list.

    Parameters
    ----------
    option : Option
        Option with the list.
    field : str
        Wrong field: ``vl``, ``weight``, ``entry`` (no colon) or ``length``.
    text : str
        Wrong part of the list; for ``length`` the number of parts.
    kind : str
        Kind of fault: ``format``, ``range``, ``short`` or ``long``.
    """

    option: Option
    field: str
    text: str
    kind: str


@dataclass(frozen=True)
class Configured:
    """Effective options of one type of port.

    Parameters
    ----------
    conf : OpenSMConf
        Options of the file.
    kind : int
        Kind of port, a place of ``words.PREFIXES``.
    """

    conf: OpenSMConf
    kind: int

    @cached_property
    def high(self) -> Option:
        """High list: the option of the type, else the general option, else OpenSM's default."""
        return self._text(VLARB_HIGH)

    @cached_property
    def low(self) -> Option:
        """Low list, selected as ``high``."""
        return self._text(VLARB_LOW)

    @cached_property
    def sl2vl(self) -> Option:
        """SL2VL row, selected as ``high``."""
        return self._text(SL2VL)

    @cached_property
    def max_vls(self) -> Option:
        """Number of lanes, selected as ``high`` among the accepted lines."""
        return self.conf.option(rules.max_vls_option(self.conf.parsed, self.kind))

    @property
    def most_lanes(self) -> int:
        """Value of ``max_vls``."""
        return strtoul(_bytes(self.max_vls.value))[0]

    def pairs(self, option: Option) -> list[Pair]:
        """Return the entries of a list as parsed by OpenSM, at most 64."""
        text, numbers = _bytes(option.value), [0] * (2 * MAX_ENTRIES)
        count = rules.read_entries(text, 0, len(text), numbers)
        return [Pair(vl, weight) for vl, weight in zip(numbers[::2], numbers[1::2], strict=True)][:count]

    def programmed_list(self, option: Option, *, cap: int, vls: int) -> tuple[VLArbEntry, ...]:
        """Return the list programmed into a port with capacity ``cap`` and ``vls`` lanes, padded with (0, 0)."""
        entries = [pair.programmed(vls) for pair in self.pairs(option)[:cap]]
        return (*entries, *[VLArbEntry(0, 0)] * (cap - len(entries)))

    def table(self, vls: int) -> VLArbTable:
        """Return the table programmed into a port with ``vls`` lanes, without unused entries at the ends of lists."""
        lists = []
        for option in (self.high, self.low):
            text, (vl, weight) = _bytes(option.value), ([0] * MAX_ENTRIES for _ in range(2))
            used = rules.programmed_list(text, 0, len(text), vls, [0] * (2 * MAX_ENTRIES), vl, weight)
            lists.append(tuple(map(VLArbEntry, vl[:used], weight[:used])))
        return VLArbTable(lists[0], lists[1], self.limit())

    def lanes(self) -> list[int]:
        """Return the 16 lanes of the sl2vl option as parsed by OpenSM. Missing lanes are 0."""
        text, lanes = _bytes(self.sl2vl.value), [0] * SL_COUNT
        rules.read_lanes(text, 0, len(text), lanes)
        return lanes

    def programmed_row(self, vls: int) -> SL2VLRow:
        """Return the SL2VL row programmed into a port with ``vls`` lanes. VL 15 stays 15."""
        return tuple(rules.programmed_lane(lane, vls) for lane in self.lanes())

    def limit(self) -> int:
        """Return the programmed limit: from the option of the type, else from the general option, else 0."""
        return rules.limit_from(self.conf.parsed, self.kind, 0)

    def limit_option(self) -> Option | None:
        """Return the option with the effective limit, or ``None`` for OpenSM's default."""
        found = rules.limit_option(self.conf.parsed, self.kind, 0)
        return None if found == NONE else self.conf.option(found)

    def refused_limits(self) -> list[Option]:
        """Return the limits above 255, which OpenSM reports and ignores. A negative limit counts as unset."""
        given = (rules.limit_line(self.conf.parsed, self.kind, place) for place in range(2))
        return [
            self.conf.option(each)
            for each in given
            if each != NONE and rules.limit_value(self.conf.parsed, each) > LIMIT_UNBOUNDED
        ]

    def _text(self, name: int) -> Option:
        return self.conf.option(rules.text_option(self.conf.parsed, self.kind, name))


@dataclass(frozen=True)
class OpenSMConf:
    """An options file.

    Parameters
    ----------
    file : str
        Name of the file.
    text : bytes
        Lines of the file.
    """

    file: str
    text: bytes

    @cached_property
    def parsed(self) -> Options:
        """Options for the functions of ``vlane.fabric.options``, OpenSM's defaults included."""
        data = PREAMBLE + self.text
        pieces = data.count(b"\n") + len(data) // LINE_BYTES + 2
        options = new_options(data, pieces, zeros)
        read_options(options, len(PREAMBLE), len(data))
        return options

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """All lines with a name, in order."""
        return tuple(self.option(each) for each in range(self.parsed.counts[KNOWN], self.parsed.counts[OPTIONS]))

    @property
    def long_lines(self) -> tuple[int, ...]:
        """Numbers of lines longer than OpenSM's buffer. OpenSM parses the rest as a further line."""
        return tuple(self.parsed.long_lines[: self.parsed.counts[LONG_LINES]])

    @cached_property
    def _last(self) -> dict[str, Option]:
        return {option.name: option for option in self.options}

    def option(self, place: int) -> Option:
        """Return the option at a place of ``parsed``."""
        parsed = self.parsed
        name = _text(parsed.text[parsed.name_from[place] : parsed.name_to[place]])
        shown = f"{name} (OpenSM's default)" if rules.is_default(parsed, place) else name
        return Option(shown, _text(parsed.text[parsed.value_from[place] : parsed.value_to[place]]), parsed.line[place])

    def get(self, name: str) -> Option | None:
        """Return the last line of a text option, or ``None`` if there is no line or the value is ``(null)``."""
        option = self._last.get(name)
        return None if option is None or option.value == NOT_SET else option

    @property
    def qos(self) -> bool:
        """Whether OpenSM programs QoS tables."""
        return rules.is_on(self.parsed)

    @property
    def sets_qos(self) -> bool:
        """Whether any QoS option has an effective value."""
        first = self.parsed.first
        given = range(self.parsed.counts[KNOWN], self.parsed.counts[OPTIONS])
        return any(first[each] < QOS and rules.is_set(self.parsed, each) for each in given)

    def sets(self, kind: Kind) -> bool:
        """Return whether any option of this type of port is set."""
        return rules.sets(self.parsed, PLACE[kind])

    def configured(self, kind: Kind) -> Configured:
        """Return the effective options for ports of a kind of node (external ports of switches)."""
        return Configured(self, PLACE[kind])

    @property
    def max_op_vls(self) -> int | None:
        """Number of data lanes allowed by max_op_vls, or ``None`` for an unset or unknown code."""
        found = rules.max_op_vls(self.parsed)
        return None if found == NONE else found

    def limit(self, kind: Kind) -> int:
        """Return LimitOfHighPriority for the ports of a kind of node."""
        return self.configured(kind).limit()


def read_opensm_conf(path: Path) -> OpenSMConf:
    """Return the options of a file.

    Raises
    ------
    InputError
        If the file cannot be read, or no line begins with the name of an option.
    """
    conf = opensm_options(path.name, "\n".join(TextFile(path)))
    if not has_names(conf.parsed):
        problem = ": no OpenSM option found; expected an OpenSM options file"
        raise InputError("file", "an OpenSM options file", "a file without options", source=str(path), problem=problem)
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
    return OpenSMConf(file, _bytes(text))


def complaints(option: Option) -> list[Complaint]:
    """Return OpenSM's warnings about a vlarb or sl2vl option (``subn_verify_vlarb``, ``subn_verify_sl2vl``)."""
    if not option.line:
        return []
    text, is_row = _bytes(option.value), _is_row(option)
    faults = [0] * (rules.FAULT_NUMBERS * (2 * text.count(b",") + 2))
    parts, count = rules.list_faults(text, 0, len(text), is_row, faults)
    found = list(_complaints(option, text, faults[: rules.FAULT_NUMBERS * count]))
    if parts > (SL_COUNT if is_row else MAX_ENTRIES):
        found.append(Complaint(option, "length", str(parts), "long"))
    elif is_row and parts < SL_COUNT:
        found.append(Complaint(option, "length", str(parts), "short"))
    return found


def _complaints(option: Option, text: bytes, faults: list[int]) -> Iterator[Complaint]:
    for at in range(0, len(faults), rules.FAULT_NUMBERS):
        field, kind, start, end = faults[at : at + rules.FAULT_NUMBERS]
        part = text[start:end]
        if kind == rules.FORMAT:
            yield Complaint(option, _FIELDS[field], _text(part), "format")
        else:
            yield Complaint(option, _FIELDS[field], str(strtol(part)[0]), "range")


def is_misread(option: Option) -> bool:
    """Return whether OpenSM parses a vlarb or sl2vl option into other numbers than its commas and colons separate."""
    if not option.line:
        return False
    text, is_row = _bytes(option.value), _is_row(option)
    numbers = [0] * (SL_COUNT if is_row else 2 * MAX_ENTRIES)
    return rules.is_misread(text, 0, len(text), is_row, numbers)


def _is_row(option: Option) -> bool:
    return option.name.endswith(NAMES[SL2VL])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: Sequence[int]) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")
