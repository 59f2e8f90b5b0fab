"""Oracle as a C library: equality with Python, use from C and from SystemVerilog (DPI-C)."""

from __future__ import annotations

import ctypes
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vlane
from tests.conftest import AS_BINARY, ROOT, assert_refused, call, run_verilator
from tests.export.test_oracle import SMALL, recorded
from vlane.golden.oracle.by_name import ORACLES
from vlane.golden.oracle.ports import word_count
from vlane.sim_top.export.oracle_text import package
from vlane.sim_top.oracles.oracle import Oracle
from vlane.sim_top.systemverilog.names import text_name

_CHUNK = 4096
_ONE = np.uint64(1)

C_BENCH = """#include "NAME.h"
#include <stdio.h>

int main(void) {
    NAME *one = NAME_create(), *other = NAME_create();
    NAME_inputs given = {0};
    NAME_outputs shown, apart;
    int cycle;
    given.heads__request = given.heads__fits = 7;
    given.ready = 1;
    NAME_set_heads__blocks(&given, 2, 66);
    for (cycle = 0; cycle < 4; ++cycle) {
        NAME_step(one, &given, &shown);
        printf("%d:%d ", (int)shown.vl, (int)shown.blocks);
    }
    NAME_step(other, &given, &apart);
    NAME_reset(one);
    NAME_step(one, &given, &shown);
    printf("%d %d %d %s\\n", (int)apart.vl, (int)shown.vl, shown.from_list == NAME_FROM_LIST_NONE, NAME_parameters());
    NAME_destroy(one);
    NAME_destroy(other);
    NAME_destroy(0);
    return 0;
}
"""

SV_BENCH = """module bench;
  import ORACLE::*;
  bit clk;
  inputs_t given;
  outputs_t golden;
  wire [OUTPUT_BITS-1:0] shown;
  chandle oracle;
  int unsigned seed = 1;
  int wrong, grants;
  BLOCK dut (.clk(clk)CONNECTED);
  initial begin
    oracle = ORACLE_create();
    for (int cycle = 0; cycle < 5000 && wrong == 0; ++cycle) begin
      for (int word = 0; word * 32 < $bits(given); ++word) given = inputs_t'({given, $urandom});
      given.rst = $urandom % 97 == 0;
      #4;
      golden = step(oracle, given);
      if (shown !== golden) begin
        $display("cycle %0d: hardware %h, golden %h", cycle, shown, golden);
        wrong++;
      end
      grants += golden.grant;
      #1 clk = 1;
      #5 clk = 0;
    end
    ORACLE_destroy(oracle);
    if (wrong == 0 && grants > 1000) $display("PASS %s %s", ORACLE_version(), ORACLE_parameters());
    $finish;
  end
endmodule
"""


def exported(folder: Path, block: str, parameters: Mapping[str, Any], *more: object) -> Path:
    """Export the oracle of an instance and return its shared library."""
    words = [f"{name}={str(value).lower()}" for name, value in parameters.items()]
    params = [word for given in words for word in ("--param", given)]
    done = call("export", "oracle", block, "--out", folder, *params, *more)
    assert done.status == 0, done
    return folder / f"lib{block}_oracle.so"


class Library:
    """Instance of an exported oracle, called through ctypes."""

    def __init__(self, file: Path) -> None:
        self._code, self._name = ctypes.CDLL(str(file)), file.stem.removeprefix("lib")
        for name, result, given in (
            ("create", ctypes.c_void_p, []),
            ("destroy", None, [ctypes.c_void_p]),
            ("reset", None, [ctypes.c_void_p]),
            ("step", None, [ctypes.c_void_p] * 3),
            ("version", ctypes.c_char_p, []),
            ("parameters", ctypes.c_char_p, []),
        ):
            function = getattr(self._code, f"{self._name}_{name}")
            function.restype, function.argtypes = result, given
            setattr(self, name, function)
        self.instance = self.create()  # type: ignore[attr-defined]

    def state(self, size: int) -> bytes:
        """Return the bytes of the instance's state."""
        return ctypes.string_at(self.instance, size)


def any_rows(oracle: Oracle, rows: int, source: np.random.Generator) -> NDArray[np.uint64]:
    """Return rows of random input words with rare resets and bits beyond port widths."""
    found = source.integers(0, 1 << 64, (rows, word_count(oracle.inputs.values())), np.uint64, endpoint=False)
    reset = oracle.inputs["rst"].word
    found[:, reset] = (found[:, reset] & ~_ONE) | (source.integers(0, 400, rows) == 0)
    for port in oracle.inputs.values():
        if port.name != "rst":  # every port is 0 in a third of the rows, so rare combinations occur
            found[source.integers(0, 3, rows) == 0, port.word : port.word + port.words] = 0
    return found


def assert_equal_rows(oracle: Oracle, library: Library, rows: NDArray[np.uint64]) -> None:
    """Run equal cycles in both and assert equal outputs and, at the end, equal state."""
    shown, wanted = (np.zeros(word_count(oracle.outputs.values()), np.uint64) for _ in range(2))
    machine, cycle, step, instance = oracle._machine, oracle._cycle, library.step, library.instance  # type: ignore[attr-defined]
    for row in rows:
        cycle(machine, row, wanted)
        step(instance, row.ctypes.data, shown.ctypes.data)
        assert (shown == wanted).all()
    assert library.state(oracle._block.nbytes) == oracle._block.tobytes()


def assert_equal_calls(oracle: Oracle, library: Library, calls: int, seed: int) -> None:
    """Run ``calls`` cycles of random inputs in both and assert equality."""
    source = np.random.default_rng(seed)
    for done in range(0, calls, _CHUNK):
        assert_equal_rows(oracle, library, any_rows(oracle, min(_CHUNK, calls - done), source))


def check_instance(folder: Path, block: str, parameters: Mapping[str, Any], calls: int) -> None:
    oracle, library = vlane.oracle(block, **parameters), Library(exported(folder, block, parameters))

    rows, _ = recorded(oracle, min(calls, 20_000), seed=3)  # random words rarely form a valid packet
    assert_equal_rows(oracle, library, rows)
    assert_equal_calls(oracle, library, calls, seed=5)
    assert sum(oracle.rules.values()) > calls // 50
    library.reset(library.instance)  # type: ignore[attr-defined]
    oracle.reset()

    assert library.state(oracle._block.nbytes) == oracle._block.tobytes()
    library.destroy(library.instance)  # type: ignore[attr-defined]


@pytest.mark.parametrize("block", ["rr", "lft"])
def test_the_library_is_the_oracle_in_any_calls(block: str, tmp_path: Path) -> None:
    """The C library equals the Python oracle for random inputs, resets and table writes."""
    check_instance(tmp_path, block, SMALL[block][0], 20_000)


def test_a_library_that_differs_is_noticed(tmp_path: Path) -> None:
    """Given a library of another size, the comparison fails."""
    library = Library(exported(tmp_path, "rr", {"data_vls": 7}))

    with pytest.raises(AssertionError):
        assert_equal_calls(vlane.oracle("rr", data_vls=8), library, 1000, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("block", SMALL)
def test_the_library_is_the_oracle_in_a_million_calls(block: str, tmp_path: Path) -> None:
    check_instance(tmp_path, block, SMALL[block][0], 1_000_000)


@pytest.mark.long
@pytest.mark.parametrize(
    ("block", "parameters"), [(block, parameters) for block, several in SMALL.items() for parameters in several[1:]]
)
def test_other_sizes_and_forms_are_the_oracle_too(block: str, parameters: Mapping[str, Any], tmp_path: Path) -> None:
    check_instance(tmp_path, block, parameters, 50_000)


def test_a_c_program_needs_no_python(tmp_path: Path) -> None:
    """A C or C++ program uses the library without Python at run time.

    Instances are independent, and a reset restores the power-on state.
    """
    exported(tmp_path, "rr", {"data_vls": 3})
    (tmp_path / "bench.c").write_text(
        C_BENCH.replace("NAME_FROM_LIST", "RR_ORACLE_FROM_LIST").replace("NAME", "rr_oracle")
    )
    strict = ["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", "-O2", "-I", str(tmp_path)]
    programs = {
        "static": ["cc", "-std=c99", *strict, "bench.c", "librr_oracle.a"],
        "shared": ["cc", "-std=c99", *strict, "bench.c", "-L.", "-lrr_oracle", f"-Wl,-rpath,{tmp_path}"],
        "cxx": ["c++", "-std=c++17", *strict, "-x", "c++", "bench.c", "-x", "none", "librr_oracle.a"],
    }

    for name, command in programs.items():
        subprocess.run([*command, "-o", name], cwd=tmp_path, check=True)
        said = subprocess.run([f"./{name}"], cwd=tmp_path, env={}, capture_output=True, text=True, check=True).stdout
        assert said == "0:0 1:0 2:66 0:0 0 0 1 data_vls=3 requesters=0 vl15=true\n"

    needed = subprocess.run(["ldd", "librr_oracle.so"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert {Path(line.split()[0]).name.partition(".")[0] for line in needed.splitlines()} <= {
        "linux-vdso",
        "linux-gate",
        "libc",
        "ld-linux-x86-64",
        "ld-linux-aarch64",
    }
    seen = subprocess.run(["nm", "-D", "librr_oracle.so"], cwd=tmp_path, capture_output=True, text=True, check=True)
    undefined = set(re.findall(r" U (\w+)", seen.stdout))
    assert undefined <= {"malloc", "free", "memcpy", "memset"}
    defined = set(re.findall(r" T (\w+)", seen.stdout))
    names = ("create", "destroy", "parameters", "reset", "step", "step_bits", "version")
    assert defined == {f"rr_oracle_{name}" for name in names}


def example(heading: str, number: int) -> str:
    """Return an indented block of a section of the docs page, counted from 0."""
    section = (ROOT / "docs" / "oracle.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", section, re.MULTILINE)
    return "".join(line.removeprefix("    ") for line in blocks[number].lstrip("\n").splitlines(keepends=True))


def test_python_example_of_the_page_runs() -> None:
    *lines, last = example("Python", 0).strip().splitlines()
    expression, _, said = last.partition("# ")

    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - the page is ours

    assert str(eval(expression, names)) == said  # noqa: S307 - as above


def test_c_and_systemverilog_examples_of_the_page_run(tmp_path: Path) -> None:
    made = shlex.split(example("C", 0))
    assert call(*made[1 : made.index("--out")], "--out", tmp_path, *made[made.index("--out") + 2 :]).status == 0
    (tmp_path / "bench.c").write_text(example("C", 1))
    (tmp_path / "bench.sv").write_text(example("SystemVerilog", 0))
    build, said = example("C", 2).strip().splitlines()

    ran = subprocess.run(["sh", "-c", build], cwd=tmp_path, capture_output=True, text=True, check=True)
    lint = run_verilator(tmp_path, "--lint-only", "vlarb_oracle.sv", "bench.sv", "--top", "bench")

    assert ran.stdout == f"{said}\n"
    assert lint.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("block", ["rr", pytest.param("vlarb", marks=pytest.mark.long)])
def test_library_agrees_with_the_verilog_in_a_simulator(block: str, tmp_path: Path) -> None:
    """The exported hardware agrees in Verilator with the library imported by DPI-C."""
    exported(tmp_path, block, {})
    assert call("export", block, "--out", tmp_path).status == 0
    oracle, name = vlane.oracle(block), f"{block}_oracle"
    first, connected = 0, [f", .{text_name(port)}(given.{port})" for port in oracle.inputs]
    for port in oracle.outputs.values():
        connected.append(f", .{text_name(port.name)}(shown[{first} +: {port.width}])")
        first += port.width
    bench = SV_BENCH.replace("CONNECTED", "".join(connected)).replace("OUTPUT_BITS", str(first))
    (tmp_path / "bench.sv").write_text(bench.replace("ORACLE", name).replace("BLOCK", block))
    files = [f"{name}.sv", f"{block}.sv", "bench.sv", str(tmp_path / f"lib{name}.a")]

    run_verilator(tmp_path, *AS_BINARY, "-Wno-fatal", "-Wno-WIDTH", "--top", "bench", *files)
    said = subprocess.run(["obj_dir/Vbench"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert f"PASS {vlane.__version__} data_vls=8" in said


@pytest.mark.parametrize("block", SMALL)
def test_every_package_is_systemverilog(block: str, tmp_path: Path) -> None:
    """Each generated SystemVerilog package is valid, with reserved names such as ``output`` escaped."""
    shape, make = ORACLES[block]
    made = make(shape(**SMALL[block][0]))
    (tmp_path / "made.sv").write_text(package("made", made.inputs, made.outputs))
    (tmp_path / "top.sv").write_text(
        "module top; made::inputs_t given; made::outputs_t shown; chandle it;\n"
        "initial begin it = made::made_create(); given = '0; shown = made::step(it, given); end endmodule\n"
    )

    done = run_verilator(tmp_path, "--lint-only", "-Wno-fatal", "made.sv", "top.sv", "--top", "top")

    assert [line for line in done.stderr.splitlines() if "%Error" in line] == []


def test_equal_exports_are_equal_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        exported(tmp_path / folder, "rr", {})
    exported(tmp_path / "a", "rr", {})  # nothing differs, so nothing is replaced

    names = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert names == [
        "librr_oracle.a",
        "librr_oracle.so",
        "rr_oracle.cpp",
        "rr_oracle.h",
        "rr_oracle.md",
        "rr_oracle.sv",
    ]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)
    for name in ("rr_oracle.cpp", "rr_oracle.h", "rr_oracle.md", "rr_oracle.sv"):
        assert "vlane export oracle rr --out ." in (tmp_path / "a" / name).read_text()


def test_refusals_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to = ("--out", tmp_path / "none")
    assert_refused(call("export", "oracle", *to), "BLOCK is missing: name the block after the word oracle")
    assert_refused(call("export", "oracle", "rrr", *to), "did you mean rr?")
    assert_refused(call("export", "rr", "oracle", *to), "oracle: unexpected argument")
    assert_refused(call("export", "oracle", "rr", "rr", *to), "rr: unexpected argument")
    assert_refused(call("export", "oracle", "rr", *to, "--bus", "axi_lite"), "--bus cannot be used with oracle")
    assert_refused(call("export", "oracle", "rr", *to, "--testbench", "9"), "--testbench cannot be used with oracle")
    assert_refused(call("export", "oracle", "rr", *to, "--param", "data_vls=99"), "--param data_vls must be 2 to 32")
    for name in ("double", "module", "a b", "", "1a"):
        assert_refused(call("export", "oracle", "rr", *to, "--name", name), "--name")
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    assert_refused(call("export", "oracle", "rr", *to), "CXX: no-such-compiler is not installed")
    monkeypatch.setenv("CXX", "c++ 'half")
    assert_refused(call("export", "oracle", "rr", *to), "CXX: not a valid shell command")
    monkeypatch.setenv("CXX", str(shutil.which("false")))
    assert_refused(call("export", "oracle", "rr", *to), "failed with exit status 1")
    assert not (tmp_path / "none").exists()


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    exported(tmp_path, "rr", {})
    before = (tmp_path / "librr_oracle.so").read_bytes()

    assert_refused(call("export", "oracle", "rr", "--out", tmp_path, "--param", "data_vls=3"), "--force is needed")
    assert (tmp_path / "librr_oracle.so").read_bytes() == before

    done = call("export", "oracle", "rr", "--out", tmp_path, "--param", "data_vls=3", "--force", "--json")
    said = json.loads(done.out)
    assert "librr_oracle.so" in [Path(file).name for file in said["files"]]
    assert said["ports"][3] == {
        "name": "heads__blocks",
        "direction": "input",
        "bits": 28,
        "elements": 4,
        "meaning": "Size of the head packet of each lane, 1 to 66 blocks of 64 bytes.",
    }
    assert (tmp_path / "librr_oracle.so").read_bytes() != before
