"""Kernels as Python calls them: arguments by address, numbers by value, a result of numbers."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from vlane.errors import InputError
from vlane.golden.compiler.build import Compiled, load
from vlane.golden.compiler.entry import decoded
from vlane.golden.compiler.types import INT, VOID, Number, Type, type_of

MODE = os.environ.get("VLANE_KERNELS", "") or "compiled"
"""Mode of all kernels: ``compiled``, ``checked`` (compiled with index checks) or ``python`` (not compiled)."""

_FAULTS: dict[int, tuple[type[Exception], str]] = {
    1: (ZeroDivisionError, "integer division by zero"),
    2: (ValueError, "negative shift count"),
    3: (IndexError, "index out of bounds"),
    4: (IndexError, "slice out of bounds"),
    5: (ValueError, "arrays of different sizes"),
}
"""Python exception for each ``Fault`` of ``runtime.hpp``."""

_CALLS_BETWEEN = 32
"""Number of calls with new arguments between two releases of arguments that only kernels reference."""

_calls = 0
_lock = threading.Lock()
_memories: set[Kernel] = set()
"""Kernels that keep their last arguments."""


class _Call:
    """A compiled kernel with its last arguments.

    Parameters
    ----------
    compiled : Compiled
        Kernel compiled for these types.
    types : tuple of Type
        Types of the arguments.
    held : list of (int, object, Type, list of int)
        Arguments other than plain numbers: position, value, type, words.
    numbers : list of (int, type)
        Plain numbers: position, Python type.
    """

    __slots__ = ("_buffer", "_entry", "_places", "_returns", "_words", "held", "numbers", "types")

    def __init__(
        self,
        compiled: Compiled,
        types: tuple[Type, ...],
        held: list[tuple[int, Any, Type, list[int]]],
        numbers: list[tuple[int, type]],
    ) -> None:
        self._entry, self._returns = compiled.entry, compiled.return_type
        self.types, self.held, self.numbers = types, held, numbers
        self._places = [place for place, _ in numbers]
        words = [word for each in held for word in each[3]]
        self._words = (ctypes.c_uint64 * max(len(words), 1))(*words)
        self._buffer = ctypes.c_int64 * max(len(numbers), _count(self._returns), 1)

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        numbers = self._buffer(*[int(arguments[place]) for place in self._places])
        fault = self._entry(self._words, numbers)
        if fault:
            raise _error(fault, numbers[0])
        returns = self._returns
        if returns is VOID:
            return None
        if returns is INT:
            return numbers[0]
        return decoded(returns, iter(numbers))


class Kernel:
    """A golden function that is translated to C++ and compiled for the types of its arguments.

    A kernel releases the interpreter lock while it runs. The last arrays and structures are kept, so that a repeated
    call takes microseconds.

    Parameters
    ----------
    function : callable
        Function within the subset (``docs/compiler.md``).
    key : callable
        Function that returns a digest of the sources that determine the compiled code.
    """

    def __init__(self, function: Callable[..., Any], key: Callable[[], str]) -> None:
        self.python_function = function
        self._key = key
        self._compiled: dict[tuple[str, tuple[Type, ...]], Compiled] = {}
        self._last: _Call | None = None
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<kernel {self.python_function.__module__}.{self.python_function.__qualname__}>"

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel.

        Raises
        ------
        TypeError
            If an argument has a type that kernels do not accept.
        UntranslatableError
            If the kernel is outside the subset.
        """
        last = self._last
        if last is not None and len(arguments) == len(last.types):
            for place, value, _, _ in last.held:
                if arguments[place] is not value:
                    break
            else:
                for place, made in last.numbers:
                    if type(arguments[place]) is not made:
                        break
                else:
                    return last(arguments)
        return self._call_with_others(arguments, last)

    def _call_with_others(self, arguments: tuple[Any, ...], last: _Call | None) -> Any:
        """Run the kernel with arguments of which at least one differs from the last call."""
        if MODE not in {"compiled", "checked"}:
            if MODE != "python":
                raise InputError("VLANE_KERNELS", "compiled, checked or python", MODE, source="environment")
            return self.python_function(*arguments)
        known = {} if last is None else {each[0]: each for each in last.held}
        types: list[Type] = []
        held, numbers = [], []
        for place, value in enumerate(arguments):
            before = known.get(place)
            if before is not None and before[1] is value:
                types.append(before[2])
                held.append(before)
                continue
            words: list[int] = []
            kind = type_of(value, words)
            types.append(kind)
            if isinstance(kind, Number):
                numbers.append((place, type(value)))
            else:
                held.append((place, value, kind, words))
        every = tuple(types)
        call = _Call(self.compiled(every), every, held, numbers)
        self._last = call
        if held:
            _remember(self)
        return call(arguments)

    def compiled(self, types: tuple[Type, ...]) -> Compiled:
        """Return the kernel compiled for arguments of certain types."""
        key = (MODE, types)
        found = self._compiled.get(key)
        if found is None:
            function = self.python_function
            name = f"{function.__module__}.{function.__qualname__}"
            words = (self._key(), MODE, name, *map(signature, types))
            with _lock:
                found = self._compiled[key] = load(function, types, "\0".join(words), checked=MODE == "checked")
        return found

    def forget(self) -> None:
        """Release the last arguments."""
        self._last = None
        _memories.discard(self)


def _remember(kernel: Kernel) -> None:
    """Register a kernel that keeps arguments, and release unused arguments from time to time."""
    global _calls  # noqa: PLW0603 - a count of the process
    _memories.add(kernel)
    _calls += 1
    if _calls % _CALLS_BETWEEN == 0:
        _forget_unused()


def _forget_unused() -> None:
    """Release arguments that only kernels reference: they cannot be passed again and may be large."""
    calls = [(kernel, kernel._last) for kernel in list(_memories) if kernel._last is not None]
    held = [each for _, call in calls for each in call.held]
    entries = {id(each): each for each in held}.values()  # each references its argument once
    counts = Counter(id(each[1]) for each in entries)
    unused = {id(each[1]) for each in entries if sys.getrefcount(each[1]) <= counts[id(each[1])] + 1}
    for kernel, call in calls:
        if any(id(each[1]) in unused for each in call.held):
            kernel.forget()


def _count(kind: Type) -> int:
    """Return the number of numbers in a result."""
    items = getattr(kind, "item_types", None)
    return sum(map(_count, items)) if items is not None else 1


def _error(fault: int, place: int) -> Exception:
    kind, text = _FAULTS[fault]
    where = ctypes.string_at(place).decode() if place else ""
    return kind(f"{where}: {text}" if where else f"{text}; VLANE_KERNELS=checked names the line")


_signatures: dict[Type, str] = {}


def signature(kind: Type) -> str:
    """Return a text that is equal for equal types in every process."""
    found = _signatures.get(kind)
    if found is None:
        items = getattr(kind, "item_types", None)
        if items is None:
            fields = getattr(getattr(kind, "kind", None), "fields", "")
            found = f"{kind.text}{fields}"
        else:
            made = getattr(kind, "tuple_class", None)
            name = f"{made.__module__}.{made.__qualname__}" if made else ""
            found = f"{name}({','.join(map(signature, items))})"
        _signatures[kind] = found
    return found
