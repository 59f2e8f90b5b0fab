"""Identifiers of a module: unique, not reserved, and vectors for signals that differ only by a number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from vlane.sim_top.systemverilog.keywords import RESERVED

_NUMBER = re.compile(r"_(\d+)(?=_|$)")


class Names:
    """Names that a module uses."""

    def __init__(self) -> None:
        self._used: set[str] = set(RESERVED)
        self.numbered = 0
        """Names that only a number distinguishes from another name."""

    def unique(self, *wanted: str) -> str:
        """Return the first free name; if none is free, the first one with a number."""
        plain = [re.sub(r"_+", "_", re.sub(r"\W", "_", name)).strip("_") or "value" for name in wanted]
        plain = [f"n{name}" if name[0].isdigit() else name for name in plain]
        for name in plain:
            if name not in self._used:
                self._used.add(name)
                return name
        self.numbered += 1
        number = 2
        while (name := f"{plain[0]}_{number}") in self._used:
            number += 1
        self._used.add(name)
        return name

    def families(
        self, signals: list[Any], names: dict[int, str], registers: set[int]
    ) -> Iterator[tuple[str, list[Any]]]:
        """Yield a name and the signals of its vector, lowest first; most vectors have one signal.

        Signals are one vector if their names differ only by a number from 0 on, or if one line of a loop creates them.

        Parameters
        ----------
        signals : list of Signal
            Signals of the module, without its ports.
        names : dict of int to str
            Wanted name, by id of the signal.
        registers : set of int
            Ids of the registers.
        """
        groups: dict[Any, list[tuple[int, Any]]] = defaultdict(list)
        for signal in signals:
            name, kind = names[id(signal)], (len(signal), id(signal) in registers, bool(signal.reset_less))
            if found := _NUMBER.search(name):
                groups[_NUMBER.sub("_#", name, count=1), kind].append((int(found[1]), signal))
            else:
                groups[name, kind, signal.src_loc].append((len(groups[name, kind, signal.src_loc]), signal))
        for key, members in groups.items():
            ordered = [signal for _, signal in sorted(members, key=lambda each: each[0])]
            numbers = sorted(number for number, _ in members)
            if len(members) == 1 or numbers != list(range(len(members))):
                for _, signal in members:
                    yield self.unique(*self._alternatives(names[id(signal)])), [signal]
                continue
            base = key[0].replace("_#", "")
            yield self.unique(base, plural(base), f"all_{base}"), ordered

    @staticmethod
    def _alternatives(name: str) -> Iterable[str]:
        return (name, f"{name}_value")


def plural(name: str) -> str:
    """Return the plural of a name's last word."""
    return f"{name}es" if name.endswith(("s", "x", "ch")) else f"{name[:-1]}ies" if name.endswith("ry") else f"{name}s"
