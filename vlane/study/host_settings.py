"""Congestion settings of hosts after parts and writes of a study, and checks for settings that cannot work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from vlane.congestion.cc_source import TICK_NS
from vlane.errors import InputError
from vlane.study.congestion_parts import LEVEL_KEYS, CongestionHost, CongestionWrite
from vlane.tables.sl2vl import SL_COUNT


@dataclass
class HostSettings:
    """Congestion settings of a host.

    Parameters
    ----------
    port_control, limit : int
        Bit 0 of Port_Control, and CCTI_Limit.
    levels : list of dict
        Components of the CACongestionEntry of each SL.
    table : list of (int, int)
        CCT entries (shift, multiplier).
    """

    port_control: int
    limit: int
    levels: list[dict[str, int]]
    table: list[tuple[int, int]]

    def change(self, part: CongestionHost | CongestionWrite) -> None:
        """Apply a part of a study. The CCT of a write replaces only the first entries."""
        if part.cct is not None:
            entries = [(shift, multiplier) for shift, multiplier in part.cct]
            self.table = entries + (self.table[len(entries) :] if isinstance(part, CongestionWrite) else [])
        self.limit = self.limit if part.ccti_limit is None else part.ccti_limit
        self.port_control = self.port_control if part.port_control is None else part.port_control
        for sl, level in enumerate(self.levels):
            if part.sl in (None, sl):
                level.update(part.given(LEVEL_KEYS))

    def check(self, where: str, sls: Iterable[int], interval: int, cycle_ns: float) -> None:
        """Reject a limit past the CCT, and for given SLs settings that control nothing.

        The key ``where`` names the section, part or write with the settings.

        Parameters
        ----------
        interval : int
            Smallest number of cycles between two CNPs; 0 for none.

        Raises
        ------
        InputError
            If a setting is rejected; the error names its key.
        """
        last = len(self.table) - 1
        if self.limit > last:
            raise InputError(f"{where}.ccti_limit", f"at most {last}, the last entry of the CCT", self.limit)
        for level in (self.levels[sl] for sl in sls):
            timer, increase, least = level["ccti_timer"], level["ccti_increase"], level["ccti_min"]
            if least > self.limit:
                raise InputError(f"{where}.ccti_min", f"at most ccti_limit, {self.limit}", least)
            if increase and not timer:
                must = "at least 1 with a ccti_increase (with 0, the CCTI never stays raised)"
                raise InputError(f"{where}.ccti_timer", must, 0)
            if interval and increase:
                most = int(timer * TICK_NS / cycle_ns / increase)
                if interval >= most:
                    key = "congestion.cnp_interval_cycles"
                    why = f"below {most} (ccti_timer / ccti_increase), or the CCTI decreases between CNPs"
                    raise InputError(key, why, interval)


@dataclass
class AllHosts:
    """Congestion settings of all hosts.

    Parameters
    ----------
    usual : HostSettings
        Settings of hosts without their own.
    own : dict of int to HostSettings
        Settings of hosts with their own, by host.
    """

    usual: HostSettings
    own: dict[int, HostSettings] = field(default_factory=dict)

    def set(self, parts: Sequence[CongestionHost]) -> None:
        """Apply parts for single hosts. Parts for an SL override parts for all SLs."""
        for part in sorted(parts, key=lambda each: each.sl is not None):
            self._named(part.hosts, part)

    def change(self, write: CongestionWrite) -> None:
        """Apply a write to the hosts that it names, or to all."""
        if write.hosts is not None:
            self._named(write.hosts, write)
            return
        for each in self.each():
            each.change(write)

    def each(self) -> Iterator[HostSettings]:
        """Yield all distinct settings."""
        yield self.usual
        yield from self.own.values()

    def _named(self, hosts: Collection[int], part: CongestionHost | CongestionWrite) -> None:
        for host in hosts:
            self.own.setdefault(host, deepcopy(self.usual)).change(part)

    def check_parts(self, parts: Sequence[CongestionHost], interval: int, cycle_ns: float) -> None:
        """Reject host parts whose settings cannot work.

        Raises
        ------
        InputError
            If a setting is rejected; the error names the key of the part.
        """
        apart = {(host, part.sl) for part in parts if part.sl is not None for host in part.hosts}
        for number, part in enumerate(parts):
            for host in part.hosts:
                sls = range(SL_COUNT) if part.sl is None else (part.sl,)
                mine = [sl for sl in sls if part.sl is not None or (host, sl) not in apart]
                self.own[host].check(f"congestion.host.{number}", mine, interval, cycle_ns)
