"""OpenSM's QoS options, and the tables that OpenSM 3.3.23 programs from them.

OpenSM reads the lists with C's ``strtoul`` and skips one character after each number, whatever it is; the
lane is taken modulo 15, the weight modulo 256; lanes that do not exist are masked, not refused; entries
beyond the port's capacity are dropped. All of it was seen on a running subnet manager (``docs/fabric.md``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.model import Kind
from vlane.fabric.sl2vl_tables import SL2VLRow
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, VLArbEntry

if TYPE_CHECKING:
    from pathlib import Path

_TYPE_PREFIX = {Kind.CA: "qos_ca_", Kind.SWITCH: "qos_swe_", Kind.ROUTER: "qos_rtr_"}
_DEFAULTS = {
    "max_vls": "15",
    "vlarb_high": ",".join(f"{vl}:{4 if vl == 0 else 0}" for vl in range(15)),
    "vlarb_low": ",".join(f"{vl}:{0 if vl == 0 else 4}" for vl in range(15)),
    "sl2vl": ",".join(map(str, (*range(15), 7))),
}
_NUMBER = re.compile(r"\s*+([+-]?)(0[xX][0-9a-fA-F]{1,64}|0[0-7]{0,64}|[1-9][0-9]{0,64})")
_PAIR = re.compile(r"\s*[0-9]{1,9}\s*:\s*-?[0-9]{1,9}\s*$")
_ULONG = 1 << 64
OP_VLS = {"1": 1, "2": 2, "3": 4, "4": 8, "5": 15}
"""Data lanes by the number that max_op_vls has for them (IBA 14.2.5.6, VLCap)."""
_SLS = 16


class Option(NamedTuple):
    """A line of the file.

    Parameters
    ----------
    name, value : str
        As written.
    line : int
        Line of the file; 0 for a default of OpenSM.
    """

    name: str
    value: str
    line: int


class Pair(NamedTuple):
    """An entry of a list as it is written, before OpenSM reduces its numbers.

    Parameters
    ----------
    vl, weight : int
        Any size.
    """

    vl: int
    weight: int

    def programmed(self, vls: int) -> VLArbEntry:
        """Return the entry that OpenSM programs into a port with that many lanes."""
        return VLArbEntry((self.vl % 15) & _mask(vls), self.weight & 0xFF)


@dataclass(frozen=True, slots=True)
class Configured:
    """The options that hold for one type of port.

    Parameters
    ----------
    high, low, sl2vl, max_vls : Option
        The type's own, else the general one, else OpenSM's default.
    high_limits : tuple of Option
        The type's own and the general one, as far as they are set.
    """

    high: Option
    low: Option
    sl2vl: Option
    max_vls: Option
    high_limits: tuple[Option, ...]

    def pairs(self, option: Option) -> list[Pair]:
        """Return the entries of a list as OpenSM reads them, at most 64."""
        numbers = (*_walked(option.value, 2 * MAX_ENTRIES), 0)
        return [Pair(vl, weight) for vl, weight in zip(numbers[:-1:2], numbers[1::2], strict=True)]

    def programmed_list(self, option: Option, *, cap: int, vls: int) -> tuple[VLArbEntry, ...]:
        """Return the list that a port of that capacity and that many lanes gets, filled up with (0, 0)."""
        entries = [pair.programmed(vls) for pair in self.pairs(option)[:cap]]
        return tuple(entries + [VLArbEntry(0, 0)] * (cap - len(entries)))

    def lanes(self) -> list[int]:
        """Return the lanes of the sl2vl option as they are written: 16, missing ones 0."""
        numbers = _walked(self.sl2vl.value, _SLS)
        return [*numbers, *[0] * (_SLS - len(numbers))]

    def programmed_row(self, vls: int) -> SL2VLRow:
        """Return the SL2VL row that a port with that many lanes gets; 15 stays 15."""
        return tuple(vl if vl == 15 else vl & _mask(vls) for vl in (vl & 0xF for vl in self.lanes()))

    def limit(self) -> int:
        """Return the limit that is programmed: the first usable one of the type's, the general one and 0."""
        return next(value for value in (*map(_limit, self.high_limits), 0) if value is not None)

    def refused_limits(self) -> list[Option]:
        """Return the limits that OpenSM passes over."""
        return [option for option in self.high_limits if _limit(option) is None]

    def malformed(self, option: Option) -> list[str]:
        """Return the comma-separated parts of a list that are not VL:weight."""
        return [part for part in option.value.split(",") if not _PAIR.match(part)]


@dataclass(frozen=True, slots=True)
class OpenSMConf:
    """An options file.

    Parameters
    ----------
    file : str
        Name of the file.
    options : tuple of Option
        Every line with a value; of a name given twice the last holds.
    """

    file: str
    options: tuple[Option, ...]

    def get(self, name: str) -> Option | None:
        """Return an option, or ``None`` if it is not set."""
        return next((o for o in reversed(self.options) if o.name == name and o.value != "(null)"), None)

    @property
    def qos(self) -> bool:
        """Whether OpenSM programs QoS tables at all."""
        option = self.get("qos")
        return option is not None and option.value == "TRUE"

    def configured(self, kind: Kind) -> Configured:
        """Return what holds for the ports of one kind of node (of a switch: its external ports)."""
        high, low, sl2vl, max_vls = (
            self._effective(kind, name) for name in ("vlarb_high", "vlarb_low", "sl2vl", "max_vls")
        )
        limits = (self.get(prefix + "high_limit") for prefix in (_TYPE_PREFIX[kind], "qos_"))
        return Configured(high, low, sl2vl, max_vls, tuple(filter(None, limits)))

    @property
    def max_op_vls(self) -> int | None:
        """The data lanes that max_op_vls allows, or ``None`` if it is not set or unknown."""
        option = self.get("max_op_vls")
        return OP_VLS.get(option.value) if option else None

    def limit(self, kind: Kind) -> int:
        """Return LimitOfHighPriority of the ports of one kind of node."""
        return self.configured(kind).limit()

    def _effective(self, kind: Kind, name: str) -> Option:
        typed = self.get(_TYPE_PREFIX[kind] + name)
        return typed or self.get(f"qos_{name}") or Option(f"qos_{name} (OpenSM's default)", _DEFAULTS[name], 0)


def read_opensm_conf(path: Path) -> OpenSMConf:
    """Return the options of a file; unknown ones are kept, OpenSM has hundreds.

    Raises
    ------
    InputError
        For a line that is no ``name value``.
    """
    dump = TextFile(path)
    options = []
    for line in dump:
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        name, value = [*text.split(None, 1), ""][:2]
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            dump.refuse("line", "an option name and its value", text)
        options.append(Option(name, value.strip().strip('"'), dump.line))
    if not options:
        raise InputError("content", "OpenSM options", "none", source=str(path))
    return OpenSMConf(path.name, tuple(options))


def _mask(vls: int) -> int:
    """Lanes 1, 2, 4, 8, 15 mask with 0, 1, 3, 7, 15."""
    return 15 if vls >= 15 else (1 << (vls - 1).bit_length()) - 1


def _limit(option: Option) -> int | None:
    """Return a limit as strtol with base 0 reads it, or ``None`` if OpenSM passes it over."""
    found = _NUMBER.fullmatch(option.value)
    if found is None or found.group(1) == "-":
        return None
    value = _walked(option.value, 1)[0]
    return value if value <= LIMIT_UNBOUNDED else None


@lru_cache(maxsize=32)
def _walked(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers that OpenSM reads of a list: C's strtoul with base 0, one character skipped after each."""
    numbers: list[int] = []
    at = 0
    while at < len(text) and len(numbers) < most:
        found = _NUMBER.match(text, at)
        if found is None:
            numbers.append(0)
            at += 1
            continue
        digits = found.group(2)
        base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and len(digits) > 1 else 10
        value = int(digits, base)
        numbers.append(-value % _ULONG if found.group(1) == "-" else value)
        at = found.end() + 1
    return tuple(numbers)
