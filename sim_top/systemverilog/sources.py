"""Names and comments from the Python source of a component."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from amaranth import tracer

_MOST_FRAMES = 6
_STATEMENTS = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr | ast.keyword
_HDL = re.compile(r"(?!.*/amaranth/).*/(hdl/.*)")
_HELPERS = re.compile(r".*/hdl/common/select\.py$")
"""Functions whose names say nothing about their results' use."""
_PLAIN = {"m", "_", "i", "self", "found", "result", "value", "values", "item", "elaborate", "eq", "comb", "sync"}
_HINTS = {
    "add": "sum",
    "sub": "difference",
    "mul": "product",
    "eq": "equal",
    "ne": "differs",
    "lt": "less",
    "gt": "more",
    "le": "at_most",
    "ge": "at_least",
    "shl": "shifted",
    "shr": "shifted",
    "sar": "shifted",
    "cond": "choice",
    "any": "any",
    "and": "both",
    "or": "either",
    "cat": "bits",
    "not": "inverse",
}  # fmt: skip - one row for each kind of operator would be longer than the module


class Place(tuple[str, int]):  # noqa: SLOT001 - a tuple cannot have slots with values
    """File and line of a value, and of the calls in ``hdl`` that led to it, innermost first."""

    frames: tuple[tuple[str, int], ...]


class Function(NamedTuple):
    """Method or function around a place.

    Parameters
    ----------
    name : str
        Name without leading underscores.
    doc : str
        First paragraph of the docstring.
    argument : str
        Name of the first parameter of a function.
    """

    name: str
    doc: str
    argument: str = ""


@contextmanager
def recorded_places() -> Iterator[None]:
    """Record, for every value and statement that is created, the calls that led to it."""
    usual = tracer.get_src_loc

    def located(src_loc_at: int = 0) -> Place:
        frame: Any = sys._getframe(2 + src_loc_at)
        place = Place((frame.f_code.co_filename, frame.f_lineno))
        found: list[tuple[str, int]] = []
        while frame is not None and len(found) < _MOST_FRAMES:
            if _HDL.match(frame.f_code.co_filename):
                found.append((frame.f_code.co_filename, frame.f_lineno))
            elif found:
                break
            frame = frame.f_back
        place.frames = tuple(found)
        return place

    tracer.get_src_loc = located
    try:
        yield
    finally:
        tracer.get_src_loc = usual


def shown_place(place: Any) -> str:
    """Return file and line of a place in ``hdl``, or an empty text."""
    for file, line in getattr(place, "frames", ()):
        return _HDL.sub(r"\1", file) + f":{line}"
    return ""


def candidates(place: Any, kind: str) -> Iterator[str]:
    """Yield names of an expression, the best one first: variable, then function, then target of the assignment."""
    targets, functions = [], []
    for variable, target, function in _origins(place):
        if variable and variable not in _PLAIN:
            yield variable
        if target:
            targets.append(target)
        if function and function.strip("_") not in _PLAIN:
            functions.append(function.strip("_"))
    yield from functions
    yield from (f"{name}_{hint(kind)}" for name in (*targets, *functions))


def subjects(place: Any) -> Iterator[str]:
    """Yield names of the purpose of an expression: variable or target of its statement, then functions."""
    functions = []
    for variable, target, function in _origins(place):
        if variable and variable not in _PLAIN:
            yield variable
        if target:
            yield target
        if function and function.strip("_") not in _PLAIN:
            functions.append(function.strip("_"))
    yield from functions


def _origins(place: Any) -> Iterator[tuple[str | None, str | None, str | None]]:
    """Yield variable, target and function of each call that led to a place, helpers excluded."""
    for file, line in getattr(place, "frames", ()):
        found = None if _HELPERS.match(file) else _at(file, line)
        if found is not None:
            yield found


def hint(kind: str) -> str:
    """Return the last word of an expression's name, from its operator."""
    return _HINTS.get(kind, "value")


def method_of(place: Any, files: Collection[Path]) -> Function | None:
    """Return the documented method that contains a place, other than ``elaborate``, in one of the files."""
    for file, line in getattr(place, "frames", ()):
        if Path(file).resolve() not in files:
            continue
        best = None
        for first, last, name, doc in _methods(file):
            if first <= line <= last and (best is None or first > best[0]):
                best = first, name, doc
        if best is not None:
            return Function(best[1].strip("_"), best[2])
    return None


def function_of(place: Any) -> Function | None:
    """Return the documented function outside a class that created a value, or ``None``."""
    for file, line in getattr(place, "frames", ())[:1]:
        for node in _tree(file).body:
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or node.lineno):
                doc = (ast.get_docstring(node) or "").split("\n\n")[0]
                arguments = [each.arg for each in node.args.args]
                return Function(node.name.strip("_"), " ".join(doc.split()), *arguments[:1])
    return None


@lru_cache(None)
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


@lru_cache(None)
def _methods(file: str) -> list[tuple[int, int, str, str]]:
    found = []
    for cls in ast.walk(_tree(file)):
        if isinstance(cls, ast.ClassDef):
            for each in cls.body:
                if isinstance(each, ast.FunctionDef) and each.name not in {"elaborate", "__init__"}:
                    doc = (ast.get_docstring(each) or "").split("\n\n")[0]
                    found.append((each.lineno, each.end_lineno or each.lineno, each.name, " ".join(doc.split())))
    return found


@lru_cache(None)
def _statements(file: str) -> list[tuple[int, int, ast.AST, str | None]]:
    found: list[tuple[int, int, ast.AST, str | None]] = []

    def walk(node: ast.AST, function: str | None) -> None:
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef) else function
            is_eq = isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr == "eq"
            is_statement = isinstance(child, _STATEMENTS)
            if isinstance(child, ast.With):
                last = max(item.context_expr.end_lineno or child.lineno for item in child.items)
                found.append((child.lineno, last, child, inner))
            if isinstance(child, ast.stmt | ast.expr | ast.keyword) and (is_eq or is_statement):
                found.append((child.lineno, child.end_lineno or child.lineno, child, inner))
            walk(child, inner)

    walk(_tree(file), None)
    return found


@lru_cache(None)
def _at(file: str, line: int) -> tuple[str | None, str | None, str | None] | None:
    """Return the assigned variable, the target of ``eq`` and the function at a line."""
    best: tuple[int, int, ast.AST, str | None] | None = None
    for entry in _statements(file):
        if entry[0] <= line <= entry[1] and (best is None or entry[1] - entry[0] <= best[1] - best[0]):
            best = entry
    if best is None:
        return None
    node, function = best[2], best[3]
    if isinstance(node, ast.Assign):
        return _last(node.targets[0]), None, function
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return _last(node.target), None, function
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return None, _last(node.func.value), function
    return None, None, function


def _last(node: ast.AST) -> str | None:
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_")
    return node.id.strip("_") if isinstance(node, ast.Name) else None
