"""Registers and tables of a block on a bus, with their addresses (``docs/register_port.md``)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

WORD_BYTES = 4
_WORD_BITS = 8 * WORD_BYTES


@dataclass(frozen=True, slots=True)
class BitField:
    """Bit field of a register's value.

    Parameters
    ----------
    name : str
        Name; for a table, the driven member of the program port.
    low, bits : int
        Lowest bit and width.
    meaning : str
        Description in one line.
    reset : int
        Value after reset.
    """

    name: str
    low: int
    bits: int
    meaning: str = ""
    reset: int = 0


@dataclass(frozen=True, slots=True)
class EntryNumber:
    """Part of the number of a table's entry.

    Parameters
    ----------
    name : str
        Driven member of the program port.
    low, bits : int
        Lowest bit and width of the part in the distance of an entry from the first one, in entries.
    count : int
        Number of values from 0; larger values are outside the table.
    """

    name: str
    low: int
    bits: int
    count: int


@dataclass(frozen=True, slots=True)
class _Single:
    """Registers with one word, or one word per element.

    Parameters
    ----------
    name, meaning : str
        Name and description.
    address : int
        Byte address.
    fields : tuple of BitField
        Fields of the word.
    member : str
        Port of the block.
    member_low : int
        Lowest bit of the register in the port.
    """

    name: str
    meaning: str
    address: int
    fields: tuple[BitField, ...]
    member: str
    member_low: int = 0

    words = 1

    @property
    def bits(self) -> int:
        """Width of the value."""
        return max(part.low + part.bits for part in self.fields)


@dataclass(frozen=True, slots=True)
class Constant(_Single):
    """Register with a constant value: the reset values of its fields."""

    @property
    def value(self) -> int:
        """Value of 32 bits."""
        return sum(part.reset << part.low for part in self.fields)


@dataclass(frozen=True, slots=True)
class Status(_Single):
    """Registers that read an output of the block.

    Parameters
    ----------
    elements : int
        Number of words; above 1, the output is an array, and each word reads one element.
    """

    elements: int = 1

    @property
    def words(self) -> int:  # type: ignore[override]  # one word per element
        """Number of words."""
        return self.elements


@dataclass(frozen=True, slots=True)
class Command(_Single):
    """Register that asserts an input of the block for one cycle where a 1 is written."""


@dataclass(frozen=True, slots=True)
class Setting(_Single):
    """Register that holds the value of a block's input. It can be read and is 0 after reset."""


@dataclass(frozen=True, slots=True)
class Window:
    """Table whose entries are written through a program port. The port keeps a copy of the entries for reads.

    Parameters
    ----------
    name, meaning : str
        Name and description.
    address : int
        Byte address of the first entry.
    fields : tuple of BitField
        Fields of an entry, in one word or two; a write of the higher word writes both.
    program : str
        Program port, whose ``enable`` is asserted for one cycle.
    index : tuple of EntryNumber
        Parts of the entry number, the lowest first.
    select : tuple of (str, int) or None
        Member of the program port that selects the table, and its value.
    modulus : int
        If not 0, an entry that was not written reads its lowest number modulo this value instead of the reset values.
    kept : bool
        Whether reset keeps the entries.
    selected_by : str
        Setting whose bits select the written copies of the table; empty for a table with one copy.
    repeats : str
        Name of the table whose entries the write sets for every number of the highest part; entries cannot be read.
    """

    name: str
    meaning: str
    address: int
    fields: tuple[BitField, ...]
    program: str
    index: tuple[EntryNumber, ...] = ()
    select: tuple[str, int] | None = None
    modulus: int = 0
    kept: bool = False
    selected_by: str = ""
    repeats: str = ""

    @property
    def entry_words(self) -> int:
        """Words per entry, 1 or 2."""
        return -(-max(part.low + part.bits for part in self.fields) // _WORD_BITS)

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        count = 1
        for part in self.index:
            count *= part.count
        return count

    @property
    def entries(self) -> Iterator[int]:
        """Distances of the entries from the first one, in entries, in ascending order."""
        for numbers in itertools.product(*(range(part.count) for part in reversed(self.index))):
            yield sum(number << part.low for number, part in zip(reversed(numbers), self.index, strict=True))

    @property
    def bits(self) -> int:
        """Width of the distance of an entry from the first one, in entries."""
        return max((part.low + part.bits for part in self.index), default=0)

    @property
    def words(self) -> int:
        """Words from the first entry to the last one."""
        last = sum(part.count - 1 << part.low for part in self.index)
        return (last + 1) * self.entry_words

    def has(self, entry: int) -> bool:
        """Return whether the table has an entry at this distance from the first one."""
        if not 0 <= entry < 1 << self.bits:
            return False
        return all(entry >> part.low & (1 << part.bits) - 1 < part.count for part in self.index)

    def unwritten(self, entry: int) -> int:
        """Return the value that an entry reads before it is written."""
        if self.modulus:
            return (entry & (1 << self.index[0].bits) - 1) % self.modulus
        return sum(part.reset << part.low for part in self.fields)


Register = Constant | Status | Command | Setting | Window


@dataclass(frozen=True, slots=True)
class RegisterMap:
    """Registers in address order.

    Parameters
    ----------
    name, title : str
        Name and title of the block.
    registers : tuple of Register
        Registers and tables.
    """

    name: str
    title: str
    registers: tuple[Register, ...]

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    @property
    def programs(self) -> bool:
        """Whether the map has tables."""
        return any(isinstance(register, Window) for register in self.registers)

    @property
    def address_bits(self) -> int:
        """Width of a byte address."""
        return max(each.address + WORD_BYTES * each.words - 1 for each in self.registers).bit_length()

    def __getitem__(self, name: str) -> Register:
        """Return the register with a name.

        Raises
        ------
        KeyError
            If there is no register with the name.
        """
        for each in self.registers:
            if each.name == name:
                return each
        raise KeyError(name)

    def address(self, name: str, entry: int = 0, word: int = 0) -> int:
        """Return the byte address of a word of a register or of a table's entry.

        Raises
        ------
        KeyError
            If there is no register with the name.
        ValueError
            If the register lacks the entry or word.
        """
        register = self[name]
        if isinstance(register, Window):
            words, has_entry, size = register.entry_words, register.has(entry), f"{register.entry_count} entries of "
        else:
            words, has_entry, size = register.words, entry == 0, ""
        if not (has_entry and 0 <= word < words):
            raise ValueError(f"{name} has {size}{words} words, not [{entry}] word {word}")
        return register.address + WORD_BYTES * (words * entry + word)
