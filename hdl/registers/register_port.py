"""Register port in front of a block, which programs the block's tables and reads its state over a bus."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow
from amaranth.utils import exact_log2

from vlane.hdl.common.select import equals, one_of
from vlane.hdl.registers.axi_lite import BUS_PREFIX, AxiLite, axi_lite_members
from vlane.registers import WORD_BYTES, Command, Constant, RegisterMap, Setting, Status, Window

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
        driven = (_driven_by(each) for _, each in registers)
        self.driven = tuple(dict.fromkeys(member for member in driven if member))
        self.states = tuple(dict.fromkeys(each.member for _, each in registers if isinstance(each, Status)))
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
        writable, readable, found = [], [], []
        for address, register in self.registers:
            first, size = address // WORD_BYTES, RegisterMap.span(register) // WORD_BYTES
            place = exact_log2(size)
            if not isinstance(register, Constant | Status):
                here = equals(bus.write_at[place:], first >> place)
                writable.append(here & self._take(m, bus, here & bus.write, bus.write_at[:place], register))
            if not isinstance(register, Command | Window):
                here = equals(bus.read_at[place:], first >> place)
                for word, value in enumerate(self._words(register)):
                    readable.append(here & equals(bus.read_at[:place], word))
                    found.append(value)
        m.d.comb += [
            bus.writable.eq(Cat(writable).any()),
            bus.readable.eq(Cat(readable).any()),
            bus.found.eq(one_of(readable, found)),
        ]
        return m

    def _words(self, register: Constant | Status | Setting) -> list[Value]:
        """Return the values that the words of a register read."""
        if isinstance(register, Constant):
            return [Const(register.value, _WORD_BITS)]
        value = Value.cast(getattr(self, register.member))
        bits = (register.element_bits if isinstance(register, Status) else 0) or _WORD_BITS
        return [value[low : low + bits] for low in range(0, len(value), bits)]

    def _take(
        self, m: Module, bus: AxiLite, written: Value, place: Value, register: Command | Setting | Window
    ) -> Value:
        """Perform a write to a register and return whether the word can be written."""
        if isinstance(register, Window):
            self._program(m, bus, written, register)
            return Const(1)
        value = Value.cast(getattr(self, register.member))
        if isinstance(register, Command):
            m.d.sync += value.eq(0)
        words = range(0, len(value), _WORD_BITS)
        for word, low in enumerate(words):
            with m.If(written & equals(place, word)):
                m.d.sync += value[low : low + _WORD_BITS].eq(bus.data)
        return place < len(words)

    def _program(self, m: Module, bus: AxiLite, written: Value, window: Window) -> None:
        """Write a table entry: a single word, or the higher word together with the lower word written before."""
        port = getattr(self, window.program)
        entry, value, complete = bus.write_at, bus.data, written
        if window.entry_words > 1:
            lower = Signal(_WORD_BITS, name=f"lower_{window.name}")
            with m.If(written & ~bus.write_at[0]):
                m.d.sync += lower.eq(bus.data)
            entry, value, complete = bus.write_at[1:], Cat(lower, bus.data), written & bus.write_at[0]
        with m.If(complete):
            m.d.sync += port.enable.eq(1)
            for name, fixed in window.fixed.items():
                m.d.sync += Value.cast(getattr(port, name)).eq(fixed)
            for part in window.index:
                m.d.sync += getattr(port, part.name).eq(entry[part.low : part.low + part.bits])
            for part in window.fields:
                m.d.sync += getattr(port, part.name).eq(value[part.low : part.low + part.bits])


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
    """Connect the members of an inner component to those of the same name and direction of the outer one."""
    inside = _leaves(inner)
    for path, (flow, value) in _leaves(outer).items():
        if path[0] in names:
            m.d.comb += value.eq(inside[path][1]) if flow == Flow.Out else inside[path][1].eq(value)


def _driven_by(register: object) -> str:
    """Return the block's member that a register drives, or an empty string for a read-only register."""
    if isinstance(register, Window):
        return register.program
    return register.member if isinstance(register, Command | Setting) else ""
