"""Statements of the written SystemVerilog, and their translation from Amaranth's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, Part, Slice, Switch, SwitchValue

from vlane.sim_top.systemverilog.nodes import Node, cond, const, cut, operator, zext
from vlane.sim_top.systemverilog.values import Translator, UnwritableError, looked_up, matches


@dataclass(slots=True)
class Set:
    """Assignment to bits of a net.

    Parameters
    ----------
    target : Node
        ``ref`` or ``index`` node.
    value : Node
        Value of the same width.
    """

    target: Node
    value: Node


@dataclass(slots=True)
class If:
    """Chain of conditions with their statements, and the statements of the last ``else``."""

    branches: list[tuple[Node, list[Statement]]]
    other: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Case:
    """Selection by a value. Labels are patterns of 0, 1 and -."""

    test: Node
    arms: list[tuple[tuple[str, ...], list[Statement]]]
    other: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Repeat:
    """Statements repeated for each value of a loop variable."""

    count: int
    body: list[Statement]


Statement = Set | If | Case | Repeat


def if_conditions(stmt: Switch) -> list[Value | None] | None:
    """Return the conditions of If, Elif and Else (``None``) that became a switch. ``None`` for a real switch."""
    parts = list(stmt.test.parts) if isinstance(stmt.test, Concat) else [stmt.test]
    found: list[Value | None] = []
    if any(len(part) != 1 for part in parts):
        return None
    for number, (patterns, _, _) in enumerate(stmt.cases):
        if patterns is None:
            found.append(None)
            continue
        if number >= len(parts) or patterns != (_one_hot(number, len(parts)),):
            return None
        found.append(parts[number])
    return found


def _one_hot(number: int, count: int) -> str:
    return "".join("1" if bit == number else "-" for bit in reversed(range(count)))


def values_of(stmts: Iterable[Any]) -> Iterator[Value]:
    """Yield the values that statements read, once for each use."""
    for stmt in stmts:
        if isinstance(stmt, Assign):
            yield stmt.rhs
            continue
        conditions = if_conditions(stmt)
        yield from (each for each in conditions or [stmt.test] if each is not None)
        for _, body, _ in stmt.cases:
            yield from values_of(body)


class Folder:
    """Translation of combinational statements to an expression per range of bits.

    Parameters
    ----------
    values : Translator
        Translator of the module's values.
    """

    def __init__(self, values: Translator) -> None:
        self._values = values
        self._assigned: dict[int, set[int]] = {}

    def assigned(self, stmt: Any) -> set[int]:
        """Return the ids of a statement's targets."""
        if id(stmt) not in self._assigned:
            self._assigned[id(stmt)] = {id(signal) for signal in stmt._lhs_signals()}
        return self._assigned[id(stmt)]

    def ranges(self, stmts: Sequence[Any], target: Signal) -> list[tuple[int, int]]:
        """Return the separately assigned ranges of bits (first, end) of a signal."""
        edges = {0, len(target)}
        for stmt in self._each(stmts, target):
            for _, _, signal, low, high in self._places(stmt.lhs, 0, len(stmt.lhs)):
                if signal is target:
                    edges |= {low, high}
        ordered = sorted(edges)
        return list(pairwise(ordered))

    def folded(self, stmts: Iterable[Any], target: Signal, low: int, high: int, current: Node) -> Node:
        """Return bits ``low`` to ``high`` (excluded) after statements. ``current`` is their value before."""
        for stmt in stmts:
            if id(target) not in self.assigned(stmt):
                continue
            if isinstance(stmt, Assign):
                for conditions, start, signal, first, end in self._places(stmt.lhs, 0, len(stmt.lhs)):
                    if signal is target and first <= low and high <= end:
                        value = cut(self._rhs(stmt), start + low - first, high - low)
                        for condition in reversed(conditions):
                            value = cond(condition(), value, current)
                        current = value
            else:
                current = self._branches(stmt, target, low, high, current)
        return current

    def _rhs(self, stmt: Assign) -> Node:
        return self._values.of(stmt.rhs, len(stmt.lhs))

    def _branches(self, stmt: Switch, target: Signal, low: int, high: int, current: Node) -> Node:
        conditions, other = if_conditions(stmt), current
        found: list[tuple[tuple[str, ...], Node, Node]] = []
        test = self._values.of(stmt.test) if not conditions else None
        for number, (patterns, body, _) in enumerate(stmt.cases):
            value = self.folded(body, target, low, high, current)
            if patterns is None:
                other = value
                break
            test_ = matches(test, patterns) if test is not None else self._values.of((conditions or [])[number])
            found.append((patterns, test_, value))
        if test is not None and len(found) > 2:
            indexed = looked_up(test, [(patterns, value) for patterns, _, value in found], other)
            if indexed is not None:
                return indexed
        for _, test_, value in reversed(found):
            other = cond(test_, value, other)
            other.place = other.place or stmt.src_loc
        return other

    def _each(self, stmts: Iterable[Any], target: Signal) -> Iterator[Assign]:
        for stmt in stmts:
            if id(target) in self.assigned(stmt):
                if isinstance(stmt, Assign):
                    yield stmt
                else:
                    for _, body, _ in stmt.cases:
                        yield from self._each(body, target)

    def _places(
        self, lhs: Value, start: int, stop: int
    ) -> Iterator[tuple[tuple[Callable[[], Node], ...], int, Any, int, int]]:
        """Yield conditions, first bit within the value, signal, first and end bit of each assigned place."""
        if isinstance(lhs, Signal):
            yield (), 0, lhs, start, min(stop, len(lhs))
        elif isinstance(lhs, Operator):
            yield from self._places(lhs.operands[0], start, stop)
        elif isinstance(lhs, Slice):
            yield from self._places(lhs.value, lhs.start + start, min(lhs.stop, lhs.start + stop))
        elif isinstance(lhs, Concat):
            at = 0
            for part in lhs.parts:
                low, high = max(start, at), min(stop, at + len(part))
                if low < high:
                    for conditions, first, *place in self._places(part, low - at, high - at):
                        yield conditions, first + low - start, *place
                at += len(part)
        else:
            for condition, inner, low in self._alternatives(lhs):
                if start < min(stop, len(inner) - low):
                    for conditions, first, *place in self._places(inner, low + start, min(low + stop, len(inner))):
                        yield (condition, *conditions), first, *place

    def _alternatives(self, lhs: Value) -> Iterator[tuple[Callable[[], Node], Value, int]]:
        """Yield a condition, a target and its first bit for each value of the index of an assigned element."""
        if isinstance(lhs, SwitchValue):
            test, seen = self._values.of(lhs.test), list[tuple[str, ...]]()
            for patterns, inner in lhs.cases:
                before = tuple(seen)
                yield partial(_first_match, test, patterns, before), inner, 0
                seen.append(patterns)
        elif isinstance(lhs, Part):
            offset = self._values.of(lhs.offset)
            for number in range(min(-(-len(lhs.value) // lhs.stride), 1 << offset.width)):
                pattern = (format(number, f"0{offset.width}b"),)
                inner = Slice(lhs.value, number * lhs.stride, min(number * lhs.stride + lhs.width, len(lhs.value)))
                yield partial(matches, offset, pattern), inner, 0
        else:
            raise UnwritableError(f"target {lhs!r} cannot be written as SystemVerilog")

    def clocked(self, stmts: Iterable[Any], targets: set[int]) -> list[Statement]:
        """Return the statements for some of the registers ``targets`` (ids of signals)."""
        found: list[Statement] = []
        for stmt in stmts:
            if not self.assigned(stmt) & targets:
                continue
            if isinstance(stmt, Assign):
                found += self._sets(stmt.lhs, self._rhs(stmt), targets)
                continue
            arms = [(patterns, self.clocked(body, targets)) for patterns, body, _ in stmt.cases]
            other = next((body for patterns, body in arms if patterns is None), [])
            if (conditions := if_conditions(stmt)) is not None:
                branches = [
                    (self._values.of(test), body)
                    for test, (patterns, body) in zip(conditions, arms, strict=True)
                    if patterns is not None
                ]
                while branches and not other and not branches[-1][1]:
                    branches.pop()
                found.append(If(branches, other))
            else:
                known = [arm for arm in arms if arm[0] is not None]
                found.append(Case(self._values.of(stmt.test), known, other))
        return found

    def _sets(self, lhs: Value, value: Node, targets: set[int]) -> list[Statement]:
        """Return the assignments of a value to a target, which may be several nets or an indexed element."""
        if len(lhs) == 0 or not {id(signal) for signal in lhs._lhs_signals()} & targets:
            return []
        if isinstance(lhs, Operator):
            return self._sets(lhs.operands[0], value, targets)
        if isinstance(lhs, Signal):
            return [Set(self._values.of(lhs), value)]
        if isinstance(lhs, Concat):
            found, at = [], 0
            for part in lhs.parts:
                found += self._sets(part, cut(value, at, len(part)), targets)
                at += len(part)
            return found
        if isinstance(lhs, Slice):
            target = self._values.of(lhs)
            if target.kind == "ref":
                return [Set(target, value)]
            return self._sets(_inside(lhs), value, targets)
        if isinstance(lhs, SwitchValue):
            arms = [(patterns, self._sets(inner, _fitted(value, inner), targets)) for patterns, inner in lhs.cases]
            other = next((body for patterns, body in arms if patterns is None), [])
            return [Case(self._values.of(lhs.test), [arm for arm in arms if arm[0] is not None], other)]
        arms = []
        offset = self._values.of(lhs.offset)
        for number in range(min(-(-len(lhs.value) // lhs.stride), 1 << offset.width)):
            inner = Slice(lhs.value, number * lhs.stride, min(number * lhs.stride + lhs.width, len(lhs.value)))
            pattern = (format(number, f"0{offset.width}b"),)
            arms.append((pattern, self._sets(inner, cut(value, 0, len(inner)), targets)))
        return [Case(offset, arms)]


def _fitted(value: Node, inner: Value) -> Node:
    return cut(value, 0, len(inner)) if len(inner) <= value.width else zext(value, len(inner))


def _inside(lhs: Slice) -> Value:
    """Return a slice of a concatenation or of an indexed element as such a value of slices."""
    inner, start, stop = lhs.value, lhs.start, lhs.stop
    if isinstance(inner, Operator):
        return Slice(inner.operands[0], start, stop)
    if isinstance(inner, Slice):
        return Slice(inner.value, inner.start + start, inner.start + stop)
    if isinstance(inner, Concat):
        parts, at = [], 0
        for part in inner.parts:
            low, high = max(start, at), min(stop, at + len(part))
            if low < high:
                parts.append(Slice(part, low - at, high - at))
            at += len(part)
        return Concat(parts)
    if isinstance(inner, SwitchValue):
        return SwitchValue(inner.test, [(patterns, Slice(each, start, stop)) for patterns, each in inner.cases])
    raise UnwritableError(f"target {lhs!r} cannot be written as SystemVerilog")


def _first_match(test: Node, patterns: tuple[str, ...] | None, before: tuple[tuple[str, ...], ...]) -> Node:
    """Return whether a value selects a case, and none of the cases before."""
    if patterns is None:
        return operator("not", 1, operator("or", 1, const(0, 1), *(matches(test, each) for each in before)))
    return matches(test, patterns)
