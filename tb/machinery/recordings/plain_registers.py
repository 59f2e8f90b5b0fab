"""Plain model of what constants, settings and tables of a register port read, from ``docs/register_port.md``."""

from __future__ import annotations

from vlane.registers.register_map import WORD_BYTES, Constant, RegisterMap, Setting, Window

_WORD_BITS = 8 * WORD_BYTES
_MASK = (1 << _WORD_BITS) - 1


class PlainRegisters:
    """Registers after power-on and reset.

    Parameters
    ----------
    registers : RegisterMap
        Registers of the instance.
    """

    def __init__(self, registers: RegisterMap) -> None:
        self._registers = registers
        self._settings: dict[str, int] = {}
        self._lower: dict[str, int] = {}
        self._entries: dict[tuple[str, int, int], int] = {}

    def read(self, address: int) -> int | None:
        """Return the word at an address, or ``None`` if no constant, setting or table can be read there."""
        for each in self._registers:
            offset = (address - each.address) // WORD_BYTES
            if isinstance(each, Constant) and offset == 0:
                return each.value
            if isinstance(each, Setting) and offset == 0:
                return self._settings.get(each.name, 0)
            if isinstance(each, Window) and not each.repeats and each.has(offset // each.entry_words):
                entry, word = divmod(offset, each.entry_words)
                return self._entry(each, entry) >> _WORD_BITS * word & _MASK
        return None

    def write(self, address: int, word: int) -> None:
        """Take the effect of an accepted write."""
        for each in self._registers:
            offset = (address - each.address) // WORD_BYTES
            if isinstance(each, Setting) and offset == 0:
                self._settings[each.name] = word & (1 << each.bits) - 1
            if isinstance(each, Window) and each.has(offset // each.entry_words):
                self._write_word(each, *divmod(offset, each.entry_words), word)

    def _write_word(self, window: Window, entry: int, place: int, word: int) -> None:
        if place < window.entry_words - 1:
            self._lower[window.name] = word
            return
        value = word << _WORD_BITS * place | (self._lower.get(window.name, 0) if place else 0)
        value = sum(value & (1 << part.bits) - 1 << part.low for part in window.fields)
        if window.repeats:
            table = self._registers[window.repeats]
            assert isinstance(table, Window)
            highest = table.index[-1]
            for number in range(highest.count):
                self._entries[table.name, entry | number << highest.low, 0] = value
        elif window.selected_by:
            for output in self._outputs(window):
                self._entries[window.name, entry, output] = value
        else:
            self._entries[window.name, entry, 0] = value

    def _entry(self, window: Window, entry: int) -> int:
        copy = 0
        if window.selected_by:
            outputs = self._outputs(window)
            if not outputs:
                return 0
            copy = outputs[0]
        return self._entries.get((window.name, entry, copy), window.unwritten(entry))

    def _outputs(self, window: Window) -> list[int]:
        """Return the selected copies of a table, the lowest first."""
        chosen = 0
        for each in self._registers:
            if isinstance(each, Setting) and each.member == window.selected_by:
                chosen |= self._settings.get(each.name, 0) << each.member_low
        return [output for output in range(chosen.bit_length()) if chosen >> output & 1]
