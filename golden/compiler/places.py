"""Translation of names, fields, items, slices and tuples."""

from __future__ import annotations

import ast
from dataclasses import replace

from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.translation import Translation
from vlane.golden.compiler.types import COUNTERS, INT, UINT, Array, Record, RecordArray, Struct, Tuple
from vlane.golden.compiler.values import ADD, PRIMARY, Value, literal


class Places(Translation):
    """Translation of places in memory."""

    def expr_name(self, node: ast.Name) -> Value:
        """Return a variable or a parameter."""
        if node.id not in self.local:
            raise self.source.error(node, f"{node.id} is no value that kernels may use")
        kind = self.types.get(node.id)
        if kind is None:
            raise self.source.error(node, f"{node.id} is used before it is assigned")
        return Value(kind, identifier(node.id), name=True, pointer=node.id in self.pointers)

    def expr_attribute(self, node: ast.Attribute) -> Value:
        """Return a field of a structure or record, or the shape or size of an array."""
        owner = self.value(node.value)
        if isinstance(owner.type, Struct) and (kind := owner.type.field(node.attr)) is not None:
            return Value(
                kind,
                owner.member(identifier(node.attr)),
                has_effects=owner.has_effects,
                reads=owner.reads,
                name=owner.name,
            )
        if isinstance(owner.type, Record) and (element := owner.type.kind.element(node.attr)) is not None:
            kind = Array(element, 1).item
            narrow = Array(element, 1).is_narrow
            return Value(
                kind,
                owner.member(identifier(node.attr)),
                has_effects=owner.has_effects,
                reads=True,
                is_narrow=narrow,
                name=owner.name,
            )
        if isinstance(owner.type, Array) and node.attr == "size":
            return replace(owner, type=INT, text=f"{owner.within(PRIMARY)}.size()", name=False)
        if isinstance(owner.type, Array | RecordArray) and node.attr == "shape":
            count = owner.type.ndim
            text = ", ".join(f"{owner.within(PRIMARY)}.shape[{place}]" for place in range(count))
            kind = Tuple((INT,) * count)
            return Value(kind, f"{self.program.cpp(kind)}{{{text}}}", has_effects=owner.has_effects)
        raise self.source.error(node, f"{owner.type} has no {node.attr} that kernels may use")

    def expr_subscript(self, node: ast.Subscript) -> Value:
        """Return an item, a record or a part of an array."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner = self.value(node.value.value)
            if isinstance(owner.type, Array | RecordArray):
                place = self.number(node.slice)
                return Value(
                    INT, f"{owner.within(PRIMARY)}.shape[{place.text}]", has_effects=owner.has_effects, name=owner.name
                )
        owner = self.value(node.value)
        if owner.type is COUNTERS:
            raise self.source.error(node, "counters of `unread` are only raised: nobody may read them")
        return self.place(node, owner)

    def place(self, node: ast.Subscript, owner: Value) -> Value:
        """Return the item, record or part of an array that a subscript selects."""
        if isinstance(owner.type, Tuple):
            return self._item(node, owner, owner.type)
        if owner.type is COUNTERS:
            index = self.number(node.slice)
            return Value(INT, f"{owner.text}({index.text})", has_effects=index.has_effects, name=True)
        if not isinstance(owner.type, Array | RecordArray):
            raise self.source.error(node, f"{owner.type} has no items")
        places = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        while len(places) > 1 and _is_whole(places[-1]):
            places.pop()
        last = places[-1]
        sliced = last if isinstance(last, ast.Slice) else None
        if sliced is not None:
            places.pop()
        if any(isinstance(each, ast.Slice) for each in places):
            raise self.source.error(node, "only the last index may be a slice: other parts are not contiguous")
        if len(places) + (sliced is not None) > owner.type.ndim:
            raise self.source.error(node, f"{owner.type} has fewer dimensions than `{ast.unparse(node)}` has indices")
        values = [self._index(each, owner, number) for number, each in enumerate(places)]
        if len(places) == owner.type.ndim:
            select = f'.at("{self.where(node)}", ' if self.program.checked else "("
            found = self.ordered([owner, *values], lambda texts: f"{texts[0]}{select}{', '.join(texts[1:])})")
            if isinstance(owner.type, RecordArray):
                return replace(found, type=Record(owner.type.kind), reads=found.reads, name=owner.name)
            kind = owner.type
            return replace(found, type=kind.item, reads=True, is_narrow=kind.is_narrow, name=owner.name)
        if isinstance(owner.type, RecordArray):
            raise self.source.error(node, f"{owner.type} need {owner.type.ndim} indices")
        part = owner
        if places:
            part = self.ordered([owner, *values], lambda texts: f"{texts[0]}.part({', '.join(texts[1:])})")
            part = replace(part, type=Array(owner.type.element, owner.type.ndim - len(places)), name=owner.name)
        return part if sliced is None else self._sliced(sliced, part)

    def _index(self, node: ast.expr, owner: Value, dimension: int) -> Value:
        """Return the code of an index, where a negative constant counts from the end."""
        found = self.number(node)
        if found.number is not None and found.number < 0:
            return Value(INT, f"{owner.within(PRIMARY)}.shape[{dimension}] - {-found.number}", precedence=ADD)
        if found.type is UINT:
            return replace(found, type=INT, text=f"int64_t({found.text})", precedence=PRIMARY)
        return found

    def _sliced(self, node: ast.Slice, owner: Value) -> Value:
        if node.step is not None:
            raise self.source.error(node, "a slice with a step is not contiguous")
        if node.lower is None and node.upper is None:
            return owner
        first = literal(0) if node.lower is None else self.number(node.lower)
        if node.upper is None:
            found = self.ordered([owner, first], lambda texts: f"{texts[0]}.slice_from({texts[1]})")
        else:
            last = self.number(node.upper)
            found = self.ordered([owner, first, last], lambda texts: f"{texts[0]}.slice({texts[1]}, {texts[2]})")
        return replace(found, type=owner.type, name=False)

    def _item(self, node: ast.Subscript, owner: Value, kind: Tuple) -> Value:
        """Return an item of a tuple."""
        index = self.number(node.slice)
        if index.number is not None:
            count = len(kind.item_types)
            place = index.number + count if index.number < 0 else index.number
            if not 0 <= place < count:
                raise self.source.error(node, f"a tuple of {count} has no item {index.number}")
            text = f"std::get<{int(place)}>({owner.text})"
            return replace(owner, type=kind.item_types[place], text=text, precedence=PRIMARY)
        if not kind.is_uniform:
            raise self.source.error(node, "a variable selects from a tuple only if all items have the same type")
        found = self.ordered([owner, index], lambda texts: f"{texts[0]}[{texts[1]}]")
        return replace(found, type=kind.item_types[0], name=owner.name)

    def expr_tuple(self, node: ast.Tuple) -> Value:
        """Return a tuple."""
        values = [self.value(each) for each in node.elts]
        kind = Tuple(tuple(each.type for each in values))
        texts = [self.to(each, each.type) for each in values]
        if not kind.is_uniform:  # std::tuple's constructor takes references, which packed fields forbid
            texts = [
                f"{each.type.cpp}({text})" if each.is_number and each.reads else text
                for each, text in zip(values, texts, strict=True)
            ]
        return Value(
            kind,
            f"{self.program.cpp(kind)}{{{', '.join(texts)}}}",
            has_effects=any(each.has_effects for each in values),
            reads=any(each.reads for each in values),
        )


def _is_whole(node: ast.expr) -> bool:
    """Return whether an index is a colon without bounds."""
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None
