"""Foreign Verilog: its ports, and the library compiled from it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Self

from vlane.errors import InputError, closest
from vlane.sim_top.dut.interfaces import FLAT, flattened
from vlane.sim_top.dut.sources import Sources, verilog_of_vhdl
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.model import CompiledModel, compile_library
from vlane.tb.machinery.native.rows import Port, Words
from vlane.tb.machinery.native.wrapper import Member, wrapper_text

_CLASS = "Vdesign"
_FLAGS = (
    "--cc",
    "--prefix",
    _CLASS,
    "--no-timing",
    "--noassert",
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "-Werror-MODDUP",
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
)
_BUILD = ("-O3", *verilator.SPLIT)
_SECONDS = 300
_MOST_BYTES = 1 << 26
_PORT = re.compile(r"^ *VL_(IN|OUT|INOUT)(?:8|16|64|W)?\((&\w+),(\d+),(\d+)(?:,\d+)?\);", re.MULTILINE)
_ARRAY = re.compile(r"^ *((?:VlUnpacked<)+\S.*>) ?&(\w+);", re.MULTILINE)
_OTHER = re.compile(r"^ *(?!VL_|VlUnpacked)\S.* &(\w+);", re.MULTILINE)
_ELEMENT = re.compile(r"[CSIQ]Data/\*(\d+):(\d+)\*/((?:, \d+>)+)")
_MISSING = re.compile(r"Cannot find file containing module: '(\w+)'")
_ERROR = re.compile(r"%Error(?:-\w+)?: (?:(?P<file>[^\n]*?):(?P<line>\d+):(?:\d+:)? )?(?P<text>[^\n]*)")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_LINE = re.compile(r'^`line (\d+) "([^"\n]*)"', re.MULTILINE)
_LARGEST = (1 << 31) - 1
_HEAD = """
#include <cstdint>
#include <stdexcept>
#include <string>

// Seed of the random initial values of registers without reset.
extern "C" { uint32_t vlane_seed = 1; }

static std::string vlane_said;
static bool vlane_closing = false;

// A design that stops or does not settle ends its run, not the process.
static void vlane_ends(const char* why, const char* file, int line) {
    if (vlane_closing) return;  // in a final block: the run is over anyhow
    vlane_said = std::string(why) + " at " + (file ? file : "") + ":" + std::to_string(line);
    throw std::runtime_error(vlane_said);
}
void vl_finish(const char* file, int line, const char*) { vlane_ends("$finish", file, line); }
void vl_stop(const char* file, int line, const char*) { vlane_ends("$stop", file, line); }
void vl_fatal(const char* file, int line, const char*, const char* message) { vlane_ends(message, file, line); }
"""
_TAIL = """
extern "C" int vlane_run_guarded(void* device, uint64_t cycles, const uint64_t* in, uint64_t* out) {
    try {
        vlane_run(device, cycles, in, out);
    } catch (const std::runtime_error&) {
        return 1;
    }
    return 0;
}

// Returns no device if its initial blocks end the run.
extern "C" void* vlane_new_guarded(const char* wave_file) {
    try {
        return vlane_new(wave_file);
    } catch (const std::runtime_error&) {
        return nullptr;
    }
}

extern "C" void vlane_delete_guarded(void* device) {
    vlane_closing = true;
    vlane_delete(device);
    vlane_closing = false;
}

extern "C" const char* vlane_why() { return vlane_said.c_str(); }

#if TRACED
// Start writing waves.
extern "C" void vlane_wave(void* device, const char* file) {
    auto& d = *static_cast<Device*>(device);
    d.wave.reset(new VerilatedVcdC);
    d.top->trace(d.wave.get(), 99);
    d.wave->open(file);
}
#endif
"""


class DesignError(RuntimeError):
    """Error: the design ended its run because it does not settle or calls ``$stop`` or ``$finish``."""


@dataclass(frozen=True)
class Design:
    """Elaborated module of Verilog, SystemVerilog or VHDL files.

    Elements of a port that is an unpacked array follow each other in its row, the element with the lowest index first.

    Parameters
    ----------
    given : Sources or tuple of Path
        Files in reading order, with options.
    top : str
        Name of the module, or of its wrapper if a port is an interface.
    parameters : mapping
        Parameters of the module; omitted parameters take their defaults.

    Attributes
    ----------
    text : str
        Preprocessed files, with line directives.
    ports : tuple of Port
        Ports of the module.
    sources : Sources
        Files with options, including library files.
    members : dict of str to Member
        C++ names and shapes of the ports.

    Raises
    ------
    InputError
        If a file cannot be read, the tool rejects the Verilog (names file, line and first error), the module or a
        parameter does not exist, or a port is an inout or has elements wider than 64 bits.
    """

    given: Sources | tuple[Path, ...]
    top: str
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    sources: Sources = field(init=False)
    text: str = field(init=False, repr=False)
    ports: tuple[Port, ...] = field(init=False)
    members: dict[str, Member] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.top):
            raise InputError("--top", "the name of a module", self.top)
        sources = self.given if isinstance(self.given, Sources) else Sources(self.given)
        object.__setattr__(self, "sources", sources)
        for file in sources.files:
            _check_file(file)
        header = self._read()
        ports, members = [], {}
        for kind, said, high, low in _PORT.findall(header):
            name = _plain_name(said)
            if kind == "INOUT":
                problem = f": {self.top} has the inout port {name}; only inputs and outputs are supported"
                raise InputError("--top", "a module without inout ports", name, problem=problem)
            members[name] = Member(said.lstrip("&"))
            ports.append(Port(name, int(high) - int(low) + 1, is_input=kind == "IN"))
        for said in _OTHER.findall(header):
            name = _plain_name(said)
            problem = f": port {name} of {self.top} is neither packed nor an array; wrap the module"
            raise InputError("--top", "a module with packed ports or arrays", name, problem=problem)
        arrays = _ARRAY.findall(header)
        ways = self._directions() if arrays else {}
        for shape, said in arrays:
            name, member = _plain_name(said), _array(shape, said)
            if member is None or name not in ways:
                problem = (
                    f": port {name} of {self.top} is an inout, or has elements wider than 64 bits; wrap the module"
                )
                raise InputError("--top", "a module with inputs and outputs of up to 64 bits", name, problem=problem)
            members[name] = member
            ports.append(Port(name, len(member.elements) * member.bits, is_input=ways[name] == "INPUT"))
        object.__setattr__(self, "ports", tuple(ports))
        object.__setattr__(self, "members", members)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files in reading order."""
        return self.sources.files

    @property
    def module(self) -> str:
        """Name of the module that the user named."""
        return self.top.removesuffix(FLAT)

    def _read(self) -> str:
        """Read the files, add library files of missing modules, and return the generated header's ports."""
        while True:
            text = verilog_of_vhdl(self.sources, self.top)
            object.__setattr__(self, "text", self._preprocessed() if text is None else text)
            flat = flattened(self.text, self.module)
            if flat is not None:
                object.__setattr__(self, "text", f"{self.text}\n{flat[0]}")
                object.__setattr__(self, "top", flat[1])
            try:
                return self._elaborated()
            except InputError as error:
                missing = _MISSING.search(error.problem)
                more = self.sources.with_library_file(missing[1]) if missing else None
                if more is None:
                    raise
                object.__setattr__(self, "sources", more)

    def _directions(self) -> dict[str, str]:
        """Return the direction of each port, which the generated header lacks for arrays."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "design.v").write_text(self.text)
            flags = ["--json-only", *(flag for flag in self._flags() if flag != "--cc")]
            self._tool([*flags, "--top-module", self.top, "-Mdir", "obj", "design.v"], Path(folder))
            tree = json.loads((Path(folder) / "obj" / f"{_CLASS}.tree.json").read_text())
        found, waiting = {}, [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, dict):
                if node.get("isPrimaryIO") and node.get("direction") in {"INPUT", "OUTPUT"}:
                    found[str(node["name"])] = str(node["direction"])
                waiting += node.values()
            elif isinstance(node, list):
                waiting += node
        return found

    def _flags(self) -> list[str]:
        return [*_FLAGS, *(f"-G{name}={_literal(value)}" for name, value in self.parameters.items())]

    def _preprocessed(self) -> str:
        files = [str(file.resolve()) for file in self.files]
        return self._tool(["-E", *self.sources.flags, *files], Path("/")).stdout

    def _elaborated(self) -> str:
        """Elaborate the module and return the part of the generated header that declares its ports."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "design.v").write_text(self.text)
            self._tool([*self._flags(), "--top-module", self.top, "-Mdir", "obj", "design.v"], Path(folder))
            header = (Path(folder) / "obj" / f"{_CLASS}.h").read_text()
        return re.split(r"// PORTS\n|\n *// CELLS", header)[1]

    def _tool(self, words: Sequence[str], where: Path) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                [str(verilator.executable()), *words],
                cwd=where,
                env=verilator.environment(),
                capture_output=True,
                text=True,
                errors="backslashreplace",
                check=False,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            problem = f": the elaboration did not finish within {_SECONDS} s"
            raise InputError(
                "--dut", "quick to elaborate", "slow", source=str(self.files[0]), problem=problem
            ) from None
        if done.returncode:
            raise self._refusal(done.stderr + done.stdout)
        return done

    def _refusal(self, said: str) -> InputError:
        """Return the tool's first error as an ``InputError``."""
        if "was not found in design" in said and "--top-module" in said:
            known = _modules(self.text)
            must = f"a module of the files ({', '.join(known)})" if known else "a module of the files"
            return InputError("--top", must, self.top, meant=closest(self.top, known))
        unknown = re.search(r"Parameters from the command line were not found in the design: (\w+)", said)
        if unknown:
            problem = f": {self.top} has no such parameter"
            return InputError(f"parameters.{unknown[1]}", f"a parameter of {self.top}", "unknown", problem=problem)
        found = _ERROR.search(said)
        if found is None:
            return _rejected(said.strip()[-200:], str(self.files[0]), 0)
        source, line = found["file"] or str(self.files[0]), int(found["line"] or 0)
        if source.endswith("design.v"):
            source, line = str(self.files[0]), 0
        return _rejected(found["text"], source, line)

    def compiled(
        self, ports: tuple[Port, ...], clock: str, *, falling: bool, traced: bool = False, closed: bool = False
    ) -> ForeignModel:
        """Compile the design into a library that takes rows of these ports.

        Parameters
        ----------
        ports : tuple of Port
            Driven inputs and read outputs.
        clock : str
            Clock port.
        falling : bool
            Whether the falling edge is the active one.
        traced : bool
            Whether to support waves.
        closed : bool
            Whether to support closed-loop requesters.
        """
        wrapper = wrapper_text(ports, traced=traced, foreign=(_CLASS, self.members), closed_loop=closed)
        clock = f"top->{self.members[clock].name}"
        wrapper = re.sub(r"top->clk = ([01]);", lambda level: f"{clock} = {int(level[1]) ^ falling};", wrapper)
        start = "top.reset(new"
        wrapper = wrapper.replace(
            start, f"context->randReset(2);\n        context->randSeed(vlane_seed);\n        {start}"
        )
        text = _LINE.sub(lambda at: f'`line {at[1]} "{Path(at[2]).name}"', self.text)  # independent of the folder
        library = compile_library(
            text, _HEAD + wrapper + _TAIL, self.top, flags=(*self._flags(), *_BUILD), traced=traced, name="design"
        )
        try:
            return ForeignModel(library, ports)
        except OSError as error:
            said = str(error).rpartition(": ")[2]
            problem = f": the design calls functions that are not written in Verilog: {said}"
            must = "a design without foreign functions"
            raise InputError("--dut", must, said, source=str(self.files[0]), problem=problem) from None


class ForeignModel(CompiledModel):
    """Compiled foreign design. Registers without reset have random initial values."""

    def __init__(self, library: Path, ports: tuple[Port, ...]) -> None:
        super().__init__(library, ports)
        self._code.vlane_why.restype = ctypes.c_char_p

    def __enter__(self) -> Self:
        return self

    def begin(self, seed: int) -> None:
        """Restart from power-on, with random register contents from a seed."""
        ctypes.c_uint32.in_dll(self._code, "vlane_seed").value = seed % _LARGEST + 1
        self.restart()

    def wave_from_here(self, file: Path) -> None:
        """Start writing a VCD of all following cycles (traced models only)."""
        self._code.vlane_wave.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._code.vlane_wave(self._device, os.fsencode(file))

    def run(self, rows: Words, out: Words | None = None) -> Words:
        """Run one cycle per row of inputs and return the rows of outputs.

        Raises
        ------
        DesignError
            If the design ends its run.
        """
        if self._device is None:  # its initial blocks ended the run
            raise self._ended()
        try:
            return super().run(rows, out)
        except RuntimeError:
            raise self._ended() from None

    @property
    def why(self) -> str:
        """Reason why the design ended its run."""
        return str(self._code.vlane_why().decode(errors="backslashreplace"))

    def _ended(self) -> DesignError:
        return DesignError(self.why)


@contextlib.contextmanager
def stdout_elsewhere() -> Iterator[None]:
    """Redirect the design's prints to stderr, because stdout is for results."""
    libc = ctypes.CDLL(None)
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # one of them is closed
        yield
        return
    try:
        yield
    finally:
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def _check_file(file: Path) -> None:
    """Reject a path that is not a regular file of plausible size. Tools read files repeatedly, pipes only once."""
    try:
        about = file.stat()
        if stat.S_ISREG(about.st_mode):
            file.open("rb").close()
    except OSError as error:
        reason = error.strerror or "unreadable"
        problem = f": cannot read the file: {reason}"
        raise InputError("--dut", "a readable file", reason, source=str(file), problem=problem) from None
    except ValueError:
        raise InputError("--dut", "a valid file name", str(file)) from None
    if not stat.S_ISREG(about.st_mode):
        problem = ": not a regular file"
        raise InputError("--dut", "a regular file", "a folder, pipe or device", source=str(file), problem=problem)
    if not 0 < about.st_size <= _MOST_BYTES:
        must, problem = f"1 to {_MOST_BYTES} bytes", f": the file has {about.st_size} bytes, the limit is {_MOST_BYTES}"
        problem = problem if about.st_size else ": the file is empty"
        raise InputError("--dut", must, about.st_size, source=str(file), problem=problem)


def _rejected(said: str, source: str, line: int) -> InputError:
    return InputError("--dut", "valid Verilog", said, source=source, line=line, problem=f": {said}")


def _modules(text: str) -> list[str]:
    """Return the names of the modules declared in a text, ignoring comments."""
    without = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return list(dict.fromkeys(re.findall(r"^\s*module\s+(?:automatic\s+)?([A-Za-z_][\w$]*)", without, re.MULTILINE)))


def _literal(value: int | str) -> str:
    """Return a parameter value in the tool's syntax."""
    if isinstance(value, str):
        return f'"{value}"'
    return str(value) if -_LARGEST <= value <= _LARGEST else f"64'sd{value}" if value >= 0 else f"-64'sd{-value}"


def _array(shape: str, said: str) -> Member | None:
    """Return the member of an unpacked array, or ``None`` for elements wider than 64 bits."""
    found = _ELEMENT.search(shape)
    if found is None:
        return None
    sizes = [int(each) for each in re.findall(r"\d+", found[3])][::-1]
    elements = tuple("".join(f"[{index}]" for index in at) for at in product(*map(range, sizes)))
    return Member(said, elements, int(found[1]) - int(found[2]) + 1)


def _plain_name(said: str) -> str:
    """Return the Verilog name of a port."""
    name = re.sub(r"[&()]|\[.*", "", said).removeprefix("__SYM__")
    return re.sub(r"__0([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), name)
