"""A program of translated functions: structures, records, constants and functions, in the order of first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vlane.golden.compiler.function import Instance, translate
from vlane.golden.compiler.intrinsics import intrinsic_of
from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.source import Source, python_function
from vlane.golden.compiler.types import Array, Kind, Record, RecordArray, Struct, Tuple, Type


class Program:
    """Translated functions and their dependencies.

    Parameters
    ----------
    checked : bool
        Check indices, and name the line in errors.
    comments : bool
        Keep comments and the first lines of docstrings.
    """

    def __init__(self, *, checked: bool = False, comments: bool = False) -> None:
        self.checked, self.comments = checked, comments
        self._parts: list[str] = []
        self._names: dict[str, set[str]] = {}
        self._types: dict[Type, str] = {}
        self._instances: dict[tuple[Any, tuple[Type, ...]], Instance] = {}
        self._under_way: list[tuple[Any, tuple[Type, ...]]] = []
        self._modules: dict[str, str] = {}
        self._constants: dict[tuple[str, str], str] = {}
        self._helpers: dict[Any, str] = {}

    @property
    def text(self) -> str:
        """The program, without its entry."""
        return "\n".join(self._parts)

    def add(self, text: str) -> None:
        """Append a definition."""
        self._parts.append(text)

    def helper(self, key: Any, make: Callable[[], str]) -> str:
        """Return the name of a generated function. On the first call ``make`` defines it and returns the name."""
        if key not in self._helpers:
            self._helpers[key] = make()
        return self._helpers[key]

    def fresh(self, space: str, name: str) -> str:
        """Return an unused name in a namespace."""
        used = self._names.setdefault(space, set())
        name = identifier(name)
        found, number = name, 1
        while found in used:
            number += 1
            found = f"{name}_{number}"
        used.add(found)
        return found

    def namespace(self, module: str) -> str:
        """Return the namespace of a Python module: its last name, with its package in front if that name is in use."""
        if module not in self._modules:
            parts = module.split(".")
            for count in range(1, len(parts) + 1):
                name = identifier("_".join(parts[-count:]))
                if name not in self._modules.values():
                    break
            else:
                name = self.fresh("", identifier(module.replace(".", "_")))
            self._modules[module] = name
        return self._modules[module]

    def cpp(self, kind: Type) -> str:
        """Return the C++ name of a type. A structure is defined at its first use."""
        if kind.cpp:
            return kind.cpp
        if kind not in self._types:
            self._types[kind] = self._defined(kind)
        return self._types[kind]

    def parameter(self, kind: Type) -> str:
        """Return the C++ type of a parameter."""
        if isinstance(kind, Struct):
            return f"const {self.cpp(kind)} &"
        if isinstance(kind, Record):
            return f"{self.cpp(kind)} &"
        return f"{self.cpp(kind)} "

    def _defined(self, kind: Type) -> str:
        if isinstance(kind, Kind):
            name = self.fresh("", kind.name)
            fields = "".join(
                f"    {Array(element, 1).item_cpp} {identifier(field)};\n" for field, element in kind.fields
            )
            self.add(f"struct [[gnu::packed]] {name} {{\n{fields}}};\n")
            return name
        if isinstance(kind, Record):
            return self.cpp(kind.kind)
        if isinstance(kind, RecordArray):
            return f"rt::Records<{self.cpp(kind.kind)}, {kind.ndim}>"
        if isinstance(kind, Tuple):
            items = [self.cpp(each) for each in kind.item_types]
            if items and kind.is_uniform:
                return f"std::array<{items[0]}, {len(items)}>"
            return f"std::tuple<{', '.join(items)}>"
        if isinstance(kind, Struct):
            items = [self.cpp(each) for each in kind.item_types]
            fields = "".join(
                f"    {item} {identifier(field)};\n" for item, field in zip(items, kind.places, strict=True)
            )
            name = self.fresh("", kind.tuple_class.__name__)
            about = _first_sentence(kind.tuple_class.__doc__) if self.comments else ""
            self.add(f"{about}struct {name} {{\n{fields}}};\n")
            return name
        raise TypeError(kind)

    def constant(self, module: str, name: str, kind: str, text: str) -> str:
        """Return the name of a module's constant, which is defined at its first use."""
        key = (module, name)
        space = self.namespace(module)
        if key not in self._constants:
            found = self.fresh(space, name)
            self._constants[key] = f"{space}::{found}"
            self.add(f"namespace {space} {{ constexpr {kind} {found} = {text}; }}")
        return self._constants[key]

    def call(self, function: Callable[..., Any], types: Sequence[Type]) -> Instance:
        """Return a function for arguments of certain types, translated at its first use.

        Raises
        ------
        UntranslatableError
            If the function is outside the subset.
        TypeError
            If the function is not a Python function, calls itself, has a different number of parameters, or has no
            implementation for the type of the first argument.
        """
        choices = getattr(function, "choices", None)
        while choices is not None:  # dispatch on the type of the first argument
            chosen = choices.get(types[0].tuple_class) if types and isinstance(types[0], Struct) else None
            chosen = chosen or getattr(function, "default", None)
            if chosen is None:
                name = getattr(function, "__name__", repr(function))
                raise TypeError(f"{name} has no implementation for {types[0] if types else 'no argument'}")
            function = chosen
            choices = getattr(function, "choices", None)
        if (intrinsic := intrinsic_of(function)) is not None:
            name, returns = intrinsic.expand(self, tuple(types))
            return Instance(name, returns, intrinsic.has_effects, tuple(types))
        found = python_function(function)
        key = (found, tuple(types))
        if key not in self._instances:
            source = Source(found)
            if key in self._under_way:
                raise TypeError(f"{source.name} calls itself")
            self._under_way.append(key)
            try:
                self._instances[key] = translate(self, source, tuple(types))
            finally:
                self._under_way.pop()
        return self._instances[key]


def _first_sentence(text: str | None) -> str:
    """Return the first line of a docstring as a comment line."""
    first = (text or "").strip().splitlines()
    return f"// {first[0]}\n" if first else ""
