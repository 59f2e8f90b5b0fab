"""Verilog top with several switches. The inputs of a switch form one vector, the outputs a second vector.

The vectors equal the rows of the native lockstep; a bench moves one value per switch and direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vlane.tb.machinery.native.rows import WORD_BITS, Port, row_layout, row_words

TOP = "network"
"""Name of the top module."""


def network_top(modules: Mapping[str, tuple[str, Sequence[Port]]], instances: Mapping[int, str]) -> str:
    """Return the Verilog of the top and of all modules in it.

    Parameters
    ----------
    modules : mapping of str to (str, sequence of Port)
        Verilog and ports of every module.
    instances : mapping of int to str
        Module of each switch, by number. Switch 3 is the instance ``switch_3`` with the vectors ``given_3`` and
        ``shown_3``.
    """
    ports, inside = ["  input clk"], []
    for number, module in instances.items():
        _, own = modules[module]
        connected = ["    .clk(clk)"]
        for direction, vector, inputs in (("input", f"given_{number}", True), ("output", f"shown_{number}", False)):
            layout = row_layout(own, inputs=inputs)
            ports.append(f"  {direction} [{WORD_BITS * row_words(layout) - 1}:0] {vector}")
            for name, field in layout.items():
                first = WORD_BITS * field.word + field.shift
                connected.append(f"    .{name}({vector}[{first + field.bits - 1}:{first}])")
        inside.append(f"  {module} switch_{number} (\n" + ",\n".join(connected) + "\n  );")
    top = f"module {TOP} (\n" + ",\n".join(ports) + "\n);\n" + "\n".join(inside) + "\nendmodule\n"
    return "\n".join([*(text for text, _ in modules.values()), top])
