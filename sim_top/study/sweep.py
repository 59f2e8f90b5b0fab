"""The points of a study: what is changed of it, in every combination, each checked before anything runs.

A study without changes is a sweep of one point, which has no parameters.
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
from vlane.sim_top.study.run_store import RunKey, StudyId
from vlane.study.file import StudyFile, shown_changes
from vlane.study.model import plugins_named
from vlane.study.study import Study

LISTS = ("run.loads", "run.seeds")
"""Keys whose values are runs of one point, not points."""
RATE = "link.rate_gbps"
"""What a cycle is in time, which changes no run: only where it is swept are its values points."""
MOST_POINTS = 10_000
"""Of a sweep."""


@dataclass(frozen=True)
class SweepPoint:
    """A study with some values of its parameters.

    Parameters
    ----------
    world : World
        What its runs share, checked.
    digest : str
        What tells it from other studies, the sources of its plug-ins too; empty for a study without parameters and
        plug-ins.
    parameters : mapping of str to object
        What is changed, by dotted key.
    """

    world: World
    digest: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def runs(self) -> list[RunKey]:
        """Return its runs, by load and seed."""
        run = self.world.study.run
        return [RunKey(load, seed, self.digest, self.parameters) for load in run.loads for seed in run.seeds]


@dataclass(frozen=True)
class Sweep:
    """A study's points.

    Parameters
    ----------
    study : StudyId
        The study before any change.
    points : tuple of SweepPoint
        All with the same parameters, in the order of the values that were given, the last one varying fastest.
    """

    study: StudyId
    points: tuple[SweepPoint, ...]

    @property
    def run_count(self) -> int:
        """Runs of all points."""
        return sum(len(point.runs()) for point in self.points)


def make_sweep(study: StudyFile, values: Mapping[str, Sequence[Any]] | None = None, *, name: str = "") -> Sweep:
    """Return the points of a study with every combination of some values, each checked as a study of its own.

    Parameters
    ----------
    study : StudyFile
        Its changes are parameters of every point, but for loads, seeds and the rate.
    values : mapping of str to sequence
        By dotted key; those of ``run.loads`` and ``run.seeds`` are the lists themselves.
    name : str
        Name of the study's file, for people who read the manifest; that of the file it was read from if left out.

    Raises
    ------
    InputError
        If a key or a value is refused, naming both; if there are too many points, or two are the same study.
    """
    axes = dict(values or {})
    for key, listed in axes.items():
        _check_axis(key, listed)
    count = prod(len(listed) for key, listed in axes.items() if key not in LISTS)
    if count > MOST_POINTS:
        raise InputError("sweep", f"of at most {MOST_POINTS} points", count)
    base = study.with_({key: list(axes.pop(key)) for key in LISTS if key in axes})
    points: list[SweepPoint] = []
    digests: dict[str, tuple[Any, ...]] = {}
    for values_of_point in product(*axes.values()):
        changed = base.with_(dict(zip(axes, values_of_point, strict=True))) if axes else base
        with changed.refusals():
            world = make_world(changed.study, changed.base)
            check_world(world)
            check_faults(world)
            digest = study_digest(changed.study, changed.base, leave_out_rate=RATE not in axes)
        if digest in digests:
            raise _twice(axes, digests[digest], values_of_point)
        digests[digest] = values_of_point
        is_left_out = {key: _is_list(key) or (key == RATE and key not in axes) for key in changed.changes}
        parameters = {key: value for key, value in changed.changes.items() if not is_left_out[key]}
        plugged = digest_of(plugins_named(changed.study))
        digest = hashlib.sha256((digest + plugged).encode()).hexdigest() if plugged else digest
        points.append(SweepPoint(world, digest if parameters or plugged else "", parameters))
    origin = study.origin or study
    with origin.refusals():
        digest = study_digest(origin.study, origin.base)
    file = name or Path(study.document.source).name
    return Sweep(StudyId(name=Path(file).stem, file=file, digest=digest), tuple(points))


def _check_axis(key: Any, values: Any) -> None:
    if not isinstance(key, str):
        return  # refused as a key
    if isinstance(values, str | bytes) or (not isinstance(values, Sequence) and not hasattr(values, "tolist")):
        raise InputError(f"sweep {key}", "a list of values", values)
    if not len(values):
        raise InputError(f"sweep {key}", "a list of at least one value", "empty")
    if _is_list(key) and key not in LISTS:
        whole = next(each for each in LISTS if key.startswith(each))
        raise InputError(f"sweep {key}", f"{whole}, whose values are runs of their own", key)


def _is_list(key: str) -> bool:
    return key.startswith(LISTS)


def _twice(axes: Mapping[str, Any], first: tuple[Any, ...], second: tuple[Any, ...]) -> InputError:
    """Return the error about two points that are the same study: about the value that comes twice, if one does."""
    unlike = [key for key, values in axes.items() if len({repr(value) for value in values}) < len(values)]
    if not unlike:
        unlike = [key for key, one, other in zip(axes, first, second, strict=True) if repr(one) != repr(other)]
    got = shown_changes({key: value for key, value in zip(axes, second, strict=True) if key in unlike})
    return InputError(f"sweep {', '.join(unlike)}", "of values that make different studies", f"{got} again")


def study_digest(study: Study, base: Path, *, leave_out_rate: bool = True) -> str:
    """Return what tells a study from others: all of it but loads and seeds, and the files that it names.

    The rate of the link is left out, too, unless it is swept or timers run: a run is in cycles, whatever they are in
    time.
    """
    leave_out_rate = leave_out_rate and study.congestion is None
    left_out = {"run": {"loads", "seeds"}, **({"link": {"rate_gbps"}} if leave_out_rate else {})}
    digest = hashlib.sha256(study.model_dump_json(exclude=left_out, exclude_defaults=True).encode())
    named = [
        study.scheduler.table,
        getattr(study.network, "file", None),
        study.trace and study.trace.file,
        study.connections and study.connections.file,
        study.congestion and study.congestion.opensm_conf,
        *(each.file for each in study.traffic),
    ]
    folder = getattr(study.network, "folder", None)
    files = [base / name for name in named if name]
    files += sorted(each for each in (base / folder).rglob("*") if each.is_file()) if folder else []
    for file in files:
        digest.update(_content_digest(file))
    return digest.hexdigest()


def _content_digest(file: Path) -> bytes:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").digest()
    except OSError as error:
        raise InputError("file", "readable", error.strerror or "unreadable", source=str(file)) from None
