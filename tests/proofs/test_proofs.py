"""Named properties, covers of premises, and planted bugs of a single line."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from amaranth.hdl import Module, Signal, Value

from tests.conftest import assert_refused, call
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.plants import LEAST_PLANTS
from vlane.tb.by_name import plants
from vlane.tb.machinery.plants.plant import Plant, with_planted_line
from vlane.tb.machinery.proofs.properties import Claims, Properties
from vlane.tb.machinery.proofs.prove import cover, prove

ROOT = Path(__file__).parent.parent.parent


class Counting(Properties):
    """Counter of four bits that stops at 9."""

    statements: ClassVar = {
        "stops": "The counter is never above 9.",
        "at-nine": "At 9 it stays.",
        "at-twelve": "At 12 it stays.",
    }
    within = 12

    def __init__(self, *, stops_at: int = 9) -> None:
        super().__init__()
        self.stops_at, self.counts = stops_at, Signal()

    def ports(self) -> list[Value]:
        return [self.counts]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count, before = Signal(4), Signal(4)
        with m.If(self.counts & (count < self.stops_at)):
            m.d.sync += count.eq(count + 1)
        m.d.sync += before.eq(count)
        self.claim(m, "stops", count <= 9)
        self.claim(m, "at-nine", count == 9, when=before == 9)
        self.claim(m, "at-nine", count >= before, when=before == 9)
        self.claim(m, "at-twelve", count == 12, when=before == 12)
        return m


@pytest.mark.slow
def test_a_proof_names_its_properties_and_the_one_that_fails() -> None:
    """A proof reports its properties, and a failed proof the failing one, also from the cache."""
    good, bad = prove(Counting(), "test-proofs-good"), prove(Counting(stops_at=10), "test-proofs-bad", depth=14)

    assert (good.verdict, good.properties, good.failed) == ("PASS", ("stops", "at-nine", "at-twelve"), "")
    assert (bad.verdict, bad.method) == ("FAIL", "induction, 14 steps")
    assert bad.failed in {"stops", "at-nine"}
    again = prove(Counting(stops_at=10), "test-proofs-again", depth=14)
    assert (again.cached, again.verdict, again.failed, again.detail) == (True, "FAIL", bad.failed, bad.detail)
    assert again.folder.joinpath("proof/engine_0/trace.vcd").is_file()


@pytest.mark.slow
def test_premise_is_reached_at_its_depth_or_reported() -> None:
    """A cover reports the depth at which each premise is reached, or that it is not reached."""
    found = {each.property: (each.assertions, each.reached, each.depth) for each in cover(Counting(), "test-proofs")}

    assert found == {"stops": (1, 1, 0), "at-nine": (2, 2, 10), "at-twelve": (1, 0, None)}
    assert [each.property for each in cover(Counting(), "test-proofs", ["stops"])] == ["stops"]


def test_a_claim_needs_a_statement() -> None:
    with pytest.raises(KeyError, match="no statement for the property 'speed'"):
        Claims({"stops": "It stops."})(Module(), "speed", Value.cast(1))


@pytest.mark.parametrize("name", BLOCKS)
def test_instances_and_properties_are_well_named(name: str) -> None:
    """Names of instances and properties use lower case and hyphens, and statements are sentences."""
    block = BLOCKS[name]
    names = [each.name for each in block.proofs]

    assert len(set(names)) == len(names)
    for instance in block.proofs:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", instance.name)
        made = instance.make(block.make)
        assert made.statements
        for title, statement in made.statements.items():
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", title)
            assert re.fullmatch(r"[A-Z].*\.", statement), statement


@pytest.mark.slow
def test_pages_contain_the_tables_of_properties(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every block's page contains the current generated table (``python docs/_ext/proven.py``)."""
    proven = runpy.run_path(str(ROOT / "docs/_ext/proven.py"), run_name="proven")
    monkeypatch.setattr(sys, "argv", ["proven.py", "--check"])

    assert proven["_main"]() == 0, capsys.readouterr().out
    pages = " ".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert all(f"<!-- proven: {name} -->" in pages for name in BLOCKS)


@pytest.mark.slow
def test_prove_reports_instances_and_covers() -> None:
    done = call("prove", "rr", "--instance", "small", "--json")
    document = done.json()

    assert done.status == 0
    (instance,) = document["instances"]
    assert (instance["name"], instance["verdict"], instance["method"]) == ("small", "PASS", "induction, 2 steps")
    assert "wait" in instance["properties"]
    assert {each["property"] for each in document["covers"]} == set(instance["properties"])
    assert all(each["reached"] == each["assertions"] and each["depth"] < each["within"] for each in document["covers"])


def test_rows_of_planted_bugs_of_other_blocks_stay(tmp_path: Path) -> None:
    """Updating the table of planted bugs keeps the rows of blocks that were not run.

    Rows of removed blocks disappear, and text below the table stays.
    """
    folder = tmp_path / "docs" / "_ext"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "docs/_ext/proven.py", folder)
    page, result = tmp_path / "docs/plants.md", tmp_path / "plants.json"
    row = "| `{}` | {} | It says so. | {} |"
    kept = row.format("rr", "kept", "a (small) | cycle 1")
    old = row.format("wrr", "old", "a (small) | cycle 2")
    gone = row.format("gone", "bug", "b (small) | cycle 3")
    page.write_text("\n".join(("<!-- plants -->", gone, old, kept, "<!-- /plants -->", "", old, "")))
    proof = {"noticed": True, "failed": "turn", "verdict": "FAIL", "instance": "small"}
    plants = [
        {
            "block": "wrr",
            "name": name,
            "statement": "It says so.",
            "proof": {**proof, "noticed": cycle is None},
            "lockstep": {"cycle": cycle},
        }
        for name, cycle in (("new", None), ("newer", 7))
    ]
    result.write_text(json.dumps({"plants": plants}))

    done = subprocess.run(
        [sys.executable, folder / "proven.py", "--plants", result],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    told = page.read_text().splitlines()
    new = [row.format("wrr", "new", "turn (small) | not noticed"), row.format("wrr", "newer", "not noticed | cycle 7")]
    assert [line for line in told if line.startswith("| `")] == [kept, *new, old]


@pytest.mark.slow
def test_each_named_instance_is_proven_once() -> None:
    words = [word for name in ("mapped", "small", "mapped") for word in ("--instance", name)]
    done = call("prove", "rr", *words, "--no-covers", "--json")

    assert done.status == 0
    assert [instance["name"] for instance in done.json()["instances"]] == ["mapped", "small"]


def test_a_second_solver_agrees() -> None:
    """Z3 proves the smallest round robin, too."""
    document = call("prove", "rr", "--instance", "small", "--solver", "z3", "--no-covers", "--json").json()

    (instance,) = document["instances"]
    assert (document["solver"], instance["verdict"]) == ("z3", "PASS")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--solver", "z4"], "--solver must be one of boolector, z3, not z4"),
        (["--solver", "z3", "--stuck"], "--solver"),
    ],
)
def test_unfit_solver_is_refused(words: list[str], said: str) -> None:
    """An unknown solver, and a second solver for stuck-at faults, are refused."""
    assert_refused(call("prove", "rr", *words), said)


def test_an_instance_that_is_not_there_is_refused() -> None:
    done = call("prove", "rr", "--instance", "large")

    assert done.status == 2
    assert "--instance must be one of small, mapped, full, past-vl15, no-vl15, mapped-full, not large" in done.err
    behind = call("prove", "rr", "--instance", "small", "--instance", "large")
    assert_refused(behind, "--instance", "one of small", "large")
    assert_refused(call("prove", "rr", "--netlist", "generic", "--instance", "small"), "--instance", "--netlist")


@pytest.mark.slow
def test_equal_proofs_at_a_time_keep_one_set_of_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two equal proofs at the same time do not replace each other's output folder."""
    monkeypatch.chdir(tmp_path)
    within = threading.Lock()

    def copy(*given: Any, **named: Any) -> Any:
        assert within.acquire(blocking=False), "another one is being copied"
        time.sleep(0.2)
        shutil.copytree(*given, **named)
        within.release()

    slow = SimpleNamespace(copytree=copy, rmtree=shutil.rmtree)
    monkeypatch.setattr("vlane.tb.machinery.proofs.prove.shutil", slow)
    with ThreadPoolExecutor(2) as pool:
        proofs = list(pool.map(lambda _: prove(Counting(), "test-equal", ignore_cache=True), range(2)))

    assert [each.verdict for each in proofs] == ["PASS"] * 2
    assert (tmp_path / "build/formal/test-equal/log.txt").is_file()


@pytest.mark.parametrize("name", BLOCKS)
def test_planted_bugs_change_a_line_that_is_there(name: str) -> None:
    """Each planted bug replaces a line that occurs once and names an existing instance."""
    block, bugs = BLOCKS[name], plants(name)

    assert len(bugs) >= LEAST_PLANTS
    assert len({bug.name for bug in bugs}) == len(bugs)
    for bug in bugs:
        assert bug.file.startswith("hdl/")
        assert bug.line != bug.instead
        compile(with_planted_line((ROOT / bug.file).read_text(), bug.line, bug.instead), bug.file, "exec")
        assert block.instance(bug.instance)
        assert block.shape(**{**block.mutated, **bug.parameters})
        assert re.fullmatch(r"[A-Z].*\.", bug.statement)


@pytest.mark.parametrize(("line", "times"), [("b = 2", 0), ("a = 1", 2)])
def test_a_line_that_is_not_there_once_is_refused(line: str, times: int) -> None:
    with pytest.raises(ValueError, match=f"occurs {times} times"):
        with_planted_line("a = 1\nif a:\n    a = 1\n", line, "c = 3")


def test_a_planted_line_keeps_its_indent() -> None:
    assert with_planted_line("if a:\n    b = 1\n", "b = 1", "b = 2") == "if a:\n    b = 2\n"


@pytest.mark.slow
def test_a_planted_bug_is_noticed_by_the_proof() -> None:
    """A planted bug is detected by the proof it names."""
    bug: Plant = plants("rr")[0]
    words = [sys.executable, "-m", "vlane.tb.machinery.plants", bug.file, bug.line, bug.instead]

    done = subprocess.run(
        [*words, "prove", "rr", "--instance", bug.instance, "--no-covers", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout)

    assert done.returncode == 1
    assert document["instances"][0]["failed"] == "last-served"
