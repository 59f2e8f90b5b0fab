"""Expressions of the written SystemVerilog: unsigned values of exact width, equal ones shared.

Every operand of a node has exactly the width of its context, so no simulator, linter or synthesis tool extends or
truncates on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

_BITWISE = {"and", "or", "xor"}
_TRUNCATES = {"add", "sub", "mul", "neg", "not", *_BITWISE}
_ORDERED = {"lt": "gt", "ge": "le", "gt": "lt", "le": "ge"}
"""Comparisons, and each with its operands exchanged."""
UNSIGNED = False
"""Data of a comparison or shift of unsigned operands."""
_INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


class Net:
    """Named vector of a module.

    Parameters
    ----------
    name : str
        Name in the text.
    width : int
        Number of bits.
    kind : str
        ``input``, ``output``, ``logic`` or, for a register, ``register``.
    meaning : str
        Comment of a port, one line.
    wanted : tuple of str
        Wanted names of a net that has no name yet, the best one first.
    """

    __slots__ = ("kind", "meaning", "name", "wanted", "width")

    def __init__(
        self, name: str, width: int, kind: str = "logic", meaning: str = "", wanted: tuple[str, ...] = ()
    ) -> None:
        self.name, self.width, self.kind, self.meaning, self.wanted = name, width, kind, meaning, wanted


class Node:
    """Expression of ``width`` bits.

    Equal expressions are one object.


    Parameters
    ----------
    kind : str
        Operator, or ``ref``, ``index``, ``const``, ``loop``, ``cat``, ``zext``, ``sext``, ``bits``, ``cond``;
        ``select``: the chosen one of several elements; ``call``: a function of one operand.
    width : int
        Number of bits.
    args : tuple of Node
        Operands.
    data : hashable
        Net and lowest bit of ``ref``; net, stride and offset of ``index``; value of ``const``; scale and offset of
        ``loop``; lowest bit of ``bits``; function of ``call``; whether a comparison or shift is signed.
    """

    __slots__ = ("__weakref__", "args", "data", "kind", "place", "width")

    def __init__(self, kind: str, width: int, args: tuple[Node, ...], data: Any) -> None:
        self.kind, self.width, self.args, self.data = kind, width, args, data
        self.place: Any = None
        """Source location of the first value with this expression."""


_KNOWN: WeakValueDictionary[tuple[Any, ...], Node] = WeakValueDictionary()


def make(kind: str, width: int, args: Iterable[Node] = (), data: Any = None) -> Node:
    """Return the node of an operator, without simplification."""
    args = tuple(args)
    key = (kind, width, data, *map(id, args))
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = Node(kind, width, args, data)
    return found


def const(value: int, width: int) -> Node:
    """Return a constant, truncated to its width."""
    return make("const", width, (), value & ((1 << width) - 1))


def ref(net: Net, low: int = 0, width: int | None = None) -> Node:
    """Return bits of a net, all of them by default."""
    return make("ref", net.width if width is None else width, (), (net, low))


def index(net: Net, stride: int, offset: int, at: Node, width: int) -> Node:
    """Return ``width`` bits of a net from bit ``at * stride + offset`` on."""
    return make("index", width, (at,), (net, stride, offset))


def cut(node: Node, low: int, width: int) -> Node:  # noqa: PLR0911 - one return for each kind
    """Return bits of an expression."""
    if low == 0 and width == node.width:
        return node
    kind, args = node.kind, node.args
    if kind == "const":
        return const(node.data >> low, width)
    if kind == "ref":
        return ref(node.data[0], node.data[1] + low, width)
    if kind == "index":
        net, stride, offset = node.data
        return make("index", width, args, (net, stride, offset + low))
    if kind == "bits":
        return cut(args[0], node.data + low, width)
    if kind == "cat":
        return cat(_between(args, low, low + width))
    if kind == "zext":
        inner = args[0]
        if low >= inner.width:
            return const(0, width)
        return zext(cut(inner, low, min(width, inner.width - low)), width)
    if kind == "sext" and low + width <= args[0].width:
        return cut(args[0], low, width)
    if low == 0 and kind in _TRUNCATES and all(each.kind in {"zext", "const", "sext", *_TRUNCATES} for each in args):
        return operator(kind, width, *(cut(each, 0, width) for each in args))
    return make("bits", width, (node,), low)


def _between(parts: tuple[Node, ...], low: int, high: int) -> list[Node]:
    found, at = [], 0
    for part in parts:
        first, last = max(low, at), min(high, at + part.width)
        if first < last:
            found.append(cut(part, first - at, last - first))
        at += part.width
    return found


def zext(node: Node, width: int) -> Node:
    """Return an expression extended with zeros, or truncated."""
    if width <= node.width:
        return cut(node, 0, width)
    if node.kind == "const":
        return const(node.data, width)
    if node.kind == "zext":
        return zext(node.args[0], width)
    return make("zext", width, (node,))


def sext(node: Node, width: int) -> Node:
    """Return an expression extended with its highest bit, or truncated."""
    if width <= node.width:
        return cut(node, 0, width)
    if node.kind == "const":
        sign = node.data >> node.width - 1
        return const(node.data | (-sign << node.width), width)
    return make("sext", width, (node,))


def cat(parts: Iterable[Node]) -> Node:
    """Return a concatenation, lowest part first. Adjacent bits of a net are one part."""
    flat: list[Node] = []
    for part in (inner for each in parts for inner in (each.args if each.kind == "cat" else (each,))):
        last = flat[-1] if flat else None
        if part.width == 0:
            continue
        if last is not None and _adjacent(last, part):
            flat[-1] = ref(last.data[0], last.data[1], last.width + part.width)
            continue
        if last is not None and last.kind == part.kind == "const":
            flat[-1] = const(last.data | part.data << last.width, last.width + part.width)
            continue
        flat.append(part)
    if len(flat) == 1:
        return flat[0]
    if len(flat) == 2 and flat[1].kind == "const" and flat[1].data == 0:
        return zext(flat[0], flat[0].width + flat[1].width)
    return make("cat", sum(part.width for part in flat), flat)


def _adjacent(low: Node, high: Node) -> bool:
    """Return whether two expressions are adjacent bits of one net."""
    if low.kind != "ref" or high.kind != "ref":
        return False
    return low.data[0] is high.data[0] and low.data[1] + low.width == high.data[1]


def inverted(node: Node) -> Node:
    """Return the bitwise complement."""
    if node.kind == "not":
        return node.args[0]
    if node.kind == "const":
        return const(~node.data, node.width)
    if node.kind in _INVERSE:
        return make(_INVERSE[node.kind], 1, node.args, node.data)
    if node.kind == "any":
        return make("eq", 1, (node.args[0], const(0, node.args[0].width)), UNSIGNED)
    return make("not", node.width, (node,))


def cond(test: Node, then: Node, other: Node) -> Node:
    """Return ``then`` if the one-bit test holds, otherwise ``other``."""
    if then is other:
        return then
    if test.kind == "const":
        return then if test.data else other
    if test.kind in {"not", "ne"}:
        return cond(inverted(test), other, then)
    if then.width == 1:
        if then.kind == "const":
            return operator("or", 1, test, other) if then.data else operator("and", 1, inverted(test), other)
        if other.kind == "const":
            return operator("or", 1, inverted(test), then) if other.data else operator("and", 1, test, then)
    return make("cond", then.width, (test, then, other))


def select(chosen: Node, elements: Node) -> Node:
    """Return the element whose bit of ``chosen`` is set, or 0. At most one bit may be set."""
    return make("select", elements.width // chosen.width, (chosen, elements), UNSIGNED)


def reduced(kind: str, node: Node) -> Node:
    """Return the reduction ``any``, ``all`` or ``parity`` of an expression."""
    if node.width == 0:
        return const(kind == "all", 1)
    if node.width == 1:
        return node
    if node.kind == "const":
        bits = node.data.bit_count()
        return const({"any": bits > 0, "all": bits == node.width, "parity": bits & 1}[kind], 1)
    if node.kind == "zext" and kind in {"any", "parity"}:
        return reduced(kind, node.args[0])
    return make(kind, 1, (node,))


def operator(kind: str, width: int, *args: Node, signed: bool = False) -> Node:
    """Return an operator's node. ``and``, ``or``, ``xor`` and ``add`` take any number of operands."""
    if kind == "not":
        return inverted(args[0])
    if kind in {*_BITWISE, "add"}:
        return _chain(kind, width, args)
    if kind in {"sub", "neg"} and all(each.kind == "const" for each in args):
        return const(args[0].data - args[1].data if kind == "sub" else -args[0].data, width)
    if kind in {"shl", "shr", "sar"} and args[1].kind == "const":
        return _shifted(kind, width, args[0], args[1].data)
    if kind in _INVERSE and not signed:
        return _comparison(kind, *args)
    return make(kind, width, args, signed)


def _comparison(kind: str, one: Node, other: Node) -> Node:
    """Return an unsigned comparison."""
    if one.kind == other.kind == "const":
        a, b = one.data, other.data
        return const({"eq": a == b, "ne": a != b, "lt": a < b, "ge": a >= b, "gt": a > b, "le": a <= b}[kind], 1)
    if kind in _ORDERED:
        return _at_the_end(kind, one, other) or make(kind, 1, (one, other), UNSIGNED)
    if other.kind == "const" and one.kind in {"cat", "zext"}:
        one, other = _without_constants(one, other)
        if one.kind == "const":
            return const((one is other) == (kind == "eq"), 1)
    if other.kind == "const" and one.width == 1:
        return one if other.data == (kind == "eq") else inverted(one)
    return make(kind, 1, (one, other), UNSIGNED)


def _without_constants(node: Node, wanted: Node) -> tuple[Node, Node]:
    """Return the operands of a comparison without their constant bits. Two different constants if these bits differ."""
    parts = node.args if node.kind == "cat" else (node.args[0], const(0, node.width - node.args[0].width))
    kept, values, at = [], [], 0
    for part in parts:
        value = cut(wanted, at, part.width)
        at += part.width
        if part.kind != "const":
            kept.append(part)
            values.append(value)
        elif part is not value:
            return const(0, 1), const(1, 1)
    return (cat(kept), cat(values)) if kept else (const(0, 1), const(0, 1))


def _at_the_end(kind: str, one: Node, other: Node) -> Node | None:
    """Return an unsigned comparison with the least or greatest value as a constant or an equality, otherwise ``None``.

    Linters warn of such comparisons.
    """
    if one.kind == "const":
        kind, one, other = _ORDERED[kind], other, one
    least = other.data == 0
    if other.kind != "const" or not (least or other.data == (1 << one.width) - 1):
        return None
    if kind in {"lt", "ge"} if least else kind in {"gt", "le"}:
        return const(kind in {"ge", "le"}, 1)
    equal = operator("eq", 1, one, other)
    return equal if kind in {"le", "ge"} else inverted(equal)


def _chain(kind: str, width: int, args: tuple[Node, ...]) -> Node:
    """Return an associative operator's node, without nested chains and neutral operands."""
    ones = (1 << width) - 1
    neutral, absorbing = {"and": (ones, 0), "or": (0, ones), "xor": (0, None), "add": (0, None)}[kind]
    found: list[Node] = []
    for each in (inner for arg in args for inner in (arg.args if arg.kind == kind else (arg,))):
        if each.kind == "const" and each.data == neutral:
            continue
        if each.kind == "const" and each.data == absorbing:
            return each
        if each in found and kind in {"and", "or"}:
            continue
        found.append(each)
    if not found:
        return const(neutral or 0, width)
    return found[0] if len(found) == 1 else make(kind, width, found)


def _shifted(kind: str, width: int, node: Node, amount: int) -> Node:
    if amount >= width:
        return const(0, width) if kind != "sar" else sext(cut(node, width - 1, 1), width)
    if kind == "shl":
        return cat([const(0, amount), cut(node, 0, width - amount)])
    high = cut(node, amount, width - amount)
    return zext(high, width) if kind == "shr" else sext(high, width)


def rewritten(node: Node, change: Callable[[Node], Node | None], done: dict[Node, Node]) -> Node:
    """Return an expression with nodes replaced. ``change`` returns ``None`` for a node without a change."""
    found = done.get(node)
    if found is None:
        found = change(node)
        if found is None:
            args = [rewritten(each, change, done) for each in node.args]
            found = node if all(map(_same, args, node.args)) else rebuilt(node, args)
            found.place = found.place or node.place
        done[node] = found
    return found


def _same(one: Node, other: Node) -> bool:
    return one is other


def rebuilt(node: Node, args: list[Node]) -> Node:
    """Return a node of the same operator with other operands of equal widths."""
    kind, width = node.kind, node.width
    if kind == "bits":
        return cut(args[0], node.data, width)
    if kind == "cat":
        return cat(args)
    if kind == "cond":
        return cond(*args)
    if kind in {"zext", "sext"}:
        return (zext if kind == "zext" else sext)(args[0], width)
    if kind in {"any", "all", "parity"}:
        return reduced(kind, args[0])
    if kind in {"index", "call"}:
        return make(kind, width, args, node.data)
    return operator(kind, width, *args, signed=bool(node.data))
