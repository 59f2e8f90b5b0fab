"""Compaction of a design's text: equal modules are written once, equal memory entries are filled by loops.

Amaranth writes a module for each instance, and yosys a line for each memory entry. A 48-port switch has tens of
thousands of entries per port, so tools would read most of the text many times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import count, groupby

_MODULE = re.compile(r"^module (\S+)$", re.MULTILINE)
_END = re.compile(r"^end\n", re.MULTILINE)
_PORT = re.compile(r"\\port\$\d+\$\d+(?![\w$])")
"""Port that Amaranth adds where logic crosses modules, numbered by net, which differs between instances."""
_CELL = re.compile(r"^  cell (\\\S+)( \S+\n(?:    .*\n|\n)*?  end)$", re.MULTILINE)
_CONNECTED = re.compile(r"^    connect (\S+) ", re.MULTILINE)
_INITIAL = re.compile(r"^  initial begin\n((?:    .*\n)*?)  end$", re.MULTILINE)
_ENTRY = re.compile(r"    (?P<memory>\S+ ?)\[(?P<index>\d+)\] = (?P<value>\d+'h[0-9a-f]+);")
_WRITTEN = re.compile(r"^module (\S+?)[ (].*?^endmodule$", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (\S+) +\S+ +\($", re.MULTILINE)
_FEWEST = 16
"""Fewest entries that a loop fills."""


def merge_equal_modules(rtlil: str) -> str:
    """Return Amaranth's RTLIL with modules merged that differ in name only, under the name of the last of them.

    The first module is the top, and every module precedes the modules of its cells, as Amaranth writes them. Cell names
    are unchanged, so every instance keeps its path and state.
    """
    *modules, rest = _END.split(rtlil)
    kept: dict[str, str] = {}
    known: dict[str, tuple[str, dict[str, str]]] = {}
    written = []
    for number, module in reversed(list(enumerate(modules))):
        name = _name(module)
        body = _CELL.sub(lambda cell: _cell(cell, known), module)
        ports = _numbered_by_occurrence(_PORT.findall(body)) if number else {}
        body = _PORT.sub(partial(_renamed, ports), body)
        same = kept.setdefault(_MODULE.sub("module", body), name)
        known[name] = same, ports
        if same == name:
            written.append(body)
    return "".join(f"{body}end\n" for body in reversed(written)) + rest


def _name(module: str) -> str:
    found = _MODULE.search(module)
    if found is None:
        raise ValueError(f"expected RTLIL that begins with a module, got {module[:200]!r}")
    return found[1]


def _numbered_by_occurrence(port_names: list[str]) -> dict[str, str]:
    """Return new names of ports, numbered by their first occurrence in the module."""
    return {port: f"\\port$${number}" for number, port in enumerate(dict.fromkeys(port_names))}


def _renamed(names: dict[str, str], port: re.Match[str]) -> str:
    return names.get(port[0], port[0])


def _cell(cell: re.Match[str], known: dict[str, tuple[str, dict[str, str]]]) -> str:
    """Return a cell with the final names of its module and ports."""
    if cell[1] not in known:
        return cell[0]
    name, ports = known[cell[1]]
    connected = _CONNECTED.sub(lambda port: f"    connect {ports.get(port[1], port[1])} ", cell[2])
    return f"  cell {name}{connected}"


def fill_by_loops(verilog: str) -> str:
    """Return yosys' Verilog with loops for the initial values of 16 or more consecutive equal memory entries."""
    numbers = count()
    return _INITIAL.sub(lambda block: _fill_block(block, numbers.__next__), verilog)


def _fill_block(block: re.Match[str], next_number: Callable[[], int]) -> str:
    """Return an initial block with loops, as a named block if a loop variable is needed."""
    lines, has_loop = [], False
    position = count()
    for run, same in groupby(block[1].splitlines(), lambda line: _loop_key(line, next(position))):
        entries = list(same)
        if run is None or len(entries) < _FEWEST:
            lines += entries
            continue
        (memory, _, value), has_loop = run, True
        first, last = (_index(entries[at]) for at in (0, -1))
        lines.append(f"    for (\\at$$ = {first}; \\at$$ <= {last}; \\at$$ = \\at$$ + 1) {memory}[\\at$$ ] = {value};")
    if not has_loop:
        return block[0]
    return "\n".join([f"  initial begin : \\fill$${next_number()} ", "    integer \\at$$ ;", *lines, "  end"])


def _loop_key(line: str, position: int) -> tuple[str, int, str] | None:
    """Return a key shared by the lines that one loop can fill, or ``None`` for any other line."""
    entry = _ENTRY.fullmatch(line)
    return entry and (entry["memory"], int(entry["index"]) - position, entry["value"])


def _index(line: str) -> int:
    entry = _ENTRY.fullmatch(line)
    assert entry is not None
    return int(entry["index"])


def unfolded_size(verilog: str) -> int:
    """Return the size of the Verilog in characters if every instance had a module of its own."""
    texts = {module[1]: module[0] for module in _WRITTEN.finditer(verilog)}
    parts = {name: [each[1] for each in _INSTANCE.finditer(text) if each[1] in texts] for name, text in texts.items()}

    def size(name: str, above: tuple[str, ...]) -> int:
        within = (*above, name)
        return len(texts[name]) + sum(size(each, within) for each in parts[name] if each not in within)

    return sum(size(name, ()) for name in texts.keys() - {each for found in parts.values() for each in found})
