"""Where the runs of a study are made: in this process, in several, or by the workers of a dask cluster."""

from __future__ import annotations

import importlib
import multiprocessing
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar
from urllib.parse import urlsplit

from vlane.errors import InputError

__all__ = ["Cluster", "made_by_processes"]

T = TypeVar("T")
Task = tuple[float, int]
_ANSWERS_WITHIN_SECONDS = 10


def made_by_processes(make: Callable[[float, int], T], tasks: Sequence[Task], jobs: int) -> Iterator[T]:
    """Yield what each task makes, in the order in which they finish.

    Parameters
    ----------
    make : callable
        Can be pickled, as can what it returns.
    tasks : sequence of (load, seed)
        Its arguments.
    jobs : int
        Tasks at a time, each in a process of its own if more than 1.
    """
    if jobs == 1 or len(tasks) < 2:
        yield from (make(*task) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            for future in as_completed([pool.submit(make, *task) for task in tasks]):  # nobody else keeps results
                yield future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


class Cluster:
    """The workers of a dask scheduler; each has the same version of this package.

    Parameters
    ----------
    address : str
        As dask writes it: ``tcp://host:port``.

    Raises
    ------
    InputError
        If dask is not installed, or no scheduler answers there.
    """

    def __init__(self, address: str) -> None:
        try:
            self._dask: Any = importlib.import_module("distributed")
        except ImportError:
            raise InputError(
                "--scheduler", "left out, or dask installed: pip install 'vlane[scale]'", address
            ) from None
        must = "the address of a dask scheduler that answers, tcp://HOST:PORT"
        try:
            asked = urlsplit(address)
            with socket.create_connection((asked.hostname or "", asked.port or 0), _ANSWERS_WITHIN_SECONDS):
                pass
            self._client = self._dask.Client(address, timeout=_ANSWERS_WITHIN_SECONDS)
        except (OSError, ValueError):
            raise InputError("--scheduler", must, address) from None

    def made(self, make: Callable[[float, int], T], tasks: Sequence[Task]) -> Iterator[T]:
        """Yield what each task makes, as ``made_by_processes``."""
        waiting = [self._client.submit(make, *task, pure=False) for task in tasks]
        try:
            for future in self._dask.as_completed(waiting):
                made = future.result()
                future.release()
                yield made
        finally:
            self._client.cancel(waiting)
            self._client.close()
