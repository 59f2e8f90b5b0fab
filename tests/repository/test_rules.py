"""The repository's own rules: packaging, documentation, sizes, layout."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from amaranth.lib import wiring
from packaging.requirements import Requirement

import vlane
from vlane.families import FAMILY_OF
from vlane.hdl.buffers.admission import Admission
from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.buffers.size_queue import SizeQueue
from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.congestion.bth_marker import BTHMarker
from vlane.hdl.congestion.flow_sets import FlowSets
from vlane.hdl.congestion.injection_gap import InjectionGap
from vlane.hdl.congestion.marker_settings import CCMarkerProgramSignature, CCMarkerSettings
from vlane.hdl.congestion.source_settings import CCSourceProgramSignature, CCSourceSettings
from vlane.hdl.credits.credit_ib import CreditIBReceiver, CreditIBSender
from vlane.hdl.credits.credit_opa import BufferControlSignature, CreditOPASender
from vlane.hdl.credits.credit_opa_receiver import CreditOPAReceiver
from vlane.hdl.credits.fcp_offer import FCPOffer
from vlane.hdl.links.fcp_limits import FCPLimits
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin, FCPTimes
from vlane.hdl.links.link import (
    CrossingSignature,
    LaneCrossingSignature,
    LaneReturnSignature,
    LinkSignature,
    ReturnSignature,
)
from vlane.hdl.schedulers.base import ScheduleSignature
from vlane.hdl.schedulers.block_budget import BlockBudget
from vlane.hdl.schedulers.deficit import DeficitTurns
from vlane.hdl.schedulers.lane_account import LaneAccount
from vlane.hdl.schedulers.list_memory import ListMemory
from vlane.hdl.schedulers.list_walk import ListWalk
from vlane.hdl.schedulers.ports import HeadsSignature
from vlane.hdl.schedulers.rr import RR
from vlane.hdl.schedulers.vlarb_banks import ProgramSignature, VLArbBanks
from vlane.hdl.switches.allocator import Allocator
from vlane.hdl.switches.centre import Centre
from vlane.hdl.switches.input_measure import InputMeasure
from vlane.hdl.switches.lane_input import LaneInput
from vlane.hdl.switches.lane_output import LaneOutput
from vlane.hdl.switches.opa_allocator import OPAAllocator
from vlane.hdl.switches.pair_allocator import PairAllocator
from vlane.hdl.switches.pair_turns import PairTurns
from vlane.hdl.switches.request_ages import RequestAges
from vlane.hdl.switches.switch_input import SwitchInput
from vlane.hdl.switches.switch_output import SwitchOutput
from vlane.hdl.switches.write_port import WritePort
from vlane.hdl.tables.lft import LFTProgramSignature
from vlane.hdl.tables.sc import SCProgramSignature
from vlane.hdl.tables.sl2vl import SL2VLProgramSignature
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.rr import RRParameters
from vlane.sim_top.blocks import BLOCKS, Block

BENCH = ("__init__", "stimulus", "crosses", "proofs", "plants")
"""Modules of every block's bench."""
MOST_LINES = 139_000
"""Maximum number of lines of product code."""
ROOT = Path(__file__).parent.parent.parent
FOLDERS = {"vlane": "vlane", "golden": "vlane.golden", "hdl": "vlane.hdl", "tb": "vlane.tb", "sim_top": "vlane.sim_top"}
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def module_names() -> list[str]:
    names = []
    for folder, package in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = list(file.relative_to(ROOT / folder).with_suffix("").parts)
            if parts[-1] == "__main__" or parts[-2:] == ["cocotb_benches", "bench"]:  # run by the simulator only
                continue
            names.append(".".join([package, *(part for part in parts if part != "__init__")]))
    return names


def modules() -> list[ModuleType]:
    return [importlib.import_module(name) for name in module_names()]


@pytest.mark.parametrize("layer", ["golden", "hdl", "tb", "sim_top"])
def test_the_import_path_of_a_layer_is_its_file_path(layer: str) -> None:
    """Each layer within ``vlane/`` is a committed link, so editors resolve imports without set-up."""
    link = ROOT / "vlane" / layer
    assert link.is_symlink()
    assert link.readlink() == Path("..") / layer


@pytest.mark.parametrize("folder", [*FOLDERS, "tests"])
def test_no_folder_has_too_many_modules(folder: str) -> None:
    """No folder has more than 25 modules."""
    counts = Counter(file.parent for file in (ROOT / folder).rglob("*.py") if file.name != "__init__.py")
    assert {str(place): count for place, count in counts.items() if count > 25} == {}


def test_every_package_says_in_one_line_what_belongs_there() -> None:
    """Every package has a docstring whose first line is a sentence."""
    for folder in (*FOLDERS, "tests"):
        for init in (ROOT / folder).rglob("__init__.py"):
            lines = (ast.get_docstring(ast.parse(init.read_text())) or "").splitlines()
            assert lines, init
            assert lines[0].endswith("."), init


def test_the_formatter_decides() -> None:
    """At most 30 places keep their own layout, each after a comment with the reason."""
    marks = []
    for folder in (*FOLDERS, "tests", "docs", "bench"):
        for file in (ROOT / folder).rglob("*.py"):
            lines = file.read_text().splitlines()
            marks += [
                (file, before.strip()) for before, line in pairwise(lines) if re.match(r" *# fmt: (off|skip)", line)
            ]
            assert not [line for line in lines if re.search(r"\S.*# fmt: skip$", line)], file
    assert len(marks) <= 30
    assert [file for file, reason in marks if not reason.startswith("# ")] == []


def test_product_code_keeps_its_size() -> None:
    """Product code stays within its line limit and tests within half of the product code."""
    lines = {
        folder: sum(len(file.read_text().splitlines()) for file in (ROOT / folder).rglob("*.py"))
        for folder in (*FOLDERS, "tests")
    }
    product = sum(lines.values()) - lines["tests"]
    assert product <= MOST_LINES
    assert lines["tests"] <= product / 2


@pytest.mark.slow
def test_sdist_is_the_checkout_and_the_wheel_holds_every_module_and_nothing_else(tmp_path: Path) -> None:
    """The sdist contains the checkout, and the wheel contains exactly the modules and their data files."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), "."],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )

    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as sdist:
        shipped = {name.partition("/")[2] for name in sdist.getnames()}
    kept = [file for folder in (*FOLDERS, "tests", "docs", "bench", ".ci") for file in (ROOT / folder).rglob("*")]
    assert {
        str(file.relative_to(ROOT)) for file in kept if file.is_file() and "__pycache__" not in file.parts
    } <= shipped
    assert {"Makefile", "README.md", "LICENSE", "requirements.txt", "pyproject.toml", "CHANGELOG.md"} <= shipped
    wheel = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = set()
    for folder, package in FOLDERS.items():
        for place, _, names in os.walk(ROOT / folder, followlinks=True):
            within = Path(place).relative_to(ROOT / folder)
            if folder == "vlane" and within.parts[:1] and within.parts[0] in FOLDERS:
                continue  # a link to another layer
            is_example = within.parts[:1] == ("configs",)
            for name in names:
                if is_example or Path(name).suffix in {
                    ".py",
                    ".toml",
                    ".typed",
                    ".cpp",
                    ".hpp",
                    ".rdl",
                    ".j2",
                    ".css",
                    ".html",
                    ".js",
                    ".lib",
                    ".sv",
                    ".v",
                }:
                    wanted.add("/".join([*package.split("."), *within.parts, name]))
    assert held == wanted


def test_requirements_are_pinned_by_hash() -> None:
    """Every requirement is pinned with hashes, and each pin satisfies its requirement.

    Older versions of pip accept a pre-release only if the requirement names one.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = re.findall(
        r"^([a-z0-9_.-]+)==(\S+)[^\\\n]*(?:\\\n +--hash=sha256:[0-9a-f]{64} ?)+$",
        (ROOT / "requirements.txt").read_text(),
        re.MULTILINE | re.IGNORECASE,
    )
    needed = [
        Requirement(each)
        for each in (
            *project["build-system"]["requires"],
            *project["project"]["dependencies"],
            *(each for extra in project["project"]["optional-dependencies"].values() for each in extra),
        )
    ]
    needed = [each for each in needed if each.name != "vlane"]  # dev includes the other extras

    for each in needed:  # a package may have one pin for each range of Python versions
        versions = [version for name, version in pins if name == each.name]
        assert versions, each
        assert all(each.specifier.contains(it, prereleases=bool(each.specifier.prereleases)) for it in versions), each
    assert len(pins) == sum("==" in line for line in (ROOT / "requirements.txt").read_text().splitlines())


def test_exported_names_exist_and_are_documented() -> None:
    """Every name in ``__all__`` exists and has a docstring."""
    wrong = []
    for module in modules():
        for name in getattr(module, "__all__", []):
            value = getattr(module, name, None)
            if not hasattr(module, name):
                wrong.append(f"{module.__name__}.{name} is missing")
            elif (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value):
                wrong.append(f"{module.__name__}.{name} has no docstring")

    assert wrong == []


def test_examples_in_docstrings_hold() -> None:
    """Examples in docstrings hold."""
    results = {module.__name__: doctest.testmod(module) for module in modules()}

    assert [name for name, result in results.items() if result.failed] == []
    assert sum(result.attempted for result in results.values()) > 20


EVERY_MEMBER: dict[str, tuple[dict[str, Any], ...]] = {
    **{each.name: ({"requesters": 4},) for each in SCHEDULERS.values() if each.maps and not each.section},
    "ib_switch": (
        {"scheduler": "vlarb"},
        {"credit": "fcp", "minimum": 8, "maximum": 8},
        {"scheduler": "vlarb", "ports": 2, "data_vls": 2, "maximum": 4, "crossbar": "per_vl"},
        {"ports": 2, "data_vls": 2, "maximum": 4, "crossbar": "per_vl", "credit": "fcp"},
        {"ports": 2, "data_vls": 2, "speed": 2},
        {"ports": 2, "data_vls": 2, "maximum": 4, "speed": 2, "credit": "fcp"},
    ),
    "opa_switch": ({"scheduler": "vlarb"},),
}
"""Parameters of instances that together have every member."""
_SIZES = BufferGeometry(vls=2, blocks=8, minimum=2, maximum=6, largest=2)
_CROSSING: dict[str, Any] = {"ports": 2, "data_bits": 64, "flits": 3}
_SIDE: dict[str, Any] = {**_CROSSING, "geometry": _SIZES, "vl_bits": 5}
_TWO = RRParameters(data_vls=2, vl15=False)
_OUTPUTS = [
    SwitchOutput(RR(_TWO), write_ports=2, fcp=None, measured=True, **_SIDE),
    SwitchOutput(RR(_TWO), write_ports=1, fcp=FCPTimes(2, 9), **{**_SIDE, "vl_bits": 4}),
]
_LANE_SIDE: dict[str, Any] = {"geometry": _SIZES, "data_bits": 64, "vl_bits": 4}
_LANE_OUTPUTS = [LaneOutput(RR(_TWO), fcp=fcp, measured=True, **_LANE_SIDE) for fcp in (None, FCPTimes(2, 9))]


def instances(name: str, block: Block) -> Iterator[dict[str, Any]]:
    """Return parameter sets that cover every form and every member of a block."""
    for given in EVERY_MEMBER.get(name, ({},)):
        for form in getattr(block.component, "forms", None) or ("",):
            yield {**given, **({"form": form} if form else {})}


MADE = [block.make({**block.defaults(), **given}) for name, block in BLOCKS.items() for given in instances(name, block)]
MADE += [
    BLOCKS[name].make({**BLOCKS[name].defaults(), "parity": True, **form})  # not every form has this member
    for name, form in (
        ("vlarb", {}),
        ("dtable", {"form": "free"}),
        ("dtable", {"form": "ib"}),
        ("credit_ib", {}),
        ("credit_opa", {}),
    )
]
COMPONENTS = [[each for each in MADE if type(each) is kind] for kind in dict.fromkeys(map(type, MADE))] + [
    _OUTPUTS,
    _LANE_OUTPUTS,
    [RoundRobin(2), RoundRobin(5, 3)],
]
PARTS = [
    VLArbBanks(data_vls=4, entries=4),
    ListSearch(4),
    ListMemory(data_vls=4, entries=9, lane_bits=4),
    ListWalk(data_vls=4, entries=9, lane_bits=4),
    BlockBudget(8, starts_with=0),
    LaneAccount(),
    DeficitTurns(entries=4, requesters=2, keep_on_stall=False, most_kept=65),
    BTHMarker(128),
    InputMeasure(ports=2, vls=2, maximum=8),
    CCMarkerSettings(),
    CCSourceSettings(127),
    FlowSets(4),
    InjectionGap(cct_entries=128, shift_first=False, place_bits=4),
    CreditIBSender(2, behind=True),
    FCPOffer(vls=2, step=2, period=9, sent=0, most_ahead=8, due_at_reset=False),
    CreditIBReceiver(2, 16),
    CreditOPASender(2),
    CreditOPAReceiver(2, 0),
    Allocator(ports=2, vls=2),
    OPAAllocator(ports=2, vls=2),
    PairAllocator(ports=2, vls=2, blocks=4, largest=2, queues=True),
    PairTurns(4, 4),
    RequestAges(4),
    Admission(vls=2, minimum=2, maximum=4, shared=2, largest=2, readers=1, read_flits=1),
    WritePort(2),
    _SIZES.room(returned=3, behind=True),
    SizeQueue(depth=3, largest=2),
    SwitchInput(by_channel=True, counts_waiting=True, starves=True, **_SIDE),
    LaneInput(ports=2, counts_waiting=True, **_LANE_SIDE),
    FCPRoundRobin(vls=2, blocks=8, step=2, period=9),
    FCPLimits(vls=2, blocks=8, largest=2, behind=True),
    Centre(geometry=_SIZES, **_CROSSING),
]
SIGNATURES = [
    HeadsSignature(4),
    ProgramSignature(),
    ScheduleSignature(8),
    SL2VLProgramSignature(),
    SCProgramSignature(),
    LFTProgramSignature(),
    BufferControlSignature(),
    CCMarkerProgramSignature(),
    CCSourceProgramSignature(),
    LinkSignature(64),
    ReturnSignature(),
    LaneReturnSignature(2),
    LaneCrossingSignature(64),
    CrossingSignature(vls=2, largest=2, **_CROSSING),
]


@pytest.mark.parametrize(
    ("documented", "signatures"),
    [
        *((type(c[0]), [each.signature for each in c]) for c in (*COMPONENTS, *([part] for part in PARTS))),
        *((type(s), [s]) for s in SIGNATURES),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_members_of_the_docstring_are_those_of_the_signature(
    documented: type, signatures: list[wiring.Signature]
) -> None:
    """The Members section of a component lists exactly its ports with their directions."""
    text = inspect.getdoc(documented) or ""
    section = re.search(r"Members\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+|\Z)", text, re.DOTALL)
    assert section is not None

    said = {
        name.strip(): flow
        for names, flow in re.findall(r"^([\w, ]+) : (In|Out)\(", section.group(1), re.MULTILINE)
        for name in names.split(",")
    }
    assert said == {name: member.flow.name for signature in signatures for name, member in signature.members.items()}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_noun_has_its_five_files(name: str) -> None:
    """Each block has its files in every layer, in the same family."""
    (golden,) = (ROOT / "golden").glob(f"*/{name}.py")
    assert (ROOT / "hdl" / golden.parent.name / golden.name).is_file()
    family = golden.parent.name
    assert family == FAMILY_OF[name]
    assert {each.name for each in (ROOT / "tb" / family / name).iterdir()} >= {f"{part}.py" for part in BENCH}
    for file in (f"vlane/{family}/{name}.py", f"tests/{family}/test_{name}.py", f"docs/{name}.md"):
        assert (ROOT / file).is_file(), file


def test_links_and_paths_of_the_docs_exist() -> None:
    """Links, file names and make targets in the docs exist."""
    makefile, wrong = (ROOT / "Makefile").read_text(), []
    for page in DOCS:
        text = page.read_text()
        targets = [each for each in re.findall(r"\]\(([^)#]+)\)", text) if not each.startswith("http")]
        wrong += [(page.name, each) for each in targets if not (page.parent / each).exists()]
        files = re.findall(r"`((?:docs|tests|golden|hdl|tb|sim_top|bench|vlane)/[\w./-]+)`", text)
        wrong += [
            (page.name, each) for each in files if not re.search("NOUN|BLOCK", each) and not (ROOT / each).exists()
        ]
        wrong += [(page.name, goal) for goal in re.findall(r"`make ([a-z-]+)", text) if f"\n{goal}:" not in makefile]

    assert wrong == []


def test_commands_in_the_docs_are_accepted() -> None:
    """Each ``vlane`` command in README and ``docs/commands.md`` names an existing verb."""
    import typer  # noqa: PLC0415

    from vlane.sim_top.cli.main import app  # noqa: PLC0415

    group: Any = typer.main.get_command(app)
    verbs = set(group.list_commands(None))
    for name in ("fabric", "dtable"):
        verbs |= {f"{name} {inner}" for inner in group.get_command(None, name).commands}
    text = (ROOT / "README.md").read_text() + (ROOT / "docs" / "commands.md").read_text()
    used = set(re.findall(r"^ +vlane ((?:fabric |dtable )?\w+)", text, re.MULTILINE))

    assert used
    assert used <= verbs


def test_no_path_of_a_machine_in_the_tree() -> None:
    """No tracked file contains an absolute path of a machine."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for name in filter(None, tracked.split("\0")):
        file = ROOT / name
        if file.is_file() and file.suffix not in {".png", ".gif"} and not name.startswith("tests/"):
            assert not re.search(r"(?<![\w.~])/(work|home|root|farm)/", file.read_text(errors="replace")), name


def test_every_module_is_short_enough() -> None:
    """No module of product code exceeds 500 lines."""
    long = {
        file.name: count
        for name in FOLDERS
        for file in (ROOT / name).rglob("*.py")
        if (count := len(file.read_text().splitlines())) > 500
    }

    assert long == {}


def test_versions_agree() -> None:
    """The version in ``pyproject.toml`` equals ``vlane.__version__``."""
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == vlane.__version__
    assert list(pkgutil.iter_modules(vlane.__path__))
