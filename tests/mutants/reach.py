"""pytest plug-in that records the processor time of each test and the golden, planning and study code that it runs.

Python code is recorded by line. A compiled kernel counts with every function that was translated for it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.conftest import ROOT
from vlane.golden.compiler import kernel as kernels
from vlane.golden.compiler.kernel import Kernel
from vlane.golden.compiler.program import Program
from vlane.golden.compiler.types import Type

FOLDERS = ("golden/network", "golden/switches", "sim_top/study", "sim_top/studies", "vlane/fabric", "vlane/planning")
"""Mutated folders."""
_TRACED = (*FOLDERS, "golden/links")
"""Folders whose code is recorded."""
_TRACED_CALLS = 30
"""Calls of a function within a test whose lines are recorded."""


def source_of(code: CodeType) -> str:
    """Return the path of a function's file from the root if its code is recorded, otherwise an empty text."""
    path = os.path.realpath(code.co_filename)
    file = path.removeprefix(f"{os.path.realpath(ROOT)}/")
    return file if file != path and file.startswith(_TRACED) else ""


def kernel_name(kernel: Kernel, types: tuple[Type, ...]) -> str:
    """Return a name of a kernel for arguments of certain types, equal in all processes."""
    function = kernel.python_function
    return "\t".join((f"{function.__module__}.{function.__qualname__}", *map(kernels.signature, types)))


class Reach:
    """Recorder of one pytest process."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._known: dict[int, tuple[CodeType, str]] = {}
        self._kernels: set[str] = set()
        self._lines: dict[str, set[int]] = {}
        self._calls: dict[int, int] = {}
        self._used: set[str] = set()
        done = [json.loads(line) for line in record.read_text().splitlines()] if record.is_file() else []
        self._kernels.update(each["kernel"] for each in done if "kernel" in each)
        self.tests = {each["test"] for each in done if "test" in each}
        plain = Kernel.compiled
        recorder = self

        def compiled(kernel: Kernel, types: tuple[Type, ...]) -> Any:
            recorder.use(kernel, types)
            return plain(kernel, types)

        Kernel.compiled = compiled  # type: ignore[method-assign]

    def use(self, kernel: Kernel, types: tuple[Type, ...]) -> None:
        """Record that the running test uses a kernel."""
        name = kernel_name(kernel, types)
        self._used.add(name)
        if name in self._kernels:
            return
        self._kernels.add(name)
        program = Program()
        program.call(kernel.python_function, types)
        found = {(source_of(each.__code__), each.__code__.co_firstlineno) for each, _ in program._instances}
        self._write({"kernel": name, "functions": sorted(place for place in found if place[0])})

    def _write(self, document: dict[str, Any]) -> None:
        with self._record.open("a") as file:
            file.write(json.dumps(document) + "\n")

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        number = id(code)
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = code, source_of(code)
        file = known[1]
        if not file:
            return None
        if event == "call":
            self._calls[number] = self._calls.get(number, 0) + 1
            if self._calls[number] > _TRACED_CALLS:
                return None
        self._lines.setdefault(file, set()).add(frame.f_lineno)
        return self._trace

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out recorded tests."""
        items[:] = [item for item in items if item.nodeid not in self.tests]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Record one test. Functions that run in other threads are not recorded."""
        for each in list(kernels._memories):
            each.forget()
        self._lines, self._calls, self._used, self._passed = {}, {}, set(), True
        begin = os.times()
        sys.settrace(self._trace)
        try:
            result = yield
        finally:
            sys.settrace(None)
        end = os.times()
        seconds = sum(end[:4]) - sum(begin[:4])
        lines = {file: sorted(found) for file, found in self._lines.items()}
        self._write(
            {
                "test": item.nodeid,
                "seconds": round(seconds, 2),
                "lines": lines,
                "kernels": sorted(self._used),
                "passed": self._passed,
            }
        )
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails without any mutant."""
        self._passed = self._passed and not report.failed


def functions_by_place() -> dict[tuple[str, int], list[FunctionType]]:
    """Return the loaded functions of mutated files by file and first line."""
    gc.unfreeze()
    found: dict[tuple[str, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and (file := source_of(each.__code__)):
            found.setdefault((file, each.__code__.co_firstlineno), []).append(each)
    gc.freeze()
    return found


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects inside."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder if an environment variable names its file."""
    if record := os.environ.get("MUTANTS_REACH"):
        config.pluginmanager.register(Reach(Path(record)), "vlane-reach")
