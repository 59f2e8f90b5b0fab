"""Bits of the InfiniBand switch that its qualification does not change."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

HOLES = (
    Hole(
        r"output_\d+\.sizes_\d+\.others\.w_rdy",
        range(1),
        "The queue of packet sizes of an output's VL has a place for every packet that its buffer holds.",
    ),
    Hole(
        r"output_\d+\.sizes_\d+\.others\.w_level",
        range(3, 4),
        "A lane of an output takes packets while it has room for one of three blocks, of nine: six wait behind one.",
    ),
    Hole(r"input_\d+\.storage\.discarded", range(1), "An input lets only flits pass for which there is room."),
    Hole(r"output_\d+\.storage\.discarded", range(1), "The switch writes only flits for which it has reserved room."),
)
