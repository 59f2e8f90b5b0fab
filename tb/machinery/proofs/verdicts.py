"""Verdicts of solvers, stored in the user's cache under a digest of the solver's input.

The digest leaves out source lines, so that the edit of a comment does not change the key.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlane.paths import cache_dir

_FORMAT = "1"
"""Version of the stored files. Entries of another version are never found."""
_KIND = "verdicts"
_DOCUMENT = "verdict.json"
_SOURCE = re.compile(r'^ *attribute \\src "[^"\n]*"\n', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a solver's completed run.

    Parameters
    ----------
    log : str
        Output of the solver. The caller parses the verdict.
    seconds : float
        Wall time of the run.
    files : mapping of str to bytes
        Files for the user, such as the trace of a counterexample, by path in the run's folder.
    """

    log: str
    seconds: float
    files: Mapping[str, bytes]


def without_sources(design: str) -> str:
    """Return a design in RTLIL without the attributes that name its source lines."""
    return _SOURCE.sub("", design)


def verdict_key(*parts: str) -> str:
    """Return the name of a verdict: a digest of the design, the property, the depth, the mode and the tool versions."""
    lengths = "".join(f"{len(part)} " for part in parts)
    return hashlib.sha256("\0".join((_FORMAT, lengths, *parts)).encode()).hexdigest()


def find_verdict(key: str) -> Verdict | None:
    """Return the stored verdict of a key, or ``None`` if the entry is missing or damaged."""
    folder = cache_dir(_KIND) / key[:32]
    try:
        document = json.loads((folder / _DOCUMENT).read_text(encoding="utf-8"))
        files = {name: (folder / stored).read_bytes() for name, stored in document["files"].items()}
        found = Verdict(document["log"], float(document["seconds"]), files)
        return found if document["digest"] == _digest(key, found) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def store_verdict(key: str, verdict: Verdict) -> None:
    """Store a verdict under its key and replace an older verdict.

    Callers must not store verdicts of interrupted or timed-out runs.
    """
    above = cache_dir(_KIND)
    work = Path(tempfile.mkdtemp(prefix=f"{key[:32]}.", dir=above))
    try:
        stored = {name: f"file_{number}" for number, name in enumerate(verdict.files)}
        for name, short in stored.items():
            (work / short).write_bytes(verdict.files[name])
        document: dict[str, Any] = {
            "digest": _digest(key, verdict),
            "seconds": verdict.seconds,
            "files": stored,
            "log": verdict.log,
        }
        (work / _DOCUMENT).write_text(json.dumps(document), encoding="utf-8")
        shutil.rmtree(above / key[:32], ignore_errors=True)
        with contextlib.suppress(OSError):  # another process stored the same verdict meanwhile
            work.replace(above / key[:32])
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _digest(key: str, verdict: Verdict) -> str:
    """Return a digest of an entry, to detect damaged files."""
    digest = hashlib.sha256(f"{key}\0{verdict.seconds!r}\0{verdict.log}".encode())
    for name, content in sorted(verdict.files.items()):
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
