"""Crosses: events that a run must reach together in one cycle, counted over batches of rows.

An event is a rule of the block or a named condition on its ports. The kernels that fill rows write the rules as one
word per cycle. Conditions are computed for a whole batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.tb.machinery.native.rows import WORD_BITS, Field, Words

Truths = NDArray[np.bool_]
"""Whether an event occurred, by cycle of a batch."""


class EventLog(NamedTuple):
    """Log of the rules that occurred in each cycle of a batch.

    Parameters
    ----------
    before : array of int64, (rules,)
        Counts of the rules at the start of the cycle.
    words : array of uint64, (cycles,)
        One word per cycle; bit i is set if rule i occurred.
    """

    before: NDArray[np.int64]
    words: NDArray[np.uint64]


def new_event_log(rules: int, cycles: int) -> EventLog:
    """Return an empty log of ``rules`` rules over ``cycles`` cycles.

    Raises
    ------
    ValueError
        If there are more rules than bits in a word.
    """
    if rules > WORD_BITS:
        raise ValueError(f"a block has {rules} rules; at most {WORD_BITS} fit into a word")
    return EventLog(np.zeros(rules, np.int64), np.zeros(cycles, np.uint64))


@inner
def log_rules(event_log: EventLog, rule_counts: NDArray[np.int64], cycle: int) -> None:
    """Set the bit of each rule whose count rose in this cycle."""
    word = np.uint64(0)
    for rule in range(len(rule_counts)):
        word |= np.uint64(rule_counts[rule] != event_log.before[rule]) << np.uint64(rule)
        event_log.before[rule] = rule_counts[rule]
    event_log.words[cycle] = word


class Cycles:
    """A batch of cycles: port values and rules, from which events are evaluated for all cycles at once.

    Parameters
    ----------
    rules : sequence of str
        Names of the rules, by bit.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(self, rules: Sequence[str], inputs: Mapping[str, Field], outputs: Mapping[str, Field]) -> None:
        self._bits = {name: np.uint64(1 << bit) for bit, name in enumerate(rules)}
        self._inputs, self._outputs = inputs, outputs
        self._rows: Words = np.zeros((0, 0), np.uint64)
        self._expected, self._happened = self._rows, self._rows[0:0, 0:0]
        self._known: dict[Any, Any] = {}
        self.phase = ""
        """Name of the batch's phase."""

    def show(self, rows: Words, expected: Words, event_words: NDArray[np.uint64], phase: str) -> None:
        """Load the rows, expected outputs, rule bits and phase of the next batch."""
        self._rows, self._expected, self._happened, self.phase = rows, expected, event_words, phase
        self._known.clear()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return ``compute()``, cached under ``key`` for the current batch."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def rule(self, name: str) -> Truths:
        """Return, by cycle, whether a rule occurred."""
        return (self._happened & self._bits[name]) != 0

    def has(self, port: str) -> bool:
        """Return whether the component has a port of this name."""
        return port in self._inputs or port in self._outputs

    def bits(self, port: str, index: int = 0, width: int = 0) -> NDArray[np.uint64]:
        """Return element ``index``, of ``width`` bits, of a port, or the whole port without a width."""
        field = self._inputs.get(port) or self._outputs[port]
        rows = self._rows if port in self._inputs else self._expected
        shift = field.shift + index * width
        place = Field(field.word + shift // WORD_BITS, shift % WORD_BITS, width or field.bits)
        column = self.once((port in self._inputs, place.word), lambda: np.ascontiguousarray(rows[:, place.word]))
        value: NDArray[np.uint64] = column >> np.uint64(place.shift) & np.uint64((1 << place.bits) - 1)
        return value

    def on(self, port: str) -> Truths:
        """Return, by cycle, whether a port is not 0. An absent port counts as 0."""
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
"""Function that returns in which cycles of a batch an event occurs: an array, or one value for the batch."""


def after(values: NDArray[Any]) -> NDArray[Any]:
    """Delay values by one cycle. The first cycle of the batch gets 0."""
    late = np.zeros_like(values)
    late[1:] = values[:-1]
    return late


@dataclass(frozen=True, slots=True)
class Cross:
    """Set of events that must occur together in the same cycle.

    Parameters
    ----------
    name : str
        Name in reports.
    events : tuple of str
        Rules, or events of the block's ``crosses`` module.
    wild : bool
        Whether phases with forbidden inputs count too, because the cross is rare or impossible in other phases.
    """

    name: str
    events: tuple[str, ...]
    wild: bool = False


def together(*names: str, forbidden_inputs: bool = False) -> tuple[Cross, ...]:
    """Return crosses by name. A name joins the cross's events by `` x ``."""
    return tuple(Cross(name, tuple(name.split(" x ")), forbidden_inputs) for name in names)


def without(crosses: Iterable[Cross], *names: str) -> tuple[Cross, ...]:
    """Return the crosses without the named exceptions, which an instance reaches too rarely."""
    return tuple(cross for cross in crosses if cross.name not in names)


@kernel
def _spread_rules(event_words: NDArray[np.uint64], bits: NDArray[np.int64], truths: NDArray[np.bool_]) -> None:
    """Write whether each rule occurred in each cycle, one row per rule."""
    for row in range(len(bits)):
        bit = np.uint64(bits[row])
        for cycle in range(len(event_words)):
            truths[row, cycle] = (event_words[cycle] >> bit) & np.uint64(1) != np.uint64(0)


@kernel
def _count_together(
    truths: NDArray[np.bool_], cycles: int, members: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Add the number of cycles in which all events of a cross occurred to its count.

    ``members`` has one row of event indices for each cross.
    """
    for cross in range(len(members)):
        total = 0
        first = truths[members[cross, 0]]
        second = truths[members[cross, 1]]
        if members.shape[1] == 2:
            for cycle in range(cycles):
                total += first[cycle] & second[cycle]
        else:
            for cycle in range(cycles):
                truth = first[cycle] & second[cycle]
                for place in range(2, members.shape[1]):
                    truth &= truths[members[cross, place], cycle]
                total += truth
        counts[cross] += total


class _Group:
    """Crosses that are counted in one pass over a batch.

    Parameters
    ----------
    crosses : sequence of Cross
        The crosses.
    rules : sequence of str
        Names of the rules, by bit.
    """

    def __init__(self, crosses: Sequence[Cross], rules: Sequence[str]) -> None:
        bit_of = {name: bit for bit, name in enumerate(rules)}
        names = list(dict.fromkeys(name for cross in crosses for name in cross.events))
        self.rules = [name for name in names if name in bit_of]
        self.events = [name for name in names if name not in bit_of]
        self.bits = np.array([bit_of[name] for name in self.rules], np.int64)
        row_of = {name: row for row, name in enumerate((*self.rules, *self.events))}
        most = max([2, *(len(cross.events) for cross in crosses)])
        self.members = np.array(
            [
                [row_of[name] for name in (*cross.events, *[cross.events[0]] * (most - len(cross.events)))]
                for cross in crosses
            ],
            np.int64,
        ).reshape(-1, most)
        self.counts = np.zeros(len(crosses), np.int64)
        self._truths = np.zeros((len(row_of), 0), np.bool_)

    def truths(self, cycles: int) -> NDArray[np.bool_]:
        """Return an array with one row per event and one column per cycle."""
        if self._truths.shape[1] < cycles:
            self._truths = np.zeros((len(self._truths), cycles), np.bool_)
        return self._truths


class Crosses:
    """Crosses of a run, and the number of cycles in which each occurred.

    Parameters
    ----------
    crosses : iterable of Cross
        Crosses that the instance can reach.
    events : mapping
        Events other than rules, by name.
    rules, inputs, outputs
        See ``Cycles``.
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
        for cross in self.crosses:
            for name in cross.events:
                if name not in self._rules and name not in events:
                    raise ValueError(f"{cross.name}: no rule and no event is called {name}")
        self._tame = _Group(self.crosses, rules)
        self._wild = _Group([cross for cross in self.crosses if cross.wild], rules)

    def count(
        self, rows: Words, expected: Words, event_words: NDArray[np.uint64], *, phase: str, forbidden_inputs: bool
    ) -> None:
        """Count the crosses of a batch whose cycles all belong to one phase."""
        group, cycles = self._wild if forbidden_inputs else self._tame, len(rows)
        if not len(group.members):
            return
        self._cycles.show(rows, expected, event_words, phase)
        truths = group.truths(cycles)
        _spread_rules(event_words, group.bits, truths)
        for row, name in enumerate(group.events, len(group.rules)):
            truths[row, :cycles] = self._events[name](self._cycles)
        _count_together(truths, cycles, group.members, group.counts)

    def counts(self, applicable: frozenset[str], *, forbidden_inputs: bool) -> dict[str, int]:
        """Return the count of each cross whose rules all apply.

        Crosses that need forbidden inputs are left out unless ``forbidden_inputs``.
        """
        totals = dict.fromkeys((cross.name for cross in self.crosses), 0)
        for cross, count in zip(self.crosses, self._tame.counts.tolist(), strict=True):
            totals[cross.name] += count
        for cross, count in zip((each for each in self.crosses if each.wild), self._wild.counts.tolist(), strict=True):
            totals[cross.name] += count
        return {
            cross.name: totals[cross.name]
            for cross in self.crosses
            if (forbidden_inputs or not cross.wild) and not (set(cross.events) & self._rules) - applicable
        }
