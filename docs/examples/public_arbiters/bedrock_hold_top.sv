// br_arb_rr and br_arb_grant_hold, connected: the grant of a burst is kept while grant_hold is set for its lane.
module bedrock_hold_top (
    input  logic       clk,
    input  logic       rst,
    input  logic [3:0] request,
    input  logic [3:0] grant_hold,
    input  logic       ready,
    output logic [3:0] grant
);
  logic [3:0] chosen;
  logic       advance;

  br_arb_rr #(.NumRequesters(4)) arbiter (
      .clk(clk), .rst(rst), .enable_priority_update(advance), .request(request), .grant(chosen)
  );
  br_arb_grant_hold #(.NumRequesters(4)) holder (
      .clk(clk), .rst(rst), .grant_hold(grant_hold), .enable_grant_hold_update(ready & |grant),
      .grant_from_arb(chosen), .enable_priority_update_to_arb(advance), .grant(grant)
  );
endmodule
