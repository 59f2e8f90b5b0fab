"""Compiled models: port names and widths, single steps, saved states."""

from __future__ import annotations

import ctypes
import random

import numpy as np
import pytest

from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.model import CompiledModel, compile_library, compile_verilog
from vlane.tb.machinery.native.rows import Port, Words

PORTS = tuple(
    Port(name, bits, is_input=name != "read") for name, bits in [("rst", 1), ("at", 16), ("given", 64), ("read", 64)]
)
MEMORY = """
module stored(input clk, input rst, input [15:0] at, input [63:0] given, output [63:0] read);
  reg [63:0] words [0:65535];
  reg [15:0] count = 0;
  initial for (int word = 0; word < 65536; word = word + 1) words[word] = 0;
  assign read = words[at + count];
  always @(posedge clk) begin
    words[at] <= given ^ read;
    count <= count + 1;
  end
endmodule
"""


@pytest.mark.slow
def test_saved_model_resumes_from_its_state() -> None:
    """A saved model of half a megabyte resumes from its state, also in another instance."""
    source = np.random.default_rng(1)
    model = compile_verilog(MEMORY, PORTS, "stored", savable=True)
    rows = np.zeros((400_000, model.input_words), np.uint64)
    model.inputs["at"].put(rows, source.integers(0, 1 << 16, len(rows), np.uint64))
    model.inputs["given"].put(rows, source.integers(0, 1 << 64, len(rows), np.uint64))
    model.run(rows[:300_000])
    state = model.save()
    assert len(state) > 1 << 19
    went_on = model.run(rows[300_000:])
    assert len(np.unique(went_on)) > 50_000
    assert model.save() != state
    model.restore(state)
    assert model.save() == state
    assert (model.run(rows[300_000:]) == went_on).all()
    with CompiledModel(model.library, model.ports) as other:
        other.restore(state)
        assert (other.run(rows[300_000:]) == went_on).all()
        assert other.save() == model.save()
    model.close()


ODD = (
    Port("rst", 1, is_input=True),
    Port("load", 1, is_input=True),
    Port("begin", 70, is_input=True),
    Port("a.b[1]", 3, is_input=True),
    Port("now_now", 70, is_input=False),
    Port("vlane_0", 3, is_input=False),
)
NAMES = r"""
module top(input clk, input rst, input load, input [69:0] \begin , input [2:0] \a.b[1] ,
           output reg [69:0] now_now, output reg [2:0] vlane_0);
  initial begin now_now = 0; vlane_0 = 0; end
  always @(posedge clk) begin
    now_now <= rst ? 0 : load ? \begin : now_now + 1;
    vlane_0 <= vlane_0 + \a.b[1] ;
  end
endmodule
"""


def _plain(rows: Words, model: CompiledModel) -> list[tuple[int, int]]:
    """Return the register values of ``NAMES`` in each cycle and after the last."""
    wide, narrow, seen = 0, 0, [(0, 0)]
    for row in rows:
        rst, load, begin, step = (model.inputs[port.name].value(row) for port in ODD[:4])
        wide = 0 if rst else begin if load else (wide + 1) % (1 << 70)
        narrow = (narrow + step) % 8
        seen.append((wide, narrow))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("in_parts", [False, pytest.param(True, marks=pytest.mark.long)])
def test_names_of_any_kind_wide_ports_and_steps_between_runs(
    *, in_parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models accept port names that are keywords or escaped, wide ports, and steps between runs.

    Large models, which are compiled in parts by make, agree with small models, which are one file.
    """
    if in_parts:
        monkeypatch.setattr(verilator, "_LARGE", 0)
    model = compile_verilog(f"{NAMES}// in parts: {in_parts}\n", ODD, "top")
    source, rows = random.Random(1), np.zeros((300, model.input_words), np.uint64)  # noqa: S311 - no secrets
    for row in rows:
        for port in ODD[:4]:
            model.inputs[port.name].put(row, source.getrandbits(port.bits))
    expected = _plain(rows, model)
    address, device = model.step
    one_step = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)
    after = np.zeros(model.output_words, np.uint64)

    def registers(row: Words) -> tuple[int, int]:
        return model.outputs["now_now"].value(row), model.outputs["vlane_0"].value(row)

    for begin in range(0, len(rows), 60):
        run = slice(begin, begin + 20 + begin // 60)
        assert [registers(row) for row in model.run(rows[run])] == expected[run]
        for cycle in range(run.stop, begin + 60):
            one_step(device, rows[cycle].ctypes.data, after.ctypes.data)
            assert registers(after) == expected[cycle + 1]
    model.close()


@pytest.mark.slow
@pytest.mark.parametrize(("verilog", "wrapper"), [("module top(", ""), ("module top; endmodule", "int x = y;")])
def test_an_error_of_verilator_or_of_the_compiler_is_raised(verilog: str, wrapper: str) -> None:
    """Given Verilog or C++ with an error, ``RuntimeError`` has the tool's message, and no library is kept."""
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"compiling wrong failed:(.|\n)*[Ee]rror"):
            compile_library(f"{verilog}\n", wrapper, "top", flags=("--cc", "-Wno-fatal"), name="wrong")
