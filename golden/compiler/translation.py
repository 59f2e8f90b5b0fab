"""Base of a function's translation: constants, and the evaluation order of operands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import IntEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from vlane.golden.compiler.source import Source
from vlane.golden.compiler.types import BOOL, INT, UINT, VOID, Number, Record, Struct, Tuple, Type
from vlane.golden.compiler.values import PRIMARY, Value, literal

if TYPE_CHECKING:
    from vlane.golden.compiler.program import Program

NOT_KNOWN = object()
"""Result of ``constant`` for an expression that depends on the call."""


class Translation:
    """Translation of a function, without its expressions and statements."""

    program: Program
    source: Source
    types: dict[str, Type]
    """Types of parameters and variables known so far."""
    pointers: set[str]
    """Variables that hold the address of a record."""
    local: set[str]
    """Parameters and assigned names."""

    def value(self, node: ast.expr) -> Value:
        """Return the code of an expression."""
        constant = self.constant(node)
        if constant is not NOT_KNOWN:
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
        """Return the Python object of a constant expression, or ``NOT_KNOWN``."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.local:
                return NOT_KNOWN
            try:
                return self.source.value(node.id)
            except KeyError:
                raise self.source.error(node, f"the name {node.id} is not defined") from None
        if isinstance(node, ast.Attribute):
            owner = self.constant(node.value)
            if owner is NOT_KNOWN or (isinstance(owner, tuple) and not hasattr(owner, node.attr)):
                return NOT_KNOWN
            try:
                return getattr(owner, node.attr)
            except AttributeError:
                raise self.source.error(node, f"`{ast.unparse(node)}` is not defined") from None
        return NOT_KNOWN

    def _known(self, node: ast.expr, constant: Any) -> Value | None:
        """Return the code of a constant, ``None`` if translated code has no such values."""
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
        return replace(plain, text=self._constant_name(node, kind.cpp, plain.text), precedence=PRIMARY)

    def _constant_name(self, node: ast.expr, kind: str, text: str) -> str:
        """Return the name of a constant, in the module that the expression names or in the function's own module."""
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
            return text  # closures of one definition may have different values
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

    def to(self, value: Value, kind: Type) -> str:
        """Return the code of a value, converted to a compatible type."""
        if isinstance(kind, Record):
            return value.reference
        if kind is UINT and value.number is not None:
            return literal(value.number, UINT).text
        if kind is INT and (value.type is BOOL or value.is_narrow):
            return literal(int(value.number)).text if value.number is not None else f"int64_t({value.text})"
        if isinstance(kind, Tuple) and kind is not value.type:
            items = (f"std::get<{n}>(items)" for n in range(len(kind.item_types)))
            return f"[](const auto &items) {{ return {self.program.cpp(kind)}{{{', '.join(items)}}}; }}({value.text})"
        return value.text

    def where(self, node: ast.AST) -> str:
        """Return file and line of a node, as a checked kernel reports them."""
        file = self.source.file.replace("\\", "/")
        return f"{file}:{getattr(node, 'lineno', 0)}".replace('"', "'")

    def ordered(self, values: Sequence[Value], text: Callable[[list[str]], str], *, has_effects: bool = False) -> Value:
        """Return an expression of several operands, which Python evaluates from left to right.

        C++ evaluates them in any order. If the order matters, the operands become variables of a lambda.
        """
        any_acts = [place for place, each in enumerate(values) if each.has_effects]
        matters = any_acts and any(
            (each.has_effects or each.reads) for place, each in enumerate(values) if place != any_acts[0]
        )
        acting = has_effects or bool(any_acts)
        reads = any(each.reads for each in values)
        if not matters:
            return Value(VOID, text([each.text for each in values]), has_effects=acting, reads=reads)
        lines, names = [], []
        for place, each in enumerate(values):
            if each.number is not None or (each.name and not each.reads):
                names.append(each.text)
                continue
            held = f"operand_{place}"
            refers = "auto &" if isinstance(each.type, Record) else "auto "
            constant = "" if isinstance(each.type, Record) else "const "
            lines.append(f"{constant}{refers}{held} = {each.wide.text if each.is_narrow else each.text};")
            names.append(held)
        return Value(VOID, f"[&] {{ {' '.join(lines)} return {text(names)}; }}()", has_effects=True, reads=True)
