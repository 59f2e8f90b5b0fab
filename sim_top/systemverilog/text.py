"""Text of a module: header, ports, declarations, assignments, processes and instances."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vlane.parameters import Parameters
from vlane.sim_top.systemverilog.design import Assignment, Module, Part, Process
from vlane.sim_top.systemverilog.expressions import WIDTH, Expressions, constant
from vlane.sim_top.systemverilog.memories import memory_body
from vlane.sim_top.systemverilog.nodes import Net
from vlane.sim_top.systemverilog.sources import method_of, shown_place
from vlane.sim_top.systemverilog.statements import Case, If, Set, Statement
from vlane.sim_top.systemverilog.tidy import each_node, roots

_COMMENT = 105
RESETS = ("sync", "async")
"""Kinds of reset."""
POLARITIES = ("high", "low")
"""Active levels of a reset."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the written text.

    Parameters
    ----------
    reset : str
        ``sync`` or ``async``.
    polarity : str
        ``high`` (port ``rst``) or ``low`` (port ``rst_n``).
    initial : bool
        Whether registers have initial values for simulation and FPGAs. Their processes are then ``always``, because
        ``always_ff`` forbids other writers.
    prefix : str
        Prefix of the names of the parts; by default the name of the top and an underscore.
    sources : bool
        Whether comments name file and line of the Python source.
    """

    reset: str = "sync"
    polarity: str = "high"
    initial: bool = False
    prefix: str = ""
    sources: bool = False

    @property
    def reset_port(self) -> str:
        """Name of the reset port."""
        return "rst" if self.polarity == "high" else "rst_n"


def body_of(module: Module, options: Options) -> str:
    """Return a module's text with ``@NAME@`` in place of its name."""
    return _Text(module, options).text()


def port_meaning(port: Net, module: Module, options: Options) -> str:
    """Return the comment of a port."""
    if port.name == module.clock:
        return "Clock, rising edge."
    if port.name == module.reset:
        return f"Reset, {'synchronous' if options.reset == 'sync' else 'asynchronous'}, active {options.polarity}."
    return port.meaning.replace("``", "")


class _Text:
    def __init__(self, module: Module, options: Options) -> None:
        self._m, self._options = module, options
        self._words = Expressions(module.names.unique("i", "lane", "position"))
        self._loop = self._words._loop

    def text(self) -> str:
        lines = [*self._header(), "module @NAME@ (", *self._ports(), ");"]
        if self._m.memory is not None:
            lines += ["", *memory_body(self._m)]
        else:
            lines += self._contents()
        return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, "endmodule : @NAME@", ""]))

    def _header(self) -> list[str]:
        component = self._m.component
        if self._m.memory is not None:
            data = self._m.memory._data
            return [
                f"// Memory of {data.depth} words of {len(data[0])} bits.",
                "//",
                "// The behavioural model may be replaced by a macro with these ports.",
            ]
        if component is None:
            return [f"// {self._m.wanted.replace('_', ' ')}"]
        doc = re.split(r"\n\w[\w ]*\n-+\n", inspect.getdoc(type(component)) or "")[0].strip()
        lines = [f"// {type(component).__name__}"]
        for paragraph in doc.replace("``", "").split("\n\n"):
            lines += ["//", *(f"// {line}" for line in textwrap.wrap(" ".join(paragraph.split()), _COMMENT))]
        parameters = getattr(component, "parameters", None)
        if isinstance(parameters, Parameters):
            given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
            lines += ["//", *(f"// {line}" for line in textwrap.wrap(f"Parameters: {given}", _COMMENT))]
        if self._options.sources:
            lines.append(f"// Source: {type(component).__module__}")
        return lines if self._m.path else [*lines, *_memory_list(self._m)]

    def _ports(self) -> Iterator[str]:
        ports = self._m.ports
        kinds = [f"{'input ' if port.kind == 'input' else 'output'} {_kind(port.width)}" for port in ports]
        widest = max(map(len, kinds), default=0)
        longest = max((len(port.name) for port in ports), default=0) + 1
        for number, (port, kind) in enumerate(zip(ports, kinds, strict=True)):
            comma = "," if number + 1 < len(ports) else ""
            head = f"  {kind:{widest}} {port.name + comma:{longest}}"
            words = textwrap.wrap(port_meaning(port, self._m, self._options), max(40, WIDTH - len(head) - 4))
            yield f"{head} // {words[0]}" if words else head.rstrip()
            for more in words[1:]:
                yield f"{'':{len(head)}} // {more}"

    def _contents(self) -> list[str]:
        m = self._m
        lines = ["", *_declarations(m.nets, m.split), "", *self._functions()]
        if self._options.initial and any(process.resets for process in m.processes):
            lines += ["  initial begin"]
            lines += [f"    {self._set(each, '=')};" for process in m.processes for each in process.resets]
            lines += ["  end", ""]
        for doc, items in self._sections():
            lines += ["", *(f"  // {line}" for line in textwrap.wrap(doc.replace("``", ""), _COMMENT))]
            for text in items:
                if len(text) > 2 and lines[-1] and not lines[-1].startswith("  //"):
                    lines.append("")
                lines += text
                if len(text) > 2:
                    lines.append("")
        for part in m.parts:
            lines += ["", *self._part(part)]
        if m.unused:
            texts = [self._words.selected(node) for node in m.unused]
            sink = m.names.unique("unused_bits", "unneeded_bits")
            lines += ["", "  // Bits that this instance does not need.", f"  logic {sink};"]
            lines += [f"  {line}" for line in _wrapped(f"assign {sink} = &{{1'b0,", texts, "};")]
        return lines

    def _functions(self) -> list[str]:
        """Return the functions of large expressions, and one for each size of selection."""
        found = {(n.args[0].width, n.width) for n in each_node(roots(self._m)) if n.kind == "select"}
        names = self._m.names
        chosen, elements = names.unique("one_hot", "one_hot_input"), names.unique("elements", "all_elements")
        lines: list[str] = []
        for each in self._m.functions:
            lines += [f"  // {line}" for line in textwrap.wrap(each.doc.replace("``", ""), _COMMENT)]
            head = f"  function automatic {_kind(each.body.width)} {each.name}"
            lines.append(f"{head}(input {_kind(each.argument.width)} {each.argument.name});")
            value = self._words.lines(each.body, WIDTH - 9, "        ")
            lines += [f"    {each.name} =", *(f"        {line}" for line in value)]
            lines[-1] += ";"
            lines += ["  endfunction", ""]
        at = names.unique("n", "position") if found else ""
        for count, width in sorted(found):
            # Verilator reports functions of one name in a module and in a part that it inlines there.
            wanted = "_".join(filter(None, (self._m.wanted.rpartition("_")[2], f"and_or_{count}x{width}")))
            name = self._words.functions[count, width] = names.unique(wanted)
            lines += [
                f"  // Return the element of {width} bits whose bit of {chosen} is set, or 0.",
                f"  function automatic {_kind(width)} {name}(",
                f"    input {_kind(count)} {chosen}, input {_kind(count * width)} {elements}",
                "  );",
                f"    {name} = {constant(0, width)};",
                f"    for (int unsigned {at} = 0; {at} < {count}; {at}++) begin",
                f"      {name} = {name} | ({{{width}{{{chosen}[{at}]}}}} & {elements}[{width} * {at} +: {width}]);",
                "    end",
                "  endfunction",
                "",
            ]
        return lines

    def _sections(self) -> list[tuple[str, list[list[str]]]]:
        """Return the text of assignments and processes, grouped by the docstring of their method."""
        m, found = self._m, dict[str, list[list[str]]]()
        classes = type(m.component).__mro__[:-1] if m.component is not None else ()
        files = {Path(inspect.getsourcefile(cls) or "").resolve() for cls in classes}
        loops: dict[tuple[str, int], list[Assignment]] = {}
        written: list[Assignment | Process] = [*m.assignments, *m.processes]
        for each in written:
            method = method_of(each.place, files)
            doc = method.doc if method else ""
            texts = found.setdefault(doc, [])
            where = shown_place(each.place) if self._options.sources else ""
            note = [f"  // {where}"] if where else []
            if isinstance(each, Process):
                texts.append([*note, *self._process(each)])
            elif not each.count:
                texts.append([*note, *self._statement(each.set, "  ", "assign ", "=")])
            elif (doc, each.count) in loops:
                loops[doc, each.count].append(each)
            else:
                loops[doc, each.count] = [each]
                texts.append([f"@{each.count}"])
        for doc, texts in found.items():
            for number, text in enumerate(texts):
                if text[0].startswith("@"):
                    texts[number] = self._generated(loops[doc, int(text[0][1:])])
        return list(found.items())

    def _generated(self, members: list[Assignment]) -> list[str]:
        """Return a loop of continuous assignments."""
        i, net = self._loop, members[0].set.target.data[0]
        label = self._m.names.unique(f"g_{net.name}")
        self._words.generates = True
        inner = [line for each in members for line in self._statement(each.set, "    ", "assign ", "=")]
        self._words.generates = False
        return [f"  for (genvar {i} = 0; {i} < {members[0].count}; {i}++) begin : {label}", *inner, "  end"]

    def _set(self, each: Set, equals: str) -> str:
        return f"{self._words.flat(each.target)} {equals} {self._words.flat(each.value)}"

    def _statement(self, each: Set, pad: str, before: str, equals: str) -> list[str]:
        head = f"{pad}{before}{self._words.flat(each.target)} {equals}"
        indent = pad + "    "
        text = self._words.flat(each.value)
        if len(head) + len(text) + 2 <= WIDTH:
            return [f"{head} {text};"]
        lines = self._words.lines(each.value, WIDTH - len(indent) - 1, indent)
        return [head, *(f"{indent}{line}" for line in lines[:-1]), f"{indent}{lines[-1]};"]

    def _process(self, process: Process) -> list[str]:
        m, options = self._m, self._options
        edges = f"posedge {m.clock}"
        if process.resets and options.reset == "async":
            edges += f" or {'posedge' if options.polarity == 'high' else 'negedge'} {m.reset}"
        kind = "always" if process.resets and options.initial else "always_ff"
        lines = [f"  {kind} @({edges}) begin"]
        if not process.resets:
            return [*lines, *self._body(process.body, "    "), "  end"]
        lines.append(f"    if ({'' if options.polarity == 'high' else '!'}{m.reset}) begin")
        lines += [f"      {self._set(each, '<=')};" for each in process.resets]
        if len(process.body) == 1 and isinstance(process.body[0], If):
            first, *rest = self._body(process.body, "    ")
            return [*lines, f"    end else {first.strip()}", *rest, "  end"]
        return [*lines, "    end else begin", *self._body(process.body, "      "), "    end", "  end"]

    def _body(self, body: list[Statement], pad: str) -> list[str]:
        lines: list[str] = []
        for each in body:
            if isinstance(each, Set):
                lines += self._statement(each, pad, "", "<=")
            elif isinstance(each, If):
                lines += self._if(each, pad)
            elif isinstance(each, Case):
                lines += self._case(each, pad)
            else:
                i = self._loop
                lines.append(f"{pad}for (int unsigned {i} = 0; {i} < {each.count}; {i}++) begin")
                lines += [*self._body(each.body, pad + "  "), f"{pad}end"]
        return lines

    def _if(self, each: If, pad: str) -> list[str]:
        lines: list[str] = []
        for number, (test, body) in enumerate(each.branches):
            texts = self._words.lines(test, WIDTH - len(pad) - 20, pad + "    ")
            lines.append(f"{pad}{'end else ' if number else ''}if ({texts[0]}")
            lines += [f"{pad}    {text}" for text in texts[1:]]
            lines[-1] += ") begin"
            lines += self._body(body, pad + "  ")
        if each.other:
            lines += [f"{pad}end else begin", *self._body(each.other, pad + "  ")]
        return [*lines, f"{pad}end"]

    def _case(self, each: Case, pad: str) -> list[str]:
        wild = any("-" in pattern for labels, _ in each.arms for pattern in labels)
        lines = [f"{pad}{'casez' if wild else 'case'} ({self._words.flat(each.test)})"]
        for labels, body in each.arms:
            shown = ", ".join(_label(label) for label in labels)
            lines += self._arm(shown, body, pad + "  ")
        lines += self._arm("default", each.other, pad + "  ")
        return [*lines, f"{pad}endcase"]

    def _arm(self, label: str, body: list[Statement], pad: str) -> list[str]:
        inner = self._body(body, pad + "  ")
        if not inner:
            return [f"{pad}{label}: ;"]
        if len(inner) == 1:
            return [f"{pad}{label}: {inner[0].strip()}"]
        return [f"{pad}{label}: begin", *inner, f"{pad}end"]

    def _part(self, part: Part) -> list[str]:
        shown = [f".{port.name}({self._words.flat(node)})" for port, node in part.connections]
        lines = [f"    {line}," for line in shown]
        lines[-1] = lines[-1][:-1]
        return [f"  {part.module.name} {part.name} (", *lines, "  );"]


def _memory_list(top: Module) -> list[str]:
    """Return the part of the top's header that lists the memories: number, size, ports, and kind of read."""
    found: Counter[str] = Counter()
    waiting = [top]
    while waiting:
        for part in waiting.pop().parts:
            memory = part.module.memory
            if memory is None:
                waiting.append(part.module)
                continue
            reads, writes = memory._read_ports, memory._write_ports
            kinds = {"in the same cycle (asynchronously)" if p._domain == "comb" else "one cycle later" for p in reads}
            size = f"{memory._data.depth} words of {len(memory._data[0])} bits"
            ports = f"{len(writes)} written, {len(reads)} read {' or '.join(sorted(kinds))}"
            found[f"{part.module.name}: {size}, ports: {ports}"] += 1
    entries = [f"// {number} x {text}" for text, number in sorted(found.items())]
    return ["//", "// Memories:", *entries] if entries else []


def _label(pattern: str) -> str:
    if "-" in pattern:
        return f"{len(pattern)}'b{pattern.replace('-', '?')}"
    return constant(int(pattern, 2), len(pattern))


def _kind(width: int) -> str:
    return "logic" if width == 1 else f"logic [{width - 1}:0]"


def _declarations(nets: list[Net], split: set[Net]) -> Iterator[str]:
    """Yield declarations.

    Neighbours of equal width share a line.

    Vectors in ``split`` depend on their own bits. Verilator is told to follow their bits separately, otherwise it
    reports circular logic.
    """
    at = 0
    while at < len(nets):
        width = nets[at].width
        line = f"  {_kind(width)} {nets[at].name}"
        net = nets[at]
        at += 1
        if net in split or net.meaning:
            mark = " /* verilator split_var */" if net in split else ""
            yield f"{line}{mark};{f' // {net.meaning}' if net.meaning else ''}"
            continue
        while at < len(nets) and nets[at].width == width and len(line) + len(nets[at].name) + 3 <= WIDTH:
            if nets[at] in split or nets[at].meaning:
                break
            line += f", {nets[at].name}"
            at += 1
        yield f"{line};"


def _wrapped(first: str, words: list[str], last: str) -> list[str]:
    lines = [first]
    for number, word in enumerate(words):
        piece = word + (last if number + 1 == len(words) else ",")
        if len(lines[-1]) + len(piece) + 1 > WIDTH - 2:
            lines.append("   ")
        lines[-1] += f" {piece}"
    return lines
