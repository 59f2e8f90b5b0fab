"""Congestion settings of the hosts as writes change them, and which of them cannot work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vlane.cc_source import TICK_NS
from vlane.errors import InputError
from vlane.study_congestion_parts import LEVEL_KEYS, CongestionWrite

__all__ = ["HostSettings"]


@dataclass
class HostSettings:
    """What all hosts are set to.

    Parameters
    ----------
    last : int
        Last entry of the CCT.
    limit : int
        CCTI_Limit.
    levels : list of dict
        Of each SL the components of its CACongestionEntry.
    interval : int
        Least cycles between two CNPs; 0 for none.
    """

    last: int
    limit: int
    levels: list[dict[str, int]]
    interval: int

    def change(self, write: CongestionWrite) -> None:
        """Let a write change them."""
        self.last = max(self.last, len(write.cct or ()) - 1)
        self.limit = self.limit if write.ccti_limit is None else write.ccti_limit
        for sl, level in enumerate(self.levels):
            if write.sl in (None, sl):
                level.update(write.given(LEVEL_KEYS))

    def check(self, where: str, sls: Iterable[int], cycle_ns: float) -> None:
        """Refuse what cannot work of some SLs; ``where`` is what gave it.

        Raises
        ------
        InputError
            Naming the key.
        """
        if self.limit > self.last:
            raise InputError(f"{where}.ccti_limit", f"at most {self.last}, the last entry of the CCT", self.limit)
        for level in (self.levels[sl] for sl in sls):
            timer, increase, least = level["ccti_timer"], level["ccti_increase"], level["ccti_min"]
            if least > self.limit:
                raise InputError(f"{where}.ccti_min", f"at most ccti_limit, {self.limit}", least)
            if increase and not timer:
                must = "at least 1 with a ccti_increase: nothing lasts without it"
                raise InputError(f"{where}.ccti_timer", must, 0)
            if self.interval and increase:
                most = int(timer * TICK_NS / cycle_ns / increase)
                if self.interval >= most:
                    key = "congestion.cnp_interval_cycles"
                    why = f"below {most}, ccti_timer over ccti_increase: else nothing is slowed for long"
                    raise InputError(key, why, self.interval)
