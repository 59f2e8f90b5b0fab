"""Folder of runs of one study, with one writer at a time (``docs/network.md``, What is kept)."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vlane.documents.files import usable_folder, write_whole
from vlane.errors import InputError
from vlane.rates import LinkClock
from vlane.sim_top.study.times import timed_frame, unit_metadata

MANIFEST = "manifest.json"
RESULTS = "results.parquet"
TABLES = ("links", "flows", "histograms", "messages", "levels_over_time", "links_over_time")
"""Tables that are also stored joined over all runs."""
_LOCK = ".lock"
_TRACE = ".trace.parquet"
_MUST = "an empty folder or one with runs of this study"
_OPTION = "--out"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class StudyId(_Part):
    """Study whose runs a folder holds.

    Parameters
    ----------
    name : str
        Name of the study, for people.
    file : str
        Name of the study's file, for people.
    digest : str
        Digest of the content; studies with equal digests are equal.
    """

    name: str
    file: str
    digest: str


@dataclass(frozen=True)
class RunKey:
    """Identity of a run within its study.

    Parameters
    ----------
    load : float
        Load as given in the study.
    seed : int
        Seed as given in the study.
    point : str
        Digest of the study with its parameters; empty without parameters.
    parameters : mapping of str to object
        Changes of the study by dotted key; implied by the point's digest.
    """

    load: float
    seed: int
    point: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def stem(self) -> str:
        """Path of the run's files in the folder, without suffix."""
        return f"runs/{self.point[:_POINT_DIGITS]}{'-' * bool(self.point)}load{self.load!r}-seed{self.seed}"


_POINT_DIGITS = 16


class _File(_Part):
    name: str = Field(
        pattern=r"^(runs/([0-9a-f]{16}-)?load[0-9.e+-]+-seed[0-9]+\.([a-z_]+\.parquet|json)"
        r"|(results|runs|links|flows|histograms|messages|levels_over_time|links_over_time)\.parquet)$"
    )
    sha256: str
    rows: int | None = None


class _Run(_Part):
    load: float
    seed: int
    point: str = ""
    parameters: dict[str, Any] = {}
    digest: str
    files: list[_File]

    @property
    def key(self) -> RunKey:
        """Identity of the run."""
        return RunKey(self.load, self.seed, self.point)


class _Manifest(_Part):
    study: StudyId
    vlane: str
    model: str
    runs: list[_Run] = []
    results: _File | None = None
    tables: list[_File] = []


JoinedPart = tuple[RunKey, pl.DataFrame, LinkClock]
"""Run, one row with the columns to prepend to its tables when they are joined, and the clock."""


def refuse_other_files(folder: Path) -> None:
    """Reject a folder without runs that holds other files, before anything is written.

    Raises
    ------
    InputError
        If the folder holds other files (names one), or its name is not UTF-8, which polars cannot open.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InputError(_OPTION, "a UTF-8 name", str(folder)) from None
    with contextlib.suppress(OSError):
        others = {each.name for each in folder.iterdir() if not each.name.startswith(".")} - {"runs"}
        if others and not others & {MANIFEST, RESULTS}:
            raise _unusable(folder, f"holds other files, such as {min(others)}")


class RunStore:
    """Folder of runs of one study, locked for the duration of the context.

    Parameters
    ----------
    folder : Path
        Folder, created if missing.
    study : StudyId
        Study of the runs.
    version : str
        Version of the program.
    model : str
        Source digest of the program. Runs made by another program are removed; ``removed`` counts them.

    Raises
    ------
    InputError
        If the folder cannot be written, another process holds its lock, or its runs are of another study or of none.
    """

    def __init__(self, folder: Path, study: StudyId, *, version: str, model: str) -> None:
        self.folder, self.removed, self._lock = folder, 0, -1
        self._manifest = _Manifest(study=study, vlane=version, model=model)

    def __enter__(self) -> RunStore:
        usable_folder(self.folder / "runs", option=_OPTION)
        self._take_lock()
        try:
            self._take_over()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def _take_lock(self) -> None:
        """Lock the folder. The system releases the lock when this process exits."""
        file, must = self.folder / _LOCK, "a folder that no other process writes to"
        lock = -1
        try:
            lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if lock >= 0:
                os.close(lock)
            if isinstance(error, BlockingIOError):
                problem = ": another vlane process is writing to this folder; wait or name another folder"
                raise InputError(_OPTION, must, "in use", source=str(self.folder), problem=problem) from None
            problem = f": cannot lock the folder: {error.strerror}"
            raise InputError(_OPTION, must, error.strerror, source=str(file), problem=problem) from None
        self._lock = lock

    def _take_over(self) -> None:
        """Read the manifest. Runs of another program are removed. Runs of another study are rejected."""
        file, own = self.folder / MANIFEST, self._manifest
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            if any((self.folder / "runs").iterdir()) or (self.folder / RESULTS).exists():
                self._refuse("holds runs without a manifest")
            self._write_manifest()  # before the first run, because the process may be killed at any time
            return
        except OSError as error:
            problem = f": cannot read: {error.strerror}"
            raise InputError(_OPTION, "a readable folder", error.strerror, source=str(file), problem=problem) from None
        try:
            found = _Manifest.model_validate_json(text)
        except ValidationError:
            self._refuse(f"holds a damaged {MANIFEST}")
        if found.study.digest != own.study.digest and found.runs:
            changed = " in an earlier version" if found.study.file == own.study.file else ""
            self._refuse(f"holds runs of {found.study.file}{changed}")
        if (found.study.digest, found.vlane, found.model) == (own.study.digest, own.vlane, own.model):
            own.runs, own.results, own.tables = found.runs, found.results, found.tables
            return
        self.removed = len(found.runs)
        self._write_manifest()
        self._remove(
            {each.name for run in found.runs for each in run.files} | {RESULTS} | {each.name for each in found.tables}
        )

    def _remove(self, names: set[str]) -> None:
        for name in names:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()

    def _refuse(self, why: str) -> NoReturn:
        raise _unusable(self.folder, why)

    def whole(self, key: RunKey, tables: list[str]) -> tuple[Any, str]:
        """Return a run's result and "", or ``None`` and the reason why it is unusable (empty if missing).

        Parameters
        ----------
        tables : list of str
            Required tables; other tables of the run must also be intact.
        """
        run = self._run(key)
        if run is None:
            return None, ""
        stem = key.stem
        missing = {f"{stem}.json", *(f"{stem}.{name}.parquet" for name in tables)} - {each.name for each in run.files}
        if missing:
            return None, f"{min(missing)} was not written"
        for each in run.files:
            try:
                with (self.folder / each.name).open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                return None, f"{each.name}: {error.strerror}"
            if found != each.sha256:
                return None, f"{each.name} was changed after it was written"
        try:
            document = json.loads((self.folder / f"{stem}.json").read_text(encoding="utf-8"))
            result = document["result"]
            said = document["study"], document["point"], result["load"], result["seed"], result["digest"]
        except (OSError, ValueError, KeyError, TypeError):
            return None, f"{stem}.json is not a run"
        if said != (self._manifest.study.digest, key.point, key.load, key.seed, run.digest):
            return None, f"{stem}.json belongs to another run"
        return result, ""

    def keep(self, key: RunKey, result: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
        """Write a run's files and the manifest, replacing an earlier run with the same key."""
        stem, before = key.stem, self._run(key)
        files = [self._write_table(f"{stem}.{name}.parquet", table) for name, table in tables.items()]
        whose = {"study": self._manifest.study.digest, "point": key.point, "parameters": dict(key.parameters)}
        text = json.dumps({**whose, "result": result}, indent=1) + "\n"
        files.append(self._write(f"{stem}.json", text.encode()))
        made = _Run(
            load=key.load,
            seed=key.seed,
            point=key.point,
            parameters=dict(key.parameters),
            digest=result["digest"],
            files=files,
        )
        runs = self._manifest.runs
        self._manifest.runs = sorted([*(run for run in runs if run is not before), made], key=_order)
        self._write_manifest()
        if before:
            self._remove({each.name for each in before.files} - {each.name for each in files})

    def keep_results(
        self, levels: pl.DataFrame, runs: pl.DataFrame, joined: Mapping[str, Sequence[JoinedPart]]
    ) -> None:
        """Write the tables of all runs and the manifest, and remove obsolete joined tables.

        Parameters
        ----------
        levels, runs : DataFrame
            ``results.parquet`` and ``runs.parquet``.
        joined : mapping of str to sequence of JoinedPart
            Runs with each table, by table.
        """
        before = {each.name for each in self._manifest.tables}
        self._manifest.results = self._write_table(RESULTS, levels)
        tables = [self._write_table("runs.parquet", runs)]
        tables += [self._write_joined(name, parts) for name, parts in joined.items() if parts]
        self._manifest.tables = tables
        self._write_manifest()
        self._remove(before - {each.name for each in tables})

    def _write_joined(self, name: str, parts: Sequence[JoinedPart]) -> _File:
        """Write one table over all runs atomically, without holding all of it in memory."""
        file = self.folder / f"{name}.parquet"
        fresh = file.with_name(f".{secrets.token_hex(8)}.part")
        lazy = []
        for key, which, clock in parts:
            own = pl.scan_parquet(self.folder / f"{key.stem}.{name}.parquet")
            lazy.append(which.lazy().join(timed_frame(own, clock), how="cross", maintain_order="left_right"))
        try:
            whole = pl.concat(lazy, how="vertical_relaxed")
            whole.sink_parquet(fresh, metadata=unit_metadata(whole.collect_schema().names()))
            with fresh.open("rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            rows = pl.scan_parquet(fresh).select(pl.len()).collect().item()
            fresh.replace(file)
        except (OSError, pl.exceptions.ComputeError) as error:
            got = getattr(error, "strerror", None) or str(error)
            problem = f": cannot write the file: {got}"
            raise InputError(_OPTION, "a writable file", got, source=str(file), problem=problem) from None
        finally:
            fresh.unlink(missing_ok=True)
        return _File(name=file.name, sha256=sha256, rows=rows)

    def _run(self, key: RunKey) -> _Run | None:
        return next((run for run in self._manifest.runs if run.key == key), None)

    def _write_table(self, name: str, table: pl.DataFrame) -> _File:
        return self._write(name, _parquet(table), rows=len(table))

    def _write(self, name: str, content: bytes, *, rows: int | None = None) -> _File:
        write_whole(self.folder / name, content, option=_OPTION)
        return _File(name=name, sha256=hashlib.sha256(content).hexdigest(), rows=rows)

    def _write_manifest(self) -> None:
        text = self._manifest.model_dump_json(indent=1, exclude_none=True) + "\n"
        write_whole(self.folder / MANIFEST, text, option=_OPTION)


def _unusable(folder: Path, why: str) -> InputError:
    problem = f": the folder {why}; name another folder or remove this one"
    return InputError(_OPTION, _MUST, why, source=str(folder), problem=problem)


def links_of_run(folder: Path, key: RunKey) -> pl.DataFrame:
    """Return a run's table of links from a folder."""
    return pl.read_parquet(folder / f"{key.stem}.links.parquet")


def traced_runs(folder: Path, parameters: Sequence[str]) -> list[tuple[RunKey, Path]]:
    """Return the traced runs of a folder and their traces, of the points with exactly these parameters.

    Raises
    ------
    InputError
        If the manifest is missing or damaged.
    """
    file = folder / MANIFEST
    try:
        runs = _Manifest.model_validate_json(file.read_bytes()).runs
    except (OSError, ValidationError):
        raise InputError(
            "folder", "a folder of runs", str(folder), source=str(file), problem=": missing or damaged"
        ) from None
    return [
        (RunKey(run.load, run.seed, run.point, run.parameters), folder / each.name)
        for run in runs
        for each in run.files
        if each.name.endswith(_TRACE) and set(run.parameters) == set(parameters)
    ]


def _order(run: _Run) -> tuple[str, float, int]:
    return run.point, run.load, run.seed


def _parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content, metadata=unit_metadata(table.columns))
    return content.getvalue()
