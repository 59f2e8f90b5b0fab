"""Registers and windows of a block behind a bus, with their addresses (``docs/register_port.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

WORD_BYTES = 4
_WORD_BITS = 8 * WORD_BYTES
_WINDOWS_FROM = 0x400


@dataclass(frozen=True, slots=True)
class BitField:
    """Some bits of a register's value or of an entry's number.

    Parameters
    ----------
    name : str
        Member of the program port that these bits drive.
    low, bits : int
        Lowest bit and width.
    meaning : str
        One line.
    """

    name: str
    low: int
    bits: int
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A register that always reads the same value.

    Parameters
    ----------
    name, meaning : str
        Its name and what it says.
    value : int
        32 bits.
    """

    name: str
    meaning: str
    value: int

    words = 1


@dataclass(frozen=True, slots=True)
class _OfMember:
    """Registers of a member of the block.

    Parameters
    ----------
    name, meaning : str
        Name and meaning.
    member : str
        The member.
    words : int
        Words kept for it.
    """

    name: str
    meaning: str
    member: str
    words: int = 1


@dataclass(frozen=True, slots=True)
class Status(_OfMember):
    """Registers that read an output of the block.

    Parameters
    ----------
    element_bits : int
        If not 0, the output is an array and each word reads one element of so many bits.
    """

    element_bits: int = 0


class Command(_OfMember):
    """Registers whose bits, written as one, assert an input of the block for one cycle."""

    __slots__ = ()


class Setting(_OfMember):
    """Registers that hold an input of the block and read back; 0 after reset."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Entries that write a program port; the number of the entry and its value say what is written.

    Parameters
    ----------
    name, meaning : str
        Name and meaning.
    program : str
        The program port; its ``enable`` is raised for a cycle.
    fields : tuple of BitField
        Of the value: one word, or two, of which the higher one is written last and writes both.
    index : tuple of BitField
        Of the entry's number.
    fixed : mapping of str to int
        Members of the program port that are the same for every entry.
    """

    name: str
    meaning: str
    program: str
    fields: tuple[BitField, ...]
    index: tuple[BitField, ...] = ()
    fixed: dict[str, int] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return 1 << sum(part.bits for part in self.index)

    @property
    def entry_words(self) -> int:
        """Words of an entry, 1 or 2."""
        return -(-max(part.low + part.bits for part in self.fields) // _WORD_BITS)

    @property
    def words(self) -> int:
        """Words of the window."""
        return self.entries * self.entry_words


Register = Constant | Status | Command | Setting | Window


@dataclass(frozen=True, slots=True)
class RegisterMap:
    """Registers in the order of their addresses; each starts at a multiple of its size rounded up to a power of two.

    Parameters
    ----------
    name : str
        The block.
    registers : tuple of Register
        Single registers from address 0 on, windows behind them: so a new register moves no other.
    """

    name: str
    registers: tuple[Register, ...]

    def __iter__(self) -> Iterator[tuple[int, Register]]:
        """Yield (byte address, register)."""
        at = 0
        for register in sorted(self.registers, key=lambda each: isinstance(each, Window)):
            if isinstance(register, Window):
                at = max(at, _WINDOWS_FROM)
            size = self.span(register)
            at = -(-at // size) * size
            yield at, register
            at += size

    @staticmethod
    def span(register: Register) -> int:
        """Return the bytes kept for a register, a power of two."""
        return WORD_BYTES << (register.words - 1).bit_length()

    @property
    def programs(self) -> bool:
        """Whether anything can be written."""
        return any(isinstance(register, Window) for register in self.registers)

    @property
    def address_bits(self) -> int:
        """Width of a byte address."""
        return max(at + self.span(register) - 1 for at, register in self).bit_length()

    def address(self, name: str, entry: int = 0, word: int = 0) -> int:
        """Return the byte address of a word of a register, or of an entry of a window.

        Raises
        ------
        KeyError
            If there is no register of that name.
        ValueError
            If it has no such entry or word.
        """
        at, register = next(((at, each) for at, each in self if each.name == name), (0, None))
        if register is None:
            raise KeyError(name)
        entries, words = (
            (register.entries, register.entry_words) if isinstance(register, Window) else (1, register.words)
        )
        if not (0 <= entry < entries and 0 <= word < words):
            raise ValueError(f"{name} has {entries} entries of {words} words, not [{entry}] word {word}")
        return at + WORD_BYTES * (words * entry + word)
