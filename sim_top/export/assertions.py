"""Checker with the assertions of a block's contract, bound to the exported module."""

from __future__ import annotations

from typing import Any

from vlane.errors import misplaced
from vlane.sim_top.blocks import Block
from vlane.sim_top.systemverilog.text import Options
from vlane.sim_top.systemverilog.writer import Port, written
from vlane.tb import by_name
from vlane.tb.machinery.native.parts import note_use
from vlane.tb.machinery.proofs.contract import Contract, output_of

_HEAD = """// Assertions of the contract of {name}, bound to every instance of {name}: compile this file with {name}.sv.
// Apply the reset from the first clock edge on; assertions are disabled while it is active. The assumptions about
// inputs are left out if {free} is defined, for stimuli that violate the contract on purpose.
"""


def assertion_file(block: Block, parameters: Any, name: str, options: Options) -> str:
    """Return the checker of an exported module: a module with the contract's logic, the assertions, and the bind.

    Parameters
    ----------
    block, parameters
        Block and parameters of the instance.
    name : str
        Name of the exported module.
    options : Options
        Options of the exported text, for the reset.

    Raises
    ------
    InputError
        If the instance has no contract at its ports.
    """

    def make() -> Contract | None:
        component = block.make(parameters)
        note_use(component)
        return by_name.contract(block.name, component)

    contract = make()
    if contract is None:
        raise misplaced("--assertions", f"with {block.name} of these parameters: its contract has no assertions")
    note_use(contract)
    top = f"{name}_contract"
    stated = Options(reset=options.reset, polarity=options.polarity)
    text = written(make, top, stated)
    free = f"{name.upper()}_ANY_INPUTS"
    outputs = [port.name for port in text.ports if not port.is_input]
    inputs = [port for port in text.ports if port.is_input]
    active = options.reset_port if options.polarity == "high" else f"!{options.reset_port}"
    return "\n".join(
        [
            _HEAD.format(name=name, free=free) + f"module {name}_checks (",
            *_declared(inputs),
            ");",
            *(f"  logic {each};" for each in outputs),
            "",
            f"  {top} u_contract (.*);",
            "",
            f"`ifndef {free}",
            *(line for each in contract.assumptions.items() for line in _asserted("assume", active, *each)),
            "`endif",
            *(line for each in contract.guarantees.items() for line in _asserted("assert", active, *each)),
            f"endmodule : {name}_checks",
            "",
            f"bind {name} {name}_checks u_checks (.*);",
            "",
            "// verilator lint_off DECLFILENAME",
            "",
            str(text),
            "// verilator lint_on DECLFILENAME",
            "",
        ]
    )


def _declared(ports: list[Port]) -> list[str]:
    last = len(ports) - 1
    return [
        f"  input logic {f'[{port.bits - 1}:0] ' if port.bits > 1 else ''}{port.name}{',' if at < last else ''}"
        for at, port in enumerate(ports)
    ]


def _asserted(kind: str, reset: str, name: str, statement: str) -> list[str]:
    held, text = output_of(name), statement.replace("`", "").replace('"', "'")
    return [
        f"  check_{name.replace('-', '_')}: {kind} property (@(posedge clk) disable iff ({reset}) {held})",
        f'    else $error("{text}");',
    ]
