"""A component compiled to a native library that runs whole arrays of cycles at a call.

The library's ports are 64-bit words: a port of ``n`` bits takes ``ceil(n / 64)`` of them, low word first,
inputs in one row per cycle, outputs in another. In a cycle the inputs are set, the outputs settle and are
read, then the clock rises.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.back import verilog
from amaranth.hdl import Shape
from numpy.typing import NDArray
from vlane.tb import verilator

from vlane.paths import build_dir

__all__ = [
    "CompiledModel",
    "Port",
    "Words",
    "compile_model",
    "compile_verilog",
    "component_ports",
    "to_verilog",
]

Words = NDArray[np.uint64]

_WORD_BITS = 64
_FLAGS = (
    "--cc",
    "--exe",
    "--build",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
    "-Wno-fatal",
    "-Wno-lint",
    "-j",
    "2",
)
_LIBRARY = "model.so"


@dataclass(frozen=True, slots=True)
class Port:
    """One port of a compiled top.

    Parameters
    ----------
    name : str
        Name in Verilog; nested members are joined by two underscores.
    bits : int
        Width.
    is_input : bool
        Direction, seen from the component.
    """

    name: str
    bits: int
    is_input: bool

    @property
    def words(self) -> int:
        """Words it takes in a row."""
        return -(-self.bits // _WORD_BITS)


def component_ports(component: Any) -> tuple[Port, ...]:
    """Return the ports of a component in the order of its signature, reset first; the clock is implied."""
    ports = [Port("rst", 1, is_input=True)]
    for path, member, _ in component.signature.flatten(component):
        bits = Shape.cast(member.shape).width
        if bits:
            ports.append(Port("__".join(map(str, path)), bits, is_input=member.flow.name == "In"))
    return tuple(ports)


def to_verilog(component: Any, top: str, *, sources: bool = False) -> str:
    """Return a component as Verilog; with ``sources``, attributes name the lines it came from."""
    text: str = verilog.convert(component, name=top, strip_internal_attrs=not sources, emit_src=sources)
    return text


class CompiledModel:
    """A loaded library; each instance has a device of its own, in reset state after power-on.

    Parameters
    ----------
    library : Path
        What ``compile_verilog`` built.
    ports : tuple of Port
        Its ports, in the order of the rows.
    """

    def __init__(self, library: Path, ports: tuple[Port, ...]) -> None:
        self.library, self.ports = library, ports
        self.inputs = _columns(p for p in ports if p.is_input)
        self.outputs = _columns(p for p in ports if not p.is_input)
        self.input_words = sum(p.words for p in ports if p.is_input)
        self.output_words = sum(p.words for p in ports if not p.is_input)
        code = ctypes.CDLL(str(library))
        row = np.ctypeslib.ndpointer(np.uint64, flags="C_CONTIGUOUS")
        code.vlane_new.restype = ctypes.c_void_p
        code.vlane_new.argtypes = [ctypes.c_char_p]
        code.vlane_delete.argtypes = [ctypes.c_void_p]
        code.vlane_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, row, row]
        code.vlane_free_run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, row]
        code.vlane_free_run.restype = ctypes.c_uint64
        self._code = code
        self._device: int | None = code.vlane_new(None)

    def __enter__(self) -> CompiledModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the device, and finish its wave if one is being written."""
        if self._device is not None:
            self._code.vlane_delete(self._device)
            self._device = None

    def restart(self, wave: Path | None = None) -> None:
        """Start over from power-on; with ``wave``, write a VCD of all that follows (a traced model only)."""
        self.close()
        self._device = self._code.vlane_new(str(wave).encode() if wave else None)

    def run(self, rows: Words, out: Words | None = None) -> Words:
        """Run one cycle per row of inputs and return the rows of outputs.

        Parameters
        ----------
        rows : array of uint64, (cycles, input_words)
            Inputs; bits beyond a port's width must be 0.
        out : array of uint64, (cycles, output_words), optional
            Where the outputs go.
        """
        if rows.shape[1:] != (self.input_words,):
            raise ValueError(f"rows must have {self.input_words} words, not {rows.shape[1:]}")
        outputs = np.empty((len(rows), self.output_words), np.uint64) if out is None else out
        self._code.vlane_run(self._device, len(rows), rows, outputs)
        return outputs

    def free_run(self, rows: Words) -> int:
        """Run as ``run`` does but read no output except a checksum of the last cycle: the limit of speed."""
        return int(self._code.vlane_free_run(self._device, len(rows), rows))


def _columns(ports: Any) -> dict[str, slice]:
    columns, start = {}, 0
    for port in ports:
        columns[port.name] = slice(start, start + port.words)
        start += port.words
    return columns


def _wrapper(ports: tuple[Port, ...], top: str, *, traced: bool) -> str:
    """C++ around the Verilated class: rows in, rows out, no Python per cycle."""
    sets: list[str] = []
    gets: list[str] = []
    row = {True: 0, False: 0}
    for port in ports:
        lines = sets if port.is_input else gets
        member = port.name.replace("__", "___05F")  # as Verilator spells them in C++
        for word in range(port.words):
            index = row[port.is_input]
            row[port.is_input] += 1
            if port.bits <= _WORD_BITS:
                lines.append(f"top->{member} = in[{index}];" if port.is_input else f"out[{index}] = top->{member};")
                continue
            last = -(-port.bits // 32) - 1
            for half in (2 * word, 2 * word + 1):
                if half > last:
                    continue
                shift = 32 * (half & 1)
                if port.is_input:
                    lines.append(f"top->{member}[{half}] = uint32_t(in[{index}] >> {shift});")
                else:
                    operator = "=" if shift == 0 else "|="
                    lines.append(f"out[{index}] {operator} uint64_t(top->{member}[{half}]) << {shift};")
    template = (Path(__file__).parent / "model.cpp").read_text()
    for key, value in {
        "@TOP@": f"V{top}",
        "@INPUT_WORDS@": str(row[True]),
        "@OUTPUT_WORDS@": str(row[False]),
        "@TRACED@": str(int(traced)),
        "@SET@": "\n        ".join(sets),
        "@GET@": "\n        ".join(gets),
    }.items():
        template = template.replace(key, value)
    return template


def compile_verilog(text: str, ports: tuple[Port, ...], top: str, *, traced: bool = False) -> CompiledModel:
    """Compile Verilog to a library, or take it from the cache by content.

    Raises
    ------
    RuntimeError
        If Verilator or the C++ compiler fails, with the end of what it said.
    """
    wrapper = _wrapper(ports, top, traced=traced)
    key = hashlib.sha256("\0".join((text, wrapper, *_FLAGS, str(traced), "v1")).encode()).hexdigest()[:20]
    kept = build_dir("models") / f"{top}-{key}"
    if not (kept / _LIBRARY).is_file():
        work = kept.with_name(f"{kept.name}.{os.getpid()}")
        work.mkdir()
        (work / f"{top}.v").write_text(text)
        (work / "wrapper.cpp").write_text(wrapper)
        command = [
            str(verilator.executable()),
            *_FLAGS,
            "--top-module",
            top,
            "-Mdir",
            "obj",
            "-o",
            f"../{_LIBRARY}",
        ]
        command += ["-CFLAGS", "-fPIC -std=c++17", "-LDFLAGS", "-shared"]
        command += ["--trace-vcd", "--trace-underscore"] if traced else []
        done = subprocess.run(
            [*command, f"{top}.v", "wrapper.cpp"],
            cwd=work,
            env=verilator.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            shutil.rmtree(work)
            raise RuntimeError(f"compiling {top} failed:\n{(done.stdout + done.stderr)[-4000:]}")
        shutil.rmtree(work / "obj")
        if kept.exists():
            shutil.rmtree(work)
        else:
            work.replace(kept)
    return CompiledModel(kept / _LIBRARY, ports)


def compile_model(component: Any, top: str, *, traced: bool = False) -> CompiledModel:
    """Compile a component to a library, or take it from the cache by content."""
    return compile_verilog(to_verilog(component, top), component_ports(component), top, traced=traced)
