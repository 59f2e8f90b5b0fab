"""Wrapper of a module with SystemVerilog interface ports: each signal of a modport becomes a port ``PORT_SIGNAL``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vlane.errors import InputError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^`line[^\n]*", re.DOTALL | re.MULTILINE)
_SIGNAL = re.compile(r"\b(?:logic|wire|reg|bit)\b\s*((?:signed\s*)?(?:\[[^\]]*\]\s*)*)([\w\s,]+);")
_MODPORT = re.compile(r"\bmodport\b\s*(.*?);", re.DOTALL)
_PORT = re.compile(r"^(\w+)(?:\.(\w+))?\s+(\w+)$")
FLAT = "_flat"
"""Ending of the wrapper's name."""
_WORDS = {"input", "output", "inout", "logic", "wire", "reg", "bit"}


@dataclass(frozen=True)
class _Port:
    """Interface port of a module: its interface, modport and name."""

    interface: str
    modport: str
    name: str


def flattened(text: str, top: str) -> tuple[str, str] | None:
    """Return a wrapper without interface ports and its name, or ``None`` for a module that has none.

    Parameters
    ----------
    text : str
        Preprocessed SystemVerilog with the module and its interfaces.
    top : str
        Module.

    Raises
    ------
    InputError
        If an interface has ports, or its modport or a signal cannot be read.
    """
    plain = _COMMENT.sub(" ", text)
    found = re.search(rf"\bmodule\s+(?:automatic\s+)?{re.escape(top)}\b", plain)
    if found is None:
        return None
    parameters, ports = _header(plain, found.end())
    interfaces = dict(re.findall(r"\binterface\s+(?:automatic\s+)?(\w+)\b(.*?)\bendinterface\b", plain, re.DOTALL))
    entries = [" ".join(entry.split()) for entry in _split(ports)]
    wanted = [_interface_port(entry, interfaces) for entry in entries]
    if not any(wanted):
        return None
    declared, lines, connected = [], [], []
    for entry, port in zip(entries, wanted, strict=True):
        if port is None:
            declared.append(entry)
            connected.append(f".{_last_word(entry)}")
            continue
        body = interfaces[port.interface]
        lines.append(f"  {port.interface} {port.name} ();")
        connected.append(f".{port.name}({port.name})")
        shapes = {name.strip(): shape.strip() for shape, names in _SIGNAL.findall(body) for name in names.split(",")}
        values = dict(re.findall(r"\bparameter\b[\w\s]*?(\w+)\s*=\s*(\d+)", body))
        for name, value in values.items():
            shapes = {signal: re.sub(rf"\b{name}\b", value, shape) for signal, shape in shapes.items()}
        for way, signal in _directions(body, port):
            if signal not in shapes:
                raise _unreadable(port, f"signal {signal}")
            flat = f"{port.name}_{signal}"
            declared.append(f"{way} logic {shapes[signal]} {flat}")
            ends = (f"{port.name}.{signal}", flat) if way == "input" else (flat, f"{port.name}.{signal}")
            lines.append(f"  assign {ends[0]} = {ends[1]};")
    name = f"{top}{FLAT}"
    passed = ", ".join(f".{each}({each})" for each in re.findall(r"(\w+)\s*=[^=]", parameters))
    lines.append(f"  {top} {f'#({passed}) ' if passed else ''}inner ({', '.join(connected)});")
    header = f"module {name} {f'#({parameters}) ' if parameters.strip() else ''}(\n  "
    return header + ",\n  ".join(declared) + "\n);\n" + "\n".join(lines) + "\nendmodule\n", name


def _header(text: str, at: int) -> tuple[str, str]:
    """Return the texts of the parameters and of the ports of the module whose name ends at ``at``."""
    parameters = ""
    rest = text[at:].lstrip()
    if rest.startswith("#"):
        parameters, rest = _parenthesis(rest[1:].lstrip())
    ports, _ = _parenthesis(rest.lstrip()) if rest.lstrip().startswith("(") else ("", rest)
    return parameters, ports


def _parenthesis(text: str) -> tuple[str, str]:
    """Return the content of the parentheses with which a text begins, and the text behind them."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:index], text[index + 1 :].lstrip()
    return text[1:], ""


def _split(text: str) -> Iterator[str]:
    """Yield the parts of a list that commas separate outside of brackets."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text[start:].strip():
        yield text[start:]


def _interface_port(entry: str, interfaces: dict[str, str]) -> _Port | None:
    found = _PORT.match(entry)
    if found is None or found[1] not in interfaces or found[1] in _WORDS:
        return None
    port = _Port(found[1], found[2] or "", found[3])
    head = interfaces[port.interface].partition(";")[0]
    if "(" in head and re.search(r"\(\s*\w", head.partition("#")[0] if "#" not in head else head.rpartition("(")[2]):
        raise _unreadable(port, "an interface without ports")
    return port


def _directions(body: str, port: _Port) -> Iterator[tuple[str, str]]:
    """Yield direction and name of the signals of a modport."""
    for listed in _MODPORT.findall(body):
        for entry in _split(listed):
            name, _, signals = entry.strip().partition("(")
            if name.strip() != port.modport:
                continue
            way = ""
            for signal in signals.rstrip(") \n").split(","):
                words = signal.split()
                way = words[0] if words[0] in {"input", "output"} else way
                yield way, words[-1]
            return
    raise _unreadable(port, f"modport {port.modport or '(none)'}")


def _unreadable(port: _Port, what: str) -> InputError:
    problem = f": port {port.name} is an interface {port.interface}; its wrapper needs {what}. Wrap the module yourself"
    return InputError("--top", "a module with packed ports or arrays", port.name, problem=problem)


def _last_word(entry: str) -> str:
    return re.findall(r"\w+", re.sub(r"\[[^\]]*\]\s*$|=.*", "", entry))[-1]
