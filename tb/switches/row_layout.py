"""Positions of a switch's ports in the rows of a lockstep, in the order of ``switch_elements``.

A row is an array with the values of all inputs, or of all outputs, in one cycle.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.golden.engine.kernel import inner

(VALID, VL, FIRST, LAST, DATA) = range(5)
"""Elements of a flit, relative to its first; the data words follow."""


class RowLayout(NamedTuple):
    """Sizes that determine the positions in a switch's rows.

    A row of inputs: reset, one flit per port, received credits per port, link ready per port, program ports.
    A row of outputs: one flit per port, sent credits per port, drop cause per port.

    Parameters
    ----------
    ports : int
        Number of ports of the switch.
    words : int
        Number of words in a flit.
    credit_words : int
        Number of elements for the received credits of a port, and for the sent credits.
    """

    ports: int
    words: int
    credit_words: int


@inner
def rx_at(layout: RowLayout, port: int) -> int:
    """Return the index of the first element of the flit that arrives at a port."""
    return 1 + port * (DATA + layout.words)


@inner
def received_credit_at(layout: RowLayout, port: int) -> int:
    """Return the index of the first element of the credits that a port receives."""
    return rx_at(layout, layout.ports) + layout.credit_words * port


@inner
def ready_at(layout: RowLayout, port: int) -> int:
    """Return the index of the element that states whether a port's link is ready."""
    return received_credit_at(layout, layout.ports) + port


@inner
def programs_at(layout: RowLayout) -> int:
    """Return the index of the first element of the program ports, which belongs to the forwarding table."""
    return ready_at(layout, layout.ports)


@inner
def tx_at(layout: RowLayout, port: int) -> int:
    """Return the index of the first element of the flit that leaves a port."""
    return port * (DATA + layout.words)


@inner
def sent_credit_at(layout: RowLayout, port: int) -> int:
    """Return the index of the first element of the credits that a port sends."""
    return tx_at(layout, layout.ports) + layout.credit_words * port


@inner
def dropped_at(layout: RowLayout, port: int) -> int:
    """Return the index of the element with a port's drop cause."""
    return sent_credit_at(layout, layout.ports) + port
