"""Code coverage of a block: what of its Verilog the qualification reaches, and why the rest is not reached."""

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
    """How many points of a kind there are, and what became of them.

    Parameters
    ----------
    points : int
        All of them.
    reached : int
        Those that the run reached.
    constant : int
        Not reached, and proven to be out of reach: a bit that never changes.
    judged : int
        Not reached, with a reason that a person wrote.
    """

    points: int
    reached: int
    constant: int
    judged: int

    @property
    def open(self) -> int:
        """Points that nobody has judged."""
        return self.points - self.reached - self.constant - self.judged

    @property
    def percent(self) -> float:
        """Reached ones of those that are not proven to be out of reach."""
        real = self.points - self.constant
        return 100.0 * self.reached / real if real else 100.0


@dataclass(frozen=True, slots=True)
class CodeCoverage:
    """What a run reached.

    Parameters
    ----------
    parameters : mapping
        Of the instance.
    outcome : Outcome
        Of the lockstep.
    counts : mapping of str to Count
        By kind.
    judged : mapping of str to tuple of Point
        What was not reached, by the reason.
    open : tuple of Point
        What was not reached, without one.
    refuted : tuple of Point
        What was reached although it was judged to stay.
    """

    parameters: Mapping[str, Any]
    outcome: Outcome
    counts: Mapping[str, Count]
    judged: Mapping[str, tuple[Point, ...]]
    open: tuple[Point, ...]
    refuted: tuple[Point, ...]

    @property
    def passed(self) -> bool:
        """Whether hardware and golden agree, nothing is open and every reason stands."""
        return self.outcome.mismatch is None and not self.open and not self.refuted


def code_coverage(block: Block, parameters: Mapping[str, Any], *, cycles: int, seed: int) -> CodeCoverage:
    """Run the qualification of a block against golden and sort every point of its code.

    What a person judged is of the instance of which mutants are made; other instances have no reasons.

    Raises
    ------
    RuntimeError
        If a bit changed that is proven constant.
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
    """Return whether the bit that decides is proven constant, and not at the value with which a branch is taken."""
    value = values.get(point.bit) if point.bit else None
    return value is not None and value != point.needed


def _reasons(left: Sequence[Point], holes: Iterable[Hole | Untaken], nets: Mapping[Bit, Hashable]) -> dict[Point, str]:
    """Return why points stay, of those that are judged; a reason holds for every name of a bit."""
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
    """Return what was reached and should stay; of branches of which too few stay all that may be meant."""
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
