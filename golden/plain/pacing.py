"""Plain flow table of a congestion-control source: CCS-1 to CCS-14 of ``docs/cc_source.md``, and NCC-17."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_PLACES = 4
_LEAST_GAP = 8
_SETTLING = 4


class Flow(NamedTuple):
    """A flow: DLID and SL. The DLID is 0 while flows are SLs."""

    dlid: int
    sl: int


class Level(NamedTuple):
    """Settings of an SL (CACongestionEntry)."""

    ccti_timer: int
    ccti_increase: int
    trigger_threshold: int
    ccti_min: int


@dataclass(frozen=True, kw_only=True)
class PacerSettings:
    """Settings of a source.

    ``table`` holds the shift and multiplier of each CCT entry; ``of_sl`` holds settings of single SLs.
    """

    port_control: int
    ccti_limit: int
    ccti_timer: int
    ccti_increase: int
    trigger_threshold: int
    ccti_min: int
    table: Sequence[tuple[int, int]]
    shift_first: bool
    flows: int
    tick_cycles: int
    of_sl: Mapping[int, Level] = field(default_factory=dict)
    by_port: bool = False

    def level(self, sl: int) -> Level:
        """Return the settings of an SL."""
        usual = Level(self.ccti_timer, self.ccti_increase, self.trigger_threshold, self.ccti_min)
        return self.of_sl.get(sl, usual)


@dataclass
class Entry:
    """A throttled flow.

    ``timer_end`` is the tick at which its timer ends, ``becn_cycle`` the cycle of its last BECN, ``not_before`` the
    first cycle in which it may inject again (None if it has not injected since it is known).
    """

    flow: Flow
    ccti: int
    timer_end: int
    becn_cycle: int
    not_before: int | None = None

    def may(self, now: int) -> bool:
        """Return whether the flow may inject (CCS-3)."""
        return self.not_before is None or now >= self.not_before


class Pacer:
    """The flow table of one source (CCS-1 to CCS-12). Methods act in the cycle ``now``."""

    def __init__(self, settings: PacerSettings, largest: int = 0) -> None:
        self.settings, self.largest = settings, largest
        self.port_not_before = 0
        self.entries: list[Entry | None] = [None] * settings.flows
        self.last_visited = settings.flows - 1
        self.lost = self.logged = 0

    def flow_of(self, dlid: int, sl: int) -> Flow:
        """Return the flow of a packet."""
        return Flow(0 if self.settings.port_control else dlid, sl)

    def known(self, flow: Flow) -> Entry | None:
        """Return the entry of a flow, or None."""
        found = [entry for entry in self.entries if entry is not None and entry.flow == flow]
        assert len(found) < 2, "a flow with two entries"
        return found[0] if found else None

    def may(self, flow: Flow, now: int) -> bool:
        """Return whether a packet of a flow may be injected (CCS-1, CCS-3, NCC-17)."""
        if self.settings.by_port:
            return now >= self.port_not_before
        entry = self.known(flow)
        return entry is None or entry.may(now)

    def inject(self, flow: Flow, blocks: int, now: int) -> None:
        """Set the not-before for an injected packet (CCS-2, NCC-17)."""
        assert self.may(flow, now), "a packet of a flow that is held"
        if self.settings.by_port:
            known = [entry.ccti for entry in self.entries if entry is not None]
            if known:
                self.port_not_before = now + max(blocks + self._gap(max(known), self.largest), _LEAST_GAP)
            return
        entry = self.known(flow)
        if entry is None:
            return
        entry.not_before = now + max(blocks + self._gap(entry.ccti, blocks), _LEAST_GAP)

    def _gap(self, ccti: int, blocks: int) -> int:
        shift, multiplier = self.settings.table[ccti]
        return (blocks >> shift) * multiplier if self.settings.shift_first else (blocks * multiplier) >> shift

    def act(self, becn: Flow | None, injected: Flow | None, now: int) -> None:
        """Apply a BECN or, without one, the table visit of the cycle, after the injection (CCS-8, CCS-11)."""
        if becn is None:
            self._visit(injected, now)
        else:
            self._receive_becn(becn, now)

    def _ticks(self, now: int) -> int:
        return now // self.settings.tick_cycles

    def _receive_becn(self, flow: Flow, now: int) -> None:
        """Raise the CCTI of a flow. An unknown flow takes a free entry (CCS-4, CCS-5, CCS-7, CCS-12)."""
        given, entry = self.settings.level(flow.sl), self.known(flow)
        ends = self._ticks(now) + given.ccti_timer
        before = given.ccti_min if entry is None else entry.ccti
        after = min(before + given.ccti_increase, self.settings.ccti_limit)
        if entry is None:
            free = [place for place in self._set_of(flow) if self.entries[place] is None]
            if not free:
                self.lost += 1
                return
            self.entries[free[0]] = Entry(flow, after, ends, now)
        else:
            entry.ccti, entry.becn_cycle = after, now
            if before <= given.ccti_min:
                entry.timer_end = ends
        self.logged += bool(given.trigger_threshold) and before < given.trigger_threshold <= after

    def _set_of(self, flow: Flow) -> range:
        """Return the entries of a flow's set (CCS-6)."""
        sets = self.settings.flows // _PLACES
        bits = sets.bit_length() - 1
        shifted = flow.sl << bits - 4 if bits >= 4 else flow.sl
        chosen = (flow.dlid ^ shifted) % sets
        return range(_PLACES * chosen, _PLACES * (chosen + 1))

    def _visit(self, injected: Flow | None, now: int) -> None:
        """Visit the next entry (CCS-8 to CCS-10)."""
        self.last_visited = (self.last_visited + 1) % self.settings.flows
        entry = self.entries[self.last_visited]
        if entry is None or now - entry.becn_cycle <= _SETTLING:
            return
        given = self.settings.level(entry.flow.sl)
        if entry.ccti > given.ccti_min:
            if self._ticks(now) >= entry.timer_end:
                entry.ccti -= 1
                entry.timer_end += given.ccti_timer
        elif entry.may(now) and (self.settings.by_port or entry.flow != injected):
            self.entries[self.last_visited] = None
