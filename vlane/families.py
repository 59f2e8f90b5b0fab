"""Families of the blocks: the folder name of a block's modules in every layer."""

from __future__ import annotations

from vlane.schedulers.registry import SCHEDULERS

FAMILIES: dict[str, tuple[str, ...]] = {
    "schedulers": tuple(SCHEDULERS),
    "tables": ("lft", "sl2vl", "sc"),
    "credits": ("credit_ib", "credit_opa"),
    "buffers": ("vlbuffer",),
    "congestion": ("cc_marker", "cc_source"),
    "ethernet": ("pause", "ecm_cp", "ecm_rp", "e2cm_prober"),
    "switches": ("ib_switch", "opa_switch"),
}
"""Blocks of each family. The family is a folder of ``vlane``, ``golden``, ``hdl``, ``tb`` and ``tests``."""

FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}
"""Family of each block."""
