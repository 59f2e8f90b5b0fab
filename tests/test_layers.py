"""Imports run one way: tables, then golden and hardware apart, then benches, then tops."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "vlane": {"vlane"},
    "golden": {"vlane", "vlane.golden"},
    "hdl": {"vlane", "vlane.hdl"},
    "tb": {"vlane", "vlane.golden", "vlane.tb"},
    "sim_top": {"vlane", "vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top"},
}
LAYERS = ("vlane.golden", "vlane.hdl", "vlane.tb", "vlane.sim_top")
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
        allowed = MAY_IMPORT[folder] | ({"vlane.sim_top"} if file == ROOT / "vlane" / "__main__.py" else set())
        wrong += [(str(file.relative_to(ROOT)), layer) for layer in sorted(used - allowed)]

    assert wrong == []


def test_golden_and_tables_know_no_hardware_library() -> None:
    """The oracle runs where no simulator and no hardware language is."""
    for folder in ("vlane", "golden"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not {name.split(".")[0] for name in imported(file)} & {"amaranth", "cocotb", "typer", "rich"}, file


def test_every_layer_is_looked_at() -> None:
    """A folder that is renamed does not silently leave the rule."""
    assert {folder for folder, _ in SOURCES} == set(MAY_IMPORT)
    assert len(SOURCES) > 30
