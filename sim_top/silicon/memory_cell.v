// What memory_box.v leaves of a memory with more than one write port.
(* blackbox *)
module memory_of_many_ports #(
  parameter SIZE = 4, parameter WIDTH = 8, parameter ABITS = 2, parameter RD_PORTS = 1, parameter WR_PORTS = 1
) (
  input [RD_PORTS*ABITS-1:0] read_addr,
  output [RD_PORTS*WIDTH-1:0] read_data,
  input [WR_PORTS*WIDTH-1:0] write_en, write_data,
  input [WR_PORTS*ABITS-1:0] write_addr
);
endmodule
