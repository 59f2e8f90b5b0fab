"""Soaks: random instances of a block in lockstep. A failing instance is reduced while it fails."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vlane.congestion.cc_marker import BUSY_BLOCKS, IDLE_BLOCKS, LEAST_PACKETS, LEVEL_BLOCKS, MEASURES, OF_OUTPUT
from vlane.credits.credit_schemes import FCP, RETURNS
from vlane.errors import InputError
from vlane.schedulers.registry import DEFAULT, SCHEDULERS
from vlane.sim_top.blocks import BLOCKS, find_block
from vlane.sim_top.cosim.soak_draws import draw_parameters, values_of
from vlane.switches.switch_kinds import SWITCH_KINDS
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model
from vlane.units import MAX_DATA_VLS

_KINDS = {each.block: each for each in SWITCH_KINDS.values()}
SWITCHES = tuple(_KINDS)
_MANY_LANES = 0.08
_HALF = 0.5
_BY_FCP = 0.3
_OTHER_FORM = 0.4
_MARKS = 0.3
_MOST_DRAWS = 10_000
"""Largest number of draws in search of a point with the wanted values."""
_SERIES = 50
"""Number of points in which every choice and flag takes every value; the second half fills the gaps of the first."""
_SEEDS = 1 << 16
_LONG = 10_000_000
"""Number of cycles above which a slower, better-optimising compilation pays off."""


@dataclass(frozen=True, slots=True)
class Point:
    """Instance with its traffic.

    Parameters
    ----------
    block : str
        Name of the block.
    parameters : mapping
        Parameters of the instance.
    cycles : int
        Largest number of cycles to compare.
    seed : int
        Seed of tables and traffic.
    """

    block: str
    parameters: Mapping[str, Any]
    cycles: int
    seed: int


def points_of(
    block: str, *, count: int, cycles: int, seed: int, wanted: Mapping[str, Any], full_size: bool
) -> Iterator[Point]:
    """Yield random instances of a block with their traffic. Equal arguments give equal instances.

    In every 50 instances, each choice and flag that is not fixed by wanted values takes every value.

    Parameters
    ----------
    block : str
        Name of the block.
    count : int
        Number of instances.
    cycles : int
        Number of cycles of each.
    seed : int
        Seed of the random choices, including the seeds of tables and traffic.
    wanted : mapping
        Values that every instance must have.
    full_size : bool
        Whether every instance has the parameters of the largest one.

    Raises
    ------
    InputError
        If no random instance has the wanted values, or the block rejects them.
    """
    found, source = find_block(block), random.Random(seed)  # noqa: S311 - a repeatable choice
    open_values: list[tuple[str, Any]] = []
    for number in range(count):
        if full_size:
            yield Point(block, dict(found.shape.over(found.full_size, wanted)), cycles, source.randrange(_SEEDS))
            continue
        if number % _SERIES == 0:
            open_values = [(name, each) for name, values in values_of(found.shape).items() for each in values]
            open_values = [(name, each) for name, each in open_values if name not in wanted]
        point = None
        while point is None and open_values and number % _SERIES >= _SERIES // 2:
            point = _drawn(source, block, {**wanted, **dict(open_values[:1])}, cycles)
            open_values = open_values[point is None :]  # no instance with the wanted values has this one
        point = point or _drawn(source, block, wanted, cycles)
        if point is None:
            found.shape.over({}, wanted)  # refuses what no instance may have
            given = " ".join(f"{name}={value}" for name, value in wanted.items())
            problem = f": no random instance has {given}"
            raise InputError("--param", "a possible combination", given, problem=problem)
        parameters = {**found.defaults(), **point.parameters}
        open_values = [(name, each) for name, each in open_values if parameters[name] != each]
        yield point


def _drawn(source: random.Random, block: str, wanted: Mapping[str, Any], cycles: int) -> Point | None:
    """Return a random instance with the wanted values, or ``None`` if none is found."""
    if block not in SWITCHES:
        parameters = draw_parameters(source, BLOCKS[block].shape, wanted)
        return Point(block, dict(parameters), cycles, source.randrange(_SEEDS)) if parameters else None
    for _ in range(_MOST_DRAWS):
        point = random_point(source, block, cycles=cycles)
        if wanted.items() <= {**BLOCKS[block].defaults(), **point.parameters}.items():
            return point
    return None


def random_point(source: random.Random, block: str, *, cycles: int) -> Point:
    """Return a random valid switch: ports, VLs, tight or ample buffers, scheduler, tables."""
    kind = _KINDS[block]
    ports, lanes = source.randint(2, 10 if kind.has_centre else 6), source.randint(2, 5)
    if kind.most_vls > MAX_DATA_VLS and source.random() < _MANY_LANES:
        ports, lanes = source.randint(2, 3), source.randint(16, 31)
    schedulers = [each for each in SCHEDULERS.values() if lanes <= each.data_vls[1]]
    largest = source.choice((1, 2, 5, source.randint(1, 12)))
    scheduler = source.choice(schedulers)
    parameters = {
        "ports": ports,
        "data_vls": lanes,
        "largest": largest,
        "scheduler": scheduler.name,
        "entries": source.choice((lanes, 8, 16)),
        "line_rate": scheduler.has_line_rate and source.random() < _HALF,
        "lids": source.randint(3, 40),
        "data_bits": 64 * source.choice((1, 1, 2, 3)),
    }
    for prefix in ("", "central_") if kind.has_centre else ("",):
        minimum = largest + source.choice((0, 0, 1, source.randint(0, 6)))
        shared = source.choice((0, 1, source.randint(0, 20)))
        parameters |= {
            f"{prefix}blocks": lanes * minimum + shared,
            f"{prefix}minimum": minimum,
            f"{prefix}maximum": minimum + source.randint(0, shared),
        }
    has_fcp = FCP in kind.credits
    if has_fcp:
        parameters |= {"credit": RETURNS.name, "fcp_blocks": 0, "fcp_period": 1024}
    if has_fcp and source.random() < _BY_FCP:
        parameters |= {
            "maximum": parameters["minimum"],
            "credit": FCP.name,
            "fcp_period": source.randint(lanes + 1, 600),
            "fcp_blocks": source.choice((0, 1, parameters["minimum"])),
        }
    first, *others = kind.hardware_forms
    form = source.choice(others) if others and source.random() < _OTHER_FORM else first
    if others:
        parameters |= form.parameters
        if form.vls_apart:
            parameters["maximum"] = parameters["minimum"]
        if form.late:
            parameters |= {"line_rate": False, "credit": RETURNS.name, "fcp_blocks": 0, "fcp_period": 1024}
        if kind.hardware_speed > 1:
            parameters["speed"] = form.most_speed if source.random() < _HALF else 1
    if form.marks:
        parameters |= _random_marking(source, parameters, has_rooms=not form.vls_apart)
    elif first.marks:
        parameters |= _UNMARKED
    return Point(block, parameters, cycles, source.randrange(_SEEDS))


_UNMARKED: Mapping[str, Any] = MappingProxyType({"marking": False, "measure": OF_OUTPUT})
"""Parameters of a switch without marking, where other forms mark."""


def _random_marking(source: random.Random, parameters: Mapping[str, Any], *, has_rooms: bool) -> Mapping[str, Any]:
    """Return random marking parameters, with buffers and flits large enough for marking.

    A switch whose VLs share input buffers may also have credit starvation.
    """
    if source.random() >= _MARKS:
        return _UNMARKED
    lanes = parameters["data_vls"]
    minimum = LEAST_PACKETS * parameters["largest"] + source.choice((0, 0, source.randint(1, 9)))
    shared = 0 if parameters["maximum"] == parameters["minimum"] else source.randint(0, 20)
    busy = source.choice((0, 8, 40))
    return {
        "blocks": lanes * minimum + shared,
        "minimum": minimum,
        "maximum": minimum + source.randint(0, shared),
        "data_bits": 64 * source.choice((2, 3)),
        "marking": True,
        "measure": source.choice(MEASURES),
        "starving": has_rooms and source.random() < _HALF,
        "busy_blocks": busy,
        "level_blocks": busy + source.choice((1, 40)),
        "idle_blocks": source.choice((1, 4, 16)),
    }


def run_point(point: Point) -> str:
    """Run a point in lockstep and return the first difference, empty if there is none."""
    block = BLOCKS[point.block]
    with compile_model(block.make(point.parameters), point.block, for_long=point.cycles >= _LONG) as model:
        source = block.qualify(
            point.parameters, cycles=point.cycles, seed=point.seed, inputs=model.inputs, outputs=model.outputs
        )
        outcome = run_lockstep(model, source)
    return str(outcome.mismatch) if outcome.mismatch else ""


def shrunk(point: Point, fails: Callable[[Point], str]) -> Point:
    """Return a smaller point that still fails. Each parameter is reduced as far as the failure persists."""
    if point.block not in SWITCHES:
        shape = BLOCKS[point.block].shape
        usual, words = shape.defaults(), values_of(shape)
        return _reduced(
            point,
            {each: (usual[each],) if each in words else _small_numbers(*shape.bounds_of(each)) for each in usual},
            fails,
        )
    smaller: dict[str, tuple[Any, ...]] = {
        "ports": (2, 3, 4, 5),
        "data_vls": (2, 3),
        "line_rate": (False,),
        "scheduler": (DEFAULT,),
        "largest": (1, 2),
        "data_bits": (64,),
        "lids": (3,),
        "entries": (2, 4),
    }
    if "crossbar" in point.parameters:
        first = _KINDS[point.block].hardware_forms[0]
        smaller |= {name: (value,) for name, value in first.parameters.items()}
    if "speed" in point.parameters:
        smaller["speed"] = (1,)
    if "credit" in point.parameters:
        smaller["credit"] = (RETURNS.name,)
    if "marking" in point.parameters:
        unmarked = {
            "marking": False,
            "starving": False,
            "measure": OF_OUTPUT,
            "busy_blocks": BUSY_BLOCKS,
            "level_blocks": LEVEL_BLOCKS,
            "idle_blocks": IDLE_BLOCKS,
        }
        candidate = Point(point.block, {**point.parameters, **unmarked}, point.cycles, point.seed)
        point = candidate if fails(candidate) else point
        smaller["starving"] = (False,)
    return _reduced(point, smaller, fails)


def _small_numbers(least: int, most: int) -> tuple[int, ...]:
    return tuple(least + more for more in (0, 1, 3, 7) if least + more <= most)


def _reduced(point: Point, smaller: Mapping[str, tuple[Any, ...]], fails: Callable[[Point], str]) -> Point:
    """Return the point with each parameter, in order, set to the first given value with which the point still fails."""
    for name, values in smaller.items():
        for value in values:
            present = point.parameters[name]
            if value == present or (isinstance(value, int) and value > present):
                break
            parameters = {**point.parameters, name: value}
            try:
                BLOCKS[point.block].shape(**parameters)
            except ValueError:
                continue
            candidate = Point(point.block, parameters, point.cycles, point.seed)
            if fails(candidate):
                point = candidate
                break
    return point


def command_of(point: Point) -> str:
    """Return the command that repeats a point."""
    words = ["vlane", "cosim", point.block, "--cycles", str(point.cycles), "--seed", str(point.seed)]
    for name, value in point.parameters.items():
        words += ["--param", f"{name}={value}"]
    return shlex.join(words)
