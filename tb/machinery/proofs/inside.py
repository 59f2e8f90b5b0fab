"""Access to signals and memories inside elaborated components, for reference models of proofs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Const, Fragment, Module, Signal, Value


def inner_signal(fragment: Fragment, name: str, *path: str) -> Signal:
    """Return the signal of a given name that a part of an elaborated component drives.

    Parameters
    ----------
    fragment : Fragment
        The elaborated component.
    name : str
        Name of the signal.
    path : str
        Names of the submodules on the way to the part.

    Raises
    ------
    KeyError
        If the part drives no such signal, or several.
    """
    found = {
        id(signal): signal
        for statements in _part(fragment, path).statements.values()
        for statement in statements
        for signal in statement._lhs_signals()
        if signal.name == name
    }
    if len(found) != 1:
        raise KeyError(f"{len(found)} signals named {name!r} in {'.'.join(path) or 'the component'}")
    (signal,) = found.values()
    return signal


def memory_entries(fragment: Fragment, *path: str) -> list[Value]:
    """Return every entry of a memory of an elaborated component, by adding one read port per entry.

    Parameters
    ----------
    fragment : Fragment
        The elaborated component.
    path : str
        Names of the submodules on the way to the memory, ending with the memory.
    """
    memory = _part(fragment, path)
    shape, depth = memory._data.shape, memory._data.depth
    entries = [Signal(shape, name=f"{'_'.join(path)}_{address}") for address in range(depth)]
    for address, entry in enumerate(entries):
        port = {"addr": Const(address, (depth - 1).bit_length()), "data": entry, "en": Const(1), "transparent_for": ()}
        memory.read_port(domain="comb", **port)
    return list(entries)


def _part(fragment: Fragment, path: Sequence[str]) -> Any:
    for each in path:
        fragment = fragment.find_subfragment(each)
    return fragment


def cut_out(part: Any) -> list[Value]:
    """Remove the contents of a component, so that its outputs become free inputs of the proof."""
    Fragment.get(part, None)  # else Amaranth warns of what is inside
    part.elaborate = lambda _platform: Module()
    return [Value.cast(value) for _, member, value in part.signature.flatten(part) if member.flow.name == "Out"]
