"""Data rates of links by number or by name, and the duration of a cycle at a rate (``docs/network.md``, Units).

The rate of a link is its **data rate**: the signalling rate without the overhead of the line code. Signalling rates and
line codes are those of the InfiniBand Architecture Specification, volume 2 (8b/10b to QDR, 64b/66b to EDR, 256b/257b
with the code RS(544, 514) from HDR on), and Linux' ``ib_rate_to_mbps``; FDR10 is Mellanox's, 10.3125 Gb/s a lane. The
first generation of Omni-Path puts 16 flits of 64 data bits each into a link transfer packet of 1056 bits (Birrittella
and others, "Intel Omni-Path Architecture", Hot Interconnects 2015): 64 in 66 of four times 25.78125 Gb/s. Of the second
one (CN5000) only the data rate of 400 Gb/s is published; its signalling rate here is that of four lanes of 106.25 Gb/s.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from vlane.errors import InputError, closest
from vlane.units import BLOCK_BYTES

__all__ = ["DEFAULT_RATE", "NAMED_RATES", "LinkClock", "NamedRate", "lane_generation", "rate_of", "shown_ns"]

DEFAULT_RATE = "EDR 4X"
"""Default link rate of a study."""

_LEAST_GBPS, _MOST_GBPS = 1e-3, 1e6

_8B10B, _64B66B = Fraction(8, 10), Fraction(64, 66)
_PAM4 = Fraction(256, 257) * Fraction(514, 544)
_LANES = (
    ("SDR", Fraction("2.5"), _8B10B, (1, 4, 8, 12)),
    ("DDR", Fraction(5), _8B10B, (1, 4, 8, 12)),
    ("QDR", Fraction(10), _8B10B, (1, 4, 8, 12)),
    ("FDR10", Fraction("10.3125"), _64B66B, (1, 4, 8, 12)),
    ("FDR", Fraction("14.0625"), _64B66B, (1, 2, 4, 8, 12)),
    ("EDR", Fraction("25.78125"), _64B66B, (1, 2, 4, 8, 12)),
    ("HDR", Fraction("53.125"), _PAM4, (1, 2, 4, 8, 12)),
    ("NDR", Fraction("106.25"), _PAM4, (1, 2, 4, 8, 12)),
    ("XDR", Fraction("212.5"), _PAM4, (1, 2, 4, 8, 12)),
)
"""Of each generation the signalling rate of a lane in Gb/s, the part that is data, and the widths that exist."""
_OMNI_PATH = (("OPA 100", 103.125, 100.0), ("OPA 400", 425.0, 400.0))
_LANE_SPEEDS = {
    "2.5": "SDR",
    "5": "DDR",
    "10": "QDR",
    "10.3125": "FDR10",
    "FDR10": "FDR10",
    "14": "FDR",
    "14.0625": "FDR",
    "25": "EDR",
    "25.78125": "EDR",
    "50": "HDR",
    "53.125": "HDR",
    "100": "NDR",
    "106.25": "NDR",
    "200": "XDR",
    "212.5": "XDR",
}
"""Generation by the Gb/s of a lane, as OpenSM and ibdiagnet print it."""


class NamedRate(NamedTuple):
    """Rate with a name.

    Parameters
    ----------
    name : str
        Generation and width, for example ``EDR 4X``.
    signalling_gbps, data_gbps : float
        Total bit rates of all lanes with and without line code, in Gb/s.
    """

    name: str
    signalling_gbps: float
    data_gbps: float


def _rates() -> dict[str, NamedRate]:
    made = {}
    for generation, lane, part, widths in _LANES:
        for width in widths:
            name = f"{generation} {width}X"
            made[name] = NamedRate(name, float(width * lane), float(width * lane * part))
    return made | {name: NamedRate(name, *gbps) for name, *gbps in _OMNI_PATH}


NAMED_RATES = _rates()
"""All named rates."""

_SYNONYMS = {
    "OPA100": "OPA 100",
    "OPA400": "OPA 400",
    "CN5000": "OPA 400",
    "EDR100": "EDR 4X",
    "HDR100": "HDR 2X",
    "HDR200": "HDR 4X",
    "NDR200": "NDR 2X",
    "NDR400": "NDR 4X",
    "XDR400": "XDR 2X",
    "XDR800": "XDR 4X",
}
_GENERATION = "|".join(lane[0] for lane in _LANES)
_NAME = re.compile(rf"({_GENERATION})(?:([0-9]+)X)?|([0-9]+)X({_GENERATION})")
_WORD = re.compile(r"([A-Z]+)([0-9]*)")


def lane_generation(speed: str) -> str:
    """Return the generation whose lanes have a speed, as a tool prints it. The text is empty if unknown.

    Examples
    --------
    >>> lane_generation("25"), lane_generation("FDR10"), lane_generation("?")
    ('EDR', 'FDR10', '')
    """
    return _LANE_SPEEDS.get(speed, "")


def _named(text: str) -> tuple[NamedRate | None, str]:
    """Return the rate of a name in any spelling, such as ``4xEDR``, or the name that may have been meant."""
    word = re.sub(r"[\s_-]", "", text.upper())
    found = _NAME.fullmatch(word)
    name = f"{found[1] or found[4]} {found[2] or found[3]}X" if found else _SYNONYMS.get(word, "")
    if name in NAMED_RATES:
        return NAMED_RATES[name], ""
    return None, f"{found[1] or found[4]} 4X" if found else _meant(word, closest(text.strip(), NAMED_RATES))


def _meant(word: str, name: str) -> str:
    """Return a similar name, unless it stands for another generation or another rate than the word does."""
    given, known = _WORD.match(word), _WORD.match(name.replace(" ", ""))
    if given is None or known is None:
        return ""
    letters = given[1] == known[1] or (len(given[1]) > len(known[1]) and given[1].startswith(known[1]))
    digits = given[2].startswith(known[2]) or known[2].startswith(given[2])
    return name if letters and digits else ""


def rate_of(value: object, field: str = "rate_gbps") -> float:
    """Return a data rate in Gb/s from a number or a name.

    Raises
    ------
    InputError
        If the rate is unknown or out of range; the error names the field and the closest known name.

    Examples
    --------
    >>> rate_of("EDR 4X"), rate_of("4xQDR"), rate_of(25), rate_of("12.5")
    (100.0, 32.0, 25.0, 12.5)
    """
    gbps, meant = math.nan, ""
    if isinstance(value, str):
        named, meant = _named(value)
        if named is not None:
            return named.data_gbps
        try:
            gbps = float(value) if value.isascii() and "_" not in value else math.nan
        except ValueError:
            gbps = math.nan
    elif isinstance(value, int | float) and not isinstance(value, bool):
        gbps = float(value) if abs(value) <= _MOST_GBPS else math.inf
    if not _LEAST_GBPS <= gbps <= _MOST_GBPS:
        names = f"{', '.join(lane[0] for lane in _LANES)} with 1X to 12X, {', '.join(name for name, *_ in _OMNI_PATH)}"
        must = f"{_LEAST_GBPS:g} to {_MOST_GBPS:.0f}, in Gb/s, or a name such as {DEFAULT_RATE} ({names})"
        raise InputError(field, must, value, meant=meant)
    return gbps


@dataclass(frozen=True, slots=True)
class LinkClock:
    """Conversion of cycles to time, and of flits per cycle to bit rates.

    A link carries one flit per cycle.

    Parameters
    ----------
    rate_gbps : float
        Data rate of the link in Gb/s.
    flit_bytes : int
        Bytes per cycle.

    Examples
    --------
    >>> clock = LinkClock(100.0)
    >>> clock.cycle_ns, clock.ns(1000), clock.gbps(0.5)
    (5.12, 5120.0, 50.0)
    """

    rate_gbps: float
    flit_bytes: int = BLOCK_BYTES

    @property
    def cycle_ns(self) -> float:
        """Duration of a cycle in nanoseconds."""
        return 8 * self.flit_bytes / self.rate_gbps

    def ns(self, cycles: float) -> float:
        """Return the duration of cycles in nanoseconds."""
        return cycles * self.cycle_ns

    def gbps(self, flits_per_cycle: float) -> float:
        """Return a rate in flits per cycle as Gb/s, with every flit counted as full."""
        return flits_per_cycle * self.rate_gbps


def shown_ns(ns: float) -> str:
    """Return a time with a suitable unit and four significant digits.

    Examples
    --------
    >>> shown_ns(5.12), shown_ns(51234.0), shown_ns(5.632e6), shown_ns(2e9)
    ('5.12 ns', '51.23 us', '5.632 ms', '2 s')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"
