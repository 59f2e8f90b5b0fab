"""Translation of Amaranth's values to expressions of exact width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from amaranth.hdl import Shape, Signal, Value
from amaranth.hdl._ast import Concat, Const, Operator, Part, Slice, SwitchValue

from vlane.sim_top.systemverilog.nodes import UNSIGNED, Node, cat, cond, const, cut, make, operator, reduced, sext, zext

_CHAINS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_COMPARES = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_ARITHMETIC = {"+", "-", "*", "<<", ">>"}
_REDUCES = {"b": "any", "r|": "any", "r&": "all", "r^": "parity"}


class UnwritableError(NotImplementedError):
    """A construct that the writer does not translate."""


class Translator:
    """Translator of the values of one module.

    Parameters
    ----------
    signal : callable
        Node of a signal.
    """

    def __init__(self, signal: Callable[[Signal], Node]) -> None:
        self._signal = signal
        self._done: dict[tuple[int, int], tuple[Node, Value]] = {}
        self._uses: Counter[int] = Counter()

    def count(self, values: Iterable[Value]) -> None:
        """Count the uses of arithmetic below values, so that a shared sum is computed once, at its own width."""
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            self._uses[id(value)] += 1
            if self._uses[id(value)] == 1:
                waiting += _operands(value)

    def of(self, value: Any, width: int | None = None) -> Node:
        """Return a value's node, extended or truncated to ``width`` bits as an assignment does.

        Raises
        ------
        UnwritableError
            If the value contains a division or another construct without translation.
        """
        value = Value.cast(value)
        width = len(value) if width is None else width
        key = (id(value), width)
        if key not in self._done:
            node = const(0, width) if 0 in {len(value), width} else self._translated(value, width)
            node.place = node.place or value.src_loc
            self._done[key] = node, value
        return self._done[key][0]

    def _translated(self, value: Value, width: int) -> Node:
        size, signed = len(value), value.shape().signed
        if (
            width != size
            and self._uses[id(value)] > 1
            and isinstance(value, Operator)
            and value.operator in _ARITHMETIC
        ):
            whole = self.of(value)
            return (sext if signed else zext)(whole, width) if width > size else make("bits", width, (whole,), 0)
        if isinstance(value, Const):
            return const(value.value, width)
        if isinstance(value, Operator):
            return self._operator(value, width)
        if isinstance(value, SwitchValue):
            return self._choice(value, width)
        if isinstance(value, Signal):
            node = self._signal(value)
        elif isinstance(value, Slice):
            node = cut(self.of(value.value), value.start, size)
        elif isinstance(value, Concat):
            node = cat(self.of(part) for part in value.parts)
        elif isinstance(value, Part):
            node = self._part(value)
        else:
            raise UnwritableError(f"{type(value).__name__} at {value.src_loc} cannot be written as SystemVerilog")
        return (sext if signed else zext)(node, width)

    def _part(self, value: Part) -> Node:
        """Return bits at a variable offset. Bits past the end are 0."""
        inner, offset, stride = self.of(value.value), self.of(value.offset), value.stride
        last = ((1 << offset.width) - 1) * stride + value.width
        if inner.kind == "ref" and last <= inner.width:
            net, low = inner.data
            return make("index", value.width, (offset,), (net, stride, low))
        bits = (last - 1).bit_length()
        amount = operator("mul", bits, zext(offset, bits), const(stride, bits)) if stride > 1 else offset
        whole = zext(inner, max(inner.width, value.width))
        return cut(make("shr", whole.width, (whole, amount), UNSIGNED), 0, value.width)

    def _operator(self, value: Operator, width: int) -> Node:
        kind, args, size = value.operator, value.operands, len(value)
        if kind in {"u", "s"}:
            inner = self.of(args[0], min(size, width))
            return (sext if kind == "s" else zext)(inner, width)
        if len(args) == 1:
            return self._unary(kind, args[0], width)
        a, b = args
        if kind in _CHAINS:
            return operator(_CHAINS[kind], width, self.of(a, width), self.of(b, width))
        if kind == "<<":
            return operator("shl", width, self.of(a, width), self.of(b))
        if kind == ">>":
            most = max(width, len(a))
            return cut(operator("sar" if a.shape().signed else "shr", most, self.of(a, most), self.of(b)), 0, width)
        if kind in _COMPARES:
            shape = Shape._unify((a.shape(), b.shape()))
            sides = self.of(a, shape.width), self.of(b, shape.width)
            signed = shape.signed and kind not in {"==", "!="}
            return zext(operator(_COMPARES[kind], 1, *sides, signed=signed), width)
        raise UnwritableError(f"operator {kind} at {value.src_loc} cannot be written as SystemVerilog")

    def _unary(self, kind: str, arg: Value, width: int) -> Node:
        if kind in _REDUCES:
            return zext(reduced(_REDUCES[kind], self.of(arg)), width)
        if kind == "~" and width > len(arg) and not arg.shape().signed:
            return zext(operator("not", len(arg), self.of(arg)), width)
        if kind in {"~", "-"}:
            return operator("not" if kind == "~" else "neg", width, self.of(arg, width))
        if kind == "+":
            return self.of(arg, width)
        raise UnwritableError(f"operator {kind} at {arg.src_loc} cannot be written as SystemVerilog")

    def _choice(self, value: SwitchValue, width: int) -> Node:
        test, other = self.of(value.test), const(0, width)
        if len(value.cases) == 2 and value.cases[1][0] is None and value.cases[0][0] == ("0" * test.width,):
            (_, unset), (_, then) = value.cases
            return cond(reduced("any", test), self.of(then, width), self.of(unset, width))
        cases = [(patterns, self.of(each, width)) for patterns, each in value.cases]
        for number, (patterns, each) in enumerate(cases):
            if patterns is None:
                cases, other = cases[:number], each
        if len(cases) > 2 and (found := looked_up(test, cases, other)) is not None:
            return found
        for patterns, each in reversed(cases):
            other = cond(matches(test, patterns), each, other)
        return other


def _operands(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Operator):
        return tuple(value.operands)
    if isinstance(value, Slice):
        return (value.value,)
    if isinstance(value, Part):
        return value.value, value.offset
    if isinstance(value, Concat):
        return tuple(value.parts)
    if isinstance(value, SwitchValue):
        return value.test, *(each for _, each in value.cases)
    return ()


def matches(test: Node, patterns: tuple[str, ...]) -> Node:
    """Return whether a value matches one of the patterns of 0, 1 and -, highest bit first."""
    return operator("or", 1, *(_match(test, pattern) for pattern in patterns)) if patterns else const(0, 1)


def _match(test: Node, pattern: str) -> Node:
    cared = [at for at, bit in enumerate(reversed(pattern)) if bit != "-"]
    if not cared:
        return const(1, 1)
    low, size = cared[0], cared[-1] - cared[0] + 1
    wanted = const(int(pattern.replace("-", "0"), 2) >> low, size)
    if len(cared) == size:
        return operator("eq", 1, cut(test, low, size), wanted)
    mask = const(sum(1 << at - low for at in cared), size)
    return operator("eq", 1, operator("and", size, cut(test, low, size), mask), wanted)


def looked_up(test: Node, cases: list[tuple[tuple[str, ...], Node]], other: Node) -> Node | None:
    """Return an indexed selection if the cases 0, 1, ... are equal steps in one net and cover all values."""
    wanted = [(format(number, f"0{test.width}b"),) for number in range(len(cases))]
    values = [each for _, each in cases]
    if [patterns for patterns, _ in cases] != wanted or test.width > 10:
        return None
    if (missing := (1 << test.width) - len(cases)) == 1:
        values.append(other)
    elif missing:
        return None
    first = values[0]
    if any(each.kind != "ref" or each.data[0] is not first.data[0] for each in values):
        return None
    low, stride = first.data[1], values[1].data[1] - first.data[1]
    if stride <= 0 or any(each.data[1] != low + stride * number for number, each in enumerate(values)):
        return None
    return make("index", first.width, (test,), (first.data[0], stride, low))
