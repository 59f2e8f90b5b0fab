"""Later planted bugs of the three arbiters, written by somebody else after the checker was complete."""

from __future__ import annotations

from vlane.tb.arbiters.plants import Change

_STICKY, _REGISTERED, _WEIGHTED = "sticky", "registered", "weighted"

_RESET = "above   <= 4'b1111;"
_FIRST = "wire [3:0] first = pool & (~pool + 4'd1);"
_KEEPS = "wire keeps = holding;"
_GRANT = "assign grant = keeps ? held : first;"
_TAKEN = "if (|grant & take) above <= ~(grant | (grant - 4'd1));"

_FREE = "wire free = ~busy | |(ack & gnt);"
_TURNED = "turned = 4'({req, req} >> turn);"
_SHOWN = "gnt <= |req ? 4'd1 << chosen : 4'd0;"
_ADVANCE = "if (|req) turn <= chosen + 2'd1;"

_WEIGHTS = "localparam logic [3:0][2:0] WEIGHT = {3'd4, 3'd2, 3'd1, 3'd3};"
_AGAIN = "wire again = req[turn] & left != 3'd0;"
_LANE = "assign lane  = again ? turn : following;"
_SEARCH = "for (int step = 4; step >= 1; step--)"
_COUNT = "left <= again ? left - 3'd1 : WEIGHT[lane] - 3'd1;"

LATER_PLANTS = (
    Change(_STICKY, "reset-begins-at-lane-1", "Lane 0 is last after a reset.", _RESET, "above   <= 4'b1110;"),
    Change(_STICKY, "hold-survives-reset", "A held grant survives a reset.", "holding <= 1'b0;", "holding <= holding;"),
    Change(
        _STICKY,
        "reset-waits-for-release",
        "A reset is ignored while a grant is held.",
        "if (!rst_n) begin",
        "if (!rst_n & ~holding) begin",
    ),
    Change(
        _STICKY,
        "hold-follows-the-choice",
        "From the second stalled cycle the grant follows new requests.",
        "held <= grant;",
        "held <= first;",
    ),
    Change(
        _STICKY,
        "eighth-stall-releases",
        "A grant is released after eight stalled cycles in a row.",
        _KEEPS,
        "wire keeps = holding & ~stalls[3];",
        "logic [3:0] stalls",
        "stalls <= |grant & ~take & rst_n & ~stalls[3] ? stalls + 4'd1 : 4'd0",
    ),
    Change(
        _STICKY,
        "stall-of-256-releases",
        "A grant is released after 256 stalled cycles in a row.",
        _KEEPS,
        "wire keeps = holding & ~stalls[8];",
        "logic [8:0] stalls",
        "stalls <= |grant & ~take & rst_n & ~stalls[8] ? stalls + 9'd1 : 9'd0",
    ),
    Change(
        _STICKY,
        "withdrawn-request-releases",
        "A held grant is released if its request is withdrawn.",
        _KEEPS,
        "wire keeps = holding & |(held & req);",
    ),
    Change(
        _STICKY,
        "order-advances-when-shown",
        "The order advances when a grant is shown, not when it is taken.",
        _TAKEN,
        "if (|grant) above <= ~(grant | (grant - 4'd1));",
    ),
    Change(
        _STICKY,
        "idle-take-restores-order",
        "A take without a grant restores the order after reset.",
        _TAKEN,
        "if (take) above <= ~(grant | (grant - 4'd1));",
    ),
    Change(
        _STICKY,
        "immediate-take-is-lost",
        "A grant that is taken in its first cycle advances the order from the previous grant.",
        _TAKEN,
        "if (|grant & take) above <= ~(held | (held - 4'd1));",
    ),
    Change(
        _STICKY,
        "order-stops-at-last-lane",
        "After its service lane 3 stays first in the order.",
        _TAKEN,
        "if (|grant & take) above <= grant[3] ? 4'b1000 : ~(grant | (grant - 4'd1));",
    ),
    Change(
        _STICKY,
        "order-saturates",
        "The order no longer advances after 255 services since the last reset.",
        _TAKEN,
        "if (|grant & take & ~&served) above <= ~(grant | (grant - 4'd1));",
        "logic [7:0] served",
        "served <= !rst_n ? 8'd0 : served + 8'(|grant & take & ~&served)",
    ),
    Change(
        _STICKY,
        "one-pair-is-swapped",
        "Lane 2 precedes lane 1 if only these two request.",
        _FIRST,
        "wire [3:0] first = req == 4'b0110 ? 4'b0100 : pool & (~pool + 4'd1);",
    ),
    Change(
        _STICKY,
        "narrow-negation",
        "The choice ignores lane 3 in a negation: lane 3 gets no grant, or a second one.",
        _FIRST,
        "wire [3:0] first = pool & (~{1'b0, pool[2:0]} + 4'd1);",
    ),
    Change(
        _STICKY,
        "grant-without-request",
        "A take without requests shows a grant to lane 0.",
        _GRANT,
        "assign grant = keeps ? held : first | {3'd0, take & ~|req};",
    ),
    Change(
        _STICKY,
        "grant-65536-is-wrong",
        "Every 65,536th grant goes to the last lane of its round.",
        _FIRST,
        "wire [3:0] first = ~&served ? pool & (~pool + 4'd1) : pool & ~(pool >> 1 | pool >> 2 | pool >> 3);",
        "logic [15:0] served = 16'd0",
        "served <= served + 16'(|grant & take)",
    ),
    Change(_REGISTERED, "reset-begins-at-lane-1", "Lane 0 is last after a reset.", "turn <= 2'd0;", "turn <= 2'd1;"),
    Change(
        _REGISTERED,
        "reset-keeps-lane-of-grant",
        "A reset clears `busy`, but not the lane of the grant.",
        "gnt  <= 4'd0;",
        "gnt  <= gnt;",
    ),
    Change(
        _REGISTERED,
        "reset-waits-for-release",
        "A reset is ignored while a grant is shown.",
        "if (rst) begin",
        "if (rst & ~busy) begin",
    ),
    Change(
        _REGISTERED,
        "winner-stays-first",
        "The served requester stays first in the order.",
        _ADVANCE,
        "if (|req) turn <= chosen;",
    ),
    Change(
        _REGISTERED,
        "next-grant-keeps-turn",
        "A grant that follows another one without a pause does not advance the order.",
        _ADVANCE,
        "if (|req & ~busy) turn <= chosen + 2'd1;",
    ),
    Change(
        _REGISTERED,
        "idle-ack-advances-turn",
        "An acknowledge without a grant advances the order.",
        _ADVANCE,
        "if (|req) turn <= chosen + 2'd1; else if (|ack & ~busy) turn <= turn + 2'd1;",
    ),
    Change(
        _REGISTERED,
        "order-wraps-after-lane-2",
        "Lane 0, not lane 3, follows lane 2.",
        _ADVANCE,
        "if (|req) turn <= chosen == 2'd2 ? 2'd0 : chosen + 2'd1;",
    ),
    Change(
        _REGISTERED,
        "order-saturates",
        "The order no longer advances after 255 grants since the last reset.",
        _ADVANCE,
        "if (|req & ~&served) turn <= chosen + 2'd1;",
        "logic [7:0] served",
        "served <= rst ? 8'd0 : served + 8'(free & |req & ~&served)",
    ),
    Change(
        _REGISTERED,
        "ack-needs-request",
        "An acknowledge counts only while the request stands.",
        _FREE,
        "wire free = ~busy | |(ack & gnt & req);",
    ),
    Change(
        _REGISTERED,
        "thirteenth-stall-releases",
        "A grant is replaced after twelve cycles without an acknowledge.",
        _FREE,
        "wire free = ~busy | |(ack & gnt) | stalls == 4'd12;",
        "logic [3:0] stalls",
        "stalls <= free | rst ? 4'd0 : stalls + 4'd1",
    ),
    Change(
        _REGISTERED,
        "full-load-delays-release",
        "An acknowledge is ignored once if all lanes request.",
        _FREE,
        "wire free = ~busy | |(ack & gnt) & (~&req | late);",
        "logic late",
        "late <= |(ack & gnt) & ~free",
    ),
    Change(
        _REGISTERED,
        "repeat-hides-grant",
        "`busy` is low if a lane gets two grants in succession.",
        "busy <= |req;",
        "busy <= |(req & ~gnt);",
    ),
    Change(
        _REGISTERED,
        "pause-after-16-grants",
        "A cycle without a grant follows 16 grants without a pause.",
        "busy <= |req;",
        "busy <= |req & ~&run;",
        "logic [3:0] run = 4'd0",
        "if (free) run <= |req & ~&run ? run + 4'd1 : 4'd0",
    ),
    Change(
        _REGISTERED,
        "lane-2-is-hidden",
        "Lane 2 is not seen if lane 3 is first in the order.",
        _TURNED,
        "turned = 4'({req[3], 1'b0, req[1:0], req} >> turn);",
    ),
    Change(
        _REGISTERED,
        "last-lane-of-second-round-is-hidden",
        "Lane 3 is not seen in the second round of the search.",
        _TURNED,
        "turned = 4'({1'b0, req[2:0], req} >> turn);",
    ),
    Change(
        _REGISTERED,
        "one-pair-after-lane-1",
        "After lane 1, lane 0 precedes lane 3 if only these two request.",
        _TURNED,
        "turned = turn == 2'd2 & req == 4'b1001 ? 4'b0100 : 4'({req, req} >> turn);",
    ),
    Change(
        _REGISTERED,
        "grant-65536-is-wrong",
        "Every 65,536th grant goes to the next lane, even without a request.",
        _SHOWN,
        "gnt <= |req ? 4'd1 << (chosen + 2'(&served)) : 4'd0;",
        "logic [15:0] served = 16'd0",
        "served <= served + 16'(free & |req)",
    ),
    Change(
        _WEIGHTED,
        "last-lane-has-weight-3",
        "Lane 3 has weight 3.",
        _WEIGHTS,
        "localparam logic [3:0][2:0] WEIGHT = {3'd3, 3'd2, 3'd1, 3'd3};",
    ),
    Change(
        _WEIGHTED,
        "weight-4-is-truncated",
        "Two bits of the weight are loaded: lane 3 has weight 8.",
        _COUNT,
        "left <= again ? left - 3'd1 : {1'b0, WEIGHT[lane][1:0]} - 3'd1;",
    ),
    Change(
        _WEIGHTED,
        "reset-leaves-a-packet",
        "After a reset one packet of lane 3 is left.",
        "left <= 3'd0;",
        "left <= 3'd1;",
    ),
    Change(_WEIGHTED, "reset-begins-at-lane-1", "Lane 0 is last after a reset.", "turn <= 2'd3;", "turn <= 2'd0;"),
    Change(
        _WEIGHTED,
        "last-packet-is-lost",
        "A turn ends one packet early.",
        _AGAIN,
        "wire again = req[turn] & left > 3'd1;",
    ),
    Change(
        _WEIGHTED, "turn-never-ends", "A lane keeps its turn as long as it requests.", _AGAIN, "wire again = req[turn];"
    ),
    Change(
        _WEIGHTED,
        "turn-without-request",
        "A lane gets the rest of its turn without a request.",
        _AGAIN,
        "wire again = left != 3'd0;",
    ),
    Change(
        _WEIGHTED,
        "tenth-stall-ends-turn",
        "A turn ends after ten stalled cycles in a row.",
        _AGAIN,
        "wire again = req[turn] & left != 3'd0 & stalls != 4'd10;",
        "logic [3:0] stalls",
        "stalls <= rst | valid | ~|req ? 4'd0 : stalls + 4'(stalls != 4'd10)",
    ),
    Change(
        _WEIGHTED,
        "stall-counts-as-packet",
        "A stalled cycle counts as a packet.",
        "end else if (valid) begin",
        "end else if (|req) begin",
    ),
    Change(
        _WEIGHTED,
        "idle-restores-count",
        "A cycle with ready and without requests restores the packets of the turn.",
        "end else if (valid) begin",
        "end else if (ready) begin",
    ),
    Change(
        _WEIGHTED,
        "alone-is-free",
        "Packets are not counted while no other lane requests.",
        _COUNT,
        "left <= again ? left - 3'(|(req & ~(4'd1 << turn))) : WEIGHT[lane] - 3'd1;",
    ),
    Change(
        _WEIGHTED,
        "own-turn-is-not-reloaded",
        "A lane that follows itself gets no new turn.",
        _COUNT,
        "left <= again ? left - 3'd1 : lane == turn ? 3'd0 : WEIGHT[lane] - 3'd1;",
    ),
    Change(
        _WEIGHTED,
        "weight-wears-out",
        "The weight of lane 3 is 1 after 127 turns since the last reset.",
        _COUNT,
        "left <= again ? left - 3'd1 : &lane & &turns ? 3'd0 : WEIGHT[lane] - 3'd1;",
        "logic [6:0] turns",
        "turns <= rst ? 7'd0 : turns + 7'(valid & ~again & ~&turns)",
    ),
    Change(
        _WEIGHTED,
        "search-skips-next-lane",
        "The search does not see the lane after the last winner.",
        _SEARCH,
        "for (int step = 4; step >= 2; step--)",
    ),
    Change(
        _WEIGHTED,
        "search-ends-early",
        "The search does not reach the last winner itself.",
        _SEARCH,
        "for (int step = 3; step >= 1; step--)",
    ),
    Change(
        _WEIGHTED,
        "one-pair-is-swapped",
        "The rest of a turn of lane 2 goes to lane 0 if only these two request.",
        _LANE,
        "assign lane  = again & ~(turn == 2'd2 & req == 4'b0101) ? turn : following;",
    ),
    Change(
        _WEIGHTED,
        "lane-0-without-ready",
        "The lane number is 0 without ready.",
        _LANE,
        "assign lane  = ~ready ? 2'd0 : again ? turn : following;",
    ),
    Change(
        _WEIGHTED,
        "grant-65536-is-wrong",
        "Every 65,536th grant goes to the next lane of the search, within a turn, too.",
        _LANE,
        "assign lane  = again & ~&served ? turn : following;",
        "logic [15:0] served = 16'd0",
        "served <= served + 16'(valid)",
    ),
)
"""Later planted bugs."""

_RARE = "A default run has fewer than 65,536 grants."
NOT_FOUND = {
    (_STICKY, "withdrawn-request-releases"): "Requests stand under the map; `stand = false` in the map finds the bug.",
    (_STICKY, "order-advances-when-shown"): "Equivalent: a shown grant is held until it is taken.",
    (_STICKY, "grant-65536-is-wrong"): _RARE,
    (_REGISTERED, "reset-keeps-lane-of-grant"): "Equivalent under the map, which ignores `gnt` without `busy`.",
    (_REGISTERED, "last-lane-of-second-round-is-hidden"): "Equivalent: no search reads this bit.",
    (_REGISTERED, "grant-65536-is-wrong"): _RARE,
    (_WEIGHTED, "search-ends-early"): "Equivalent: the last winner is the search's default.",
    (_WEIGHTED, "lane-0-without-ready"): "Equivalent under the map, which ignores `lane` without `valid`.",
    (_WEIGHTED, "grant-65536-is-wrong"): _RARE,
}
"""Reason of each bug that five default runs do not find, by arbiter and name."""
