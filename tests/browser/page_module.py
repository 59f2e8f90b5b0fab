"""The page's WebAssembly in wasmtime, with the calls that ``core.js`` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import wasmtime

from vlane.fabric.options.words import PREAMBLE, Phrase
from vlane.sim_top.browser import memory as places
from vlane.sim_top.browser.wasm import Module
from vlane.units import mtu_blocks


class PageModule:
    """An instance of the page's WebAssembly module.

    Parameters
    ----------
    module : Module
        Compiled module.
    """

    def __init__(self, module: Module) -> None:
        self._arrays = module.arrays
        self._store = wasmtime.Store()
        compiled = wasmtime.Module(self._store.engine, module.code)
        self.imports = [each.name for each in compiled.imports]
        self._exports = wasmtime.Instance(self._store, compiled, []).exports(self._store)
        self._memory: Any = self._exports["memory"]
        self._start = self.call("memory_start")

    def call(self, name: str, *numbers: int) -> int:
        """Return the result of an exported function."""
        function: Any = self._exports[name]
        return int(function(self._store, *numbers))

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """Return a copy of an array in the module's memory, by its name in ``memory``."""
        offset, kind, length = self._arrays[path]
        begin = self._start + offset
        data = self._memory.read(self._store, begin, begin + length * np.dtype(kind).itemsize)
        return np.frombuffer(data, kind)

    def write(self, path: str, values: Sequence[int], at: int = 0) -> None:
        """Write values into an array in the module's memory, from index ``at`` on."""
        offset, kind, _ = self._arrays[path]
        data = np.array(values, kind)
        self._memory.write(self._store, data.tobytes(), self._start + offset + at * data.itemsize)

    def analyse(self, text: bytes, *, kind: int, sls: Sequence[int], vls: int = 0, mtu: int = 4096) -> dict[str, Any]:
        """Return the table, the levels and the findings of a text, as the page shows them."""
        self.write("options.text", list(text), len(PREAMBLE))
        self.call("analyse", len(text), kind, vls, sum(1 << sl for sl in sls), mtu, mtu_blocks(mtu))
        facts, row, lanes = self.read("facts"), self.read("row"), self.read("lanes").reshape(-1, places.LANE_NUMBERS)
        lists = {
            name: np.stack([self.read(f"{name}_vl"), self.read(f"{name}_weight")], 1)[: facts[count]].tolist()
            for name, count in (("high", places.HIGH_COUNT), ("low", places.LOW_COUNT))
        }
        levels = []
        for sl in sls:
            vl = int(row[sl])
            numbers = lanes[vl] if vl < facts[places.DATA_VLS] else [0, 0, 0, 0, 0, 0, -1, 0]
            shares = [int(numbers[2 * case]) / int(numbers[2 * case + 1] or 1) for case in range(3)]
            levels.append((sl, vl, shares[0], min(shares), max(shares), int(numbers[6])))
        return {
            **lists,
            "limit": int(facts[places.LIMIT]),
            "data_vls": int(facts[places.DATA_VLS]),
            "levels": levels,
            "notes": self.notes(),
        }

    def notes(self) -> list[tuple[str, int, str, str]]:
        """Return code, line, name and message of each finding."""
        out, rows, start, found = self.read("notes.out").tobytes(), self.read("notes.rows").tolist(), 0, []
        for row in range(int(self.read("notes.used")[0])):
            phrase, line, name, end = rows[4 * row : 4 * row + 4]
            found.append((Phrase(phrase).code, line, out[start:name].decode(), out[name:end].decode()))
            start = end
        return found

    def serve(self, vls: Sequence[int], count: int) -> list[tuple[int, int]]:
        """Return lane and list of the first ``count`` packets, with a backlog in the lanes ``vls``."""
        self.call("start")
        done = self.call("serve", sum(1 << vl for vl in vls), count)
        order, sources = self.read("order")[:done].tolist(), self.read("sources")[:done].tolist()
        return list(zip(order, sources, strict=True))
