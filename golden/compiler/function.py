"""Translation of one function for arguments of certain types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vlane.golden.compiler.expressions import Expressions
from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.scopes import Scopes, assigned_names
from vlane.golden.compiler.source import Source
from vlane.golden.compiler.types import (
    BOOL,
    COUNTERS,
    INT,
    RANGE,
    UINT,
    VOID,
    Array,
    Record,
    Struct,
    Tuple,
    Type,
    joined,
)
from vlane.golden.compiler.values import PRIMARY, Value, literal

if TYPE_CHECKING:
    from vlane.golden.compiler.program import Program

__all__ = ["Instance", "translate"]

_MOST_PASSES = 8
"""Passes over a function after which the types of its variables must be known."""

_AUGMENTED = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^="}


@dataclass(frozen=True, slots=True)
class Instance:
    """A function for arguments of certain types.

    Parameters
    ----------
    name : str
        Name in C++, with its namespace.
    returns : Type
        Type of the result.
    acts : bool
        Whether a call changes memory or may raise an error.
    parameters : tuple of Type
        Types of the arguments.
    """

    name: str
    returns: Type
    acts: bool
    parameters: tuple[Type, ...]


def translate(program: Program, source: Source, types: tuple[Type, ...]) -> Instance:
    """Return a function of a program for arguments of certain types; its definition is added to the program.

    Raises
    ------
    UntranslatableError
        If a line of the function is outside the subset.
    TypeError
        If the function has another number of parameters.
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
    return Instance(f"{space}::{name}", returns, translator.acts, types)


class _Function(Expressions):
    """The translation of a function."""

    def __init__(self, program: Program, source: Source, types: tuple[Type, ...]) -> None:
        self.program, self.source = program, source
        self.scopes = Scopes.of(source.tree, source.parameters)
        self.local = set(source.parameters) | assigned_names(source.tree)
        self.types = dict(zip(source.parameters, types, strict=True))
        self.pointers: set[str] = set()
        self.returns: Type | None = None
        self.acts = False
        self._temporaries = 0
        self._said: set[int] = set()

    def lines_of_all_passes(self) -> list[str]:
        """Return the lines of the body, once the types of all variables are known."""
        for _ in range(_MOST_PASSES):
            known = (dict(self.types), self.returns)
            self.acts, self._temporaries, self._said = False, 0, set()
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
                continue  # a docstring
            if self.program.comments:
                yield from self._comments(statement)
            yield from self._declared(self.scopes.before.get(id(statement), []))
            yield from self._statement(statement)

    def _comments(self, statement: ast.stmt) -> Iterator[str]:
        """Yield the comments above a statement, and the one behind its first line."""
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
        """Yield an expression whose value nobody takes."""
        found = self.value(node.value)
        self.acts |= found.acts
        yield f"{found.text};"

    def stmt_return(self, node: ast.Return) -> Iterator[str]:
        """Yield a return."""
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._returns(node, VOID)
            yield "return;"
            return
        found = self.value(node.value)
        self.acts |= found.acts
        self._returns(node, self._settled(found, self.returns))
        assert self.returns is not None
        if self.returns is VOID:
            yield f"{found.text};"
            yield "return;"
        else:
            yield f"return {self.to(found, self.returns)};"

    def _returns(self, node: ast.stmt, kind: Type) -> None:
        together = kind if self.returns is None else joined(self.returns, kind)
        if together is None:
            raise self.source.error(node, f"{self.source.name} returns {kind}, and elsewhere {self.returns}")
        self.returns = together

    @staticmethod
    def _settled(found: Value, kind: Type | None) -> Type:
        """Return the type of a value: a constant that is not negative has that of an unsigned number if asked for."""
        if kind is UINT and found.type is INT and found.number is not None and found.number >= 0:
            return UINT
        return found.type

    def stmt_if(self, node: ast.If) -> Iterator[str]:
        """Yield an if; a constant condition leaves one branch."""
        test = self.in_condition(node.test)
        self.acts |= test.acts
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
            self.acts |= test.acts
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
        self.acts |= test.acts
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
            yield from self._counting(node, name, own=own, declared=declared)
            return
        items = self.value(node.iter)
        self.acts |= items.acts
        kind = self._items(node, items)
        self._note(node, name, kind)
        held = identifier(name) if own else self._temporary()
        yield f"for (const {self.program.cpp(kind)} {held} : {items.text}) {{"
        if not own:
            yield f"    {self._declaration(name) if declared else ''}{identifier(name)} = {held};"
        yield from self._inner(node.body)
        yield "}"

    def _unpacking(self, node: ast.For, target: ast.Tuple) -> Iterator[str]:
        """Yield a loop over tuples, whose items become variables."""
        items = self.value(node.iter)
        kind = self._items(node, items)
        held = self._temporary()
        inner = [*self._unpack(node, target, Value(kind, held, name=True))]
        yield f"for (const auto &{held} : {items.text}) {{"
        yield from (f"    {line}" for line in inner)
        yield from self._inner(node.body)
        yield "}"

    def _items(self, node: ast.For, items: Value) -> Type:
        """Return the type of what a loop goes through."""
        if items.type is RANGE:
            return INT
        if isinstance(items.type, Tuple) and items.type.is_uniform:
            return items.type.items[0]
        if isinstance(items.type, Array) and items.type.ndim == 1:
            return items.type.item
        raise self.source.error(node, f"a loop cannot go through {items.type}")

    def _counting(self, node: ast.For, name: str, *, own: bool, declared: bool) -> Iterator[str]:
        """Yield a loop over a range; its end and its step are evaluated once."""
        assert isinstance(node.iter, ast.Call)
        arguments = [self._signed(each) for each in node.iter.args]
        if any(each.acts for each in arguments) and len(arguments) > 1:
            raise self.source.error(node, "the bounds of a range must not change anything: assign them before")
        first = literal(0) if len(arguments) == 1 else arguments[0]
        last = arguments[0] if len(arguments) == 1 else arguments[1]
        step = arguments[2] if len(arguments) > 2 else literal(1)
        if step.number is None or step.number == 0:
            raise self.source.error(node, "the step of a range must be a constant other than 0")
        self.acts |= any(each.acts for each in arguments)
        self._note(node, name, INT)
        counter = identifier(name) if own else self._temporary()
        if last.number is None:
            end = f"{counter}_end" if counter != "_" else self._temporary()
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
        if not own:
            yield f"    {self._declaration(name) if declared else ''}{identifier(name)} = {counter};"
        yield from self._inner(node.body)
        yield "}"

    def _signed(self, node: ast.expr) -> Value:
        found = self.number(node)
        if found.type is UINT:
            return replace(found, type=INT, text=f"int64_t({found.text})")
        return found.wide if found.type is BOOL else found

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"held_{self._temporaries}"

    # assignments

    def stmt_assign(self, node: ast.Assign) -> Iterator[str]:
        """Yield an assignment to one target or several."""
        if len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from self._assign_each(node, target, node.value)
            else:
                yield from self._assign(node, target, self.value(node.value))
            return
        found = self.value(node.value)
        self.acts |= found.acts
        if found.number is None:
            held = self._temporary()
            yield f"const auto {held} = {found.wide.text};"
            found = Value(found.wide.type, held, name=True)
        for target in node.targets:
            yield from self._assign(node, target, found)

    def stmt_annassign(self, node: ast.AnnAssign) -> Iterator[str]:
        """Yield an assignment with an annotation, which says nothing new."""
        if node.value is not None:
            yield from self._assign(node, node.target, self.value(node.value))

    def _assign_each(self, node: ast.Assign, target: ast.Tuple, value: ast.Tuple) -> Iterator[str]:
        """Yield assignments of a tuple's items; Python evaluates all of them before it assigns the first."""
        if len(target.elts) != len(value.elts) or any(isinstance(each, ast.Starred) for each in target.elts):
            raise self.source.error(node, "as many items must be assigned as there are targets")
        values = [self.value(each) for each in value.elts]
        later = [{n.id for n in ast.walk(each) if isinstance(n, ast.Name)} for each in value.elts]
        depends = any(
            isinstance(each, ast.Name) and any(each.id in names for names in later[place + 1 :])
            for place, each in enumerate(target.elts)
        )
        stores_memory = [not isinstance(each, ast.Name) for each in target.elts]
        overwritten = any(
            stored and any(each.reads or each.acts for each in values[place + 1 :])
            for place, stored in enumerate(stores_memory)
        )
        if depends or overwritten:
            held = []
            for each in values:
                self.acts |= each.acts
                if each.number is not None:
                    held.append(each)
                    continue
                name = self._temporary()
                if isinstance(each.type, Record):
                    yield f"auto &{name} = {each.reference};"
                else:
                    yield f"const auto {name} = {each.wide.text if each.narrow else each.text};"
                held.append(replace(each, text=name, level=PRIMARY, narrow=False, pointer=False, acts=False, name=True))
            values = held
        for each, found in zip(target.elts, values, strict=True):
            yield from self._assign(node, each, found)

    def _assign(self, node: ast.stmt, target: ast.expr, found: Value) -> Iterator[str]:
        self.acts |= found.acts
        if isinstance(target, ast.Name):
            yield self._assign_name(node, target.id, found)
        elif isinstance(target, ast.Tuple):
            yield from self._unpack(node, target, found)
        elif isinstance(target, ast.Attribute):
            yield self._assign_field(target, found)
        elif isinstance(target, ast.Subscript):
            yield self._assign_item(target, found)
        else:
            raise self.source.error(node, f"`{ast.unparse(target)}` cannot be assigned in a kernel")

    def _note(self, node: ast.stmt, name: str, kind: Type) -> None:
        """Note that a variable holds a value of a type."""
        if kind is VOID:
            raise self.source.error(node, f"{name} is assigned the result of a function that returns nothing")
        before = self.types.get(name)
        together = kind if before is None else joined(before, kind)
        if together is None and name not in self.source.parameters:
            raise self.source.error(node, f"{name} is {kind} here, and elsewhere {before}")
        if together is None or (name in self.source.parameters and together is not before):
            raise self.source.error(node, f"the parameter {name} is {before}; it cannot become {kind}")
        self.types[name] = together

    def _declaration(self, name: str) -> str:
        """Return the beginning of the declaration of a variable."""
        kind = self.types[name]
        once = self.scopes.stores[name] == 1
        if isinstance(kind, Record):
            if once:
                return f"{self.program.cpp(kind)} &"
            self.pointers.add(name)
            return f"{self.program.cpp(kind)} *"
        return f"{'const ' if once else ''}{self.program.cpp(kind)} "

    def _assign_name(self, node: ast.stmt, name: str, found: Value) -> str:
        kind = self._settled(found, self.types.get(name))
        if kind is INT and self.types.get(name) is UINT and found.number is None:
            raise self.source.error(node, f"{name} is a signed number here, and elsewhere an unsigned one")
        if kind is UINT and self.types.get(name) is INT and name not in self.source.parameters:
            self.types[name] = UINT  # so far only constants were assigned, or a later pass says so
        self._note(node, name, kind)
        kind = self.types[name]
        if (id(node), name) in self.scopes.at:
            text = self._declaration(name)
            if isinstance(kind, Struct) and self.scopes.stores[name] == 1 and found.name:
                text += "&"
            value = found.address if name in self.pointers else self.to(found, kind)
            return f"{text}{identifier(name)} = {value};"
        value = found.address if name in self.pointers else self.to(found, kind)
        return f"{identifier(name)} = {value};"

    def _unpack(self, node: ast.stmt, target: ast.Tuple, found: Value) -> Iterator[str]:
        """Yield assignments of the items of a tuple that an expression returns."""
        kind = found.type
        if isinstance(kind, Struct | Tuple):
            items: tuple[Type, ...] = kind.items
        elif isinstance(kind, Array) and kind.ndim == 1:
            items = (kind.item,) * len(target.elts)
        else:
            raise self.source.error(node, f"{kind} cannot be unpacked")
        if len(items) != len(target.elts):
            raise self.source.error(node, f"{kind} has {len(items)} items, and {len(target.elts)} are assigned")
        held = found.text
        if not found.name or found.acts or found.reads:
            held = self._temporary()
            yield f"const auto {held} = {found.text};"
        names = list(kind.places) if isinstance(kind, Struct) else []
        for place, (each, item) in enumerate(zip(target.elts, items, strict=True)):
            if isinstance(each, ast.Name) and each.id == "_":
                self.types["_"] = INT
                continue
            if names:
                text = f"{held}.{identifier(names[place])}"
            elif isinstance(kind, Array):
                text = f"{held}({place})"
            else:
                text = f"std::get<{place}>({held})"
            narrow = isinstance(kind, Array) and kind.is_narrow
            yield from self._assign(node, each, Value(item, text, name=True, narrow=narrow))

    def _assign_field(self, target: ast.Attribute, found: Value) -> str:
        owner = self.value(target.value)
        if not isinstance(owner.type, Record) or owner.type.kind.element(target.attr) is None:
            raise self.source.error(target, f"a field of {owner.type} cannot be assigned in a kernel")
        self._stores(target, found)
        return f"{owner.member(identifier(target.attr))} = {found.text};"

    def _stores(self, target: ast.expr, found: Value) -> None:
        """Note that memory is written."""
        if not found.is_number:
            raise self.source.error(target, f"`{ast.unparse(target)}` must be given a number, not {found.type}")
        self.acts = True

    def _assign_item(self, target: ast.Subscript, found: Value) -> str:
        owner = self.value(target.value)
        place = self.place(target, owner)
        if isinstance(place.type, Array):
            self.acts = True
            if isinstance(found.type, Array):
                return f"{place.within(PRIMARY)}.copy({found.text});"
            self._stores(target, found)
            return f"{place.within(PRIMARY)}.fill({found.text});"
        if isinstance(place.type, Record):
            if isinstance(found.type, Record) and found.type is place.type:
                self.acts = True
                return f"{place.text} = {found.reference};"
            raise self.source.error(target, f"a record cannot be assigned {found.type}")
        if isinstance(owner.type, Tuple):
            raise self.source.error(target, "an item of a tuple cannot be assigned")
        self._stores(target, found)
        return f"{place.text} = {found.text};"

    def stmt_augassign(self, node: ast.AugAssign) -> Iterator[str]:
        """Yield an assignment with an operator."""
        found = self.number(node.value)
        self.acts |= found.acts
        if isinstance(node.target, ast.Name):
            yield from self._augment_name(node, node.target, found)
            return
        before = self._target(node.target)
        self.acts = True
        if not before.is_number:
            raise self.source.error(node, f"`{ast.unparse(node.target)}` is {before.type}, no number")
        if type(node.op) in _AUGMENTED and not (found.acts and before.type is not BOOL) and before.type is not BOOL:
            yield f"{before.text} {_AUGMENTED[type(node.op)]} {found.text};"
            return
        if found.acts:  # Python reads the target before it evaluates the operand
            held = self._temporary()
            yield f"const {self.program.cpp(before.type)} {held} = {before.text};"
            result = self.operation(node, node.op, replace(before, text=held, narrow=False), found)
        else:
            result = self.operation(node, node.op, before, found)
        yield f"{before.text} = {result.text};"

    def _target(self, target: ast.expr) -> Value:
        """Return the place that an assignment with an operator changes."""
        if isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if not isinstance(owner.type, Record):
                raise self.source.error(target, f"a field of {owner.type} cannot be assigned in a kernel")
            return self.value(target)
        if isinstance(target, ast.Subscript):
            found = self.place(target, self.value(target.value))
            if found.acts:
                raise self.source.error(target, "the index of the target changes something: assign it before")
            return found
        raise self.source.error(target, f"`{ast.unparse(target)}` cannot be assigned in a kernel")

    def _augment_name(self, node: ast.AugAssign, target: ast.Name, found: Value) -> Iterator[str]:
        kind = self.types.get(target.id)
        if kind is None:
            raise self.source.error(node, f"{target.id} is used before it is assigned")
        before = Value(kind, identifier(target.id), name=True)
        if not before.is_number:
            raise self.source.error(node, f"{target.id} is {kind}, no number")
        if found.type is UINT and kind is INT and not isinstance(node.op, ast.LShift | ast.RShift):
            self.types[target.id] = kind = UINT
            before = replace(before, type=UINT)
        result = self.operation(node, node.op, before, found)
        self._note(node, target.id, result.type)
        if type(node.op) in _AUGMENTED and not (kind is BOOL and result.type is BOOL):
            operand = found.wide if found.type is BOOL else found
            yield f"{identifier(target.id)} {_AUGMENTED[type(node.op)]} {operand.text};"
        else:
            yield f"{identifier(target.id)} = {result.text};"
