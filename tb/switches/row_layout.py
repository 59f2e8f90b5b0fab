"""Where the fields of a switch's ports are in its rows, by port: the order that ``switch_elements`` gives them."""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.engine.kernel import inner

(VALID, VL, FIRST, LAST, DATA) = range(5)
"""Elements of a flit, behind its first; as many words of data as it has."""


class RowLayout(NamedTuple):
    """Sizes from which the places in a switch's rows follow.

    Inputs are: reset; of each port a flit; of each port what it hears of room; of each port whether its link is ready;
    the program ports. Outputs are: of each port a flit; of each port what it tells of room; of each port a drop cause.

    Parameters
    ----------
    ports : int
        Of the switch.
    words : int
        Of a flit.
    told : int
        Elements by which a port hears, and tells, of room.
    """

    ports: int
    words: int
    told: int


@inner
def rx_at(layout: RowLayout, port: int) -> int:
    """Return the first element of the flit that arrives at a port."""
    return 1 + port * (DATA + layout.words)


@inner
def heard_at(layout: RowLayout, port: int) -> int:
    """Return the first element of what a port hears of room."""
    return rx_at(layout, layout.ports) + layout.told * port


@inner
def ready_at(layout: RowLayout, port: int) -> int:
    """Return the element that says whether a port's link is ready."""
    return heard_at(layout, layout.ports) + port


@inner
def programs_at(layout: RowLayout) -> int:
    """Return the first element of the forwarding table's program port."""
    return ready_at(layout, layout.ports)


@inner
def tx_at(layout: RowLayout, port: int) -> int:
    """Return the first element of the flit that leaves a port."""
    return port * (DATA + layout.words)


@inner
def told_at(layout: RowLayout, port: int) -> int:
    """Return the first element of what a port tells of room."""
    return tx_at(layout, layout.ports) + layout.told * port


@inner
def dropped_at(layout: RowLayout, port: int) -> int:
    """Return the element that tells a port's drop cause."""
    return told_at(layout, layout.ports) + port
