"""Register port in front of a block: programs the tables and reads the state over a bus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow
from amaranth.utils import exact_log2

from vlane.hdl.common.select import chosen, equals, one_of
from vlane.hdl.registers.axi_lite import BUS_PREFIX, AxiLite, axi_lite_members
from vlane.hdl.registers.table_copy import TableCopy
from vlane.registers.register_map import (
    WORD_BYTES,
    Command,
    Constant,
    EntryNumber,
    Register,
    RegisterMap,
    Setting,
    Status,
    Window,
)

_WORD_BITS = 32


class RegisterPort(wiring.Component):
    """An AXI4-Lite register port (``docs/register_port.md``).

    A write reaches the block in the cycle in which ``bvalid`` rises.

    Parameters
    ----------
    registers : RegisterMap
        Addresses and kinds of the registers.
    block : Component
        Block to program and read. Only the shapes of its ports are used.

    Members
    -------
    The bus of ``AxiLite``, and the block's members with their directions reversed: program ports, commands and
    settings are outputs, states are inputs.
    """

    def __init__(self, registers: RegisterMap, block: wiring.Component) -> None:
        self.registers = registers
        driven = (_driven_by(each) for each in registers)
        self.driven = tuple(dict.fromkeys(member for member in driven if member))
        self.states = tuple(dict.fromkeys(each.member for each in registers if isinstance(each, Status)))
        given = block.signature.members
        super().__init__(
            {
                **axi_lite_members(registers.address_bits),
                **{name: given[name].flip() for name in (*self.driven, *self.states)},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bus = bus = AxiLite(self.registers.address_bits)
        _pass_through(m, self, bus, {name for name in bus.signature.members if name.startswith(BUS_PREFIX)})
        for name in self.driven:
            if self.signature.members[name].is_signature:
                port = getattr(self, name)
                m.d.sync += [Value.cast(getattr(port, each)).eq(0) for each in port.signature.members]
        copies = self._copies(m, bus)
        writable, readable, found = [], [], []
        for register in self.registers:
            if not isinstance(register, Constant | Status):
                writable.append(self._write(m, bus, register, copies))
            for here, value in self._words(bus, register, copies):
                readable.append(here)
                found.append(value)
        m.d.comb += [
            bus.writable.eq(Cat(writable).any()),
            bus.readable.eq(Cat(readable).any()),
            bus.found.eq(one_of(readable, found)),
        ]
        return m

    def _copies(self, m: Module, bus: AxiLite) -> dict[str, list[TableCopy]]:
        """Add the copies of the readable tables: a single copy, or a copy per scheduler or input."""
        copies = {}
        for window in self.registers:
            if isinstance(window, Window) and not window.repeats:
                numbers = range(self._count_of_copies(window))
                copies[window.name] = [TableCopy(window, is_part=self._is_repeated(window)) for _ in numbers]
                for number, copy in zip(numbers, copies[window.name], strict=True):
                    m.submodules[f"copy_{window.name}_{number}" if len(numbers) > 1 else f"copy_{window.name}"] = copy
                    m.d.comb += [
                        copy.read_next.eq(_entry(window, bus.read_next)),
                        copy.read_at.eq(_entry(window, bus.read_at)),
                    ]
        return copies

    def _count_of_copies(self, window: Window) -> int:
        if window.selected_by:
            return len(Value.cast(getattr(self, window.selected_by)))
        return window.index[-1].count if self._is_repeated(window) else 1

    def _is_repeated(self, window: Window) -> bool:
        return any(isinstance(each, Window) and each.repeats == window.name for each in self.registers)

    def _words(
        self, bus: AxiLite, register: Register, copies: Mapping[str, list[TableCopy]]
    ) -> Iterator[tuple[Value, Value]]:
        """Yield select bit and value of each readable word of a register."""
        if isinstance(register, Constant):
            yield equals(bus.read_at, register.address // WORD_BYTES), Const(register.value, _WORD_BITS)
        elif isinstance(register, Status | Setting):
            value = Value.cast(getattr(self, register.member))
            bits = len(value) // register.words if register.words > 1 else register.bits
            for word in range(register.words):
                low = register.member_low + word * bits
                yield equals(bus.read_at, register.address // WORD_BYTES + word), value[low : low + bits]
        elif isinstance(register, Window) and not register.repeats:
            here, word = _here(register, bus.read_at)
            value = self._stored(register, bus, copies[register.name])
            for number in range(register.entry_words):
                low = number * _WORD_BITS
                yield here & equals(word, number), value[low : low + _WORD_BITS]

    def _stored(self, window: Window, bus: AxiLite, copies: Sequence[TableCopy]) -> Value:
        """Return the entry for a read, from the copy of the addressed input or of the lowest selected scheduler."""
        values = [copy.value for copy in copies]
        if window.selected_by:
            selected = Value.cast(getattr(self, window.selected_by))
            return one_of((selected & -selected)[: len(selected)], values)
        if self._is_repeated(window):
            return chosen(_number(window, bus.read_at, window.index[-1]), values)
        return values[0]

    def _write(
        self, m: Module, bus: AxiLite, register: Command | Setting | Window, copies: Mapping[str, list[TableCopy]]
    ) -> Value:
        """Perform a write to a register and return whether the word can be written."""
        if isinstance(register, Window):
            here, word = _here(register, bus.write_at)
            self._program(m, bus, here & bus.write, word, register, copies)
            return here
        here = equals(bus.write_at, register.address // WORD_BYTES)
        value = Value.cast(getattr(self, register.member))[register.member_low :][: register.bits]
        with m.If(here & bus.write):
            m.d.sync += value.eq(bus.data)
        if isinstance(register, Command):
            with m.Else():
                m.d.sync += value.eq(0)
        return here

    def _program(
        self,
        m: Module,
        bus: AxiLite,
        written: Value,
        word: Value,
        window: Window,
        copies: Mapping[str, list[TableCopy]],
    ) -> None:
        """Write a table entry: a single word, or the higher word together with the lower word written before."""
        port = getattr(self, window.program)
        value, complete = bus.data, written
        if window.entry_words > 1:
            lower = Signal(_WORD_BITS, name=f"lower_{window.name}")
            with m.If(written & ~word[0]):
                m.d.sync += lower.eq(bus.data)
            value, complete = Cat(lower, bus.data), written & word[0]
        with m.If(complete):
            m.d.sync += port.enable.eq(1)
            if window.select:
                m.d.sync += Value.cast(getattr(port, window.select[0])).eq(window.select[1])
            for number in window.index:
                m.d.sync += getattr(port, number.name).eq(_number(window, bus.write_at, number))
            for part in window.fields:
                m.d.sync += getattr(port, part.name).eq(value[part.low : part.low + part.bits])
        table = window.repeats or window.name
        for place, copy in enumerate(copies[table]):
            to_copy: Value = Const(1)
            if window.selected_by:
                to_copy = Value.cast(getattr(self, window.selected_by))[place]
            elif self._is_repeated(window):
                to_copy = equals(_number(window, bus.write_at, window.index[-1]), place)
            with m.If(complete & to_copy):
                m.d.comb += [copy.write.eq(1), copy.write_at.eq(_entry(window, bus.write_at)), copy.data.eq(value)]


class RegisteredBlock(wiring.Component):
    """Combine a block with a register port that replaces its program ports.

    Parameters
    ----------
    registers : RegisterMap
        Addresses and kinds of the registers.
    block : Component
        The block; its other ports remain ports of this component.

    Members
    -------
    The bus of ``AxiLite``, and the members of the block that no register drives.
    """

    def __init__(self, registers: RegisterMap, block: wiring.Component) -> None:
        self._block, self._port = block, RegisterPort(registers, block)
        self._kept = {name for name in block.signature.members if name not in self._port.driven}
        super().__init__(
            {
                **axi_lite_members(registers.address_bits),
                **{name: each for name, each in block.signature.members.items() if name in self._kept},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.registers, m.submodules.block = self._port, self._block
        _pass_through(m, self, self._port, {name for name in self.signature.members if name.startswith(BUS_PREFIX)})
        _pass_through(m, self, self._block, self._kept)
        inside = _leaves(self._block)
        for path, (flow, value) in _leaves(self._port).items():
            if path in inside:
                m.d.comb += inside[path][1].eq(value) if flow == Flow.Out else value.eq(inside[path][1])
        return m


def _leaves(component: wiring.Component) -> dict[tuple[str | int, ...], tuple[Flow, Value]]:
    """Return the direction and value of every port of a component, by path."""
    return {path: (member.flow, Value.cast(value)) for path, member, value in component.signature.flatten(component)}


def _pass_through(m: Module, outer: wiring.Component, inner: wiring.Component, names: set[str]) -> None:
    """Connect members of an inner and an outer component with equal names and directions."""
    inside = _leaves(inner)
    for path, (flow, value) in _leaves(outer).items():
        if path[0] in names:
            m.d.comb += value.eq(inside[path][1]) if flow == Flow.Out else inside[path][1].eq(value)


def _here(window: Window, at: Value) -> tuple[Value, Value]:
    """Return whether a word address lies in a table, and the word's place in the entry."""
    first, place = window.address // WORD_BYTES, exact_log2(window.entry_words)
    low = window.bits + place
    inside = [equals(at[low:], first >> low)]
    inside += [_number(window, at, part) < part.count for part in window.index if part.count < 1 << part.bits]
    return Cat(inside).all(), at[:place]


def _number(window: Window, at: Value, part: EntryNumber) -> Value:
    """Return a part of the entry number of a word address."""
    low = part.low + exact_log2(window.entry_words)
    return at[low : low + part.bits]


def _entry(window: Window, at: Value) -> Value:
    """Return the entry number of a word address."""
    low = exact_log2(window.entry_words)
    return at[low : low + window.bits]


def _driven_by(register: object) -> str:
    """Return the block's member that a register drives, or an empty string for a read-only register."""
    if isinstance(register, Window):
        return register.program
    return register.member if isinstance(register, Command | Setting) else ""
