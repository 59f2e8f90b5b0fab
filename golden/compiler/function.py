"""Translation of one function for arguments of certain types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vlane.golden.compiler.assignments import Assignments
from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.scopes import Scopes, assigned_names
from vlane.golden.compiler.source import Source
from vlane.golden.compiler.types import BOOL, INT, RANGE, UINT, VOID, Array, Record, Tuple, Type, joined
from vlane.golden.compiler.values import Value, literal

if TYPE_CHECKING:
    from vlane.golden.compiler.program import Program

_MOST_PASSES = 8
"""Maximum number of passes over a function until the types of its variables are stable."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A function translated for arguments of certain types.

    Parameters
    ----------
    name : str
        C++ name, with namespace.
    return_type : Type
        Type of the result.
    has_effects : bool
        A call changes memory or may raise an error.
    parameters : tuple of Type
        Types of the arguments.
    """

    name: str
    return_type: Type
    has_effects: bool
    parameters: tuple[Type, ...]


def translate(program: Program, source: Source, types: tuple[Type, ...]) -> Instance:
    """Translate a function for arguments of certain types, and add its definition to the program.

    Raises
    ------
    UntranslatableError
        If a line of the function is outside the subset.
    TypeError
        If the function has a different number of parameters.
    """
    if len(types) != len(source.parameters):
        raise TypeError(f"{source.name} has {len(source.parameters)} parameters, not {len(types)}")
    translator = _Function(program, source, types)
    body = translator.lines_of_all_passes()
    space = program.namespace(source.function.__module__)
    name = program.fresh(space, source.name)
    parameters = ", ".join(
        f"{program.parameter(kind)}{identifier(each)}" for each, kind in zip(source.parameters, types, strict=True)
    )
    returns = translator.returns or VOID
    result = f"{program.cpp(returns)} &" if isinstance(returns, Record) else f"{program.cpp(returns)} "
    about = translator.about()
    lines = "".join(f"    {line}\n" if line else "\n" for line in body)
    program.add(f"namespace {space} {{\n{about}static inline {result}{name}({parameters}) {{\n{lines}}}\n}}\n")
    return Instance(f"{space}::{name}", returns, translator.has_effects, types)


class _Function(Assignments):
    """Translation of a function."""

    def __init__(self, program: Program, source: Source, types: tuple[Type, ...]) -> None:
        self.program, self.source = program, source
        self.scopes = Scopes.of(source.tree, source.parameters)
        self.local = set(source.parameters) | assigned_names(source.tree)
        self.types = dict(zip(source.parameters, types, strict=True))
        self.pointers: set[str] = set()
        self.returns: Type | None = None
        self.has_effects = False
        self.temporaries = 0
        self._said: set[int] = set()

    def lines_of_all_passes(self) -> list[str]:
        """Return the lines of the body, translated repeatedly until the types of all variables are stable."""
        for _ in range(_MOST_PASSES):
            known = (dict(self.types), self.returns)
            self.has_effects, self.temporaries, self._said = False, 0, set()
            lines = [*self._block(self.source.tree.body)]
            if known == (self.types, self.returns):
                return [*self._declared(self.scopes.first), *lines]
        raise self.source.error(self.source.tree, f"the types of the variables of {self.source.name} are not settled")

    def about(self) -> str:
        """Return the first line of the docstring as a comment, if comments are kept."""
        text = ast.get_docstring(self.source.tree)
        return f"// {text.splitlines()[0]}\n" if text and self.program.comments else ""

    # blocks

    def _block(self, statements: list[ast.stmt]) -> Iterator[str]:
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # skip the docstring
            if self.program.comments:
                yield from self._comments(statement)
            yield from self._declared(self.scopes.before.get(id(statement), []))
            yield from self._statement(statement)

    def _comments(self, statement: ast.stmt) -> Iterator[str]:
        """Yield the comments above a statement and at the end of its first line."""
        found = []
        line = statement.lineno
        if line in self.source.comments:
            found.append(line)
        above = line - 1
        while above in self.source.comments and above not in self._said:
            found.append(above)
            above -= 1
        for each in sorted(found):
            if each not in self._said:
                self._said.add(each)
                yield f"// {self.source.comments[each]}"

    def _declared(self, names: list[str]) -> Iterator[str]:
        """Yield declarations of variables that are assigned later."""
        for name in names:
            kind = self.types.get(name)
            if kind is None:
                continue
            if isinstance(kind, Record):
                self.pointers.add(name)
                yield f"{self.program.cpp(kind)} *{identifier(name)} = nullptr;"
            else:
                yield f"{self.program.cpp(kind)} {identifier(name)}{{}};"

    def _inner(self, statements: list[ast.stmt]) -> list[str]:
        return [f"    {line}" if line else line for line in self._block(statements)]

    # statements

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        method = getattr(self, f"stmt_{type(node).__name__.lower()}", None)
        if method is None:
            first = ast.unparse(node).splitlines()[0]
            raise self.source.error(node, f"`{first}` is not in the subset of Python that kernels may use")
        yield from method(node)

    def stmt_pass(self, _node: ast.Pass) -> Iterator[str]:
        """Yield nothing."""
        yield from ()

    def stmt_break(self, _node: ast.Break) -> Iterator[str]:
        """Yield a break."""
        yield "break;"

    def stmt_continue(self, _node: ast.Continue) -> Iterator[str]:
        """Yield a continue."""
        yield "continue;"

    def stmt_expr(self, node: ast.Expr) -> Iterator[str]:
        """Yield an expression statement."""
        found = self.value(node.value)
        self.has_effects |= found.has_effects
        yield f"{found.text};"

    def stmt_return(self, node: ast.Return) -> Iterator[str]:
        """Yield a return."""
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._returns(node, VOID)
            yield "return;"
            return
        found = self.value(node.value)
        self.has_effects |= found.has_effects
        returns = self._returns(node, self.settled(found, self.returns))
        if returns is VOID:
            yield f"{found.text};"
            yield "return;"
        else:
            yield f"return {self.to(found, returns)};"

    def _returns(self, node: ast.stmt, kind: Type) -> Type:
        """Record the type of a result, and return the common type of all results so far."""
        together = kind if self.returns is None else joined(self.returns, kind)
        if together is None:
            raise self.source.error(node, f"{self.source.name} returns {kind}, and elsewhere {self.returns}")
        self.returns = together
        return together

    def stmt_if(self, node: ast.If) -> Iterator[str]:
        """Yield an if statement, or one branch if the condition is constant."""
        test = self.in_condition(node.test)
        self.has_effects |= test.has_effects
        if test.number is not None:
            yield from self._block(node.body if test.number else node.orelse)
            return
        yield f"if ({test.text}) {{"
        yield from self._inner(node.body)
        orelse = node.orelse
        while len(orelse) == 1 and isinstance(orelse[0], ast.If) and not self.scopes.before.get(id(orelse[0])):
            test = self.in_condition(orelse[0].test)
            if test.number is not None:
                break
            self.has_effects |= test.has_effects
            yield f"}} else if ({test.text}) {{"
            yield from self._inner(orelse[0].body)
            orelse = orelse[0].orelse
        if orelse:
            yield "} else {"
            yield from self._inner(orelse)
        yield "}"

    def stmt_while(self, node: ast.While) -> Iterator[str]:
        """Yield a while loop."""
        if node.orelse:
            raise self.source.error(node, "a loop with else has no translation")
        test = self.in_condition(node.test)
        self.has_effects |= test.has_effects
        yield f"while ({test.text}) {{"
        yield from self._inner(node.body)
        yield "}"

    def stmt_for(self, node: ast.For) -> Iterator[str]:
        """Yield a for loop over a range, a tuple or an array."""
        if node.orelse:
            raise self.source.error(node, "a loop with else has no translation")
        if isinstance(node.target, ast.Tuple):
            yield from self._unpacking(node, node.target)
            return
        if not isinstance(node.target, ast.Name):
            raise self.source.error(node, f"`{ast.unparse(node.target)}` cannot be the variable of a loop")
        name = node.target.id
        declared = (id(node), name) in self.scopes.at
        own = declared and self.scopes.stores[name] == 1
        if isinstance(node.iter, ast.Call) and self.constant(node.iter.func) is range:
            yield from self._counting(node, node.iter, name, is_own_counter=own, declared=declared)
            return
        items = self.value(node.iter)
        self.has_effects |= items.has_effects
        kind = self._items(node, items)
        self.note(node, name, kind)
        held = identifier(name) if own else self.temporary()
        yield f"for (const {self.program.cpp(kind)} {held} : {items.text}) {{"
        if not own:
            yield f"    {self.declaration(name) if declared else ''}{identifier(name)} = {held};"
        yield from self._inner(node.body)
        yield "}"

    def _unpacking(self, node: ast.For, target: ast.Tuple) -> Iterator[str]:
        """Yield a loop over tuples with unpacked items."""
        items = self.value(node.iter)
        kind = self._items(node, items)
        held = self.temporary()
        inner = [*self.unpack(node, target, Value(kind, held, name=True))]
        yield f"for (const auto &{held} : {items.text}) {{"
        yield from (f"    {line}" for line in inner)
        yield from self._inner(node.body)
        yield "}"

    def _items(self, node: ast.For, items: Value) -> Type:
        """Return the type of the items that a loop iterates over."""
        if items.type is RANGE:
            return INT
        if isinstance(items.type, Tuple) and items.type.is_uniform:
            return items.type.item_types[0]
        if isinstance(items.type, Array) and items.type.ndim == 1:
            return items.type.item
        raise self.source.error(node, f"a loop cannot go through {items.type}")

    def _counting(
        self, node: ast.For, bounds: ast.Call, name: str, *, is_own_counter: bool, declared: bool
    ) -> Iterator[str]:
        """Yield a loop over a range whose bounds are evaluated once."""
        arguments = [self._signed(each) for each in bounds.args]
        if any(each.has_effects for each in arguments) and len(arguments) > 1:
            raise self.source.error(node, "the bounds of a range must not change anything: assign them before")
        first = literal(0) if len(arguments) == 1 else arguments[0]
        last = arguments[0] if len(arguments) == 1 else arguments[1]
        step = arguments[2] if len(arguments) > 2 else literal(1)
        if step.number is None or step.number == 0:
            raise self.source.error(node, "the step of a range must be a constant other than 0")
        self.has_effects |= any(each.has_effects for each in arguments)
        self.note(node, name, INT)
        counter = identifier(name) if is_own_counter else self.temporary()
        if last.number is None:
            end = f"{counter}_end" if counter != "_" else self.temporary()
            begin = f"int64_t {counter} = {first.wide.text}, {end} = {last.wide.text}"
        else:
            begin, end = f"int64_t {counter} = {first.wide.text}", last.text
        if step.number == 1:
            more = f"++{counter}"
        elif step.number > 0:
            more = f"{counter} += {step.text}"
        else:
            more = f"{counter} -= {-step.number}"
        yield f"for ({begin}; {counter} {'<' if step.number > 0 else '>'} {end}; {more}) {{"
        if not is_own_counter:
            yield f"    {self.declaration(name) if declared else ''}{identifier(name)} = {counter};"
        yield from self._inner(node.body)
        yield "}"

    def _signed(self, node: ast.expr) -> Value:
        found = self.number(node)
        if found.type is UINT:
            return replace(found, type=INT, text=f"int64_t({found.text})")
        return found.wide if found.type is BOOL else found
