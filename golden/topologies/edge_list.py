"""Reader of edge lists: a network as a text file of cables between names."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

from vlane.documents.textfile import whole_text
from vlane.errors import InputError
from vlane.golden.topologies.topology import End, Topology


def read_edges(path: Path) -> Topology:
    """Return the topology of a text file. Each line is a cable of two names, or a declaration of hosts.

    ``host NAME ...`` declares hosts, by names or by patterns with ``*`` and ``?``; all other names are switches. ``#``
    begins a comment. Ports are numbered in the order of the lines.

    Raises
    ------
    InputError
        If no host is declared, a host has no cable or several cables, a cable connects two hosts, a line is malformed,
        or the network is not connected.
    """
    lines = whole_text(path, "edge list").splitlines()
    edges = _Edges(path)
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if words and words[0] in ("host", "hosts"):
            edges.patterns += [(number, word) for word in words[1:]]
        elif len(words) == 2:
            edges.cables.append((number, words[0], words[1]))
        elif words:
            must = "two names (a cable), or host and names of hosts"
            raise InputError("line", must, line.strip(), source=str(path), line=number)
    return edges.topology()


class _Edges:
    """Parsed lines of an edge list."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.cables: list[tuple[int, str, str]] = []
        self.patterns: list[tuple[int, str]] = []
        self._numbers: dict[str, int] = {}
        self._following: dict[int, int] = {}

    def topology(self) -> Topology:
        """Return the topology."""
        if not self.cables:
            raise InputError("edge list", "given", "none", problem="has no cables", source=str(self._path))
        declared = self._declared()
        cables: list[tuple[End, End]] = []
        hosts: dict[str, End] = {}
        for number, *names in self.cables:
            of_hosts = [name for name in names if name in declared]
            if len(of_hosts) == 2:
                problem = f"connects two hosts, {names[0]} and {names[1]}"
                raise self._refusal("cable", "one with a switch", " ".join(names), line=number, problem=problem)
            if not of_hosts:
                cables.append((self._port_of(names[0]), self._port_of(names[1])))
                continue
            (host,) = of_hosts
            if host in hosts:
                problem = f"{host} already has a cable above"
                raise self._refusal("host", "one without a cable", host, line=number, problem=problem)
            hosts[host] = self._port_of(names[names[0] == host])
        in_order = sorted(hosts, key=lambda name: (len(name), name))
        self._check_connected(cables)
        try:
            return Topology(
                self._path.stem,
                len(self._numbers),
                max(self._following.values()) + 1,
                tuple(cables),
                tuple(hosts[name] for name in in_order),
                switch_names=tuple(self._numbers),
                host_names=tuple(in_order),
            )
        except InputError as error:
            raise error.at(str(self._path)) from None

    def _refusal(self, field: str, must: str, got: str, *, line: int = 0, problem: str = "") -> InputError:
        return InputError(field, must, got, problem=problem, source=str(self._path), line=line)

    def _declared(self) -> set[str]:
        """Return the names of hosts."""
        names = dict.fromkeys(name for _, *both in self.cables for name in both)
        if not self.patterns:
            ends = Counter(name for _, *both in self.cables for name in both)
            once = [name for name in names if ends[name] == 1]
            shown = f"{', '.join(once[:6])}{', ...' if len(once) > 6 else ''}"
            problem = "are missing: add a line such as host NAME NAME, or host gpu-*"
            raise self._refusal("hosts", "given", "missing", problem=f"{problem} (names with one cable: {shown})")
        found: set[str] = set()
        for number, pattern in self.patterns:
            matching = {name for name in names if fnmatchcase(name, pattern)}
            if not matching:
                raise self._refusal(
                    "host", "the name of a node with a cable, or a pattern of such names", pattern, line=number
                )
            found |= matching
        return found

    def _port_of(self, name: str) -> End:
        """Return the next port of a switch."""
        switch = self._numbers.setdefault(name, len(self._numbers))
        self._following[switch] = self._following.get(switch, -1) + 1
        return switch, self._following[switch]

    def _check_connected(self, cables: list[tuple[End, End]]) -> None:
        """Raise an error if the network is not connected. The error names a switch of each part."""
        part = list(range(len(self._numbers)))

        def first(switch: int) -> int:
            while part[switch] != switch:
                part[switch] = part[part[switch]]
                switch = part[switch]
            return switch

        for (one, _), (other, _) in cables:
            low, high = sorted((first(one), first(other)))
            part[high] = low
        names = list(self._numbers)
        sizes = Counter(first(switch) for switch in range(len(names)))
        if len(sizes) > 1:
            each = [
                f"{names[root]} ({count} switch{'es' if count > 1 else ''})" for root, count in sorted(sizes.items())
            ]
            shown = ", ".join(each[:6]) + (", ..." if len(each) > 6 else "")
            problem = f"form {len(each)} separate parts, with {shown}"
            raise self._refusal("cables", "a connected network", f"{len(each)} parts", problem=problem)
