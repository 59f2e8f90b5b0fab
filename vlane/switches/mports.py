"""Hierarchy of an Omni-Path switch: MPorts of four ports, each with a central buffer (``docs/opa_switch.md``)."""

from __future__ import annotations

MPORT = 4
"""Ports per MPort."""

OPA_PORTS = 48
"""Largest number of ports of a switch."""

LINKS = 2
"""Links from an MPort to its central buffer."""

READERS = 2
"""Read ports of a central buffer."""

INNER_FLITS = 3
"""Flits per cycle of a link inside the switch."""


def mports_of(ports: int) -> int:
    """Return the number of MPorts of a switch from its number of ports.

    Examples
    --------
    >>> [mports_of(ports) for ports in (2, 4, 5, 48)]
    [1, 1, 2, 12]
    """
    return -(-ports // MPORT)


def ports_of(mport: int, ports: int) -> range:
    """Return the ports of an MPort. The last MPort of a switch may have fewer than four.

    Examples
    --------
    >>> ports_of(1, 6)
    range(4, 6)
    """
    return range(MPORT * mport, min(ports, MPORT * (mport + 1)))
