"""Decorators for golden functions: the same source runs compiled, or as Python under a debugger.

``docs/compiler.md`` describes the subset of Python, ``docs/engine.md`` the common structure of golden functions.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import vlane
from vlane.golden.compiler.kernel import Kernel
from vlane.plugins import Plugin, digest_of, plugins_of

F = TypeVar("F", bound=Callable[..., object])


@functools.cache
def source_digest() -> str:
    """Return a digest of vlane's version and of all its Python sources in golden, tb and vlane."""
    here, tables = Path(__file__).resolve().parent.parent, Path(vlane.__file__).resolve().parent
    digest = hashlib.sha256(vlane.__version__.encode())
    for folder, pattern in ((here, "**/*.py"), (here.parent / "tb", "**/*.py"), (tables, "**/*.py")):
        for source in sorted(folder.glob(pattern)):
            text = source.read_bytes()
            digest.update(f"\0{folder.name}/{source.relative_to(folder)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def _digest(file: Path) -> str:
    """Return a digest of vlane's sources, of plug-ins that are compiled, and of a file."""
    plugins = (*plugins_of("scheduler").values(), *plugins_of("source").values())
    return f"{source_digest()}-{_plugins_digest(plugins)}-{_file_digest(file)}"


@functools.lru_cache(maxsize=8)
def _plugins_digest(plugins: tuple[Plugin, ...]) -> str:
    return digest_of(plugins)


@functools.cache
def _file_digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def kernel(function: F) -> F:
    """Declare a compiled function that Python can call.

    It releases the interpreter lock while it runs. A kernel takes numbers, arrays, records and NamedTuples of these,
    and returns numbers or tuples of numbers.
    """
    return cast("F", Kernel(function, functools.partial(_digest, Path(inspect.getfile(function)))))


def inner(function: F) -> F:
    """Mark a function called by kernels and compiled with them. Called from Python it runs as Python."""
    return function


def by_type(choices: Mapping[type, Callable[..., Any]], *, default: bool = False) -> Callable[[F], F]:
    """Dispatch on the type of the first argument, in Python and in compiled code.

    Parameters
    ----------
    choices : mapping of type to function
        Functions with equal parameters, each an ``inner`` or a ``kernel``. Compiled kernels keep the types that existed
        when they were compiled.
    default : bool
        Whether the body of the decorated function serves all other types. Otherwise the decorated function supplies
        only its name and its docstring.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def dispatch(first: Any, *rest: Any) -> Any:
            chosen = choices.get(type(first), function) if default else choices[type(first)]
            return chosen(first, *rest)

        dispatch.choices = choices  # type: ignore[attr-defined]
        dispatch.default = function if default else None  # type: ignore[attr-defined]
        return cast("F", dispatch)

    return decorate
