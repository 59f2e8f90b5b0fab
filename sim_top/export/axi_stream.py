"""AXI4-Stream wrapper around the links of a switch, and a wrapper with SystemVerilog interfaces around it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from vlane.errors import misplaced
from vlane.sim_top.systemverilog.text import Options
from vlane.sim_top.systemverilog.writer import Port

_LINK = re.compile(r"(rx|tx|far_returned)_(\d+)_(\w+)$")
_STREAM = (("tvalid", 1), ("tready", 1), ("tdata", 0), ("tlast", 1), ("tuser", 0))
_MEANINGS = {
    "tvalid": "A flit is offered.",
    "tready": "The flit is accepted.",
    "tdata": "Flit, first byte lowest.",
    "tlast": "The flit is the packet's last.",
    "tuser": "Lane of the packet.",
}
_READY = "Always asserted: the sender counts its credit (returned)."


def check_streams(block: str, parameters: Mapping[str, Any]) -> None:
    """Reject blocks and parameters whose links have no AXI4-Stream wrapper."""
    wanted = {"crossbar": "multiplexed", "credit": "returns", "speed": 1}
    if not wanted.keys() <= parameters.keys():
        raise misplaced("--stream", f"with {block}: only ib_switch has links with a wrapper")
    for name, value in wanted.items():
        if parameters[name] != value:
            raise misplaced("--stream", f"with {name}={parameters[name]}: the wrapper needs {name}={value}")


def axi_stream_files(
    name: str, ports: Sequence[Port], parameters: Mapping[str, Any], options: Options
) -> dict[str, str]:
    """Return the wrapper ``NAME_axis.sv`` and the wrapper with interfaces ``NAME_axis_if.sv``.

    Parameters
    ----------
    name : str
        Name of the exported module.
    ports : sequence of Port
        Ports of the module.
    parameters : mapping
        Parameters of the instance.
    options : Options
        Options of the text, for the reset.
    """
    links, data, lane = parameters["ports"], parameters["data_bits"], _width(ports, "rx_0_vl")
    others = [port for port in ports if not _LINK.match(port.name) and port.name != "ready"]
    return {
        f"{name}_axis.sv": _wrapper(name, others, links, data, lane, parameters, options),
        f"{name}_axis_if.sv": _interfaces(name, others, links, data, lane),
    }


def _width(ports: Sequence[Port], name: str) -> int:
    return next(port.bits for port in ports if port.name == name)


def _kind(bits: int) -> str:
    return "logic" if bits == 1 else f"logic [{bits - 1}:0]"


def _declared(ports: Sequence[Port]) -> list[str]:
    ways = [f"{'input ' if port.is_input else 'output'} {_kind(port.bits)}" for port in ports]
    wide, long = max(map(len, ways)), max(len(port.name) for port in ports) + 1
    last = len(ports) - 1
    return [
        f"  {way:{wide}} {port.name + (',' if at < last else ''):{long}} // {port.meaning}".rstrip()
        for at, (way, port) in enumerate(zip(ways, ports, strict=True))
    ]


def _streams(links: int, data: int, lane: int) -> list[Port]:
    """Return the ports of the streams of all links."""
    found = []
    for side, forward in (("s_axis", True), ("m_axis", False)):
        for link in range(links):
            for member, bits in _STREAM:
                width = bits or {"tdata": data, "tuser": lane}[member]
                meaning = _READY if member == "tready" and forward else _MEANINGS[member]
                is_input = forward != (member == "tready")
                found.append(Port(f"{side}_{link}_{member}", width, is_input=is_input, meaning=meaning))
    return found


def _swapped(value: str, data: int) -> str:
    """Return a flit with its bytes in the opposite order."""
    return "{" + ", ".join(f"{value}[{8 * byte + 7}:{8 * byte}]" for byte in range(data // 8)) + "}"


def _wrapped(text: str, pad: str) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) + len(pad) > 108:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word}"
    return [f"{pad}{line}" for line in lines]


def _wrapper(
    name: str, others: Sequence[Port], links: int, data: int, lane: int, parameters: Mapping[str, Any], options: Options
) -> str:
    reset = options.reset_port
    largest = parameters["largest"]
    depth = 1 << (2 * largest + 3).bit_length()
    first, rest = others[:2], others[2:]
    lines = [
        f"// {name} with AXI4-Stream on its links",
        "//",
        "// Input: a packet is a frame; its first beat begins with the packet's header. tready is always asserted. The",
        "// sender counts the credit of each lane, which returned_* gives back.",
        "//",
        "// Output: packets wait in a queue and leave at the pace of tready. A packet starts only if the queue has",
        "// space for a largest packet. Each flit that leaves the queue returns a block of credit to the switch.",
        f"module {name}_axis (",
        *_declared([*first, *_streams(links, data, lane), *rest]),
        ");",
        "",
        f"  logic [{links - 1}:0] ready;",
    ]
    for link in range(links):
        lines += [
            "",
            f"  logic first_{link}, tx_valid_{link}, tx_last_{link}, far_returned_blocks_{link};",
            f"  logic [{lane - 1}:0] tx_vl_{link}, far_returned_vl_{link};",
            f"  logic [{data - 1}:0] tx_data_{link};",
            "",
            f"  assign s_axis_{link}_tready = 1'b1;",
            "",
            *_process(
                options,
                [f"first_{link} <= 1'b1;"],
                [f"first_{link} <= s_axis_{link}_tlast;"],
                when=f"s_axis_{link}_tvalid",
            ),
            "",
            f"  {name}_axis_queue u_queue_{link} (",
            "    .clk(clk),",
            f"    .{reset}({reset}),",
            *(f"    .tx_{each}(tx_{each}_{link})," for each in ("valid", "vl", "last", "data")),
            f"    .ready(ready[{link}]),",
            f"    .far_returned_blocks(far_returned_blocks_{link}),",
            f"    .far_returned_vl(far_returned_vl_{link}),",
            *(f"    .m_axis_{each}(m_axis_{link}_{each})," for each, _ in _STREAM[:-1]),
            f"    .m_axis_tuser(m_axis_{link}_tuser)",
            "  );",
        ]
    connected = [f".{port.name}({port.name})" for port in others]
    for link in range(links):
        connected += [
            f".rx_{link}_valid(s_axis_{link}_tvalid)",
            f".rx_{link}_vl(s_axis_{link}_tuser)",
            f".rx_{link}_first(first_{link})",
            f".rx_{link}_last(s_axis_{link}_tlast)",
            f".rx_{link}_data({_swapped(f's_axis_{link}_tdata', data)})",
            f".tx_{link}_valid(tx_valid_{link})",
            f".tx_{link}_vl(tx_vl_{link})",
            f".tx_{link}_first(unused_first[{link}])",
            f".tx_{link}_last(tx_last_{link})",
            f".tx_{link}_data(tx_data_{link})",
            f".far_returned_{link}_blocks(far_returned_blocks_{link})",
            f".far_returned_{link}_vl(far_returned_vl_{link})",
        ]
    connected.append(".ready(ready)")
    lines += [
        "",
        "  // The first flit of a frame follows the last one of the frame before.",
        f"  logic [{links - 1}:0] unused_first;",
        "  logic unused_bits;",
        "  assign unused_bits = &{1'b0, unused_first};",
        "",
        f"  {name} u_switch (",
    ]
    for number, each in enumerate(connected):
        lines += _wrapped(f"{each}{',' if number + 1 < len(connected) else ''}", "    ")
    lines += [
        "  );",
        f"endmodule : {name}_axis",
        "",
        "// verilator lint_off DECLFILENAME",
        "",
        *_queue(f"{name}_axis_queue", data, lane, largest, depth, options),
        "// verilator lint_on DECLFILENAME",
        "",
    ]
    return "\n".join(lines)


def _process(options: Options, resets: list[str], body: list[str], *, when: str = "") -> list[str]:
    """Return a process with the reset of the options. ``when`` is the clock enable, if there is one."""
    is_high = options.polarity == "high"
    edge = f" or {'posedge' if is_high else 'negedge'} {options.reset_port}" if options.reset == "async" else ""
    return [
        f"  always_ff @(posedge clk{edge}) begin",
        f"    if ({'' if is_high else '!'}{options.reset_port}) begin",
        *(f"      {line}" for line in resets),
        f"    end else {f'if ({when}) ' if when else ''}begin",
        *(f"      {line}" for line in body),
        "    end",
        "  end",
    ]


def _queue(name: str, data: int, lane: int, largest: int, depth: int, options: Options) -> list[str]:
    bits, word = (depth - 1).bit_length(), data + lane + 1
    ports = [
        Port("clk", 1, is_input=True, meaning="Clock, rising edge."),
        Port(
            options.reset_port, 1, is_input=True, meaning=f"Reset, {options.reset}hronous, active {options.polarity}."
        ),
        Port("tx_valid", 1, is_input=True, meaning="The switch sends a flit."),
        Port("tx_vl", lane, is_input=True, meaning="Lane of the flit."),
        Port("tx_last", 1, is_input=True, meaning="The flit is a packet's last."),
        Port("tx_data", data, is_input=True, meaning="Data, first byte in the most significant bits."),
        Port("ready", 1, is_input=False, meaning=f"The queue has space for a largest packet ({largest} flits)."),
        Port("far_returned_blocks", 1, is_input=False, meaning="A block has left the queue."),
        Port("far_returned_vl", lane, is_input=False, meaning="Lane of the block; 0 if none has left."),
        *(
            Port(f"m_axis_{member}", {"tdata": data, "tuser": lane}.get(member, 1), member == "tready", text)
            for member, text in _MEANINGS.items()
        ),
    ]
    return [
        f"// Queue of the packets of a link: {depth} flits. The memory may be replaced by a macro.",
        f"module {name} (",
        *_declared(ports),
        ");",
        "",
        f"  logic [{word - 1}:0] memory [0:{depth - 1}];",
        f"  logic [{bits - 1}:0] head, tail;",
        f"  logic [{bits}:0] count;",
        "  logic leaves;",
        f"  logic [{word - 1}:0] oldest;",
        "",
        "  assign oldest = memory[head];",
        f"  assign m_axis_tvalid = count != {bits + 1}'d0;",
        f"  assign m_axis_tlast = oldest[{word - 1}];",
        f"  assign m_axis_tuser = oldest[{data} +: {lane}];",
        *_wrapped(f"assign m_axis_tdata = {_swapped('oldest', data)};", "  "),
        "  assign leaves = m_axis_tvalid & m_axis_tready;",
        "",
        "  // The last flit of the packet before may still be on its way.",
        f"  assign ready = count <= {bits + 1}'d{depth - largest - 2};",
        "",
        "  always_ff @(posedge clk) begin",
        "    if (tx_valid) memory[tail] <= {tx_last, tx_vl, tx_data};",
        "  end",
        "",
        *_process(
            options,
            [
                f"head <= {bits}'d0;",
                f"tail <= {bits}'d0;",
                f"count <= {bits + 1}'d0;",
                "far_returned_blocks <= 1'b0;",
                f"far_returned_vl <= {lane}'d0;",
            ],
            [
                f"if (tx_valid) tail <= tail + {bits}'d1;",
                f"if (leaves) head <= head + {bits}'d1;",
                f"count <= count + {bits + 1}'(tx_valid) - {bits + 1}'(leaves);",
                "far_returned_blocks <= leaves;",
                f"far_returned_vl <= leaves ? m_axis_tuser : {lane}'d0;",
            ],
        ),
        f"endmodule : {name}",
        "",
    ]


def _interfaces(name: str, others: Sequence[Port], links: int, data: int, lane: int) -> str:
    stream = f"{name}_stream"
    ends = [
        Port("clk", 1, is_input=True, meaning="Clock, rising edge."),
        *(port for port in others if port.name != "clk"),
    ]
    declared = [line.split(" // ")[0].rstrip() for line in _declared(ends)]
    lines = [
        "// verilator lint_off DECLFILENAME",
        "",
        "// Stream of packets as a structure and an interface. tready goes against the stream.",
        f"interface {stream};",
        "  typedef struct packed {",
        "    logic last; // The flit is the packet's last.",
        f"    logic [{lane - 1}:0] vl; // Lane of the packet.",
        f"    logic [{data - 1}:0] data; // Flit, first byte lowest.",
        "  } beat_t;",
        "",
        "  logic tvalid, tready;",
        "  beat_t beat;",
        "",
        "  modport source (output tvalid, output beat, input tready);",
        "  modport sink (input tvalid, input beat, output tready);",
        f"endinterface : {stream}",
        "",
        f"// {name}_axis with an interface for each stream",
        f"module {name}_axis_if (",
        f"  {stream}.sink s_axis [0:{links - 1}],",
        f"  {stream}.source m_axis [0:{links - 1}],",
        *declared,
        ");",
        "",
        f"  {name}_axis u_axis (",
    ]
    connected = [f".{port.name}({port.name})" for port in ends]
    for link in range(links):
        for side in ("s_axis", "m_axis"):
            bundle = f"{side}[{link}]"
            connected += [
                f".{side}_{link}_tvalid({bundle}.tvalid)",
                f".{side}_{link}_tready({bundle}.tready)",
                f".{side}_{link}_tdata({bundle}.beat.data)",
                f".{side}_{link}_tlast({bundle}.beat.last)",
                f".{side}_{link}_tuser({bundle}.beat.vl)",
            ]
    lines += [f"    {each}{',' if at + 1 < len(connected) else ''}" for at, each in enumerate(connected)]
    return "\n".join([*lines, "  );", f"endmodule : {name}_axis_if", "// verilator lint_on DECLFILENAME", ""])
