"""A barrier for kernels that run at the same time: nobody passes before all have arrived.

The threads spin: a window of a network takes microseconds, and waking a thread takes longer. After a while without
success a thread offers its core to others, so that more threads than cores still get on.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray
from vlane.golden.engine.kernel import inner

__all__ = ["meet", "new_barrier"]

_ARRIVED, _PASSED = 0, 8
"""Places in a barrier: threads that have arrived; times that all have passed. They are in cache lines of their own."""

_SPINS = 4096
"""Looks before a thread offers its core."""

_one_at_a_time = threading.Lock()
_INSIDE: Any = {"strict": False, "jit_options": {"forceinline": True}}


def new_barrier() -> NDArray[np.int64]:
    """Return a barrier that nobody has arrived at."""
    return np.zeros(16, np.int64)


def _raised(words: NDArray[np.int64], place: int, more: int) -> int:
    """Add to a word at once, whatever other threads do; return what it was. All that was written before is seen."""
    with _one_at_a_time:
        before = int(words[place])
        words[place] += more
    return before


def _seen(words: NDArray[np.int64], place: int) -> int:
    """Return a word as it is now, whoever wrote it."""
    return int(words[place])


def _offer_core() -> None:
    """Let other threads have the core."""
    time.sleep(0)


@intrinsic
def _add(_typing: Any, words: Any, place: Any, more: Any) -> Any:  # noqa: ARG001 - numba gives them
    """Add to a word of an array atomically, with sequential consistency; return what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = builder.gep(array.data, [arguments[1]], inbounds=True)
        return builder.atomic_rmw("add", word, arguments[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), generate


@intrinsic
def _look(_typing: Any, words: Any, place: Any) -> Any:  # noqa: ARG001 - numba gives them
    """Return a word of an array, read anew; what its writer wrote before is seen, too."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = builder.gep(array.data, [arguments[1]], inbounds=True)
        return builder.load_atomic(word, "acquire", 8)

    return types.int64(words, types.int64), generate


@intrinsic
def _yield_core(_typing: Any) -> Any:
    """Call the system's ``sched_yield``."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        function = cgutils.get_or_insert_function(builder.module, kind, "sched_yield")
        builder.call(function, [])

    return types.void(), generate


@overload(_raised, **_INSIDE)
def _raised_compiled(words: Any, place: Any, more: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda words, place, more: _add(words, place, more)  # noqa: PLW0108 - an intrinsic is no implementation


@overload(_seen, **_INSIDE)
def _seen_compiled(words: Any, place: Any) -> Any:  # noqa: ARG001 - numba gives it
    return lambda words, place: _look(words, place)  # noqa: PLW0108 - an intrinsic is no implementation


@overload(_offer_core, **_INSIDE)
def _offer_core_compiled() -> Any:
    return lambda: _yield_core()  # noqa: PLW0108 - an intrinsic is no implementation


@inner
def meet(barrier: NDArray[np.int64], threads: int) -> None:
    """Wait until so many threads have arrived; what each wrote before is seen by all after."""
    passed = _seen(barrier, _PASSED)  # before arriving: afterwards the others may already have passed
    if _raised(barrier, _ARRIVED, 1) == threads - 1:
        _raised(barrier, _ARRIVED, -threads)
        _raised(barrier, _PASSED, 1)
        return
    looks = 0
    while _seen(barrier, _PASSED) == passed:
        looks += 1
        if looks >= _SPINS:
            _offer_core()
