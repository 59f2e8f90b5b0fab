"""WebAssembly of the page's functions: translation to C++, compilation by the compiler of the package ``ziglang``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vlane.extras import require_extra
from vlane.golden.compiler.build import RUNTIME
from vlane.golden.compiler.program import Program
from vlane.golden.compiler.types import INT, type_of
from vlane.golden.oracle.image import lay_out
from vlane.golden.oracle.native import PlacedState
from vlane.paths import cache_dir
from vlane.schedulers.registry import SCHEDULERS
from vlane.sim_top.browser import vlarb_core
from vlane.sim_top.browser.memory import new_memory, new_state

FUNCTIONS: dict[str, Callable[..., int]] = {
    each.__name__: each
    for each in (vlarb_core.analyse, vlarb_core.start, vlarb_core.write_table, vlarb_core.cycle, vlarb_core.serve)
}
"""Functions of the page on ``PageMemory``, by exported name."""
CONTESTS = {name: vlarb_core.contest_of(each.weight_write) for name, each in SCHEDULERS.items()}
"""Functions that run a scheduler, by its name; exported as ``contest_NAME``."""

_FLAGS = ("-target", "wasm32-wasi", "-c", "-Os", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-fwrapv", "-w")
_FEATURES = ("-mbulk-memory", "-fno-builtin-strlen")
_EXPORT = 'extern "C" __attribute__((export_name("{}"))) int32_t {}'


@dataclass(frozen=True, slots=True)
class Module:
    """Compiled module and the places of its arrays.

    Parameters
    ----------
    code : bytes
        WebAssembly without imports.
    arrays : dict of str to (int, str, int)
        Offset in bytes from ``memory_start()``, dtype and length of each array of ``PageMemory``, by its path.
    """

    code: bytes
    arrays: dict[str, tuple[int, str, int]]


def has_compiler() -> bool:
    """Return whether the package ``ziglang`` is installed."""
    return importlib.util.find_spec("ziglang") is not None


def compile_module() -> Module:
    """Translate and compile the functions of the page.

    Raises
    ------
    MissingExtraError
        If the package ``ziglang`` is not installed.
    RuntimeError
        If the compiler reports an error, which a correct translation does not cause.
    """
    require_extra("page")
    text, arrays = program_text()
    return Module(_compiled(text), arrays)


def program_text() -> tuple[str, dict[str, tuple[int, str, int]]]:
    """Return the C++ program of the page, and the places of its arrays."""
    memory, states = new_memory(), {name: new_state(name) for name in SCHEDULERS}
    (memory, *placed), block = lay_out((memory, *states.values()))
    words = block.view(np.uint64)
    program = Program()
    code = [_memory_text(words)]
    parts = []
    place = PlacedState(program)
    for name, value in (("memory", memory), *zip(states, placed, strict=True)):
        kind = type_of(value)
        parts.append((name, kind, place.code(kind, value)))
    (_, memory_kind, memory_code), *state_parts = parts
    for name, function in FUNCTIONS.items():
        count = function.__code__.co_argcount - 1
        made = program.call(function, (memory_kind, *[INT] * count))
        code.append(_entry(name, f"const auto memory = {memory_code};", made.name, ["memory"], count))
    for (name, kind, state_code), function in zip(state_parts, CONTESTS.values(), strict=True):
        made = program.call(function, (kind, memory_kind, INT, INT))
        built = f"const auto memory = {memory_code}; const auto own = {state_code};"
        code.append(_entry(f"contest_{name}", built, made.name, ["own", "memory"], 2))
    runtime = RUNTIME.read_text().replace("#pragma once\n", "")
    return f"{runtime}\n{program.text}\n{''.join(code)}", _places(memory, block)


def _memory_text(words: np.ndarray[Any, np.dtype[np.uint64]]) -> str:
    """Return the code of the memory, and of the function that gives the memory its first contents."""
    filled = np.flatnonzero(words)
    pairs = ", ".join(f"{{{place}, {int(words[place])}ull}}" for place in filled.tolist())
    return (
        f"static uint64_t state[{len(words)}];\n"
        f"static const struct {{ uint32_t place; uint64_t word; }} contents[] = {{{pairs}}};\n"
        f"{_EXPORT.format('memory_start', 'memory_start')}() {{\n"
        "    for (const auto &each : contents) state[each.place] = each.word;\n"
        "    return int32_t(reinterpret_cast<intptr_t>(state));\n}\n"
    )


def _entry(name: str, built: str, function: str, first: list[str], count: int) -> str:
    numbers = [f"number_{place}" for place in range(count)]
    parameters = ", ".join(f"int32_t {each}" for each in numbers)
    given = ", ".join([*first, *(f"int64_t({each})" for each in numbers)])
    return f"{_EXPORT.format(name, name)}({parameters}) {{\n    {built}\n    return int32_t({function}({given}));\n}}\n"


def _places(memory: Any, block: np.ndarray[Any, Any]) -> dict[str, tuple[int, str, int]]:
    """Return offset, dtype and length of each array by the path of its fields."""
    first, found = block.__array_interface__["data"][0], {}

    def visit(path: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            found[path] = (value.__array_interface__["data"][0] - first, value.dtype.name, value.size)
        elif hasattr(value, "_fields"):
            for name in value._fields:
                visit(f"{path}.{name}" if path else name, getattr(value, name))

    visit("", memory)
    return found


def _compiled(text: str) -> bytes:
    cache = cache_dir("browser")
    with tempfile.TemporaryDirectory(prefix="page.", dir=cache) as folder:
        Path(folder, "page.cpp").write_text(text)
        _run(Path(folder), cache, "c++", *_FLAGS, *_FEATURES, "page.cpp", "-o", "page.o")
        _run(Path(folder), cache, "wasm-ld", "--no-entry", "--strip-all", "page.o", "-o", "page.wasm")
        return Path(folder, "page.wasm").read_bytes()


def _run(folder: Path, cache: Path, *words: str) -> None:
    places = {
        "ZIG_GLOBAL_CACHE_DIR": str(cache / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(folder / "zig"),
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", *words], cwd=folder, env=places, capture_output=True, text=True, check=False
    )
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr[:500])
        raise RuntimeError(f"the C++ compiler rejected translated code: {first}")
