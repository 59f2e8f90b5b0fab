"""Translation of calls: built-in and numpy functions, NamedTuples, array methods, functions of the subset."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vlane.golden.compiler.operators import Operators, cast, widened
from vlane.golden.compiler.translation import NOT_KNOWN
from vlane.golden.compiler.types import BOOL, INT, RANGE, UINT, Array, RecordArray, Struct, Tuple
from vlane.golden.compiler.values import PRIMARY, Value, literal

_CASTS: dict[Any, str] = {
    np.int64: "int64_t",
    np.uint64: "uint64_t",
    int: "int64_t",
    **{getattr(np, f"{sign}int{bits}"): f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32)},
}
_WORD_BITS = 64


class Calls(Operators):
    """Translation of calls."""

    def expr_call(self, node: ast.Call) -> Value:
        """Return the result of a call."""
        function = self.constant(node.func)
        if function is NOT_KNOWN:
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
        """Return the code of a call of a built-in or numpy function, ``None`` for all others."""
        if function is len:
            return self._length(node)
        if function is range:
            return self._range(node)
        if function in (min, max) and len(node.args) > 1:
            return self._extreme(node, "min" if function is min else "max")
        if function is abs:
            found = self.number(node.args[0]).wide
            return replace(found, text=f"rt::abs({found.text})", precedence=PRIMARY, number=None, name=False)
        if function is bool or function is np.bool_:
            return self.in_condition(node.args[0])
        return self._converted(node, function) if function in _CASTS and len(node.args) == 1 else None

    def _converted(self, node: ast.Call, function: Any) -> Value:
        """Return a number converted to another numeric type."""
        found, kind = self.number(node.args[0]), UINT if function is np.uint64 else INT
        if function in {int, np.int64, np.uint64}:
            return cast(found, kind) if found.type is not kind or found.number is not None else found
        text = f"{_CASTS[function]}({found.text})"
        return replace(found, type=INT, text=text, precedence=PRIMARY, number=None, is_narrow=True, name=False)

    def _length(self, node: ast.Call) -> Value:
        constant = self.constant(node.args[0])
        if isinstance(constant, tuple):
            return literal(len(constant))
        found = self.value(node.args[0])
        if isinstance(found.type, Array | RecordArray):
            return replace(found, type=INT, text=f"{found.within(PRIMARY)}.shape[0]", precedence=PRIMARY, reads=False)
        if isinstance(found.type, Tuple):
            return literal(len(found.type.item_types))
        raise self.source.error(node, f"{found.type} has no length")

    def _range(self, node: ast.Call) -> Value:
        if len(node.args) > 2:
            raise self.source.error(node, "a range with a step may only stand in a for statement")
        values = [self.number(each) for each in node.args]
        values = [cast(each, INT) if each.type is UINT else each for each in values]
        if len(values) == 1:
            values.insert(0, literal(0))
        found = self.ordered(values, lambda texts: f"rt::Range{{{', '.join(texts)}}}")
        return replace(found, type=RANGE, precedence=PRIMARY)

    def _extreme(self, node: ast.Call, name: str) -> Value:
        values = [self.number(each) for each in node.args]
        kind = UINT if any(each.type is UINT for each in values) else INT
        if kind is UINT:
            values = [self._unsigned(node, each) for each in values]
        found = values[0]
        for each in values[1:]:
            pair = widened(found, each) if kind is INT else (found, each)
            found = self.ordered(pair, lambda texts: f"rt::{name}({texts[0]}, {texts[1]})")
            found = replace(found, type=kind, precedence=PRIMARY)
        return found

    def _made(self, node: ast.Call, made: Any) -> Value:
        """Return the code that constructs a NamedTuple."""
        values = [self.value(each) for each in self._by_name(node, made)]
        kind = Struct(made, tuple(each.type for each in values))
        texts = [self.to(each, each.type) for each in values]
        return Value(
            kind,
            f"{self.program.cpp(kind)}{{{', '.join(texts)}}}",
            has_effects=any(each.has_effects for each in values),
            reads=any(each.reads for each in values),
        )

    def _method(self, node: ast.Call) -> Value:
        """Return the code of a call of an array method."""
        if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            owner = self.value(node.func.value)
            results = {"any": BOOL, "all": BOOL, "sum": INT}
            if isinstance(owner.type, Array) and node.func.attr in results:
                text = f"{owner.within(PRIMARY)}.{node.func.attr}()"
                return Value(results[node.func.attr], text, has_effects=owner.has_effects, reads=True)
        raise self.source.error(node, f"`{ast.unparse(node.func)}` cannot be called in a kernel")

    def _user_call(self, node: ast.Call, function: Any, arguments: Sequence[ast.expr]) -> Value:
        """Return the code of a call of a translated function."""
        if not callable(function):
            raise self.source.error(node, f"`{ast.unparse(node.func)}` is no function")
        values = [self.value(each) for each in arguments]
        try:
            made = self.program.call(function, [each.type for each in values])
        except TypeError as error:
            raise self.source.error(node, str(error)) from None
        converted = [replace(each, text=self.to(each, each.type), precedence=PRIMARY) for each in values]
        found = self.ordered(converted, lambda texts: f"{made.name}({', '.join(texts)})", has_effects=made.has_effects)
        return replace(
            found, type=made.return_type, precedence=PRIMARY, reads=True, name=False, pointer=False, is_narrow=False
        )
