"""Settings that make the cocotb bench of the VL arbiter run a plan. This module does not import cocotb."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vlane.schedulers.vlarb import VLArbTable
from vlane.tb.schedulers.traffic import Phase


def encode_plan(
    *,
    data_vls: int,
    entries: int,
    vl15: bool,
    form: str = "exact",
    parity: bool = False,
    tables: tuple[VLArbTable, ...],
    phases: tuple[Phase, ...],
    seed: int,
) -> dict[str, Any]:
    """Return the settings that make the bench run this plan."""
    return {
        "parameters": {"data_vls": data_vls, "entries": entries, "vl15": vl15, "form": form, "parity": parity},
        "tables": [[t.high, t.low, t.limit_of_high_priority] for t in tables],
        "phases": [asdict(phase) for phase in phases],
        "seed": seed,
    }
