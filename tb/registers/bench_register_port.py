"""cocotb bench of the register port: an AXI4-Lite master that uses only the register map, and expected outputs."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from vlane.register_maps import register_map
from vlane.registers import WORD_BYTES, Command, Constant, RegisterMap, Setting, Status, Window
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
        return [register for _, register in self.registers if isinstance(register, kind)]


async def _bus(dut: Any) -> _Bus:
    settings = setting()
    inputs, _ = layouts(settings)
    bus = _Bus(dut, settings)
    await start(dut, [name for name in inputs if not name.startswith("s_axil")])
    return bus


def _expected(window: Window, entry: int, value: int) -> dict[str, int]:
    """Return the expected program port for an entry of a window. Members that the entry does not set are 0."""
    shown = {**window.fixed, "enable": 1}
    shown |= {part.name: entry >> part.low & (1 << part.bits) - 1 for part in window.index}
    return shown | {part.name: value >> part.low & (1 << part.bits) - 1 for part in window.fields}


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
        some = {0, window.entries - 1, *(bus.random.randrange(window.entries) for _ in range(_SOME))}
        for entry in sorted(some, key=lambda _: bus.random.random()):
            value = bus.random.getrandbits(bits)
            for word in range(window.entry_words):
                address = bus.registers.address(window.name, entry, word)
                assert await bus.write(address, value >> 32 * word & _WORD - 1) == AxiResp.OKAY
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
async def states_and_constants_read(dut: Any) -> None:
    """Check that states read the outputs of the block, element by element, and that settings read back."""
    bus = await _bus(dut)
    for register in bus.of_kind(Constant):
        assert await bus.read(bus.registers.address(register.name)) == (register.value, AxiResp.OKAY)
    for register in bus.of_kind(Status):
        width = bus.widths[register.member]
        element = register.element_bits or 32
        for _ in range(4):
            shown = bus.random.getrandbits(width)
            getattr(dut, register.member).value = shown
            await RisingEdge(dut.clk)
            for word in range(register.words):
                got = await bus.read(bus.registers.address(register.name, word=word))
                here = word * element < width
                wanted = shown >> word * element & (1 << element) - 1 if here else 0
                assert got == (wanted, AxiResp.OKAY if here else AxiResp.SLVERR), f"{register.name} word {word}"
    for register in bus.of_kind(Setting):
        width = bus.widths[register.member]
        value = bus.random.getrandbits(width)
        for word in range(-(-width // 32)):
            address = bus.registers.address(register.name, word=word)
            part = value >> 32 * word & _WORD - 1
            assert await bus.write(address, part) == AxiResp.OKAY
            assert await bus.read(address) == (part, AxiResp.OKAY)
        assert int(getattr(dut, register.member).value) == value


@cocotb.test()
async def commands_last_a_cycle(dut: Any) -> None:
    """Check that each written bit of a command is set for a single cycle."""
    bus = await _bus(dut)
    for register in bus.of_kind(Command):
        width = bus.widths[register.member]
        shown: deque[int] = deque()

        async def watch(member: str = register.member, into: deque[int] = shown) -> None:
            while True:
                await RisingEdge(dut.clk)
                if value := int(getattr(dut, member).value):
                    into.append(value)

        watcher = cocotb.start_soon(watch())
        for word in range(-(-width // 32)):
            bits = bus.random.getrandbits(32) | 1
            assert await bus.write(bus.registers.address(register.name, word=word), bits) == AxiResp.OKAY
            for _ in range(4):
                await RisingEdge(dut.clk)
            assert list(shown) == [(bits << 32 * word) & (1 << width) - 1]
            shown.clear()
        watcher.cancel()


async def _refuses_absent_addresses(bus: _Bus) -> None:
    """Expect SLVERR at the first free address after each register and at the last address of the bus."""
    owned = [(at, at + RegisterMap.span(register)) for at, register in bus.registers]
    ends = {end for _, end in owned} | {(1 << bus.registers.address_bits) - WORD_BYTES}
    absent = [at for at in sorted(ends) if at >> bus.registers.address_bits == 0]
    absent = [at for at in absent if not any(low <= at < high for low, high in owned)]
    assert absent
    for at in absent:
        assert await bus.read(at) == (0, AxiResp.SLVERR)
        assert await bus.write(at, _WORD - 1) == AxiResp.SLVERR


async def _refuses_parts_of_registers(dut: Any, bus: _Bus) -> None:
    """Expect SLVERR for partial words, and for commands and settings that the instance lacks."""
    for register in [*bus.of_kind(Window), *bus.of_kind(Command), *bus.of_kind(Setting)]:
        partial = await bus.master.write(bus.registers.address(register.name) + 1, b"\1\2")
        assert partial.resp == AxiResp.SLVERR
    for register in [*bus.of_kind(Command), *bus.of_kind(Setting)]:
        assert int(getattr(dut, register.member).value) == 0
        for word in range(-(-bus.widths[register.member] // 32), register.words):
            assert await bus.write(bus.registers.address(register.name, word=word), 1) == AxiResp.SLVERR


@cocotb.test()
async def what_has_no_meaning_is_refused(dut: Any) -> None:
    """Check that reads of windows, and writes of read-only, absent or partial words, return SLVERR without effect."""
    bus = await _bus(dut)
    seen: deque[tuple[str, dict[str, int]]] = deque()
    cocotb.start_soon(_watch(bus, seen))
    for at, register in bus.registers:
        if isinstance(register, Window | Command):
            assert await bus.read(at) == (0, AxiResp.SLVERR), register.name
        if isinstance(register, Constant | Status):
            assert await bus.write(at, 1) == AxiResp.SLVERR, register.name
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
    window = max(bus.of_kind(Window), key=lambda each: each.entries)
    part = window.fields[0]
    values = [bus.random.getrandbits(part.bits) for _ in range(60)]
    writes = [
        bus.master.init_write(
            bus.registers.address(window.name, entry % window.entries, word),
            (value << part.low >> 32 * word & _WORD - 1).to_bytes(WORD_BYTES, "little"),
        )
        for entry, value in enumerate(values)
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
