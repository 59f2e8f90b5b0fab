// Weighted round robin arbiter: the number of the granted lane, registered, and a small configuration port.
// One decision in every cycle. With COUNT_FIRST = 0 the packet with which a turn begins is not counted, so that
// every turn is one packet too long.
module wrr_arb #(
    parameter int unsigned LANES = 4,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter bit COUNT_FIRST = 0,
    localparam int unsigned ID_BITS = $clog2(LANES)
) (
    input  logic                   clk,
    input  logic                   reset,
    input  logic                   cfg_write,
    input  logic [ID_BITS-1:0]     cfg_lane,
    input  logic [WEIGHT_BITS-1:0] cfg_weight,
    input  logic                   pending_0, pending_1, pending_2, pending_3,
    input  logic [LANES-1:0]       stall,       // lane 0 is the highest bit
    input  logic                   link_ready,
    input  logic                   scan_enable,
    output logic                   grant_valid,
    output logic [ID_BITS-1:0]     grant_lane
);

  logic [WEIGHT_BITS-1:0] weight[LANES];
  logic [WEIGHT_BITS-1:0] sent;
  logic [ID_BITS-1:0] turn, winner;
  logic [LANES-1:0] able, served;
  logic any, again;

  always_comb begin
    for (int lane = 0; lane < LANES; lane++) able[lane] = ~stall[LANES-1-lane];
    able &= {pending_3, pending_2, pending_1, pending_0};
    for (int lane = 0; lane < LANES; lane++) served[lane] = able[lane] && weight[lane] != 0;
    any = served != 0;
    again = served[turn] && sent < weight[turn];
    winner = turn;
    if (!again)
      for (int step = LANES; step >= 1; step--)
        if (served[ID_BITS'((int'(turn) + step) % LANES)]) winner = ID_BITS'((int'(turn) + step) % LANES);
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      for (int lane = 0; lane < LANES; lane++) weight[lane] <= 0;
      turn <= ID_BITS'(LANES - 1);
      sent <= '1;
      grant_valid <= 0;
    end else begin
      if (cfg_write) weight[cfg_lane] <= cfg_weight;
      grant_valid <= any & ~scan_enable;
      grant_lane <= winner;
      if (any && link_ready) begin
        turn <= winner;
        sent <= again ? sent + 1 : WEIGHT_BITS'(COUNT_FIRST);
      end
    end
  end

endmodule
