// Four requesters ask in every cycle; the arbiter is blocked in two of three cycles. Prints the grants of each requester.
module sherpa_starvation_tb;
  logic clk = 0, rst_n = 0;
  int cycle = 0, grants[4] = '{0, 0, 0, 0};
  logic grant_valid;
  logic [3:0] grant, last_grant;
  logic [1:0] grant_id;

  arbiter_round_robin #(.CLIENTS(4), .WAIT_GNT_ACK(0)) arbiter (
      .clk, .rst_n, .block_arb(cycle % 3 != 0), .request(4'b1111), .grant_ack(4'b0000),
      .grant_valid, .grant, .grant_id, .last_grant
  );

  always #1 clk = ~clk;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    if (cycle == 5) rst_n <= 1;
    if (rst_n && grant_valid) grants[grant_id]++;
    if (cycle == 3000) begin
      $display("grants: %0d %0d %0d %0d", grants[0], grants[1], grants[2], grants[3]);
      $finish;
    end
  end
endmodule
