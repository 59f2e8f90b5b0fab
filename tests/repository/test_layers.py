"""Imports between layers and families run in one direction."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MAY_IMPORT = {
    "vlane": {"vlane"},
    "golden": {"vlane", "vlane.golden"},
    "hdl": {"vlane", "vlane.hdl"},
    "tb": {"vlane", "vlane.golden", "vlane.tb"},
    "sim_top": {"vlane", "vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top"},
}
MACHINERY = {
    "machinery/native",
    "machinery/plants",
    "machinery/proofs",
    "machinery/synthesis",
    "machinery/cocotb_benches",
}
"""Sub-packages of ``tb/machinery`` that benches of single blocks use."""
DOORS = {ROOT / "vlane" / "__init__.py", ROOT / "vlane" / "__main__.py"}
"""Entry points in the lowest layer that import higher layers on demand."""
LAYERS = ("vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top")
FAMILIES: dict[str, dict[str, set[str]]] = {
    "vlane": {
        "isolation": set(),
        "shown": set(),
        "errors": {"shown"},
        "extras": {"errors"},
        "documents": {"errors", "shown"},
        "units": {"errors"},
        "dut_map": {"documents", "errors"},
        "dut_policy": {"documents", "errors"},
        "packets": {"documents", "errors"},
        "parameters": {"documents", "errors"},
        "paths": {"documents", "errors"},
        "plugins": {"documents", "errors"},
        "rates": {"errors", "units"},
        "egress": {"errors", "parameters"},
        "ethernet": {"errors", "parameters"},
        "congestion": {"errors", "parameters", "units"},
        "buffers": {"egress", "errors", "parameters"},
        "credits": {"congestion", "egress", "packets", "parameters", "units"},
        "tables": {"documents", "egress", "errors", "parameters", "units"},
        "schedulers": {"documents", "egress", "errors", "parameters", "plugins", "tables", "units"},
        "families": {"schedulers"},
        "fabric": {"congestion", "documents", "errors", "rates", "schedulers", "shown", "tables", "units"},
        "registers": {"extras", "schedulers"},
        "switches": {
            "congestion",
            "credits",
            "egress",
            "errors",
            "packets",
            "parameters",
            "schedulers",
            "tables",
            "units",
        },
        "planning": {"documents", "errors", "fabric", "rates", "schedulers", "tables", "units"},
        "study": {
            "congestion",
            "credits",
            "documents",
            "egress",
            "errors",
            "packets",
            "planning",
            "plugins",
            "rates",
            "schedulers",
            "switches",
            "tables",
            "units",
        },
        "__main__": {"isolation"},
    },
    "golden": {
        "compiler": set(),
        "engine": {"compiler"},
        "schedulers": {"engine"},
        "tables": {"engine"},
        "credits": {"engine"},
        "congestion": {"compiler", "engine"},
        "ethernet": {"compiler", "engine"},
        "traffic": {"compiler", "engine"},
        "links": {"compiler", "engine", "credits"},
        "buffers": {"engine", "credits"},
        "switches": {"compiler", "engine", "congestion", "links", "schedulers", "traffic"},
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
        "topologies": {"compiler", "engine", "switches"},
        "network": {"compiler", "engine", "congestion", "links", "schedulers", "switches", "topologies", "traffic"},
        "plain": {"compiler", "engine", "ethernet", "topologies", "network"},
    },
    "hdl": {
        "by_name": set(),
        "common": set(),
        "schedulers": {"common"},
        "tables": {"common"},
        "credits": {"common", "schedulers"},
        "congestion": {"common", "schedulers"},
        "ethernet": {"common"},
        "links": {"common", "credits"},
        "buffers": {"common", "credits", "links"},
        "switches": {"by_name", "common", "tables", "congestion", "links", "buffers"},
        "registers": {"common"},
    },
    "tb": {
        "machinery/native": set(),
        "machinery/plants": set(),
        "machinery/proofs": {"machinery/native"},
        "machinery/synthesis": {"machinery/native", "machinery/proofs"},
        "arbiters": set(),
        "by_name": {"machinery/native", "machinery/plants", "machinery/proofs"},
        "machinery/cocotb_benches": {"machinery/native", "by_name"},
        "tables": {*MACHINERY, "by_name"},
        "schedulers": {*MACHINERY, "by_name", "tables"},
        "credits": {*MACHINERY, "schedulers", "tables"},
        "congestion": {*MACHINERY, "tables"},
        "ethernet": {*MACHINERY, "tables"},
        "buffers": {*MACHINERY, "credits", "tables"},
        "switches": {*MACHINERY, "by_name", "buffers", "credits", "schedulers", "tables"},
        "networks": {*MACHINERY, "switches"},
        "machinery/recordings": {
            "machinery/native",
            "by_name",
            "schedulers",
            "tables",
            "credits",
            "congestion",
            "ethernet",
            "switches",
        },
        "registers": {*MACHINERY, "machinery/recordings", "schedulers"},
    },
    "sim_top": {
        "blocks": set(),
        "with_verilator": set(),
        "output": set(),
        "egress": {"output"},
        "fabric": {"output"},
        "scenario": {"output"},
        "study": {"output", "scenario"},
        "plots": {"output", "scenario", "study"},
        "studies": {"output", "scenario", "study"},
        "systemverilog": set(),
        "oracles": set(),
        "dut": {"output", "blocks", "oracles", "systemverilog"},
        "silicon": {"systemverilog", "output", "blocks", "dut"},
        "export": {"output", "blocks", "systemverilog"},
        "cosim": {"output", "blocks", "scenario", "study", "systemverilog"},
        "reference": {"blocks", "export"},
        "browser": {"fabric"},
        "api": {
            "output",
            "blocks",
            "fabric",
            "scenario",
            "study",
            "plots",
            "egress",
            "silicon",
            "export",
            "cosim",
            "oracles",
            "dut",
        },
        "cli": {
            "output",
            "blocks",
            "fabric",
            "scenario",
            "study",
            "plots",
            "studies",
            "egress",
            "silicon",
            "export",
            "systemverilog",
            "cosim",
            "dut",
            "reference",
            "api",
        },
    },
}
"""Families each family of a layer may import in addition to itself, without cycles."""
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
    """Golden and hardware never import each other, and no layer imports a higher one."""
    wrong = []
    for folder, file in SOURCES:
        used = {layer_of(name) for name in imported(file) if name.split(".")[0] == "vlane"}
        allowed = MAY_IMPORT[folder] | ({"vlane.sim_top"} if file in DOORS else set())
        if folder == "tb" and (file.stem.startswith(("proofs", "contract")) or "machinery/proofs" in str(file)):
            # proofs use the hardware with reference models of their own, never golden
            allowed = allowed - {"vlane.golden"} | {"vlane.hdl"}
        wrong += [(str(file.relative_to(ROOT)), layer) for layer in sorted(used - allowed)]

    assert wrong == []


def family_of(folder: str, file: Path) -> str:
    """Return the family of a file: its sub-package within the layer, or the module itself."""
    return family_in(folder, file.relative_to(ROOT / folder).with_suffix("").parts)


def family_in(folder: str, parts: tuple[str, ...]) -> str:
    """Return the family of a module name. Each sub-package of ``tb/machinery`` is a family."""
    return "/".join(parts[:2]) if folder == "tb" and parts[0] == "machinery" else parts[0]


def test_families_import_only_lower_families() -> None:
    """Each family imports only the families listed below it."""
    wrong = []
    for folder, file in SOURCES:
        family = family_of(folder, file)
        if family.endswith("__init__"):
            continue
        prefix = "vlane." if folder == "vlane" else f"vlane.{folder}."
        names = {name for name in imported(file) if name.startswith(prefix) and layer_of(name) == prefix[:-1]}
        used = {family_in(folder, tuple(name.removeprefix(prefix).split("."))) for name in names}
        allowed = FAMILIES[folder][family] | {family}
        wrong += [(str(file.relative_to(ROOT)), name) for name in sorted(used - allowed)]

    assert wrong == []


@pytest.mark.parametrize("folder", FAMILIES)
def test_the_families_are_those_of_the_layer(folder: str) -> None:
    """Each family of a layer is listed once, after the families it imports."""
    known: set[str] = set()
    for family, below in FAMILIES[folder].items():
        assert below <= known, family
        known.add(family)
    in_tree = {family_of(folder, file) for layer, file in SOURCES if layer == folder} - {
        "__init__",
        "machinery/__init__",
    }
    assert in_tree == known


def test_golden_and_tables_know_no_hardware_library() -> None:
    """Golden and the tables import no hardware or command-line library."""
    for folder in ("vlane", "golden"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not {name.split(".")[0] for name in imported(file)} & {"amaranth", "cocotb", "typer", "rich"}, file


def test_every_layer_is_checked() -> None:
    """Each layer's folder exists, so a renamed folder cannot escape the checks."""
    assert {folder for folder, _ in SOURCES} == set(MAY_IMPORT)
    assert len(SOURCES) > 30
