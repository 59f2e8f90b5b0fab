"""Registers over AXI4-Lite: address maps, a third-party bus master, blocks behind registers."""

from __future__ import annotations

import itertools
import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module

from tests.conftest import assert_lint_clean, assert_refused, call
from vlane.hdl.registers.axi_lite import AxiLite
from vlane.hdl.registers.register_port import RegisteredBlock, RegisterPort
from vlane.register_maps import REGISTERED, register_map
from vlane.registers import RegisterMap, Window
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import ListSelect, ScheduleSelect
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.cocotb_benches.cocotb_bench import run_cocotb
from vlane.tb.machinery.native.model import component_ports
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.registers.proofs_axi_lite import AxiLiteProperties

SMALL = {"ports": 2, "data_vls": 2, "blocks": 8, "minimum": 2, "maximum": 4, "largest": 2, "lids": 8, "entries": 8}
MARKING = {**SMALL, "largest": 1, "scheduler": "dtable", "data_bits": 128, "marking": True}
"""InfiniBand switch with congestion marking."""
STARVING = {**MARKING, "starving": True}
"""InfiniBand switch with congestion marking and credit starvation."""
GIVEN: dict[str, dict[str, Any]] = {
    "rr": {"requesters": 3},
    "ib_switch": {**SMALL, "scheduler": "vlarb"},
    "opa_switch": {"ports": 2, "data_vls": 2, "scheduler": "dtable", "entries": 8},
}


DRIVEN = {
    **{each.name: {"program", "swap"} if each.swaps else {"program"} for each in SCHEDULERS.values()},
    "sl2vl": {"program"},
    "sc": {"program"},
    "lft": {"program"},
    "credit_opa": {"program", "apply"},
    "cc_marker": {"program"},
    "cc_source": {"program"},
    "pause": {"program"},
    "e2cm_prober": {"program"},
    "ib_switch": {"lft", "sl2vl", "schedule", "schedule_ports", "swap"},
    "opa_switch": {"lft", "sc", "schedule", "schedule_ports", "swap"},
}
SELECTED = {
    "high": ListSelect.HIGH,
    "low": ListSelect.LOW,
    "limit": ListSelect.LIMIT,
    "entry": ScheduleSelect.TABLE,
    "map": ScheduleSelect.MAP,
}


def parameters_of(name: str) -> dict[str, Any]:
    return {**BLOCKS[name].defaults(), **GIVEN.get(name, {})}


def bench(component: Any, top: str, told: dict[str, Any]) -> None:
    outcome = run_cocotb(component, top=top, bench=f"vlane.tb.registers.bench_{top}", settings=told)
    assert outcome.tests
    assert outcome.failures == 0, outcome.messages


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("dtable", {}),
        ("sl2vl", {}),
        ("cc_marker", {}),
        ("cc_source", {}),
        ("pause", {}),
        ("e2cm_prober", {}),
        ("ib_switch", {"ports": 34}),
        ("ib_switch", MARKING),
    ],
)
def test_the_bus_reaches_every_port_and_nothing_else(name: str, given: dict[str, Any]) -> None:
    """A third-party AXI4-Lite master writes every register, and only the addressed port changes."""
    parameters = {**parameters_of(name), **given}
    component = RegisterPort(register_map(name, parameters), BLOCKS[name].make(parameters))
    bench(component, "register_port", {"block": name, "parameters": parameters, "seed": 1})


def test_an_arbiter_behind_its_registers_serves_as_golden() -> None:
    parameters = {**BLOCKS["vlarb"].defaults(), "data_vls": 4}
    component = RegisteredBlock(register_map("vlarb", parameters), BLOCKS["vlarb"].make(parameters))
    bench(component, "registered_vlarb", {"parameters": parameters, "seed": 1, "cycles": 500})


def test_the_bus_is_proven() -> None:
    assert prove(AxiLiteProperties(AxiLite(8)), "test-axi-lite").verdict == "PASS"


class Hasty(AxiLite):
    """Bus port that accepts a second address before answering the first."""

    def _write(self, m: Module) -> None:
        super()._write(m)
        m.d.comb += self.s_axil_awready.eq(1)


def test_a_bus_that_takes_too_much_is_not_proven() -> None:
    assert prove(AxiLiteProperties(Hasty(8)), "test-axi-lite-hasty").verdict != "PASS"


@pytest.mark.parametrize("name", REGISTERED)
def test_registers_do_not_overlap_and_do_not_move(name: str) -> None:
    registers = register_map(name, parameters_of(name))
    places = [(at, at + RegisterMap.span(register)) for at, register in registers]
    assert all(low % (high - low) == 0 for low, high in places)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert places[-1][1] <= 1 << registers.address_bits
    names = [register.name for _, register in registers]
    assert len(set(names)) == len(names)
    for _, register in registers:
        if isinstance(register, Window):
            bits = sorted((part.low, part.low + part.bits) for part in register.fields)
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(bits))


@pytest.mark.parametrize("name", REGISTERED)
def test_every_block_can_stand_behind_its_registers(name: str) -> None:
    """Behind its registers, a block keeps all ports except the programmed ones."""
    parameters = parameters_of(name)
    block = BLOCKS[name].make(parameters)
    registers = register_map(name, parameters)
    component = RegisteredBlock(registers, block)
    left = {member for member in block.signature.members if member not in component.signature.members}
    assert left == DRIVEN[name]


def test_a_switch_that_marks_takes_the_attributes_behind_its_registers() -> None:
    """A marking switch has windows for its attributes after the scheduler's registers."""
    parameters = {**BLOCKS["ib_switch"].defaults(), **MARKING}
    block, registers = BLOCKS["ib_switch"].make(parameters), register_map("ib_switch", parameters)
    component = RegisteredBlock(registers, block)
    left = {member for member in block.signature.members if member not in component.signature.members}
    assert left == DRIVEN["ib_switch"] | {"congestion"}
    without = list(register_map("ib_switch", {**parameters, "marking": False}))
    assert list(registers)[: len(without)] == without
    behind = [each for _, each in list(registers)[len(without) :]]
    assert [each.name for each in behind] == [
        "switch_victim_mask",
        "switch_threshold",
        "switch_marking_rate",
        "port_element",
    ]
    assert [(each.entries, each.entry_words) for each in behind if isinstance(each, Window)] == [
        (1, 2),
        (1, 1),
        (1, 1),
        (64, 1),
    ]


def test_a_switch_that_holds_room_back_has_its_windows_behind_those_of_marking() -> None:
    """A switch with credit starvation has its windows after the windows for marking.

    CS_ReturnDelay has the layout of a CCT entry.
    """
    parameters = {**BLOCKS["ib_switch"].defaults(), **STARVING}
    block, registers = BLOCKS["ib_switch"].make(parameters), register_map("ib_switch", parameters)
    component = RegisteredBlock(registers, block)
    left = {member for member in block.signature.members if member not in component.signature.members}
    assert left == DRIVEN["ib_switch"] | {"congestion", "starvation"}
    without = list(register_map("ib_switch", {**parameters, "starving": False}))
    assert list(registers)[: len(without)] == without
    behind = [each for _, each in list(registers)[len(without) :]]
    assert [each.name for each in behind] == ["switch_credit_mask", "switch_credit_starvation"]
    assert [(part.name, part.low) for part in behind[1].fields] == [("multiplier", 0), ("shift", 14), ("threshold", 16)]


@pytest.mark.parametrize(
    ("name", "given"), [*((name, {}) for name in REGISTERED), ("ib_switch", MARKING), ("ib_switch", STARVING)]
)
def test_fields_match_widths_and_selections_of_ports(name: str, given: dict[str, Any]) -> None:
    """Each register field has the width of its port and the correct table selection."""
    parameters = {**parameters_of(name), **given}
    ports = {port.name: port.bits for port in component_ports(BLOCKS[name].make(parameters))}
    for _, register in register_map(name, parameters):
        if isinstance(register, Window):
            for part in register.fields:
                bits = 8 if (name, part.name) == ("scfq", "weight") else part.bits  # reciprocals have up to 16
                assert bits == ports[f"{register.program}__{part.name}"], (register.name, part.name)
            assert all(part.bits <= ports[f"{register.program}__{part.name}"] for part in register.index)
            if register.name in SELECTED:
                assert register.fixed["select"] == SELECTED[register.name]


def test_addresses_of_registers_never_change() -> None:
    registers = register_map("vlarb", {})
    switch = register_map("ib_switch", {"scheduler": "rr"})
    for scheduler in ("vlarb", "dtable", "drr", "scfq"):
        other = register_map("ib_switch", {"scheduler": scheduler})
        assert all(other.address(each.name) == at for at, each in switch)
    assert [(hex(at), register.name) for at, register in registers] == [
        ("0x0", "identity"),
        ("0x4", "swap"),
        ("0x8", "swap_pending"),
        ("0xc", "unreachable"),
        ("0x10", "bad_entries"),
        ("0x400", "limit"),
        ("0x500", "high"),
        ("0x600", "low"),
    ]
    assert registers.address("low", 63) == 0x6FC
    with pytest.raises(ValueError, match="64 entries"):
        registers.address("low", 64)
    with pytest.raises(KeyError):
        registers.address("middle")


@pytest.mark.parametrize(("name", "form"), [("vlarb", "line_rate"), ("dtable", "ib"), ("dtable", "line_rate")])
def test_every_form_has_the_default_addresses(name: str, form: str) -> None:
    """Registers of every form of a block have the addresses of the default form."""
    parameters = {**BLOCKS[name].defaults(), "form": form}
    usual, registers = (register_map(name, given) for given in (BLOCKS[name].defaults(), parameters))
    RegisteredBlock(registers, BLOCKS[name].make(parameters))
    assert all(usual.address(each.name) == at for at, each in registers)


def test_exported_header_module_and_page_match_the_map(tmp_path: Path) -> None:
    given = [word for key, value in GIVEN["ib_switch"].items() for word in ("--param", f"{key}={value}")]
    called = call("export", "ib_switch", "--bus", "axi_lite", "--out", tmp_path, *given, "--json")
    assert [Path(file).name for file in called.json()["files"]] == [
        "ib_switch_axi_lite.v",
        "ib_switch_axi_lite.md",
        "ib_switch_axi_lite.core",
        "ib_switch_axi_lite.vlt",
        "ib_switch_registers.md",
        "ib_switch_registers.h",
        "ib_switch_registers.py",
    ]
    assert all(port["meaning"] for port in called.json()["ports"])
    registers = register_map("ib_switch", {"scheduler": "vlarb"})
    page = (tmp_path / "ib_switch_registers.md").read_text()
    names = runpy.run_path(str(tmp_path / "ib_switch_registers.py"))
    program = ["#include <assert.h>", '#include "ib_switch_registers.h"', "int main(void) {"]
    for at, register in registers:
        assert f"| `{at:#07x}` | `{register.name}` |" in page
        assert names[register.name.upper()] == at
        program.append(f"assert(IB_SWITCH_{register.name.upper()} == {at});")
        if isinstance(register, Window):
            last = registers.address(register.name, register.entries - 1)
            name = register.name.upper()
            assert names[name] + names[f"{name}_STRIDE"] * (names[f"{name}_ENTRIES"] - 1) == last
            steps = f"IB_SWITCH_{name}_STRIDE * (IB_SWITCH_{name}_ENTRIES - 1u)"
            program.append(f"assert(IB_SWITCH_{name} + {steps} == {last});")
    (tmp_path / "check.c").write_text("\n".join([*program, "return 0; }", ""]))
    built = ["g++", "-x", "c", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "check.c", "-o", "check"]
    subprocess.run(built, cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "check"], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "own"),
    [
        *(
            (name, {})
            for name in (
                "vlarb",
                "drr",
                "sl2vl",
                "lft",
                "credit_opa",
                "cc_marker",
                "cc_source",
                "pause",
                "e2cm_prober",
                "ib_switch",
            )
        ),
        ("ib_switch", {**MARKING, "marking": "true"}),
    ],
)
def test_blocks_behind_registers_are_lint_clean(name: str, own: dict[str, Any], tmp_path: Path) -> None:
    parameters = {**GIVEN.get(name, {}), **own}
    given = [word for key, value in parameters.items() for word in ("--param", f"{key}={value}")]
    assert call("export", name, "--bus", "axi_lite", "--out", tmp_path, *given).status == 0
    assert_lint_clean(tmp_path, f"{name}_axi_lite")


def test_bad_input_is_refused(tmp_path: Path) -> None:
    assert_refused(call("export", "rr", "--bus", "axi_lite", "--out", tmp_path), "--bus", "rr")
    assert_refused(call("export", "vlbuffer", "--bus", "axi_lite", "--out", tmp_path), "--bus", "vlbuffer")
    assert_refused(call("export", "drr", "--bus", "wishbone", "--out", tmp_path), "--bus", "wishbone")
    assert list(tmp_path.iterdir()) == []
