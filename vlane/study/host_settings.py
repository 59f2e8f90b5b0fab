"""Congestion settings of the hosts as parts of a study and writes change them, and which of them cannot work."""

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
    """What a host is set to.

    Parameters
    ----------
    port_control, limit : int
        Bit 0 of Port_Control, and CCTI_Limit.
    levels : list of dict
        Of each SL the components of its CACongestionEntry.
    table : list of (int, int)
        The CCT: shift and multiplier.
    """

    port_control: int
    limit: int
    levels: list[dict[str, int]]
    table: list[tuple[int, int]]

    def change(self, part: CongestionHost | CongestionWrite) -> None:
        """Let a part of a study change them: a write leaves the CCT's entries behind those that it has."""
        if part.cct is not None:
            entries = [(shift, multiplier) for shift, multiplier in part.cct]
            self.table = entries + (self.table[len(entries) :] if isinstance(part, CongestionWrite) else [])
        self.limit = self.limit if part.ccti_limit is None else part.ccti_limit
        self.port_control = self.port_control if part.port_control is None else part.port_control
        for sl, level in enumerate(self.levels):
            if part.sl in (None, sl):
                level.update(part.given(LEVEL_KEYS))

    def check(self, where: str, sls: Iterable[int], interval: int, cycle_ns: float) -> None:
        """Refuse what cannot work of some SLs; ``where`` is what gave it.

        Parameters
        ----------
        interval : int
            Least cycles between two CNPs; 0 for none.

        Raises
        ------
        InputError
            Naming the key.
        """
        last = len(self.table) - 1
        if self.limit > last:
            raise InputError(f"{where}.ccti_limit", f"at most {last}, the last entry of the CCT", self.limit)
        for level in (self.levels[sl] for sl in sls):
            timer, increase, least = level["ccti_timer"], level["ccti_increase"], level["ccti_min"]
            if least > self.limit:
                raise InputError(f"{where}.ccti_min", f"at most ccti_limit, {self.limit}", least)
            if increase and not timer:
                must = "at least 1 with a ccti_increase: nothing lasts without it"
                raise InputError(f"{where}.ccti_timer", must, 0)
            if interval and increase:
                most = int(timer * TICK_NS / cycle_ns / increase)
                if interval >= most:
                    key = "congestion.cnp_interval_cycles"
                    why = f"below {most}, ccti_timer over ccti_increase: else nothing is slowed for long"
                    raise InputError(key, why, interval)


@dataclass
class AllHosts:
    """What all hosts are set to.

    Parameters
    ----------
    usual : HostSettings
        Of hosts that have none of their own.
    own : dict of int to HostSettings
        Of those that have.
    """

    usual: HostSettings
    own: dict[int, HostSettings] = field(default_factory=dict)

    def set(self, parts: Sequence[CongestionHost]) -> None:
        """Let hosts have settings of their own; what is said of an SL wins over what is said of all."""
        for part in sorted(parts, key=lambda each: each.sl is not None):
            self._named(part.hosts, part)

    def change(self, write: CongestionWrite) -> None:
        """Let a write change those of the hosts that it names, or of all."""
        if write.hosts is not None:
            self._named(write.hosts, write)
            return
        for each in self.each():
            each.change(write)

    def each(self) -> Iterator[HostSettings]:
        """Yield all that there are."""
        yield self.usual
        yield from self.own.values()

    def _named(self, hosts: Collection[int], part: CongestionHost | CongestionWrite) -> None:
        for host in hosts:
            self.own.setdefault(host, deepcopy(self.usual)).change(part)

    def check_parts(self, parts: Sequence[CongestionHost], interval: int, cycle_ns: float) -> None:
        """Refuse what hosts of their own parts are set to and cannot work.

        Raises
        ------
        InputError
            Naming the key of the part.
        """
        apart = {(host, part.sl) for part in parts if part.sl is not None for host in part.hosts}
        for number, part in enumerate(parts):
            for host in part.hosts:
                sls = range(SL_COUNT) if part.sl is None else (part.sl,)
                mine = [sl for sl in sls if part.sl is not None or (host, sl) not in apart]
                self.own[host].check(f"congestion.host.{number}", mine, interval, cycle_ns)
