"""How a golden function is compiled: the same source runs compiled, and uncompiled under a debugger.

Numba keys its cache by one file's date, yet a compiled function holds the code of every function it calls.
So the cache folder is named by the content of all golden and bench sources: a change anywhere starts afresh.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.extending import overload, register_jitable

from vlane.paths import build_dir

__all__ = ["by_type", "inner", "kernel", "source_digest"]

F = TypeVar("F", bound=Callable[..., object])


def source_digest() -> str:
    """Return a digest of all sources that compiled functions are made of."""
    here = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for folder in (here, here.parent / "tb"):
        for source in sorted(folder.glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(build_dir("numba", source_digest())))
numba.config.reload_config()  # type: ignore[no-untyped-call]  # it may be imported already, and have read no name

_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}  # not in the stubs
_INNER: Any = {"forceinline": True, "no_cpython_wrapper": True, **_OPTIONS}


def kernel(function: F) -> F:
    """Compile a function over integers and arrays; it holds no interpreter lock while it runs.

    A kernel makes no array and returns none: then numba need not count who refers to which array,
    which would take most of the time (it refuses to compile one that does).
    """
    return cast("F", numba.njit(cache=True, forceinline=True, **_OPTIONS)(function))


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
