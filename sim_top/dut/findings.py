"""Signals of one cycle of an arbiter, and failures with golden's attempts to explain decisions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Sample(NamedTuple):
    """Signals of one cycle in the terms of the block. Masks have one bit per lane.

    Parameters
    ----------
    reset : int
        Active reset.
    requests : int
        Mask of requests.
    ready : int
        Readiness.
    valid : int
        Whether a grant is shown.
    grant : int
        Mask of granted lanes.
    decided, sampled : int
        Strobes of a decision and of a sampling point.
    last : int
        Mask of lanes whose beat is the last one.
    """

    reset: int
    requests: int
    ready: int
    valid: int
    grant: int
    decided: int = 0
    sampled: int = 0
    last: int = -1


@dataclass(frozen=True)
class Attempt:
    """Golden's decision from one state for the requests of one sampling point.

    Parameters
    ----------
    state : str
        State.
    offset : int
        Sampling point relative to the decision, in cycles.
    requests : str
        Requests as bits, lane 0 at the right.
    winner : int or None
        Golden's winner.
    rules : list of str
        Ids of the rules that decided.
    """

    state: str
    offset: int
    requests: str
    winner: int | None
    rules: list[str]

    def __str__(self) -> str:
        rules = f" ({', '.join(self.rules)})" if self.rules else ""
        winner = "no lane" if self.winner is None else f"lane {self.winner}"
        return f"state {self.state}, requests {self.requests} ({self.offset:+d}): {winner}{rules}"


@dataclass(frozen=True)
class Decision:
    """Decision of the module and golden's attempts to explain it.

    Parameters
    ----------
    cycle, winner : int
        Cycle and granted lane.
    attempts : list of Attempt
        Golden's decisions, for every state and sampling point.
    """

    cycle: int
    winner: int
    attempts: list[Attempt]

    def __str__(self) -> str:
        said = "; ".join(map(str, self.attempts)) or "no sampling point"
        return f"cycle {self.cycle:,}: grant {self.winner}; golden: {said}"


@dataclass(frozen=True)
class Failure:
    """First cycle that cannot be explained.

    Parameters
    ----------
    cycle : int
        Cycle of the module.
    kind : str
        ``decision``, ``grant``, ``hold``, ``ready``, ``due``, ``proposal`` or ``unknown``; ``bench`` for a mistake of
        the bench.
    text : str
        Description.
    decisions : list of Decision
        Decisions before this cycle, and the failing one.
    expected : int or None
        Lane that golden grants from its first possible state.
    """

    cycle: int
    kind: str
    text: str
    decisions: list[Decision] = field(default_factory=list)
    expected: int | None = None

    def __str__(self) -> str:
        return f"cycle {self.cycle:,}: {self.text}"
