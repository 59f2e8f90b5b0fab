"""Record of a command in its folder of results: everything that another machine needs to run the study again.

``docs/network.md`` (Run a folder again) lists the files. ``vlane rerun`` reads them.
"""

from __future__ import annotations

import datetime as dt
import json
import platform
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any

import vlane
from vlane.documents.files import usable_folder, write_whole
from vlane.documents.toml_text import toml_document
from vlane.errors import InputError, missing_value
from vlane.plugins import Origin, load_file
from vlane.study.file import StudyFile, read_study_file
from vlane.study.model import plugins_named
from vlane.study.study import Study

RECORD = "record.json"
_INPUTS, _PLUGINS, _OUTSIDE = "inputs", "plugins", "outside"
_OPTION = "--out"
_LIBRARIES = ("numpy", "polars", "pydantic", "matplotlib")


@dataclass(frozen=True)
class Command:
    """Study with the changes and sweeps of a command.

    Parameters
    ----------
    study : StudyFile
        Study with its changes.
    axes : mapping of str to sequence
        Swept values by key, of which all combinations are run.
    zipped : mapping of str to sequence
        Swept values by key that change together.
    """

    study: StudyFile
    axes: Mapping[str, Sequence[Any]]
    zipped: Mapping[str, Sequence[Any]]


def named_files(study: Study, base: Path) -> list[tuple[str, list[Path]]]:
    """Return the names of files in a study with their files. A folder stands for all files in the folder."""
    names = [
        study.scheduler.table,
        getattr(study.network, "file", None),
        study.trace and study.trace.file,
        study.connections and study.connections.file,
        study.congestion and study.congestion.opensm_conf,
        *(name for each in study.traffic for name in each.files),
    ]
    files = [(str(name), [base / name]) for name in names if name]
    folder = getattr(study.network, "folder", None)
    if folder:
        files.append((str(folder), sorted(each for each in (base / folder).rglob("*") if each.is_file())))
    return files


def write_record(folder: Path, command: Command, studies: Iterable[Study], *, trace: bool, source: str) -> None:
    """Write ``record.json`` and copies of the study, the files that it names, and its plug-ins.

    Parameters
    ----------
    folder : Path
        Folder of results.
    command : Command
        Study and sweeps.
    studies : iterable of Study
        Study of each point.
    trace : bool
        Whether packets are recorded.
    source : str
        Digest of vlane's sources.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    for name in (_INPUTS, _PLUGINS):
        shutil.rmtree(folder / name, ignore_errors=True)
    made, base, given = list(studies), command.study.base, command.study
    copied: dict[str, str] = {}
    for study in made:
        for name, files in named_files(study, base):
            if name not in copied:
                copied[name] = _inside(name, len(copied))
                for file in files:
                    place = PurePath(copied[name]) / file.relative_to(base / name)
                    _copy(file, folder / _INPUTS / place)
    moved = {name: place for name, place in copied.items() if name != place}
    origin = given.origin or given
    name = _study_name(origin, copied)
    text = origin.document.text if origin.document.text and not moved else ""
    write_whole(
        usable_folder(folder / _INPUTS, option=_OPTION) / name,
        text or toml_document(_renamed(origin.document.content, moved)),
        option=_OPTION,
    )
    used = {plugin.origin for study in made for plugin in plugins_named(study)}
    record = {
        "study": f"{_INPUTS}/{name}",
        "changes": _renamed(dict(given.changes), moved),
        "sweep": _renamed({key: list(values) for key, values in command.axes.items()}, moved),
        "zip": _renamed({key: list(values) for key, values in command.zipped.items()}, moved),
        "trace": trace,
        "plugins": [_plugin(folder, origin) for origin in sorted(used, key=repr)],
        "command": shlex.join(sys.argv),
        "vlane": vlane.__version__,
        "commit": _commit(),
        "source": source,
        "python": platform.python_version(),
        "libraries": {each: _version(each) for each in _LIBRARIES},
        "system": platform.platform(),
        "host": platform.node(),
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }
    write_whole(folder / RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n", option=_OPTION)


def _inside(name: str, number: int) -> str:
    """Return the place of a named file among the inputs: its own name, unless the name leaves the study's folder."""
    path = PurePath(name)
    return f"{_OUTSIDE}/{number}/{path.name}" if path.is_absolute() or ".." in path.parts else name


def _copy(file: Path, place: Path) -> None:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError("file", "readable", error.strerror, source=str(file), problem="cannot be read") from None
    write_whole(usable_folder(place.parent, option=_OPTION) / place.name, content, option=_OPTION)


def _study_name(origin: StudyFile, copied: Mapping[str, str]) -> str:
    """Return the name of the study's copy, which no copied file has."""
    name = Path(origin.document.source).name or "study.toml"
    while name in copied.values():
        name = f"of-{name}"
    return name


def _renamed(value: Any, moved: Mapping[str, str]) -> Any:
    """Return a value with the names of moved files replaced."""
    if isinstance(value, Mapping):
        return {key: _renamed(held, moved) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(held, moved) for held in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return moved.get(value, value) if isinstance(value, str) else value


def _plugin(folder: Path, origin: Origin) -> dict[str, str]:
    """Store the source of plug-ins, if they are a file or a cell, and return their entry in the record."""
    if not origin.text:
        return {"how": origin.how, "name": origin.name, "version": _version(origin.name)}
    place = usable_folder(folder / _PLUGINS, option=_OPTION)
    name = f"{len(list(place.iterdir()))}-{Path(origin.name).stem or 'plugins'}.py"
    write_whole(place / name, origin.text, option=_OPTION)
    return {"how": "file", "name": f"{_PLUGINS}/{name}"}


def _commit() -> str | None:
    """Return the commit of a checkout of vlane, or ``None`` for an installed release."""
    git = Path(__file__).resolve().parents[2] / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref: ")
        if name == head:
            return head
        if (git / name).is_file():
            return (git / name).read_text(encoding="utf-8").strip()
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
    except (OSError, UnicodeDecodeError):
        return None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Recorded:
    """Command that a folder of results records.

    Parameters
    ----------
    command : Command
        Study and sweeps, read from the folder's copies.
    trace : bool
        Whether packets were recorded.
    source : str
        Digest of the sources of the vlane that made the runs.
    shown : str
        Version and commit of that vlane, and the date.
    """

    command: Command
    trace: bool
    source: str
    shown: str


def read_record(folder: Path, *, with_plugins: bool) -> Recorded:
    """Return the command that a folder records, after loading its plug-ins.

    Parameters
    ----------
    with_plugins : bool
        Whether plug-in files of the folder may be loaded, which executes them.

    Raises
    ------
    InputError
        If the folder has no record or a damaged one, a file is missing, or plug-ins are needed but not allowed.
    """
    file = folder / RECORD
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        study, changes, plugins = record["study"], record["changes"], record["plugins"]
        axes, zipped, trace = record["sweep"], record["zip"], bool(record["trace"])
        shown = f"vlane {record['vlane']}, commit {record['commit'] or 'of the release'}, {record['date']}"
        source = str(record["source"])
    except FileNotFoundError:
        raise missing_value(RECORD, "the folder was not written by vlane simulate", source=str(folder)) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f": cannot be read: {error}"
        raise InputError(
            RECORD, "a record of vlane simulate", str(error), source=str(folder), problem=problem
        ) from None
    files = [folder / each["name"] for each in plugins if each["how"] == "file"]
    if files and not with_plugins:
        names = ", ".join(str(each) for each in files)
        problem = f": the runs need {names}, which would run with your rights; read the code, then add --with-plugins"
        raise InputError("--with-plugins", "given for a folder with plug-ins", "missing", problem=problem)
    for each in files:
        load_file(each)
    read = read_study_file(folder / study)
    return Recorded(Command(read.with_(changes) if changes else read, axes, zipped), trace, source, shown)
