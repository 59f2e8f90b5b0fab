"""Planted bugs of the sticky, the registered and the weighted arbiter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ARBITERS = {"sticky": "rr", "registered": "rr", "weighted": "wrr"}
"""Golden model of each arbiter, whose files are ``NAME.sv`` and ``NAME.toml``."""


@dataclass(frozen=True, slots=True)
class Change:
    """Bug of one changed line of SystemVerilog, and at most one added register.

    Parameters
    ----------
    arbiter : str
        Arbiter.
    name : str
        Lower-case words joined by hyphens.
    statement : str
        Description of the wrong behaviour.
    line : str
        Original line without indentation; it occurs exactly once in the file.
    instead : str
        Line that replaces it.
    register, update : str, optional
        Declaration and clocked assignment of a register that the bug adds.
    """

    arbiter: str
    name: str
    statement: str
    line: str
    instead: str
    register: str = ""
    update: str = ""

    def text(self) -> str:
        """Return the SystemVerilog source of the arbiter with this bug.

        Raises
        ------
        ValueError
            If the line does not occur exactly once.
        """
        text = source(self.arbiter)
        if text.count(self.line) != 1:
            raise ValueError(f"{self.arbiter}.sv must contain the line once: {self.line}")
        changed = text.replace(self.line, self.instead)
        if not self.register:
            return changed
        ports, body = changed.removesuffix("endmodule\n").split(");\n", 1)
        update = f"  always_ff @(posedge clk) {self.update};\nendmodule\n"
        return f"{ports});\n  {self.register};\n{body}{update}"


def source(arbiter: str) -> str:
    """Return the SystemVerilog source of an arbiter."""
    return (FOLDER / f"{arbiter}.sv").read_text()


_STICKY, _REGISTERED, _WEIGHTED = "sticky", "registered", "weighted"
_TAKEN = "if (|grant & take) above <= ~(grant | (grant - 4'd1));"
PLANTS = (
    Change(_STICKY, "not-held", "A new request replaces a shown grant.", "wire keeps = holding;", "wire keeps = 1'b0;"),
    Change(
        _STICKY,
        "held-one-cycle-too-long",
        "A taken grant is shown once more.",
        "holding <= |grant & ~take;",
        "holding <= |grant & ~(take & holding);",
    ),
    Change(
        _STICKY,
        "not-held-under-full-load",
        "A shown grant is chosen again while all lanes request.",
        "holding <= |grant & ~take;",
        "holding <= |grant & ~take & ~&req;",
    ),
    Change(
        _STICKY,
        "winner-stays-first",
        "The served requester stays first in the order.",
        _TAKEN,
        "if (|grant & take) above <= ~(grant - 4'd1);",
    ),
    Change(
        _STICKY, "order-is-not-reset", "A reset does not restore the order.", "above   <= 4'b1111;", "above   <= above;"
    ),
    Change(
        _STICKY,
        "fixed-priority",
        "The order never advances.",
        "wire [3:0] later = req & above;",
        "wire [3:0] later = req;",
    ),
    Change(
        _STICKY,
        "last-lane-only-alone",
        "The last lane wins only if no other lane of its round requests.",
        "wire [3:0] pool = |later ? later : req;",
        "wire [3:0] pool = |later[2:0] ? later : req;",
    ),
    Change(
        _STICKY,
        "held-lane-forgets-its-turn",
        "A grant that was held does not advance the order.",
        _TAKEN,
        "if (|grant & take & ~holding) above <= ~(grant | (grant - 4'd1));",
    ),
    Change(
        _STICKY,
        "idle-forgets-order",
        "A cycle without requests restores the order after reset.",
        _TAKEN,
        "if (|grant & take) above <= ~(grant | (grant - 4'd1)); else if (~|req) above <= 4'b1111;",
    ),
    Change(
        _REGISTERED,
        "foreign-ack-releases",
        "An acknowledge of another requester releases the grant.",
        "wire free = ~busy | |(ack & gnt);",
        "wire free = ~busy | |ack;",
    ),
    Change(
        _REGISTERED,
        "pause-after-grant",
        "A cycle without a grant follows every grant.",
        "busy <= |req;",
        "busy <= |req & ~busy;",
    ),
    Change(_REGISTERED, "turn-is-not-reset", "A reset does not restore the order.", "turn <= 2'd0;", "turn <= turn;"),
    Change(
        _REGISTERED,
        "turn-skips-a-lane",
        "The lane after the winner is last in the order, not first.",
        "if (|req) turn <= chosen + 2'd1;",
        "if (|req) turn <= chosen + 2'd2;",
    ),
    Change(
        _REGISTERED,
        "alone-loses-turn",
        "A lone requester does not advance the order.",
        "if (|req) turn <= chosen + 2'd1;",
        "if (|(req & (req - 4'd1))) turn <= chosen + 2'd1;",
    ),
    Change(
        _REGISTERED,
        "turn-moves-when-idle",
        "The order advances in idle cycles.",
        "if (|req) turn <= chosen + 2'd1;",
        "turn <= chosen + 2'd1;",
    ),
    Change(
        _REGISTERED,
        "wrong-coding",
        "Lane distance 3 is coded as 2.",
        "chosen = turn + {lowest[3] | lowest[2], lowest[3] | lowest[1]};",
        "chosen = turn + {lowest[3] | lowest[2], lowest[1]};",
    ),
    Change(
        _REGISTERED,
        "two-grants",
        "The grant of the next lane is shown, too, if all lanes request.",
        "gnt <= |req ? 4'd1 << chosen : 4'd0;",
        "gnt <= &req ? 4'd3 << chosen : |req ? 4'd1 << chosen : 4'd0;",
    ),
    Change(_REGISTERED, "grant-survives-reset", "A grant stays through a reset.", "busy <= 1'b0;", "busy <= busy;"),
    Change(
        _WEIGHTED,
        "first-packet-is-free",
        "The first packet of a turn is not counted.",
        "left <= again ? left - 3'd1 : WEIGHT[lane] - 3'd1;",
        "left <= again ? left - 3'd1 : WEIGHT[lane];",
    ),
    Change(
        _WEIGHTED,
        "old-weight",
        "A turn gets the weight of the lane before it.",
        "left <= again ? left - 3'd1 : WEIGHT[lane] - 3'd1;",
        "left <= again ? left - 3'd1 : WEIGHT[turn] - 3'd1;",
    ),
    Change(
        _WEIGHTED,
        "wrong-weight",
        "Lane 2 has weight 3.",
        "localparam logic [3:0][2:0] WEIGHT = {3'd4, 3'd2, 3'd1, 3'd3};",
        "localparam logic [3:0][2:0] WEIGHT = {3'd4, 3'd3, 3'd1, 3'd3};",
    ),
    Change(_WEIGHTED, "count-is-not-reset", "A reset keeps the packets left.", "left <= 3'd0;", "left <= left;"),
    Change(_WEIGHTED, "turn-is-not-reset", "A reset keeps the turn.", "turn <= 2'd3;", "turn <= turn;"),
    Change(
        _WEIGHTED,
        "ready-is-ignored",
        "A grant is shown without ready.",
        "assign valid = |req & ready;",
        "assign valid = |req;",
    ),
    Change(
        _WEIGHTED,
        "one-lane-is-blind",
        "Lane 3 alone gets no grant.",
        "assign valid = |req & ready;",
        "assign valid = |req[2:0] & ready;",
    ),
    Change(
        _WEIGHTED,
        "empty-lane-keeps-turn",
        "A lane without a request keeps the rest of its turn for later.",
        "turn <= lane;",
        "turn <= again | left == 3'd0 ? lane : turn;",
    ),
    Change(
        _WEIGHTED,
        "turn-comes-back-early",
        "The search begins at the lane itself.",
        "for (int step = 4; step >= 1; step--)",
        "for (int step = 3; step >= 0; step--)",
    ),
)
"""Planted bugs."""
