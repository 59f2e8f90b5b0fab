"""A folder of runs, of one study and by one writer at a time (``docs/network.md``, What is kept)."""

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
from vlane.sim_top.study.times import timed_frame

MANIFEST = "manifest.json"
RESULTS = "results.parquet"
TABLES = ("links", "flows")
"""Tables of the runs that are kept joined, beside those of each run."""
_LOCK = ".lock"
_MUST = "an empty folder or one with runs of this study: name another, or remove this one"
_OPTION = "--out"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class StudyId(_Part):
    """Whose runs a folder holds.

    Parameters
    ----------
    name, file : str
        For people.
    digest : str
        What is in it; studies of the same digest are the same.
    """

    name: str
    file: str
    digest: str


@dataclass(frozen=True)
class RunKey:
    """What tells a run of a study from its others.

    Parameters
    ----------
    load : float
        As the study asks.
    seed : int
        Likewise.
    point : str
        Digest of the study with its parameters; empty without parameters.
    parameters : mapping of str to object
        What is changed of the study, by dotted key; the point's digest says the same.
    """

    load: float
    seed: int
    point: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def stem(self) -> str:
        """Name of the run's files in the folder, without what they end in."""
        return f"runs/{self.point[:_POINT_DIGITS]}{'-' * bool(self.point)}load{self.load!r}-seed{self.seed}"


_POINT_DIGITS = 16


class _File(_Part):
    name: str = Field(
        pattern=r"^(runs/([0-9a-f]{16}-)?load[0-9.e+-]+-seed[0-9]+\.([a-z]+\.parquet|json)"
        r"|(results|runs|links|flows)\.parquet)$"
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
        """What the run is."""
        return RunKey(self.load, self.seed, self.point)


class _Manifest(_Part):
    study: StudyId
    vlane: str
    model: str
    runs: list[_Run] = []
    results: _File | None = None
    tables: list[_File] = []


JoinedPart = tuple[RunKey, pl.DataFrame, LinkClock]
"""A run, and one row with the columns that go before those of its tables when they are joined."""


def refuse_other_files(folder: Path) -> None:
    """Refuse a folder without runs that holds other files, before anything is made in it.

    Raises
    ------
    InputError
        Naming one of them; or the folder, if its name is no UTF-8, which polars cannot open.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InputError(_OPTION, "a folder whose name is UTF-8", str(folder)) from None
    with contextlib.suppress(OSError):
        others = {each.name for each in folder.iterdir() if not each.name.startswith(".")} - {"runs"}
        if others and not others & {MANIFEST, RESULTS}:
            raise InputError(_OPTION, _MUST, f"one with other files, as {min(others)}", source=str(folder))


class RunStore:
    """A folder of runs of one study, held as long as the context lasts.

    Parameters
    ----------
    folder : Path
        Made if it is missing.
    study : StudyId
        The runs' study.
    version, model : str
        Version and digest of what makes the runs; runs that another one made are removed, ``removed`` of them.

    Raises
    ------
    InputError
        If the folder cannot be written, another process holds it, or its runs are of another study or of none.
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
        """Hold the folder: the system lets go of it when this process ends, however it does."""
        file, must = self.folder / _LOCK, "a folder that no other vlane writes to"
        lock = -1
        try:
            lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if lock >= 0:
                os.close(lock)
            if isinstance(error, BlockingIOError):
                raise InputError(_OPTION, must, "one in use: wait, or name another", source=str(self.folder)) from None
            raise InputError(_OPTION, f"{must}, with a lock", error.strerror, source=str(file)) from None
        self._lock = lock

    def _take_over(self) -> None:
        """Read what is there; remove it if it was made otherwise, refuse it if it is of another study."""
        file, own = self.folder / MANIFEST, self._manifest
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            if any((self.folder / "runs").iterdir()) or (self.folder / RESULTS).exists():
                self._refuse("one whose runs no manifest names")
            self._write_manifest()  # before the first run, which may be killed at any moment
            return
        except OSError as error:
            raise InputError(_OPTION, "a folder that can be read", error.strerror, source=str(file)) from None
        try:
            found = _Manifest.model_validate_json(text)
        except ValidationError:
            self._refuse(f"one with a damaged {MANIFEST}")
        if found.study.digest != own.study.digest and found.runs:
            changed = " before it was changed" if found.study.file == own.study.file else ""
            self._refuse(f"one with runs of {found.study.file}{changed}")
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

    def _refuse(self, got: str) -> NoReturn:
        raise InputError(_OPTION, _MUST, got, source=str(self.folder))

    def whole(self, key: RunKey, tables: list[str]) -> tuple[Any, str]:
        """Return a run's result as a document, and nothing; or ``None``, and why it is not there or not whole.

        Parameters
        ----------
        tables : list of str
            Tables that it must have; those that it has beside them must be whole too.
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
                return None, f"{each.name} is not as it was written"
        try:
            document = json.loads((self.folder / f"{stem}.json").read_text(encoding="utf-8"))
            result = document["result"]
            said = document["study"], document["point"], result["load"], result["seed"], result["digest"]
        except (OSError, ValueError, KeyError, TypeError):
            return None, f"{stem}.json is no run"
        if said != (self._manifest.study.digest, key.point, key.load, key.seed, run.digest):
            return None, f"{stem}.json is of another run"
        return result, ""

    def keep(self, key: RunKey, result: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
        """Write a run's files, then the manifest; what an earlier run of the same key had is replaced."""
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
        """Write the tables of all runs, then the manifest; a joined table that there was and is no more is removed.

        Parameters
        ----------
        levels, runs : DataFrame
            ``results.parquet`` and ``runs.parquet``.
        joined : mapping of str to sequence of JoinedPart
            By table the runs that have it.
        """
        before = {each.name for each in self._manifest.tables}
        self._manifest.results = self._write_table(RESULTS, levels)
        tables = [self._write_table("runs.parquet", runs)]
        tables += [self._write_joined(name, parts) for name, parts in joined.items() if parts]
        self._manifest.tables = tables
        self._write_manifest()
        self._remove(before - {each.name for each in tables})

    def _write_joined(self, name: str, parts: Sequence[JoinedPart]) -> _File:
        """Write one table of all runs without having all of it in memory; it is whole or not there."""
        file = self.folder / f"{name}.parquet"
        fresh = file.with_name(f".{secrets.token_hex(8)}.part")
        lazy = []
        for key, which, clock in parts:
            own = pl.scan_parquet(self.folder / f"{key.stem}.{name}.parquet")
            lazy.append(which.lazy().join(timed_frame(own, clock), how="cross", maintain_order="left_right"))
        try:
            pl.concat(lazy, how="vertical_relaxed").sink_parquet(fresh)
            with fresh.open("rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            rows = pl.scan_parquet(fresh).select(pl.len()).collect().item()
            fresh.replace(file)
        except (OSError, pl.exceptions.ComputeError) as error:
            got = getattr(error, "strerror", None) or "one that could not be written"
            raise InputError(_OPTION, "a file that can be written", got, source=str(file)) from None
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


def links_of_run(folder: Path, key: RunKey) -> pl.DataFrame:
    """Return the table of links that a folder holds of a run."""
    return pl.read_parquet(folder / f"{key.stem}.links.parquet")


def _order(run: _Run) -> tuple[str, float, int]:
    return run.point, run.load, run.seed


def _parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()
