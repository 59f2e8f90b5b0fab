"""Names of the catalogue's blocks, and their hardware as Amaranth components."""

from __future__ import annotations

from typing import Any

from vlane.sim_top.blocks import BLOCKS, find_block

__all__ = ["blocks", "component"]


def blocks() -> list[str]:
    """Return the names of the catalogue's blocks.

    Examples
    --------
    >>> "vlarb" in blocks()
    True
    """
    return list(BLOCKS)


def component(block: str, /, **parameters: Any) -> Any:
    """Return the hardware of a block as an Amaranth component, ready to be a submodule.

    Parameters
    ----------
    block : str
        Name of the block (``docs/catalogue.md``).
    **parameters
        Parameters of the instance (listed on the block's page); omitted parameters take their defaults.

    Raises
    ------
    InputError
        If the block or a parameter is unknown, or a value is rejected.

    Examples
    --------
    >>> arbiter = component("rr", data_vls=4)
    >>> arbiter.signature.members["grant"].flow.name
    'Out'
    >>> component("rr", data_vl=4)
    Traceback (most recent call last):
    vlane.errors.InputError: parameter must be one of data_vls, requesters, vl15, not data_vl; did you mean data_vls?
    """
    found = find_block(block)
    return found.component(found.shape.of_values(parameters))
