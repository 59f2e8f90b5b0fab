"""How a golden function is compiled: the same source runs compiled, and uncompiled under a debugger.

Numba keys its cache by one file's content, yet a compiled function holds the code of every function it calls.
So the cache folder is named by the content of all golden, bench and table sources: a change anywhere starts afresh.
The folder is made when a kernel is first called, not before: a command that calls none needs no cache.
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

__all__ = ["by_type", "inner", "kernel", "source_digest"]

F = TypeVar("F", bound=Callable[..., object])
_log = logging.getLogger(__name__)


@functools.cache
def source_digest() -> str:
    """Return a digest of all that compiled functions are made of: sources, and the versions of the compilers."""
    here, tables = Path(__file__).resolve().parent, Path(vlane.__file__).resolve().parent
    digest = hashlib.sha256("\0".join((vlane.__version__, numba.__version__, version("llvmlite"))).encode())
    for folder, pattern in ((here, "**/*.py"), (here.parent / "tb", "**/*.py"), (tables, "*.py")):
        for source in sorted(folder.glob(pattern)):
            text = source.read_bytes()
            digest.update(f"\0{folder.name}/{source.relative_to(folder)}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def _subfolder(file: str) -> str:
    return str(UserProvidedCacheLocator.get_suitable_cache_subpath(file))  # type: ignore[no-untyped-call]


class _Locator(UserProvidedCacheLocator):
    """Puts what is kept of a function in our folder, wherever numba keeps that of others."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        self._cache_path = str(cache_dir("numba", source_digest(), _subfolder(py_file)))

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - as numba has it


class _FileCache(FunctionCache):
    _impl_class = _Files


class _Cache(NullCache):
    """What is kept of a function, looked for when it is first called; says that something is compiled, once."""

    _said = False

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    @functools.cached_property
    def _files(self) -> Any:
        return _FileCache(self._function)  # type: ignore[no-untyped-call]

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
    """Compile a function over integers and arrays; it holds no interpreter lock while it runs.

    A kernel makes no array and returns none: then numba need not count who refers to which array,
    which would take most of the time (it refuses to compile one that does).
    """
    made = numba.njit(forceinline=True, **_OPTIONS)(function)
    if isinstance(made, Dispatcher):  # it is the function as it was under NUMBA_DISABLE_JIT
        made._cache = _Cache(function)  # type: ignore[attr-defined]  # `cache=True` makes all folders at once
    return cast("F", made)


def inner(function: F) -> F:
    """Let kernels compile a function that only they call: in half the time, as Python cannot call what they compile.

    Python calls the function as it is written.
    """
    return register_jitable(**_INNER)(function)


def by_type(choices: Mapping[type, Callable[..., Any]]) -> Callable[[F], F]:
    """Let a function be, for kernels and for Python, the one of its first argument's type; all are ``inner``.

    Parameters
    ----------
    choices : mapping of type to function
        Functions of the same arguments; the decorated one gives only its name and its contract.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def dispatch(first: Any, *rest: Any) -> Any:
            return choices[type(first)](first, *rest)

        @overload(dispatch, strict=False, jit_options=_INNER)
        def compiled(first: Any, *_: Any) -> Callable[..., Any]:
            return choices[first.instance_class]

        return cast("F", dispatch)

    return decorate
