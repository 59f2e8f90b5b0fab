"""The check of a plug-in's scheduler: random requests show whether it keeps its contract (``docs/plugins.md``)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from vlane.errors import InputError

_PARAMETERS = {
    "choose": ("active", "waiting", "sizes", "weights", "memory"),
    "sent": ("chosen", "sizes", "weights", "memory"),
}
_REQUESTERS = (2, 8, 15)
_ROUNDS = 150
_MOST_BLOCKS = 66


def check_scheduler(name: str, made: Any, *, memory: int) -> None:
    """Refuse a scheduler that lacks a function, or breaks its contract under random requests; nothing is compiled.

    Raises
    ------
    InputError
        Saying what it did.
    """
    if not isinstance(made, type):
        raise InputError(f"scheduler {name}", "a class with choose and, if it remembers anything, sent", f"{made!r}")
    for word, parameters in _PARAMETERS.items():
        function = made.__dict__.get(word)
        if function is None and word == "sent":
            continue
        if not isinstance(function, staticmethod):
            got = "missing" if function is None else "another kind of member"
            raise InputError(f"{word} of scheduler {name}", "a static method", got)
        given = tuple(inspect.signature(function.__func__).parameters)
        if given != parameters:
            raise InputError(f"{word} of scheduler {name}", f"of parameters {', '.join(parameters)}", ", ".join(given))
    for requesters in _REQUESTERS:
        _check_requests(name, made, requesters, memory)


def _check_requests(name: str, made: Any, requesters: int, memory_words: int) -> None:
    source = np.random.default_rng(requesters)
    weights, memory = source.integers(0, 4, requesters), np.zeros(memory_words, np.int64)
    sent = getattr(made, "sent", None)
    for _ in range(_ROUNDS):
        active = int(source.integers(1, 1 << requesters))
        waiting = int(source.integers(0, 1 << requesters)) & ~active
        offers = np.array([(active >> each) & 1 for each in range(requesters)])
        sizes = source.integers(1, _MOST_BLOCKS + 1, requesters) * offers
        before = (sizes.copy(), weights.copy(), memory.copy())
        chosen = _called(name, "choose", made.choose, active, waiting, sizes, weights, memory)
        if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
            raise InputError(f"choose of scheduler {name}", "a function that returns a requester, or -1", f"{chosen!r}")
        if chosen != -1 and not (0 <= chosen < requesters and (active >> int(chosen)) & 1):
            got = f"{chosen} while {_listed(active)} could send"
            raise InputError(f"choose of scheduler {name}", "one that returns a requester that can send, or -1", got)
        if not all(np.array_equal(one, other) for one, other in zip(before, (sizes, weights, memory), strict=True)):
            raise InputError(f"choose of scheduler {name}", "one that changes nothing", "one that changed its arrays")
        if chosen != -1 and sent:
            _called(name, "sent", sent, int(chosen), sizes, weights, memory)
            if not (np.array_equal(before[0], sizes) and np.array_equal(before[1], weights)):
                raise InputError(f"sent of scheduler {name}", "one that changes memory only", "one that changed others")


def _listed(active: int) -> str:
    return ", ".join(str(each) for each in range(active.bit_length()) if (active >> each) & 1)


def _called(name: str, word: str, function: Any, *given: Any) -> Any:
    try:
        return function(*given)
    except Exception as error:  # noqa: BLE001 - code of somebody else
        raise InputError(f"{word} of scheduler {name}", "code that runs", f"{type(error).__name__}: {error}") from None
