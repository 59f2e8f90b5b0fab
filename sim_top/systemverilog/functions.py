"""Functions for large expressions that a module contains several times, of different bits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from vlane.sim_top.systemverilog.design import Module
from vlane.sim_top.systemverilog.nodes import Net, Node, make, ref, rewritten
from vlane.sim_top.systemverilog.sources import function_of
from vlane.sim_top.systemverilog.tidy import change_all, each_node, each_ref, roots

_FEWEST_NODES = 16
"""Least number of distinct nodes of an expression that becomes a function."""


@dataclass(eq=False, slots=True)
class Function:
    """Function of one vector.

    Parameters
    ----------
    name, doc : str
        Name and comment, of the Python function.
    argument : Net
        Argument.
    body : Node
        Result.
    """

    name: str
    doc: str
    argument: Net
    body: Node


def share_functions(module: Module) -> None:
    """Replace expressions that are equal but for the vector that they read by calls of a function, in place."""
    groups: dict[Any, list[Node]] = defaultdict(list)
    for node in each_node(roots(module)):
        if node.kind == "cat" and len(list(each_node(iter([node])))) >= _FEWEST_NODES and _argument(node) is not None:
            groups[_form(node, {})].append(node)
    calls: dict[Node, Node] = {}
    for members in groups.values():
        python = function_of(members[0].place)
        if len(members) < 2 or python is None:
            continue
        given = [value for node in members if (value := _argument(node)) is not None]
        argument = Net(module.names.unique(python.argument or "value", f"{python.name}_value"), given[0].width)
        low = given[0].data[1]

        def inner(node: Node, low: int = low, argument: Net = argument) -> Node | None:
            return ref(argument, node.data[1] - low, node.width) if node.kind == "ref" else None

        name = module.names.unique(python.name, f"{python.name}_function")
        function = Function(name, python.doc, argument, rewritten(members[0], inner, {}))
        module.functions.append(function)
        for node, value in zip(members, given, strict=True):
            calls[node] = make("call", node.width, (value,), function)
    if calls:
        change_all(module, calls.get)


def _argument(node: Node) -> Node | None:
    """Return the bits that an expression reads, or ``None`` if they are not all bits of a range of one net."""
    refs = list(each_ref(iter([node])))
    net = refs[0].data[0] if refs else None
    if net is None or any(each.kind != "ref" or each.data[0] is not net for each in refs):
        return None
    bits = {bit for each in refs for bit in range(each.data[1], each.data[1] + each.width)}
    low = min(bits)
    return ref(net, low, len(bits)) if len(bits) == max(bits) - low + 1 else None


def _form(node: Node, known: dict[Node, Any]) -> Any:
    """Return a key that is equal for expressions that differ only by the vector that they read."""
    low = min(each.data[1] for each in each_ref(iter([node])))

    def form(each: Node) -> Any:
        if each not in known:
            data = each.data[1] - low if each.kind == "ref" else each.data
            known[each] = (each.kind, each.width, data, *map(form, each.args))
        return known[each]

    return form(node)
