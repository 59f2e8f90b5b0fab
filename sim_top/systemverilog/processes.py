"""Processes of a module: one writer for each vector with variable indices, short resets."""

from __future__ import annotations

from collections import defaultdict

from vlane.sim_top.systemverilog.design import Module, Process
from vlane.sim_top.systemverilog.nodes import Net, const, ref
from vlane.sim_top.systemverilog.statements import Set
from vlane.sim_top.systemverilog.tidy import body_sets


def join_processes(module: Module) -> None:
    """Join the processes that write one vector if one of them uses a variable index, in place.

    A process with such an index counts as a writer of the whole vector, and a vector may have one writer only.
    """
    writers: dict[Net, list[Process]] = defaultdict(list)
    indexed: set[Net] = set()
    for process in module.processes:
        targets = [each.target for each in body_sets(process.body)]
        indexed |= {target.data[0] for target in targets if target.kind == "index"}
        for net in dict.fromkeys(target.data[0] for target in targets):
            writers[net].append(process)
    joined: dict[int, Process] = {}

    def home(process: Process) -> Process:
        while id(process) in joined:
            process = joined[id(process)]
        return process

    for net in writers:
        first = home(writers[net][0])
        for process in writers[net][1:] if net in indexed else ():
            other = home(process)
            if other is not first:
                first.resets += other.resets
                first.body += other.body
                joined[id(other)] = first
    module.processes = [process for process in module.processes if id(process) not in joined]
    for process in module.processes:
        process.resets = _short(process.resets)


def _short(resets: list[Set]) -> list[Set]:
    """Return resets with one assignment for each vector that is 0 after reset."""
    zeros: dict[Net, int] = defaultdict(int)
    for each in resets:
        if each.value is const(0, each.value.width):
            zeros[each.target.data[0]] += each.target.width
    whole = {net for net, bits in zeros.items() if bits == net.width}
    found: dict[Net, Set] = {}
    for each in resets:
        net = each.target.data[0]
        if net in whole:
            found.setdefault(net, Set(ref(net), const(0, net.width)))
    return [*found.values(), *(each for each in resets if each.target.data[0] not in whole)]
