"""Exported Verilog: continuous assignments and clocked processes, portable across simulators and tools."""

from __future__ import annotations

from typing import Any

from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.native.yosys import run_yosys

_INTERNAL = " ".join(
    f"-remove {name}" for name in ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding")
)
_SCRIPT = f"""read_rtlil design.il
attrmap {_INTERNAL}
attrmap -modattr {_INTERNAL}
proc -noopt -norom
pmuxtree
memory_collect
opt_clean
write_verilog -norename design.v
"""


def module_text(component: Any, name: str) -> str:
    """Return a component as Verilog modules: ``name``, and ``name.PART`` for each submodule.

    Combinational logic is written as continuous assignments, not ``always @*``, which needs an initial event in
    four-state simulators and hides unknown values in its branches.
    """
    folder = run_yosys("exported", {"design.il": to_rtlil(component, name, emit_src=False)}, _SCRIPT, result="design.v")
    said, _, text = (folder / "design.v").read_text().partition("\n")
    if not said.startswith("/*"):
        raise RuntimeError(f"unexpected first line of yosys' Verilog: {said!r}")
    return text.lstrip("\n")
