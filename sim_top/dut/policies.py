"""Policy monitors: properties of any arbiter, with their worst values and coverage (``docs/elastic.md``)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from vlane.dut_map import ElasticTiming, Last, Strobe, Timing
from vlane.dut_policy import Policy
from vlane.sim_top.dut.findings import Failure, Sample

ALWAYS = ("one-hot", "known bits", "requester only", "hold", "ready")
"""Properties without a limit."""
LIMITED = ("wait", "idle", "starve", "shares")
"""Properties that a policy limits."""


@dataclass
class Line:
    """Result of one property.

    Parameters
    ----------
    name : str
        Property.
    limit : float or None
        Limit of the policy; none if the property is only measured, or has no limit.
    worst : float or None
        Worst value; none for a property without a limit.
    coverage : int
        Number of times that the property could have been violated.
    """

    name: str
    limit: float | None = None
    worst: float | None = None
    coverage: int = 0


class Monitors:
    """Monitors of the properties of an arbiter, fed cycle by cycle.

    Parameters
    ----------
    policy : Policy
        Limits.
    timing : Timing or ElasticTiming
        Timing of the module.
    lanes : int
        Number of lanes.
    gated : bool
        Whether ``ready`` is driven with a grant only.
    has_reset : bool
        Whether monitoring begins at the first reset; otherwise it begins at once.

    Attributes
    ----------
    lines : dict of str to Line
        Results by property.
    cycles, decisions, resets : int
        Numbers of cycles, decisions and resets.
    """

    def __init__(
        self, policy: Policy, timing: Timing | ElasticTiming, lanes: int, *, gated: bool, has_reset: bool
    ) -> None:
        self._policy, self._lanes, self._gated, self._begun = policy, lanes, gated, not has_reset
        elastic = timing if isinstance(timing, ElasticTiming) else None
        self._timing = elastic
        most = elastic.window[1] if elastic else timing.latency if isinstance(timing, Timing) else 0
        self._least, self._most = (elastic.window[0] if elastic else most), most
        self._strobed = elastic is not None and isinstance(elastic.latency, Strobe)
        self._by_start = elastic is not None and elastic.decision != "handshake"
        self._by_last = elastic is not None and isinstance(elastic.release, Last)
        self._holds = elastic is not None and elastic.hold == "until_release"
        self._always_ready = bool(most) and not self._by_start  # a pipelined grant is taken when it is shown
        self.lines = {name: Line(name) for name in ALWAYS}
        limits = {"wait": policy.wait, "idle": policy.idle, "starve": policy.starve}
        limits["shares"] = policy.tolerance if policy.shares else None  # type: ignore[assignment]
        self.lines |= {
            name: Line(name, limit, 0) for name, limit in limits.items() if name != "shares" or limit is not None
        }
        self.cycles = self.decisions = self.resets = 0
        self._in_reset = False
        self._restart()

    def _restart(self) -> None:
        self._past: deque[int] = deque(maxlen=self._most + 1)
        self._mark: int | None = None
        self._held: int | None = None
        self._idle = self._age = self._made = self._settled = 0
        self._behind = [0] * self._lanes
        self._unserved = [0] * self._lanes
        self._window: list[int] = []

    def cycle(self, sample: Sample) -> Failure | None:
        """Take the signals of one cycle and return the first violation in it."""
        now = self.cycles
        self.cycles += 1
        if sample.reset:
            self.resets += not self._in_reset
            self._begun = self._in_reset = True
            self._restart()
            return None
        self._in_reset = False
        if not self._begun:
            return None
        self._age += 1
        self._past.append(sample.requests)
        if sample.sampled:
            self._mark = sample.requests
        winner, held = None, self._held
        if sample.valid:
            if (failure := self._form(now, sample)) is not None:
                return failure
            winner = sample.grant.bit_length() - 1
        if held is not None and self._holds and (winner is not None or self._by_start):
            self.lines["hold"].coverage += 1
            if winner != held:
                return Failure(now, "hold", f"the grant to lane {held} is not released, but changed")
        ready = bool(sample.ready) or self._always_ready
        starts = winner is not None and (held is None or winner != held) and (self._by_start or ready)
        if starts and winner is not None:
            self.decisions += 1
            self._made += 1
            self.lines["requester only"].coverage += 1
            if not self._asked() >> winner & 1:
                return Failure(now, "requester only", f"grant to lane {winner}, which did not request")
        served = winner if starts else None
        return (
            self._waits(now, sample, served, ready=ready)
            or self._work(now, sample, winner, served, ready=ready)
            or self._shares(now, sample, served)
        )

    def _form(self, now: int, sample: Sample) -> Failure | None:
        self.lines["one-hot"].coverage += 1
        self.lines["known bits"].coverage += 1
        if not sample.grant or sample.grant & sample.grant - 1:
            return Failure(now, "one-hot", f"the grant is {sample.grant:0{self._lanes}b}")
        if self._timing is not None and self._timing.ready == "request":
            self.lines["ready"].coverage += 1
            if not sample.ready:
                return Failure(now, "ready", "grant without ready")
        return None

    def _asked(self) -> int:
        """Return the lanes that requested at some sampling point."""
        if self._strobed:
            return self._mark or 0
        asked, count = 0, len(self._past)
        for back in range(self._least, min(self._most, count - 1) + 1):
            asked |= self._past[count - 1 - back]
        return asked

    def _waits(self, now: int, sample: Sample, served: int | None, *, ready: bool) -> Failure | None:
        wait, starve, policy = self.lines["wait"], self.lines["starve"], self._policy
        open_ = ready or (self._gated and not sample.valid)
        for lane in range(self._lanes):
            if lane == served or not sample.requests >> lane & 1:
                self._behind[lane] = self._unserved[lane] = 0
                continue
            if served is not None:
                wait.coverage += 1
                self._behind[lane] += 1
                wait.worst = max(wait.worst or 0, self._behind[lane])
                if policy.wait is not None and self._behind[lane] > policy.wait:
                    return Failure(now, "wait", f"lane {lane} waited for {self._behind[lane]} services of other lanes")
            if open_:
                starve.coverage += 1
                self._unserved[lane] += 1
                starve.worst = max(starve.worst or 0, self._unserved[lane])
                if policy.starve is not None and self._unserved[lane] > policy.starve:
                    return Failure(now, "starve", f"lane {lane} requested for {self._unserved[lane]} ready cycles")
        return None

    def _work(self, now: int, sample: Sample, winner: int | None, served: int | None, *, ready: bool) -> Failure | None:
        """Update the held grant and count idle cycles."""
        timing, requests = self._timing, sample.requests
        current = served if served is not None else self._held
        self._held = None
        if current is not None and timing is not None:
            if self._by_last:
                over = ready and winner is not None and bool(sample.last >> current & 1)
            elif timing.release == "ready":
                over = ready and winner is not None
            else:
                over = not requests >> current & 1
            if not over and (self._by_start or self._by_last):
                self._held = current
            if over and self._made == timing.start_up.decisions and self._made:
                self._age = 0
        open_ = self._by_start or ready or (self._gated and not sample.valid)
        begun = timing is None or (self._age > timing.start_up.cycles + 1 and self._made >= timing.start_up.decisions)
        if current is not None or not open_ or not requests or not begun:
            self._idle = 0
            return None
        line = self.lines["idle"]
        self._idle += 1
        line.coverage += 1
        line.worst = max(line.worst or 0, self._idle)
        if self._policy.idle is not None and self._idle > self._policy.idle:
            return Failure(now, "idle", f"idle for {self._idle} cycles, requests {requests:0{self._lanes}b}")
        return None

    def _shares(self, now: int, sample: Sample, served: int | None) -> Failure | None:
        policy = self._policy
        if policy.shares is None:
            return None
        if sample.requests != (1 << self._lanes) - 1:
            self._window, self._settled = [], 0
            return None
        if served is None:
            return None
        if self._settled < policy.settle:
            self._settled += 1
            return None
        self._window.append(served)
        if len(self._window) < policy.window:
            return None
        line, total = self.lines["shares"], sum(policy.shares)
        counts = [self._window.count(lane) for lane in range(self._lanes)]
        self._window = []
        line.coverage += 1
        off = max(abs(n - policy.window * w / total) for n, w in zip(counts, policy.shares, strict=True))
        line.worst = max(line.worst or 0, round(off, 2))
        if off > policy.tolerance:
            said = ", ".join(map(str, counts))
            return Failure(now, "shares", f"services {said} in a window of {policy.window} (weights {policy.shares})")
        return None
