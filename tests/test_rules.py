"""The repository's own rules: what is shipped, documented, exported and said."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from amaranth.lib import wiring
from vlane.hdl.allocator import Allocator
from vlane.hdl.block_budget import BlockBudget
from vlane.hdl.buffer_sizes import BufferSizes
from vlane.hdl.centre import Centre
from vlane.hdl.credit_ib import CreditIBReceiver, CreditIBSender
from vlane.hdl.credit_opa import BufferControlSignature, CreditOPASender
from vlane.hdl.credit_opa_receiver import CreditOPAReceiver
from vlane.hdl.deficit import DeficitTurns
from vlane.hdl.door import Door
from vlane.hdl.egress import HeadsSignature
from vlane.hdl.fcp_turns import FCPTimes, FCPTurns
from vlane.hdl.lane_account import LaneAccount
from vlane.hdl.lft import LFTProgramSignature
from vlane.hdl.limits import Limits
from vlane.hdl.link import CrossingSignature, LinkSignature, ReturnSignature
from vlane.hdl.list_search import ListSearch
from vlane.hdl.list_walk import ListWalk
from vlane.hdl.opa_allocator import OPAAllocator
from vlane.hdl.rr import RR
from vlane.hdl.sc import SCProgramSignature
from vlane.hdl.scheduler import ScheduleSignature
from vlane.hdl.size_queue import SizeQueue
from vlane.hdl.sl2vl import SL2VLProgramSignature
from vlane.hdl.switch_input import SwitchInput
from vlane.hdl.switch_output import SwitchOutput
from vlane.hdl.turns import Turns
from vlane.hdl.vlarb_banks import ProgramSignature, VLArbBanks
from vlane.sim_top.blocks import BLOCKS

import vlane

ROOT = Path(__file__).parent.parent
FOLDERS = {"vlane": "vlane", "golden": "vlane.golden", "hdl": "vlane.hdl", "tb": "vlane.tb", "sim_top": "vlane.sim_top"}
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def module_names() -> list[str]:
    names = []
    for folder, package in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = list(file.relative_to(ROOT / folder).with_suffix("").parts)
            if parts[-1] == "__main__":
                continue
            names.append(".".join([package, *(part for part in parts if part != "__init__")]))
    return names


def modules() -> list[ModuleType]:
    return [importlib.import_module(name) for name in module_names()]


def test_packages_of_the_wheel_are_the_folders_of_the_tree() -> None:
    """A fixed list loses new subpackages from the wheel."""
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])

    in_tree = set()
    for folder, package in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            in_tree.add(".".join([package, *init.parent.relative_to(ROOT / folder).parts]))
    assert listed == in_tree


@pytest.mark.slow
def test_wheel_holds_every_module_and_nothing_else(tmp_path: Path) -> None:
    """Site-packages gains one name, with every source and every file that sources read."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), "."],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip

    wheel = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = set()
    for folder, package in FOLDERS.items():
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in {".py", ".typed", ".cpp", ".vlt", ".j2", ".toml", ".csv", ".txt", ".lib", ".v"}:
                wanted.add("/".join([*package.split("."), *file.relative_to(ROOT / folder).parts]))
    assert held == wanted


@pytest.mark.parametrize("module", modules(), ids=module_names())
def test_exported_names_exist_and_are_all_of_them(module: ModuleType) -> None:
    """What a module exports is there; what it defines without an underscore, other layers may see."""
    exported = set(getattr(module, "__all__", []))

    assert all(hasattr(module, name) for name in exported)
    documented = {
        name for name in exported if inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))
    }
    assert all(inspect.getdoc(getattr(module, name)) for name in documented)


@pytest.mark.parametrize("module", modules(), ids=module_names())
def test_examples_in_docstrings_hold(module: ModuleType) -> None:
    """An example that no longer holds is worse than none."""
    assert doctest.testmod(module).failed == 0


EVERY_MEMBER: dict[str, tuple[dict[str, Any], ...]] = {
    "vlarb": ({"form": "line_rate"},), "dtable": ({"form": "ib"}, {"form": "line_rate"}), "rr": ({"requesters": 4},),
    "ib_switch": ({"scheduler": "vlarb"}, {"credit": "fcp", "minimum": 8, "maximum": 8}),
    "opa_switch": ({"scheduler": "vlarb"},),
}  # fmt: skip
"""Parameters of instances that have every member between them."""
_SIZES = BufferSizes(vls=2, blocks=8, minimum=2, maximum=6, largest=2)
_CROSSING: dict[str, Any] = {"ports": 2, "data_bits": 64, "flits": 3}
_SIDE: dict[str, Any] = {**_CROSSING, "sizes": _SIZES, "vl_bits": 5}
_OUTPUTS = [
    SwitchOutput(RR(data_vls=2, vl15=False), doors=2, fcp=None, **_SIDE),
    SwitchOutput(RR(data_vls=2, vl15=False), doors=1, fcp=FCPTimes(2, 9), **{**_SIDE, "vl_bits": 4}),
]
COMPONENTS = [
    [block.make({**block.defaults(), **given}) for given in EVERY_MEMBER.get(name, ({},))]
    for name, block in BLOCKS.items()
] + [_OUTPUTS]
PARTS = [
    VLArbBanks(data_vls=4, entries=4),
    ListSearch(4),
    ListWalk(data_vls=4, entries=9, lane_bits=4),
    BlockBudget(8, starts_with=0),
    LaneAccount(),
    DeficitTurns(entries=4, requesters=2, keep_on_stall=False, most_kept=65),
    CreditIBSender(2),
    CreditIBReceiver(2, 16),
    CreditOPASender(2),
    CreditOPAReceiver(2, 0),
    Allocator(ports=2, vls=2),
    OPAAllocator(ports=2, vls=2),
    Turns(2),
    Door(2),
    _SIZES.room(returned=3, behind=True),
    SizeQueue(depth=3, largest=2),
    SwitchInput(by_channel=True, **_SIDE),
    FCPTurns(vls=2, blocks=8, step=2, period=9),
    Limits(vls=2, blocks=8, largest=2, behind=True),
    Centre(sizes=_SIZES, **_CROSSING),
]
SIGNATURES = [
    HeadsSignature(4),
    ProgramSignature(),
    ScheduleSignature(8),
    SL2VLProgramSignature(),
    SCProgramSignature(),
    LFTProgramSignature(),
    BufferControlSignature(),
    LinkSignature(64),
    ReturnSignature(),
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
    """Name and direction of every port, no more and no fewer."""
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
    """Whoever knows one block knows where every other stands."""
    for file in (f"golden/{name}.py", f"hdl/{name}.py", f"tb/tb_{name}.py", f"tests/test_{name}.py", f"docs/{name}.md"):
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("page", DOCS, ids=[page.name for page in DOCS])
def test_links_and_paths_of_the_docs_exist(page: Path) -> None:
    """Links lead somewhere, named files are there, commands are known."""
    text = page.read_text()

    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (page.parent / target).exists(), target
    for file in re.findall(r"`((?:docs|tests|golden|hdl|tb|sim_top|bench|vlane)/[\w./-]+)`", text):
        assert "NOUN" in file or (ROOT / file).exists(), file
    makefile = (ROOT / "Makefile").read_text()
    for goal in re.findall(r"`make ([a-z]+)", text):
        assert f"\n{goal}:" in makefile, goal


def test_commands_in_the_docs_are_accepted() -> None:
    """Every `vlane VERB` line of the README names a verb and options that exist."""
    import typer  # noqa: PLC0415
    from vlane.sim_top.cli import app  # noqa: PLC0415

    group = typer.main.get_command(app)
    verbs = set(group.commands)  # type: ignore[attr-defined]
    for name in ("fabric", "dtable"):
        verbs |= {f"{name} {inner}" for inner in group.commands[name].commands}  # type: ignore[attr-defined]
    used = set(re.findall(r"^ +vlane ((?:fabric |dtable )?\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))

    assert used
    assert used <= verbs


def test_no_path_of_a_machine_in_the_tree() -> None:
    """The product speaks of itself alone."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for name in filter(None, tracked.split("\0")):
        file = ROOT / name
        if file.is_file() and file.suffix not in {".png", ".gif"} and not name.startswith("tests/"):
            assert not re.search(r"(?<![\w.~])/(work|home|root|farm)/", file.read_text(errors="replace")), name


def test_every_module_is_short_enough() -> None:
    """Past about 300 lines a module holds a second noun."""
    long = {
        file.name: count
        for name in FOLDERS
        for file in (ROOT / name).rglob("*.py")
        if (count := len(file.read_text().splitlines())) > 400
    }

    assert long == {}


def test_versions_agree() -> None:
    """One version, said twice."""
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == vlane.__version__
    assert list(pkgutil.iter_modules(vlane.__path__))


@pytest.mark.parametrize("first", ["numba", "vlane.golden.bits", "vlane.golden.network", "vlane.golden.kernel"])
def test_compiled_code_is_kept_under_a_digest_of_its_sources(first: str) -> None:
    """Whatever is imported first: else a kernel would run the old code of a function it calls."""
    code = (
        f"import {first}, vlane.golden.rr, numba\n"
        "from vlane.golden.kernel import source_digest\n"
        "print(numba.config.CACHE_DIR.endswith(source_digest()))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}

    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout == "True\n"
