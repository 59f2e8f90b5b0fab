"""Server of a tool in WebAssembly: loads the machine code once and forks for every run.

``vlane.tb.machinery.native.wasm`` starts this file as a script. The script can also run a tool once, and compile one.
A wheel's own program takes 0.25 s to start: Python, the bindings to wasmtime, a digest of the tool. A fork takes 15 ms.
Each fork is a process with its own folder, limit of processor time and signals.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import wasmtime

__all__: list[str] = []

_REQUEST_BYTES = 1 << 16


class _Server:
    """Server of one tool.

    Parameters
    ----------
    control : socket
        Connection over which requests come, one at a time: JSON with four descriptors, which are standard input, output
        and error of the run, and a connection for its status. The server ends when this connection ends.
    engine : wasmtime.Engine
        The engine of the machine code.
    code : str
        File with the machine code.
    """

    def __init__(self, control: socket.socket, engine: wasmtime.Engine, code: str) -> None:
        self._control, self._engine = control, engine
        self._module = wasmtime.Module.deserialize_file(engine, code)
        self._running: dict[int, socket.socket] = {}
        self._interrupt = _interrupt()

    def serve(self) -> None:
        """Start runs and report their exit statuses until the connection is closed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt ends the runs and the client
        signal.signal(signal.SIGCHLD, lambda *_: None)
        ended, wakes = socket.socketpair()
        for end in (ended, wakes):
            end.setblocking(False)  # noqa: FBT003 - a name is not accepted
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(ended, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if ended in ready:
                    ended.recv(_REQUEST_BYTES)
                    self._report()
                if self._control in ready and not self._start():
                    return

    def _start(self) -> bool:
        """Start a run and return whether there was a request."""
        message, files, *_ = socket.recv_fds(self._control, _REQUEST_BYTES, 4)
        if not message:
            return False
        *streams, answer = files
        child = os.fork()
        if not child:
            self._run(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        self._running[child] = socket.socket(fileno=answer)
        self._control.sendall(str(child).encode())
        return True

    def _report(self) -> None:
        """Report the status of every run that has ended."""
        for child in [*self._running]:
            number, status = os.waitpid(child, os.WNOHANG)
            if number:
                with self._running.pop(child) as connection, contextlib.suppress(OSError):  # the client may have ended
                    connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())

    def _run(self, request: Mapping[str, Any], streams: Sequence[int]) -> None:
        """Run the tool in this process, and end it with the tool's status."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, self._interrupt)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.chdir(request["folder"])
            if request["seconds"] is not None:
                _, most = resource.getrlimit(resource.RLIMIT_CPU)
                resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], most))
            status = _status(self._engine, self._module, request["words"], request["folders"])
        except BaseException as error:  # noqa: BLE001 - the child may not return to the loop of the server
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
        finally:
            os._exit(status)


def _interrupt() -> signal.Handlers:
    """Return the SIGINT handler of a run: the default, unless this process inherited an ignored SIGINT."""
    return signal.SIG_IGN if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIG_DFL


def _status(engine: wasmtime.Engine, module: wasmtime.Module, words: Sequence[str], folders: Mapping[str, str]) -> int:
    """Run a tool with some folders mounted under given names and return the exit status."""
    wasi = wasmtime.WasiConfig()
    wasi.argv = words
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    for name, folder in folders.items():
        wasi.preopen_dir(folder, name)
    linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
    linker.define_wasi()
    store.set_wasi(wasi)
    start = linker.instantiate(store, module).exports(store)["_start"]
    assert isinstance(start, wasmtime.Func)
    try:
        start(store)
    except wasmtime.ExitTrap as ended:
        return int(ended.code)
    return 0


def _engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.wasm_exceptions = True
    return wasmtime.Engine(config)


def _serve(code: str, control: str) -> None:
    """Serve the tool of a file with machine code over a socket."""
    _Server(socket.socket(fileno=int(control)), _engine(), code).serve()


def _run_once(code: str, folders: str, *words: str) -> None:
    """Run a tool in this process with access to its working folder's tree and to the folders given as JSON."""
    signal.signal(signal.SIGINT, _interrupt())
    engine = _engine()
    above = {"/".join([".."] * level): "/".join([".."] * level) for level in range(1, len(Path.cwd().parts))}
    with tempfile.TemporaryDirectory(prefix="vlane-wasm.") as own:
        seen = {".": ".", **above, "/tmp": own, **json.loads(folders)}  # noqa: S108 - of the tool
        status = _status(engine, wasmtime.Module.deserialize_file(engine, code), words, seen)
    sys.exit(status)


def _compile(program: str, code: str) -> None:
    """Compile WebAssembly to machine code."""
    Path(code).write_bytes(wasmtime.Module(_engine(), Path(program).read_bytes()).serialize())


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {"serve": _serve, "run": _run_once, "compile": _compile}
    verbs[sys.argv[1]](*sys.argv[2:])
