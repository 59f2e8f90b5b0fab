"""Recording of a block behind a bus: tables are written and read back over the bus, then golden's traffic runs.

Golden's rows begin with writes through program ports while the block is idle. Over the bus the same writes take longer,
so golden keeps the block idle for that time; from then on every output is golden's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from vlane.golden.schedulers.bank import REST_CYCLES
from vlane.registers import WORD_BYTES, Command, Constant, Register, RegisterMap, Setting, Status, Window
from vlane.tb.machinery.native.rows import Field, Port, Words, row_layout, row_words
from vlane.tb.machinery.recordings.plain_bus import Access, PlainBus
from vlane.tb.machinery.recordings.power_on import power_on_writes
from vlane.tb.machinery.recordings.programmed import programmed
from vlane.tb.machinery.recordings.recording import Recording, lead_in

_BUS = "s_axil_"
_WORD_BITS, _ROW_WORD_BITS = 32, 64
_WORD_MASK = (1 << _WORD_BITS) - 1
_REST_CYCLES = REST_CYCLES + 64
_FIRST_TRY = 1024
_WAITING, _SOME = 3, 4


def record_registered(
    registers: RegisterMap,
    parameters: Mapping[str, Any],
    block: Sequence[Port],
    ports: Sequence[Port],
    *,
    cycles: int,
    seed: int,
) -> Recording:
    """Return the recording of a block behind its registers.

    Parameters
    ----------
    registers : RegisterMap
        Registers of the bus.
    parameters : mapping
        Parameters of the block.
    block, ports : sequence of Port
        Ports of the block itself, and of the block behind its registers.
    cycles : int
        Cycles of golden's traffic.
    seed : int
        Seed that determines tables, traffic, pauses and reads.
    """
    settle = _FIRST_TRY
    while True:
        golden = _Golden(registers, parameters, block, settle=settle, cycles=cycles, seed=seed)
        bus = _BusRows(registers, golden, settle, parameters, seed)
        if bus.needs <= settle:
            return bus.recording(ports, seed)
        settle = bus.needs


class _Golden:
    """Golden's rows, with the program inputs of each cycle as a dictionary."""

    def __init__(
        self,
        registers: RegisterMap,
        parameters: Mapping[str, Any],
        block: Sequence[Port],
        *,
        settle: int,
        cycles: int,
        seed: int,
    ) -> None:
        self.cycles = cycles
        self.inputs, self.outputs = row_layout(block, inputs=True), row_layout(block, inputs=False)
        source = programmed(
            registers.name,
            parameters,
            settle=settle,
            cycles=cycles,
            seed=seed,
            inputs=self.inputs,
            outputs=self.outputs,
        )
        self.rows, self.expected = source.record(row_words(self.inputs), row_words(self.outputs))
        driven = {each.program for _, each in registers if isinstance(each, Window)}
        enables = [name for name in self.inputs if name.rpartition("__")[0] in driven and name.endswith("__enable")]
        enables += [each.member for _, each in registers if isinstance(each, Command)]
        members = [name for name in self.inputs if name.rpartition("__")[0] in driven or name in enables]
        members += [each.member for _, each in registers if isinstance(each, Setting)]
        told = np.zeros(settle, bool)
        for name in enables:
            told |= self.inputs[name].get(self.rows[:settle]) != 0
            if self.inputs[name].get(self.rows[settle:]).any():
                raise ValueError(f"{name} must be 0 once the tables are written")
        self.writes = [
            {name: self.inputs[name].value(self.rows[at]) for name in members} for at in np.flatnonzero(told)
        ]


class _BusRows:
    """Bus rows for golden's run: write the tables, read the registers back, then reads and rejected writes."""

    def __init__(
        self, registers: RegisterMap, golden: _Golden, settle: int, parameters: Mapping[str, Any], seed: int
    ) -> None:
        self._registers, self._golden, self._settle = registers, golden, settle
        self._draw = random.Random(f"registers {seed}")  # noqa: S311 - stimulus
        self._settings: dict[str, int] = {}
        self._bus = PlainBus(seed)
        self._lines: list[tuple[dict[str, int], dict[str, int]]] = []
        for write in (*power_on_writes(registers.name, parameters), *golden.writes):
            self._write(write)
        self._bus.reads += [Access(at) for at, each in registers if isinstance(each, Constant | Command | Window)]
        self.needs = self._tell()
        """Cycles until the tables are written, the settings are read back and the block is idle."""

    def recording(self, ports: Sequence[Port], seed: int) -> Recording:
        """Return golden's rows combined with the bus rows, after a reset."""
        everything = list(self._every_word())
        while len(self._lines) < self._settle + self._golden.cycles:
            if len(self._lines) >= self._settle:
                self._keep_busy(everything)
            self._go_on()
        inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
        rows = _copied(self._golden.inputs, self._golden.rows, inputs)
        expected = _copied(self._golden.outputs, self._golden.expected, outputs)
        for layout, made, side in ((inputs, rows, 0), (outputs, expected, 1)):
            for name in self._lines[0][side]:
                layout[_BUS + name].put(made, np.array([line[side][name] for line in self._lines], np.uint64))
        before = lead_in(inputs, (), seed=seed)
        return Recording(
            inputs,
            outputs,
            np.concatenate([before, rows]),
            expected,
            shown=len(before),
            first=len(before) + self._settle,
            early=tuple(name for name in outputs if name.startswith(_BUS)),
        )

    def _go_on(self) -> None:
        self._lines.append(self._bus.cycle(self._look_up))

    def _tell(self) -> int:
        """Write all tables and settings, read the settings back, and return the cycles needed."""
        while not self._bus.is_idle():
            self._go_on()
        self._bus.reads += [Access(at) for at, each in self._every_word() if isinstance(each, Setting)]
        while not self._bus.is_idle():
            self._go_on()
        return len(self._lines) + _REST_CYCLES

    def _keep_busy(self, everything: Sequence[tuple[int, Register]]) -> None:
        """Issue a read of a random register, and writes that are rejected, while few requests are pending."""
        at, register = self._draw.choice(everything)
        if self._bus.waiting < _WAITING and self._draw.random() < 1 / 2:
            self._bus.reads.append(Access(at))
        if self._bus.waiting < _WAITING and self._draw.random() < 1 / 4:
            is_read_only = isinstance(register, Constant | Status)
            strobes = self._draw.randrange(15 + is_read_only)
            self._bus.writes.append(Access(at, self._draw.getrandbits(_WORD_BITS), strobes, refused=True))

    def _every_word(self) -> Iterator[tuple[int, Register]]:
        """Yield the address and register of every word, but only of some words of each window."""
        for at, each in self._registers:
            words = 1
            if isinstance(each, Setting):
                words = -(-self._golden.inputs[each.member].bits // _WORD_BITS)
            elif isinstance(each, Status):
                words = each.words
            elif isinstance(each, Window):
                words = min(each.words, _SOME)
            for word in range(words):
                yield at + WORD_BYTES * word, each

    def _look_up(self, address: int) -> int | None:
        """Return the value read from a word in this cycle, or ``None`` if it is not readable."""
        for at, each in self._registers:
            word = (address - at) // WORD_BYTES
            if not 0 <= word < RegisterMap.span(each) // WORD_BYTES:
                continue
            if isinstance(each, Constant):
                return each.value if word == 0 else None
            if isinstance(each, Setting):
                bits = self._golden.inputs[each.member].bits
                return _part(self._settings.get(each.member, 0), bits, word, _WORD_BITS)
            if isinstance(each, Status):
                field = self._golden.outputs[each.member]
                shown = field.value(self._golden.expected[len(self._lines)])
                return _part(shown, field.bits, word, each.element_bits or _WORD_BITS)
        return None

    def _write(self, write: Mapping[str, int]) -> None:
        """Queue the bus writes that are equivalent to a cycle's program inputs."""
        for at, each in self._registers:
            if isinstance(each, Setting) and write.get(each.member, 0) != self._settings.get(each.member, 0):
                self._write_words(at, each.member, write.get(each.member, 0))
                self._settings[each.member] = write.get(each.member, 0)
        for at, each in self._registers:
            if isinstance(each, Window) and write.get(f"{each.program}__enable"):
                self._write_entry(at, each, write)
        for at, each in self._registers:
            if isinstance(each, Command) and write.get(each.member):
                self._write_words(at, each.member, write[each.member])

    def _write_words(self, at: int, member: str, value: int) -> None:
        for word in range(-(-self._golden.inputs[member].bits // _WORD_BITS)):
            self._bus.writes.append(Access(at + WORD_BYTES * word, value >> _WORD_BITS * word & _WORD_MASK))

    def _write_entry(self, at: int, window: Window, write: Mapping[str, int]) -> None:
        def of(name: str) -> int:
            return write.get(f"{window.program}__{name}", 0)

        if any(of(name) != fixed for name, fixed in window.fixed.items()):
            return
        entry = sum(of(part.name) << part.low for part in window.index)
        value = sum(of(part.name) << part.low for part in window.fields)
        for word in range(window.entry_words):
            there = at + WORD_BYTES * (window.entry_words * entry + word)
            self._bus.writes.append(Access(there, value >> _WORD_BITS * word & _WORD_MASK))


def _part(value: int, bits: int, word: int, part: int) -> int | None:
    """Return the word of a value's ``part``-bit elements, or ``None`` beyond its ``bits``."""
    return value >> part * word & (1 << part) - 1 if part * word < bits else None


def _copied(layout: Mapping[str, Field], rows: Words, wanted: Mapping[str, Field]) -> Words:
    """Return rows in another layout, with the ports of both layouts."""
    made = np.zeros((len(rows), row_words(dict(wanted))), np.uint64)
    for name in wanted.keys() & layout.keys():
        source, to = layout[name], wanted[name]
        if source.bits <= _ROW_WORD_BITS:
            to.put(made, source.get(rows))
        else:
            words = -(-source.bits // _ROW_WORD_BITS)
            made[:, to.word : to.word + words] = rows[:, source.word : source.word + words]
    return made
