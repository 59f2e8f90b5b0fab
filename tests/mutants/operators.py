"""Mutants of a Python module: one changed expression or statement each, on the lines of the original."""

from __future__ import annotations

import ast
import copy
import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlane.tb.machinery.plants.plant import with_planted_line

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_REMOVABLE = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
REMOVED = "statement removed"
"""Kind of change that leaves ``pass``."""
BY_HAND = "by hand"
"""Kind of change that replaces a line."""
Place = tuple[int, int, int, int]
"""First line from 1, its column in bytes, last line, column after the last byte."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module.

    Parameters
    ----------
    file : str
        Path from the root of the repository.
    place : tuple of int
        Replaced text: first line, its column in bytes, last line, column after the last byte.
    operator : str
        Kind of change.
    before, after : str
        Text before and after the change, as Python prints the syntax tree.
    function : int
        First line of the innermost function that contains the change, its decorators included; 0 for module level.
    """

    file: str
    place: Place
    operator: str
    before: str
    after: str
    function: int

    @property
    def name(self) -> str:
        """Place, kind and new text of the change."""
        return f"{self.file}:{self.place[0]}:{self.place[1]} {self.operator}: {self.after}"

    def applied(self, text: str) -> str:
        """Return the module's text with the change and with the same number of lines."""
        lines = text.encode().splitlines(keepends=True)
        first, start, last, end = self.place
        inside = b"".join(lines[first - 1 : last])
        cut = len(inside) - len(lines[last - 1]) + end
        added = self.after.encode() + b"\n" * (last - first)
        if self.operator not in (REMOVED, BY_HAND):
            added = b"(" + added + b")"
        changed = inside[:start] + added + inside[cut:]
        return b"".join([*lines[: first - 1], changed, *lines[last:]]).decode()


def written(root: Path, changes: Path) -> list[Mutant]:
    """Return the mutants of a file of changes by hand."""
    found = []
    for change in tomllib.loads(changes.read_text())["change"]:
        text = (root / change["file"]).read_text()
        with_planted_line(text, change["line"], change["instead"])
        number = [line.strip() for line in text.splitlines()].index(change["line"]) + 1
        line = text.splitlines()[number - 1]
        place = (number, len(line) - len(change["line"]), number, len(line.encode()))
        functions = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef))
        around = [_first_line(each) for each in functions if each.lineno < number <= (each.end_lineno or 0)]
        found.append(Mutant(change["file"], place, BY_HAND, change["line"], change["instead"], max(around, default=0)))
    return found


def draw(root: Path, folders: Sequence[str], *, count: int, seed: int) -> list[Mutant]:
    """Draw equally many mutants of each kind, at most one of each line, in random order."""
    found: dict[str, list[Mutant]] = {}
    texts = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            file = str(path.relative_to(root))
            texts[file] = path.read_text()
            for mutant in mutants_of(file, texts[file]):
                found.setdefault(mutant.operator, []).append(mutant)
    source = random.Random(seed)  # noqa: S311 - a sample
    for kind in sorted(found):
        source.shuffle(found[kind])
    chosen: dict[tuple[str, int], Mutant] = {}
    while len(chosen) < count and any(found.values()):
        for kind in sorted(found):
            while found[kind]:
                mutant = found[kind].pop()
                line = (mutant.file, mutant.place[0])
                if line not in chosen and _is_accepted(mutant, texts[mutant.file]):
                    chosen[line] = mutant
                    break
    drawn = [*chosen.values()][:count]
    source.shuffle(drawn)
    return drawn


def _is_accepted(mutant: Mutant, text: str) -> bool:
    try:
        compile(mutant.applied(text), mutant.file, "exec")
    except SyntaxError:
        return False
    return True


def mutants_of(file: str, text: str) -> Iterator[Mutant]:
    """Yield all mutants of a module, of which Python may reject some."""
    for statement in ast.parse(text).body:
        if not _is_for_readers(statement):
            yield from _Finder(file).found(statement)


class _Finder:
    """Walk over a module's tree that collects mutants.

    Annotations, decorators and texts are skipped.
    """

    def __init__(self, file: str) -> None:
        self.file = file

    def found(self, statement: ast.stmt) -> Iterator[Mutant]:
        """Yield the mutants of a statement of the module, of which Python may reject some."""
        yield from self._walk(statement, 0, {})

    def _walk(self, node: ast.AST, function: int, fields: dict[str, list[str]]) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef):
            defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
            first = _first_line(node)
            for each in defaults:
                yield from self._walk(each, function, fields)
            own = _fields_of(node)
            for statement in node.body:
                yield from self._walk(statement, first, own)
            return
        if isinstance(node, ast.AnnAssign):
            parts: list[ast.AST] = [] if node.value is None else [node.value]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.body]
        elif isinstance(node, ast.JoinedStr):
            return
        else:
            parts = list(ast.iter_child_nodes(node))
        for operator, changed in _changes(node, fields):
            place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
            yield Mutant(self.file, place, operator, ast.unparse(node), changed, function)
        for each in parts:
            yield from self._walk(each, function, fields)


def _is_for_readers(node: ast.stmt) -> bool:
    """Return whether a statement is for type checkers or defines ``__all__``."""
    if isinstance(node, ast.Assign):
        return "__all__" in map(ast.unparse, node.targets)
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def _fields_of(function: ast.FunctionDef) -> dict[str, list[str]]:
    """Return the fields that a function reads, by the object."""
    found: dict[str, list[str]] = {}
    calls = {id(each.func) for each in ast.walk(function) if isinstance(each, ast.Call)}
    for each in ast.walk(function):
        if isinstance(each, ast.Attribute) and id(each) not in calls and isinstance(each.ctx, ast.Load):
            names = found.setdefault(ast.unparse(each.value), [])
            if each.attr not in names:
                names.append(each.attr)
    return found


def _changes(node: ast.AST, fields: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each change of one node."""
    if isinstance(node, ast.stmt):
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        is_stored = all(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)
        if isinstance(node, _REMOVABLE) or is_call or is_stored:
            yield REMOVED, "pass"
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "truth value flipped", str(not node.value)
        elif isinstance(node.value, int | float):
            yield "constant plus one", repr(node.value + 1)
            yield "constant minus one", repr(node.value - 1)
    elif isinstance(node, ast.Compare):
        for number, operation in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[number] = _COMPARISONS[type(operation)]()
            yield "comparison", ast.unparse(other)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in _ARITHMETIC and not isinstance(node.left, ast.JoinedStr):
            yield "operator", ast.unparse(ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))
    elif isinstance(node, ast.BoolOp):
        other_kind = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and for or", ast.unparse(ast.BoolOp(other_kind, node.values))
        yield "condition dropped", ast.unparse(node.values[0])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition negated", ast.unparse(node.operand)
    elif isinstance(node, ast.IfExp):
        yield "condition negated", ast.unparse(ast.IfExp(node.test, node.orelse, node.body))
    else:
        yield from _changes_of_places(node, fields)


def _changes_of_places(node: ast.AST, fields: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield changes of calls, items, fields and rows."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED_CALLS:
            yield "min for max", ast.unparse(ast.Call(ast.Name(_SWAPPED_CALLS[node.func.id]), node.args, node.keywords))
        if len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args):
            for args in _swapped(node.args):
                yield "arguments swapped", ast.unparse(ast.Call(node.func, args, node.keywords))
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        if isinstance(node.slice, ast.Name | ast.BinOp | ast.Attribute):
            changed = ast.Subscript(node.value, ast.BinOp(node.slice, ast.Sub(), ast.Constant(1)), node.ctx)
            yield "index minus one", ast.unparse(changed)
        elif isinstance(node.slice, ast.Tuple):
            for parts in _swapped(node.slice.elts):
                yield "indices swapped", ast.unparse(ast.Subscript(node.value, ast.Tuple(parts, ast.Load()), node.ctx))
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        names = fields.get(ast.unparse(node.value), [])
        if node.attr in names and len(names) > 1:
            other = names[(names.index(node.attr) + 1) % len(names)]
            yield "other field", ast.unparse(ast.Attribute(node.value, other, node.ctx))
    elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        for elements in _swapped(node.elts):
            yield "elements swapped", ast.unparse(type(node)(elements, node.ctx))


def _swapped(parts: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Yield the list with two neighbours exchanged, for neighbours that differ, both texts or neither."""
    for first in range(len(parts) - 1):
        one, two = parts[first], parts[first + 1]
        texts = [isinstance(each, ast.JoinedStr) or isinstance(getattr(each, "value", 0), str) for each in (one, two)]
        if ast.dump(one) != ast.dump(two) and texts[0] == texts[1]:
            yield [*parts[:first], two, one, *parts[first + 2 :]]
