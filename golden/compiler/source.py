"""Syntax tree of a function, values of its names, and errors that name file and line."""

from __future__ import annotations

import ast
import builtins
import io
import linecache
import tokenize
from collections.abc import Callable, Iterator
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from vlane.errors import InputError
from vlane.shown import harmless

_trees: dict[tuple[str, int], dict[int, ast.FunctionDef]] = {}


class UntranslatableError(InputError):
    """Code outside the subset of Python that the translator supports.

    Parameters
    ----------
    reason : str
        Description of the unsupported code.
    file : str
        File of the code.
    line : int
        Line of the file, counted from 1.
    """

    def __init__(self, reason: str, file: str, line: int) -> None:
        super().__init__("code", "in the subset of Python that kernels may use", reason, source=file, line=line)
        self.reason = reason
        self.args = (harmless(f"{file}:{line}: {reason} (docs/compiler.md lists what kernels may use)"),)

    def __reduce__(self) -> tuple[Any, ...]:
        return UntranslatableError, (self.reason, self.source, self.line)


def python_function(function: Callable[..., Any]) -> FunctionType:
    """Return the Python function of a kernel, or the function itself.

    Raises
    ------
    TypeError
        If the object is not a Python function.
    """
    found = getattr(function, "python_function", function)
    if not isinstance(found, FunctionType):
        raise TypeError(f"{function!r} is not a Python function")
    return found


class Source:
    """Source of a function.

    Parameters
    ----------
    function : function
        Python function whose source can be read.

    Attributes
    ----------
    tree : FunctionDef
        Syntax tree; line numbers are those of the file.
    file : str
        File of the function.
    parameters : list of str
        Names of the parameters.

    Raises
    ------
    UntranslatableError
        If the source cannot be read, or the function has parameters with ``*`` or ``**``.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        code = function.__code__
        self.file = code.co_filename
        self.tree = self._find(code)
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg:
            raise self.error(self.tree, "parameters with * or ** have no types")
        self.parameters = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        cells = function.__closure__ or ()
        self._cells = dict(zip(code.co_freevars, cells, strict=True))

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__

    def _find(self, code: CodeType) -> ast.FunctionDef:
        text = "".join(linecache.getlines(self.file, self.function.__globals__))
        key = (self.file, hash(text))
        if key not in _trees:
            try:
                tree = ast.parse(text)
            except SyntaxError:
                tree = ast.Module([], [])
            found = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
            _trees[key] = {_first_line(each): each for each in found}
        tree_of = _trees[key].get(code.co_firstlineno)
        if tree_of is None or tree_of.name != self.function.__name__:
            raise UntranslatableError(
                f"the source of {self.function.__name__} cannot be read", self.file, code.co_firstlineno
            )
        return tree_of

    def error(self, node: ast.AST, reason: str) -> UntranslatableError:
        """Return the error for a node of the tree."""
        return UntranslatableError(reason, self.file, getattr(node, "lineno", self.tree.lineno))

    def value(self, name: str) -> Any:
        """Return the value of a name that the function does not assign.

        Raises
        ------
        KeyError
            If the name has no value.
        """
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return vars(builtins)[name]

    @cached_property
    def comments(self) -> dict[int, str]:
        """Comments of the function by line, without the number sign and without linter directives."""
        lines = linecache.getlines(self.file, self.function.__globals__)
        first, last = self.tree.lineno, self.tree.end_lineno or self.tree.lineno
        text = "".join(lines[first - 1 : last])
        return {first - 1 + line: said for line, said in _comments(text)}


def _first_line(tree: ast.FunctionDef) -> int:
    return min([tree.lineno, *(each.lineno for each in tree.decorator_list)])


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each comment, except linter directives."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                said = token.string.lstrip("# ").strip()
                said = said.split("# noqa")[0].split("# type:")[0].strip()
                if said and not said.startswith(("noqa", "type:", "fmt:", "pragma:")):
                    yield token.start[0], said
    except (tokenize.TokenError, IndentationError):
        return
