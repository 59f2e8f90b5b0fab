"""OpenSM's options of congestion control, and settings of them that cannot work.

Options of an SL are ``name SL VALUE``, once for each SL; ``cc_cct`` is a list of shift:multiplier, and CCTI_Limit its
last entry. OpenSM sends none of them unless ``congestion_control`` is ``TRUE``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from vlane.congestion.cc_marker import LARGEST_THRESHOLD, RATE_BITS, SIZE_BITS
from vlane.congestion.cc_source import BYTE_BITS, CCT_ENTRIES, MULTIPLIER_BITS, SHIFT_BITS, TIMER_BITS
from vlane.errors import InputError
from vlane.fabric.dumps.opensm_conf import OpenSMConf, Option
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Kind
from vlane.tables.sl2vl import SL_COUNT

_PREFIX, _SWITCH, _CA = "cc_", "cc_sw_cong_setting_", "cc_ca_cong_setting_"
_VICTIM_BIT, _CREDIT_BIT, _THRESHOLD_BIT, _STARVATION_BIT, _RATE_BIT = range(5)
"""Bits of Control_Map: what of the SwitchCongestionSetting is valid."""
_MASK_BITS = 256
_MOST = {
    "control_map": 0xFFFFFFFF,
    "victim_mask": (1 << _MASK_BITS) - 1,
    "threshold": LARGEST_THRESHOLD,
    "packet_size": (1 << SIZE_BITS) - 1,
    "marking_rate": (1 << RATE_BITS) - 1,
    "credit_mask": (1 << _MASK_BITS) - 1,
    "credit_starvation_threshold": LARGEST_THRESHOLD,
}
_OF_SL = {
    "ccti_timer": (1 << TIMER_BITS) - 1,
    "ccti_increase": (1 << BYTE_BITS) - 1,
    "trigger_threshold": (1 << BYTE_BITS) - 1,
    "ccti_min": (1 << BYTE_BITS) - 1,
}
_ENTRY = re.compile(r"(\d{1,9}):(\d{1,9})")


@dataclass(frozen=True)
class SLOptions:
    """What the options say of an SL.

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
        Where each option stands; of one for several SLs the last.
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
        """Return what is sent of an SL: nothing if the map has it not."""
        return self.levels[sl] if self.sl_map >> sl & 1 else SLOptions()


def congestion_options(conf: OpenSMConf) -> CongestionOptions | None:
    """Return the options of congestion control; None if the file has none.

    Raises
    ------
    InputError
        If one is no number in its range, naming the file and the line.
    """
    lines = {option.name: option for option in conf.options if option.name.startswith(_PREFIX)}
    if not lines:
        return None
    switch = {name: _number(conf, _SWITCH + name, most) for name, most in _MOST.items()}
    levels = [SLOptions(**dict.fromkeys(_OF_SL, 0))] * SL_COUNT
    for option in conf.options:
        name = option.name.removeprefix(_CA)
        if option.name.startswith(_CA) and name in _OF_SL:
            sl, value = _pair(conf, option, _OF_SL[name])
            levels[sl] = SLOptions(**{**vars(levels[sl]), name: value})
    on = conf.get("congestion_control")
    return CongestionOptions(
        is_on=on is not None and on.value == "TRUE",
        **switch,
        port_control=_number(conf, f"{_CA}port_control", 0xFFFF),
        sl_map=_number(conf, f"{_CA}control_map", 0xFFFF),
        levels=tuple(levels),
        cct=_entries(conf),
        return_delay=_return_delay(conf),
        lines=lines,
    )


def _refuse(conf: OpenSMConf, option: Option, must: str) -> InputError:
    return InputError(option.name, must, option.value, source=conf.file, line=option.line)


def _whole(text: str, most: int) -> int | None:
    try:
        value = int(text, 0 if text.lower().startswith("0x") else 10)
    except ValueError:
        return None
    return value if 0 <= value <= most else None


def _number(conf: OpenSMConf, name: str, most: int) -> int:
    option = conf.get(name)
    if option is None:
        return 0
    value = _whole(option.value, most)
    if value is None:
        raise _refuse(conf, option, f"a number, 0 to {most:#x}")
    return value


def _pair(conf: OpenSMConf, option: Option, most: int) -> tuple[int, int]:
    words = option.value.split()
    numbers = [_whole(word, least) for word, least in zip(words, (SL_COUNT - 1, most), strict=False)]
    if len(words) != 2 or None in numbers:
        raise _refuse(conf, option, f"an SL, 0 to {SL_COUNT - 1}, and a number, 0 to {most}")
    sl, value = numbers
    return int(sl or 0), int(value or 0)


def _return_delay(conf: OpenSMConf) -> tuple[int, int]:
    option = conf.get(f"{_SWITCH}credit_starvation_return_delay")
    if option is None:
        return 0, 0
    found = _delays(conf, option)
    if len(found) != 1:
        raise _refuse(conf, option, "one shift:multiplier")
    return found[0]


def _entries(conf: OpenSMConf) -> tuple[tuple[int, int], ...]:
    option = conf.get("cc_cct")
    found = () if option is None else _delays(conf, option)
    if option is not None and len(found) > CCT_ENTRIES:
        raise _refuse(conf, option, f"of at most {CCT_ENTRIES} entries")
    return found


def _delays(conf: OpenSMConf, option: Option) -> tuple[tuple[int, int], ...]:
    found = []
    for part in filter(None, re.split(r"[,\s]+", option.value)):
        entry = _ENTRY.fullmatch(part)
        shift, multiplier = map(int, entry.groups()) if entry else (-1, -1)
        if not (0 <= shift < 1 << SHIFT_BITS and 0 <= multiplier < 1 << MULTIPLIER_BITS):
            limits = f"0 to {(1 << SHIFT_BITS) - 1}:0 to {(1 << MULTIPLIER_BITS) - 1}"
            raise _refuse(conf, option, f"a list of shift:multiplier, {limits}, not with {part}")
        found.append((shift, multiplier))
    return tuple(found)


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
    if not options.is_on:
        why = "congestion_control is not TRUE, so the cc_ options have no effect"
        return [Finding("CC_OFF", conf.file, why)] if is_set else []
    return list(_faults(fabric, conf, options))


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
