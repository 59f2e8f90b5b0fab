"""Fill-in of an arbitration table: allocation of evenly spaced entries to requests of a distance and a weight.

``docs/fill_in.md`` states the guarantees, and where the published procedure fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from vlane.errors import InputError
from vlane.schedulers.vlarb import MAX_ENTRIES, MAX_WEIGHT, VLArbEntry

FITS = ("best", "first")
"""Allocation policies: the smallest sufficient free set, or the first free set in the published order."""

Set = tuple[int, int]
"""Set E(i, j) of the entries j, j + 2^i, j + 2 * 2^i and so on, as (i, j)."""


def reversed_bits(number: int, bits: int) -> int:
    """Return a number with its bits reversed.

    Examples
    --------
    >>> [reversed_bits(j, 3) for j in range(8)]
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    return int(f"{number:0{bits}b}"[::-1], 2) if bits else 0


@dataclass
class Sequence:
    """Evenly spaced entries, shared by connections of one VL.

    Parameters
    ----------
    vl : int
        VL of all entries.
    asked : int
        Binary logarithm of the requested distance.
    level, offset : int
        Entries, as the set E(level, offset). The level is less than ``asked`` if the weight needs more entries.
    weight : int
        Sum of the weights of the connections. Entries get this weight in whole units, at least 1 each.
    connections : int
        Number of connections.
    """

    vl: int
    asked: int
    level: int
    offset: int
    weight: int = 0
    connections: int = 0


@dataclass(frozen=True)
class Room:
    """Place for a new connection.

    Parameters
    ----------
    vl, asked, weight : int
        Attributes of the connection, as in ``Sequence``.
    sequence : int or None
        Number of the existing sequence to join; ``None`` for a new sequence.
    free : (int, int)
        Free set for the new sequence, as (level, offset).
    level : int
        Level of the new sequence.
    """

    vl: int
    asked: int
    weight: int
    sequence: int | None
    free: Set = (0, 0)
    level: int = 0


@dataclass(frozen=True)
class Move:
    """Move of a sequence from E(level, before) to E(level, after)."""

    sequence: int
    level: int
    before: int
    after: int


class FillIn:
    """Arbitration list whose entries are allocated by request.

    Parameters
    ----------
    entries : int
        Number of entries, a power of two up to 64.
    fit : str
        Allocation policy, one of ``FITS``.
    merges : bool
        Whether free sets of equal size are merged after a release, by moving sequences.
    parts : int
        Divisor of the weight unit: weights of connections are in units of 64 / ``parts`` bytes. Entries have whole
        units of 64 bytes.

    Attributes
    ----------
    sequences : dict of int to Sequence
        Current sequences, by number.

    Raises
    ------
    InputError
        If the number of entries or the fit is not allowed.

    Examples
    --------
    >>> table = FillIn(entries=8)
    >>> table.admit(vl=1, distance=4, weight=60), table.admit(vl=2, distance=2, weight=100)
    (0, 1)
    >>> [(entry.vl, entry.weight) for entry in table.table()]
    [(1, 30), (2, 25), (0, 0), (2, 25), (1, 30), (2, 25), (0, 0), (2, 25)]
    >>> table.admit(vl=3, distance=2, weight=10) is None, table.free
    (True, 2)
    >>> table.admit(vl=3, distance=7, weight=10)
    2
    """

    def __init__(self, *, entries: int = MAX_ENTRIES, fit: str = "best", merges: bool = True, parts: int = 1) -> None:
        if entries not in {1 << bits for bits in range(MAX_ENTRIES.bit_length())}:
            raise InputError("entries", f"a power of two up to {MAX_ENTRIES}", entries)
        if fit not in FITS:
            raise InputError("fit", f"one of {', '.join(FITS)}", fit)
        self.entries, self.fit, self.merges, self.parts = entries, fit, merges, parts
        self._bits = entries.bit_length() - 1
        self._free: list[set[int]] = [set() for _ in range(self._bits + 1)]
        self._free[0].add(0)
        self.sequences: dict[int, Sequence] = {}
        self._sequence_of: dict[int, tuple[int, int]] = {}
        self._alike: dict[tuple[int, int], list[int]] = {}
        self._numbers, self._connections = count(), count()

    @classmethod
    def holding(cls, taken: Iterable[Set], *, entries: int, fit: str = "best", merges: bool = True) -> FillIn:
        """Return a list with one sequence and one connection for each of the sets, numbered in order.

        Raises
        ------
        InputError
            If two sets share an entry.
        """
        made = cls(entries=entries, fit=fit, merges=merges)
        for level, offset in taken:
            around = ((up, offset % (1 << up)) for up in range(level, -1, -1))
            free = next((each for each in around if each[1] in made._free[each[0]]), None)
            if free is None:
                raise InputError("taken", "sets that share no entry", f"E({level}, {offset}) twice")
            made._split(free, (level, offset))
            made._add(0, level, (level, offset), 1)
        return made

    @property
    def free(self) -> int:
        """Number of free entries."""
        return sum(len(offsets) << (self._bits - level) for level, offsets in enumerate(self._free))

    @property
    def free_sets(self) -> list[Set]:
        """Maximal free sets: all entries are free, and no larger free set contains them."""
        return [(level, offset) for level, offsets in enumerate(self._free) for offset in sorted(offsets)]

    def admit(self, *, vl: int, distance: int, weight: int) -> int | None:
        """Admit a connection. Return its number, or ``None`` if no entries are left for it.

        The connection joins a sequence of the same VL and distance with enough spare weight, or gets a new sequence.

        Parameters
        ----------
        vl : int
            VL of the connection.
        distance : int
            Largest number of places from one entry of the connection to the next, 1 to the list's length; rounded
            down to a power of two.
        weight : int
            Weight for each pass through the list, at least 1, in units of 64 / ``parts`` bytes.

        Raises
        ------
        InputError
            If distance or weight is out of range.
        """
        room = self.room(vl=vl, distance=distance, weight=weight)
        return None if room is None else self.take(room)

    def room(self, *, vl: int, distance: int, weight: int) -> Room | None:
        """Return the place for a connection without admitting it, or ``None`` if no entries are left.

        Raises
        ------
        InputError
            If distance or weight is out of range.
        """
        if not 1 <= distance <= self.entries:
            raise InputError("distance", f"1 to {self.entries}", distance)
        if weight < 1:
            raise InputError("weight", "at least 1", weight)
        asked = distance.bit_length() - 1
        for number in self._alike.get((vl, asked), ()):
            held = self.sequences[number]
            if held.weight + weight <= self._most(held.level):
                return Room(vl, asked, weight, number)
        level = asked
        while level >= 0 and self._most(level) < weight:
            level -= 1
        found = self._find(level) if level >= 0 else None
        return None if found is None else Room(vl, asked, weight, None, found, level)

    def take(self, room: Room) -> int:
        """Admit a connection at the place from ``room``, with no admission or release since. Return its number."""
        if room.sequence is not None:
            return self._join(room.sequence, room.weight)
        taken = room.level, room.free[1]
        self._split(room.free, taken)
        return self._add(room.vl, room.asked, taken, room.weight)

    def release(self, connection: int) -> list[Move]:
        """Release a connection, and return the resulting moves of sequences, in order.

        Raises
        ------
        KeyError
            If the number is unknown.
        """
        number, weight = self._sequence_of.pop(connection)
        held = self.sequences[number]
        held.weight -= weight
        held.connections -= 1
        if held.connections:
            return []
        del self.sequences[number]
        self._alike[held.vl, held.asked].remove(number)
        self._give_back((held.level, held.offset))
        return list(self._merge()) if self.merges else []

    def table(self) -> list[VLArbEntry]:
        """Return the entries. The weight of a sequence is divided evenly, in whole units, at least 1 per entry."""
        made = [VLArbEntry(0, 0)] * self.entries
        for held in self.sequences.values():
            places = range(held.offset, self.entries, 1 << held.level)
            units = max(-(-held.weight // self.parts), len(places))  # an entry without weight would be a gap
            each, more = divmod(units, len(places))
            for number, place in enumerate(places):
                made[place] = VLArbEntry(held.vl, each + (number < more))
        return made

    def _most(self, level: int) -> int:
        return MAX_WEIGHT * (self.entries >> level) * self.parts

    def _add(self, vl: int, asked: int, taken: Set, weight: int) -> int:
        number = next(self._numbers)
        self.sequences[number] = Sequence(vl, asked, *taken)
        self._alike.setdefault((vl, asked), []).append(number)
        return self._join(number, weight)

    def _join(self, number: int, weight: int) -> int:
        held, connection = self.sequences[number], next(self._connections)
        held.weight += weight
        held.connections += 1
        self._sequence_of[connection] = number, weight
        return connection

    def _find(self, level: int) -> Set | None:
        """Return the free set for a new sequence of this level, or ``None``."""
        sufficient = [(up, offset) for up in range(level + 1) for offset in self._free[up]]
        if self.fit == "best":  # the smallest set; ties go to the first in bit-reversed order
            return max(sufficient, key=lambda each: (each[0], -reversed_bits(each[1], each[0])), default=None)
        return min(sufficient, key=lambda each: reversed_bits(each[1], level), default=None)

    def _split(self, free: Set, taken: Set) -> None:
        """Allocate a part of a free set. The remainder becomes free sets of half the size, a quarter, and so on."""
        (level, offset), (last, first) = free, taken
        self._free[level].remove(offset)
        for below in range(level + 1, last + 1):
            self._free[below].add((first ^ (1 << (below - 1))) % (1 << below))

    def _give_back(self, taken: Set) -> None:
        """Free a set and merge it with free siblings."""
        level, offset = taken
        while level and _sibling(level, offset) in self._free[level]:
            self._free[level].remove(_sibling(level, offset))
            level -= 1
            offset %= 1 << level
        self._free[level].add(offset)

    def _merge(self) -> Iterable[Move]:
        """Merge free sets until all sizes differ: the sequences next to one free set move into another free set."""
        level = self._bits
        while level:
            if len(self._free[level]) < 2:
                level -= 1
                continue
            one, other = sorted(self._free[level], key=lambda offset: self._taken(level, _sibling(level, offset)))[:2]
            for number, held in self.sequences.items():
                if held.level >= level and held.offset % (1 << level) == _sibling(level, one):
                    before = held.offset
                    held.offset = (before - _sibling(level, one) + other) % (1 << held.level)
                    yield Move(number, held.level, before, held.offset)
            for below in range(level + 1, self._bits + 1):
                moved = {offset for offset in self._free[below] if offset % (1 << level) == _sibling(level, one)}
                self._free[below] -= moved
                self._free[below] |= {(offset - _sibling(level, one) + other) % (1 << below) for offset in moved}
            self._free[level] -= {one, other}
            self._give_back((level - 1, one % (1 << (level - 1))))
            level = self._bits

    def _taken(self, level: int, offset: int) -> int:
        """Return the number of allocated entries in a set."""
        inside = (held for held in self.sequences.values() if held.level >= level)
        return sum(self.entries >> held.level for held in inside if held.offset % (1 << level) == offset)


def _sibling(level: int, offset: int) -> int:
    """Return the offset of the sibling: the other half of the set's parent."""
    return offset ^ (1 << (level - 1))
