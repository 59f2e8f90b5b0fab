"""Translation of assignments, and inference of the types of the assigned variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from vlane.golden.compiler.expressions import Expressions
from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.scopes import Scopes
from vlane.golden.compiler.types import BOOL, COUNTERS, INT, UINT, VOID, Array, Record, Struct, Tuple, Type, joined
from vlane.golden.compiler.values import PRIMARY, Value

_AUGMENTED = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.BitAnd: "&=", ast.BitOr: "|=", ast.BitXor: "^="}


class Assignments(Expressions):
    """Translation of assignments."""

    scopes: Scopes
    """Declarations of the variables."""
    has_effects: bool
    """The function changes memory or may raise an error."""
    temporaries: int
    """Number of temporary variables."""

    def temporary(self) -> str:
        """Return the name of a new temporary variable."""
        self.temporaries += 1
        return f"held_{self.temporaries}"

    @staticmethod
    def settled(found: Value, kind: Type | None) -> Type:
        """Return the type of a value, unsigned for a non-negative constant if ``kind`` is unsigned."""
        if kind is UINT and found.type is INT and found.number is not None and found.number >= 0:
            return UINT
        return found.type

    def stmt_assign(self, node: ast.Assign) -> Iterator[str]:
        """Yield an assignment to one or several targets."""
        if len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from self._assign_each(node, target, node.value)
            else:
                yield from self._assign(node, target, self.value(node.value))
            return
        found = self.value(node.value)
        self.has_effects |= found.has_effects
        if found.number is None:
            held = self.temporary()
            yield f"const auto {held} = {found.wide.text};"
            found = Value(found.wide.type, held, name=True)
        for target in node.targets:
            yield from self._assign(node, target, found)

    def stmt_annassign(self, node: ast.AnnAssign) -> Iterator[str]:
        """Yield an annotated assignment. The annotation is ignored."""
        if node.value is not None:
            yield from self._assign(node, node.target, self.value(node.value))

    def _assign_each(self, node: ast.Assign, target: ast.Tuple, value: ast.Tuple) -> Iterator[str]:
        """Yield assignments of a tuple's items. Python evaluates all items before the first assignment."""
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
            stored and any(each.reads or each.has_effects for each in values[place + 1 :])
            for place, stored in enumerate(stores_memory)
        )
        if depends or overwritten:
            held = []
            for each in values:
                self.has_effects |= each.has_effects
                if each.number is not None:
                    held.append(each)
                    continue
                name = self.temporary()
                if isinstance(each.type, Record):
                    yield f"auto &{name} = {each.reference};"
                else:
                    yield f"const auto {name} = {each.wide.text if each.is_narrow else each.text};"
                held.append(
                    replace(
                        each,
                        text=name,
                        precedence=PRIMARY,
                        is_narrow=False,
                        pointer=False,
                        has_effects=False,
                        name=True,
                    )
                )
            values = held
        for part, found in zip(target.elts, values, strict=True):
            yield from self._assign(node, part, found)

    def _assign(self, node: ast.stmt, target: ast.expr, found: Value) -> Iterator[str]:
        self.has_effects |= found.has_effects
        if isinstance(target, ast.Name):
            yield self._assign_name(node, target.id, found)
        elif isinstance(target, ast.Tuple):
            yield from self.unpack(node, target, found)
        elif isinstance(target, ast.Attribute):
            yield self._assign_field(target, found)
        elif isinstance(target, ast.Subscript):
            yield self._assign_item(target, found)
        else:
            raise self.source.error(node, f"`{ast.unparse(target)}` cannot be assigned in a kernel")

    def note(self, node: ast.stmt, name: str, kind: Type) -> None:
        """Record that a variable holds a value of a type."""
        if kind is VOID:
            raise self.source.error(node, f"{name} is assigned the result of a function that returns nothing")
        before = self.types.get(name)
        together = kind if before is None else joined(before, kind)
        if together is None and name not in self.source.parameters:
            raise self.source.error(node, f"{name} is {kind} here, and elsewhere {before}")
        if together is None or (name in self.source.parameters and together is not before):
            raise self.source.error(node, f"the parameter {name} is {before}; it cannot become {kind}")
        self.types[name] = together

    def declaration(self, name: str) -> str:
        """Return the start of a variable's declaration."""
        kind = self.types[name]
        once = self.scopes.stores[name] == 1
        if isinstance(kind, Record):
            if once:
                return f"{self.program.cpp(kind)} &"
            self.pointers.add(name)
            return f"{self.program.cpp(kind)} *"
        return f"{'const ' if once else ''}{self.program.cpp(kind)} "

    def _assign_name(self, node: ast.stmt, name: str, found: Value) -> str:
        kind = self.settled(found, self.types.get(name))
        if kind is INT and self.types.get(name) is UINT and found.number is None:
            raise self.source.error(node, f"{name} is a signed number here, and elsewhere an unsigned one")
        if kind is UINT and self.types.get(name) is INT and name not in self.source.parameters:
            self.types[name] = UINT  # only constants were assigned so far
        self.note(node, name, kind)
        kind = self.types[name]
        if (id(node), name) in self.scopes.at:
            text = self.declaration(name)
            if isinstance(kind, Struct) and self.scopes.stores[name] == 1 and found.name:
                text += "&"
        else:
            text = ""
        value = found.address if name in self.pointers else self.to(found, kind)
        return f"{text}{identifier(name)} = {value};"

    def unpack(self, node: ast.stmt, target: ast.Tuple, found: Value) -> Iterator[str]:
        """Yield assignments of the items of a tuple-valued expression."""
        kind = found.type
        if isinstance(kind, Struct | Tuple):
            items: tuple[Type, ...] = kind.item_types
        elif isinstance(kind, Array) and kind.ndim == 1:
            items = (kind.item,) * len(target.elts)
        else:
            raise self.source.error(node, f"{kind} cannot be unpacked")
        if len(items) != len(target.elts):
            raise self.source.error(node, f"{kind} has {len(items)} items, and {len(target.elts)} are assigned")
        held = found.text
        if not found.name or found.has_effects or found.reads:
            held = self.temporary()
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
            yield from self._assign(node, each, Value(item, text, name=True, is_narrow=narrow))

    def _assign_field(self, target: ast.Attribute, found: Value) -> str:
        owner = self.value(target.value)
        if not isinstance(owner.type, Record) or owner.type.kind.element(target.attr) is None:
            raise self.source.error(target, f"a field of {owner.type} cannot be assigned in a kernel")
        self._stores(target, found)
        return f"{owner.member(identifier(target.attr))} = {found.text};"

    def _stores(self, target: ast.expr, found: Value) -> None:
        """Record that memory is written."""
        if not found.is_number:
            raise self.source.error(target, f"`{ast.unparse(target)}` must be given a number, not {found.type}")
        self.has_effects = True

    def _assign_item(self, target: ast.Subscript, found: Value) -> str:
        owner = self.value(target.value)
        place = self.place(target, owner)
        if isinstance(place.type, Array):
            self.has_effects = True
            if isinstance(found.type, Array):
                return f"{place.within(PRIMARY)}.copy({found.text});"
            self._stores(target, found)
            return f"{place.within(PRIMARY)}.fill({found.text});"
        if isinstance(place.type, Record):
            if isinstance(found.type, Record) and found.type is place.type:
                self.has_effects = True
                return f"{place.text} = {found.reference};"
            raise self.source.error(target, f"a record cannot be assigned {found.type}")
        if isinstance(owner.type, Tuple):
            raise self.source.error(target, "an item of a tuple cannot be assigned")
        self._stores(target, found)
        return f"{place.text} = {found.text};"

    def stmt_augassign(self, node: ast.AugAssign) -> Iterator[str]:
        """Yield an augmented assignment."""
        found = self.number(node.value)
        self.has_effects |= found.has_effects
        if isinstance(node.target, ast.Name):
            yield from self._augment_name(node, node.target, found)
            return
        before = self._target(node.target)
        self.has_effects = True
        if not before.is_number:
            raise self.source.error(node, f"`{ast.unparse(node.target)}` is {before.type}, no number")
        unread = isinstance(node.target, ast.Subscript) and self.value(node.target.value).type is COUNTERS
        if type(node.op) in _AUGMENTED and before.type is not BOOL and (unread or not found.has_effects):
            yield f"{before.text} {_AUGMENTED[type(node.op)]} {found.text};"
            return
        if found.has_effects:  # Python reads the target before it evaluates the operand
            held = self.temporary()
            yield f"const {self.program.cpp(before.type)} {held} = {before.text};"
            result = self.operation(node, node.op, replace(before, text=held, is_narrow=False), found)
        else:
            result = self.operation(node, node.op, before, found)
        yield f"{before.text} = {result.text};"

    def _target(self, target: ast.expr) -> Value:
        """Return the target of an augmented assignment."""
        if isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if not isinstance(owner.type, Record):
                raise self.source.error(target, f"a field of {owner.type} cannot be assigned in a kernel")
            return self.value(target)
        if isinstance(target, ast.Subscript):
            found = self.place(target, self.value(target.value))
            if found.has_effects:
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
        self.note(node, target.id, result.type)
        if type(node.op) in _AUGMENTED and not (kind is BOOL and result.type is BOOL):
            operand = found.wide if found.type is BOOL else found
            yield f"{identifier(target.id)} {_AUGMENTED[type(node.op)]} {operand.text};"
        else:
            yield f"{identifier(target.id)} = {result.text};"
