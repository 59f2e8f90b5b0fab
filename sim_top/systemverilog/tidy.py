"""Simplification of a module: aliases, shared expressions, unused nets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from vlane.sim_top.systemverilog.design import Assignment, Module
from vlane.sim_top.systemverilog.nodes import Net, Node, cut, make, rebuilt, ref, rewritten
from vlane.sim_top.systemverilog.sources import candidates, hint
from vlane.sim_top.systemverilog.statements import Case, If, Repeat, Set, Statement

_LONGEST = 36
"""Length of an expression that is repeated rather than named, in characters."""
_CONNECTED = 60
"""Length of an expression that is written in a connection, in characters."""
_LEAVES = {"ref", "const", "loop"}


def tidy(module: Module) -> list[Net]:
    """Simplify a module in place, and return its nets that have only wanted names."""
    _merge_outputs(module)
    _follow_aliases(module)
    _drop_unread(module)
    _connect_directly(module)
    wires = _share(module)
    _follow_aliases(module)
    _drop_unread(module)
    kept = set(module.nets)
    return [net for net in wires if net in kept]


def set_nodes(module: Module) -> Iterator[Set]:
    """Yield every assignment of a module."""
    for each in module.assignments:
        yield each.set
    for process in module.processes:
        yield from process.resets
        yield from body_sets(process.body)


def body_sets(body: list[Statement]) -> Iterator[Set]:
    """Yield every assignment of statements."""
    for each in body:
        if isinstance(each, Set):
            yield each
        else:
            for _, inner in blocks(each):
                yield from body_sets(inner)


def blocks(statement: If | Case | Repeat) -> Iterator[tuple[object, list[Statement]]]:
    """Yield condition or label and statements of each branch."""
    if isinstance(statement, Repeat):
        yield None, statement.body
    else:
        yield from statement.branches if isinstance(statement, If) else statement.arms
        yield None, statement.other


def change_all(module: Module, change: Callable[[Node], Node | None], *, targets: bool = False) -> None:
    """Rewrite every expression of a module. ``targets`` includes the nets that are assigned."""
    done: dict[Node, Node] = {}

    def new(node: Node) -> Node:
        return rewritten(node, change, done)

    def target(node: Node) -> Node:
        if targets or node.kind == "ref":
            return new(node) if targets else node
        return cut(rewritten_index(node, new), 0, node.width)

    def body(statements: list[Statement]) -> None:
        for each in statements:
            if isinstance(each, Set):
                each.target, each.value = target(each.target), new(each.value)
            elif isinstance(each, If):
                each.branches = [(new(test), inner) for test, inner in each.branches]
            elif isinstance(each, Case):
                each.test = new(each.test)
            if not isinstance(each, Set):
                for _, inner in blocks(each):
                    body(inner)

    for assignment in module.assignments:
        body([assignment.set])
    for process in module.processes:
        body([*process.resets])
        body(process.body)
    for part in module.parts:
        part.connections = [
            (port, node if port.kind == "output" and not targets else new(node)) for port, node in part.connections
        ]
    if targets:
        module.registers = [(name, new(node)) for name, node in module.registers]
        module.wires = [(name, new(node)) for name, node in module.wires]


def rewritten_index(node: Node, new: Callable[[Node], Node]) -> Node:
    """Return a target with its index rewritten."""
    return make(node.kind, node.width, map(new, node.args), node.data)


def roots(module: Module) -> Iterator[Node]:
    """Yield every expression that is read, indices of targets included."""

    def body(statements: list[Statement]) -> Iterator[Node]:
        for each in statements:
            if isinstance(each, Set):
                yield each.value
                yield from each.target.args
                continue
            if isinstance(each, Case):
                yield each.test
            for test, inner in blocks(each):
                if isinstance(test, Node):
                    yield test
                yield from body(inner)

    for assignment in module.assignments:
        yield from body([assignment.set])
    for process in module.processes:
        yield from body(process.body)
    for part in module.parts:
        yield from (node for port, node in part.connections if port.kind == "input")


def each_node(nodes: Iterator[Node]) -> Iterator[Node]:
    """Yield every node of expressions, once for each distinct one."""
    seen: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(node.args)
            yield node


def each_ref(nodes: Iterator[Node]) -> Iterator[Node]:
    """Yield every ``ref`` and ``index`` node below expressions, once for each distinct one."""
    return (node for node in each_node(nodes) if node.kind in {"ref", "index"})


def _driving(module: Module) -> Counter[Net]:
    """Return the number of assignments and outputs of parts that drive each net."""
    found: Counter[Net] = Counter()
    for each in set_nodes(module):
        found[each.target.data[0]] += 1
    for part in module.parts:
        found.update(node.data[0] for port, node in part.connections if port.kind == "output")
    return found


def _merge_outputs(module: Module) -> None:
    """Replace a local net that only feeds an output by the output."""
    drivers = _driving(module)
    local = set(module.nets)
    replaced: dict[Net, Net] = {}
    for assignment in list(module.assignments):
        target, value = assignment.set.target, assignment.set.value
        if value.kind != "ref" or target.kind != "ref" or target.data[0].kind != "output":
            continue
        output, net = target.data[0], value.data[0]
        whole = output.width == target.width == net.width
        if whole and net in local and net not in replaced and drivers[output] == 1 and net.kind != "register":
            replaced[net] = output
            module.assignments.remove(assignment)
    if replaced:
        module.nets = [net for net in module.nets if net not in replaced]
        change_all(module, lambda node: _moved(node, replaced), targets=True)


def _moved(node: Node, replaced: dict[Net, Net]) -> Node | None:
    if node.kind == "ref" and node.data[0] in replaced:
        return ref(replaced[node.data[0]], node.data[1], node.width)
    return None


def _follow_aliases(module: Module) -> None:
    """Read the origin of a net's bits where an assignment only copies them."""
    local = set(module.nets)
    copies: dict[Net, list[tuple[int, int, Node]]] = defaultdict(list)
    for assignment in module.assignments:
        target, value = assignment.set.target, assignment.set.value
        if target.kind == "ref" and target.data[0] in local and value.kind in {"ref", "const"}:
            copies[target.data[0]].append((target.data[1], target.data[1] + target.width, value))

    def origin(node: Node) -> Node | None:
        if node.kind != "ref":
            return None
        net, low = node.data
        for first, end, value in copies.get(net, ()):
            if first <= low and low + node.width <= end:
                found = cut(value, low - first, node.width)
                return origin(found) or found
        return None

    change_all(module, origin)


def _drop_unread(module: Module) -> None:
    """Remove local nets, and their assignments and registers, that nothing reads."""
    while True:
        read = {node.data[0] for node in each_ref(roots(module))}
        kept = read | set(module.ports)
        outputs = {n.data[0] for part in module.parts for port, n in part.connections if port.kind == "output"}
        dead = [net for net in module.nets if net not in kept and net not in outputs]
        live = kept | outputs
        before = len(module.assignments)
        module.assignments = [a for a in module.assignments if a.set.target.data[0] in live]
        for process in module.processes:
            process.resets = [each for each in process.resets if each.target.data[0] in live]
            process.body = _without(process.body, live)
        module.processes = [process for process in module.processes if process.body]
        module.nets = [net for net in module.nets if net in live]
        module.registers = [(name, node) for name, node in module.registers if node.data[0] in live]
        module.wires = [(name, node) for name, node in module.wires if node.data[0] in live]
        if not dead and before == len(module.assignments):
            return


def _without(body: list[Statement], live: set[Net]) -> list[Statement]:
    found: list[Statement] = []
    for each in body:
        if isinstance(each, Set):
            if each.target.data[0] in live:
                found.append(each)
            continue
        if isinstance(each, If):
            each.branches = [(test, _without(inner, live)) for test, inner in each.branches]
            each.other = _without(each.other, live)
            while each.branches and not each.other and not each.branches[-1][1]:
                each.branches.pop()
            if each.branches:
                found.append(each)
        elif isinstance(each, Case):
            each.arms = [(label, _without(inner, live)) for label, inner in each.arms]
            each.other = _without(each.other, live)
            if each.other or any(inner for _, inner in each.arms):
                found.append(each)
        else:
            each.body = _without(each.body, live)
            if each.body:
                found.append(each)
    return found


def _connect_directly(module: Module) -> None:
    """Write short expressions in the connections of parts, without a net."""
    local = set(module.nets)
    readers: Counter[Net] = Counter()
    for root in roots(module):
        readers.update({node.data[0] for node in each_ref(iter([root]))})
    values = {}
    for each in module.assignments:
        target = each.set.target
        if target.kind == "ref" and target.data[0] in local and target.width == target.data[0].width:
            values[target.data[0]] = each.set.value

    def value(node: Node) -> Node:
        if node.kind != "ref" or node.width != node.data[0].width:
            return node
        found = values.get(node.data[0])
        return found if found is not None and readers[node.data[0]] == 1 and length(found, {}) <= _CONNECTED else node

    for part in module.parts:
        part.connections = [(port, value(node) if port.kind == "input" else node) for port, node in part.connections]


def length(node: Node, done: dict[Node, int]) -> int:
    """Return about how many characters an expression has."""
    found = done.get(node)
    if found is None:
        if node.kind in {"ref", "index"}:
            net = node.data[0]
            found = (
                len(net.name) + (0 if node.width == net.width else 6) + sum(length(each, done) for each in node.args)
            )
        elif node.kind == "const":
            found = len(str(node.data)) + 3
        else:
            found = sum(length(each, done) + 4 for each in node.args)
        done[node] = found
    return found


def must_be_named(node: Node) -> list[Node]:
    """Return the operands of a node without a text of their own."""
    if node.kind == "bits" or (node.kind == "sext" and node.args[0].kind != "ref"):
        return [node.args[0]]
    return []


def _share(module: Module) -> list[Net]:
    """Give a net to each expression that is used several times, or whose bits are used. Return these nets."""
    uses, users, forced = _uses(module)
    sizes: dict[Node, int] = {}
    homes: dict[Node, Node] = {}
    for each in module.assignments:
        target = each.set.target
        if target.kind == "ref" and uses[each.set.value] > 1 and each.set.value.kind not in _LEAVES:
            homes.setdefault(each.set.value, target)
    chosen = [
        node
        for node in uses
        if node.kind not in _LEAVES
        and node.kind != "index"
        and (node in forced or (uses[node] > 1 and length(node, sizes) > _LONGEST))
    ]  # fmt: skip - the condition is one sentence
    named: dict[Node, Node] = {}
    wires: list[Net] = []
    for node in _inner_first(module, set(chosen)):
        home = homes.get(node)
        if home is None:
            net = Net("", node.width, wanted=_wire_names(node, users[node]))
            wires.append(net)
            module.nets.append(net)
            home = ref(net)
            module.assignments.append(Assignment(Set(home, node), node.place))
        named[node] = home
    owners = {id(each.set): each.set.value for each in module.assignments}
    done: dict[Node, Node] = {}

    def change(node: Node) -> Node | None:
        return named.get(node)

    def inside(node: Node) -> Node:
        """Rewrite the operands of a node that keeps its own expression."""
        args = [rewritten(each, change, done) for each in node.args]
        found = node if not args else rebuilt(node, args)
        found.place = found.place or node.place
        return found

    kept = {id(each.set): named.get(owners[id(each.set)]) for each in module.assignments}
    originals = {id(each.set): each.set.value for each in module.assignments}
    change_all(module, change)
    for each in module.assignments:
        if kept[id(each.set)] is each.set.target:
            each.set.value = inside(originals[id(each.set)])
    return wires


def _uses(module: Module) -> tuple[Counter[Node], dict[Node, str], set[Node]]:
    """Return uses and the name of the first reader of every expression, and the expressions that need a name."""
    uses: Counter[Node] = Counter()
    users: dict[Node, str] = {}
    forced: set[Node] = set()

    def visit(node: Node, reader: str) -> None:
        uses[node] += 1
        if node not in users:
            users[node] = reader
            forced.update(must_be_named(node))
            for each in node.args:
                visit(each, reader)

    for each in module.assignments:
        for root in (each.set.value, *each.set.target.args):
            visit(root, each.set.target.data[0].name)
    for process in module.processes:
        name = process.resets[0].target.data[0].name if process.resets else "state"
        for root in body_roots(process.body):
            visit(root, name)
    for part in module.parts:
        for port, node in part.connections:
            if port.kind == "input":
                visit(node, port.name)
    return uses, users, forced


def body_roots(body: list[Statement]) -> Iterator[Node]:
    """Yield every expression that statements read, indices of targets included."""
    for each in body:
        if isinstance(each, Set):
            yield each.value
            yield from each.target.args
            continue
        if isinstance(each, Case):
            yield each.test
        for test, inner in blocks(each):
            if isinstance(test, Node):
                yield test
            yield from body_roots(inner)


def _inner_first(module: Module, chosen: set[Node]) -> list[Node]:
    """Return chosen nodes, operands before their users."""
    ordered: list[Node] = []
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for each in node.args:
                visit(each)
            if node in chosen:
                ordered.append(node)

    for root in roots(module):
        visit(root)
    return ordered


def _wire_names(node: Node, reader: str) -> tuple[str, ...]:
    """Return wanted names of an expression's net, the best one first."""
    found = list(candidates(node.place, node.kind))
    return (*found[:1], *(f"{reader}_{name}" for name in found[:1]), *found[1:], f"{reader}_{hint(node.kind)}")


def unread_bits(module: Module) -> Iterator[Node]:
    """Yield the bits of inputs and local nets that nothing reads."""
    read: dict[Net, int] = defaultdict(int)
    for node in each_ref(roots(module)):
        if node.kind == "index":
            net, stride, offset = node.data
            most = (net.width - offset) // stride if node.args[0].kind == "loop" else 0
            read[net] |= sum(((1 << node.width) - 1) << offset + stride * at for at in range(most)) if most else -1
        else:
            read[node.data[0]] |= ((1 << node.width) - 1) << node.data[1]
    inputs = [port for port in module.ports if port.kind == "input"]
    clocked = {module.clock} if module.processes else set()
    clocked |= {module.reset} if any(process.resets for process in module.processes) else set()
    for net in [*inputs, *module.nets]:
        if net.name in clocked:
            continue
        free = [bit for bit in range(net.width) if not read[net] >> bit & 1]
        while free:
            size = next((n for n in range(1, len(free)) if free[n] != free[0] + n), len(free))
            yield ref(net, free[0], size)
            free = free[size:]
