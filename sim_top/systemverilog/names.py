"""Identifiers of a module: unique, not reserved, and vectors for signals that differ only by a number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from vlane.sim_top.systemverilog.keywords import RESERVED

_NUMBER = re.compile(r"_(\d+)(?=_|$)")


class Names:
    """Used names of a module."""

    def __init__(self) -> None:
        self._used: set[str] = set(RESERVED)
        self.numbered = 0
        """Names with a number at the end."""

    def unique(self, *wanted: str) -> str:
        """Return the first free name. If no name is free, the first name gets a number."""
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
        """Yield a name and the signals of its vector, lowest first.

        Most vectors have one signal.


        Signals are one vector if their names differ only by a number, or if one line of a loop creates them.

        Parameters
        ----------
        signals : list of Signal
            Signals of the module, without its ports.
        names : dict of int to str
            Wanted name, by id of the signal.
        registers : set of int
            Ids of the registers.
        """
        groups: dict[Any, list[tuple[tuple[int, ...], Any]]] = defaultdict(list)
        for signal in signals:
            name, kind = names[id(signal)], (id(signal) in registers, bool(signal.reset_less))
            if numbers := _NUMBER.findall(name):
                groups[_NUMBER.sub("_#", name), kind].append((tuple(map(int, numbers)), signal))
            else:
                key = name, kind, signal.src_loc
                groups[key].append(((len(groups[key]),), signal))
        plain = {names[id(signal)] for signal in signals} | self._used
        for key, members in groups.items():
            base = key[0].replace("_#", "")
            if len(members) == 1 and (base == key[0] or base not in plain):
                _, signal = members[0]
                yield self.unique(names[id(signal)], f"{names[id(signal)]}_value"), [signal]
                continue
            ordered = [signal for _, signal in sorted(members, key=lambda each: each[0])]
            wanted = (plural(base), f"all_{base}") if base in plain and base != key[0] else (base, plural(base))
            yield self.unique(*wanted), ordered


def text_name(port: str) -> str:
    """Return the name in the text of a block's port: ``heads_request`` for ``heads__request``."""
    return port.replace("__", "_")


def plural(name: str) -> str:
    """Return the plural of a name's last word, or the name with ``all_`` if the last word is a plural."""
    if name.endswith(("bits", "terms")):
        return f"all_{name}"
    return f"{name}es" if name.endswith(("s", "x", "ch")) else f"{name[:-1]}ies" if name.endswith("ry") else f"{name}s"
