// A memory with more than one write port is in no RAM of an FPGA: it stays a cell, so that what is around it can be mapped.
(* techmap_celltype = "$mem_v2" *)
module box_memory(RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter SIZE = 4;
  parameter OFFSET = 0;
  parameter ABITS = 2;
  parameter WIDTH = 8;
  parameter INIT = 1'bx;
  parameter RD_PORTS = 1;
  parameter RD_CLK_ENABLE = 0;
  parameter RD_CLK_POLARITY = 0;
  parameter RD_TRANSPARENCY_MASK = 0;
  parameter RD_COLLISION_X_MASK = 0;
  parameter RD_WIDE_CONTINUATION = 0;
  parameter RD_CE_OVER_SRST = 0;
  parameter RD_ARST_VALUE = 0;
  parameter RD_SRST_VALUE = 0;
  parameter RD_INIT_VALUE = 0;
  parameter WR_PORTS = 1;
  parameter WR_CLK_ENABLE = 0;
  parameter WR_CLK_POLARITY = 0;
  parameter WR_PRIORITY_MASK = 0;
  parameter WR_WIDE_CONTINUATION = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire _TECHMAP_FAIL_ = WR_PORTS < 2;
  memory_of_many_ports #(.SIZE(SIZE), .WIDTH(WIDTH), .ABITS(ABITS), .RD_PORTS(RD_PORTS), .WR_PORTS(WR_PORTS))
    _TECHMAP_REPLACE_ (
      .read_addr(RD_ADDR), .read_data(RD_DATA), .write_en(WR_EN), .write_addr(WR_ADDR), .write_data(WR_DATA)
    );
endmodule
