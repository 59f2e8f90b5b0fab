"""Scheduler registry: each layer implements the registered schedulers, and no other code names one."""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from vlane.golden.schedulers import lanes
from vlane.golden.schedulers.bank import new_scheduler
from vlane.hdl.by_name import component
from vlane.registers.description import REGISTERED, register_map
from vlane.schedulers.registry import DEFAULT, IB_ARBITER, LINE_RATE, SCHEDULERS, Scheduler
from vlane.schedulers.writes import ScheduleSelect
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.by_name import directed_schedulers, proofs, stimulus
from vlane.tb.machinery.native.model import component_ports

ROOT = Path(__file__).parent.parent.parent
FAMILIES = {
    "vlane/schedulers": "{}.py",
    "vlane/registers": "{}.rdl",
    "golden/schedulers": "{}.py",
    "golden/oracle": "oracle_{}.py",
    "hdl/schedulers": "{}.py",
    "tb/schedulers": "{}/__init__.py",
    "docs": "{}.md",
    "tests/schedulers": "test_{}.py",
}
"""Folders with one file per scheduler, and the pattern of its name."""

MAY_NAME: dict[str, set[str]] = {
    "vlane/schedulers/registry.py": set(SCHEDULERS),
    "sim_top/cli/main.py": {"dtable", "vlarb"},
    "sim_top/studies/by_name.py": {"dtable"},
    "sim_top/studies/study_dtable_cases.py": {"vlarb", "drr", "scfq"},
    "tb/arbiters/plants.py": {"rr", "wrr"},
    "bench/slack.py": {"drr", "rr", "vlarb", "wrr"},
    "bench/published_arbiters.py": {"rr", "wrr"},
    "bench/export_tools.py": {"rr", "vlarb"},
    "Makefile": {IB_ARBITER},
}
"""Shared files that may name schedulers: the registry, the command groups of tables, studies that compare
schedulers, the arbiters of the elastic comparison, the simulated exports, the main job."""

ENTRIES = list(SCHEDULERS.values())
OF_A_LAYER = re.compile(r"vlane\.(golden|hdl|tb)\.schedulers\b")
NAMES = re.compile(rf"\b({'|'.join(SCHEDULERS)})\b")


def each_scheduler(function: Any) -> Any:
    return pytest.mark.parametrize("scheduler", ENTRIES, ids=list(SCHEDULERS))(function)


@pytest.mark.parametrize(("folder", "pattern"), FAMILIES.items())
def test_every_layer_has_a_file_of_each_scheduler(folder: str, pattern: str) -> None:
    assert [name for name in SCHEDULERS if not (ROOT / folder / pattern.format(name)).is_file()] == []


def test_every_component_of_the_family_is_in_the_registry() -> None:
    names = {file.stem for file in (ROOT / "hdl/schedulers").glob("*.py")}
    with_component = {name for name in names if hasattr(import_module(f"vlane.hdl.schedulers.{name}"), "COMPONENT")}
    assert with_component == set(SCHEDULERS)
    assert set(directed_schedulers()) == set(SCHEDULERS) - {IB_ARBITER}  # it has another notation
    assert list(BLOCKS)[: len(SCHEDULERS)] == list(SCHEDULERS)


def test_numbers_of_the_registers_are_given_once_and_stay() -> None:
    """Each block with registers has a distinct number, and published numbers do not change."""
    identities = {name: register_map(name, {})["identity"] for name in REGISTERED}
    numbers = {name: field.reset for name, each in identities.items() for field in each.fields if field.name == "block"}
    assert set(SCHEDULERS) <= set(REGISTERED)
    assert len(set(numbers.values())) == len(REGISTERED)
    assert [numbers[name] for name in ("vlarb", "dtable", "drr", "scfq", "rr")] == [0, 1, 2, 3, 4]
    assert DEFAULT in SCHEDULERS
    assert IB_ARBITER in SCHEDULERS


@each_scheduler
def test_forms_and_parameters_are_those_of_the_hardware(scheduler: Scheduler) -> None:
    made = component(scheduler.name)
    defaults = BLOCKS[scheduler.name].defaults()
    assert tuple(getattr(made, "forms", ())) == scheduler.forms
    assert ("requesters" in defaults) == scheduler.maps
    assert ("entries" in defaults) == scheduler.has_entries
    with_form = scheduler.parameters.with_form
    for shape in (scheduler.full_size, scheduler.mutated, *scheduler.synthesised, *with_form.values()):
        assert set(shape) <= set(defaults)
    assert set(with_form) <= set(scheduler.forms)


@each_scheduler
def test_program_ports_are_those_of_the_hardware(scheduler: Scheduler) -> None:
    block = BLOCKS[scheduler.name]
    given = {"requesters": 4} if scheduler.maps else {}
    for form in scheduler.forms or ("",):
        shape = {
            **block.defaults(),
            **given,
            **({"form": form} if form else {}),
            **scheduler.parameters.with_form.get(form, {}),
        }
        ports = {port.name for port in component_ports(block.make(shape))}
        assert ("swap" in ports) == scheduler.swaps
        assert f"program__{scheduler.name_field}" in ports
        assert ("behind" in ports) == (form == LINE_RATE)


@each_scheduler
def test_a_switch_s_instance_is_golden_and_hardware_alike(scheduler: Scheduler) -> None:
    """For each scheduler, a switch's parameters are accepted by golden and by the hardware."""
    least, most = scheduler.data_vls
    for line_rate in (False, True)[: 1 + scheduler.has_line_rate]:
        parameters = scheduler.switch_parameters(8, line_rate=line_rate)
        for lanes_of_port in (max(2, least), most - (line_rate and most > 31)):
            scheduler.parameters(**{**parameters, "data_vls": lanes_of_port, "vl15": False})
        with pytest.raises(ValueError, match="data_vls"):
            scheduler.parameters(**{**parameters, "data_vls": most + 1, "vl15": False})
        new_scheduler(scheduler.name, data_vls=4, **parameters)
        writes = stimulus(scheduler.name).drawn_writes(4, 8, random.Random(1))  # noqa: S311 - a repeatable choice
        assert bool(writes) == bool(scheduler.section)


@each_scheduler
def test_proofs_and_stimuli_have_the_expected_functions(scheduler: Scheduler) -> None:
    assert all(callable(each.properties) for each in proofs(scheduler.name).INSTANCES)
    assert proofs(scheduler.name).INSTANCES
    assert callable(stimulus(scheduler.name).qualified)
    assert hasattr(stimulus(scheduler.name), "saturating") == scheduler.has_entries


def test_write_selections_equal_goldens() -> None:
    assert (lanes.SELECT_TABLE, lanes.SELECT_MAP) == (ScheduleSelect.TABLE, ScheduleSelect.MAP)


def test_the_registry_loads_nothing_heavy() -> None:
    """Importing the registry loads none of numpy, pydantic and amaranth, so listing schedulers is fast."""
    code = "import sys, vlane.schedulers.registry; print(*({'numpy', 'pydantic', 'amaranth'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


def named_in(file: Path) -> set[str]:
    """Return the schedulers a file names in strings, keyword arguments and imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in SCHEDULERS:
            found.add(node.value)
        if isinstance(node, ast.keyword) and node.arg in SCHEDULERS:
            found.add(str(node.arg))
        if isinstance(node, ast.ImportFrom) and OF_A_LAYER.match(node.module or ""):
            modules = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {part for module in modules for part in module.split(".")} & set(SCHEDULERS)
    return found


def own(file: Path) -> set[str]:
    """Return the schedulers in the name of a file or its folder."""
    return {name for name in SCHEDULERS if name in (*file.stem.split("_"), file.parent.name)}


def test_no_other_code_names_a_scheduler() -> None:
    """No file outside a scheduler's own and the permitted ones names a scheduler.

    So a new scheduler needs only its own files and a registry entry.
    """
    wrong = {}
    for folder in ("golden", "hdl", "tb", "sim_top", "vlane", "bench"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = str(file.relative_to(ROOT))
            if left := named_in(file) - own(file) - MAY_NAME.get(name, set()):
                wrong[name] = sorted(left)
    left = set(NAMES.findall((ROOT / "Makefile").read_text())) - MAY_NAME["Makefile"]
    assert (wrong, left) == ({}, set())
