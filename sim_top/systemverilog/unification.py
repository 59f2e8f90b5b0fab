"""Unification: one node or body with a loop index for several that differ in bit positions and constants."""

from __future__ import annotations

from collections.abc import Sequence

from vlane.sim_top.systemverilog.nodes import UNSIGNED, Node, const, make, zext
from vlane.sim_top.systemverilog.statements import Case, If, Set, Statement

LOOP = make("loop", 32, (), (1, 0))
"""Loop variable as an index."""


def unified(nodes: Sequence[Node]) -> Node | None:
    """Return the expression that equals ``nodes[i]`` for each value i of the loop variable, or ``None``."""
    first = nodes[0]
    if all(node is first for node in nodes):
        return first
    if any((node.kind, node.width, len(node.args)) != (first.kind, first.width, len(first.args)) for node in nodes):
        return None
    if first.kind == "ref":
        return _unified_refs(nodes)
    if first.kind == "const":
        return _unified_constants(nodes)
    if first.kind == "loop" or any(node.data != first.data for node in nodes):
        return None
    args = []
    for position in range(len(first.args)):
        arg = unified([node.args[position] for node in nodes])
        if arg is None:
            return None
        args.append(arg)
    found = make(first.kind, first.width, args, first.data)
    found.place = first.place
    return found


def _unified_refs(nodes: Sequence[Node]) -> Node | None:
    net, low = nodes[0].data
    stride = nodes[1].data[1] - low
    if stride <= 0 or any(n.data[0] is not net or n.data[1] != low + stride * at for at, n in enumerate(nodes)):
        return None
    return make("index", nodes[0].width, (LOOP,), (net, stride, low))


def _unified_constants(nodes: Sequence[Node]) -> Node | None:
    first, width = nodes[0].data, nodes[0].width
    step = nodes[1].data - first
    if all(node.data == first + step * at for at, node in enumerate(nodes)) and step > 0:
        return make("loop", width, (), (step, first))
    if first == 1 and all(node.data == 1 << at for at, node in enumerate(nodes)):
        return make("shl", width, (const(1, width), LOOP), UNSIGNED)
    return None


def unified_bodies(bodies: Sequence[list[Statement]]) -> list[Statement] | None:
    """Return the statements that equal ``bodies[i]`` for each value i of the loop variable, or ``None``."""
    first = bodies[0]
    if any(len(body) != len(first) for body in bodies):
        return None
    found = []
    for each in zip(*bodies, strict=True):
        statement = _unified_statement(each)
        if statement is None:
            return None
        found.append(statement)
    return found


def _unified_statement(each: Sequence[Statement]) -> Statement | None:
    sets = [s for s in each if isinstance(s, Set)]
    if len(sets) == len(each):
        target, value = unified([s.target for s in sets]), unified([s.value for s in sets])
        return Set(target, value) if target is not None and value is not None else None
    ifs = [s for s in each if isinstance(s, If)]
    if len(ifs) == len(each):
        return _unified_if(ifs)
    cases = [s for s in each if isinstance(s, Case)]
    return _unified_case(cases) if len(cases) == len(each) else None


def _unified_if(each: Sequence[If]) -> If | None:
    if any(len(other.branches) != len(each[0].branches) for other in each):
        return None
    branches = []
    for position in range(len(each[0].branches)):
        test = unified([s.branches[position][0] for s in each])
        body = unified_bodies([s.branches[position][1] for s in each])
        if test is None or body is None:
            return None
        branches.append((test, body))
    other = unified_bodies([s.other for s in each])
    return If(branches, other) if other is not None else None


def _unified_case(each: Sequence[Case]) -> Case | None:
    labels = [label for label, _ in each[0].arms]
    if any([label for label, _ in s.arms] != labels for s in each):
        return None
    test, other = unified([s.test for s in each]), unified_bodies([s.other for s in each])
    arms = []
    for position, label in enumerate(labels):
        arm = unified_bodies([s.arms[position][1] for s in each])
        if arm is None:
            return None
        arms.append((label, arm))
    return Case(test, arms, other) if test is not None and other is not None else None


def substituted(node: Node, at: Node) -> Node | None:
    """Return an expression with the loop variable replaced by a value, or ``None`` if it has no such form."""
    if node.kind == "index" and node.args == (LOOP,):
        return make("index", node.width, (at,), node.data)
    if node.kind == "loop":
        step, first = node.data
        if (step, first) != (1, 0) or node is LOOP:
            return None
        return zext(at, node.width)
    args = []
    for each in node.args:
        arg = substituted(each, at)
        if arg is None:
            return None
        args.append(arg)
    return make(node.kind, node.width, args, node.data) if node.args else node


def indexed_body(body: list[Statement], at: Node) -> list[Statement] | None:
    """Return statements with the loop variable replaced by a value, or ``None``."""
    found: list[Statement] = []
    for each in body:
        if not isinstance(each, Set):
            return None
        target, value = substituted(each.target, at), substituted(each.value, at)
        if target is None or value is None:
            return None
        found.append(Set(target, value))
    return found
