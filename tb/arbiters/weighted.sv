// Weighted round robin, weights 3, 1, 2 and 4: combinational grant, shown only with ready, four requesters.
module weighted (
    input  logic       clk,
    input  logic       rst,
    input  logic [3:0] req,
    input  logic       ready,
    output logic       valid,
    output logic [1:0] lane
);
  localparam logic [3:0][2:0] WEIGHT = {3'd4, 3'd2, 3'd1, 3'd3};
  logic [1:0] turn, following;
  logic [2:0] left;

  always_comb begin
    following = turn;
    for (int step = 4; step >= 1; step--)
      if (req[turn + 2'(step)]) following = turn + 2'(step);
  end

  wire again = req[turn] & left != 3'd0;
  assign lane  = again ? turn : following;
  assign valid = |req & ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      turn <= 2'd3;
      left <= 3'd0;
    end else if (valid) begin
      turn <= lane;
      left <= again ? left - 3'd1 : WEIGHT[lane] - 3'd1;
    end
  end
endmodule
