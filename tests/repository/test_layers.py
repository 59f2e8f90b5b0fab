"""Imports run one way: tables, then golden and hardware apart, then benches, then tops."""

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
"""The Python interface and the command line are reached through the lowest layer's name, when they are asked for."""
LAYERS = ("vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top")
FAMILIES: dict[str, dict[str, set[str]]] = {
    "vlane": {
        "isolation": set(),
        "families": set(),
        "registers": set(),
        "shown": set(),
        "errors": {"shown"},
        "extras": {"errors"},
        "documents": {"errors", "shown"},
        "units": {"errors"},
        "dut_map": {"documents", "errors"},
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
        "schedulers": {"documents", "egress", "errors", "parameters", "plugins", "registers", "tables", "units"},
        "fabric": {"congestion", "documents", "errors", "schedulers", "tables", "units"},
        "register_maps": {"congestion", "credits", "ethernet", "registers", "schedulers", "tables"},
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
        "by_name": {"machinery/native", "machinery/plants"},
        "machinery/cocotb_benches": {"machinery/native", "by_name"},
        "tables": MACHINERY,
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
        "silicon": {"output", "blocks"},
        "export": {"output", "blocks"},
        "cosim": {"output", "blocks", "scenario", "study"},
        "dut": {"output", "blocks"},
        "reference": {"blocks", "export"},
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
            "cosim",
            "dut",
            "reference",
            "api",
        },
    },
}
"""Families that each family of a layer may import, in addition to itself; without circles."""
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
        if folder == "tb" and (file.stem.startswith("proofs") or "machinery/proofs" in str(file)):
            # Parts of the hardware are proven separately, against reference models of their own: never against golden.
            allowed = allowed - {"vlane.golden"} | {"vlane.hdl"}
        wrong += [(str(file.relative_to(ROOT)), layer) for layer in sorted(used - allowed)]

    assert wrong == []


def family_of(folder: str, file: Path) -> str:
    """Return the family of a file of a layer: a sub-package of it, or a module next to them."""
    return family_in(folder, file.relative_to(ROOT / folder).with_suffix("").parts)


def family_in(folder: str, parts: tuple[str, ...]) -> str:
    """Return the family of a module, given the parts of its name; each sub-package of machinery is a family."""
    return "/".join(parts[:2]) if folder == "tb" and parts[0] == "machinery" else parts[0]


def test_families_import_what_is_below_them() -> None:
    """A reader of one family need not know those above it, and no two need each other."""
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
    """Every room is listed once, after the rooms that it imports: so there is no circle."""
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
    """The oracle runs where no simulator and no hardware language is."""
    for folder in ("vlane", "golden"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not {name.split(".")[0] for name in imported(file)} & {"amaranth", "cocotb", "typer", "rich"}, file


def test_every_layer_is_looked_at() -> None:
    """A folder that is renamed does not silently leave the rule."""
    assert {folder for folder, _ in SOURCES} == set(MAY_IMPORT)
    assert len(SOURCES) > 30
