"""Imports run one way: tables, then golden and hardware apart, then benches, then tops."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "vlane": {"vlane"},
    "golden": {"vlane", "vlane.golden"},
    "hdl": {"vlane", "vlane.hdl"},
    "tb": {"vlane", "vlane.golden", "vlane.tb"},
    "sim_top": {"vlane", "vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top"},
}
DOORS = {ROOT / "vlane" / "__init__.py", ROOT / "vlane" / "__main__.py"}
"""The Python interface and the command line are reached through the lowest layer's name, when they are asked for."""
PROOFS = ROOT / "tb" / "proofs"
"""Parts of the hardware are proven alone, and against accounts of their own: never against golden."""
LAYERS = ("vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top")
FAMILIES: dict[str, dict[str, set[str]]] = {
    "golden": {
        "compiler": set(),
        "engine": {"compiler"},
        "schedulers": {"engine"},
        "tables": {"engine"},
        "credits": {"engine"},
        "congestion": {"compiler", "engine"},
        "ethernet": {"compiler", "engine"},
        "links": {"compiler", "engine", "credits"},
        "buffers": {"engine", "credits"},
        "switches": {"compiler", "engine", "congestion", "links", "schedulers"},
        "oracle": {
            "compiler",
            "engine",
            "schedulers",
            "tables",
            "credits",
            "congestion",
            "ethernet",
            "links",
            "buffers",
            "switches",
        },
        "network": {"compiler", "engine", "congestion", "links", "schedulers", "switches"},
    },
    "hdl": {
        "common": set(),
        "schedulers": {"common"},
        "tables": {"common"},
        "credits": {"common", "schedulers"},
        "congestion": {"common", "schedulers"},
        "ethernet": {"common"},
        "links": {"common", "credits"},
        "buffers": {"common", "credits", "links"},
        "switches": {"common", "schedulers", "tables", "congestion", "links", "buffers"},
        "registers": {"common"},
    },
    "tb": {
        "holes": set(),
        "native": set(),
        "schedulers": {"native"},
        "tables": {"native"},
        "credits": {"native"},
        "congestion": {"native"},
        "ethernet": {"native"},
        "buffers": {"native"},
        "switches": {"native", "schedulers"},
        "directed": set(),
        "plants": set(),
        "proofs": {"native"},
        "synthesis": {"native", "proofs"},
        "recordings": {"native", "schedulers", "tables", "credits", "congestion", "ethernet", "switches"},
        "cocotb_benches": {
            "native",
            "schedulers",
            "tables",
            "credits",
            "congestion",
            "ethernet",
            "buffers",
            "switches",
            "directed",
        },
    },
    "sim_top": {
        "blocks": set(),
        "with_verilator": set(),
        "output": set(),
        "fabric": {"output"},
        "study": {"output"},
        "studies": {"output", "study"},
        "egress": {"output"},
        "silicon": {"output", "blocks"},
        "export": {"output", "blocks"},
        "cosim": {"output", "blocks", "study"},
        "dut": {"output", "blocks"},
        "reference": {"blocks", "export"},
        "api": {"output", "blocks", "fabric", "study", "egress", "silicon", "export", "cosim", "dut"},
        "cli": {
            "output",
            "blocks",
            "fabric",
            "study",
            "studies",
            "egress",
            "silicon",
            "export",
            "cosim",
            "dut",
            "reference",
            "api",
        },
    },
}
"""Families that each family of a layer may import beside itself; without circles."""
SOURCES = [(folder, file) for folder in MAY_IMPORT for file in sorted((ROOT / folder).rglob("*.py"))]


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide the layer"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def layer_of(name: str) -> str:
    return next((layer for layer in LAYERS if name == layer or name.startswith(f"{layer}.")), "vlane")


def test_imports_run_one_way() -> None:
    """Golden and hardware never meet below the benches; nothing below knows what is above."""
    wrong = []
    for folder, file in SOURCES:
        used = {layer_of(name) for name in imported(file) if name.split(".")[0] == "vlane"}
        allowed = MAY_IMPORT[folder] | ({"vlane.sim_top"} if file in DOORS else set())
        if file.parent == PROOFS:
            allowed = allowed - {"vlane.golden"} | {"vlane.hdl"}
        wrong += [(str(file.relative_to(ROOT)), layer) for layer in sorted(used - allowed)]

    assert wrong == []


def family_of(folder: str, file: Path) -> str:
    """Return the family of a file of a layer; a module beside the families is one itself."""
    return file.relative_to(ROOT / folder).with_suffix("").parts[0]


def test_families_import_what_is_below_them() -> None:
    """A reader of one family need not know those above it, and no two need each other."""
    wrong = []
    for folder, file in SOURCES:
        family = family_of(folder, file)
        if folder not in FAMILIES or family == "__init__":
            continue
        prefix = f"vlane.{folder}."
        used = {name.removeprefix(prefix).partition(".")[0] for name in imported(file) if name.startswith(prefix)}
        allowed = FAMILIES[folder][family] | {family}
        wrong += [(str(file.relative_to(ROOT)), name) for name in sorted(used - allowed)]

    assert wrong == []


@pytest.mark.parametrize("folder", FAMILIES)
def test_the_families_are_those_of_the_layer(folder: str) -> None:
    """Every room is listed once, after the rooms that it imports: so there is no circle."""
    known: set[str] = set()
    for family, below in FAMILIES[folder].items():
        assert below <= known, family
        known.add(family)
    in_tree = {family_of(folder, file) for layer, file in SOURCES if layer == folder} - {"__init__"}
    assert in_tree == known


def test_golden_and_tables_know_no_hardware_library() -> None:
    """The oracle runs where no simulator and no hardware language is."""
    for folder in ("vlane", "golden"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not {name.split(".")[0] for name in imported(file)} & {"amaranth", "cocotb", "typer", "rich"}, file


def test_every_layer_is_looked_at() -> None:
    """A folder that is renamed does not silently leave the rule."""
    assert {folder for folder, _ in SOURCES} == set(MAY_IMPORT)
    assert len(SOURCES) > 30
