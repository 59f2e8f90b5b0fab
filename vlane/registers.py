"""Registers and windows of a block on a bus, with their addresses (``docs/register_port.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

WORD_BYTES = 4
_WORD_BITS = 8 * WORD_BYTES
_WINDOWS_FROM = 0x400


@dataclass(frozen=True, slots=True)
class BitField:
    """Bit field of a register's value or of an entry number.

    Parameters
    ----------
    name : str
        Driven member of the program port.
    low, bits : int
        Lowest bit and width.
    meaning : str
        Description in one line.
    """

    name: str
    low: int
    bits: int
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """Register with a constant value.

    Parameters
    ----------
    name, meaning : str
        Name and description.
    value : int
        Value of 32 bits.
    """

    name: str
    meaning: str
    value: int

    words = 1


@dataclass(frozen=True, slots=True)
class _OfMember:
    """Registers connected to a member of the block.

    Parameters
    ----------
    name, meaning : str
        Name and description.
    member : str
        Name of the member.
    words : int
        Number of words.
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
        If not 0, the output is an array, and each word reads one element of this width.
    """

    element_bits: int = 0


class Command(_OfMember):
    """Registers that assert an input of the block for one cycle where a 1 is written."""

    __slots__ = ()


class Setting(_OfMember):
    """Registers that hold the value of a block's input. They can be read back and are 0 after reset."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Array of entries. Writing an entry writes a program port once, with fields of the entry number and of the value.

    Parameters
    ----------
    name, meaning : str
        Name and description.
    program : str
        Program port. A write of an entry's last word asserts its ``enable`` for one cycle.
    fields : tuple of BitField
        Fields of an entry's value, which has one word or two. The lower word is stored until the higher is written.
    index : tuple of BitField
        Fields of the entry number.
    fixed : mapping of str to int
        Members of the program port with the same value for all entries.
    """

    name: str
    meaning: str
    program: str
    fields: tuple[BitField, ...]
    index: tuple[BitField, ...] = ()
    fixed: dict[str, int] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """Number of entries."""
        return 1 << sum(part.bits for part in self.index)

    @property
    def entry_words(self) -> int:
        """Number of words per entry, 1 or 2."""
        return -(-max(part.low + part.bits for part in self.fields) // _WORD_BITS)

    @property
    def words(self) -> int:
        """Number of words of all entries."""
        return self.entries * self.entry_words


Register = Constant | Status | Command | Setting | Window


@dataclass(frozen=True, slots=True)
class RegisterMap:
    """Registers in address order. Each is aligned to its size, rounded up to a power of two.

    Parameters
    ----------
    name : str
        Name of the block.
    registers : tuple of Register
        Registers. Single registers start at address 0 and windows follow, so a new register moves no window.
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
        """Return the size of a register in bytes, a power of two."""
        return WORD_BYTES << (register.words - 1).bit_length()

    @property
    def programs(self) -> bool:
        """Whether the map has writable windows."""
        return any(isinstance(register, Window) for register in self.registers)

    @property
    def address_bits(self) -> int:
        """Width of a byte address."""
        return max(at + self.span(register) - 1 for at, register in self).bit_length()

    def address(self, name: str, entry: int = 0, word: int = 0) -> int:
        """Return the byte address of a word of a register or window entry.

        Raises
        ------
        KeyError
            If there is no register with the name.
        ValueError
            If the register lacks the entry or word.
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
