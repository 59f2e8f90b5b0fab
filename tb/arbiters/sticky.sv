// Round robin that keeps a shown grant until it is taken: combinational grant, four requesters.
module sticky (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       take,
    output logic [3:0] grant
);
  logic [3:0] above, held;
  logic       holding;

  // Requesters after the one that was served last, then the others.
  wire [3:0] later = req & above;
  wire [3:0] pool = |later ? later : req;
  wire [3:0] first = pool & (~pool + 4'd1);
  wire keeps = holding;

  assign grant = keeps ? held : first;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      above   <= 4'b1111;
      holding <= 1'b0;
      held    <= 4'b0000;
    end else begin
      holding <= |grant & ~take;
      held <= grant;
      if (|grant & take) above <= ~(grant | (grant - 4'd1));
    end
  end
endmodule
