"""Code coverage of a block: points of its Verilog reached by the qualification, and reasons for the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.by_name import judged_holes
from vlane.tb.machinery.native.code_coverage import EDGES, KINDS, Bit, Point, compile_covered
from vlane.tb.machinery.native.hole import Hole, Untaken
from vlane.tb.machinery.native.lockstep import Outcome, run_lockstep
from vlane.tb.machinery.synthesis.constants import constant_bits, net_of


@dataclass(frozen=True, slots=True)
class Count:
    """Points of one kind, by result.

    Parameters
    ----------
    points : int
        Total number of points.
    reached : int
        Points reached by the run.
    constant : int
        Points not reached and proven unreachable: a bit that never changes.
    judged : int
        Points not reached and waived with a written reason.
    """

    points: int
    reached: int
    constant: int
    judged: int

    @property
    def open(self) -> int:
        """Points that are neither reached, proven unreachable nor waived."""
        return self.points - self.reached - self.constant - self.judged

    @property
    def percent(self) -> float:
        """Percentage of points reached, not counting those proven unreachable."""
        real = self.points - self.constant
        return 100.0 * self.reached / real if real else 100.0


@dataclass(frozen=True, slots=True)
class CodeCoverage:
    """Coverage of one run.

    Parameters
    ----------
    parameters : mapping
        Parameters of the instance.
    outcome : Outcome
        Result of the lockstep.
    counts : mapping of str to Count
        Counts by kind of point.
    judged : mapping of str to tuple of Point
        Points not reached and waived, by reason.
    open : tuple of Point
        Points not reached, without a waiver.
    refuted : tuple of Point
        Points reached in spite of a waiver.
    """

    parameters: Mapping[str, Any]
    outcome: Outcome
    counts: Mapping[str, Count]
    judged: Mapping[str, tuple[Point, ...]]
    open: tuple[Point, ...]
    refuted: tuple[Point, ...]

    @property
    def passed(self) -> bool:
        """Whether hardware and golden agree, no point is open and no waiver is refuted."""
        return self.outcome.mismatch is None and not self.open and not self.refuted


def code_coverage(block: Block, parameters: Mapping[str, Any], *, cycles: int, seed: int) -> CodeCoverage:
    """Run a block's qualification against golden and classify every coverage point of its Verilog.

    Waivers apply only to the instance for mutation testing.

    Raises
    ------
    RuntimeError
        If a bit that is proven constant changed.
    """
    model = compile_covered(block.make(parameters), block.name)
    source = block.qualify(parameters, cycles=cycles, seed=seed, inputs=model.inputs, outputs=model.outputs)
    outcome = run_lockstep(model, source)
    points = model.points()
    left = [point for point in points if not point.count]
    bits = {point.bit for point in left if point.bit}
    values = constant_bits(block.make(parameters), block.name, bits)
    reachable = [point for point in left if not _is_out_of_reach(point, values)]
    for point in points:
        if point.count and point.kind == "toggle" and point.bit in values:
            raise RuntimeError(f"{point} was reached, and its bit is proven constant")
    holes = judged_holes(block.name) if dict(parameters) == dict(block.parameters([], block.mutated)) else ()
    nets = net_of(block.make(parameters), block.name, {point.bit for point in reachable if point.bit}) if holes else {}
    reasons = _reasons(reachable, holes, nets)
    judged: dict[str, list[Point]] = {}
    for point, reason in reasons.items():
        judged.setdefault(reason, []).append(point)
    undecided = [point for point in reachable if point not in reasons]
    with_reason = [point for found in judged.values() for point in found]
    counts = {
        kind: Count(
            _of_kind(points, kind),
            _of_kind(points, kind) - _of_kind(left, kind),
            _of_kind(left, kind) - _of_kind(reachable, kind),
            _of_kind(with_reason, kind),
        )
        for kind in KINDS
    }
    return CodeCoverage(
        parameters,
        outcome,
        counts,
        {reason: tuple(found) for reason, found in judged.items()},
        tuple(undecided),
        _refuted(points, left, holes),
    )


def _is_out_of_reach(point: Point, values: Mapping[Bit, str]) -> bool:
    """Return whether the deciding bit is proven constant at a value that never takes the branch."""
    value = values.get(point.bit) if point.bit else None
    return value is not None and value != point.needed


def _reasons(left: Sequence[Point], holes: Iterable[Hole | Untaken], nets: Mapping[Bit, Hashable]) -> dict[Point, str]:
    """Return the reasons of waived points. A reason applies to every alias of a bit."""
    of_edge = {
        (nets[point.bit], edge): hole.reason
        for hole in holes
        if isinstance(hole, Hole)
        for point in left
        if point.bit and (edge := point.edge) and hole.covers(point.bit.name, point.bit.number, edge)
    }
    reasons = {}
    for point in left:
        net = nets.get(point.bit) if point.bit else None
        of_point = [of_edge.get((net, edge)) for edge in ((point.edge,) if point.edge else EDGES)]
        if of_point[0] and all(of_point):
            reasons[point] = of_point[0]
    for hole in holes:
        if isinstance(hole, Untaken) and len(fits := _fits(left, hole)) == hole.count:
            reasons |= dict.fromkeys(fits, hole.reason)
    return reasons


def _refuted(points: Iterable[Point], left: Sequence[Point], holes: Iterable[Hole | Untaken]) -> tuple[Point, ...]:
    """Return the waived points that were reached, or all candidates if too few branches of a waiver stay untaken."""
    bits = [hole for hole in holes if isinstance(hole, Hole)]
    branches = [hole for hole in holes if isinstance(hole, Untaken) and len(_fits(left, hole)) < hole.count]
    return tuple(
        point
        for point in points
        if point.count
        if any(point.bit and point.edge and hole.covers(point.bit.name, point.bit.number, point.edge) for hole in bits)
        or any(_fits([point], hole) for hole in branches)
    )


def _fits(points: Iterable[Point], hole: Untaken) -> list[Point]:
    return [point for point in points if point.kind == "branch" and hole.covers(point.name)]


def _of_kind(points: Iterable[Point], kind: str) -> int:
    return sum(point.kind == kind for point in points)
