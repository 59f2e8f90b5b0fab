"""pytest plug-in that runs mutants instead of all tests: each in a fork with everything imported.

The process reads one JSON document per line from ``MUTANTS_JOBS``: the mutant, and the tests in the order to run.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import resource
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.mutants.operators import Mutant
from tests.mutants.reach import codes_of, functions_by_place, kernel_name
from vlane.golden.compiler import build
from vlane.golden.compiler import kernel as kernels
from vlane.golden.compiler.kernel import Kernel
from vlane.golden.compiler.types import Type
from vlane.golden.engine.kernel import source_digest

_SILENT_SECONDS = 900
"""Wall time without a started test after which a mutant counts as hanging."""
_FASTER = tuple("-O1" if each == "-O3" else each for each in build.FLAGS)
"""Compiler options of changed kernels, which run once."""


class Server:
    """Runner of mutants in forks of a pytest process."""

    def __init__(self, jobs: Path, results: Path) -> None:
        self._jobs, self._results = jobs, results
        self._failed = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all jobs."""
        items = {item.nodeid: item for item in session.items}
        functions = functions_by_place()
        source_digest()
        for line in self._jobs.read_text().splitlines():
            job = json.loads(line)
            began = time.monotonic()
            outcome = self._run(job, items, functions)
            outcome["wall_seconds"] = round(time.monotonic() - began, 1)
            with self._results.open("a") as file:
                file.write(json.dumps({"name": job["name"], **outcome}) + "\n")
        return True

    def _run(
        self, job: dict[str, Any], items: dict[str, pytest.Item], functions: dict[tuple[str, int], list[FunctionType]]
    ) -> dict[str, Any]:
        mutant = Mutant(**job["mutant"])
        path = ROOT / mutant.file
        original = path.read_text()
        reading, writing = os.pipe()
        path.write_text(mutant.applied(original))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setsid()
                silent = os.open(os.devnull, os.O_RDWR)
                for number in (0, 1, 2):
                    os.dup2(silent, number)
                _apply(mutant, path, functions, set(job["kernels"]))
                chosen = [(items[name], seconds) for name, seconds in job["tests"] if name in items]
                self._run_tests(chosen, writing)
                status = 0
            except BaseException as error:  # noqa: BLE001 - reported to the server
                os.write(writing, f"broken\t{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(status)
        os.close(writing)
        try:
            return _watch(child, reading)
        finally:
            path.write_text(original)

    def _run_tests(self, chosen: Sequence[tuple[pytest.Item, float]], writing: int) -> None:
        for number, (item, seconds) in enumerate(chosen):
            used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
            limit = int(used + 10 * seconds + 30)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            os.write(writing, f"started\t{item.nodeid}\n".encode())
            following = chosen[number + 1][0] if number + 1 < len(chosen) else None
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                os.write(writing, f"killed\t{item.nodeid}\t{self._failed}\n".encode())
                return
        os.write(writing, b"survived\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure of a mutant."""
        if report.failed and not self._failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._failed = str(getattr(crash, "message", report.longrepr)).splitlines()[0][:200]


def _watch(child: int, reading: int) -> dict[str, Any]:
    """Return the outcome that a mutant's process reports, or that its death or silence shows."""
    text = b""
    is_over = False
    while not is_over and select.select([reading], [], [], _SILENT_SECONDS)[0] and (more := os.read(reading, 65536)):
        text += more
        is_over = text.splitlines()[-1].startswith((b"killed", b"survived", b"broken")) and text.endswith(b"\n")
    with contextlib.suppress(ProcessLookupError):  # the process ended
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    lines = [line.split("\t") for line in text.decode(errors="replace").splitlines()]
    started = [line[1] for line in lines if line[0] == "started"]
    last = lines[-1] if lines else ["", ""]
    if last[0] == "broken":
        raise RuntimeError(f"the process of a mutant failed outside of tests: {last[1]}")
    if last[0] == "survived":
        return {"killed": False, "tests": len(started)}
    if last[0] == "killed":
        return {"killed": True, "tests": len(started), "by": last[1], "reason": "\t".join(last[2:])}
    reason = f"signal {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else f"exit {status}"
    return {"killed": True, "tests": len(started), "by": started[-1] if started else "", "reason": reason}


def _apply(mutant: Mutant, path: Path, functions: dict[tuple[str, int], list[FunctionType]], changed: set[str]) -> None:
    """Replace the code of loaded functions by the code of the changed file, and compile changed kernels anew."""
    for name in list(linecache.cache):
        if os.path.realpath(name) == os.path.realpath(path):
            linecache.cache.pop(name)
    for code in codes_of(compile(path.read_text(), str(path), "exec")):
        for function in functions.get((mutant.file, code.co_firstlineno), ()):
            same = function.__code__
            if same.co_name == code.co_name and same.co_freevars == code.co_freevars:
                function.__code__ = code.replace(co_filename=same.co_filename)
    plain, load = Kernel.compiled, kernels.load
    names: list[str] = []

    def compiled(kernel: Kernel, types: tuple[Type, ...]) -> Any:
        names[:] = [kernel_name(kernel, types)]
        return plain(kernel, types)

    def load_changed(function: Any, types: Any, key: str, *, checked: bool = False) -> Any:
        if names[0] not in changed:
            return load(function, types, key, checked=checked)
        flags, build.FLAGS = build.FLAGS, _FASTER
        try:
            return load(function, types, f"{key}\0{mutant.name}\0{mutant.after}", checked=checked)
        finally:
            build.FLAGS = flags

    Kernel.compiled = compiled  # type: ignore[method-assign]
    kernels.load = load_changed  # type: ignore[assignment]


def pytest_configure(config: pytest.Config) -> None:
    """Register the server if environment variables name its files."""
    if jobs := os.environ.get("MUTANTS_JOBS"):
        config.pluginmanager.register(Server(Path(jobs), Path(os.environ["MUTANTS_RESULTS"])), "vlane-mutants")
