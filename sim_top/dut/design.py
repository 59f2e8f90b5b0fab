"""Verilog that somebody else wrote: its ports, and the library that is compiled of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from vlane.errors import InputError, closest
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.model import CompiledModel, compile_library
from vlane.tb.machinery.native.rows import Port, Words
from vlane.tb.machinery.native.wrapper import wrapper_text

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
_BUILD = ("--exe", "--build", "-O3", *verilator.SPLIT, "-j", "2")
_SECONDS = 300
_MOST_BYTES = 1 << 26
_PORT = re.compile(r"^ *VL_(IN|OUT|INOUT)(?:8|16|64|W)?\((&\w+),(\d+),(\d+)(?:,\d+)?\);", re.MULTILINE)
_OTHER = re.compile(r"^ *(?!VL_)\S.* &(\w+);|^ *VL_\w+\((?!&\w+,)([^,]*)", re.MULTILINE)
_ERROR = re.compile(r"%Error(?:-\w+)?: (?:(?P<file>[^\n]*?):(?P<line>\d+):(?:\d+:)? )?(?P<text>[^\n]*)")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_LINE = re.compile(r'^`line (\d+) "([^"\n]*)"', re.MULTILINE)
_LARGEST = (1 << 31) - 1
_HEAD = """
#include <cstdint>
#include <stdexcept>
#include <string>

// What is not reset begins at random, from this seed.
extern "C" { uint32_t vlane_seed = 1; }

static std::string vlane_said;
static bool vlane_closing = false;

// A design that stops, or does not settle, ends its run, not the process.
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

// A device whose initial blocks end the run is none.
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
// Waves from here on.
extern "C" void vlane_wave(void* device, const char* file) {
    auto& d = *static_cast<Device*>(device);
    d.wave.reset(new VerilatedVcdC);
    d.top->trace(d.wave.get(), 99);
    d.wave->open(file);
}
#endif
"""


class DesignError(RuntimeError):
    """The design ended its own run: it does not settle, or calls ``$stop`` or ``$finish``."""


@dataclass(frozen=True)
class Design:
    """A module in Verilog or SystemVerilog files, elaborated.

    Parameters
    ----------
    files : tuple of Path
        The files, in the order in which they are read.
    top : str
        The module.
    parameters : mapping
        Of the module; others have their defaults.

    Attributes
    ----------
    text : str
        The files after the preprocessor; its lines still know where they come from.
    ports : tuple of Port
        The module's ports.
    members : dict of str to str
        Their names in C++.

    Raises
    ------
    InputError
        If a file cannot be read, the tool refuses the Verilog (file, line and the first of its errors), there is no
        such module or parameter, or a port is neither a packed input nor a packed output.
    """

    files: tuple[Path, ...]
    top: str
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    text: str = field(init=False, repr=False)
    ports: tuple[Port, ...] = field(init=False)
    members: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not _IDENTIFIER.fullmatch(self.top):
            raise InputError("--top", "the name of a module", self.top)
        for file in self.files:
            _check_file(file)
        object.__setattr__(self, "text", self._preprocessed())
        header = self._elaborated()
        ports, members = [], {}
        for kind, said, high, low in _PORT.findall(header):
            name = _plain_name(said)
            if kind == "INOUT":
                raise InputError("--top", "a module of inputs and outputs", f"one with the inout {name}")
            members[name] = said.lstrip("&")
            ports.append(Port(name, int(high) - int(low) + 1, is_input=kind == "IN"))
        for reference, macro in _OTHER.findall(header):
            said = reference or macro
            must = "a module of packed ports (a module around it may connect them)"
            raise InputError("--top", must, f"one with the port {_plain_name(said)}")
        object.__setattr__(self, "ports", tuple(ports))
        object.__setattr__(self, "members", members)

    def _flags(self) -> list[str]:
        return [*_FLAGS, *(f"-G{name}={_literal(value)}" for name, value in self.parameters.items())]

    def _preprocessed(self) -> str:
        files = [file.resolve() for file in self.files]
        folders = dict.fromkeys(f"-I{file.parent}" for file in files)
        command = ["-E", *folders, *map(str, files)]
        return self._tool(command, Path("/")).stdout

    def _elaborated(self) -> str:
        """Return the header that says which ports there are."""
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
            must = f"Verilog that is elaborated within {_SECONDS} s"
            raise InputError("--dut", must, "one that takes longer", source=str(self.files[0])) from None
        if done.returncode:
            raise self._refusal(done.stderr + done.stdout)
        return done

    def _refusal(self, said: str) -> InputError:
        """Return the tool's first error as ours."""
        if "was not found in design" in said and "--top-module" in said:
            known = _modules(self.text)
            must = f"a module of the files ({', '.join(known)})" if known else "a module of the files"
            return InputError("--top", must, self.top, meant=closest(self.top, known))
        unknown = re.search(r"Parameters from the command line were not found in the design: (\w+)", said)
        if unknown:
            return InputError(f"parameters.{unknown[1]}", f"a parameter of {self.top}", "unknown")
        found = _ERROR.search(said)
        if found is None:
            return InputError("--dut", "Verilog that the tool accepts", said.strip()[-200:], source=str(self.files[0]))
        source, line = found["file"] or str(self.files[0]), int(found["line"] or 0)
        if source.endswith("design.v"):
            source, line = str(self.files[0]), 0
        return InputError("--dut", "Verilog that the tool accepts", found["text"], source=source, line=line)

    def compiled(self, ports: tuple[Port, ...], clock: str, *, falling: bool, traced: bool = False) -> ForeignModel:
        """Return the design as a library that runs rows of these ports.

        Parameters
        ----------
        ports : tuple of Port
            The inputs that are driven and the outputs that are read.
        clock : str
            The clock.
        falling : bool
            Whether the design works at its falling edge.
        traced : bool
            Whether waves can be written.
        """
        wrapper = wrapper_text(ports, traced=traced, foreign=(_CLASS, self.members))
        clock = f"top->{self.members[clock]}"
        wrapper = re.sub(r"top->clk = ([01]);", lambda level: f"{clock} = {int(level[1]) ^ falling};", wrapper)
        start = "top.reset(new"
        wrapper = wrapper.replace(
            start, f"context->randReset(2);\n        context->randSeed(vlane_seed);\n        {start}"
        )
        text = _LINE.sub(lambda at: f'`line {at[1]} "{Path(at[2]).name}"', self.text)  # the same wherever it lies
        library = compile_library(
            text, _HEAD + wrapper + _TAIL, self.top, flags=(*self._flags(), *_BUILD), traced=traced, name="design"
        )
        try:
            return ForeignModel(library, ports)
        except OSError as error:
            said = str(error).rpartition(": ")[2]
            must = "a design whose functions are all written in Verilog"
            raise InputError("--dut", must, said, source=str(self.files[0])) from None


class ForeignModel(CompiledModel):
    """A foreign design, compiled; what its reset leaves alone begins at random."""

    def __init__(self, library: Path, ports: tuple[Port, ...]) -> None:
        super().__init__(library, ports)
        self._code.vlane_why.restype = ctypes.c_char_p

    def __enter__(self) -> Self:
        return self

    def begin(self, seed: int) -> None:
        """Restart from power-on, with random registers of this seed."""
        ctypes.c_uint32.in_dll(self._code, "vlane_seed").value = seed % _LARGEST + 1
        self.restart()

    def wave_from_here(self, file: Path) -> None:
        """Write a VCD of all following cycles (traced models only)."""
        self._code.vlane_wave.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._code.vlane_wave(self._device, os.fsencode(file))

    def run(self, rows: Words, out: Words | None = None) -> Words:
        """Run one cycle per row of inputs and return the rows of outputs.

        Raises
        ------
        DesignError
            If the design ends its own run.
        """
        if self._device is None:  # its initial blocks ended it
            raise self._ended()
        try:
            return super().run(rows, out)
        except RuntimeError:
            raise self._ended() from None

    def _ended(self) -> DesignError:
        return DesignError(self._code.vlane_why().decode(errors="backslashreplace"))


@contextlib.contextmanager
def stdout_elsewhere() -> Iterator[None]:
    """Let what a design prints go to stderr: stdout is for results."""
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
    """Refuse what is no file, or none that can be Verilog: the tool reads it more than once."""
    try:
        about = file.stat()
        if stat.S_ISREG(about.st_mode):
            file.open("rb").close()
    except OSError as error:
        raise InputError("--dut", "a file that can be read", error.strerror or "unreadable", source=str(file)) from None
    except ValueError:
        raise InputError("--dut", "a name that a file can have", str(file)) from None
    if not stat.S_ISREG(about.st_mode):
        raise InputError("--dut", "a regular file", "a folder, pipe or device", source=str(file))
    if not 0 < about.st_size <= _MOST_BYTES:
        raise InputError("--dut", f"of 1 to {_MOST_BYTES} bytes", about.st_size, source=str(file))


def _modules(text: str) -> list[str]:
    """Return the modules that a text seems to have, comments aside."""
    without = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return list(dict.fromkeys(re.findall(r"^\s*module\s+(?:automatic\s+)?([A-Za-z_][\w$]*)", without, re.MULTILINE)))


def _literal(value: int | str) -> str:
    """Return a parameter as the tool takes it."""
    if isinstance(value, str):
        return f'"{value}"'
    return str(value) if -_LARGEST <= value <= _LARGEST else f"64'sd{value}" if value >= 0 else f"-64'sd{-value}"


def _plain_name(said: str) -> str:
    """Return the name of a port in Verilog."""
    name = re.sub(r"[&()]|\[.*", "", said).removeprefix("__SYM__")
    return re.sub(r"__0([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), name)
