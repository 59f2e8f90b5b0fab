"""Convert equal parts of a design to RTLIL once. Equal parts dominate the cost of switches with many ports."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockSignal, Elaboratable, Instance, ResetSignal, Value
from amaranth.hdl._ir import PortDirection

_CLOCK = re.compile(r"^  wire width 1 input \d+ +\\(clk|rst)$", re.MULTILINE)
_TOP = "attribute \\top 1\n"


def shared_rtlil(component: Any, top: str) -> str:
    """Return a component as RTLIL in which all equal parts (``Part``) instantiate one module.

    The module ``top`` comes first. Each module precedes the modules of its cells.
    """
    parts = _Parts(top)
    with no_collection():
        text: str = rtlil.convert(component, name=top, platform=parts, emit_src=False)
    return text + "".join(reversed(parts.texts))


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend garbage collection, which would spend half of the time scanning millions of live cells."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Parts:
    """Platform that converts each distinct part once and instantiates it everywhere.

    ``texts`` contains the modules, named after the design; a part's own parts precede it.
    """

    def __init__(self, design: str) -> None:
        self.texts: list[str] = []
        self._names = (f"{design}.part_{number}" for number in count())
        self._known: dict[tuple[Any, ...], tuple[str, set[str]]] = {}

    def share(self, part: Any) -> Instance:
        """Return an instance of a part's module, converting the part at its first use."""
        component = part.component
        if part.key in self._known:
            note_use(component)
        else:
            self._known[part.key] = self._convert(part, f"{next(self._names)}.{type(component).__name__}")
        name, clocks = self._known[part.key]
        inputs, outputs = part.inputs_and_outputs()
        inputs |= {each: signal for each, signal in (("clk", ClockSignal()), ("rst", ResetSignal())) if each in clocks}
        ports = [("i", *each) for each in inputs.items()] + [("o", *each) for each in outputs.items()]
        return Instance(name, *ports)

    def _convert(self, part: Any, name: str) -> tuple[str, set[str]]:
        """Convert a part's component. Return the module's name, and whether the module has a clock and a reset."""
        inputs, outputs = part.inputs_and_outputs()
        ports = {each: (value, PortDirection.Input) for each, value in inputs.items()}
        ports |= {each: (value, PortDirection.Output) for each, value in outputs.items()}
        text: str = rtlil.convert(part.component, name=name, platform=self, ports=ports, emit_src=False)
        text = text.replace(_TOP, "", 1)
        self.texts.append(text)
        return name, set(_CLOCK.findall(text.partition("\nend\n")[0]))


def note_use(component: Any) -> None:
    """Mark a component and its members as used, to silence Amaranth's warning about unused components."""
    waiting, seen = [component], set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, (type, ModuleType, Value)):
            continue
        seen.add(id(found))
        if isinstance(found, Elaboratable):
            found._MustUse__used = True  # Amaranth does the same when it elaborates a component
        held = found if isinstance(found, dict) else getattr(found, "__dict__", {})
        waiting.extend(found if isinstance(found, (list, tuple)) else held.values())
