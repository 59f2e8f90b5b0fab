"""LiteX module around an exported vlarb, programmed by CSR, and its simulation in Icarus Verilog.

``python vlarb_csr.py FOLDER`` uses the files that ``vlane export vlarb --out FOLDER`` wrote. It writes the high list
over the CSR bus (VL 0 with weight 3, VL 1 with weight 1), exchanges the banks, and counts 400 grants.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from litex.soc.interconnect import csr_bus
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import ClockDomain, ClockSignal, Instance, ResetSignal, Signal

LANES = 9
"""Eight data lanes and VL15, as in the default instance."""


class VLArbCSR(LiteXModule):
    """VL arbiter with its tables behind CSRs. The ports for packets are signals.

    Parameters
    ----------
    source : Path, optional
        The exported ``vlarb.sv``, added to ``platform``.
    platform : GenericPlatform, optional
        Platform of the SoC.
    """

    def __init__(self, platform=None, source=None):
        self.request = Signal(LANES, name="request")
        self.fits = Signal(LANES, name="fits")
        self.blocks = Signal(7 * LANES, name="blocks")
        self.ready = Signal(name="ready")
        self.hold_data = Signal(name="hold_data")
        self.grant = Signal(name="grant")
        self.vl = Signal(4, name="vl")
        self.from_list = Signal(2, name="from_list")
        self.granted_blocks = Signal(7, name="granted_blocks")
        self.entry = CSRStorage(
            description="A write changes one entry of the shadow bank.",
            fields=[
                CSRField("weight", size=8, description="Weight in units of 64 bytes, or the limit."),
                CSRField("vl", size=4, description="Lane of the entry."),
                CSRField("index", size=6, description="Index of the entry."),
                CSRField("select", size=2, description="0: high list, 1: low list, 2: LimitOfHighPriority."),
            ],
        )
        self.swap = CSRStorage(description="A write exchanges the banks.")
        self.status = CSRStatus(
            fields=[
                CSRField("swap_pending", size=1, description="A swap waits for a ready cycle."),
                CSRField("unreachable", size=8, description="Data lanes without an entry."),
                CSRField("bad_entries", size=5, description="Entries that name an absent lane."),
            ]
        )
        given, state = self.entry.fields, self.status.fields
        self.specials += Instance(
            "vlarb",
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_heads_request=self.request,
            i_heads_fits=self.fits,
            i_heads_blocks=self.blocks,
            i_ready=self.ready,
            i_hold_data=self.hold_data,
            o_grant=self.grant,
            o_vl=self.vl,
            o_from_list=self.from_list,
            o_blocks=self.granted_blocks,
            i_program_enable=self.entry.re,
            i_program_select=given.select,
            i_program_index=given.index,
            i_program_vl=given.vl,
            i_program_weight=given.weight,
            i_swap=self.swap.re,
            o_swap_pending=state.swap_pending,
            o_unreachable=state.unreachable,
            o_bad_entries=state.bad_entries,
        )
        if platform is not None:
            platform.add_source(str(source))


class Simulated(LiteXModule):
    """The module alone on a CSR bus of 32 bits, with ports for a testbench."""

    def __init__(self):
        self.cd_sys = ClockDomain()
        self.bus = csr_bus.Interface(data_width=32, address_width=14)
        self.arbiter = VLArbCSR()
        self.banks = csr_bus.CSRBankArray(self, lambda _name, _memory: 0, data_width=32, address_width=14)
        self.interconnect = csr_bus.Interconnect(self.bus, self.banks.get_buses())
        arbiter, bus = self.arbiter, self.bus
        self.ios = {arbiter.request, arbiter.fits, arbiter.blocks, arbiter.ready, arbiter.hold_data}
        self.ios |= {self.cd_sys.clk, self.cd_sys.rst, arbiter.grant, arbiter.vl, bus.adr, bus.we, bus.dat_w, bus.dat_r}


BENCH = """module bench;
  logic sys_clk = 0, sys_rst = 1, we = 0, ready = 0, grant;
  logic [13:0] adr = 0;
  logic [31:0] dat_w = 0, dat_r;
  logic [3:0] vl;
  int counted [0:15];
  always #5 sys_clk = ~sys_clk;
  simulated dut (.sys_clk(sys_clk), .sys_rst(sys_rst), .bus_adr(adr), .bus_we(we),
    .bus_dat_w(dat_w), .bus_dat_r(dat_r),
    .request(9'b11), .fits(9'b11), .blocks({9{7'd1}}), .ready(ready), .hold_data(1'b0), .grant(grant), .vl(vl));
  task automatic write(input logic [13:0] at, input logic [31:0] value);
    @(negedge sys_clk); adr = at; dat_w = value; we = 1;
    @(negedge sys_clk); we = 0;
  endtask
  initial begin
    for (int lane = 0; lane < 16; lane++) counted[lane] = 0;
    repeat (4) @(negedge sys_clk);
    sys_rst = 0;
    write(0, {12'd0, 2'd0, 6'd0, 4'd0, 8'd3});
    write(0, {12'd0, 2'd0, 6'd1, 4'd1, 8'd1});
    write(0, {12'd0, 2'd2, 6'd0, 4'd0, 8'd255});
    ready = 1;
    write(1, 1);
    repeat (2) @(negedge sys_clk);
    adr = 2;
    repeat (2) @(negedge sys_clk);
    $display("status %0d", dat_r);
    repeat (400) @(negedge sys_clk) if (grant) counted[vl]++;
    $display("VL 0: %0d grants, VL 1: %0d grants", counted[0], counted[1]);
    if (counted[0] != 300 || counted[1] != 100) $fatal(1, "the weights are 3 and 1");
    $display("PASS");
    $finish;
  end
endmodule
"""


def main(folder: Path) -> None:
    """Write ``simulated.v`` and ``bench.sv`` to the folder and run them."""
    design = Simulated()
    convert(design, ios=design.ios, name="simulated").write(str(folder / "simulated.v"))
    (folder / "bench.sv").write_text(BENCH)
    sources = ["simulated.v", "vlarb.sv", "bench.sv"]
    subprocess.run(["iverilog", "-g2012", "-o", "simulated", "-s", "bench", *sources], cwd=folder, check=True)
    subprocess.run(["vvp", "simulated"], cwd=folder, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
