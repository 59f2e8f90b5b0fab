"""Random members of trunks in a plain network, from NET-6 of ``docs/network.md``."""

from __future__ import annotations

from dataclasses import dataclass, field

from vlane.golden.plain.link import Packet


def draw(*parts: int) -> int:
    """Return the 32-bit number that NET-6 draws for a list of numbers."""
    word = 0
    for part in parts:
        word = (word ^ part) % 2**32
        for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
            word = (word ^ word >> shift) * factor % 2**32
        word ^= word >> 15
    return word


@dataclass(frozen=True)
class Trunks:
    """Trunks of a network, and the way of choosing their members.

    ``members`` maps each (switch, port) of a trunk to all ports of the trunk, in ascending order. ``choice`` is
    ``lid``, ``flow`` or ``packet``.
    """

    choice: str = "lid"
    seed: int = 0
    members: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, far: dict[tuple[int, int], tuple[int, int]], choice: str, seed: int) -> Trunks:
        """Return the trunks of a network from the far end of each (switch, port)."""
        members = {
            (switch, port): sorted(at for (here, at), (there, _) in far.items() if (here, there) == (switch, other))
            for (switch, port), (other, _) in far.items()
        }
        return cls(choice, seed, members)

    def member_of(self, switch: int, port: int, output: int, packet: Packet, arrived: int) -> int:
        """Return the output of a packet whose head reached an input in a cycle, if the table names an output."""
        members = self.members.get((switch, output), [output])
        if self.choice == "lid" or len(members) == 1:
            return output
        if self.choice == "packet":
            word = draw(self.seed, switch, port, arrived)
        else:
            word = draw(self.seed, switch, packet.source, packet.dlid, packet.sl)
        return members[word * len(members) // 2**32]
