"""Translation of operators: C++ computes the results of Python, with 64 bits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vlane.golden.compiler.translation import Translation
from vlane.golden.compiler.types import BOOL, INT, UINT, Number, Record, Struct, Type, joined
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
_WORD_BITS = 64


class Operators(Translation):
    """Translation of operators."""

    def expr_binop(self, node: ast.BinOp) -> Value:
        """Return the result of a binary operator."""
        return self.operation(node, node.op, self.number(node.left), self.number(node.right))

    def operation(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """Return the result of a binary operator on translated operands."""
        kind = self._common(node, op, left, right)
        if left.number is not None and right.number is not None:
            folded = self._folded(op, left.number, right.number)
            if folded is not None and (isinstance(op, ast.LShift | ast.RShift) or left.type is right.type):
                return literal(folded, kind if kind is not BOOL else None)
        if type(op) in _OPERATORS:
            symbol, level, _ = _OPERATORS[type(op)]
            if kind is not BOOL:
                left, right = widened(left, right)
            above = level + 1  # operators of equal precedence associate to the left

            def text(texts: list[str], pair: tuple[Value, Value] = (left, right)) -> str:
                one, other = (replace(each, text=said) for each, said in zip(pair, texts, strict=True))
                return f"{one.within(level)} {symbol} {other.within(above)}"

            return replace(self.ordered([left, right], text), type=kind, precedence=level)
        if type(op) not in _CALLED:
            raise self.source.error(node, f"the operator of `{ast.unparse(node)}` has no translation")
        return self._called(node, op, kind, left, right)

    def _called(self, node: ast.AST, op: ast.operator, kind: Type, left: Value, right: Value) -> Value:
        """Return the result of an operator without an equivalent C++ operator."""
        name, _ = _CALLED[type(op)]
        number = right.number
        left = left.wide
        shifts = isinstance(op, ast.LShift | ast.RShift)
        if number is not None and shifts and 0 <= number < _WORD_BITS:
            if isinstance(op, ast.RShift):
                return replace(
                    left,
                    type=kind,
                    text=f"({left.within(ADD)} >> {right.text})",
                    precedence=PRIMARY,
                    number=None,
                    name=False,
                )
            if kind is UINT:
                return replace(
                    left,
                    type=kind,
                    text=f"({left.within(ADD)} << {right.text})",
                    precedence=PRIMARY,
                    number=None,
                    name=False,
                )
        if number is not None and not shifts and number > 0 and number & number - 1 == 0 and left.number is None:
            bits = int(number).bit_length() - 1
            if isinstance(op, ast.FloorDiv):
                text = f"({left.within(ADD)} >> {bits})"
            else:
                text = f"({left.within(BIT_AND)} & {number - 1})"
            return replace(left, type=kind, text=text, precedence=PRIMARY, name=False)
        if kind is UINT and not shifts:
            left, right = (each if each.type is UINT else cast(each, UINT) for each in (left, right))
        elif right.type is UINT:
            right = cast(right, INT)
        if left.number is not None and left.type is INT:
            left = replace(left, text=f"int64_t{{{left.text}}}", precedence=PRIMARY)
        where = f', "{self.where(node)}"' if self.program.checked else ""
        found = self.ordered([left, right], lambda texts: f"rt::{name}({texts[0]}, {texts[1]}{where})")
        return replace(found, type=kind)

    def _folded(self, op: ast.operator, left: int, right: int) -> int | None:
        compute: Callable[[Any, Any], Any] = (_OPERATORS if type(op) in _OPERATORS else _CALLED)[type(op)][-1]
        try:
            if isinstance(op, ast.LShift) and right > 4 * _WORD_BITS:
                return None
            found = compute(left, right)
        except (ArithmeticError, ValueError):
            return None
        return bool(found) if isinstance(found, bool) else int(found)

    def _common(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Type:
        """Return the result type of an operator: unsigned if an operand is unsigned."""
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
        """Return the result of a unary operator."""
        if isinstance(node.op, ast.Not):
            found = self.condition(node.operand)
            if found.number is not None:
                return literal(not found.number)
            return replace(found, text=f"!{found.within(UNARY)}", precedence=UNARY, name=False)
        operand = self.number(node.operand)
        if operand.number is not None and operand.type is INT:
            number = int(operand.number)
            return literal({ast.USub: -number, ast.Invert: ~number, ast.UAdd: number}[type(node.op)])
        operand = operand.wide
        symbol = {ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}[type(node.op)]
        text = f"{symbol}{operand.within(PRIMARY)}"
        return replace(operand, text=text, precedence=UNARY, number=None, name=False)

    def expr_boolop(self, node: ast.BoolOp) -> Value:
        """Return the result of ``and`` or ``or``."""
        values = [self.number(each) for each in node.values]
        is_and = isinstance(node.op, ast.And)
        if any(each.type is not BOOL for each in values):
            return self._chosen(node, values, is_and=is_and)
        level, symbol = (AND, " && ") if is_and else (OR, " || ")
        return Value(
            BOOL,
            symbol.join(each.within(level + 1) for each in values),
            precedence=level,
            has_effects=any(each.has_effects for each in values),
            reads=any(each.reads for each in values),
        )

    def _chosen(self, node: ast.BoolOp, values: list[Value], *, is_and: bool) -> Value:
        """Return the operand that ``and`` or ``or`` selects, if an operand is not a truth value."""
        found = values[-1]
        for each in reversed(values[:-1]):
            kind = joined(each.type, found.type)
            if kind is None:
                raise self.source.error(node, f"`{ast.unparse(node)}` has operands of different types")
            second = found.wide.text
            then, otherwise = (second, "first") if is_and else ("first", second)
            text = f"[&] {{ const int64_t first = {each.wide.text}; return first != 0 ? {then} : {otherwise}; }}()"
            found = Value(
                INT if kind is BOOL else kind, text, has_effects=each.has_effects or found.has_effects, reads=True
            )
        return found

    def in_condition(self, node: ast.expr) -> Value:
        """Return the truth of an expression, where operands of ``and`` and ``or`` need no common type."""
        if isinstance(node, ast.BoolOp):
            level, symbol = (AND, " && ") if isinstance(node.op, ast.And) else (OR, " || ")
            values = [self.in_condition(each) for each in node.values]
            return Value(
                BOOL,
                symbol.join(each.within(level + 1) for each in values),
                precedence=level,
                has_effects=any(each.has_effects for each in values),
                reads=any(each.reads for each in values),
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.in_condition(node.operand)
            if found.number is not None:
                return literal(not found.number)
            return replace(found, text=f"!{found.within(UNARY)}", precedence=UNARY, name=False)
        return self.condition(node)

    def expr_compare(self, node: ast.Compare) -> Value:
        """Return the truth of a comparison or of a chain of comparisons."""
        parts, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self._comparison(node, op, left, right))
            if right is not node.comparators[-1] and self.value(right).has_effects:
                raise self.source.error(node, "the middle of a comparison is evaluated twice: assign it before")
            left = right
        if len(parts) == 1:
            return parts[0]
        return Value(
            BOOL,
            " && ".join(each.within(AND + 1) for each in parts),
            precedence=AND,
            has_effects=any(each.has_effects for each in parts),
            reads=any(each.reads for each in parts),
        )

    def _comparison(self, node: ast.Compare, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Value:
        if isinstance(op, ast.In | ast.NotIn):
            return self._membership(node, left, right, inside=isinstance(op, ast.In))
        if type(op) not in _COMPARISONS:
            raise self.source.error(node, "`is` compares objects: kernels compare numbers with ==")
        one, other = self.number(left), self.number(right)
        if one.number is not None and other.number is not None and one.type is other.type:
            compare = getattr(
                operator, type(op).__name__.lower().replace("noteq", "ne").replace("lte", "le").replace("gte", "ge")
            )
            return literal(bool(compare(one.number, other.number)))
        if UINT in {one.type, other.type} and one.type is not other.type:
            one, other = self._unsigned(node, one), self._unsigned(node, other)
        elif one.is_narrow or other.is_narrow:
            one, other = widened(one, other)
        level = EQUAL if isinstance(op, ast.Eq | ast.NotEq) else COMPARE
        symbol = _COMPARISONS[type(op)]

        def text(texts: list[str]) -> str:
            pair = (replace(each, text=said) for each, said in zip((one, other), texts, strict=True))
            return f" {symbol} ".join(each.within(ADD) for each in pair)

        return replace(self.ordered([one, other], text), type=BOOL, precedence=level)

    def _unsigned(self, node: ast.AST, value: Value) -> Value:
        """Return an operand of a comparison with an unsigned number."""
        if value.type is UINT:
            return value
        if value.number is None or value.number < 0:
            raise self.source.error(node, "a signed and an unsigned number are compared: convert one of them")
        return literal(value.number, UINT)

    def _membership(self, node: ast.Compare, left: ast.expr, right: ast.expr, *, inside: bool) -> Value:
        one = self.number(left)
        if one.has_effects:
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
        return Value(BOOL, text or ("false" if inside else "true"), precedence=level, reads=one.reads)

    def expr_ifexp(self, node: ast.IfExp) -> Value:
        """Return a conditional expression."""
        test, then, otherwise = self.in_condition(node.test), self.value(node.body), self.value(node.orelse)
        if test.number is not None:
            return then if test.number else otherwise
        kind = joined(then.type, otherwise.type)
        if kind is None:
            kind = self._constant_as(then, otherwise)
        if kind is None:
            raise self.source.error(node, f"`{ast.unparse(node)}` is {then.type} or {otherwise.type}")
        one, other = self.to(then, kind), self.to(otherwise, kind)
        if kind.cpp and (then.number is not None or (then.reads and otherwise.name)):
            one = f"{kind.cpp}({one})"  # two lvalues would yield a reference, which packed fields forbid
        text = f"{test.within(OR)} ? {_branch(then, one)} : {_branch(otherwise, other)}"
        return Value(
            kind,
            text,
            precedence=TERNARY,
            has_effects=test.has_effects or then.has_effects or otherwise.has_effects,
            reads=test.reads or then.reads or otherwise.reads,
            name=isinstance(kind, Record | Struct) and then.name and otherwise.name,
        )

    def _constant_as(self, one: Value, other: Value) -> Type | None:
        """Return the unsigned type if one operand is unsigned and the other a non-negative constant."""
        for first, second in ((one, other), (other, one)):
            if first.type is UINT and second.type is INT and second.number is not None and second.number >= 0:
                return UINT
        return None


def _branch(value: Value, text: str) -> str:
    return text if value.precedence > TERNARY or text != value.text else f"({text})"


def cast(value: Value, kind: Number) -> Value:
    """Return a number converted to another numeric type."""
    if value.number is not None:
        return literal(value.number, kind)
    return replace(value, type=kind, text=f"{kind.cpp}({value.text})", precedence=PRIMARY, is_narrow=False, name=False)


def widened(left: Value, right: Value) -> tuple[Value, Value]:
    """Widen an operand to 64 bits if both are narrow, because C++ would compute with 32 bits."""
    left, right = (each.wide if each.type is BOOL else each for each in (left, right))
    small_left, small_right = (
        each.is_narrow or (each.number is not None and "int64_t" not in each.text) for each in (left, right)
    )
    if small_left and small_right:
        if right.is_narrow and not left.is_narrow:
            return left, right.wide
        return (left.wide if left.is_narrow else replace(left, text=f"int64_t({left.text})", precedence=PRIMARY)), right
    return left, right
