"""SystemVerilog testbench that compares an exported block with golden in any simulator, without Python."""

from __future__ import annotations

from vlane.hdl.registers.axi_lite import BUS_PREFIX
from vlane.sim_top.export.verilog_names import RESERVED
from vlane.tb.machinery.native.rows import Field, Words, row_words
from vlane.tb.machinery.recordings.recording import Recording

_WORD_BITS = 64
_WORD_DIGITS = 16

_BENCH = """// Checks {top} against {cycles} cycles of the golden model: every output in every cycle.
// The first {before} cycles are reset and preparation; in them {early}.
// Reads {top}_inputs.hex and {top}_outputs.hex from the working directory; ends with PASS or $fatal.
module {top}_tb;
  reg clk;
  reg [{given}:0] inputs [0:{last}];
  reg [{given}:0] row;
  reg [{wanted}:0] outputs [0:{wanted_last}];
  reg [{wanted}:0] golden;
  integer cycle, failures;
{wires}
  {top} dut (
    .clk(clk){connected}
  );
  initial begin
    $readmemh("{top}_inputs.hex", inputs);
    $readmemh("{top}_outputs.hex", outputs);
    clk = 0;
    failures = 0;
    for (cycle = 0; cycle <= {last} && failures == 0; cycle = cycle + 1) begin
      row = inputs[cycle];
      #4;
      if (cycle >= {shown}) begin
        golden = outputs[cycle - {shown}];
{checks}
      end
      #1 clk = 1;
      #5 clk = 0;
    end
    if (failures != 0) $fatal(1, "FAIL: {top} differs from golden");
    $display("PASS: {top} agrees with golden in {cycles} cycles");
    $finish;
  end
endmodule
"""
_CHECK = """        if ({when}shown_{name} !== golden[{low} +: {bits}]) begin
          $display("cycle %0d: {name} is %h, golden %h", cycle - {first}, shown_{name}, golden[{low} +: {bits}]);
          failures = failures + 1;
        end"""
_VALID = {"rdata": "rvalid", "rresp": "rvalid", "bresp": "bvalid"}
"""Outputs of the bus that are valid only with another output."""


def row_bytes(inputs: dict[str, Field], outputs: dict[str, Field]) -> int:
    """Return the number of characters per cycle in the files of a testbench."""
    return _WORD_DIGITS * (row_words(inputs) + row_words(outputs)) + 2


def testbench_files(top: str, recording: Recording) -> dict[str, str]:
    """Return the files of a testbench by name: the bench, and one row per cycle of inputs and expected outputs."""
    inputs, outputs, first = recording.inputs, recording.outputs, recording.first
    connected = [f",\n    .{_named(name)}(row[{_low(field)} +: {field.bits}])" for name, field in inputs.items()]
    connected += [f",\n    .{_named(name)}(shown_{name})" for name in outputs]
    checks = [
        _CHECK.format(name=name, low=_low(field), bits=field.bits, first=first, when=_when(recording, name))
        for name, field in outputs.items()
    ]
    bench = _BENCH.format(
        top=top,
        cycles=len(recording.rows) - first,
        last=len(recording.rows) - 1,
        before=first,
        first=first,
        shown=recording.shown,
        wanted_last=len(recording.expected) - 1,
        early="only the bus is compared" if recording.early else "nothing is compared",
        given=_WORD_BITS * row_words(inputs) - 1,
        wanted=_WORD_BITS * row_words(outputs) - 1,
        wires="\n".join(f"  wire [{field.bits - 1}:0] shown_{name};" for name, field in outputs.items()),
        connected="".join(connected),
        checks="\n".join(checks),
    )
    return {
        f"{top}_tb.sv": bench,
        f"{top}_inputs.hex": _hex(recording.rows),
        f"{top}_outputs.hex": _hex(recording.expected),
    }


def _when(recording: Recording, name: str) -> str:
    """Return the prefix of the condition under which an output is compared."""
    if name not in recording.early:
        return f"cycle >= {recording.first} && " if recording.first > recording.shown else ""
    beside = _VALID.get(name.removeprefix(BUS_PREFIX))
    return f"shown_{BUS_PREFIX}{beside} && " if beside else ""


def _named(port: str) -> str:
    return f"\\{port} " if port in RESERVED else port


def _low(field: Field) -> int:
    return _WORD_BITS * field.word + field.shift


def _hex(rows: Words) -> str:
    digits = rows[:, ::-1].astype(">u8").tobytes().hex()
    width = _WORD_DIGITS * rows.shape[1]
    return "".join(f"{digits[at : at + width]}\n" for at in range(0, len(digits), width))
