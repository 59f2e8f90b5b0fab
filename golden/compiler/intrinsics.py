"""Functions whose compiled form is written in C++.

The C++ code is in ``runtime.hpp`` or generated for the types of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.types import BOOL, COUNTERS, INT, VOID, Array, RecordArray, Struct, Tuple, Type

F = TypeVar("F", bound=Callable[..., Any])
_RESULTS: dict[Any, Type] = {int: INT, bool: BOOL, type(None): VOID, None: VOID}

Expansion = Callable[[Any, tuple[Type, ...]], tuple[str, Type]]
"""Maps a program and argument types to the C++ name of a function and the type of its result."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """Compiled form of a function.

    Parameters
    ----------
    expand : callable
        An ``Expansion``.
    has_effects : bool
        A call changes memory.
    """

    expand: Expansion
    has_effects: bool


def intrinsic(name: str = "", *, has_effects: bool = False, expand: Expansion | None = None) -> Callable[[F], F]:
    """Declare the compiled form of a function.

    Python calls the function itself.

    Parameters
    ----------
    name : str
        Name of the C++ function; the type of the result is the return annotation of the Python function.
    acts : bool
        A call changes memory.
    expand : callable, optional
        Function that determines name and result type from the types of the arguments, instead of ``name``.
    """

    def decorate(function: F) -> F:
        if expand is None:
            returns = _RESULTS[get_type_hints(function, {**function.__globals__})["return"]]
            made = Intrinsic(lambda _program, _types: (name, returns), has_effects)
        else:
            made = Intrinsic(expand, has_effects)
        function.intrinsic = made  # type: ignore[attr-defined]
        return function

    return decorate


def intrinsic_of(function: Any) -> Intrinsic | None:
    """Return the compiled form of a function, ``None`` for functions without one."""
    found = getattr(function, "intrinsic", None)
    return found if isinstance(found, Intrinsic) else None


def expand_at_port(program: Any, types: tuple[Type, ...]) -> tuple[str, Type]:
    """Return the function that selects one port of a batch: arrays lose their first axis, numbers are unchanged."""
    batch = types[0]
    result = _port_type(batch)
    if isinstance(batch, Array):
        return "rt_port", result  # never called: kernels pass only structures
    return program.helper(("at_port", batch), lambda: _define_at_port(program, batch, result)), result


def _port_type(batch: Type) -> Type:
    if isinstance(batch, Array):
        return Array(batch.element, batch.ndim - 1)
    if isinstance(batch, Struct):
        return Struct(batch.tuple_class, tuple(map(_port_type, batch.item_types)))
    if isinstance(batch, Tuple):
        return Tuple(tuple(map(_port_type, batch.item_types)))
    return batch


def _define_at_port(program: Any, batch: Type, result: Type) -> str:
    code = _port_code(program, batch, "batch")
    name = program.fresh("", "at_port")
    program.add(
        f"static inline {program.cpp(result)} {name}({program.parameter(batch)}batch, int64_t port) {{\n"
        f"    return {code};\n}}\n"
    )
    return str(name)


def _port_code(program: Any, batch: Type, text: str) -> str:
    if isinstance(batch, Array):
        return f"{text}.part(port)"
    if isinstance(batch, Struct):
        parts = [
            _port_code(program, item, f"{text}.{identifier(name)}")
            for name, item in zip(batch.places, batch.item_types, strict=True)
        ]
        return f"{program.cpp(_port_type(batch))}{{{', '.join(parts)}}}"
    if isinstance(batch, Tuple):
        parts = [_port_code(program, item, f"std::get<{n}>({text})") for n, item in enumerate(batch.item_types)]
        return f"{program.cpp(_port_type(batch))}{{{', '.join(parts)}}}"
    return text


def expand_restore(program: Any, types: tuple[Type, ...]) -> tuple[str, Type]:
    """Return the function that copies a nested state onto another of the same type and size."""
    kind = types[0]
    return program.helper(("restore", kind), lambda: _define_restore(program, kind)), VOID


def _define_restore(program: Any, kind: Type) -> str:
    lines = list(_copies(kind, "to", "source"))
    name = program.fresh("", "restore")
    body = "".join(f"    {line}\n" for line in lines)
    parameter = program.parameter(kind)
    program.add(f"static inline void {name}({parameter}to, {parameter}source) {{\n{body}}}\n")
    return str(name)


def _copies(kind: Type, target: str, source: str) -> list[str]:
    if isinstance(kind, Array | RecordArray):
        return [f"memcpy({target}.first, {source}.first, size_t({target}.size()) * sizeof *{target}.first);"]
    if isinstance(kind, Struct):
        fields = [(identifier(name), item) for name, item in zip(kind.places, kind.item_types, strict=True)]
        return [line for name, item in fields for line in _copies(item, f"{target}.{name}", f"{source}.{name}")]
    if isinstance(kind, Tuple):
        places = [
            (f"std::get<{n}>({target})", f"std::get<{n}>({source})", each) for n, each in enumerate(kind.item_types)
        ]
        return [line for one, other, item in places for line in _copies(item, one, other)]
    return []


def expand_counters(_program: Any, _types: tuple[Type, ...]) -> tuple[str, Type]:
    """Return counters that are never read."""
    return "rt::new_counters", COUNTERS
