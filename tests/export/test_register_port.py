"""Registers over AXI4-Lite: address maps, a third-party bus master, blocks behind registers."""

from __future__ import annotations

import itertools
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, Out
from systemrdl.compiler import RDLCompiler
from systemrdl.node import RegNode

from tests.conftest import assert_lint_clean, assert_refused, call, long_rows
from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.congestion.cc_source import CCSourceSelect
from vlane.credits.credit_opa import BufferSelect
from vlane.hdl.registers.axi_lite import BUS_PREFIX, AxiLite, axi_lite_members
from vlane.hdl.registers.register_port import RegisteredBlock, RegisterPort
from vlane.registers.description import REGISTERED, register_map
from vlane.registers.register_map import WORD_BYTES, Constant, Status, Window
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import ListSelect, ScheduleSelect
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.systemverilog.keywords import SYSTEMVERILOG
from vlane.tables.sc import SCTable
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
    "e2cm_prober": {"base": "given"},
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


def parameters_of(name: str) -> dict[str, Any]:
    return {**BLOCKS[name].defaults(), **GIVEN.get(name, {})}


def bench(component: Any, top: str, told: dict[str, Any]) -> None:
    outcome = run_cocotb(component, top=top, bench=f"vlane.tb.registers.bench_{top}", settings=told)
    assert outcome.tests
    assert outcome.failures == 0, outcome.messages


@pytest.mark.parametrize(
    ("name", "given"),
    long_rows(
        (0, 1, 2, 5, 7),
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
    ),
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


BACK_DOORS: dict[str, tuple[dict[str, Any], Any]] = {
    "vlarb": (
        {"data_vls": 3, "entries": 3, "vl15": False},
        lambda block: {
            "limit": [{"weight": block.banks.limits[1]}],
            **{
                name: [{"weight": each.weight, "vl": each.vl} for each in listed]
                for name, listed in zip(("high", "low"), block.banks.lists[1], strict=True)
            },
        },
    ),
    "dtable": (
        {"data_vls": 3, "entries": 3, "requesters": 2, "vl15": False},
        lambda block: {
            "entry": [{"weight": each.weight, "requester": each.requester} for each in block.banks[1]],
            "map": [{"requester": owner} for owner in block.owners],
        },
    ),
    "drr": ({"data_vls": 3, "vl15": False}, lambda block: {"entry": [{"weight": each} for each in block.quanta]}),
    "wrr": ({"data_vls": 3, "vl15": False}, lambda block: {"entry": [{"weight": each} for each in block.weights]}),
    "scfq": ({"data_vls": 3, "vl15": False}, lambda block: {"entry": [{"weight": each} for each in block.reciprocals]}),
    "credit_opa": (
        {"vls": 3},
        lambda block: {
            "dedicated": [{"units": each} for each in block.sender.new_dedicated],
            "shared": [{"units": each} for each in block.sender.new_shared],
            "overall": [{"units": block.sender.new_overall}],
        },
    ),
    "pause": (
        {"memory_bytes": (1 << 24) - 1},
        lambda block: {"watermarks": [{"high": block.high, "low": block.low, "pause_on": block.pause_on}]},
    ),
}
"""Parameters of blocks, and functions from a block to the signals that store each field of its tables' entries."""


class BackDoors(wiring.Component):
    """Blocks behind their registers, with the signals that store their tables as further outputs."""

    def __init__(self) -> None:
        self.behind: dict[str, RegisteredBlock] = {}
        self.stored: dict[str, Any] = {}
        members: dict[str, Any] = {}
        for name, (given, back_door) in BACK_DOORS.items():
            parameters = {**BLOCKS[name].defaults(), **given}
            block, registers = BLOCKS[name].make(parameters), register_map(name, parameters)
            self.behind[name] = RegisteredBlock(registers, block)
            bus = axi_lite_members(registers.address_bits)
            members |= {f"{name}__{member}": flow for member, flow in bus.items()}
            for table, entries in back_door(block).items():
                for entry, fields in enumerate(entries):
                    self.stored |= {f"{name}__{table}_{entry}_{field}": value for field, value in fields.items()}
        members |= {name: Out(len(Value.cast(value))) for name, value in self.stored.items()}
        super().__init__(members)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for name, behind in self.behind.items():
            m.submodules[name] = behind
            for member in (each for each in behind.signature.members if each.startswith(BUS_PREFIX)):
                outer, inner = getattr(self, f"{name}__{member}"), getattr(behind, member)
                is_output = behind.signature.members[member].flow == Flow.Out
                m.d.comb += outer.eq(inner) if is_output else inner.eq(outer)
        m.d.comb += [getattr(self, name).eq(value) for name, value in self.stored.items()]
        return m


def test_entries_written_over_the_bus_are_stored_in_the_block() -> None:
    """Front door against back door: entries that the bus writes and reads are those in the blocks' internal signals."""
    blocks = {name: {**BLOCKS[name].defaults(), **given} for name, (given, _) in BACK_DOORS.items()}
    largest = {"dtable.entry": {"requester": 1}, "dtable.map": {"requester": 1}, "pause.watermarks": {"low": 1}}
    bench(BackDoors(), "back_door", {"blocks": blocks, "largest": largest, "seed": 1})


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
def test_registers_do_not_overlap(name: str) -> None:
    registers = register_map(name, parameters_of(name))
    places = [(each.address, each.address + WORD_BYTES * each.words) for each in registers]
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert places[-1][1] <= 1 << registers.address_bits
    names = [each.name for each in registers]
    assert len(set(names)) == len(names)
    assert names[:3] == ["identity", "version", "size"]
    for each in registers:
        bits = sorted((part.low, part.low + part.bits) for part in each.fields)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(bits))
        if isinstance(each, Window):
            assert each.address % (WORD_BYTES * each.entry_words << each.bits) == 0
            assert all(part.count <= 1 << part.bits for part in each.index)


@pytest.mark.parametrize("name", REGISTERED)
def test_every_block_can_stand_behind_its_registers(name: str) -> None:
    """Behind its registers, a block keeps all ports except the programmed ones."""
    parameters = parameters_of(name)
    block = BLOCKS[name].make(parameters)
    registers = register_map(name, parameters)
    component = RegisteredBlock(registers, block)
    left = {member for member in block.signature.members if member not in component.signature.members}
    assert left == DRIVEN[name]


@pytest.mark.parametrize(
    ("given", "driven", "added"),
    [
        (MARKING, {"congestion"}, ["switch_victim_mask", "switch_threshold", "switch_marking_rate", "port_element"]),
        (
            STARVING,
            {"congestion", "starvation"},
            [
                "switch_victim_mask",
                "switch_threshold",
                "switch_marking_rate",
                "switch_credit_mask",
                "switch_credit_starvation",
                "port_element",
            ],
        ),
    ],
)
def test_options_of_a_switch_add_registers_and_move_none(
    given: dict[str, Any], driven: set[str], added: list[str]
) -> None:
    """A switch with congestion marking and credit starvation has their tables, and the other registers stay."""
    parameters = {**BLOCKS["ib_switch"].defaults(), **given}
    registers = register_map("ib_switch", parameters)
    component = RegisteredBlock(registers, BLOCKS["ib_switch"].make(parameters))
    plain = register_map("ib_switch", {**parameters, "marking": False, "starving": False})
    left = set(BLOCKS["ib_switch"].make(parameters).signature.members) - set(component.signature.members)
    assert left == DRIVEN["ib_switch"] | driven
    assert [each for each in registers if each.name not in added] == list(plain)
    assert [each.name for each in registers if each not in list(plain)] == added


@pytest.mark.parametrize(
    ("name", "given"), [*((name, {}) for name in REGISTERED), ("ib_switch", MARKING), ("ib_switch", STARVING)]
)
def test_fields_match_widths_and_selections_of_ports(name: str, given: dict[str, Any]) -> None:
    """Each register field has the width of its port and the correct table selection."""
    parameters = {**parameters_of(name), **given}
    block = BLOCKS[name].make(parameters)
    ports = {port.name: port.bits for port in component_ports(block)}
    for register in register_map(name, parameters):
        if isinstance(register, Window):
            for part in register.fields:
                assert part.bits == ports[f"{register.program}__{part.name}"], (register.name, part.name)
            for number in register.index:
                assert (number.count - 1).bit_length() <= ports[f"{register.program}__{number.name}"], register.name
        elif isinstance(register, Status):
            assert register.bits * register.words >= ports[register.member], register.name
        elif not isinstance(register, Constant):
            assert register.member_low + register.bits <= ports[register.member], register.name


SELECTIONS = {
    "vlarb": {"high": ListSelect.HIGH, "low": ListSelect.LOW, "limit": ListSelect.LIMIT},
    "dtable": {"entry": ScheduleSelect.TABLE, "map": ScheduleSelect.MAP},
    "rr": {"map": ScheduleSelect.MAP},
    "sc": {table.name.lower(): table for table in SCTable},
    "credit_opa": {"dedicated": BufferSelect.DEDICATED, "shared": BufferSelect.SHARED, "overall": BufferSelect.OVERALL},
    "cc_marker": {
        "switch_victim_mask": CCMarkerSelect.VICTIM_MASK,
        "switch_threshold": CCMarkerSelect.THRESHOLD,
        "switch_marking_rate": CCMarkerSelect.MARKING_RATE,
        "port_element": CCMarkerSelect.PORT,
    },
    "cc_source": {
        "port_control": CCSourceSelect.PORT_CONTROL,
        "ccti_limit": CCSourceSelect.LIMIT,
        "sl": CCSourceSelect.LEVEL,
        "cct": CCSourceSelect.TABLE,
    },
}


@pytest.mark.parametrize(("name", "wanted"), SELECTIONS.items())
def test_tables_are_selected_as_the_block_expects(name: str, wanted: dict[str, int]) -> None:
    registers = register_map(name, {**parameters_of(name), "requesters": 2})
    found = {each.name: each.select for each in registers if isinstance(each, Window)}
    assert {table: select and select[1] for table, select in found.items()} == wanted


def test_addresses_do_not_depend_on_sizes_and_options() -> None:
    """A register has one address in instances of any size, form and scheduler."""
    assert [(hex(each.address), each.name) for each in register_map("vlarb", {})] == [
        ("0x0", "identity"),
        ("0x4", "version"),
        ("0x8", "size"),
        ("0x10", "swap"),
        ("0x14", "swap_pending"),
        ("0x18", "unreachable"),
        ("0x1c", "bad_entries"),
        ("0x400", "limit"),
        ("0x500", "high"),
        ("0x600", "low"),
    ]
    instances: dict[str, list[dict[str, Any]]] = {
        "vlarb": [{"entries": 1}, {"entries": 64, "data_vls": 15}, {"form": "line_rate"}],
        "dtable": [{"form": "ib"}, {"form": "line_rate"}, {"entries": 128, "requesters": 32}, {"data_vls": 2}],
        "sc": [{"ports": 1}, {"ports": 48}],
        "sl2vl": [{"inputs": 1, "outputs": 64}, {"inputs": 64, "outputs": 1}],
        "ib_switch": [{"scheduler": name, "ports": ports} for name in SCHEDULERS for ports in (2, 48)],
    }
    for name, given in instances.items():
        places: dict[str, int] = {}
        for each in given:
            for register in register_map(name, {**BLOCKS[name].defaults(), **each}):
                assert places.setdefault(register.name, register.address) == register.address, register.name


def test_an_entry_past_the_end_has_no_address() -> None:
    registers = register_map("vlarb", {"entries": 5})
    assert registers.address("low", 4) == 0x610
    with pytest.raises(ValueError, match="low has 5 entries of 1 words"):
        registers.address("low", 5)
    with pytest.raises(KeyError):
        registers.address("middle")


def test_exported_files_match_the_map(tmp_path: Path) -> None:
    """Page, C header, Python module, SystemRDL, IP-XACT and UVM model of a switch name the addresses of the map."""
    given = [word for key, value in GIVEN["ib_switch"].items() for word in ("--param", f"{key}={value}")]
    called = call("export", "ib_switch", "--bus", "axi_lite", "--out", tmp_path, *given, "--json")
    assert [Path(file).name for file in called.json()["files"]][-6:] == [
        "ib_switch_registers.md",
        "ib_switch_registers.h",
        "ib_switch_registers.py",
        "ib_switch_registers.rdl",
        "ib_switch_registers.xml",
        "ib_switch_registers_pkg.sv",
    ]
    assert all(port["meaning"] for port in called.json()["ports"])
    registers = register_map("ib_switch", {**BLOCKS["ib_switch"].defaults(), **GIVEN["ib_switch"]})
    page = (tmp_path / "ib_switch_registers.md").read_text()
    names = runpy.run_path(str(tmp_path / "ib_switch_registers.py"))
    program = ["#include <stddef.h>", '#include "ib_switch_registers.h"', "int main(void) {"]
    for each in registers:
        name = each.name.upper()
        assert f"| `{each.address:#07x}` | `{each.name}` |" in page
        assert names[name] == each.address
        program.append(f"assert(IB_SWITCH_{name} == {each.address});")
        if isinstance(each, Window):
            assert names[f"{name}_ENTRIES"] == each.entry_count
            program.append(f"assert(IB_SWITCH_{name}_ENTRIES == {each.entry_count});")
    at = registers.address("sl2vl", 1 << 6 | 1)
    assert names["SL2VL"] + names["SL2VL_INPUT_STRIDE"] + names["SL2VL_STRIDE"] == at
    assert names["HIGH_ENTRIES"] == GIVEN["ib_switch"]["entries"]
    program.append(f"assert(offsetof(ib_switch_t, inputs[1].sl2vl[1]) == {at});")
    program.append(f"assert(offsetof(ib_switch_t, schedule.high[7]) == {registers.address('high', 7)});")
    (tmp_path / "check.c").write_text("\n".join([*program, "return 0; }", ""]))
    built = ["g++", "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "check.c", "-o", "check"]
    subprocess.run(built, cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "check"], check=True)

    compiler = RDLCompiler()
    compiler.compile_file(str(tmp_path / "ib_switch_registers.rdl"))
    compiled = [each for each in compiler.elaborate().top.descendants(unroll=True) if isinstance(each, RegNode)]
    assert {each.absolute_address for each in compiled} == {
        registers.address(each.name, entry)
        for each in registers
        for entry in (each.entries if isinstance(each, Window) else range(1))
    }
    document = ET.parse(tmp_path / "ib_switch_registers.xml")  # noqa: S314 - our own file
    space = {"ipxact": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
    offsets = {
        each.findtext("ipxact:name", namespaces=space): each.findtext("ipxact:addressOffset", namespaces=space)
        for each in document.iterfind(".//ipxact:addressBlock/ipxact:register", space)
    }
    assert offsets["lft"] == f"'h{registers.address('lft'):x}"
    model = (tmp_path / "ib_switch_registers_pkg.sv").read_text()
    declared = set(re.findall(r"^ *(?:rand )?(?:\w+) (\w+)(?:\[\d+\])*;$", model, re.MULTILINE))
    assert {"identity", "schedule_ports", "lft", "schedule", "row"} <= declared
    assert not declared & SYSTEMVERILOG


def test_html_pages_come_from_the_exported_description(tmp_path: Path) -> None:
    """The command of the page makes HTML from the exported description."""
    assert call("export", "vlarb", "--bus", "axi_lite", "--out", tmp_path, "--param", "entries=3").status == 0
    peakrdl = Path(sys.executable).parent / "peakrdl"
    html = [str(peakrdl), "html", "vlarb_registers.rdl", "-o", "html"]
    subprocess.run(html, cwd=tmp_path, check=True, capture_output=True)
    assert any("high-priority list" in page.read_text() for page in (tmp_path / "html" / "content").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "own"),
    long_rows(
        (0, 3, 4, 6, 8, 10),
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
    ),
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
