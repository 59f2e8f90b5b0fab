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
from vlane.registers.register_map import WORD_BYTES, Command, Constant, Register, RegisterMap, Setting, Status, Window
from vlane.tb.machinery.native.rows import Field, Port, Words, row_layout, row_words
from vlane.tb.machinery.recordings.plain_bus import Access, PlainBus
from vlane.tb.machinery.recordings.plain_registers import PlainRegisters
from vlane.tb.machinery.recordings.power_on import power_on_writes
from vlane.tb.machinery.recordings.programmed import programmed_traffic
from vlane.tb.machinery.recordings.recording import Recording, lead_in

_BUS = "s_axil_"
_WORD_BITS, _ROW_WORD_BITS = 32, 64
_WORD_MASK = (1 << _WORD_BITS) - 1
_REST_CYCLES = REST_CYCLES + 64
_FIRST_TRY = 1024
_WAITING, _SOME = 3, 4


def record_register_block(
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
        source = programmed_traffic(
            registers.name,
            parameters,
            settle=settle,
            cycles=cycles,
            seed=seed,
            inputs=self.inputs,
            outputs=self.outputs,
        )
        self.rows, self.expected = source.record(row_words(self.inputs), row_words(self.outputs))
        driven = {each.program for each in registers if isinstance(each, Window)}
        enables = [name for name in self.inputs if name.rpartition("__")[0] in driven and name.endswith("__enable")]
        enables += [each.member for each in registers if isinstance(each, Command)]
        members = [name for name in self.inputs if name.rpartition("__")[0] in driven or name in enables]
        members += [each.member for each in registers if isinstance(each, Setting)]
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
        self._tables = PlainRegisters(registers)
        self._lines: list[tuple[dict[str, int], dict[str, int]]] = []
        for write in (*power_on_writes(registers.name, parameters), *golden.writes):
            self._write(write)
        # A memory without initial contents reads undefined values until it is written.
        early: list[Register] = [each for each in registers if isinstance(each, Window) and not each.kept]
        early += [each for each in registers if isinstance(each, Constant | Command)]
        self._bus.reads += [Access(each.address) for each in early]
        self.needs = self._program_tables()
        """Cycles until the tables are written, the settings are read back and the block is idle."""

    def recording(self, ports: Sequence[Port], seed: int) -> Recording:
        """Return golden's rows combined with the bus rows, after a reset."""
        everything = list(self._every_word())
        while len(self._lines) < self._settle + self._golden.cycles:
            if len(self._lines) >= self._settle:
                self._keep_busy(everything)
            self._run_cycle()
        inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
        rows = _copy_fields(self._golden.inputs, self._golden.rows, inputs)
        expected = _copy_fields(self._golden.outputs, self._golden.expected, outputs)
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

    def _run_cycle(self) -> None:
        self._lines.append(self._bus.cycle(self._read_word, self._tables.write))

    def _program_tables(self) -> int:
        """Write all tables and settings, read the settings back, and return the cycles needed."""
        while not self._bus.is_idle():
            self._run_cycle()
        self._bus.reads += [Access(at) for at, each in self._every_word() if isinstance(each, Setting | Window)]
        while not self._bus.is_idle():
            self._run_cycle()
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
        """Yield the address and register of every word, but only of some entries of each table."""
        for each in self._registers:
            if isinstance(each, Window):
                entries = list(each.entries)
                some = [*entries[: _SOME - 1], entries[-1]]
                words = [(entry, word) for entry in some for word in range(each.entry_words)]
            else:
                words = [(0, word) for word in range(each.words)]
            for entry, word in words:
                yield self._registers.address(each.name, entry, word), each

    def _read_word(self, address: int) -> int | None:
        """Return the value read from a word in this cycle, or ``None`` if it is not readable."""
        for each in self._registers:
            if isinstance(each, Status) and 0 <= (word := (address - each.address) // WORD_BYTES) < each.words:
                field = self._golden.outputs[each.member]
                shown = field.value(self._golden.expected[len(self._lines)])
                bits = field.bits // each.words
                return shown >> bits * word & (1 << bits) - 1
        return self._tables.read(address)

    def _write(self, write: Mapping[str, int]) -> None:
        """Queue the bus writes that are equivalent to a cycle's program inputs."""
        for each in self._registers:
            if isinstance(each, Setting):
                value = write.get(each.member, 0) >> each.member_low & (1 << each.bits) - 1
                if value != self._settings.get(each.name, 0):
                    self._bus.writes.append(Access(each.address, value))
                    self._settings[each.name] = value
        for each in self._registers:
            if isinstance(each, Window) and write.get(f"{each.program}__enable"):
                self._write_entry(each, write)
        for each in self._registers:
            if isinstance(each, Command) and (value := write.get(each.member, 0) >> each.member_low):
                self._bus.writes.append(Access(each.address, value & _WORD_MASK))

    def _write_entry(self, window: Window, write: Mapping[str, int]) -> None:
        """Queue the writes of a table's entry. A write to an entry that the instance lacks has no effect."""

        def of(name: str) -> int:
            return write.get(f"{window.program}__{name}", 0)

        if window.select and of(window.select[0]) != window.select[1]:
            return
        if any(of(part.name) >= part.count for part in window.index):
            return
        entry = sum(of(part.name) << part.low for part in window.index)
        value = sum(of(part.name) << part.low for part in window.fields)
        for word in range(window.entry_words):
            there = self._registers.address(window.name, entry, word)
            self._bus.writes.append(Access(there, value >> _WORD_BITS * word & _WORD_MASK))


def _copy_fields(layout: Mapping[str, Field], rows: Words, wanted: Mapping[str, Field]) -> Words:
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
