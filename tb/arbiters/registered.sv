// Round robin with a registered grant that stays until it is acknowledged: one acknowledge per requester, four requesters.
module registered (
    input  logic       clk,
    input  logic       rst,
    input  logic [3:0] req,
    input  logic [3:0] ack,
    output logic [3:0] gnt,
    output logic       busy
);
  logic [1:0] turn;
  logic [3:0] turned, lowest;
  logic [1:0] chosen;
  wire free = ~busy | |(ack & gnt);

  always_comb begin
    turned = 4'({req, req} >> turn);
    lowest = turned & (~turned + 4'd1);
    chosen = turn + {lowest[3] | lowest[2], lowest[3] | lowest[1]};
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      turn <= 2'd0;
      gnt  <= 4'd0;
      busy <= 1'b0;
    end else if (free) begin
      busy <= |req;
      gnt <= |req ? 4'd1 << chosen : 4'd0;
      if (|req) turn <= chosen + 2'd1;
    end
  end
endmodule
