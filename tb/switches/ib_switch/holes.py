"""Signal bits of the InfiniBand switch that its qualification does not toggle."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

HOLES = (
    Hole(
        r"output_\d+\.sizes_\d+\.others\.w_rdy",
        range(1),
        "The queue of packet sizes of an output's VL has an entry for every packet that its buffer can hold.",
    ),
    Hole(
        r"output_\d+\.sizes_\d+\.others\.w_level",
        range(3, 4),
        "A lane of an output accepts packets while it has space for three of its nine blocks: at most six packets "
        "wait behind one.",
    ),
    Hole(r"input_\d+\.storage\.discarded", range(1), "An input only forwards flits for which it has space."),
    Hole(r"output_\d+\.storage\.discarded", range(1), "The switch writes only flits for which it has reserved space."),
)
