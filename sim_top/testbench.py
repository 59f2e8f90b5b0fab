"""A testbench in plain SystemVerilog that checks an exported block against golden, in any simulator, without Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.model import Field, Port, Words, row_layout, row_words

__all__ = ["core_file", "testbench_files"]

_WORD_BITS = 64
_RESERVED = frozenset({"input", "output"})
"""Words of Verilog that are names of ports here."""

_BENCH = """// Checks {top} against {cycles} cycles of the golden model: every output in every cycle.
// Reads {top}_inputs.hex and {top}_outputs.hex from the folder it runs in; ends with PASS, or with $fatal.
`timescale 1ns/1ps
module {top}_tb;
  reg clk = 0;
  reg [{given}:0] inputs [0:{last}];
  reg [{given}:0] row = 0;
  reg [{wanted}:0] outputs [0:{last}];
  reg [{wanted}:0] golden = 0;
  integer cycle, failures;
{wires}
  {top} dut (
    .clk(clk){connected}
  );
  initial begin
    $readmemh("{top}_inputs.hex", inputs);
    $readmemh("{top}_outputs.hex", outputs);
    failures = 0;
    for (cycle = 0; cycle <= {last} && failures == 0; cycle = cycle + 1) begin
      row = inputs[cycle];
      golden = outputs[cycle];
      #4;
{checks}
      #1 clk = 1;
      #5 clk = 0;
    end
    if (failures != 0) $fatal(1, "FAIL: {top} differs from golden");
    $display("PASS: {top} is golden in {cycles} cycles");
    $finish;
  end
endmodule
"""
_CHECK = """      if ({name} !== golden[{low} +: {bits}]) begin
        $display("cycle %0d: {name} is %h, golden has %h", cycle, {name}, golden[{low} +: {bits}]);
        failures = failures + 1;
      end"""


def testbench_files(
    block: Block, parameters: Mapping[str, Any], ports: Sequence[Port], *, cycles: int, seed: int
) -> dict[str, str]:
    """Return the files of a testbench by name: the bench, and what goes in and must come out, a row a cycle.

    The cycles are the beginning of the block's qualification: every kind of traffic, every table rewritten.
    """
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    source = block.qualify(parameters, cycles=cycles, seed=seed, inputs=inputs, outputs=outputs)
    rows, expected = source.record(row_words(inputs), row_words(outputs))
    connected = [f",\n    .{_named(name)}(row[{_low(field)} +: {field.bits}])" for name, field in inputs.items()]
    connected += [f",\n    .{name}({name})" for name in outputs]
    bench = _BENCH.format(
        top=block.name, cycles=cycles, last=cycles - 1,
        given=_WORD_BITS * rows.shape[1] - 1, wanted=_WORD_BITS * expected.shape[1] - 1,
        wires="\n".join(f"  wire [{field.bits - 1}:0] {name};" for name, field in outputs.items()),
        connected="".join(connected),
        checks="\n".join(
            _CHECK.format(name=name, low=_low(field), bits=field.bits) for name, field in outputs.items()
        ),
    )  # fmt: skip
    return {
        f"{block.name}_tb.sv": bench,
        f"{block.name}_inputs.hex": _hex(rows),
        f"{block.name}_outputs.hex": _hex(expected),
    }


def core_file(name: str, title: str, *, version: str, bench: bool) -> str:
    """Return a FuseSoC core of the exported files of a module."""
    lines = [
        "CAPI=2:", f"name: vlane:qos:{name}:{version}", f"description: {title}", "filesets:", "  rtl:",
        f"    files: [{name}.v]", "    file_type: verilogSource",
    ]  # fmt: skip
    if bench:
        lines += ["  bench:", "    files:", f"      - {name}_tb.sv: {{file_type: systemVerilogSource}}"]
        lines += [
            f"      - {name}_{side}.hex: {{file_type: user, copyto: {name}_{side}.hex}}"
            for side in ("inputs", "outputs")
        ]
    lines += ["targets:", "  default:", "    filesets: [rtl]", f"    toplevel: {name}"]
    if bench:
        lines += [
            "  sim:", "    filesets: [rtl, bench]", f"    toplevel: {name}_tb",
            "    default_tool: verilator", "    tools:",
            "      verilator: {mode: binary, verilator_options: [--timing, -Wno-fatal]}",
            "      icarus: {iverilog_options: [-g2012]}",
        ]  # fmt: skip
    return "\n".join([*lines, ""])


def _named(port: str) -> str:
    return f"\\{port} " if port in _RESERVED else port


def _low(field: Field) -> int:
    return _WORD_BITS * field.word + field.shift


def _hex(rows: Words) -> str:
    return "".join("".join(f"{int(word):016x}" for word in row[::-1]) + "\n" for row in rows)
