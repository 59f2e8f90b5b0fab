"""Golden models as functions from (state, requests) to (winner, next state)."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from vlane.documents.textfile import whole_text
from vlane.errors import InputError, misplaced
from vlane.golden.schedulers.by_name import module_of
from vlane.schedulers.programs import program_writes, read_program
from vlane.schedulers.registry import SCHEDULERS
from vlane.sim_top.blocks import Block
from vlane.sim_top.oracles.oracle import Oracle, oracle

State = Any
"""Hashable state of a golden model."""

_SEARCHED = 30_000
"""Largest number of decisions in a search of all states."""
_SHOWN = 16
"""Largest number of elements of an array in a shown state."""


class Decided(NamedTuple):
    """Decision of a golden model.

    Parameters
    ----------
    winner : int or None
        Lane with the grant; none if no lane wins.
    after : hashable
        Next state.
    rules : tuple of str
        Names of the rules that the decision exercised.
    """

    winner: int | None
    after: State
    rules: tuple[str, ...] = ()


class StateGolden(Protocol):
    """Golden model of an arbiter.

    Attributes
    ----------
    initial : hashable
        State after a reset.
    lanes : int
        Number of lanes.
    """

    initial: State
    lanes: int

    def decide(self, state: State, requests: int) -> Decided:
        """Return the decision for requests, bit i of which is lane i."""

    def shown(self, state: State) -> str:
        """Return a state as text for reports."""

    def rule_ids(self) -> dict[str, str]:
        """Return the id of each rule by its name."""


class BlockGolden:
    """Golden model of a scheduler. State 0 is the state after reset and programming.

    Parameters
    ----------
    block : Block
        Scheduler.
    parameters : mapping
        Parameters of the instance, without VL15.
    sizes : sequence of int
        Constant size of each lane's head packets in blocks.
    table : Path, optional
        Table file.
    programmed : optional
        Table object or writes, as for ``vlane.oracle(...).program``; replaces ``table``.

    Raises
    ------
    InputError
        If the table is rejected.
    """

    def __init__(
        self,
        block: Block,
        parameters: Mapping[str, Any],
        sizes: list[int],
        table: Path | None = None,
        *,
        programmed: Any = None,
    ) -> None:
        self.lanes: int = parameters["data_vls"]
        self._oracle: Oracle = oracle(block.name, **parameters)
        self._steady = {"heads__fits": (1 << self.lanes) - 1, "heads__blocks": sizes, "ready": 1}
        self._ids = {rule.name: rule.decision for rule in self._oracle._made.rules}
        if table is not None:
            programs = read_program(table, SCHEDULERS[block.name])
            programmed = program_writes(programs, block.name, parameters, str(table))
        if programmed is not None:
            self._oracle.program(programmed)
        self._images: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._memo: dict[tuple[int, int], Decided] = {}
        self.initial: State = self._number()

    def _number(self) -> int:
        image = self._oracle.save()
        if image not in self._numbers:
            self._numbers[image] = len(self._images)
            self._images.append(image)
        return self._numbers[image]

    def decide(self, state: State, requests: int) -> Decided:
        """Return the decision of a ready cycle with these requests."""
        key = state, requests
        if key not in self._memo:
            self._oracle.load(self._images[state])
            before = self._oracle.rules
            shown = self._oracle.step(heads__request=requests, **self._steady)
            fired = tuple(name for name, count in self._oracle.rules.items() if count > before[name])
            ports = shown.ports()
            self._memo[key] = Decided(ports["vl"] if ports["grant"] else None, self._number(), fired)
        return self._memo[key]

    def shown(self, state: State) -> str:
        """Return the state's registers that differ from those after reset, such as ``regs = 2``."""
        said = []
        for name, first in self._registers(0).items():
            now = self._registers(state)[name]
            if now != first:
                said.append(f"{name} = {' '.join(map(str, now)) if len(now) <= _SHOWN else f'[{len(now)} values]'}")
        return ", ".join(said) or "as after reset"

    def _registers(self, state: int) -> dict[str, list[int]]:
        self._oracle.load(self._images[state])
        fields = self._oracle._machine.state._asdict()
        return {name: each.ravel().tolist() for name, each in fields.items() if isinstance(each, np.ndarray)}

    def rule_ids(self) -> dict[str, str]:
        """Return the id of each rule by its name."""
        return dict(self._ids)


class Rotated:
    """Golden model whose lane 0 is another lane of the module.

    Parameters
    ----------
    golden : StateGolden
        Golden model.
    first : int
        Lane of the module that is golden's lane 0.
    """

    def __init__(self, golden: StateGolden, first: int) -> None:
        self._golden, self._first = golden, first
        self.lanes, self.initial = golden.lanes, golden.initial

    def decide(self, state: State, requests: int) -> Decided:
        """Return golden's decision with rotated lanes."""
        count, first = self.lanes, self._first
        turned = (requests >> first | requests << count - first) & (1 << count) - 1
        found = self._golden.decide(state, turned)
        return found if found.winner is None else found._replace(winner=(found.winner + first) % count)

    def shown(self, state: State) -> str:
        """Return a state as text."""
        return self._golden.shown(state)

    def rule_ids(self) -> dict[str, str]:
        """Return the id of each rule by its name."""
        return self._golden.rule_ids()


class OwnGolden:
    """Golden model of the user: an object with ``initial`` and ``decide``.

    Parameters
    ----------
    model : object
        Object with ``initial`` and ``decide(state, requests) -> (winner, next state)``.
    lanes : int
        Number of lanes.
    source : str
        Name of its file, for errors.

    Raises
    ------
    InputError
        If the object lacks ``initial`` or ``decide``. ``decide`` raises ``InputError`` for an exception of the model, a
        winner that did not request, and a state that is not hashable.
    """

    def __init__(self, model: Any, lanes: int, source: str = "--golden") -> None:
        for name in ("initial", "decide"):
            if not hasattr(model, name):
                raise InputError("golden", f"an object with {name}", type(model).__name__, source=source)
        self._decide: Callable[[State, int], tuple[int | None, State]] = model.decide
        self.lanes, self.initial, self._source = lanes, model.initial, source
        self._memo: dict[tuple[State, int], Decided] = {}
        self._checked(None, self.initial, 0)

    def decide(self, state: State, requests: int) -> Decided:
        """Return the model's decision."""
        key = state, requests
        if key not in self._memo:
            try:
                with redirect_stdout(sys.stderr):
                    winner, after = self._decide(state, requests)
            except (Exception, SystemExit) as error:
                raise self._failed(error, state, requests) from error
            self._memo[key] = self._checked(winner, after, requests)
        return self._memo[key]

    def _checked(self, winner: Any, after: Any, requests: int) -> Decided:
        if winner is not None and (
            type(winner) is not int or not 0 <= winner < self.lanes or not requests >> winner & 1
        ):
            must = f"a lane that requests ({requests:0{self.lanes}b}) or None"
            raise InputError("winner of decide", must, winner, source=self._source)
        try:
            hash(after)
        except TypeError:
            raise InputError("state", "hashable (a number, text or tuple)", after, source=self._source) from None
        return Decided(winner, after)

    def _failed(self, error: BaseException, state: State, requests: int) -> InputError:
        lines = [
            each.lineno or 0 for each in traceback.extract_tb(error.__traceback__) if each.filename == self._source
        ]
        problem = f"({state!r}, {requests:0{self.lanes}b}) raised {type(error).__name__}: {error}"
        return InputError(
            "decide",
            "without errors",
            type(error).__name__,
            problem=problem,
            source=self._source,
            line=max(lines[-1:], default=0),
        )

    def shown(self, state: State) -> str:
        """Return a state as text."""
        return repr(state)

    def rule_ids(self) -> dict[str, str]:
        """Return no rules: an own golden has none."""
        return {}


def read_own_golden(file: Path, lanes: int) -> OwnGolden:
    """Return the golden model of a Python file, whose prints go to stderr.

    Raises
    ------
    InputError
        If the file cannot be read or run, or does not have exactly one class with ``initial`` and ``decide``.
    """
    source = str(file)
    text = whole_text(file, "golden")
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    space: dict[str, Any] = {"__name__": file.stem, "__file__": source}
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(text, source, "exec"), space)  # noqa: S102 - the user's own golden
    except SyntaxError as error:
        raise InputError("--golden", "", "", problem=f": {error.msg}", source=source, line=error.lineno or 0) from None
    except (Exception, SystemExit) as error:
        at = [each.lineno or 0 for each in traceback.extract_tb(error.__traceback__) if each.filename == source]
        problem = f": {type(error).__name__}: {error}"
        raise InputError("--golden", "", "", problem=problem, source=source, line=max(at[-1:], default=0)) from error
    classes = [
        each
        for each in space.values()
        if isinstance(each, type) and each.__module__ == file.stem and hasattr(each, "decide")
    ]
    if len(classes) != 1:
        names = ", ".join(each.__name__ for each in classes) or "none"
        problem = f"must define exactly one class with a method decide; found: {names}"
        raise InputError("--golden", "a file with one class that has decide", names, source=source, problem=problem)
    try:
        with redirect_stdout(sys.stderr):
            model = classes[0]()
    except (Exception, SystemExit) as error:
        problem = f": {classes[0].__name__}() raised {type(error).__name__}: {error}"
        raise InputError("--golden", "", "", problem=problem, source=source) from error
    return OwnGolden(model, lanes, source)


def idle_of(block: Block, parameters: Mapping[str, Any]) -> str:
    """Return whether cycles without requests change the state of a scheduler: ``decides`` or ``nothing``."""
    return "decides" if module_of(block.name, parameters.get("form", "")).REST_CYCLES else "nothing"


def check_table(block: Block, table: Path | None) -> None:
    """Reject a missing table, or a table for a scheduler without one."""
    needs = bool(SCHEDULERS[block.name].section)
    if needs and table is None:
        raise InputError("--table", "given", "missing", problem="is missing: golden needs the module's built-in table")
    if table is not None and not needs:
        raise misplaced("--table", f"with {block.name}, which has no table")


def reachable_states(golden: StateGolden, most: int) -> list[State]:
    """Return all states that some sequence of requests reaches.

    Raises
    ------
    InputError
        If there are more than ``most`` states.
    """
    found, waiting = {golden.initial: None}, [golden.initial]
    while waiting:
        state = waiting.pop()
        for requests in range(1 << golden.lanes):
            after = golden.decide(state, requests).after
            if after not in found:
                found[after] = None
                waiting.append(after)
        if len(found) > most:
            problem = f"is missing: without a reset golden may begin in more than {most} states"
            raise InputError("reset", "given", "missing", problem=problem)
    return list(found)


def reachable_rules(golden: StateGolden, *, idle: bool) -> set[str] | None:
    """Return the rules that decide for some sequence of requests, or ``None`` if the states are too many to search.

    ``idle`` is whether golden steps in cycles without requests, too.
    """
    if _SEARCHED >> golden.lanes == 0:
        return None
    seen, waiting, fired, done = {golden.initial}, [golden.initial], set[str](), 0
    while waiting:
        state = waiting.pop()
        for requests in range(not idle, 1 << golden.lanes):
            found = golden.decide(state, requests)
            fired.update(found.rules if requests else ())
            done += 1
            if found.after not in seen:
                seen.add(found.after)
                waiting.append(found.after)
        if done > _SEARCHED:
            return None
    return fired
