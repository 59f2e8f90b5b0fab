"""Verilog of a foreign design for synthesis: elaborated by yosys, with the clock ``clk`` and tied constants."""

from __future__ import annotations

from collections.abc import Mapping

from vlane.errors import InputError
from vlane.sim_top.dut.design import Design
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.yosys import YosysError, run_yosys

TOP = "vlane_dut"
"""Name of the module around the design."""
_CLEANED = "proc\nflatten\nchformal -remove\ndelete t:$print\nopt_clean\n"
"""Commands that flatten a design and remove immediate assertions and prints: neither is hardware."""
_SECONDS = 600


def synthesisable(design: Design, clock: str, constants: Mapping[str, int]) -> tuple[str, tuple[Port, ...]]:
    """Return plain Verilog of a design and its ports without the clock and without constants.

    Parameters
    ----------
    design : Design
        Design.
    clock : str
        Clock port.
    constants : mapping
        Values of whole input ports that are tied.

    Raises
    ------
    InputError
        If yosys rejects the design.
    """
    free = tuple(port for port in design.ports if port.name != clock and port.name not in constants)
    text = f"{design.text}\n{_wrapper(design, clock, constants, free)}"
    script = f"read_slang -j 1 --ignore-assertions --top {TOP} design.sv\n{_CLEANED}write_verilog -noattr plain.v\n"
    try:
        folder = run_yosys("area", {"design.sv": text}, script, result="plain.v", seconds=_SECONDS)
    except YosysError as error:
        said = next((line for line in str(error).splitlines() if "error" in line.lower()), str(error)[-200:])
        problem = f": yosys cannot elaborate {design.top}: {said.strip()}"
        raise InputError("--dut", "synthesisable", said, source=str(design.files[0]), problem=problem) from None
    return (folder / "plain.v").read_text(), free


def _wrapper(design: Design, clock: str, constants: Mapping[str, int], free: tuple[Port, ...]) -> str:
    """Return a module around the design. An unpacked array becomes a vector, element 0 lowest."""
    declared = [f"{'input' if port.is_input else 'output'} logic [{port.bits - 1}:0] \\{port.name} " for port in free]
    lines, connected = [], [f".{clock}(clk)"]
    for number, port in enumerate(design.ports):
        if port.name == clock:
            continue
        value = f"{port.bits}'d{constants[port.name]}" if port.name in constants else f"\\{port.name} "
        elements = design.members[port.name].elements
        if elements:
            bits, sizes = design.members[port.name].bits, [1 + int(each) for each in elements[-1][1:-1].split("][")]
            shape = "".join(f"[0:{size - 1}]" for size in sizes)
            lines += [f"logic [{bits - 1}:0] a{number} {shape};", f"logic [{port.bits - 1}:0] v{number};"]
            for index, at in enumerate(elements):
                element, part = f"a{number}{at}", f"v{number}[{bits * index}+:{bits}]"
                left, right = (element, part) if port.is_input else (part, element)
                lines.append(f"assign {left} = {right};")
            lines.append(f"assign v{number} = {value};" if port.is_input else f"assign {value}= v{number};")
            value = f"a{number}"
        connected.append(f".{port.name}({value})")
    parameters = ", ".join(
        f".{name}({value if isinstance(value, int) else f'{chr(34)}{value}{chr(34)}'})"
        for name, value in design.parameters.items()
    )
    instance = f"{design.top} {f'#({parameters}) ' if parameters else ''}dut ({', '.join(connected)});"
    body = "\n".join([*lines, instance])
    return f"module {TOP}(input logic clk, {', '.join(declared)});\n{body}\nendmodule\n"
