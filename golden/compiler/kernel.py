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

from vlane.golden.compiler.build import Compiled, load
from vlane.golden.compiler.entry import decoded, words_of
from vlane.golden.compiler.types import INT, VOID, Number, Type, type_of

from vlane.errors import InputError

__all__ = ["MODE", "Kernel", "signature"]

MODE = os.environ.get("VLANE_KERNELS", "") or "compiled"
"""How kernels run: ``compiled``; ``checked``, compiled with checks of every index; ``python``, not compiled."""

_FAULTS: dict[int, tuple[type[Exception], str]] = {
    1: (ZeroDivisionError, "integer division by zero"),
    2: (ValueError, "negative shift count"),
    3: (IndexError, "index out of bounds"),
    4: (IndexError, "slice out of bounds"),
    5: (ValueError, "arrays of different sizes"),
}
"""Python's error for each ``Fault`` of ``runtime.hpp``."""

_lock = threading.Lock()
_memories: set[Kernel] = set()
"""Kernels that remember their last arguments."""


class _Call:
    """A kernel with its arrays and structures, called with numbers only.

    Parameters
    ----------
    compiled : Compiled
        The kernel for these types.
    types : tuple of Type
        Types of the arguments.
    arguments : tuple
        Arguments; those that are no plain numbers are kept.
    """

    __slots__ = ("_buffer", "_entry", "_numbers", "_returns", "_words", "held", "kinds")

    def __init__(self, compiled: Compiled, types: tuple[Type, ...], arguments: tuple[Any, ...]) -> None:
        self._entry, self._returns = compiled.entry, compiled.returns
        self.held = [(place, each) for place, each in enumerate(arguments) if not isinstance(types[place], Number)]
        self._numbers = [place for place, kind in enumerate(types) if isinstance(kind, Number)]
        self.kinds = [(place, type(arguments[place])) for place in self._numbers]
        words: list[int] = []
        for _, each in self.held:
            words_of(each, words)
        self._words = (ctypes.c_uint64 * max(len(words), 1))(*words)
        self._buffer = ctypes.c_int64 * max(len(self._numbers), _count(self._returns), 1)

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        numbers = self._buffer(*[int(arguments[place]) for place in self._numbers])
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

    A kernel releases the interpreter lock while it runs. It remembers its last arrays and structures, so that a call
    with the same ones takes microseconds.

    Parameters
    ----------
    function : callable
        A function within the subset (``docs/compiler.md``).
    key : callable
        Returns a digest of the sources that determine the compiled code.
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
            If an argument is of a type that kernels do not take.
        UntranslatableError
            If the kernel is outside the subset.
        """
        last = self._last
        if last is not None and len(arguments) == len(last.held) + len(last.kinds):
            for place, each in last.held:
                if arguments[place] is not each:
                    break
            else:
                for place, kind in last.kinds:
                    if type(arguments[place]) is not kind:
                        break
                else:
                    return last(arguments)
        return self._first_call(arguments)

    def _first_call(self, arguments: tuple[Any, ...]) -> Any:
        if MODE not in {"compiled", "checked"}:
            if MODE != "python":
                raise InputError("VLANE_KERNELS", "compiled, checked or python", MODE)
            return self.python_function(*arguments)
        types = tuple([type_of(each) for each in arguments])
        call = _Call(self.compiled(types), types, arguments)
        _forget_unused()
        self._last = call
        if call.held:
            _memories.add(self)
        return call(arguments)

    def compiled(self, types: tuple[Type, ...]) -> Compiled:
        """Return the compiled kernel for arguments of certain types."""
        key = (self._key(), types)
        found = self._compiled.get(key)
        if found is None:
            function = self.python_function
            name = f"{function.__module__}.{function.__qualname__}"
            words = (*key[:1], MODE, name, *map(signature, types))
            with _lock:
                found = self._compiled[key] = load(function, types, "\0".join(words), checked=MODE == "checked")
        return found

    def forget(self) -> None:
        """Forget the last arguments."""
        self._last = None
        _memories.discard(self)


def _forget_unused() -> None:
    """Forget arguments that only kernels still hold: nobody can pass them again, and they may be large."""
    kernels = list(_memories)
    held = [each for kernel in kernels if kernel._last for _, each in kernel._last.held]
    counts = Counter(map(id, held))
    # an object is referred to by its entries in `held`, by those of the calls, by the loop and by the function called
    unused = {id(each) for each in held if sys.getrefcount(each) <= 2 * counts[id(each)] + 2}
    del held
    for kernel in kernels:
        last = kernel._last
        if last is not None and any(id(each) in unused for _, each in last.held):
            kernel.forget()


def _count(kind: Type) -> int:
    """Return the count of numbers of a result."""
    items = getattr(kind, "items", None)
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
        items = getattr(kind, "items", None)
        if items is None:
            fields = getattr(getattr(kind, "kind", None), "fields", "")
            found = f"{kind.text}{fields}"
        else:
            made = getattr(kind, "made", None)
            name = f"{made.__module__}.{made.__qualname__}" if made else ""
            found = f"{name}({','.join(map(signature, items))})"
        _signatures[kind] = found
    return found
