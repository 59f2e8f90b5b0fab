"""Contract check of a plug-in scheduler with random requests (``docs/plugins.md``)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from vlane.errors import InputError, missing_value
from vlane.schedulers.plugged import TIMES, uses_times

_PARAMETERS = {
    "choose": ("active", "waiting", "sizes", "weights", "memory"),
    "sent": ("chosen", "sizes", "weights", "memory"),
}
_REQUESTERS = (2, 8, 15)
_ROUNDS = 150
_MOST_BLOCKS = 66


def check_scheduler(name: str, made: Any, *, memory: int) -> None:
    """Reject a scheduler that lacks a function or violates its contract. Random requests run it uncompiled.

    Raises
    ------
    InputError
        If the contract is violated; describes the violation.
    """
    if not isinstance(made, type):
        raise InputError(f"scheduler {name}", "a class with choose and, if it keeps state, sent", f"{made!r}")
    for word, parameters in _PARAMETERS.items():
        function = made.__dict__.get(word)
        if function is None and word == "sent":
            continue
        if not isinstance(function, staticmethod):
            if function is None:
                raise missing_value(f"{word} of scheduler {name}", "define it as a static method")
            problem = "is not a static method: decorate it with @staticmethod"
            raise InputError(f"{word} of scheduler {name}", "a static method", "another member", problem=problem)
        given = tuple(inspect.signature(function.__func__).parameters)
        if given not in {parameters, (*parameters, *TIMES)}:
            field, must, got = f"{word} of scheduler {name}", ", ".join(parameters), ", ".join(given)
            problem = f"has the parameters ({got}), expected ({must}) or ({must}, {', '.join(TIMES)})"
            raise InputError(field, must, got, problem=problem)
    for requesters in _REQUESTERS:
        if _check_requests(name, made, requesters, memory) != _check_requests(name, made, requesters, memory):
            problem = "is not deterministic: its choices differ between two equal sequences of requests"
            raise InputError(f"scheduler {name}", "deterministic", "different choices", problem=problem)


def sees_time(made: Any) -> bool:
    """Return whether a checked scheduler uses the cycle and the arrivals of heads."""
    functions = (made.__dict__[word].__func__ for word in _PARAMETERS if word in made.__dict__)
    return any(map(uses_times, functions))


def _check_requests(name: str, made: Any, requesters: int, memory_words: int) -> list[int]:
    """Run random requests and return the choices."""
    source, choices = np.random.default_rng(requesters), []
    weights, memory = source.integers(0, 4, requesters), np.zeros(memory_words, np.int64)
    sent, cycle = getattr(made, "sent", None), 0
    for _ in range(_ROUNDS):
        cycle += int(source.integers(1, _MOST_BLOCKS))
        active = int(source.integers(1, 1 << requesters))
        waiting = int(source.integers(0, 1 << requesters)) & ~active
        offers = np.array([(active >> each) & 1 for each in range(requesters)])
        sizes = source.integers(1, _MOST_BLOCKS + 1, requesters) * offers
        arrivals = source.integers(0, cycle + 1, requesters) * offers
        before = (sizes.copy(), weights.copy(), memory.copy(), arrivals.copy())
        seen = (cycle, arrivals)
        more = seen if uses_times(made.choose) else ()
        chosen = _called(name, "choose", made.choose, active, waiting, sizes, weights, memory, *more)
        choices.append(chosen)
        if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
            problem = f"returned {chosen!r}, not a requester or -1"
            raise InputError(f"choose of scheduler {name}", "a requester or -1", f"{chosen!r}", problem=problem)
        if chosen != -1 and not (0 <= chosen < requesters and (active >> int(chosen)) & 1):
            problem = f"returned {chosen}, which cannot send; active requesters are {_listed(active)}"
            raise InputError(f"choose of scheduler {name}", "an active requester or -1", int(chosen), problem=problem)
        if not all(
            np.array_equal(one, other) for one, other in zip(before, (sizes, weights, memory, arrivals), strict=True)
        ):
            problem = "changed its arguments, which only sent may do"
            raise InputError(f"choose of scheduler {name}", "free of side effects", "changed arrays", problem=problem)
        if chosen != -1 and sent:
            more = seen if uses_times(sent) else ()
            _called(name, "sent", sent, int(chosen), sizes, weights, memory, *more)
            kept = ((before[0], sizes), (before[1], weights), (before[3], arrivals))
            if not all(np.array_equal(one, other) for one, other in kept):
                problem = "changed sizes, weights or arrivals; it may change only memory"
                raise InputError(f"sent of scheduler {name}", "limited to memory", "changed arrays", problem=problem)
    return choices


def _listed(active: int) -> str:
    return ", ".join(str(each) for each in range(active.bit_length()) if (active >> each) & 1)


def _called(name: str, word: str, function: Any, *given: Any) -> Any:
    try:
        return function(*given)
    except Exception as error:  # noqa: BLE001 - code of somebody else
        got = f"{type(error).__name__}: {error}"
        raise InputError(f"{word} of scheduler {name}", "free of errors", got, problem=f"failed: {got}") from None
