"""Text of expressions, with line breaks at operators."""

from __future__ import annotations

from vlane.sim_top.systemverilog.nodes import Node, cut

WIDTH = 110
"""Most characters of a line, if it can be broken."""
_SYMBOLS = {
    "and": "&",
    "or": "|",
    "xor": "^",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "shl": "<<",
    "shr": ">>",
    "sar": ">>>",
}  # fmt: skip - one row for each operator would be longer
_PREFIXES = {"not": "~", "neg": "-", "any": "|", "all": "&", "parity": "^"}
_ATOM, _UNARY, _BINARY, _COND = 3, 2, 1, 0


class Expressions:
    """Writer of expressions.

    Parameters
    ----------
    loop : str
        Name of the loop variable.
    """

    def __init__(self, loop: str = "i") -> None:
        self._loop = loop
        self.functions: dict[tuple[int, int], str] = {}
        """Names of the functions that select an element, by number of elements and width."""
        self.generates = False
        """Whether the loop variable is a genvar, which is signed."""

    def flat(self, node: Node) -> str:
        """Return an expression on one line."""
        return self._item(node)[0]

    def lines(self, node: Node, room: int, indent: str) -> list[str]:
        """Return an expression on as few lines as fit. ``room`` is the space on each line."""
        text = self.flat(node)
        if len(text) <= room:
            return [text]
        if node.kind == "cond":
            return self._chain(node, room, indent)
        if node.kind in _SYMBOLS and len(node.args) > 1:
            symbol = f" {_SYMBOLS[node.kind]}"
            operands = [(each, self._stands(each, node, at)) for at, each in enumerate(node.args)]
            return self._filled(operands, symbol, room)
        if node.kind == "cat" and len(node.args) > 1:
            lines = self._filled([(each, True) for each in reversed(node.args)], ",", room - 2)
            return [f"{{{lines[0]}", *(f" {line}" for line in lines[1:-1]), f" {lines[-1]}}}"]
        if node.kind in _PREFIXES or node.kind == "zext":
            before, after = text.split(self.flat(node.args[0]), 1)
            lines = self.lines(node.args[0], room - len(before) - len(after), indent)
            return [
                f"{before}{lines[0]}",
                *(f"{' ' * len(before)}{each}" for each in lines[1:-1]),
                f"{' ' * len(before)}{lines[-1]}{after}",
            ]
        return [text]

    def _filled(self, operands: list[tuple[Node, bool]], symbol: str, room: int) -> list[str]:
        """Return operands, several on a line. An operand that is too long has lines of its own."""
        lines: list[str] = []
        fresh = True
        for number, (each, bare) in enumerate(operands):
            end = symbol if number + 1 < len(operands) else ""
            text = self.flat(each) if bare else f"({self.flat(each)})"
            if len(text) + len(end) <= room:
                if not fresh and len(lines[-1]) + len(text) + len(end) + 1 <= room:
                    lines[-1] += f" {text}{end}"
                else:
                    lines.append(f"{text}{end}")
                fresh = False
                continue
            inner = self.lines(each, room - 3, "")
            pad = "" if bare else " "
            inner = [inner[0] if bare else f"({inner[0]}", *(f"{pad}{line}" for line in inner[1:])]
            inner[-1] += f"{'' if bare else ')'}{end}"
            lines += inner
            fresh = True
        return lines

    def _chain(self, node: Node, room: int, indent: str) -> list[str]:
        """Return a chain of conditions, one on each line."""
        lines = []
        while node.kind == "cond":
            test, then, node = node.args
            head, value = self._within(test, _BINARY), self._within(then, _BINARY)
            if len(head) + len(value) + 5 <= room:
                lines.append(f"{head} ? {value} :")
                continue
            first = self.lines(test, room - 2, indent)
            lines += [*first[:-1], f"{first[-1]} ?"]
            opened = then.kind == "cond"
            inner = self.lines(then, room - 8, indent)
            lines += [f"    {'(' if opened else ''}{inner[0]}", *(f"    {' ' * opened}{each}" for each in inner[1:])]
            lines[-1] += f"{')' if opened else ''} :"
        return [*lines, *self.lines(node, room - 1, indent)]

    def _within(self, node: Node, least: int) -> str:
        text, level = self._item(node)
        return text if level >= least else f"({text})"

    def _operand(self, node: Node, parent: Node, at: int) -> str:
        return self.flat(node) if self._stands(node, parent, at) else f"({self.flat(node)})"

    def _stands(self, node: Node, parent: Node, at: int) -> bool:
        """Return whether an operand needs no parentheses."""
        if at == 0 and parent.kind in {"add", "sub"} and node.kind in {"add", "sub", "mul"}:
            return True
        return self._item(node)[1] >= _UNARY

    def _item(self, node: Node) -> tuple[str, int]:  # noqa: PLR0911 - one return for each kind
        kind, args, width = node.kind, node.args, node.width
        if kind == "ref":
            return self.selected(node), _ATOM
        if kind == "index":
            return self._indexed(node), _ATOM
        if kind == "const":
            return constant(node.data, width), _ATOM
        if kind == "loop":
            return self._loop_value(node), _ATOM
        if kind in _PREFIXES:
            inner = self._within(args[0], _ATOM)
            return f"{_PREFIXES[kind]}{f'({inner})' if inner[0].isdigit() else inner}", _UNARY
        if kind in {"lt", "le", "gt", "ge"} and node.data:
            return " ".join((self._signed(args[0]), _SYMBOLS[kind], self._signed(args[1]))), _BINARY
        if kind == "sar":
            return f"$unsigned({self._signed(args[0])} >>> {self._within(args[1], _UNARY)})", _ATOM
        if kind in _SYMBOLS:
            texts = [self._operand(each, node, at) for at, each in enumerate(args)]
            return f" {_SYMBOLS[kind]} ".join(texts), _BINARY
        if kind == "cond":
            levels = (_BINARY, _BINARY, _COND)
            test, then, other = (self._within(each, level) for each, level in zip(args, levels, strict=True))
            return f"{test} ? {then} : {other}", _COND
        if kind == "zext":
            value = self.flat(args[0])
            if args[0].kind in {"ref", "index"}:
                return f"{width}'({value})", _ATOM
            return f"{{{constant(0, width - args[0].width)}, {value}}}", _ATOM
        if kind == "sext":
            top = _top_bit(args[0])
            high = self.flat(top)
            return f"{{{{{width - args[0].width}{{{high}}}}}, {self.flat(args[0])}}}", _ATOM
        if kind == "bits":
            return f"{width}'({self.flat(args[0])})", _ATOM
        if kind == "call":
            return f"{node.data.name}({self.flat(args[0])})", _ATOM
        if kind == "select":
            return f"{self.functions[args[0].width, width]}({self.flat(args[0])}, {self.flat(args[1])})", _ATOM
        return self._concatenation(node), _ATOM

    def _concatenation(self, node: Node) -> str:
        if len(node.args) > 1 and all(each is node.args[0] for each in node.args):
            return f"{{{len(node.args)}{{{self.flat(node.args[0])}}}}}"
        return f"{{{', '.join(self.flat(each) for each in reversed(node.args))}}}"

    def _signed(self, node: Node) -> str:
        if node.kind == "const":
            return constant(node.data, node.width).replace("'", "'s", 1)
        return f"$signed({self.flat(node)})"

    @staticmethod
    def selected(node: Node) -> str:
        """Return bits of a net."""
        net, low = node.data
        if node.width == net.width:
            return str(net.name)
        return f"{net.name}[{low}]" if node.width == 1 else f"{net.name}[{low + node.width - 1}:{low}]"

    def _indexed(self, node: Node) -> str:
        net, stride, offset = node.data
        at = node.args[0]
        if at.kind == "loop":
            place = _scaled(self._loop, stride, offset)
        else:
            bits = max(1, (net.width - 1).bit_length())
            place = self.flat(at)
            if stride > 1 or offset:
                wide = f"{bits}'({place})" if at.width != bits else place
                place = f"{wide} * {constant(stride, bits)}" if stride > 1 else wide
                place += f" + {constant(offset, bits)}" if offset else ""
            elif at.width != bits:
                place = self.flat(cut(at, 0, bits)) if at.kind == "ref" and at.width > bits else f"{bits}'({place})"
        return f"{net.name}[{place}]" if node.width == 1 else f"{net.name}[{place} +: {node.width}]"

    def _loop_value(self, node: Node) -> str:
        step, first = node.data
        if node.width == 32:
            return self._loop
        value = f"{node.width}'({_scaled(self._loop, step, first)})"
        return f"$unsigned({value})" if self.generates else value


def _scaled(name: str, step: int, first: int) -> str:
    scaled = name if step == 1 else f"{step} * {name}"
    return f"{scaled} + {first}" if first else scaled


def _top_bit(node: Node) -> Node:
    return cut(node, node.width - 1, 1)


def constant(value: int, width: int) -> str:
    """Return a sized constant: decimal if short."""
    return f"{width}'b{value}" if width == 1 else f"{width}'d{value}" if value < 10_000 else f"{width}'h{value:x}"
