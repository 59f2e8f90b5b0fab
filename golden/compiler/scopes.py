"""Placement of C++ declarations for the variables of a Python function, which exist until the function ends.

A declaration moves into the block of the first assignment if that block contains all uses and the assignment precedes
them. All other variables are declared earlier and initialized to zero: before the statement that contains all uses or,
if that statement is in a loop, at the start of the function, because a variable keeps its value between iterations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_Path = tuple[tuple[int, int], ...]
"""Blocks around a statement, outermost first: identity of the list of statements, and index in the list."""


@dataclass(slots=True)
class _Use:
    path: _Path
    statement: ast.stmt
    stores: bool


@dataclass(slots=True)
class Scopes:
    """Declarations of a function's variables.

    Parameters
    ----------
    at : set of (int, str)
        Assignments that declare a variable: identity of the statement, and name.
    before : dict of int to list of str
        Variables declared before a statement, by its identity.
    first : list of str
        Variables declared at the start of the function.
    stores : dict of str to int
        Number of assignments of each variable.
    """

    at: set[tuple[int, str]] = field(default_factory=set)
    before: dict[int, list[str]] = field(default_factory=dict)
    first: list[str] = field(default_factory=list)
    stores: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.FunctionDef, parameters: list[str]) -> Scopes:
        """Return the declarations of a function."""
        scopes = cls()
        uses: dict[str, list[_Use]] = {}
        blocks: dict[int, list[ast.stmt]] = {}
        loops: set[int] = set()
        _walk(tree.body, (), uses, blocks, loops, in_loop=False)
        for name, found in uses.items():
            scopes.stores[name] = sum(each.stores for each in found)
            if scopes.stores[name] and name not in parameters:
                scopes._place(name, found, blocks, loops)
        return scopes

    def _place(self, name: str, uses: list[_Use], blocks: dict[int, list[ast.stmt]], loops: set[int]) -> None:
        depth = 0
        paths = [each.path for each in uses]
        while all(len(path) > depth + 1 and path[: depth + 1] == paths[0][: depth + 1] for path in paths) and (
            len({path[depth + 1][0] for path in paths}) == 1
        ):
            depth += 1
        block, _ = paths[0][depth]
        number = min(path[depth][1] for path in paths)
        statement = blocks[block][number]
        within = [each for each in uses if each.path[depth][1] == number]
        if isinstance(statement, ast.For) and len(within) == len(uses) and name in _names(statement.target):
            others = [each for each in _parts(statement) if each is not statement.target]
            if not any(name in _names(each) for each in others):
                self.at.add((id(statement), name))
                return
        if isinstance(statement, ast.Assign | ast.AnnAssign) and all(len(each.path) == depth + 1 for each in within):
            reads = statement.value is not None and name in _names(statement.value)
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not reads and any(name in _direct(each) for each in targets):
                self.at.add((id(statement), name))
                return
        if block in loops:
            self.first.append(name)
        else:
            self.before.setdefault(id(statement), []).append(name)


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block


def assigned_names(tree: ast.AST) -> set[str]:
    """Return the variables assigned within a tree."""
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _walk(
    block: list[ast.stmt],
    above: _Path,
    uses: dict[str, list[_Use]],
    blocks: dict[int, list[ast.stmt]],
    loops: set[int],
    *,
    in_loop: bool,
) -> None:
    blocks[id(block)] = block
    if in_loop:
        loops.add(id(block))
    for number, statement in enumerate(block):
        path = (*above, (id(block), number))
        for part in _parts(statement):
            for each in ast.walk(part):
                if isinstance(each, ast.Name):
                    stores = isinstance(each.ctx, ast.Store)
                    uses.setdefault(each.id, []).append(_Use(path, statement, stores))
        loop = in_loop or isinstance(statement, ast.For | ast.While)
        for inner in blocks_of(statement):
            _walk(inner, path, uses, blocks, loops, in_loop=loop)


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement, without those in its blocks."""
    for name, value in ast.iter_fields(statement):
        if name in {"body", "orelse", "finalbody"}:
            continue
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST))


def _names(tree: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}


def _direct(target: ast.expr) -> set[str]:
    """Return the variables that a target names, single or in a tuple."""
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, ast.Tuple):
        return set().union(*map(_direct, target.elts))
    return set()
