// Round robin arbiter with a registered one-hot grant and active-low requests.
// It looks at its inputs while no grant is shown; the grant stands for one cycle, and the requester
// answers it with its next packet, or without a request, in the cycle after that.
module rr_arb #(
    parameter int unsigned N = 4
) (
    input  logic         clk_i,
    input  logic         rst_ni,       // asynchronous
    input  logic [N-1:0] req_ni,       // a packet waits
    input  logic [N-1:0] room_i,       // the receiver has room for it
    input  logic         link_idle_i,  // looked at together with the requests
    output logic [N-1:0] gnt_o
);

  logic [N-1:0] able, above, pick, gnt_q;
  logic [N-1:0] mask_q;  // ones above the lane that was served last

  assign able  = ~req_ni & room_i;
  assign above = able & mask_q;
  assign pick  = (above != '0) ? (above & (~above + 1'b1)) : (able & (~able + 1'b1));
  assign gnt_o = gnt_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      gnt_q  <= '0;
      mask_q <= '1;
    end else if (gnt_q != '0) begin
      gnt_q <= '0;
    end else if (link_idle_i) begin
      gnt_q <= pick;
      if (pick != '0) mask_q <= ~(pick | (pick - 1'b1));
    end
  end

endmodule
