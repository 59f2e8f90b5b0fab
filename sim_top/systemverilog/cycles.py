"""Combinational dependencies between the nets of a module."""

from __future__ import annotations

from collections import defaultdict

from vlane.sim_top.systemverilog.design import Module
from vlane.sim_top.systemverilog.nodes import Net
from vlane.sim_top.systemverilog.tidy import each_ref


def circular(module: Module) -> set[Net]:
    """Return the local vectors that depend on their own bits, directly or through other nets."""
    sources = _sources(module)
    return {net for net in module.nets if net.width > 1 and net in _reached(sources, sources.get(net, set()))}


def _sources(module: Module) -> dict[Net, set[Net]]:
    """Return, for each net, the nets that its value depends on within the cycle."""
    found: dict[Net, set[Net]] = defaultdict(set)
    for each in module.assignments:
        target = each.set.target
        found[target.data[0]] |= {node.data[0] for node in each_ref(iter([each.set.value, *target.args]))}
    for part in module.parts:
        inner = _through(part.module)
        nodes = dict(part.connections)
        for port, inputs in inner.items():
            for source in inputs:
                found[nodes[port].data[0]] |= {node.data[0] for node in each_ref(iter([nodes[source]]))}
    return found


def _through(module: Module) -> dict[Net, set[Net]]:
    """Return the inputs of a module that each output depends on within the cycle."""
    if module.memory is not None:
        addresses = {net.name: net for net in module.ports}
        return {
            net: {addresses[net.name.replace("_data", "_address")]}
            for net, read in zip(
                (net for net in module.ports if net.kind == "output"), module.memory._read_ports, strict=True
            )
            if read._domain == "comb"
        }
    if module.through is None:
        sources = _sources(module)
        inputs = {net for net in module.ports if net.kind == "input"}
        outputs = [net for net in module.ports if net.kind == "output"]
        module.through = {net: _reached(sources, sources.get(net, set())) & inputs for net in outputs}
    return module.through


def _reached(sources: dict[Net, set[Net]], start: set[Net]) -> set[Net]:
    seen, waiting = set(start), list(start)
    while waiting:
        for each in sources.get(waiting.pop(), ()):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
    return seen
