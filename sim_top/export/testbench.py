"""SystemVerilog testbench that compares an exported block with golden in any simulator, without Python."""

from __future__ import annotations

from vlane.hdl.registers.axi_lite import BUS_PREFIX
from vlane.sim_top.export.port_map import RESET
from vlane.sim_top.systemverilog.names import text_name
from vlane.sim_top.systemverilog.text import Options
from vlane.tb.machinery.native.rows import Field, Words, row_words
from vlane.tb.machinery.recordings.recording import Recording

_WORD_BITS = 64
_WORD_DIGITS = 16

_BENCH = """// Checks {top} against {cycles} cycles of the golden model: every output in every cycle.
// The first {before} cycles are reset and preparation; in them {early}.
// Reads {top}_inputs.hex and {top}_outputs.hex from the working directory; ends with PASS or $fatal.
module {top}_tb;
  logic clk, {reset};
  logic [{given}:0] inputs [0:{last}];
  logic [{given}:0] row;
  logic [{wanted}:0] outputs [0:{wanted_last}];
  logic [{wanted}:0] golden;
  integer cycle, failures;
{wires}

  {top} dut (
    .clk(clk),
    .{reset}({reset}){connected}
  );

  // Padding of the rows, and the reset of a row.
  logic unused_bits;
  assign unused_bits = &{{1'b0, {padding}}};

  initial begin
    $readmemh("{top}_inputs.hex", inputs);
    $readmemh("{top}_outputs.hex", outputs);
    clk = 1'b0;
    {reset} = {idle};
    failures = 0;
    for (cycle = 0; cycle <= {last} && failures == 0; cycle = cycle + 1) begin
      row = inputs[cycle];
{early_reset}      #4;
      if (cycle >= {shown}) begin
        golden = outputs[cycle - {shown}];
{checks}
      end
{late_reset}      #1 clk = 1'b1;
{release}      #5 clk = 1'b0;
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


def testbench_files(top: str, recording: Recording, options: Options) -> dict[str, str]:
    """Return the files of a testbench by name: the bench, and one row per cycle of inputs and expected outputs.

    Golden's reset is synchronous. An asynchronous reset is therefore applied after the outputs of its cycle are
    compared, and ends after the clock edge.

    Parameters
    ----------
    top : str
        Name of the exported module.
    recording : Recording
        Inputs and expected outputs.
    options : Options
        Options of the exported text.
    """
    inputs, outputs, first = recording.inputs, recording.outputs, recording.first
    given, wanted = (_WORD_BITS * row_words(fields) for fields in (inputs, outputs))
    connected = [
        f",\n    .{text_name(name)}(row[{_low(field)} +: {field.bits}])"
        for name, field in inputs.items()
        if name != RESET
    ]
    connected += [f",\n    .{text_name(name)}(shown_{text_name(name)})" for name in outputs]
    checks = [
        _CHECK.format(name=text_name(name), low=_low(field), bits=field.bits, first=first, when=_when(recording, name))
        for name, field in outputs.items()
    ]
    padding = [*_padding("row", inputs, given), *_padding("golden", outputs, wanted)]
    reset = options.reset_port
    value = f"row[{_low(inputs[RESET])}]"
    applied = f"      {reset} = {value if options.polarity == 'high' else f'~{value}'};\n"
    idle = "1'b0" if options.polarity == "high" else "1'b1"
    late = options.reset == "async"
    bench = _BENCH.format(
        top=top,
        reset=reset,
        idle=idle,
        early_reset="" if late else applied,
        late_reset=applied if late else "",
        release=f"      #1 {reset} = {idle};\n" if late else "",
        padding=", ".join(padding) or "1'b0",
        cycles=len(recording.rows) - first,
        last=len(recording.rows) - 1,
        before=first,
        shown=recording.shown,
        wanted_last=len(recording.expected) - 1,
        early="only the bus is compared" if recording.early else "nothing is compared",
        given=given - 1,
        wanted=wanted - 1,
        wires="\n".join(f"  logic [{field.bits - 1}:0] shown_{text_name(name)};" for name, field in outputs.items()),
        connected="".join(connected),
        checks="\n".join(checks),
    )
    return {
        f"{top}_tb.sv": bench,
        f"{top}_inputs.hex": _hex(recording.rows),
        f"{top}_outputs.hex": _hex(recording.expected),
    }


def _padding(row: str, fields: dict[str, Field], bits: int) -> list[str]:
    """Return the ranges of a row that no field has."""
    found, at = [], 0
    for low, size in [*sorted((_low(field), field.bits) for field in fields.values()), (bits, 0)]:
        if at < low:
            found.append(f"{row}[{low - 1}:{at}]")
        at = low + size
    return found


def _when(recording: Recording, name: str) -> str:
    """Return the prefix of the condition under which an output is compared."""
    if name not in recording.early:
        return f"cycle >= {recording.first} && " if recording.first > recording.shown else ""
    beside = _VALID.get(name.removeprefix(BUS_PREFIX))
    return f"shown_{BUS_PREFIX}{beside} && " if beside else ""


def _low(field: Field) -> int:
    return _WORD_BITS * field.word + field.shift


def _hex(rows: Words) -> str:
    digits = rows[:, ::-1].astype(">u8").tobytes().hex()
    width = _WORD_DIGITS * rows.shape[1]
    return "".join(f"{digits[at : at + width]}\n" for at in range(0, len(digits), width))
