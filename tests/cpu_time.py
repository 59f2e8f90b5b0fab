"""pytest plug-in that measures the processor time of each test file, including child processes.

A file is charged the user and system time spent while it is collected and its tests run, by the test process and by
child processes the test process waited for. The time of a fixed piece of work is measured in between. With xdist,
workers report to the controller, which sums the results, prints the most expensive files and writes
``build/test_cpu.json``.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cpu_budget import Measured, table, work, write_measured

RESULT = Path("build") / "test_cpu.json"
_PACE_INTERVAL = 10.0
"""Least number of seconds between two measurements of the pace."""
_OUTPUT = "vlane_cpu"
"""Key of a worker's result in the data xdist sends to the controller."""


def _seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _own_seconds() -> float:
    return _seconds(resource.RUSAGE_SELF)


def _seconds_of_work() -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _all_seconds() -> float:
    return _own_seconds() + _seconds(resource.RUSAGE_CHILDREN)


class CpuTime:
    """Collector of the processor time of one process and, in an xdist controller, of its workers.

    Parameters
    ----------
    config : pytest.Config
        Configuration of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._files: Counter[str] = Counter()
        self._workers: list[dict[str, Any]] = []
        self._lost_workers = 0
        self._paces: list[float] = []
        self._pace_due = 0.0

    def _measure_pace(self) -> None:
        """Time the fixed work, unless that was done in the last seconds."""
        if time.monotonic() >= self._pace_due:
            self._paces.append(_seconds_of_work())
            self._pace_due = time.monotonic() + _PACE_INTERVAL

    @contextmanager
    def _charged(self, file: str) -> Iterator[None]:
        before = _all_seconds()
        yield
        self._files[file] += _all_seconds() - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Charge a test, including set-up and tear-down of its fixtures, to its file."""
        self._measure_pace()
        with self._charged(item.nodeid.partition("::")[0]):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        """Charge the import of a test file to that file."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        with self._charged(collector.nodeid):
            return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Store the result of a worker that ended, or count the worker as lost."""
        output = getattr(node, "workeroutput", {}).get(_OUTPUT)
        if output is None:
            self._lost_workers += 1
        else:
            self._workers.append(output)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send the result of a worker to xdist's controller."""
        if hasattr(self._config, "workeroutput"):
            output = {"files": dict(self._files), "total": _all_seconds(), "paces": self._paces}
            self._config.workeroutput[_OUTPUT] = output

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the most expensive files and write the time of every file."""
        measured = self.measured()
        if measured.files:
            write_measured(measured, self._config.rootpath / RESULT)
            for line in table(measured):
                terminalreporter.write_line(line)

    def measured(self) -> Measured:
        """Return the time of this process and its workers.

        Workers are children of the controller, so the controller's child time is left out when workers report.
        """
        files = Counter(self._files)
        total = _own_seconds() if self._workers or self._lost_workers else _all_seconds()
        paces = list(self._paces)
        for worker in self._workers:
            files.update(worker["files"])
            paces += worker["paces"]
            total += worker["total"]
        return Measured(total, dict(files), statistics.fmean(paces or [_seconds_of_work()]), self._lost_workers)


def pytest_configure(config: pytest.Config) -> None:
    """Register the collector as a pytest plug-in."""
    config.pluginmanager.register(CpuTime(config), "vlane-cpu-time")
