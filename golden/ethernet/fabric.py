"""Structure of an Ethernet network: nodes, switches, links and static routes (``docs/ethernet.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError

Cable = tuple[int, int, int]
"""Two ends and the rate in Mb/s. Nodes are ends 0 and up, switches follow."""


@dataclass(frozen=True)
class Fabric:
    """Nodes, switches and the links between them.

    Parameters
    ----------
    nodes, switches : int
        Number of nodes and switches.
    cables : tuple of Cable
        Cables: one for each node, to a switch; at most one between two ends.
    hops : tuple of tuple of int
        Next end of a frame, by switch and destination.
    managed : tuple of bool
        Whether the outputs of each switch are congestion points.

    Raises
    ------
    InputError
        If an end does not exist, a node does not have exactly one cable, or a route uses no cable.
    """

    nodes: int
    switches: int
    cables: tuple[Cable, ...]
    hops: tuple[tuple[int, ...], ...]
    managed: tuple[bool, ...]

    def __post_init__(self) -> None:
        ends, beside = self.nodes + self.switches, set[tuple[int, int]]()
        for one, other, mbps in self.cables:
            if not (0 <= one < ends and 0 <= other < ends) or one == other or (one, other) in beside:
                raise InputError("cables", f"pairs of different ends below {ends}, each once", f"{one} and {other}")
            if mbps not in (1_000, 10_000):
                raise InputError("rate of cables", "1000 or 10000 Mb/s", mbps)
            beside |= {(one, other), (other, one)}
        for node in range(self.nodes):
            links = [other for one, other in beside if one == node]
            if len(links) != 1 or links[0] < self.nodes:
                problem = f": node {node} needs exactly one cable, to a switch"
                raise InputError("cables", "one per node", len(links), problem=problem)
        if len(self.hops) != self.switches or len(self.managed) != self.switches:
            raise InputError("hops", f"a list of {self.switches} rows, one per switch", len(self.hops))
        for switch, row in enumerate(self.hops):
            wrong = [hop for hop in row if (self.nodes + switch, hop) not in beside]
            if wrong or len(row) != self.nodes:
                raise InputError(f"hops of switch {switch}", "one neighbour of the switch per node", wrong or len(row))

    def channels(self) -> list[Cable]:
        """Return both directions of every cable as (from, to, Mb/s). The reverse of channel c is c ^ 1."""
        return [way for one, other, mbps in self.cables for way in ((one, other, mbps), (other, one, mbps))]

    def path(self, source: int, destination: int) -> list[int]:
        """Return the channels on the path of a flow."""
        number = {(one, other): channel for channel, (one, other, _) in enumerate(self.channels())}
        at, found = (
            next(other for one, other in number if one == source),
            [next(channel for (one, _), channel in number.items() if one == source)],
        )
        while at != destination:
            to = self.hops[at - self.nodes][destination]
            found.append(number[at, to])
            at = to
        return found
