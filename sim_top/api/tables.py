"""Table files and planners in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vlane.errors import InputError
from vlane.planning.dtable_plan import TablePlan, plan_table
from vlane.planning.dtable_request import TableRequest, read_request, request_of
from vlane.schedulers.table_files import Tables
from vlane.schedulers.table_files import read_tables as _read_tables

__all__ = ["InputError", "TablePlan", "Tables", "plan_dtable", "read_tables"]


def read_tables(path: str | Path, *, needed: str = "") -> Tables:
    """Return all tables of a TOML or JSON file: ``sections`` by scheduler name, and ``sl2vl``.

    Parameters
    ----------
    path : str or Path
        Table file (``docs/commands.md``).
    needed : str
        Name of a required section; empty for none.

    Raises
    ------
    InputError
        If the file is rejected; names file, line and key.

    Examples
    --------
    >>> import vlane.sim_top
    >>> file = Path(vlane.sim_top.__file__).parent / "configs" / "irregular_vlarb.toml"
    >>> table = read_tables(file, needed="vlarb").sections["vlarb"]
    >>> table.high[0].vl, table.limit_of_high_priority
    (2, 2)
    """
    return _read_tables(Path(path), needed=needed)


def plan_dtable(request: str | Path | Mapping[str, Any] | TableRequest) -> TablePlan:
    """Return a Deficit Table that gives every service level its bandwidth and its distance (``docs/dtable_plan.md``).

    Parameters
    ----------
    request : str, Path, mapping or TableRequest
        File, its contents, or a parsed request.

    Raises
    ------
    InputError
        If the request is rejected, or no table can meet it; names the service level and the violated bound.

    Examples
    --------
    >>> plan = plan_dtable({
    ...     "entries": 32,
    ...     "gmtu_blocks": 4,
    ...     "form": "free",
    ...     "sl": [
    ...         {"name": "A", "sl": 0, "distance": 2, "mtu_blocks": 4, "bandwidth": 0.5},
    ...         {"name": "B", "sl": 1, "distance": 2, "mtu_blocks": 4, "bandwidth": 0.5},
    ...     ],
    ... })
    >>> [level.total_weight for level in plan.levels]
    [64, 64]
    """
    if isinstance(request, Mapping):
        return plan_table(request_of(request))
    return plan_table(request if isinstance(request, TableRequest) else read_request(Path(request)))
