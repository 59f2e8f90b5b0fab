"""Translation of expressions: each becomes a ``Value``, C++ code with its type."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import IntEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.source import Source
from vlane.golden.compiler.types import (
    BOOL,
    COUNTERS,
    INT,
    RANGE,
    UINT,
    VOID,
    Array,
    Number,
    Record,
    RecordArray,
    Struct,
    Tuple,
    Type,
    joined,
)
from vlane.golden.compiler.values import (
    ADD,
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARE,
    EQUAL,
    MULTIPLY,
    OR,
    PRIMARY,
    TERNARY,
    UNARY,
    Value,
    literal,
)

if TYPE_CHECKING:
    from vlane.golden.compiler.program import Program

__all__ = ["Expressions"]

_OPERATORS: dict[type, tuple[str, int, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", ADD, operator.add),
    ast.Sub: ("-", ADD, operator.sub),
    ast.Mult: ("*", MULTIPLY, operator.mul),
    ast.BitAnd: ("&", BIT_AND, operator.and_),
    ast.BitOr: ("|", BIT_OR, operator.or_),
    ast.BitXor: ("^", BIT_XOR, operator.xor),
}
_CALLED: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.FloorDiv: ("floor_div", operator.floordiv),
    ast.Mod: ("modulo", operator.mod),
    ast.LShift: ("shift_left", operator.lshift),
    ast.RShift: ("shift_right", operator.rshift),
}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_CASTS: dict[Any, str] = {
    np.int64: "int64_t", np.uint64: "uint64_t", int: "int64_t",
    **{getattr(np, f"{sign}int{bits}"): f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32)},
}  # fmt: skip
_WORD_BITS = 64
_NOT_KNOWN = object()


class Expressions:
    """The part of a function's translation that deals with expressions."""

    program: Program
    source: Source
    types: dict[str, Type]
    """Types of parameters and variables, as far as they are known."""
    pointers: set[str]
    """Variables that hold the address of a record."""
    local: set[str]
    """Names that the function assigns, and its parameters."""

    def value(self, node: ast.expr) -> Value:
        """Return the code of an expression."""
        constant = self.constant(node)
        if constant is not _NOT_KNOWN:
            made = self._known(node, constant)
            if made is not None:
                return made
        method = getattr(self, f"expr_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.source.error(node, f"`{ast.unparse(node)}` is not in the subset of Python that kernels may use")
        found: Value = method(node)
        return found

    def number(self, node: ast.expr) -> Value:
        """Return the code of an expression that must be a number."""
        found = self.value(node)
        if not found.is_number:
            raise self.source.error(node, f"`{ast.unparse(node)}` must be a number, not {found.type}")
        return found

    def condition(self, node: ast.expr) -> Value:
        """Return the code of an expression as a truth value."""
        return self.number(node).truth

    # constants

    def constant(self, node: ast.expr) -> Any:
        """Return the Python object that an expression always is, ``_NOT_KNOWN`` if it depends on the call."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.local:
                return _NOT_KNOWN
            try:
                return self.source.value(node.id)
            except KeyError:
                raise self.source.error(node, f"the name {node.id} is not defined") from None
        if isinstance(node, ast.Attribute):
            owner = self.constant(node.value)
            if owner is _NOT_KNOWN or isinstance(owner, tuple) and not hasattr(owner, node.attr):
                return _NOT_KNOWN
            try:
                return getattr(owner, node.attr)
            except AttributeError:
                raise self.source.error(node, f"`{ast.unparse(node)}` is not defined") from None
        return _NOT_KNOWN

    def _known(self, node: ast.expr, constant: Any) -> Value | None:
        """Return the code of a constant, ``None`` if it is no value of translated code."""
        if isinstance(constant, np.uint64):
            return self._named(node, int(constant), UINT)
        if isinstance(constant, bool | np.bool_):
            return literal(bool(constant), BOOL)
        if isinstance(constant, int | np.integer):
            return self._named(node, int(constant), INT)
        if isinstance(constant, tuple) or (isinstance(constant, np.ndarray) and constant.dtype.kind in "iub"):
            kind, text = self._sequence(node, constant)
            if isinstance(node, ast.Name | ast.Attribute) and not isinstance(kind, Struct):
                text = self._constant_name(node, self.program.cpp(kind), text)
            return Value(kind, text, name=True)
        return None

    def _named(self, node: ast.expr, number: int, kind: Number) -> Value:
        plain = literal(number, kind)
        if isinstance(node, ast.Constant):
            return plain
        return replace(plain, text=self._constant_name(node, kind.cpp, plain.text), level=PRIMARY)

    def _constant_name(self, node: ast.expr, kind: str, text: str) -> str:
        """Return the name of a constant: of the module that the expression names, or of the function's own."""
        module, name = self.source.function.__module__, ast.unparse(node)
        if isinstance(node, ast.Attribute):
            owner = self.constant(node.value)
            if isinstance(owner, ModuleType):
                module, name = owner.__name__, node.attr
            elif isinstance(owner, type) and issubclass(owner, IntEnum):
                module, name = owner.__module__, f"{owner.__name__}_{node.attr}"
            else:
                return text
        elif isinstance(node, ast.Name) and node.id in self.source.function.__code__.co_freevars:
            return text  # it may differ between functions that one place of the source makes
        return self.program.constant(module, name, kind, text)

    def _sequence(self, node: ast.expr, constant: Any) -> tuple[Type, str]:
        """Return type and code of a constant tuple or array."""
        if isinstance(constant, np.ndarray):
            constant = tuple(constant.tolist() if constant.dtype != np.uint64 else map(np.uint64, constant))
        if not isinstance(constant, tuple):
            made = self._known(ast.Constant(constant), constant)
            if made is None:
                raise self.source.error(node, f"the constant {constant!r} is no value that kernels may use")
            return made.type, made.text
        parts = [self._sequence(node, each) for each in constant]
        items = tuple(kind for kind, _ in parts)
        kind: Type = Struct(type(constant), items) if hasattr(constant, "_fields") else Tuple(items)
        return kind, f"{self.program.cpp(kind)}{{{', '.join(text for _, text in parts)}}}"

    # names, members, places

    def expr_name(self, node: ast.Name) -> Value:
        if node.id not in self.local:
            raise self.source.error(node, f"{node.id} is no value that kernels may use")
        kind = self.types.get(node.id)
        if kind is None:
            raise self.source.error(node, f"{node.id} is used before it is assigned")
        return Value(kind, identifier(node.id), name=True, pointer=node.id in self.pointers)

    def expr_attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner.type, Struct) and (kind := owner.type.field(node.attr)) is not None:
            return Value(kind, owner.member(identifier(node.attr)), acts=owner.acts, reads=owner.reads, name=owner.name)
        if isinstance(owner.type, Record) and (element := owner.type.kind.element(node.attr)) is not None:
            kind = Array(element, 1).item
            narrow = Array(element, 1).is_narrow
            return Value(
                kind, owner.member(identifier(node.attr)), acts=owner.acts, reads=True, narrow=narrow, name=owner.name
            )
        if isinstance(owner.type, Array) and node.attr == "size":
            return replace(owner, type=INT, text=f"{owner.within(PRIMARY)}.size()", name=False)
        if isinstance(owner.type, Array | RecordArray) and node.attr == "shape":
            count = owner.type.ndim
            text = ", ".join(f"{owner.within(PRIMARY)}.shape[{place}]" for place in range(count))
            kind = Tuple((INT,) * count)
            return Value(kind, f"{self.program.cpp(kind)}{{{text}}}", acts=owner.acts)
        raise self.source.error(node, f"{owner.type} has no {node.attr} that kernels may use")

    def expr_subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner = self.value(node.value.value)
            if isinstance(owner.type, Array | RecordArray):
                place = self.number(node.slice)
                return Value(INT, f"{owner.within(PRIMARY)}.shape[{place.text}]", acts=owner.acts, name=owner.name)
        owner = self.value(node.value)
        if owner.type is COUNTERS:
            raise self.source.error(node, "counters of `unread` are only raised: nobody may read them")
        return self.place(node, owner)

    def place(self, node: ast.Subscript, owner: Value) -> Value:
        """Return the item, the record or the part of an array that a subscript selects."""
        if isinstance(owner.type, Tuple):
            return self._item(node, owner)
        if owner.type is COUNTERS:
            index = self.number(node.slice)
            return Value(INT, f"{owner.text}({index.text})", acts=index.acts, name=True)
        if not isinstance(owner.type, Array | RecordArray):
            raise self.source.error(node, f"{owner.type} has no items")
        places = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        while len(places) > 1 and _is_whole(places[-1]):
            places.pop()
        sliced = places.pop() if isinstance(places[-1], ast.Slice) else None
        if any(isinstance(each, ast.Slice) for each in places):
            raise self.source.error(node, "only the last index may be a slice: other parts are not contiguous")
        if len(places) + (sliced is not None) > owner.type.ndim:
            raise self.source.error(node, f"{owner.type} has fewer dimensions than `{ast.unparse(node)}` has indices")
        values = [self._index(each, owner, number) for number, each in enumerate(places)]
        found = self.ordered([owner, *values], lambda texts: f"{texts[0]}({', '.join(texts[1:])})")
        if len(places) == owner.type.ndim:
            if isinstance(owner.type, RecordArray):
                return replace(found, type=Record(owner.type.kind), reads=found.reads, name=owner.name)
            kind = owner.type
            return replace(found, type=kind.item, reads=True, narrow=kind.is_narrow, name=owner.name)
        if isinstance(owner.type, RecordArray):
            raise self.source.error(node, f"{owner.type} need {owner.type.ndim} indices")
        part = owner
        if places:
            part = self.ordered([owner, *values], lambda texts: f"{texts[0]}.part({', '.join(texts[1:])})")
            part = replace(part, type=Array(owner.type.element, owner.type.ndim - len(places)), name=owner.name)
        return part if sliced is None else self._sliced(sliced, part)

    def _index(self, node: ast.expr, owner: Value, dimension: int) -> Value:
        """Return an index; a negative constant counts from the end."""
        found = self.number(node)
        if found.number is not None and found.number < 0:
            return Value(INT, f"{owner.within(PRIMARY)}.shape[{dimension}] - {-found.number}", level=ADD)
        if found.type is UINT:
            return replace(found, type=INT, text=f"int64_t({found.text})", level=PRIMARY)
        return found

    def _sliced(self, node: ast.Slice, owner: Value) -> Value:
        if node.step is not None:
            raise self.source.error(node, "a slice with a step is not contiguous")
        if node.lower is None and node.upper is None:
            return owner
        first = literal(0) if node.lower is None else self.number(node.lower)
        if node.upper is None:
            found = self.ordered([owner, first], lambda texts: f"{texts[0]}.slice_from({texts[1]})")
        else:
            last = self.number(node.upper)
            found = self.ordered([owner, first, last], lambda texts: f"{texts[0]}.slice({texts[1]}, {texts[2]})")
        return replace(found, type=owner.type, name=False)

    def _item(self, node: ast.Subscript, owner: Value) -> Value:
        """Return an item of a tuple."""
        assert isinstance(owner.type, Tuple)
        index = self.number(node.slice)
        if index.number is not None:
            count = len(owner.type.items)
            place = index.number + count if index.number < 0 else index.number
            if not 0 <= place < count:
                raise self.source.error(node, f"a tuple of {count} has no item {index.number}")
            text = f"std::get<{int(place)}>({owner.text})"
            return replace(owner, type=owner.type.items[place], text=text, level=PRIMARY)
        if not owner.type.is_uniform:
            raise self.source.error(node, "a variable selects from a tuple only if all items have the same type")
        found = self.ordered([owner, index], lambda texts: f"{texts[0]}[{texts[1]}]")
        return replace(found, type=owner.type.items[0], name=owner.name)

    # operators

    def expr_binop(self, node: ast.BinOp) -> Value:
        return self.operation(node, node.op, self.number(node.left), self.number(node.right))

    def operation(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """Return the result of a binary operator."""
        kind = self._common(node, op, left, right)
        if left.number is not None and right.number is not None:
            folded = self._folded(op, left.number, right.number)
            if folded is not None and (isinstance(op, ast.LShift | ast.RShift) or left.type is right.type):
                return literal(folded, kind if kind is not BOOL else None)
        if type(op) in _OPERATORS:
            symbol, level, _ = _OPERATORS[type(op)]
            if kind is not BOOL:
                left, right = _widened(left, right)
            above = level + 1  # operators of one level are read from the left

            def text(texts: list[str], pair: tuple[Value, Value] = (left, right)) -> str:
                one, other = (replace(each, text=said) for each, said in zip(pair, texts, strict=True))
                return f"{one.within(level)} {symbol} {other.within(above)}"

            return replace(self.ordered([left, right], text), type=kind, level=level)
        if type(op) not in _CALLED:
            raise self.source.error(node, f"the operator of `{ast.unparse(node)}` has no translation")
        return self._called(node, op, kind, left, right)

    def _called(self, node: ast.AST, op: ast.operator, kind: Type, left: Value, right: Value) -> Value:
        """Return the result of an operator for which C++ has none of the same meaning."""
        name, _ = _CALLED[type(op)]
        number = right.number
        left = left.wide
        shifts = isinstance(op, ast.LShift | ast.RShift)
        if number is not None and shifts and 0 <= number < _WORD_BITS:
            if isinstance(op, ast.RShift):
                return replace(left, type=kind, text=f"({left.within(ADD)} >> {right.text})", level=PRIMARY,
                               number=None, name=False)  # fmt: skip
            if kind is UINT:
                return replace(left, type=kind, text=f"({left.within(ADD)} << {right.text})", level=PRIMARY,
                               number=None, name=False)  # fmt: skip
        if number is not None and not shifts and number > 0 and number & number - 1 == 0 and left.number is None:
            bits = int(number).bit_length() - 1
            if isinstance(op, ast.FloorDiv):
                text = f"({left.within(ADD)} >> {bits})"
            else:
                text = f"({left.within(BIT_AND)} & {number - 1})"
            return replace(left, type=kind, text=text, level=PRIMARY, name=False)
        if kind is UINT and not shifts:
            left, right = (each if each.type is UINT else _cast(each, UINT) for each in (left, right))
        elif right.type is UINT:
            right = _cast(right, INT)
        if left.number is not None and left.type is INT:
            left = replace(left, text=f"int64_t{{{left.text}}}", level=PRIMARY)
        where = f', "{self._where(node)}"' if self.program.checked else ""
        found = self.ordered([left, right], lambda texts: f"rt::{name}({texts[0]}, {texts[1]}{where})")
        return replace(found, type=kind)

    def _where(self, node: ast.AST) -> str:
        file = self.source.file.replace("\\", "/")
        return f"{file}:{getattr(node, 'lineno', 0)}".replace('"', "'")

    def _folded(self, op: ast.operator, left: int, right: int) -> int | None:
        compute = _OPERATORS[type(op)][2] if type(op) in _OPERATORS else _CALLED[type(op)][1]
        try:
            if isinstance(op, ast.LShift) and right > 4 * _WORD_BITS:
                return None
            found = compute(left, right)
        except (ArithmeticError, ValueError):
            return None
        return bool(found) if isinstance(found, bool) else int(found)

    def _common(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Type:
        """Return the type of an operator's result: that of unsigned numbers if an operand has it."""
        if isinstance(op, ast.LShift | ast.RShift):
            return UINT if left.type is UINT else INT
        if UINT in {left.type, right.type}:
            other = right if left.type is UINT else left
            if other.type is not UINT and isinstance(op, ast.FloorDiv | ast.Mod) and (other.number or -1) < 0:
                raise self.source.error(node, "the quotient of a signed and an unsigned number has no type")
            return UINT
        if left.type is right.type is BOOL and isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return BOOL
        return INT

    def expr_unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            found = self.condition(node.operand)
            if found.number is not None:
                return literal(not found.number)
            return replace(found, text=f"!{found.within(UNARY)}", level=UNARY, name=False)
        operand = self.number(node.operand)
        if operand.number is not None and operand.type is INT:
            constant = {ast.USub: operator.neg, ast.Invert: operator.invert, ast.UAdd: operator.pos}[type(node.op)]
            return literal(constant(operand.number))
        operand = operand.wide
        symbol = {ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}[type(node.op)]
        text = f"{symbol}{operand.within(PRIMARY)}"
        return replace(operand, text=text, level=UNARY, number=None, name=False)

    def expr_boolop(self, node: ast.BoolOp) -> Value:
        values = [self.number(each) for each in node.values]
        is_and = isinstance(node.op, ast.And)
        if any(each.type is not BOOL for each in values):
            return self._chosen(node, values, is_and=is_and)
        level, symbol = (AND, " && ") if is_and else (OR, " || ")
        return Value(
            BOOL, symbol.join(each.within(level + 1) for each in values), level=level,
            acts=any(each.acts for each in values), reads=any(each.reads for each in values),
        )  # fmt: skip

    def _chosen(self, node: ast.BoolOp, values: list[Value], *, is_and: bool) -> Value:
        """Return the operand that Python's ``and`` or ``or`` returns, where one is no truth value."""
        found = values[-1]
        for each in reversed(values[:-1]):
            kind = joined(each.type, found.type)
            if kind is None:
                raise self.source.error(node, f"`{ast.unparse(node)}` has operands of different types")
            second = found.wide.text
            then, otherwise = (second, "first") if is_and else ("first", second)
            text = f"[&] {{ const int64_t first = {each.wide.text}; return first != 0 ? {then} : {otherwise}; }}()"
            found = Value(INT if kind is BOOL else kind, text, acts=each.acts or found.acts, reads=True)
        return found

    def in_condition(self, node: ast.expr) -> Value:
        """Return the truth of an expression, where operands of ``and`` and ``or`` need no common type."""
        if isinstance(node, ast.BoolOp):
            level, symbol = (AND, " && ") if isinstance(node.op, ast.And) else (OR, " || ")
            values = [self.in_condition(each) for each in node.values]
            return Value(
                BOOL, symbol.join(each.within(level + 1) for each in values), level=level,
                acts=any(each.acts for each in values), reads=any(each.reads for each in values),
            )  # fmt: skip
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.in_condition(node.operand)
            if found.number is not None:
                return literal(not found.number)
            return replace(found, text=f"!{found.within(UNARY)}", level=UNARY, name=False)
        return self.condition(node)

    def expr_compare(self, node: ast.Compare) -> Value:
        parts, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self._comparison(node, op, left, right))
            if right is not node.comparators[-1] and self.value(right).acts:
                raise self.source.error(node, "the middle of a comparison is evaluated twice: assign it before")
            left = right
        if len(parts) == 1:
            return parts[0]
        return Value(
            BOOL, " && ".join(each.within(AND + 1) for each in parts), level=AND,
            acts=any(each.acts for each in parts), reads=any(each.reads for each in parts),
        )  # fmt: skip

    def _comparison(self, node: ast.Compare, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Value:
        if isinstance(op, ast.In | ast.NotIn):
            return self._membership(node, left, right, inside=isinstance(op, ast.In))
        if type(op) not in _COMPARISONS:
            raise self.source.error(node, "`is` compares objects: kernels compare numbers with ==")
        one, other = self.number(left), self.number(right)
        if one.number is not None and other.number is not None and one.type is other.type:
            compare = getattr(operator, type(op).__name__.lower().replace("noteq", "ne").replace("lte", "le")
                              .replace("gte", "ge"))  # fmt: skip
            return literal(bool(compare(one.number, other.number)))
        if UINT in {one.type, other.type} and one.type is not other.type:
            one, other = self._unsigned(node, one), self._unsigned(node, other)
        elif one.narrow or other.narrow:
            one, other = _widened(one, other)
        level = EQUAL if isinstance(op, ast.Eq | ast.NotEq) else COMPARE
        symbol = _COMPARISONS[type(op)]

        def text(texts: list[str]) -> str:
            pair = (replace(each, text=said) for each, said in zip((one, other), texts, strict=True))
            return f" {symbol} ".join(each.within(ADD) for each in pair)

        return replace(self.ordered([one, other], text), type=BOOL, level=level)

    def _unsigned(self, node: ast.AST, value: Value) -> Value:
        """Return an operand of a comparison with an unsigned number."""
        if value.type is UINT:
            return value
        if value.number is None or value.number < 0:
            raise self.source.error(node, "a signed and an unsigned number are compared: convert one of them")
        return literal(value.number, UINT)

    def _membership(self, node: ast.Compare, left: ast.expr, right: ast.expr, *, inside: bool) -> Value:
        one = self.number(left)
        if one.acts:
            raise self.source.error(node, "the left side of `in` is evaluated repeatedly: assign it before")
        constant = self.constant(right)
        if isinstance(right, ast.Tuple | ast.List | ast.Set):
            items = [self.number(each) for each in right.elts]
        elif isinstance(constant, tuple | frozenset | set | range):
            items = [literal(int(each)) for each in (constant if isinstance(constant, tuple) else sorted(constant))]
        else:
            raise self.source.error(node, "the right side of `in` must be a constant tuple")
        symbol, word = ("==", " || ") if inside else ("!=", " && ")
        text = word.join(f"{one.within(ADD)} {symbol} {each.within(ADD)}" for each in items)
        level = EQUAL if len(items) == 1 else OR if inside else AND
        return Value(BOOL, text or ("false" if inside else "true"), level=level, reads=one.reads)

    def expr_ifexp(self, node: ast.IfExp) -> Value:
        test, then, otherwise = self.in_condition(node.test), self.value(node.body), self.value(node.orelse)
        if test.number is not None:
            return then if test.number else otherwise
        kind = joined(then.type, otherwise.type)
        if kind is None:
            kind = self._constant_as(then, otherwise)
        if kind is None:
            raise self.source.error(node, f"`{ast.unparse(node)}` is {then.type} or {otherwise.type}")
        one, other = self.to(then, kind), self.to(otherwise, kind)
        if kind is INT and then.number is not None:
            one = f"int64_t({one})"
        text = f"{test.within(OR)} ? {_branch(then, one)} : {_branch(otherwise, other)}"
        return Value(
            kind, text, level=TERNARY, acts=test.acts or then.acts or otherwise.acts,
            reads=test.reads or then.reads or otherwise.reads,
            name=isinstance(kind, Record | Struct) and then.name and otherwise.name,
        )  # fmt: skip

    def _constant_as(self, one: Value, other: Value) -> Type | None:
        """Return the type of unsigned numbers if one operand has it and the other is a constant that fits."""
        for first, second in ((one, other), (other, one)):
            if first.type is UINT and second.type is INT and second.number is not None and second.number >= 0:
                return UINT
        return None

    def to(self, value: Value, kind: Type) -> str:
        """Return the code of a value, converted to a type that it may have."""
        if isinstance(kind, Record):
            return value.reference
        if kind is UINT and value.number is not None:
            return literal(value.number, UINT).text
        if kind is INT and (value.type is BOOL or value.narrow):
            return literal(int(value.number)).text if value.number is not None else f"int64_t({value.text})"
        if isinstance(kind, Tuple) and kind is not value.type:
            items = (f"std::get<{n}>(items)" for n in range(len(kind.items)))
            return f"[](const auto &items) {{ return {self.program.cpp(kind)}{{{', '.join(items)}}}; }}({value.text})"
        return value.text

    def expr_tuple(self, node: ast.Tuple) -> Value:
        values = [self.value(each) for each in node.elts]
        kind = Tuple(tuple(each.type for each in values))
        texts = [self.to(each, each.type) for each in values]
        return Value(
            kind, f"{self.program.cpp(kind)}{{{', '.join(texts)}}}", acts=any(each.acts for each in values),
            reads=any(each.reads for each in values),
        )  # fmt: skip

    # calls

    def expr_call(self, node: ast.Call) -> Value:
        function = self.constant(node.func)
        if function is _NOT_KNOWN:
            return self._method(node)
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise self.source.error(node, "arguments with * or ** have no types")
        if isinstance(function, type) and hasattr(function, "_fields"):
            return self._made(node, function)
        if node.keywords:
            return self._user_call(node, function, self._by_name(node, function))
        special = self._builtin(node, function)
        return self._user_call(node, function, node.args) if special is None else special

    def _by_name(self, node: ast.Call, function: Any) -> list[ast.expr]:
        """Return the arguments of a call in the order of the parameters."""
        parameters = getattr(function, "_fields", None)
        if parameters is None:
            target = getattr(function, "python_function", function)
            parameters = target.__code__.co_varnames[: target.__code__.co_argcount + target.__code__.co_kwonlyargcount]
        given = dict(zip(parameters, node.args, strict=False))
        given.update({each.arg: each.value for each in node.keywords if each.arg is not None})
        if set(given) != set(parameters):
            raise self.source.error(node, f"`{ast.unparse(node)}` must give every argument")
        return [given[name] for name in parameters]

    def _builtin(self, node: ast.Call, function: Any) -> Value | None:
        """Return the code of a call of Python's or numpy's functions, ``None`` for all others."""
        if function is len:
            return self._length(node)
        if function is range:
            return self._range(node)
        if function in (min, max) and len(node.args) > 1:
            return self._extreme(node, "min" if function is min else "max")
        if function is abs:
            found = self.number(node.args[0]).wide
            return replace(found, text=f"rt::abs({found.text})", level=PRIMARY, number=None, name=False)
        if function is bool or function is np.bool_:
            return self.in_condition(node.args[0])
        if function in _CASTS and len(node.args) == 1:
            found = self.number(node.args[0])
            kind = UINT if function is np.uint64 else INT
            if found.number is not None and function in (int, np.int64, np.uint64):
                return literal(int(found.number), kind)
            if found.type is kind and function in (int, np.int64, np.uint64):
                return found
            return replace(found, type=kind, text=f"{_CASTS[function]}({found.text})", level=PRIMARY, number=None,
                           narrow=function not in (int, np.int64, np.uint64), name=False)  # fmt: skip
        return None

    def _length(self, node: ast.Call) -> Value:
        constant = self.constant(node.args[0])
        if isinstance(constant, tuple):
            return literal(len(constant))
        found = self.value(node.args[0])
        if isinstance(found.type, Array | RecordArray):
            return replace(found, type=INT, text=f"{found.within(PRIMARY)}.shape[0]", level=PRIMARY, reads=False)
        if isinstance(found.type, Tuple):
            return literal(len(found.type.items))
        raise self.source.error(node, f"{found.type} has no length")

    def _range(self, node: ast.Call) -> Value:
        if len(node.args) > 2:
            raise self.source.error(node, "a range with a step may only stand in a for statement")
        values = [self.number(each) for each in node.args]
        values = [_cast(each, INT) if each.type is UINT else each for each in values]
        if len(values) == 1:
            values.insert(0, literal(0))
        found = self.ordered(values, lambda texts: f"rt::Range{{{', '.join(texts)}}}")
        return replace(found, type=RANGE, level=PRIMARY)

    def _extreme(self, node: ast.Call, name: str) -> Value:
        values = [self.number(each) for each in node.args]
        kind = UINT if any(each.type is UINT for each in values) else INT
        if kind is UINT:
            values = [self._unsigned(node, each) for each in values]
        found = values[0]
        for each in values[1:]:
            pair = _widened(found, each) if kind is INT else (found, each)
            found = self.ordered(pair, lambda texts: f"rt::{name}({texts[0]}, {texts[1]})")
            found = replace(found, type=kind, level=PRIMARY)
        return found

    def _made(self, node: ast.Call, made: Any) -> Value:
        """Return a NamedTuple that a kernel makes."""
        values = [self.value(each) for each in self._by_name(node, made)]
        kind = Struct(made, tuple(each.type for each in values))
        texts = [self.to(each, each.type) for each in values]
        return Value(
            kind, f"{self.program.cpp(kind)}{{{', '.join(texts)}}}", acts=any(each.acts for each in values),
            reads=any(each.reads for each in values),
        )  # fmt: skip

    def _method(self, node: ast.Call) -> Value:
        """Return the code of a method of an array."""
        if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            owner = self.value(node.func.value)
            results = {"any": BOOL, "all": BOOL, "sum": INT}
            if isinstance(owner.type, Array) and node.func.attr in results:
                text = f"{owner.within(PRIMARY)}.{node.func.attr}()"
                return Value(results[node.func.attr], text, acts=owner.acts, reads=True)
        raise self.source.error(node, f"`{ast.unparse(node.func)}` cannot be called in a kernel")

    def _user_call(self, node: ast.Call, function: Any, arguments: Sequence[ast.expr]) -> Value:
        """Return the code of a call of a function that is translated too."""
        if not callable(function):
            raise self.source.error(node, f"`{ast.unparse(node.func)}` is no function")
        values = [self.value(each) for each in arguments]
        try:
            made = self.program.call(function, [each.type for each in values])
        except TypeError as error:
            raise self.source.error(node, str(error)) from None
        converted = [replace(each, text=self.to(each, each.type), level=PRIMARY) for each in values]
        found = self.ordered(converted, lambda texts: f"{made.name}({', '.join(texts)})", acts=made.acts)
        return replace(found, type=made.returns, level=PRIMARY, reads=True, name=False, pointer=False, narrow=False)

    # order

    def ordered(self, values: Sequence[Value], text: Callable[[list[str]], str], *, acts: bool = False) -> Value:
        """Return an expression of several operands, which Python evaluates from the left.

        C++ evaluates them in any order. Where that could matter, the operands become variables of a lambda.
        """
        any_acts = [place for place, each in enumerate(values) if each.acts]
        matters = any_acts and any(
            (each.acts or each.reads) for place, each in enumerate(values) if place != any_acts[0]
        )
        acting = acts or bool(any_acts)
        reads = any(each.reads for each in values)
        if not matters:
            return Value(VOID, text([each.text for each in values]), acts=acting, reads=reads)
        lines, names = [], []
        for place, each in enumerate(values):
            if each.number is not None or (each.name and not each.reads):
                names.append(each.text)
                continue
            held = f"operand_{place}"
            refers = "auto &" if isinstance(each.type, Record) else "auto "
            constant = "" if isinstance(each.type, Record) else "const "
            lines.append(f"{constant}{refers}{held} = {each.wide.text if each.narrow else each.text};")
            names.append(held)
        return Value(VOID, f"[&] {{ {' '.join(lines)} return {text(names)}; }}()", acts=True, reads=True)


def _is_whole(node: ast.expr) -> bool:
    """Return whether an index is a colon without bounds."""
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None


def _branch(value: Value, text: str) -> str:
    return text if value.level > TERNARY or text != value.text else f"({text})"


def _cast(value: Value, kind: Number) -> Value:
    if value.number is not None:
        return literal(value.number, kind)
    return replace(value, type=kind, text=f"{kind.cpp}({value.text})", level=PRIMARY, narrow=False, name=False)


def _widened(left: Value, right: Value) -> tuple[Value, Value]:
    """Return operands of which at least one has 64 bits, so that C++ computes with 64."""
    left, right = (each.wide if each.type is BOOL else each for each in (left, right))
    small_left, small_right = (each.narrow or (each.number is not None and "int64_t" not in each.text) for each in (left, right))
    if small_left and small_right:
        if right.narrow and not left.narrow:
            return left, right.wide
        return (left.wide if left.narrow else replace(left, text=f"int64_t({left.text})", level=PRIMARY)), right
    return left, right
