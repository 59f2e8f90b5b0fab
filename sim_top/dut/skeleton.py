"""Skeleton of a map: the entries that the port names of a design suggest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.ports import PortRow, block_rows
from vlane.sim_top.dut.wiring import DECISION, RESET
from vlane.tb.machinery.native.rows import Port

_CLOCK = re.compile(r"(?i)^(a?clk|clock)(_?i|_in)?$|_clk$")
_RESET = re.compile(r"(?i)^a?(rst|reset)(_?n?i?|_in)$|^(rst|reset)_?[nb]?_?i?$|_rst_?n?$")
_LOW = re.compile(r"(?i)(_n|_ni|_b|_|resetn|rstn)$")
_REQUEST = re.compile(r"(?i)^(i_)?(req|reqs|request|requests|pending|want)(_|$|i$|n)")
_READY = re.compile(r"(?i)(ready|^ack|_ack|acknowledge|yumi|gnt_i|^take|enable_priority_update)")
_VALID = re.compile(r"(?i)(valid|^v_o$|^busy$|req_o)")
_GRANT = re.compile(r"(?i)(grant|gnt|sel_one_hot)")
_INDEX = re.compile(r"(?i)(idx|index|lane|tag|chosen|_id$|encoded)")


def skeleton(block: Block, parameters: Mapping[str, Any], design: Design) -> str:
    """Return a map file for a design, with a comment at each entry that is a guess.

    Parameters
    ----------
    block : Block
        Block to compare with.
    parameters : mapping
        Parameters of the block's instance.
    design : Design
        Foreign design.
    """
    inputs = [port for port in design.ports if port.is_input]
    outputs = [port for port in design.ports if not port.is_input]
    ours, theirs = block_rows(block, parameters)
    decides = set(DECISION) <= set(theirs.ports)
    lanes = next((port.bits for port in inputs if _REQUEST.search(port.name) and port.bits > 1), 0)
    lines = [
        f"# Map of {design.top} for {block.name}, from port names: check every entry.",
        "[block]",
        f'name = "{block.name}"',
    ]
    if decides:
        lines += [f"data_vls = {lanes or parameters['data_vls']}", "vl15 = false"]
    taken: set[str] = set()

    def pick(pattern: re.Pattern[str], ports: list[Port], bits: int = 0) -> Port | None:
        for port in ports:
            if port.name not in taken and pattern.search(port.name) and (not bits or port.bits == bits):
                taken.add(port.name)
                return port
        return None

    clock, reset = pick(_CLOCK, inputs, 1), pick(_RESET, inputs, 1)
    lines += ["", "[clock]", f'port = "{clock.name if clock else "CLOCK"}"']
    if reset:
        lines += ["", "[reset]", f'port = "{reset.name}"', f'active = "{"low" if _LOW.search(reset.name) else "high"}"']
    if design.parameters:
        lines += ["", "[parameters]", *(f"{name} = {value!r}" for name, value in design.parameters.items())]
    wired, shown = _arbiter(pick, inputs, outputs, lanes) if decides else _by_name(pick, inputs, outputs, ours, theirs)
    if decides:
        lines += [
            "",
            "[timing]",
            'mode = "elastic"    # see docs/elastic.md',
            'decision = "handshake"    # or "start" for a held grant',
        ]
    lines += ["", "[inputs]", *wired]
    rest = [port.name for port in inputs if port.name not in taken]
    if rest:
        lines += ["", "[constants]", *(f"{name} = 0    # no known counterpart" for name in rest)]
    lines += ["", "[outputs]", *shown]
    return "\n".join(lines) + "\n"


def _arbiter(pick: Any, inputs: list[Port], outputs: list[Port], lanes: int) -> tuple[list[str], list[str]]:
    """Return the entries of [inputs] and [outputs] of an arbiter."""
    request, ready = pick(_REQUEST, inputs, lanes), pick(_READY, inputs)
    wired = [f'heads__request = "{request.name}"' if request else 'heads__request = "REQUESTS"    # not found']
    if ready and ready.bits == lanes and lanes > 1:
        wired.append(f'ready = {{ port = "{ready.name}", gate = "lane" }}')
    elif ready:
        wired.append(f'ready = "{ready.name}"')
    onehot = pick(_GRANT, outputs, lanes) if lanes else None
    valid, index = pick(_VALID, outputs, 1), None if onehot else pick(_INDEX, outputs)
    shown = [f'grant = "{valid.name}"'] if valid else []
    when = ', when = "grant"' if valid else ""
    if onehot:
        shown.append(f'vl = {{ port = "{onehot.name}", encoding = "onehot"{when} }}')
    else:
        name = index.name if index else "GRANTED_LANE"
        shown.append(f'vl = {{ port = "{name}", encoding = "lane"{when} }}')
    return wired, shown


def _by_name(
    pick: Any, inputs: list[Port], outputs: list[Port], ours: PortRow, theirs: PortRow
) -> tuple[list[str], list[str]]:
    """Return the entries of [inputs] and [outputs] of any other block: ports of the same name, or the exported name."""
    wired = []
    for name in ours.ports:
        if name != RESET:
            port = pick(_same(name), inputs)
            wired.append(f'{name} = "{port.name if port else "PORT"}"{"" if port else "    # not found"}')
    shown = [f'{name} = "{port.name}"' for name in theirs.ports if (port := pick(_same(name), outputs))]
    return wired, shown or ["# name at least one output"]


def _same(name: str) -> re.Pattern[str]:
    """Return a pattern of a block's port name with one or two underscores between levels."""
    return re.compile(name.replace("__", "__?"))
