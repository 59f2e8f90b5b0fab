"""Compilation of golden functions: the same source runs compiled, or uncompiled under a debugger.

numba keys its cache by the content of one file, but a compiled function contains the code of every function it calls.
Therefore the cache folder is named by the content of all golden, bench and table sources and of the schedulers of
plug-ins that are loaded, and a change of any of them starts a new folder. The folder is created when a kernel is first
called: a command that calls none needs no cache.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher
from numba.extending import overload, register_jitable

import vlane
from vlane.paths import cache_dir
from vlane.plugins import digest_of, plugins_of

__all__ = ["by_type", "inner", "kernel", "source_digest"]

F = TypeVar("F", bound=Callable[..., object])
_log = logging.getLogger(__name__)


@functools.cache
def source_digest() -> str:
    """Return a digest of everything that determines compiled functions: sources and versions of the compilers."""
    here, tables = Path(__file__).resolve().parent.parent, Path(vlane.__file__).resolve().parent
    digest = hashlib.sha256("\0".join((vlane.__version__, numba.__version__, version("llvmlite"))).encode())
    for folder, pattern in ((here, "**/*.py"), (here.parent / "tb", "**/*.py"), (tables, "*.py")):
        for source in sorted(folder.glob(pattern)):
            text = source.read_bytes()
            digest.update(f"\0{folder.name}/{source.relative_to(folder)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def _folder_name() -> str:
    """Return the name of the cache folder, which changes when a plug-in with a scheduler is loaded."""
    plugged = digest_of(plugins_of("scheduler").values())
    return f"{source_digest()}-{plugged}" if plugged else source_digest()


def _subfolder(file: str) -> str:
    return str(UserProvidedCacheLocator.get_suitable_cache_subpath(file))  # type: ignore[no-untyped-call]


class _Locator(UserProvidedCacheLocator):
    """Places the cache files of a function in vlane's cache folder, whatever numba's own settings are."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        self._cache_path = str(cache_dir("numba", _folder_name(), _subfolder(py_file)))

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - as numba has it


class _FileCache(FunctionCache):
    _impl_class = _Files


class _Cache(NullCache):
    """The cache files of a function, opened when it is first called; logs once that something is compiled."""

    _said = False

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._opened: dict[str, Any] = {}

    @property
    def _files(self) -> Any:
        name = _folder_name()
        if name not in self._opened:
            self._opened[name] = _FileCache(self._function)  # type: ignore[no-untyped-call]
        return self._opened[name]

    @property
    def cache_path(self) -> str:
        return str(self._files.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = self._files.load_overload(sig, target_context)
        if found is None and not _Cache._said:
            _Cache._said = True
            _log.info("compiling golden for this machine: what is called first takes seconds, and is kept")
        return found

    def save_overload(self, sig: Any, cres: Any) -> None:
        self._files.save_overload(sig, cres)


_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}  # not in the stubs
_INNER: Any = {"forceinline": True, "no_cpython_wrapper": True, **_OPTIONS}


def kernel(function: F) -> F:
    """Compile a function over integers and arrays; it releases the interpreter lock while it runs.

    A kernel neither creates nor returns arrays. Compilation without numba's runtime enforces this: reference counting
    would take most of the time of short kernels.
    """
    made = numba.njit(forceinline=True, **_OPTIONS)(function)
    if isinstance(made, Dispatcher):  # it is the function as it was under NUMBA_DISABLE_JIT
        made._cache = _Cache(function)  # type: ignore[attr-defined]  # `cache=True` makes all folders at once
    return cast("F", made)


def inner(function: F) -> F:
    """Mark a function that only kernels call: it is compiled with them, without a wrapper for calls from Python.

    Without the wrapper compilation takes half the time. Python calls the uncompiled function.
    """
    return register_jitable(**_INNER)(function)


def by_type(choices: Mapping[type, Callable[..., Any]]) -> Callable[[F], F]:
    """Let a function be, for kernels and for Python, the one of its first argument's type.

    Parameters
    ----------
    choices : mapping of type to function
        Functions of the same arguments, each an ``inner`` or a ``kernel``; the decorated one gives only its name and
        its contract. Types may be added until the function is first called with one of them.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def dispatch(first: Any, *rest: Any) -> Any:
            return choices[type(first)](first, *rest)

        @overload(dispatch, strict=False, jit_options=_INNER)
        def compiled(first: Any, *_: Any) -> Callable[..., Any]:
            chosen = choices[first.instance_class]
            return getattr(chosen, "py_func", chosen)  # numba compiles what is written, not what is compiled

        return cast("F", dispatch)

    return decorate
