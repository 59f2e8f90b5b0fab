"""Fill-in of an arbitration table: requests for a distance and a weight become sequences of its entries.

Plain data in, plain data out; ``docs/fill_in.md`` says what is promised, and where the published procedure fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from vlane.errors import InputError
from vlane.schedulers.vlarb import MAX_ENTRIES, MAX_WEIGHT, VLArbEntry

FITS = ("best", "first")
"""Which free set a new sequence is taken from: the smallest that suffices; or the first in the published order."""

Set = tuple[int, int]
"""E(i, j): the entries j, j + 2^i, j + 2 * 2^i and so on, as (i, j)."""


def reversed_bits(number: int, bits: int) -> int:
    """Return a number with its bits in the other order.

    Examples
    --------
    >>> [reversed_bits(j, 3) for j in range(8)]
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    return int(f"{number:0{bits}b}"[::-1], 2) if bits else 0


@dataclass
class Sequence:
    """Entries at equal distances that connections of a VL share.

    Parameters
    ----------
    vl : int
        Of all its entries.
    asked : int
        Bits of the distance that its connections asked for.
    level, offset : int
        It has the entries of E(level, offset); the level is less than ``asked`` if the weight needs more entries.
    weight : int
        Sum of the weights of its connections; its entries have this, in whole units of 1 at least.
    connections : int
        That share it.
    """

    vl: int
    asked: int
    level: int
    offset: int
    weight: int = 0
    connections: int = 0


@dataclass(frozen=True)
class Room:
    """Where a connection finds room.

    Parameters
    ----------
    vl, asked, weight : int
        Of the connection; as of ``Sequence``.
    sequence : int or None
        That it joins; None for one of its own.
    free : (int, int)
        Free set that its own sequence is taken from, as (level, offset).
    level : int
        Of its own sequence.
    """

    vl: int
    asked: int
    weight: int
    sequence: int | None
    free: Set = (0, 0)
    level: int = 0


@dataclass(frozen=True)
class Move:
    """A sequence that was moved: from the entries of E(level, before) to those of E(level, after)."""

    sequence: int
    level: int
    before: int
    after: int


class FillIn:
    """A list of an arbitration table that is filled by request.

    Parameters
    ----------
    entries : int
        Of the list, a power of two up to 64.
    fit : str
        One of ``FITS``.
    merges : bool
        Whether free sets of equal size are merged after a release, by moving sequences.
    parts : int
        Weights of connections are in units of 64 bytes divided by it; entries have whole units of 64 bytes.

    Attributes
    ----------
    sequences : dict of int to Sequence
        By number, those that there are.

    Raises
    ------
    InputError
        If there is no such list or fit.

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
        """Return a list in which these sets are taken by a sequence each, with one connection each, numbered in order.

        Raises
        ------
        InputError
            If two of them share an entry.
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
        """Entries that no sequence has."""
        return sum(len(offsets) << (self._bits - level) for level, offsets in enumerate(self._free))

    @property
    def free_sets(self) -> list[Set]:
        """The largest free sets, each with all its entries free and not a half of a larger free one."""
        return [(level, offset) for level, offsets in enumerate(self._free) for offset in sorted(offsets)]

    def admit(self, *, vl: int, distance: int, weight: int) -> int | None:
        """Take a connection in; return its number, or None if there is no room.

        It joins a sequence of its VL and distance if weight is left in one, else it gets a new one.

        Parameters
        ----------
        vl : int
            Of the connection.
        distance : int
            Most entries from one of its entries to the next, 1 to the list's length; the power of two that is not
            greater counts.
        weight : int
            In units of 64 bytes, or parts of them, for each pass through the list, 1 or more.

        Raises
        ------
        InputError
            If distance or weight is out of range.
        """
        room = self.room(vl=vl, distance=distance, weight=weight)
        return None if room is None else self.take(room)

    def room(self, *, vl: int, distance: int, weight: int) -> Room | None:
        """Return where ``admit`` would put a connection, or None if there is no room; nothing is changed.

        Raises
        ------
        InputError
            As ``admit``.
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
        """Take a connection in where ``room`` said, before anything else is taken in or let go; return its number."""
        if room.sequence is not None:
            return self._join(room.sequence, room.weight)
        taken = room.level, room.free[1]
        self._split(room.free, taken)
        return self._add(room.vl, room.asked, taken, room.weight)

    def release(self, connection: int) -> list[Move]:
        """Let a connection go; return what was moved then, in order.

        Raises
        ------
        KeyError
            If there is no such connection.
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
        """Return the entries; those of a sequence share its weight equally, to whole numbers of 1 at least."""
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
        """Return the free set that a sequence of a level is taken from, at its first entry."""
        sufficient = [(up, offset) for up in range(level + 1) for offset in self._free[up]]
        if self.fit == "best":  # the smallest, and of equal ones the first in the order of bit reversal
            return max(sufficient, key=lambda each: (each[0], -reversed_bits(each[1], each[0])), default=None)
        return min(sufficient, key=lambda each: reversed_bits(each[1], level), default=None)

    def _split(self, free: Set, taken: Set) -> None:
        """Take a set out of a free one; what is left of that are sets of half the size, a quarter, and so on."""
        (level, offset), (last, first) = free, taken
        self._free[level].remove(offset)
        for below in range(level + 1, last + 1):
            self._free[below].add((first ^ (1 << (below - 1))) % (1 << below))

    def _give_back(self, taken: Set) -> None:
        """Free a set, as part of the largest one that is free then."""
        level, offset = taken
        while level and _sibling(level, offset) in self._free[level]:
            self._free[level].remove(_sibling(level, offset))
            level -= 1
            offset %= 1 << level
        self._free[level].add(offset)

    def _merge(self) -> Iterable[Move]:
        """Merge free sets of equal size until there are none: what is beside one of them moves into the other."""
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
        """Return how many entries of a set are taken."""
        inside = (held for held in self.sequences.values() if held.level >= level)
        return sum(self.entries >> held.level for held in inside if held.offset % (1 << level) == offset)


def _sibling(level: int, offset: int) -> int:
    """Return the offset of the other half of the set that a set is a half of."""
    return offset ^ (1 << (level - 1))
