"""Execution of a study's runs: in this process, in several processes, or by a dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import pickle
import socket
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from vlane.errors import InputError, shown
from vlane.extras import require_extra
from vlane.sim_top.output.interrupts import interrupts_held_back
from vlane.sim_top.output.progress import show_progress

T = TypeVar("T")
_ANSWERS_WITHIN_SECONDS = 10


class WorkerLostError(RuntimeError):
    """Processes died twice during the same run, which the message names."""


@dataclass(frozen=True, eq=False)
class Task(Generic[T]):
    """Unit of work for this or another process.

    Parameters
    ----------
    name : str
        Human-readable name.
    make : callable
        Picklable function that does the work and returns a picklable result.
    """

    name: str
    make: Callable[[], T]


def made_by_processes(tasks: Sequence[Task[T]], jobs: int) -> Generator[T]:
    """Yield the results of tasks in the order of completion.

    A process that dies before it answers is replaced, and its task is repeated once.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks to run.
    jobs : int
        Number of concurrent tasks, each in a process of its own if more than 1.

    Raises
    ------
    WorkerLostError
        If a task's second process died, too.
    """
    if jobs == 1 or len(tasks) < 2:
        yield from (task.make() for task in tasks)
        return
    waiting, lost = deque(tasks), set[Task[T]]()
    busy: dict[Any, _Worker] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                worker = _Worker()
                busy[worker.pipe] = worker.begin(waiting.popleft())
            for pipe in connection.wait(list(busy)):
                worker = busy.pop(pipe)
                try:
                    made, error = worker.answer()
                except (EOFError, OSError):
                    worker.end()
                    if worker.task in lost:
                        raise WorkerLostError(worker.task.name) from None
                    lost.add(worker.task)
                    waiting.appendleft(worker.task)
                    continue
                if error is not None:
                    worker.end()
                    raise error
                if waiting:
                    busy[pipe] = worker.begin(waiting.popleft())
                else:
                    worker.end()
                yield made
    finally:
        for worker in busy.values():
            worker.end()


class _Worker:
    """Process for one task at a time."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there,), daemon=True)
        resource_tracker.ensure_running()  # starting it later would unblock interrupts again
        with interrupts_held_back():
            self._process.start()
        there.close()

    def begin(self, task: Task[Any]) -> _Worker:
        """Send the process a task. If the process is gone, ``answer`` raises."""
        self.task = task
        with contextlib.suppress(OSError):
            self.pipe.send(task.make)
        return self

    def answer(self) -> tuple[Any, BaseException | None]:
        """Return the result, or the exception instead."""
        made: tuple[Any, BaseException | None] = self.pipe.recv()
        return made

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(pipe: Any) -> None:
    """Run tasks until the pipe closes."""
    show_progress()
    with contextlib.suppress(EOFError, OSError):
        while True:
            task = pipe.recv_bytes()
            made, failed = None, None
            try:
                made = pickle.loads(task)()  # noqa: S301 - from the parent process
            except Exception as error:  # noqa: BLE001 - raised again in the parent process
                failed = _portable(error)
            pipe.send((made, failed))


def _portable(error: Exception) -> Exception:
    """Return an exception that survives pickling: itself, or a ``RuntimeError`` that describes it."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception as reason:  # noqa: BLE001 - any failure to pickle
        return RuntimeError(f"{error!r} ({reason})")
    return error


class Cluster:
    """Workers of a dask scheduler. Each must have the same version of this package.

    Parameters
    ----------
    address : str
        Scheduler address, ``tcp://host:port``.

    Raises
    ------
    InputError
        If no scheduler answers at the address.
    MissingExtraError
        If the extra ``scale`` is not installed.
    """

    def __init__(self, address: str) -> None:
        require_extra("scale")
        self._dask: Any = importlib.import_module("distributed")
        must = "the address of a running dask scheduler, tcp://HOST:PORT"
        try:
            asked = urlsplit(address)
            with socket.create_connection((asked.hostname or "", asked.port or 0), _ANSWERS_WITHIN_SECONDS):
                pass
            self._client = self._dask.Client(address, timeout=_ANSWERS_WITHIN_SECONDS)
        except (OSError, ValueError):
            problem = f": no dask scheduler answers at {shown(address)} (expected tcp://HOST:PORT)"
            raise InputError("--scheduler", must, address, problem=problem) from None

    def made(self, tasks: Sequence[Task[T]]) -> Generator[T]:
        """Yield the results of tasks, like ``made_by_processes``."""
        waiting = [self._client.submit(task.make, pure=False) for task in tasks]
        try:
            for future in self._dask.as_completed(waiting):
                made = future.result()
                future.release()
                yield made
        finally:
            self._client.cancel(waiting)
            self._client.close()
