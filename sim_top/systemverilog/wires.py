"""Names of expressions' nets.

Nets that want the same name become one vector.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from vlane.sim_top.systemverilog.design import Module
from vlane.sim_top.systemverilog.names import plural
from vlane.sim_top.systemverilog.nodes import Net, Node, ref
from vlane.sim_top.systemverilog.tidy import change_all


def name_wires(module: Module, wires: Iterable[Net]) -> None:
    """Name nets that have only wanted names, in place.

    Nets of one line in a loop want the same name. The nets become one vector, in the order of creation.
    """
    groups: dict[tuple[str, int], list[Net]] = defaultdict(list)
    for net in wires:
        groups[net.wanted[0], net.width].append(net)
    moved: dict[Net, tuple[Net, int]] = {}
    for (name, width), members in groups.items():
        wire = first = members[0]
        if len(members) == 1:
            first.name = module.names.unique(*first.wanted)
        else:
            others = [each for each in first.wanted[1:] if each != name]
            wanted = (name, *others[:1], plural(name), f"all_{name}", *others[1:])
            wire = Net(module.names.unique(*wanted), width * len(members))
            moved |= {net: (wire, number * width) for number, net in enumerate(members)}
        if len(first.wanted) == 1:
            module.unnamed.append(wire.name)
    if not moved:
        return

    def place(node: Node) -> Node | None:
        if node.kind != "ref" or node.data[0] not in moved:
            return None
        vector, low = moved[node.data[0]]
        return ref(vector, low + node.data[1], node.width)

    module.nets = list(dict.fromkeys(moved[net][0] if net in moved else net for net in module.nets))
    change_all(module, place, targets=True)
