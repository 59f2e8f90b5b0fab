"""OpenSM's options of congestion control, and settings of them that cannot work.

Options of an SL are ``name SL VALUE``, once for each SL; ``cc_cct`` is a list of shift:multiplier, and CCTI_Limit its
last entry. OpenSM sends none of them unless ``congestion_control`` is ``TRUE``.

Values are read as ``osm_subnet.c`` of OpenSM 3.3.23 reads them: numbers by ``opts_strtoul`` (base 0), masks by
``opts_parse_256bit`` (hexadecimal with or without ``0x``), options of an SL by ``parse_ca_cong_common``, lists by
``opts_parse_cc_cct``. OpenSM ignores a line that it cannot parse. ``CongestionOptions.faults`` names these lines, and
those whose value does not fit its field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from vlane.congestion.cc_marker import RATE_BITS, SIZE_BITS, THRESHOLD_BITS
from vlane.congestion.cc_source import BYTE_BITS, MULTIPLIER_BITS, SHIFT_BITS, TIMER_BITS
from vlane.fabric.dumps.opensm_conf import OpenSMConf, Option
from vlane.fabric.dumps.opensm_numbers import strtoul, tokens
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Kind
from vlane.tables.sl2vl import SL_COUNT

_PREFIX, _SWITCH, _CA = "cc_", "cc_sw_cong_setting_", "cc_ca_cong_setting_"
_VICTIM_BIT, _CREDIT_BIT, _THRESHOLD_BIT, _STARVATION_BIT, _RATE_BIT = range(5)
"""Bits of Control_Map: the valid parts of the SwitchCongestionSetting."""
_MASK_DIGITS = 64
_MASK = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)")
_MASKS = ("victim_mask", "credit_mask")
_BITS = {
    f"{_SWITCH}control_map": (32, 32),
    f"{_SWITCH}threshold": (8, THRESHOLD_BITS),
    f"{_SWITCH}packet_size": (8, SIZE_BITS),
    f"{_SWITCH}marking_rate": (16, RATE_BITS),
    f"{_SWITCH}credit_starvation_threshold": (8, THRESHOLD_BITS),
    f"{_CA}port_control": (16, 16),
    f"{_CA}control_map": (16, 16),
}
"""Bits of the number that OpenSM parses, and of the field that it sends."""
_OF_SL = {"ccti_timer": TIMER_BITS, "ccti_increase": BYTE_BITS, "trigger_threshold": BYTE_BITS, "ccti_min": BYTE_BITS}
_MOST_ENTRIES = 128
"""Entries of a CCT that OpenSM holds (``OSM_CCT_ENTRY_MAX``)."""
_DELAY = f"{_SWITCH}credit_starvation_return_delay"


class Fault(NamedTuple):
    """A line that OpenSM ignores, or whose value OpenSM cuts.

    Parameters
    ----------
    option : Option
        The line.
    text : str
        The value, or the part of the value that is wrong.
    must : str
        Values that OpenSM takes as they are.
    effect : str
        Result of this value.
    """

    option: Option
    text: str
    must: str
    effect: str


@dataclass(frozen=True)
class SLOptions:
    """Settings of an SL.

    Parameters
    ----------
    ccti_timer, ccti_increase, trigger_threshold, ccti_min : int
        As the components of CACongestionEntry.
    """

    ccti_timer: int = 0
    ccti_increase: int = 0
    trigger_threshold: int = 0
    ccti_min: int = 0


@dataclass(frozen=True)
class CongestionOptions:
    """Settings that OpenSM sends.

    Parameters
    ----------
    is_on : bool
        ``congestion_control`` is ``TRUE``.
    control_map, victim_mask, threshold, packet_size, marking_rate, credit_mask, credit_starvation_threshold : int
        Of the SwitchCongestionSetting; bit p of a mask is port p.
    return_delay : (int, int)
        CS_ReturnDelay of it: shift and multiplier.
    port_control, sl_map : int
        Of the CACongestionSetting; SLs that are set, as bits.
    levels : tuple of SLOptions
        Of each of the 16 SLs.
    cct : tuple of (int, int)
        Shift and multiplier of each entry.
    lines : dict of str to Option
        Last line of each option.
    faults : tuple of Fault
        Lines that OpenSM ignores or cuts, in the order of the file.
    """

    is_on: bool
    control_map: int
    victim_mask: int
    threshold: int
    packet_size: int
    marking_rate: int
    credit_mask: int
    credit_starvation_threshold: int
    return_delay: tuple[int, int]
    port_control: int
    sl_map: int
    levels: tuple[SLOptions, ...]
    cct: tuple[tuple[int, int], ...]
    lines: dict[str, Option] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    @property
    def in_force(self) -> tuple[int, int, int, int]:
        """Threshold, Packet_Size, Marking_Rate and Victim_Mask as far as Control_Map sends them, else 0."""
        has_limit, has_rate = (self.control_map >> bit & 1 for bit in (_THRESHOLD_BIT, _RATE_BIT))
        mask = self.victim_mask if self.control_map >> _VICTIM_BIT & 1 else 0
        return self.threshold * has_limit, self.packet_size * has_limit, self.marking_rate * has_rate, mask

    @property
    def starvation(self) -> tuple[int, int, tuple[int, int]]:
        """Credit_Mask, CS_Threshold and CS_ReturnDelay as far as Control_Map sends them, else 0."""
        mask = self.credit_mask if self.control_map >> _CREDIT_BIT & 1 else 0
        if not self.control_map >> _STARVATION_BIT & 1:
            return mask, 0, (0, 0)
        return mask, self.credit_starvation_threshold, self.return_delay

    def level(self, sl: int) -> SLOptions:
        """Return the settings of an SL that are sent: zeros for an SL that the map leaves out."""
        return self.levels[sl] if self.sl_map >> sl & 1 else SLOptions()


def congestion_options(conf: OpenSMConf) -> CongestionOptions | None:
    """Return the options of congestion control as OpenSM reads them; None if the file has none."""
    lines = {option.name: option for option in conf.options if option.name.startswith(_PREFIX)}
    if not lines:
        return None
    read = _Read()
    for option in conf.options:
        read.option(option)
    numbers = {name.removeprefix(_SWITCH): value for name, value in read.numbers.items()}
    on = conf.get("congestion_control")
    return CongestionOptions(
        is_on=on is not None and on.value == "TRUE",
        control_map=numbers["control_map"],
        threshold=numbers["threshold"],
        packet_size=numbers["packet_size"],
        marking_rate=numbers["marking_rate"],
        credit_starvation_threshold=numbers["credit_starvation_threshold"],
        **read.masks,
        port_control=read.numbers[f"{_CA}port_control"],
        sl_map=read.numbers[f"{_CA}control_map"],
        levels=tuple(SLOptions(**values) for values in read.levels),
        cct=read.cct,
        return_delay=read.delay,
        lines=lines,
        faults=tuple(read.faults),
    )


class _Read:
    """Values as they stand after each line: a line that OpenSM cannot parse changes nothing."""

    def __init__(self) -> None:
        self.numbers = dict.fromkeys(_BITS, 0)
        self.masks = dict.fromkeys(_MASKS, 0)
        self.levels = [dict.fromkeys(_OF_SL, 0) for _ in range(SL_COUNT)]
        self.cct: tuple[tuple[int, int], ...] = ()
        self.delay = (0, 0)
        self.faults: list[Fault] = []

    def option(self, option: Option) -> None:
        """Take a line over, if it is one of congestion control."""
        name = option.name
        if name in _BITS:
            parsed, sent = _BITS[name]
            value = self._number(option, option.value, parsed, sent)
            self.numbers[name] = self.numbers[name] if value is None else value
        elif name.removeprefix(_SWITCH) in _MASKS:
            self._mask(option, name.removeprefix(_SWITCH))
        elif name.removeprefix(_CA) in _OF_SL and name.startswith(_CA):
            self._level(option, name.removeprefix(_CA))
        elif name == "cc_cct":
            self._cct(option)
        elif name == _DELAY:
            found = self._delay(option, option.value)
            self.delay = found or self.delay

    def _fault(self, option: Option, must: str, effect: str = "OpenSM ignores the line", text: str = "") -> None:
        self.faults.append(Fault(option, text or option.value, must, effect))

    def _number(self, option: Option, text: str, parsed: int, sent: int) -> int | None:
        """Return a number as OpenSM sends it, or ``None`` if OpenSM ignores the line."""
        value, whole = strtoul(_bytes(text))
        must = f"a number, 0 to {(1 << sent) - 1:#x}"
        if not text or not whole or value >> parsed:
            self._fault(option, must)
            return None
        if value >> sent:
            self._fault(option, must, f"OpenSM sends {value & (1 << sent) - 1:#x}")
        return value & (1 << sent) - 1

    def _mask(self, option: Option, name: str) -> None:
        found = _MASK.fullmatch(option.value)
        if found is None:
            self._fault(option, f"up to {_MASK_DIGITS} hexadecimal digits")
            return
        if len(found.group(1)) > _MASK_DIGITS:
            self._fault(option, f"up to {_MASK_DIGITS} hexadecimal digits", f"OpenSM reads the first {_MASK_DIGITS}")
        self.masks[name] = int(found.group(1)[:_MASK_DIGITS], 16)

    def _level(self, option: Option, name: str) -> None:
        sl_text, *rest = [*re.split(r"[ \t]+", option.value, maxsplit=1), ""][:2]
        most = (1 << _OF_SL[name]) - 1
        must = f"an SL, 0 to {SL_COUNT - 1}, and a number, 0 to {most}"
        sl, whole = strtoul(_bytes(sl_text))
        if not rest[0] or sl & 0xFF >= SL_COUNT:
            self._fault(option, must)
            return
        if not whole or sl >= SL_COUNT:
            self._fault(option, must, f"OpenSM takes {sl_text} for SL {sl & 0xFF}")
        value, whole = strtoul(_bytes(rest[0]))
        if not whole or value > most:
            self._fault(option, must)
            return
        self.levels[sl & 0xFF][name] = value

    def _cct(self, option: Option) -> None:
        if not option.is_set:
            self.cct = ()
            return
        parts = tokens(option.value)
        entries = [self._delay(option, part) for part in parts[:_MOST_ENTRIES]]
        if None in entries:
            return
        if len(parts) > _MOST_ENTRIES:
            must, effect = f"a list of at most {_MOST_ENTRIES} entries", f"OpenSM reads the first {_MOST_ENTRIES}"
            self._fault(option, must, effect)
        self.cct = tuple(entry for entry in entries if entry is not None)

    def _delay(self, option: Option, text: str) -> tuple[int, int] | None:
        """Return shift and multiplier as OpenSM sends them, or ``None`` if OpenSM ignores the line."""
        must = f"shift:multiplier, 0 to {(1 << SHIFT_BITS) - 1}:0 to {(1 << MULTIPLIER_BITS) - 1}"
        first, colon, second = text.partition(":")
        if not colon:
            self._fault(option, must, text=text)
            return None
        numbers = [strtoul(_bytes(part)) for part in (first, second)]
        (shift, _), (multiplier, _) = numbers
        sent = (shift & 0xFF) << MULTIPLIER_BITS | multiplier & 0xFFFF
        read = sent >> MULTIPLIER_BITS & (1 << SHIFT_BITS) - 1, sent & (1 << MULTIPLIER_BITS) - 1
        is_whole = first and second and all(whole for _, whole in numbers)
        if not is_whole or read != (shift, multiplier):
            self._fault(option, must, f"OpenSM sends {read[0]}:{read[1]}", text)
        return read


def congestion_findings(fabric: Fabric) -> list[Finding]:
    """Return settings of congestion control that have no effect or cannot work."""
    conf = fabric.conf
    options = congestion_options(conf) if conf else None
    if conf is None or options is None:
        return []
    is_set = (
        any(options.in_force)
        or any(options.starvation[:2])
        or any(options.cct)
        or any(level != SLOptions() for level in options.levels)
    )
    faults = [
        Finding("OPTION_IGNORED", f"{conf.file}:{option.line} {option.name}", f"{_short(text)} is not {must}: {effect}")
        for option, text, must, effect in options.faults
    ]
    if not options.is_on:
        why = "congestion_control is not TRUE, so the cc_ options have no effect"
        return [*faults, Finding("CC_OFF", conf.file, why)] if is_set else faults
    return [*faults, *_faults(fabric, conf, options)]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most] + "..."


def _faults(fabric: Fabric, conf: OpenSMConf, options: CongestionOptions) -> Iterator[Finding]:
    def where(name: str) -> str:
        option = options.lines.get(name)
        return f"{conf.file}:{option.line} {name}" if option else f"{conf.file} {name}"

    threshold, _, _, mask = options.in_force
    if not threshold:
        what = "Threshold is 0" if options.threshold == 0 else "bit 2 of the switches' Control_Map is not set"
        yield Finding("CC_NOTHING_MARKS", where(f"{_SWITCH}threshold"), f"{what}: switches mark no packet")
    if not any(multiplier for _, multiplier in options.cct):
        what = "has no entry above 0" if options.cct else "is missing"
        yield Finding("CC_NO_GAP", where("cc_cct"), f"the CCT {what}: adapters slow no flow")
    if options.control_map >> _VICTIM_BIT & 1:
        ports = {port for node in fabric.of_kind(Kind.SWITCH) for port in node.links}
        if not any(mask >> port & 1 for port in ports):
            text = "Victim_Mask has no port that a switch has a cable at"
            yield Finding("CC_MASK_EMPTY", where(f"{_SWITCH}victim_mask"), text)
    if not options.sl_map:
        yield Finding("CC_NO_SL", where(f"{_CA}control_map"), "no SL is set: adapters react to no notification")
    last = len(options.cct) - 1
    for sl in range(SL_COUNT):
        level = options.level(sl)
        if level.ccti_increase and not level.ccti_timer:
            text = f"SL {sl} has CCTI_Increase {level.ccti_increase} and CCTI_Timer 0: what it raises lasts no time"
            yield Finding("CC_TIMER_0", where(f"{_CA}ccti_timer"), text)
        for name in ("trigger_threshold", "ccti_min"):
            value = getattr(level, name)
            if value > last >= 0:
                text = f"SL {sl} has {value}, beyond the last entry of the CCT, {last}"
                yield Finding("CC_CCT_SHORT", where(_CA + name), text)
