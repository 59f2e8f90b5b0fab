"""Points of a sweep: a study with every combination of changes, each checked before anything runs.

A study without changes is a sweep of one point without parameters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from vlane.errors import InputError
from vlane.plugins import digest_of
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.record import Command, named_files
from vlane.sim_top.study.run_store import RunKey, StudyId
from vlane.study.file import StudyFile, shown_changes
from vlane.study.model import plugins_named
from vlane.study.study import Study

LISTS = ("run.loads", "run.seeds")
"""Keys whose values are runs of one point, not points of their own."""
RATE = "link.rate_gbps"
"""Key of the link rate, which changes no run: its values are points only if it is swept."""
MOST_POINTS = 10_000
"""Largest number of points of a sweep."""


@dataclass(frozen=True)
class SweepPoint:
    """Study with one set of parameter values.

    Parameters
    ----------
    world : World
        Checked data shared by the point's runs.
    digest : str
        Digest of the study including the sources of its plug-ins; empty for a study without parameters and plug-ins.
    parameters : mapping of str to object
        Changes by dotted key.
    """

    world: World
    digest: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def runs(self) -> list[RunKey]:
        """Return the point's runs, by load and seed."""
        run = self.world.study.run
        return [RunKey(load, seed, self.digest, self.parameters) for load in run.loads for seed in run.seeds]


@dataclass(frozen=True)
class Sweep:
    """Points of a study.

    Parameters
    ----------
    study : StudyId
        Study before any change.
    points : tuple of SweepPoint
        Points with the same parameters, in the order of the given values, the last parameter varying fastest.
    command : Command or None
        Study and values, for the record in the folder of results; ``None`` for no record.
    """

    study: StudyId
    points: tuple[SweepPoint, ...]
    command: Command | None = None

    @property
    def run_count(self) -> int:
        """Number of runs of all points."""
        return sum(len(point.runs()) for point in self.points)


def make_sweep(
    study: StudyFile,
    values: Mapping[str, Sequence[Any]] | None = None,
    *,
    zipped: Mapping[str, Sequence[Any]] | None = None,
    name: str = "",
) -> Sweep:
    """Return the points of a study with every combination of some values, each checked as a study of its own.

    Parameters
    ----------
    study : StudyFile
        Study; its changes are parameters of every point, except for loads, seeds and the rate.
    values : mapping of str to sequence
        Values by dotted key; for ``run.loads`` and ``run.seeds`` the list itself.
    zipped : mapping of str to sequence
        Values by dotted key that change together: the first values of all keys are one point, and so on. The points are
        combined with the other values.
    name : str
        File name for the manifest; by default that of the file it was read from.

    Raises
    ------
    InputError
        If a key or value is rejected (names both), there are too many points, or two points are the same study.
    """
    axes, together = dict(values or {}), dict(zipped or {})
    command = Command(study, dict(axes), dict(together))
    for key, listed in (*axes.items(), *together.items()):
        _check_axis(key, listed)
    steps = _steps(axes, together)
    count = prod(len(listed) for key, listed in axes.items() if key not in LISTS) * max(1, len(steps))
    if count > MOST_POINTS:
        raise InputError(
            "sweep",
            f"at most {MOST_POINTS} points",
            count,
            problem=f": {count} points exceed the limit of {MOST_POINTS}",
        )
    base = study.with_({key: list(axes.pop(key)) for key in LISTS if key in axes})
    points: list[SweepPoint] = []
    digests: dict[str, tuple[Any, ...]] = {}
    axes |= {_TOGETHER: steps} if together else {}
    for values_of_point in product(*axes.values()):
        values_by_key = _flat(dict(zip(axes, values_of_point, strict=True)))
        changed = base.with_(values_by_key) if axes else base
        with changed.refusals():
            world = make_world(changed.study, changed.base)
            check_world(world)
            check_faults(world)
            digest = study_digest(changed.study, changed.base, leave_out_rate=RATE not in {*axes, *together})
        if digest in digests:
            raise _twice(axes, digests[digest], values_of_point)
        digests[digest] = values_of_point
        is_left_out = {key: _is_list(key) or (key == RATE and key not in {*axes, *together}) for key in changed.changes}
        parameters = {key: value for key, value in changed.changes.items() if not is_left_out[key]}
        plugged = digest_of(plugins_named(changed.study))
        digest = hashlib.sha256((digest + plugged).encode()).hexdigest() if plugged else digest
        points.append(SweepPoint(world, digest if parameters or plugged else "", parameters))
    origin = study.origin or study
    with origin.refusals():
        digest = study_digest(origin.study, origin.base)
    file = name or Path(study.document.source).name
    return Sweep(StudyId(name=Path(file).stem, file=file, digest=digest), tuple(points), command)


_TOGETHER = "zipped"
"""Name of the axis of values that change together."""


def _steps(axes: Mapping[str, Any], together: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the changes of each step of values that change together."""
    for key in together:
        if key in axes:
            raise InputError(
                f"zip {key}",
                "swept once",
                "twice",
                problem=": the key is also in the sweep; remove it from one of them",
            )
        if _is_list(key):
            raise InputError(f"zip {key}", "a key of a point", key, problem=": loads and seeds are runs of each point")
    lengths = {key: len(listed) for key, listed in together.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise InputError("zip", "equal numbers of values", got, problem=f": the numbers of values differ: {got}")
    return [dict(zip(together, step, strict=True)) for step in zip(*together.values(), strict=True)]


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes of a point, with those of the step instead of the step."""
    return {key: value for key, value in values.items() if key != _TOGETHER} | values.get(_TOGETHER, {})


def _check_axis(key: Any, values: Any) -> None:
    if not isinstance(key, str):
        return  # rejected as a key later
    if isinstance(values, str | bytes) or (not isinstance(values, Sequence) and not hasattr(values, "tolist")):
        raise InputError(f"sweep {key}", "a list of values", values)
    if not len(values):
        raise InputError(f"sweep {key}", "a list of at least one value", "empty", problem=": the list is empty")
    if _is_list(key) and key not in LISTS:
        whole = next(each for each in LISTS if key.startswith(each))
        raise InputError(f"sweep {key}", whole, key, problem=f": sweep the whole list {whole} instead")


def _is_list(key: str) -> bool:
    return key.startswith(LISTS)


def _twice(axes: Mapping[str, Any], first: tuple[Any, ...], second: tuple[Any, ...]) -> InputError:
    """Return the error about two points that are the same study. Names the repeated value if there is one."""
    unlike = [key for key, values in axes.items() if len({repr(value) for value in values}) < len(values)]
    if not unlike:
        unlike = [key for key, one, other in zip(axes, first, second, strict=True) if repr(one) != repr(other)]
    got = shown_changes({key: value for key, value in zip(axes, second, strict=True) if key in unlike})
    field, problem = f"sweep {', '.join(unlike)}", f": {got} gives the same study as an earlier point"
    return InputError(field, "distinct values", got, problem=problem)


def study_digest(study: Study, base: Path, *, leave_out_rate: bool = True) -> str:
    """Return a digest of a study without loads and seeds, including the files that it names.

    The link rate is also excluded unless it is swept or timers run, because runs are measured in cycles.
    """
    leave_out_rate = leave_out_rate and study.congestion is None
    left_out = {"run": {"loads", "seeds"}, **({"link": {"rate_gbps"}} if leave_out_rate else {})}
    digest = hashlib.sha256(study.model_dump_json(exclude=left_out, exclude_defaults=True).encode())
    for _, files in named_files(study, base):
        for file in files:
            digest.update(_content_digest(file))
    return digest.hexdigest()


def _content_digest(file: Path) -> bytes:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise InputError("file", "readable", reason, source=str(file), problem=f"cannot be read: {reason}") from None
