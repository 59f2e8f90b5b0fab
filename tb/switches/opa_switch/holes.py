"""Signal bits and branches of the Omni-Path switch that its qualification does not toggle or take."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole, Untaken

_OTHER_MPORT = "A central buffer holds only packets for ports of the other MPort."
_RESERVED = "The switch writes only flits for which it has reserved space."
_UNUSED = (
    "The switch does not use SL2SC and SC2SL: it looks up entry 0, which its program port writes once in 2,000,000 "
    "cycles."
)
_FEW = (
    "A lane of a central buffer accepts packets while it has space for four of its eight blocks: it holds at most "
    "five packets."
)
_OUTPUT = r"(over_[01]__to|head_[01]|[rw]_data(\$\d+)?|heads_[01]\.r_port__data|read__[01]__to|read_head_[01])"
"""Signals of a central buffer whose lowest bits are a packet's output."""

HOLES = (
    # The first MPort has outputs 0 to 3, the second one 4 and 5.
    Hole(rf"centre_0\.{_OUTPUT}", range(1, 2), _OTHER_MPORT),
    Hole(rf"centre_1\.{_OUTPUT}", range(2, 3), _OTHER_MPORT),
    Hole(r"allocator\.reader_output_[01]", range(1, 2), _OTHER_MPORT),
    Hole(r"allocator\.reader_output_[23]", range(2, 3), _OTHER_MPORT),
    Hole(r"allocator\.reader_wants_[01]", range(4), _OTHER_MPORT),
    Hole(r"allocator\.reader_wants_[23]", range(4, 6), _OTHER_MPORT),
    Hole(r"allocator\.(source\[[0-3]\]|output_[0-3]\$\d+\.(eligible|chosen))", range(4, 6), _OTHER_MPORT),
    Hole(r"allocator\.(source\[[45]\]|output_[45]\$\d+\.(eligible|chosen))", range(6, 8), _OTHER_MPORT),
    Hole(r"allocator\.output_[0-3]\$\d+\.first_1", range(2), _OTHER_MPORT),
    Hole(r"allocator\.output_[45]\$\d+\.first_1", range(2, 4), _OTHER_MPORT),
    Untaken(
        r"cond_then: assign \\\$\d+ = \\\$\d+ \? (\\?read__[01]__\w+(\$\d+)?|\\\$\d+ \[[25]:[03]\]) : .*",
        84,
        _OTHER_MPORT,
    ),
    Hole(r"centre_[01]\.heads_[01]\.w_level", range(3, 4), _FEW),
    Hole(r"centre_[01]\.heads_[01]\.w_rdy", range(1), _FEW),
    Hole(
        r"centre_[01]\.link_free",
        range(1),
        "Packets arrive without gaps and cross in two cycles, and one begins per cycle, so one of two links is "
        "always free.",
    ),
    Hole(
        r"output_\d+\.sizes_\d+\.others\.w_rdy",
        range(1),
        "The queue of packet sizes of an output's VL has an entry for every packet that its buffer can hold.",
    ),
    Hole(r"output_\d+\.storage\.discarded", range(3), _RESERVED),
    Hole(r"centre_\d+\.storage\.discarded", range(3), _RESERVED),
    Hole(r"input_\d+\.storage\.discarded", range(1), "An input only forwards flits for which it has space."),
    Hole(r"sc\.inject_drop", range(1), _UNUSED),
    Hole(r"sc\.receive_sl", range(5), _UNUSED, edge="1->0"),
)
