"""Crosses: events that a run must show together in one cycle, counted over batches of rows.

An event is a rule of the block, or a condition on its ports by name. Rules come as one word per cycle, written by the
kernels that fill rows; conditions are computed for a whole batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.kernel import inner
from vlane.tb.native.rows import WORD_BITS, Field, Words

__all__ = [
    "Cross",
    "Crosses",
    "Cycles",
    "Event",
    "Happened",
    "Truths",
    "after",
    "note_rules",
    "room_for",
    "together",
    "without",
]

Truths = NDArray[np.bool_]
"""Whether an event happened, by cycle of a batch."""


class Happened(NamedTuple):
    """Which rules happened in each cycle.

    Parameters
    ----------
    before : array of int64, (rules,)
        Their counts as the cycle starts.
    words : array of uint64, (cycles,)
        Bit i: rule i happened.
    """

    before: NDArray[np.int64]
    words: NDArray[np.uint64]


def room_for(rules: int, cycles: int) -> Happened:
    """Return room for that many cycles.

    Raises
    ------
    ValueError
        If there are more rules than bits in a word.
    """
    if rules > WORD_BITS:
        raise ValueError(f"a block has at most {WORD_BITS} rules, not {rules}")
    return Happened(np.zeros(rules, np.int64), np.zeros(cycles, np.uint64))


@inner
def note_rules(happened: Happened, rules: NDArray[np.int64], cycle: int) -> None:
    """Write which counts a cycle raised."""
    word = np.uint64(0)
    for rule in range(len(rules)):
        word |= np.uint64(rules[rule] != happened.before[rule]) << np.uint64(rule)
        happened.before[rule] = rules[rule]
    happened.words[cycle] = word


class Cycles:
    """A batch of cycles, seen by events.

    Parameters
    ----------
    rules : sequence of str
        Names of the rules, by bit.
    inputs, outputs : mapping
        Where every port is in its row.
    """

    def __init__(self, rules: Sequence[str], inputs: Mapping[str, Field], outputs: Mapping[str, Field]) -> None:
        self._bits = {name: np.uint64(1 << bit) for bit, name in enumerate(rules)}
        self._inputs, self._outputs = inputs, outputs
        self._rows: Words = np.zeros((0, 0), np.uint64)
        self._expected, self._happened = self._rows, self._rows[0:0, 0:0]
        self._known: dict[Any, Any] = {}
        self.phase = ""
        """Name of the phase that the batch is of."""

    def show(self, rows: Words, expected: Words, happened: NDArray[np.uint64], phase: str) -> None:
        """Go on to another batch."""
        self._rows, self._expected, self._happened, self.phase = rows, expected, happened, phase
        self._known.clear()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what was computed under this key for this batch."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def rule(self, name: str) -> Truths:
        """Return whether a rule happened."""
        return (self._happened & self._bits[name]) != 0

    def has(self, port: str) -> bool:
        """Return whether the component has a port."""
        return port in self._inputs or port in self._outputs

    def bits(self, port: str, index: int = 0, width: int = 0) -> NDArray[np.uint64]:
        """Return element ``index``, of ``width`` bits, of a port; the whole port if no width is given."""
        field = self._inputs.get(port) or self._outputs[port]
        rows = self._rows if port in self._inputs else self._expected
        shift = field.shift + index * width
        place = Field(field.word + shift // WORD_BITS, shift % WORD_BITS, width or field.bits)
        column = self.once((port in self._inputs, place.word), lambda: np.ascontiguousarray(rows[:, place.word]))
        value: NDArray[np.uint64] = column >> np.uint64(place.shift) & np.uint64((1 << place.bits) - 1)
        return value

    def on(self, port: str) -> Truths:
        """Return whether a port is not 0; never, if the component lacks it."""
        if not self.has(port):
            return np.zeros(len(self._rows), np.bool_)
        field = self._inputs.get(port) or self._outputs[port]
        if field.bits == 1:
            rows = self._rows if port in self._inputs else self._expected
            column = self.once((port in self._inputs, field.word), lambda: np.ascontiguousarray(rows[:, field.word]))
            single: Truths = (column & np.uint64(1 << field.shift)) != 0
            return single
        value = self.bits(port, 0, min(field.bits, WORD_BITS - field.shift)) != 0
        for start in range(WORD_BITS - field.shift, field.bits, WORD_BITS):
            wide = Field(field.word + (field.shift + start) // WORD_BITS, 0, min(WORD_BITS, field.bits - start))
            value |= wide.get(self._rows if port in self._inputs else self._expected) != 0
        return value


Event = Callable[[Cycles], Any]
"""Tells in which cycles of a batch it happens: an array, or one truth for the batch."""


def after(values: NDArray[Any]) -> NDArray[Any]:
    """Return what was there a cycle before, 0 in the first cycle of a batch."""
    late = np.zeros_like(values)
    late[1:] = values[:-1]
    return late


@dataclass(frozen=True, slots=True)
class Cross:
    """Events that must happen in one cycle.

    Parameters
    ----------
    name : str
        In reports.
    events : tuple of str
        Rules, or events of the block's file of crosses.
    wild : bool
        Whether phases with inputs that the contract forbids count, too: it happens seldom or never in others.
    """

    name: str
    events: tuple[str, ...]
    wild: bool = False


def together(*names: str, wild: bool = False) -> tuple[Cross, ...]:
    """Return the crosses named, each as its events with `` x `` between them."""
    return tuple(Cross(name, tuple(name.split(" x ")), wild) for name in names)


def without(crosses: Iterable[Cross], *names: str) -> tuple[Cross, ...]:
    """Return the crosses but those named, which an instance cannot show, or too seldom."""
    return tuple(cross for cross in crosses if cross.name not in names)


class Crosses:
    """Crosses of a run and how often each happened.

    Parameters
    ----------
    crosses : iterable of Cross
        Those that the instance can show.
    events : mapping
        Events that are no rules, by name.
    rules, inputs, outputs
        As of ``Cycles``.
    """

    def __init__(
        self,
        crosses: Iterable[Cross],
        events: Mapping[str, Event],
        *,
        rules: Sequence[str],
        inputs: Mapping[str, Field],
        outputs: Mapping[str, Field],
    ) -> None:
        self.crosses = tuple(crosses)
        self._events, self._rules = events, frozenset(rules)
        self._cycles = Cycles(rules, inputs, outputs)
        self._counts = dict.fromkeys((cross.name for cross in self.crosses), 0)
        for cross in self.crosses:
            for name in cross.events:
                if name not in self._rules and name not in events:
                    raise ValueError(f"{cross.name}: no rule and no event is called {name}")

    def count(self, rows: Words, expected: Words, happened: NDArray[np.uint64], *, phase: str, wild: bool) -> None:
        """Count what happened in a batch, which is of one phase."""
        self._cycles.show(rows, expected, happened, phase)
        for cross in self.crosses:
            if wild and not cross.wild:
                continue
            first, *others = (self._happened(name) for name in cross.events)
            for other in others:
                first = first & other
            self._counts[cross.name] += int(np.count_nonzero(first))

    def counts(self, applicable: frozenset[str], *, wild: bool) -> dict[str, int]:
        """Return how often each cross happened, but those with a rule that does not apply; ``wild`` as in the run."""
        return {
            cross.name: self._counts[cross.name]
            for cross in self.crosses
            if (wild or not cross.wild) and not (set(cross.events) & self._rules) - applicable
        }

    def _happened(self, name: str) -> Any:
        found = self._cycles.rule if name in self._rules else None
        return self._cycles.once(name, lambda: found(name) if found else self._events[name](self._cycles))
