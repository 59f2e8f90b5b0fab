"""Map of an exported module for ``vlane cosim BLOCK --dut``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from vlane.sim_top.systemverilog.names import text_name
from vlane.sim_top.systemverilog.text import Options
from vlane.tb.machinery.native.rows import Port

RESET = "rst"


def port_map(block: str, parameters: Mapping[str, Any], ports: Iterable[Port], options: Options) -> str:
    """Return the TOML text that maps every port of a block to the exported module.

    Parameters
    ----------
    block, parameters
        Name of the block, and parameters of the instance.
    ports : iterable of Port
        Ports of the block.
    options : Options
        Options of the text.
    """
    kind = "synchronous" if options.reset == "sync" else "asynchronous"
    lines = ["[block]", f'name = "{block}"', *(f"{name} = {json.dumps(value)}" for name, value in parameters.items())]
    lines += ["", "[clock]", 'port = "clk"', "", "[reset]", f'port = "{options.reset_port}"']
    lines += [f'active = "{options.polarity}"', f'kind = "{kind}"']
    for section, inputs in (("inputs", True), ("outputs", False)):
        lines += ["", f"[{section}]"]
        lines += [
            f'{port.name} = "{text_name(port.name)}"'
            for port in ports
            if port.is_input is inputs and port.name != RESET
        ]
    return "\n".join([*lines, "", "[stimulus]", "wild = true", ""])
