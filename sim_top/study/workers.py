"""Execution of a study's runs: in this process, in several processes, or by a dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from vlane.errors import InputError, shown
from vlane.extras import require_extra
from vlane.sim_top.output.interrupts import interrupts_held_back
from vlane.sim_top.output.progress import show_progress

T = TypeVar("T")
_ANSWERS_WITHIN_SECONDS = 10
_ENDS_WITHIN_SECONDS = 2.0
_POLL_SECONDS = 0.01
_IDLE_THREADS = ("jemalloc", "polars-ooc")
"""Beginnings of the names of threads that hold no locks while they wait."""


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
    groups = [_Group(min(jobs, len(tasks)), tasks[0])]
    busy = {worker.pipe: worker.begin(waiting.popleft()) for worker in groups[0].workers}
    try:
        while busy:
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]
                try:
                    answer = worker.answer()
                except (EOFError, OSError):
                    busy.pop(pipe).end()
                    if worker.task in lost:
                        raise WorkerLostError(worker.task.name) from None
                    lost.add(worker.task)
                    groups.append(_Group(1, worker.task))
                    again = groups[-1].workers[0]
                    busy[again.pipe] = again.begin(worker.task)
                    continue
                if answer is None:
                    continue
                made, error = answer
                if error is not None:
                    raise error
                if waiting:
                    worker.begin(waiting.popleft())
                else:
                    busy.pop(pipe).end()
                yield made
    finally:
        for worker in busy.values():
            worker.kill()
        for group in groups:
            group.end()


class _Group:
    """Processes that need no imports of their own.

    They are forked from this process or, if it has threads, from a new process that imports the modules of a task once.

    Parameters
    ----------
    count : int
        Number of processes.
    task : Task
        Task whose modules they import first.
    """

    def __init__(self, count: int, task: Task[Any]) -> None:
        context = multiprocessing.get_context("spawn")
        pipes = [context.Pipe() for _ in range(count)]
        there = [pipe for _, pipe in pipes]
        module = getattr(task.make, "func", task.make).__module__  # partial functions have no module of their own
        self.workers = [_Worker(pipe) for pipe, _ in pipes]
        self._process, self._children = None, list[int]()
        with interrupts_held_back():
            if _may_fork():
                self._children = [_forked(pipe) for pipe in there]
            else:
                resource_tracker.ensure_running()  # starting it later would unblock interrupts again
                self._process = context.Process(target=_fork_workers, args=(there, module), daemon=True)
                self._process.start()
        for pipe in there:
            pipe.close()

    def end(self) -> None:
        """End the processes, which are idle or killed."""
        for worker in self.workers:
            worker.end()
        if self._process is not None:
            self._process.join(_ENDS_WITHIN_SECONDS)
            self._process.kill()
            self._process.join()
        last = time.monotonic() + _ENDS_WITHIN_SECONDS
        for child in self._children:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(child, os.WNOHANG) == (0, 0):
                    if time.monotonic() > last:
                        os.kill(child, signal.SIGKILL)
                    time.sleep(_POLL_SECONDS)


class _Worker:
    """Process for one task at a time.

    Parameters
    ----------
    pipe : Connection
        Connection to the process, which first sends its id.
    """

    def __init__(self, pipe: Any) -> None:
        self.pipe, self._id = pipe, 0

    def begin(self, task: Task[Any]) -> _Worker:
        """Send the process a task. If the process is gone, ``answer`` raises."""
        self.task = task
        with contextlib.suppress(OSError):
            self.pipe.send(task.make)
        return self

    def answer(self) -> tuple[Any, BaseException | None] | None:
        """Return the result or the exception, or ``None`` if the process sent its id."""
        made = self.pipe.recv()
        if isinstance(made, int):
            self._id = made
            return None
        answer: tuple[Any, BaseException | None] = made
        return answer

    def end(self) -> None:
        """Close the connection, so that an idle process ends."""
        self.pipe.close()

    def kill(self) -> None:
        """Kill the process."""
        with contextlib.suppress(EOFError, OSError):
            if not self._id and self.pipe.poll():
                self.answer()
            if self._id:
                os.kill(self._id, signal.SIGKILL)


def _may_fork() -> bool:
    """Return whether this process can be forked: no thread holds a lock that a child would wait for.

    Threads of numpy, of polars' clean-up and of its allocator wait for work. polars' other threads start with the first
    query; without them, a child would never finish one.
    """
    try:
        names = {file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")}
        own = Path("/proc/self/comm").read_text().strip()
    except OSError:
        return False
    return threading.active_count() == 1 and all(name == own or name.startswith(_IDLE_THREADS) for name in names)


def _forked(pipe: Any) -> int:
    """Fork a worker that serves a connection, and return its process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of idle threads
        child = os.fork()
    if child:
        return child
    try:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        files = [int(file.name) for file in Path("/proc/self/fd").iterdir()]
        for file in files:  # locks, and connections whose other ends would not see an end
            if file > 2 and file != pipe.fileno():
                with contextlib.suppress(OSError):
                    os.close(file)
        _work(pipe)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _fork_workers(pipes: list[Any], module: str) -> None:
    """Import a module, fork a worker for each connection, and wait for the workers."""
    with contextlib.suppress(ImportError):
        importlib.import_module(module)
    for pipe in pipes:
        _forked(pipe)
    for pipe in pipes:
        pipe.close()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _work(pipe: Any) -> None:
    """Run tasks until the pipe closes."""
    show_progress()
    with contextlib.suppress(EOFError, OSError):
        pipe.send(os.getpid())
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
