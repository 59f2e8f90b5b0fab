"""Loops: equal expressions and statements whose bit positions and constants advance in equal steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from vlane.sim_top.systemverilog.design import Assignment, Module, Process
from vlane.sim_top.systemverilog.nodes import Net, Node, cat, const, make, operator, reduced, ref, rewritten, select
from vlane.sim_top.systemverilog.sources import candidates, subjects
from vlane.sim_top.systemverilog.statements import Case, If, Repeat, Set, Statement
from vlane.sim_top.systemverilog.tidy import body_roots, change_all, each_ref
from vlane.sim_top.systemverilog.unification import LOOP, indexed_body, unified, unified_bodies
from vlane.sim_top.systemverilog.wires import name_wires

_FEWEST = 4
"""Least number of repetitions of a loop."""
_FEWEST_OPERANDS = 6
"""Least number of operands of a chain with a loop for the operands."""
_REDUCTIONS = {"or": "any", "and": "all", "xor": "parity"}
"""Reduction of a vector with the result of a chain of its bits."""


def roll(module: Module) -> None:
    """Replace repetitions in a module by loops and indexed assignments, in place."""
    for process in module.processes:
        process.body = _rolled_body(process.body)
    module.processes = _rolled_processes(module.processes)
    name_wires(module, _name_repetitions(module))
    _roll_assignments(module)


def _rolled_processes(processes: list[Process]) -> list[Process]:
    """Join neighbouring processes that differ only in positions and constants to one process with a loop."""
    found: list[Process] = []
    at = 0
    while at < len(processes):
        run = _equal_processes(processes[at:])
        if run >= _FEWEST:
            members = processes[at : at + run]
            body = unified_bodies([each.body for each in members])
            resets = [reset for each in members for reset in each.resets]
            found.append(Process(resets, [Repeat(run, body or [])], members[0].place))
            at += run
        else:
            found.append(processes[at])
            at += 1
    return found


def _equal_processes(processes: list[Process]) -> int:
    """Return the number of processes from the first on that a loop can replace."""
    run = 1
    while run < len(processes):
        members = processes[: run + 1]
        targets = [[each.target for each in process.resets] for process in members]
        if any(len(each) != len(targets[0]) for each in targets) or not processes[0].body:
            return run
        if any(unified(each) is None for each in zip(*targets, strict=True)):
            return run
        if unified_bodies([each.body for each in members]) is None:
            return run
        run += 1
    return run


def unroll(module: Module, nets: set[Net]) -> None:
    """Write out the loops of processes that read some of the nets, in place.

    Verilator follows the bits of a vector separately only if all its indices are constant.
    """
    for process in module.processes:
        process.body = _unrolled_body(process.body, nets)


def _unrolled_body(body: list[Statement], nets: set[Net]) -> list[Statement]:
    found: list[Statement] = []
    for each in body:
        if isinstance(each, If):
            each.branches = [(test, _unrolled_body(inner, nets)) for test, inner in each.branches]
            each.other = _unrolled_body(each.other, nets)
        elif isinstance(each, Case):
            each.arms = [(label, _unrolled_body(inner, nets)) for label, inner in each.arms]
            each.other = _unrolled_body(each.other, nets)
        elif isinstance(each, Repeat) and any(node.data[0] in nets for node in each_ref(body_roots(each.body))):
            found += [inner for number in range(each.count) for inner in _at(each.body, number)]
            continue
        found.append(each)
    return found


def _at(body: list[Statement], number: int) -> list[Statement]:
    """Return statements with a value of the loop variable."""

    def value(node: Node) -> Node | None:
        if node.kind == "index" and node.args == (LOOP,):
            net, stride, offset = node.data
            return ref(net, stride * number + offset, node.width)
        if node.kind == "loop":
            step, first = node.data
            return const(step * number + first, node.width)
        return None

    def new(node: Node) -> Node:
        return rewritten(node, value, {})

    found: list[Statement] = []
    for each in body:
        if isinstance(each, Set):
            found.append(Set(new(each.target), new(each.value)))
        elif isinstance(each, If):
            branches = [(new(test), _at(inner, number)) for test, inner in each.branches]
            found.append(If(branches, _at(each.other, number)))
        elif isinstance(each, Case):
            arms = [(label, _at(inner, number)) for label, inner in each.arms]
            found.append(Case(new(each.test), arms, _at(each.other, number)))
        else:
            found.append(each)
    return found


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
    return [If([(operator("lt", 1, case.test, const(count, bits)), indexed)])]


def _repeats(body: list[Statement]) -> list[Statement]:
    """Replace the longest runs of equal statements by loops. A run may repeat a group of statements."""
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


def _name_repetitions(module: Module) -> list[Net]:
    """Give a net to concatenations and chains of equal operands, so that a loop can assign the operands."""
    done: dict[Node, Node | None] = {}
    extra = _Extra(module)

    def change(node: Node) -> Node | None:
        if node not in done:
            done[node] = _named_repetition(node, extra)
        return done[node]

    for each in module.assignments:
        each.set.value.place = each.set.value.place or each.place
        if each.set.target.kind == "ref" and each.set.value.kind == "cat":
            done[each.set.value] = None
    change_all(module, change)
    module.assignments = [inner for each in (*module.assignments, *extra.assignments) for inner in _split(each)]
    return [each.set.target.data[0] for each in extra.assignments]


class _Extra:
    """Nets for runs of operands, and their assignments."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self.assignments: list[Assignment] = []
        self._known: dict[Node, Node] = {}

    def net(self, parts: Sequence[Node], place: Any, wanted: tuple[str, ...]) -> Node:
        """Return a net with the values of equal expressions, lowest first. Equal values share a net."""
        value = make("cat", sum(part.width for part in parts), parts)
        if value not in self._known:
            net = Net("", value.width, wanted=wanted)
            self._module.nets.append(net)
            self.assignments.append(Assignment(Set(ref(net), value), place))
            self._known[value] = ref(net)
        return self._known[value]


def _side_by_side(parts: Sequence[Node]) -> Node | None:
    """Return one expression for expressions of equal form on adjacent bits, lowest first, or ``None``."""
    first = parts[0]
    if all(part is first for part in parts):
        return make("cat", first.width * len(parts), parts)
    if all(part.kind in {"ref", "const"} for part in parts):
        found = cat(parts)
        return found if found.kind in {"ref", "const"} else None
    if first.kind not in {"and", "or", "xor", "not"}:
        return None
    if any((part.kind, len(part.args)) != (first.kind, len(first.args)) for part in parts):
        return None
    args = [_side_by_side([part.args[at] for part in parts]) for at in range(len(first.args))]
    if any(arg is None for arg in args):
        return None
    return operator(first.kind, first.width * len(parts), *(arg for arg in args if arg is not None))


def _selection(node: Node, parts: Sequence[Node], extra: _Extra) -> Node | None:
    """Return operands of ``or`` that are adjacent elements, each behind a condition, as a selection, or ``None``."""
    if any(part.kind != "cond" or part.args[2] is not const(0, part.width) for part in parts):
        return None
    elements = cat([part.args[1] for part in parts])
    if elements.kind != "ref":
        return None
    tests = [part.args[0] for part in parts]
    chosen = _side_by_side(tests)
    if chosen is None:
        names = list(subjects(node.place))
        compared = [test.args[0].data[0].name for test in tests[:1] if test.kind == "eq" and test.args[0].kind == "ref"]
        wanted = (*(f"{name}_is" for name in compared), *(f"{name}_chosen" for name in names), "chosen_one")
        chosen = extra.net(tests, node.place, wanted)
    return select(chosen, elements)


def _split(assignment: Assignment) -> list[Assignment]:
    """Return an assignment of a concatenation as one assignment for each run of equal operands, or unchanged."""
    target, value = assignment.set.target, assignment.set.value
    if target.kind != "ref" or value.kind != "cat":
        return [assignment]
    runs = _runs(value.args, _FEWEST)
    if not any(repeats for _, _, repeats in runs):
        return [assignment]
    found = []
    (net, low) = target.data
    for first, size, repeats in runs:
        parts = value.args[first : first + size]
        for part in parts if repeats else [cat(parts)]:
            found.append(Assignment(Set(ref(net, low, part.width), part), assignment.place))
            low += part.width
    return found


def _runs(nodes: Sequence[Node], fewest: int) -> list[tuple[int, int, bool]]:
    """Return runs of operands: the first operand, the number of operands, and whether the operands are equal."""
    found: list[tuple[int, int, bool]] = []
    at, loose = 0, 0
    while at < len(nodes):
        size = 1
        while at + size < len(nodes) and _operators(nodes[at]) and unified(nodes[at : at + size + 1]) is not None:
            size += 1
        if size >= fewest and not _has_loop(nodes[at]) and unified(nodes[at : at + size]) is not nodes[at]:
            if loose < at:
                found.append((loose, at - loose, False))
            found.append((at, size, True))
            at = loose = at + size
        else:
            at += 1
    if loose < at:
        found.append((loose, at - loose, False))
    return found


def _named_repetition(node: Node, extra: _Extra) -> Node | None:
    """Return an expression in which runs of equal operands are nets. ``None`` without runs."""
    is_chain = node.kind in {"or", "and", "xor", "add"}
    if not is_chain and node.kind != "cat":
        return None
    fewest = _FEWEST_OPERANDS if is_chain else _FEWEST
    runs = _runs(node.args, fewest)
    if not any(repeats for _, _, repeats in runs):
        return None
    operands: list[Node] = []
    for first, size, repeats in runs:
        parts = node.args[first : first + size]
        if not repeats:
            operands += parts
            continue
        width = parts[0].width
        if node.kind == "or" and width > 1 and (selected := _selection(node, parts, extra)) is not None:
            operands.append(selected)
            continue
        is_reduced = width == 1 and node.kind in _REDUCTIONS
        bits = _side_by_side(parts) if is_reduced else None
        if bits is None:
            bits = extra.net(parts, node.place, _run_names(node, parts[0]))
        if is_reduced:
            operands.append(reduced(_REDUCTIONS[node.kind], bits))
        elif is_chain:
            net, low = bits.data
            operands += [ref(net, low + at * width, width) for at in range(size)]
        else:
            operands.append(bits)
    if not is_chain:
        return cat(operands)
    return operands[0] if len(operands) == 1 else make(node.kind, node.width, operands, node.data)


def _run_names(node: Node, part: Node) -> tuple[str, ...]:
    """Return wanted names for the net of a run of operands."""
    names = [*list(subjects(node.place))[:2], *list(candidates(part.place, part.kind))[:2]]
    nets = [each.data[0].name for each in each_ref(iter([part]))][:1]
    end = "terms" if node.kind != "cat" else "bits"
    wanted = [f"{name}_{end}" for name in names[:1]] + [f"{net}_{name}_{end}" for net in nets for name in names[:1]]
    return (*wanted, *(f"{net}_{end}" for net in nets), *(f"{name}_{end}" for name in names[1:]), f"operand_{end}")


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
        place = each.set.target
        if place.kind == "ref" and place.width < place.data[0].width:
            groups[id(place.data[0]), place.width, _shape(each.set.value)].append(each)
    gone: set[int] = set()
    rolled: dict[int, Assignment] = {}
    for members in groups.values():
        members.sort(key=lambda each: each.set.target.data[1])
        targets = [each.set.target for each in members]
        values, at = [each.set.value for each in members], 0
        while len(members) - at >= _FEWEST:
            size = _longest(targets[at:], values[at:])
            run = slice(at, at + size)
            target, value = unified(targets[run]), unified(values[run])
            if size >= _FEWEST and target is not None and value is not None and value.kind != "const":
                gone |= {id(each) for each in members[at : at + size]}
                rolled[id(members[at])] = Assignment(Set(target, value), members[at].place, size)
            at += size
    module.assignments = [
        rolled.get(id(each), each) for each in module.assignments if id(each) not in gone or id(each) in rolled
    ]


def _longest(targets: Sequence[Node], values: Sequence[Node]) -> int:
    """Return the length of the longest run of assignments from the first on with a common loop."""
    low, high = 1, len(targets)
    while low < high:
        size = (low + high + 1) // 2
        if unified(targets[:size]) is None or unified(values[:size]) is None:
            high = size - 1
        else:
            low = size
    return low
