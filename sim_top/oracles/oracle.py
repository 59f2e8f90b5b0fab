"""Oracle: the reference behaviour of a block, one clock cycle per call, for any test bench (``docs/oracle.md``)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from operator import index as whole_number
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from vlane.errors import InputError, unknown_word
from vlane.golden.oracle.by_name import ORACLES
from vlane.golden.oracle.image import lay_out
from vlane.golden.oracle.ports import Port, word_count
from vlane.parameters import refused_parameter
from vlane.sim_top.oracles.programs import Writes, cycles_of

__all__ = ["Decision", "Oracle", "oracle"]

_WORD_BITS = 64
_WORD = (1 << _WORD_BITS) - 1


class Decision(tuple[Any, ...]):
    """Outputs of one cycle as read-only attributes.

    A port with several elements is a tuple, a port whose values have names an ``IntEnum``, any other port an ``int``.
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]]
    _ports: ClassVar[tuple[Port, ...]]

    def ports(self) -> dict[str, int]:
        """Return every output as the value of its Verilog port: one number, the first element in the lowest bits."""
        return {port.name: _packed(port, value) for port, value in zip(self._ports, self, strict=True)}


class Oracle:
    """Reference model of one block instance, stepped cycle by cycle. Constructed by ``vlane.oracle``.

    Attributes
    ----------
    block : str
        Name of the block.
    parameters : mapping
        All parameters of the instance.
    inputs, outputs : mapping of str to Port
        Ports by name: width of an element, number of elements, meaning, names of values.
    """

    def __init__(self, block: str, parameters: Mapping[str, Any]) -> None:
        if not isinstance(block, str) or block not in ORACLES:
            raise unknown_word("block", ORACLES, block)
        shape, make = ORACLES[block]
        self.block = block
        self.parameters: Mapping[str, Any] = _checked(shape, parameters)
        made = make(self.parameters)
        self.inputs: Mapping[str, Port] = MappingProxyType({port.name: port for port in made.inputs})
        self.outputs: Mapping[str, Port] = MappingProxyType({port.name: port for port in made.outputs})
        self._machine, self._block = lay_out(made.machine)
        self._at_first = self._block.copy()
        counted = self._machine.rules.ctypes.data - self._block.ctypes.data
        self._counts = slice(counted, counted + self._machine.rules.nbytes)
        self._names = tuple(rule.name for rule in made.rules)
        self._given = np.zeros(word_count(made.inputs), np.uint64)
        self._shown = np.zeros(word_count(made.outputs), np.uint64)
        self._made = made
        self._decision = _decision_of(block, made.outputs)
        parts = [port.name.split("__") for port in made.inputs]
        self._groups = {"__".join(part[:count]) for part in parts for count in range(1, len(part))}

    @cached_property
    def _cycle(self) -> Callable[..., None]:
        """The kernel of one cycle, compiled at first use."""
        return self._made.cycle

    def __repr__(self) -> str:
        return f"oracle({', '.join([repr(self.block), *(f'{k}={v!r}' for k, v in self.parameters.items())])})"

    def step(self, **inputs: Any) -> Decision:
        """Run one clock cycle: compute the outputs from state and inputs, then clock the state.

        Parameters
        ----------
        **inputs
            Ports by name; omitted ports are 0. A port with several elements takes a sequence, starting with the first
            element, or one number as the Verilog port has it. Nested ports may be given as mappings,
            ``heads={"request": 1}``, and arrays of nested ports as sequences. A value is a ``bool`` or a whole number
            that fits the port.

        Returns
        -------
        Decision
            The outputs by name.

        Raises
        ------
        InputError
            If an input is unknown or a value does not fit its port. The state is then unchanged.
        """
        self._given[:] = self._words(inputs)
        self._cycle(self._machine, self._given, self._shown)
        shown = self._shown.tolist()
        return self._decision([_shown(port, shown) for port in self.outputs.values()])

    def _words(self, inputs: Mapping[str, Any]) -> list[int]:
        """Return the inputs of a cycle, packed into words."""
        words, taken = [0] * len(self._given), set[str]()
        for name, value in inputs.items():
            self._take(words, taken, name, value)
        return words

    def _take(self, words: list[int], taken: set[str], name: str, value: Any) -> None:
        """Pack one input into the words, and reject an input that is given twice."""
        port = self.inputs.get(name)
        if port is not None:
            if name in taken:
                raise InputError(name, "given once", "twice", problem="is given twice: by its name and in a mapping")
            taken.add(name)
            packed = _packed(port, value)
            for word in range(port.words):
                words[port.word + word] = packed >> _WORD_BITS * word & _WORD
            return
        if name not in self._groups:
            raise unknown_word("input", self.inputs, name)
        if isinstance(value, Mapping):
            nested: Iterable[tuple[Any, Any]] = value.items()
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            nested = enumerate({} if each is None else each for each in value)
        else:
            raise InputError(name, "a mapping of its ports or a list of such mappings", value)
        for inner, each in nested:
            self._take(words, taken, f"{name}__{inner}", each)

    def reset(self) -> None:
        """Return to the power-on state, including tables and the counts of rules.

        A step with ``rst=1`` is the hardware reset, which keeps the contents of memories.
        """
        self._block[:] = self._at_first

    def save(self) -> bytes:
        """Return the state, without the counts of rules. Equal bytes mean equal future behaviour."""
        image = self._block.copy()
        image[self._counts] = 0
        return image.tobytes()

    def load(self, state: bytes) -> None:
        """Return to a state of ``save``, of any oracle with the same parameters. The counts of rules stay.

        Raises
        ------
        InputError
            If the state has the wrong size.
        """
        image = np.frombuffer(state, np.uint8)
        if len(image) != len(self._block):
            raise InputError("state", f"of {len(self._block)} bytes", f"{len(image)} bytes")
        kept = self._block[self._counts].copy()
        self._block[:] = image
        self._block[self._counts] = kept

    def program(self, table: Writes) -> int:
        """Write tables through the program port and activate them. Return the number of cycles used.

        No packet is sent in these cycles. A scheduler that exchanges tables has ``ready`` asserted only in the cycles
        after the writes.

        Parameters
        ----------
        table : table, sequence of writes, or sequence of mappings
            A vlane table with ``writes``, such as ``VLArbTable``; or (select, index, requester or VL, weight) of each
            write to a scheduler; or, for any block, the inputs of each cycle by name.

        Raises
        ------
        InputError
            If the table does not fit the instance. The state is then unchanged.
        """
        cycles = cycles_of(self.block, self.parameters, self.inputs, table)
        for inputs in cycles:
            self._words(inputs)
        for inputs in cycles:
            self.step(**inputs)
        return len(cycles)

    @property
    def rules(self) -> dict[str, int]:
        """Return the number of occurrences since power-on of each rule on the block's page."""
        return dict(zip(self._names, map(int, self._machine.rules), strict=True))


def _checked(shape: Any, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return all parameters of an instance, checked."""
    for name in parameters:
        if name not in shape.defaults():
            raise unknown_word("parameter", shape.defaults(), name)
    usual = shape.with_form.get(str(parameters.get("form", "")), {})
    try:
        made: Mapping[str, Any] = shape(**{**usual, **parameters})
    except TypeError as error:
        name, _, must = str(error).partition(" must be ")
        raise InputError(name, must.partition(", not ")[0], parameters.get(name)) from None
    except InputError as error:
        raise refused_parameter(error, "") from None
    return made


def _decision_of(block: str, outputs: Sequence[Port]) -> Any:
    """Return the ``Decision`` subclass of a block."""
    fields = namedtuple(f"{block}_decision", [port.name for port in outputs])  # type: ignore[misc]
    made = type(f"{block}_decision", (fields, Decision), {"__slots__": (), "_ports": tuple(outputs)})
    return made._make  # type: ignore[attr-defined]


def _shown(port: Port, words: Sequence[int]) -> Any:
    """Extract an output's value from the words."""
    value = words[port.word]
    for word in range(1, port.words):
        value |= words[port.word + word] << _WORD_BITS * word
    if port.count == 1:
        return _coded(port, value)
    mask = (1 << port.bits) - 1
    return tuple(_coded(port, value >> port.bits * index & mask) for index in range(port.count))


def _coded(port: Port, value: int) -> int | IntEnum:
    """Return the enumeration member of a value, or the value if it has no name."""
    if port.codes is None:
        return value
    try:
        return port.codes(value)
    except ValueError:
        return value


def _packed(port: Port, value: Any) -> int:
    """Return a port's value as one number."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and not hasattr(value, "__index__"):
        elements = value
        if len(elements) > port.count:
            raise InputError(port.name, f"at most {port.count} elements", f"{len(elements)} elements")
        return sum(
            _whole(f"{port.name}[{index}]", each, port.bits) << port.bits * index for index, each in enumerate(elements)
        )
    return _whole(port.name, value, port.width)


def _whole(name: str, value: Any, bits: int) -> int:
    """Return a value as an integer that fits ``bits`` bits."""
    try:
        number = whole_number(bool(value) if isinstance(value, np.bool_) else value)
    except TypeError:
        raise InputError(name, "a whole number", value) from None
    if not 0 <= number < 1 << bits:
        raise InputError(
            name, f"0 to {(1 << bits) - 1}" if bits <= _WORD_BITS else f"a number of at most {bits} bits", value
        )
    return number


def oracle(block: str, /, **parameters: Any) -> Oracle:
    """Return the oracle of a block: the reference behaviour, one clock cycle per call.

    An oracle neither builds nor simulates hardware. Two oracles share no state.

    Parameters
    ----------
    block : str
        Name of the block (``docs/catalogue.md``).
    **parameters
        Parameters of the instance (listed on the block's page); omitted parameters take their defaults.

    Raises
    ------
    InputError
        If the block or a parameter is unknown, or a value is rejected.

    Examples
    --------
    Lane 1 of a VL arbiter has twice the weight of lane 0. Both have a head of one block.

    >>> from vlane.schedulers.vlarb import VLArbTable
    >>> arbiter = oracle("vlarb", data_vls=2, entries=2, vl15=False)
    >>> arbiter.program(VLArbTable(high=((0, 1), (1, 2)), low=(), limit_of_high_priority=255))
    7
    >>> heads = {"request": 0b11, "fits": 0b11, "blocks": [1, 1]}
    >>> [arbiter.step(heads=heads, ready=1).vl for _ in range(6)]
    [0, 1, 1, 0, 1, 1]
    >>> decision = arbiter.step(heads=heads)
    >>> decision.grant, decision.from_list.name, decision.blocks
    (1, 'HIGH', 1)

    Round robin skips a lane whose head does not fit into the receiver's free space.

    >>> turns = oracle("rr", data_vls=3, vl15=False)
    >>> [turns.step(heads={"request": 7, "fits": 0b101, "blocks": [1, 1, 1]}, ready=1).vl for _ in range(3)]
    [0, 2, 0]

    A Deficit Table gives lane 0 three blocks per visit and lane 1 two. Lane 0 carries its unused block over.

    >>> from vlane.schedulers.dtable import DTable
    >>> table = oracle("dtable", data_vls=2, entries=2, vl15=False)
    >>> table.program(DTable(((0, 3), (1, 2))))
    4
    >>> [table.step(heads={"request": 3, "fits": 3, "blocks": [2, 2]}, ready=1).vl for _ in range(5)]
    [0, 1, 0, 0, 1]

    Credits of a port: no packet fits before a credit limit arrives. Here the limit is 8 blocks on lane 0.

    >>> from vlane.packets.fcp import FlowControlPacket
    >>> port = oracle("credit_ib", data_vls=1, buffer_blocks=8)
    >>> limit = FlowControlPacket(op=0, fctbs=0, vl=0, fccl=8).packed()
    >>> told = port.step(fcp_arrived=1, fcp_in=limit, blocks=[8])
    >>> told.fits, told.fcp_bad, port.step(blocks=[8]).fits, port.step(blocks=[9]).fits
    (0, 0, 1, 0)
    """
    return Oracle(block, parameters)
