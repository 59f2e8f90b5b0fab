"""Loops: equal expressions and statements whose bit positions and constants advance in equal steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from vlane.sim_top.systemverilog.design import Assignment, Module
from vlane.sim_top.systemverilog.nodes import Net, Node, cat, const, make, ref, zext
from vlane.sim_top.systemverilog.sources import candidates
from vlane.sim_top.systemverilog.statements import Case, If, Repeat, Set, Statement
from vlane.sim_top.systemverilog.tidy import change_all, each_ref

_FEWEST = 4
"""Number of repetitions from which on a loop is written."""
_FEWEST_OPERANDS = 6
"""Number of operands of a chain from which on its operands are written by a loop."""
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
        return make("shl", width, (const(1, width), LOOP), False)
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
    first = each[0]
    if any(type(other) is not type(first) for other in each):
        return None
    if isinstance(first, Set):
        target, value = unified([s.target for s in each]), unified([s.value for s in each])
        return Set(target, value) if target is not None and value is not None else None
    if isinstance(first, If):
        if any(len(other.branches) != len(first.branches) for other in each):
            return None
        branches = []
        for position in range(len(first.branches)):
            test = unified([s.branches[position][0] for s in each])
            body = unified_bodies([s.branches[position][1] for s in each])
            if test is None or body is None:
                return None
            branches.append((test, body))
        other = unified_bodies([s.other for s in each])
        return If(branches, other) if other is not None else None
    if isinstance(first, Case):
        if any([label for label, _ in s.arms] != [label for label, _ in first.arms] for s in each):
            return None
        test, other = unified([s.test for s in each]), unified_bodies([s.other for s in each])
        arms = [unified_bodies([s.arms[position][1] for s in each]) for position in range(len(first.arms))]
        if test is None or other is None or any(arm is None for arm in arms):
            return None
        return Case(test, [(label, arm) for (label, _), arm in zip(first.arms, arms, strict=True)], other)
    return None


def substituted(node: Node, at: Node) -> Node | None:
    """Return an expression with the loop variable replaced by a value, or ``None`` if it has no such form."""
    if node.kind == "index" and node.args == (LOOP,):
        return make("index", node.width, (at,), node.data)
    if node.kind == "loop":
        step, first = node.data
        if (step, first) != (1, 0) or node is LOOP:
            return None
        return zext(at, node.width)
    args = [substituted(each, at) for each in node.args]
    if any(each is None for each in args):
        return None
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


def roll(module: Module) -> None:
    """Replace repetitions in a module by loops and indexed assignments, in place."""
    for process in module.processes:
        process.body = _rolled_body(process.body)
    _name_repetitions(module)
    _roll_assignments(module)


def _rolled_body(body: list[Statement]) -> list[Statement]:
    found: list[Statement] = []
    for each in body:
        if isinstance(each, If):
            each.branches = [(test, _rolled_body(inner)) for test, inner in each.branches]
            each.other = _rolled_body(each.other)
        elif isinstance(each, Case):
            each.arms = [(label, _rolled_body(inner)) for label, inner in each.arms]
            each.other = _rolled_body(each.other)
            if (indexed := _indexed_case(each)) is not None:
                found += indexed
                continue
        found.append(each)
    return _repeats(found)


def _indexed_case(case: Case) -> list[Statement] | None:
    """Return a selection of one of many elements as indexed assignments, guarded if the index may be too large."""
    count, bits = len(case.arms), case.test.width
    wanted = [(format(number, f"0{bits}b"),) for number in range(count)]
    if count < 2 or [label for label, _ in case.arms] != wanted or case.other:
        return None
    body = unified_bodies([inner for _, inner in case.arms])
    indexed = indexed_body(body, case.test) if body else None
    if indexed is None or count == 1 << bits:
        return indexed
    return [If([(make("lt", 1, (case.test, const(count, bits)), False), indexed)])]


def _repeats(body: list[Statement]) -> list[Statement]:
    """Replace the longest runs of equal statements by loops; a run may repeat a group of statements."""
    found: list[Statement] = []
    at = 0
    while at < len(body):
        step, count, pattern = _longest_run(body, at)
        if count >= _FEWEST:
            found.append(Repeat(count, pattern))
            at += step * count
        else:
            found.append(body[at])
            at += 1
    return found


def _longest_run(body: list[Statement], at: int) -> tuple[int, int, list[Statement]]:
    best: tuple[int, int, list[Statement]] = (1, 1, [])
    for step in range(1, min(8, (len(body) - at) // _FEWEST) + 1):
        groups = [body[at + step * n : at + step * (n + 1)] for n in range((len(body) - at) // step)]
        if unified_bodies(groups[:2]) is None:
            continue
        count = 2
        while count < len(groups) and unified_bodies(groups[: count + 1]) is not None:
            count += 1
        if step * count > best[0] * best[1] and (pattern := unified_bodies(groups[:count])):
            best = step, count, pattern
            break
    return best


def _has_loop(node: Node) -> bool:
    return node.kind == "loop" or any(map(_has_loop, node.args))


def _operators(node: Node) -> int:
    return (node.kind not in {"ref", "const", "loop", "index"}) + sum(map(_operators, node.args))


def _name_repetitions(module: Module) -> None:
    """Give a net to concatenations and chains of equal operands, so that a loop can assign the operands."""
    done: dict[Node, Node | None] = {}
    extra: list[Assignment] = []

    def change(node: Node) -> Node | None:
        if node not in done:
            done[node] = _named_repetition(module, node, extra)
        return done[node]

    for each in module.assignments:
        each.set.value.place = each.set.value.place or each.place
        if each.set.target.kind == "ref" and each.set.value.kind == "cat":
            done[each.set.value] = None
    change_all(module, change)
    module.assignments = [inner for each in (*module.assignments, *extra) for inner in _split(each)]


def _split(assignment: Assignment) -> list[Assignment]:
    """Return an assignment of a concatenation as one assignment for each run of equal operands, or unchanged."""
    target, value = assignment.set.target, assignment.set.value
    if target.kind != "ref" or value.kind != "cat":
        return [assignment]
    runs = _runs(value.args, _FEWEST)
    if not any(size >= _FEWEST for _, size in runs):
        return [assignment]
    found = []
    (net, low) = target.data
    for first, size in runs:
        parts = value.args[first : first + size]
        for part in parts if size >= _FEWEST else [cat(parts)]:
            found.append(Assignment(Set(ref(net, low, part.width), part), assignment.place))
            low += part.width
    return found


def _runs(nodes: Sequence[Node], fewest: int) -> list[tuple[int, int]]:
    """Return first and number of operands of runs of equal operands; operands between runs are one run."""
    found: list[tuple[int, int]] = []
    at, loose = 0, 0
    while at < len(nodes):
        size = 1
        while at + size < len(nodes) and _operators(nodes[at]) and unified(nodes[at : at + size + 1]) is not None:
            size += 1
        if size >= fewest and not _has_loop(nodes[at]) and unified(nodes[at : at + size]) is not nodes[at]:
            if loose < at:
                found.append((loose, at - loose))
            found.append((at, size))
            at = loose = at + size
        else:
            at += 1
    if loose < at:
        found.append((loose, at - loose))
    return found


def _named_repetition(module: Module, node: Node, extra: list[Assignment]) -> Node | None:
    """Return an expression in which runs of equal operands are nets; ``None`` without runs."""
    is_chain = node.kind in {"or", "and", "xor", "add"}
    if not is_chain and node.kind != "cat":
        return None
    fewest = _FEWEST_OPERANDS if is_chain else _FEWEST
    runs = _runs(node.args, fewest)
    if not any(size >= fewest for _, size in runs):
        return None
    operands: list[Node] = []
    for first, size in runs:
        parts = node.args[first : first + size]
        if size < fewest:
            operands += parts
            continue
        width = parts[0].width
        net = Net(module.names.unique(*_run_names(node, parts[0])), width * size)
        module.nets.append(net)
        extra.append(Assignment(Set(ref(net), make("cat", net.width, parts)), node.place))
        if is_chain and width == 1 and node.kind != "add":
            operands.append(make({"or": "any", "and": "all", "xor": "parity"}[node.kind], 1, (ref(net),)))
        elif is_chain:
            operands += [ref(net, at * width, width) for at in range(size)]
        else:
            operands.append(ref(net))
    if not is_chain:
        return cat(operands)
    return operands[0] if len(operands) == 1 else make(node.kind, node.width, operands, node.data)


def _run_names(node: Node, part: Node) -> list[str]:
    """Return wanted names for the net of a run of operands."""
    names = [*list(candidates(node.place, node.kind))[:2], *list(candidates(part.place, part.kind))[:2]]
    nets = [each.data[0].name for each in each_ref(iter([part]))][:1]
    end = "terms" if node.kind != "cat" else "bits"
    wanted = [f"{name}_{end}" for name in names[:1]] + [f"{net}_{name}_{end}" for net in nets for name in names[:1]]
    return [*wanted, *(f"{net}_{end}" for net in nets), *(f"{name}_{end}" for name in names[1:]), f"operand_{end}"]


def _shape(node: Node) -> Any:
    """Return a key that is equal for expressions that may differ in positions and constants only."""
    if node.kind == "ref":
        return ("ref", node.width, id(node.data[0]))
    if node.kind == "const":
        return ("const", node.width)
    return (node.kind, node.width, node.data if node.kind != "index" else None, *map(_shape, node.args))


def _roll_assignments(module: Module) -> None:
    """Replace equal assignments to the ranges of one net by a loop."""
    groups: dict[Any, list[Assignment]] = defaultdict(list)
    for each in module.assignments:
        target = each.set.target
        if target.kind == "ref" and target.width < target.data[0].width:
            groups[id(target.data[0]), target.width, _shape(each.set.value)].append(each)
    gone: set[int] = set()
    rolled: dict[int, Assignment] = {}
    for members in groups.values():
        members.sort(key=lambda each: each.set.target.data[1])
        targets = [each.set.target for each in members]
        if len(members) < _FEWEST or (target := unified(targets)) is None:
            continue
        value = unified([each.set.value for each in members])
        if value is None or (value.kind == "const"):
            continue
        gone |= {id(each) for each in members}
        rolled[id(members[0])] = Assignment(Set(target, value), members[0].place, len(members))
    module.assignments = [
        rolled.get(id(each), each) for each in module.assignments if id(each) not in gone or id(each) in rolled
    ]
