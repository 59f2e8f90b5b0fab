"""cocotb bench of the register port: an AXI4-Lite master that uses only the register map, and expected outputs."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from vlane.registers.description import register_map
from vlane.registers.register_map import WORD_BYTES, Command, Constant, RegisterMap, Setting, Status, Window
from vlane.tb.machinery.cocotb_benches.cocotb_drive import layouts, setting, start

_SOME = 10
_WORD = 1 << 32


class _Bus:
    """AXI4-Lite master that pauses on every channel, and the register map of the device."""

    def __init__(self, dut: Any, settings: dict[str, Any]) -> None:
        self.dut, self.random = dut, random.Random(settings["seed"])  # noqa: S311 - stimulus
        self.registers: RegisterMap = register_map(settings["block"], settings["parameters"])
        self.widths = {name: field.bits for side in layouts(settings) for name, field in side.items()}
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        write, read = self.master.write_if, self.master.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.set_pause_generator(self._pauses())

    def _pauses(self) -> Iterator[bool]:
        while True:
            yield from itertools.repeat(self.random.random() < 0.5, self.random.randrange(1, 6))

    async def write(self, address: int, word: int) -> AxiResp:
        answer = await self.master.write(address, word.to_bytes(WORD_BYTES, "little"))
        return AxiResp(answer.resp)

    async def read(self, address: int) -> tuple[int, AxiResp]:
        answer = await self.master.read(address, WORD_BYTES)
        return int.from_bytes(answer.data, "little"), AxiResp(answer.resp)

    def of_kind(self, kind: Any) -> list[Any]:
        return [register for register in self.registers if isinstance(register, kind)]


async def _bus(dut: Any) -> _Bus:
    settings = setting()
    inputs, _ = layouts(settings)
    bus = _Bus(dut, settings)
    await start(dut, [name for name in inputs if not name.startswith("s_axil")])
    return bus


def _expected(window: Window, entry: int, value: int) -> dict[str, int]:
    """Return the expected program port for an entry of a table. Members that the entry does not set are 0."""
    shown = {"enable": 1, **dict([window.select] if window.select else [])}
    shown |= {part.name: entry >> part.low & (1 << part.bits) - 1 for part in window.index}
    return shown | {part.name: value >> part.low & (1 << part.bits) - 1 for part in window.fields}


def _some_entries(bus: _Bus, window: Window) -> list[int]:
    """Return the first, the last and some other entries of a table, in random order."""
    entries = list(window.entries)
    some = {entries[0], entries[-1], *(bus.random.choice(entries) for _ in range(_SOME))}
    return sorted(some, key=lambda _: bus.random.random())


def _masked(window: Window, value: int) -> int:
    """Return the bits of a value that a table's fields keep."""
    return sum(value & (1 << part.bits) - 1 << part.low for part in window.fields)


async def _write_entry(bus: _Bus, window: Window, entry: int, value: int) -> None:
    for word in range(window.entry_words):
        address = bus.registers.address(window.name, entry, word)
        assert await bus.write(address, value >> 32 * word & _WORD - 1) == AxiResp.OKAY


async def _expect_entry(bus: _Bus, window: Window, entry: int, value: int) -> None:
    for word in range(window.entry_words):
        got = await bus.read(bus.registers.address(window.name, entry, word))
        wanted = value >> 32 * word & _WORD - 1
        assert got == (wanted, AxiResp.OKAY), f"{window.name}[{entry}] word {word} reads {got}, expected {wanted}"


async def _select_outputs(bus: _Bus, outputs: int) -> None:
    """Select the outputs of a switch whose tables are written, if the block has several copies of its tables."""
    for register in bus.of_kind(Setting):
        value = outputs >> register.member_low & (1 << register.bits) - 1
        assert await bus.write(bus.registers.address(register.name), value) == AxiResp.OKAY


def _programs(bus: _Bus) -> dict[str, list[str]]:
    """Return the members of every program port."""
    ports = {window.program for window in bus.of_kind(Window)}
    return {port: [name for name in bus.widths if name.startswith(f"{port}__")] for port in ports}


async def _watch(bus: _Bus, seen: deque[tuple[str, dict[str, int]]]) -> None:
    programs = _programs(bus)
    while True:
        await RisingEdge(bus.dut.clk)
        for port, names in programs.items():
            if int(getattr(bus.dut, f"{port}__enable").value):
                seen.append((port, {name: int(getattr(bus.dut, name).value) for name in names}))


@cocotb.test()
async def entries_reach_the_program_port(dut: Any) -> None:
    """Check that each write of an entry raises the program port for a single cycle, in order, with every field."""
    bus = await _bus(dut)
    seen: deque[tuple[str, dict[str, int]]] = deque()
    cocotb.start_soon(_watch(bus, seen))
    programs = _programs(bus)
    count = 0
    for window in bus.of_kind(Window):
        bits = max(part.low + part.bits for part in window.fields)
        for entry in _some_entries(bus, window):
            value = bus.random.getrandbits(bits)
            await _write_entry(bus, window, entry, value)
            expected = _expected(window, entry, value)
            for _ in range(3):
                await RisingEdge(dut.clk)
            assert len(seen) == 1, f"{window.name}[{entry}]: the program port was raised {len(seen)} times, not once"
            port, got = seen.popleft()
            assert port == window.program
            for name in programs[port]:
                wanted = expected.get(name.removeprefix(f"{port}__"), 0) & (1 << bus.widths[name]) - 1
                assert got[name] == wanted, f"{window.name}[{entry}]: {name} is {got[name]}, expected {wanted}"
            count += 1
    assert count


@cocotb.test()
async def tables_read_what_was_written(dut: Any) -> None:
    """Check that entries read their values after reset, then the written values, and the first ones after a reset."""
    bus = await _bus(dut)
    tables = [window for window in bus.of_kind(Window) if not window.repeats]
    repeated = {window.repeats for window in bus.of_kind(Window)}
    count = 0
    await _select_outputs(bus, 1)
    written = {}
    for window in tables:
        for entry in _some_entries(bus, window):
            if not (window.kept or window.name in repeated):
                await _expect_entry(bus, window, entry, window.unwritten(entry))
            written[window, entry] = _masked(window, bus.random.getrandbits(64))
            await _write_entry(bus, window, entry, written[window, entry])
    for (window, entry), value in written.items():
        await _expect_entry(bus, window, entry, value)
        count += 1
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await _select_outputs(bus, 1)
    for (window, entry), value in written.items():
        await _expect_entry(bus, window, entry, value if window.kept else window.unwritten(entry))
    assert count


@cocotb.test()
async def copies_are_those_of_the_written_outputs(dut: Any) -> None:
    """Check that each output keeps its own tables, and that a row for every input changes all inputs' rows."""
    bus = await _bus(dut)
    for window in bus.of_kind(Window):
        entry = list(window.entries)[-1]
        first, second = (_masked(window, bus.random.getrandbits(64)) for _ in range(2))
        if window.selected_by:
            for outputs, value in ((3, first), (2, second)):
                await _select_outputs(bus, outputs)
                await _write_entry(bus, window, entry, value)
            for outputs, value in ((1, first), (2, second), (3, first), (0, 0)):
                await _select_outputs(bus, outputs)
                await _expect_entry(bus, window, entry, value)
        if window.repeats:
            table = bus.registers[window.repeats]
            assert isinstance(table, Window)
            await _write_entry(bus, window, entry, first)
            rows = [each for each in table.entries if each & (1 << table.index[0].bits) - 1 == entry]
            for row in rows:
                await _expect_entry(bus, table, row, first)
            await _write_entry(bus, table, rows[0], second)
            for row in rows:
                await _expect_entry(bus, table, row, second if row == rows[0] else first)


@cocotb.test()
async def states_and_constants_read(dut: Any) -> None:
    """Check that states read the outputs of the block, element by element, and that settings read back."""
    bus = await _bus(dut)
    for register in bus.of_kind(Constant):
        assert await bus.read(bus.registers.address(register.name)) == (register.value, AxiResp.OKAY)
    for register in bus.of_kind(Status):
        width = bus.widths[register.member]
        element = width // register.words
        for _ in range(4):
            shown = bus.random.getrandbits(width)
            getattr(dut, register.member).value = shown
            await RisingEdge(dut.clk)
            for word in range(register.words):
                got = await bus.read(bus.registers.address(register.name, word=word))
                wanted = shown >> word * element & (1 << element) - 1
                assert got == (wanted, AxiResp.OKAY), f"{register.name} word {word}"
    member_values: dict[str, int] = {}
    for register in bus.of_kind(Setting):
        value = bus.random.getrandbits(register.bits)
        address = bus.registers.address(register.name)
        assert await bus.write(address, value) == AxiResp.OKAY
        assert await bus.read(address) == (value, AxiResp.OKAY)
        member_values[register.member] = member_values.get(register.member, 0) | value << register.member_low
    for member, value in member_values.items():
        assert int(getattr(dut, member).value) == value


@cocotb.test()
async def commands_last_a_cycle(dut: Any) -> None:
    """Check that each written bit of a command is set for a single cycle."""
    bus = await _bus(dut)
    for register in bus.of_kind(Command):
        shown: deque[int] = deque()

        async def watch(member: str = register.member, into: deque[int] = shown) -> None:
            while True:
                await RisingEdge(dut.clk)
                if value := int(getattr(dut, member).value):
                    into.append(value)

        watcher = cocotb.start_soon(watch())
        bits = bus.random.getrandbits(32) | 1
        assert await bus.write(bus.registers.address(register.name), bits) == AxiResp.OKAY
        for _ in range(4):
            await RisingEdge(dut.clk)
        assert list(shown) == [(bits & (1 << register.bits) - 1) << register.member_low]
        watcher.cancel()


async def _refuses_absent_addresses(bus: _Bus) -> None:
    """Expect SLVERR between registers, past the end of every table and array in it, and at the last address."""
    present = {
        bus.registers.address(each.name, entry, word)
        for each in bus.registers
        for entry in (each.entries if isinstance(each, Window) else (0,))
        for word in range(each.entry_words if isinstance(each, Window) else each.words)
    }
    near = {(1 << bus.registers.address_bits) - WORD_BYTES}
    for each in bus.registers:
        near.add(each.address + WORD_BYTES * each.words)
        if isinstance(each, Window):
            near |= {each.address + (part.count << part.low) * each.entry_words * WORD_BYTES for part in each.index}
    absent = [at for at in sorted(near - present) if at >> bus.registers.address_bits == 0]
    assert absent
    for at in absent:
        assert await bus.read(at) == (0, AxiResp.SLVERR), hex(at)
        assert await bus.write(at, _WORD - 1) == AxiResp.SLVERR, hex(at)


async def _refuses_parts_of_registers(dut: Any, bus: _Bus) -> None:
    """Expect SLVERR for partial words."""
    for register in [*bus.of_kind(Window), *bus.of_kind(Command), *bus.of_kind(Setting)]:
        partial = await bus.master.write(bus.registers.address(register.name) + 1, b"\1\2")
        assert partial.resp == AxiResp.SLVERR
    for register in [*bus.of_kind(Command), *bus.of_kind(Setting)]:
        assert int(getattr(dut, register.member).value) == 0


@cocotb.test()
async def what_has_no_meaning_is_refused(dut: Any) -> None:
    """Check that reads of commands, and writes of read-only, absent or partial words, return SLVERR without effect."""
    bus = await _bus(dut)
    seen: deque[tuple[str, dict[str, int]]] = deque()
    cocotb.start_soon(_watch(bus, seen))
    for register in bus.registers:
        if isinstance(register, Command) or (isinstance(register, Window) and register.repeats):
            assert await bus.read(register.address) == (0, AxiResp.SLVERR), register.name
        if isinstance(register, Constant | Status):
            assert await bus.write(register.address, 1) == AxiResp.SLVERR, register.name
    await _refuses_absent_addresses(bus)
    await _refuses_parts_of_registers(dut, bus)
    for _ in range(4):
        await RisingEdge(dut.clk)
    assert not seen


@cocotb.test()
async def reads_and_writes_go_on_at_once(dut: Any) -> None:
    """Check that simultaneous writes and reads, with random pauses, are all answered, writes in order."""
    bus = await _bus(dut)
    seen: deque[tuple[str, dict[str, int]]] = deque()
    cocotb.start_soon(_watch(bus, seen))
    window = max(bus.of_kind(Window), key=lambda each: each.entry_count)
    part = window.fields[0]
    entries = list(window.entries)
    values = [bus.random.getrandbits(part.bits) for _ in range(60)]
    writes = [
        bus.master.init_write(
            bus.registers.address(window.name, entries[number % len(entries)], word),
            (value << part.low >> 32 * word & _WORD - 1).to_bytes(WORD_BYTES, "little"),
        )
        for number, value in enumerate(values)
        for word in range(window.entry_words)
    ]
    reads = [bus.master.init_read(bus.registers.address("identity"), WORD_BYTES) for _ in writes]
    for write, read in zip(writes, reads, strict=True):
        await write.wait()
        await read.wait()
        assert write.data.resp == AxiResp.OKAY
        assert int.from_bytes(read.data.data, "little") == bus.of_kind(Constant)[0].value
    for _ in range(4):
        await RisingEdge(dut.clk)
    name = f"{window.program}__{part.name}"
    mask = (1 << bus.widths[name]) - 1
    assert [got[name] for _, got in seen] == [value & mask for value in values]
