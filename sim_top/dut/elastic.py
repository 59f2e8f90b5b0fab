"""Elastic comparison: golden steps at decisions, which sampling points explain (``docs/elastic.md``)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from vlane.dut_map import ElasticTiming, Last, Strobe
from vlane.errors import InputError
from vlane.sim_top.dut.findings import Attempt, Decision, Failure, Sample
from vlane.sim_top.dut.goldens import Decided, State, StateGolden, reachable_states

MAX_STATES = 64
"""Largest number of states that golden can be in."""
_RECENT = 5
"""Number of decisions kept for the report of a failure."""
_MOST_LANES_EACH = 8


class _Recent(NamedTuple):
    """Decision as stored for a report."""

    cycle: int
    winner: int
    states: dict[State, int]
    points: list[tuple[int, int]]


class Elastic:
    """Checker of the decisions of a module, fed cycle by cycle.

    Parameters
    ----------
    golden : StateGolden
        Golden model.
    timing : ElasticTiming
        Timing of the module.
    idle : str
        Effect of cycles without requests: ``nothing``, ``decides`` or ``either``.
    stand : bool
        Whether requests must stand until their grant is taken.
    gated : bool
        Whether ``ready`` is driven with a grant only.
    has_reset : bool
        Whether the comparison begins at the first reset. Otherwise the comparison begins at once, in any state that
        golden can reach.

    Attributes
    ----------
    idle : str
        Effect of cycles without requests.
    cycles, decisions, resets : int
        Numbers of cycles, decisions and resets.
    loose : int
        Decisions for which golden could have explained several winners.
    most_states : int
        Largest number of states that golden could be in.
    longest_wait : int
        Largest number of idle cycles in addition to the latency.

    Raises
    ------
    InputError
        If the timing does not suit golden. ``cycle`` raises it for too many states.
    """

    def __init__(
        self,
        golden: StateGolden,
        timing: ElasticTiming,
        *,
        idle: str = "nothing",
        stand: bool = True,
        gated: bool = False,
        has_reset: bool = True,
    ) -> None:
        if timing.lanes == "each" and golden.lanes > _MOST_LANES_EACH:
            raise InputError("timing.lanes", f"together for more than {_MOST_LANES_EACH} lanes", timing.lanes)
        if timing.first >= golden.lanes:
            raise InputError("timing.first", f"below {golden.lanes}", timing.first)
        self._golden, self._timing, self.idle = golden, timing, timing.idle or idle
        self._stand, self._gated, self._begun = stand, gated, not has_reset
        self._least, self._most = timing.window
        self._strobed = isinstance(timing.latency, Strobe)
        self._by_strobe = isinstance(timing.decision, Strobe)
        self._by_start = timing.decision == "start"
        self._by_last = isinstance(timing.release, Last)
        self._holds = timing.hold == "until_release"
        self._window = self._least != self._most or timing.lanes == "each"
        self._recent: deque[_Recent] = deque(maxlen=_RECENT + 1)
        self._used: Counter[tuple[State, int]] = Counter()
        self.cycles = self.decisions = self.resets = self.loose = self.longest_wait = 0
        self.most_states, self._in_reset = 1, False
        self._restart(-1)
        if not has_reset:
            self._states.clear()
            self._states.update(dict.fromkeys(reachable_states(golden, MAX_STATES), -1))

    def _restart(self, now: int) -> None:
        self._states: dict[State, int] = {self._golden.initial: now}  # with the latest cycle used as sampling point
        self._history: deque[int] = deque(maxlen=self._most + 1)  # requests, newest last
        self._quiet: deque[int] = deque(maxlen=self._most + 1)  # lengths of the current pause without a grant
        self._asked = self._gone = 0
        self._mark: tuple[int, int] | None = None
        self._held: int | None = None
        self._due: int | None = None
        self._idle_cycles = self._made = 0
        self._since = now

    def cycle(self, sample: Sample) -> Failure | None:
        """Take the signals of one cycle and return the failure found in it."""
        now = self.cycles
        self.cycles += 1
        if sample.reset:
            self.resets += not self._in_reset
            self._begun = self._in_reset = True
            self._restart(now)
            return None
        self._in_reset = False
        if not self._begun:
            return None
        self._history.append(sample.requests)
        if self._timing.forgets is not None:
            self._forget(now, sample.valid, self._timing.forgets)
        if sample.sampled:
            self._mark = (now, sample.requests)
        failure = self._withdrawn(now, sample) or self._shown_wrongly(now, sample)
        if failure is not None:
            return failure
        winner = sample.grant.bit_length() - 1 if sample.valid else None
        event = self._event(winner, sample)
        failure = (
            self._held_failure(now, winner, event=event)
            or self._unmarked(now, winner, sample, event=event)
            or self._judged(now, winner, event=event)
        )
        return failure or self._release(now, sample, winner, event=event)

    def _withdrawn(self, now: int, sample: Sample) -> Failure | None:
        """Return the failure of a bench that withdraws a request although the map says that requests stand."""
        taken = sample.grant if sample.valid and sample.ready else 0
        lost = self._asked & ~sample.requests & ~self._gone & ~taken
        self._asked, self._gone = sample.requests, taken
        if not lost or not self._stand:
            return None
        words = f"the bench withdrew the request of lane {_lanes(lost)} before its grant was taken"
        return Failure(now, "bench", f"{words}; requesters.stand = false in the map allows this")

    def _shown_wrongly(self, now: int, sample: Sample) -> Failure | None:
        """Return the failure of a grant that does not name one lane, or that is shown without ``ready``."""
        grant = sample.grant
        if not sample.valid:
            return None
        if not grant or grant & grant - 1:
            return self._failed(now, "grant", f"the grant names {f'lanes {_lanes(grant)}' if grant else 'no lane'}")
        if self._timing.ready == "request" and not sample.ready:
            return self._failed(now, "ready", f"grant to lane {_lanes(grant)} without ready")
        return None

    def _judged(self, now: int, winner: int | None, *, event: bool) -> Failure | None:
        """Return the failure of a decision or of a compared proposal."""
        if winner is None:
            return None
        if event:
            return self._explain(now, winner)
        if self._timing.proposals == "golden" and self._held is None:
            could = {self._golden.decide(state, self._history[-1]).winner for state in self._states}
            if winner not in could:
                return self._failed(now, "proposal", f"shows a grant to lane {winner}; golden: {_names(could)}")
        return None

    def _event(self, winner: int | None, sample: Sample) -> bool:
        if self._by_strobe:
            return bool(sample.decided) and winner is not None
        free = self._held is None or (winner != self._held and not self._holds)
        return winner is not None and free and (self._by_start or bool(sample.ready))

    def _held_failure(self, now: int, winner: int | None, *, event: bool) -> Failure | None:
        """Return the failure of a grant that changes before its release."""
        held = self._held
        if held is None or not self._holds or (winner == held and not event):
            return None
        if winner is None and not (self._by_start or self._by_strobe):
            return None  # a pause between the beats of a packet
        if event:
            return self._failed(now, "hold", f"a new decision (lane {winner}) before lane {held} was released")
        said = "no grant is shown" if winner is None else f"lane {winner} is granted"
        return self._failed(now, "hold", f"the grant to lane {held} is not released, but {said}")

    def _unmarked(self, now: int, winner: int | None, sample: Sample, *, event: bool) -> Failure | None:
        """Return the failure of a strobe without a grant, or of a held grant without a strobe."""
        if not self._by_strobe or event:
            return None
        if sample.decided:
            return self._failed(now, "grant", "the decision strobe comes without a grant")
        if winner is not None and self._held is None and self._holds:
            return self._failed(now, "grant", f"grant to lane {winner} without a decision strobe")
        return None

    def _release(self, now: int, sample: Sample, winner: int | None, *, event: bool) -> Failure | None:
        """Update the held grant and golden's idle steps, and return the failure of an overdue decision."""
        requests, ready, timing = sample.requests, sample.ready, self._timing
        held = self._held if self._holds or winner == self._held else None
        current = winner if event else held
        over, self._held = False, None
        if current is not None:
            if self._by_last:
                over = bool(ready) and winner is not None and bool(sample.last >> current & 1)
            elif timing.release == "ready":
                over = bool(ready) and winner is not None
            else:
                over = not requests >> current & 1
            if not over and (self._by_start or self._by_last or (self._by_strobe and self._holds)):
                self._held = current
        if over and self._made == timing.start_up.decisions and self._made:
            self._since = now
        if not requests and current is None and self.idle != "nothing":
            self._step_idle(now)
        return self._overdue(now, sample, event=event, free=current is None or over, idle=current is None)

    def _step_idle(self, now: int) -> None:
        moved: dict[State, int] = {}
        for state, used in self._states.items():
            after = self._golden.decide(state, 0).after
            moved[after] = now if after != state else used
        if self.idle == "either":
            moved = {**moved, **self._states}
        self._states = moved
        self._note_states()

    def _overdue(self, now: int, sample: Sample, *, event: bool, free: bool, idle: bool) -> Failure | None:
        timing, requests = self._timing, sample.requests
        ready = sample.ready or (self._gated and not sample.valid)
        if timing.ready == "request" and not ready:
            free = idle = False
        if event or not requests:
            self._due = None
        obliged = now - self._since > timing.start_up.cycles and self._made >= timing.start_up.decisions
        if timing.decision == "handshake" and not self._most:
            if event or not (idle and requests and ready and obliged):
                self._idle_cycles = 0
                return None
            self._idle_cycles += 1
            self.longest_wait = max(self.longest_wait, self._idle_cycles)
            late = self._idle_cycles > timing.at_most
            return self._late(now, requests) if late else None
        if not self._most and idle and requests and self._due is None and obliged:
            self._due = now + timing.at_most
        if self._due is not None and not event:
            if now >= self._due:
                return self._late(now, requests)
            self.longest_wait = max(self.longest_wait, now - (self._due - timing.at_most) + 1)
        if self._most and free and requests and self._due is None and obliged:
            self._due = now + self._most + timing.at_most
        return None

    def _late(self, now: int, requests: int) -> Failure:
        waited = self._most + self._timing.at_most
        return self._failed(now, "due", f"no decision for requests {self._bits(requests)} within {waited} cycles")

    def _forget(self, now: int, valid: int, forgets: int) -> None:
        """Return golden to its initial state after a long pause without a grant."""
        self._quiet.append(0 if valid else (self._quiet[-1] if self._quiet else 0) + 1)
        if len(self._quiet) > self._most and self._quiet[0] >= forgets:
            self._states = {self._golden.initial: now - self._most - 1}

    def _points(self, now: int) -> list[tuple[int, int]]:
        """Return the sampling points of a decision with their requests."""
        if self._strobed:
            return [self._mark] if self._mark else []
        count = len(self._history)
        return [(now - k, self._history[count - 1 - k]) for k in range(self._least, min(self._most, count - 1) + 1)]

    def _vectors(self, points: list[tuple[int, int]], used: int) -> Iterator[tuple[int, int]]:
        """Yield the possible requests of a decision whose sampling point lies after ``used``."""
        later = [point for point in points if point[0] > used]
        if self._timing.lanes == "together" or not later:
            yield from later
            return
        always, ever = later[0][1], 0
        for _, requests in later:
            always &= requests
            ever |= requests
        changed = [lane for lane in range(self._golden.lanes) if (always ^ ever) >> lane & 1]
        for bits in product((0, 1), repeat=len(changed)):
            yield later[-1][0], always | sum(bit << lane for bit, lane in zip(bits, changed, strict=True))

    def _explain(self, now: int, winner: int) -> Failure | None:
        """Step golden by one decision, and return a failure if no state and sampling point explains the winner."""
        points = self._points(now)
        found: dict[State, int] = {}
        could: set[int | None] = set()
        match: tuple[State, int] | None = None
        for state, used in self._states.items():
            for at, requests in self._vectors(points, used):
                decided: Decided = self._golden.decide(state, requests)
                could.add(decided.winner)
                if decided.winner != winner:
                    continue
                match = match or (state, requests)
                if found.get(decided.after, at) >= at:
                    found[decided.after] = at
        self._recent.append(_Recent(now, winner, self._states, points))
        self.decisions += 1
        self._made += 1
        if match is None:
            expected = next((each for each in could if each is not None), None)
            return self._failed(now, "decision", str(self._told(self._recent[-1])).partition(": ")[2], expected)
        self._used[match] += 1
        self.loose += len(could - {None}) > 1
        self._states = found
        self._note_states()
        return None

    def _note_states(self) -> None:
        self.most_states = max(self.most_states, len(self._states))
        if len(self._states) > MAX_STATES:
            problem = (
                f": golden can be in more than {MAX_STATES} states in cycle {self.cycles - 1}; use a smaller window"
            )
            raise InputError("timing.latency", "a smaller window", self._timing.latency, problem=problem)

    def _failed(self, now: int, kind: str, text: str, expected: int | None = None) -> Failure:
        return Failure(now, kind, text, [self._told(each) for each in self._recent], expected)

    def _told(self, recent: _Recent) -> Decision:
        ids = self._golden.rule_ids()
        attempts = []
        for state, used in recent.states.items():
            for at, requests in self._vectors(recent.points, used):
                decided = self._golden.decide(state, requests)
                rules = list(dict.fromkeys(ids.get(rule, rule) for rule in decided.rules))
                attempts.append(
                    Attempt(self._golden.shown(state), at - recent.cycle, self._bits(requests), decided.winner, rules)
                )
        return Decision(recent.cycle, recent.winner, attempts)

    def _bits(self, requests: int) -> str:
        return f"{requests:0{self._golden.lanes}b}"

    def state_shown(self) -> str:
        """Return the states that golden can be in, as text."""
        return " | ".join(self._golden.shown(state) for state in self._states)

    def expected_grant(self, sample: Sample) -> int:
        """Return the mask of lanes that golden may grant in the next cycle, for the newest sampling point."""
        requests = sample.requests
        if self._least:
            requests = self._history[-self._least] if len(self._history) >= self._least else 0
        found = {self._golden.decide(state, requests).winner for state in self._states}
        return sum(1 << lane for lane in found if lane is not None)

    def rules(self) -> dict[str, int]:
        """Return the number of occurrences of each of golden's rules in explained decisions."""
        counts: dict[str, int] = dict.fromkeys(self._golden.rule_ids(), 0)
        for (state, requests), count in self._used.items():
            for rule in self._golden.decide(state, requests).rules:
                counts[rule] += count
        return counts

    def document(self) -> dict[str, Any]:
        """Return the counters as fields of a JSON document."""
        return {
            "decisions": self.decisions,
            "loose_decisions": self.loose,
            "most_states": self.most_states,
            "longest_wait": self.longest_wait,
            "resets": self.resets,
            "transitions": len(self._used),
        }


def _lanes(mask: int) -> str:
    return ", ".join(str(lane) for lane in range(mask.bit_length()) if mask >> lane & 1)


def _names(lanes: set[int | None]) -> str:
    return " or ".join(
        "no lane" if lane is None else f"lane {lane}" for lane in sorted(lanes, key=lambda x: (x is None, x or 0))
    )
