"""Mutants of Python modules: operators, order of tests, and the committed record (``python -m tests.mutants``)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.mutants.__main__ import BY_HAND, RECORD, Reached, within
from tests.mutants.operators import Mutant, draw, mutants_of, written

ROOT = Path(__file__).parents[2]
MODULE = '''"""Module."""

LIMIT = 3


def chosen(ports, masks, state=True):
    """Return the chosen ports."""
    found = []
    for port in ports:
        if port.number < LIMIT and not masks[port.number]:
            found.append(max(port.weight, port.number))
    if state:
        state.rows[port, 1] = (
            found,
            ports,
        )
    return masks[port - 1] + len(found)
'''


def changed() -> dict[str, set[str]]:
    """Return the new texts of the example's mutants by kind."""
    found: dict[str, set[str]] = {}
    for mutant in mutants_of("golden/example.py", MODULE):
        found.setdefault(mutant.operator, set()).add(mutant.after)
    return found


def test_every_kind_of_change_is_made() -> None:
    """The mutants of an example change comparisons, conditions, constants, indices, fields, order and statements."""
    found = changed()

    assert found["comparison"] == {"port.number <= LIMIT"}
    assert found["and for or"] == {"port.number < LIMIT or not masks[port.number]"}
    assert found["condition dropped"] == {"port.number < LIMIT"}
    assert found["condition negated"] == {"masks[port.number]"}
    assert found["constant plus one"] == {"4", "2"}
    assert found["constant minus one"] == {"2", "0"}
    assert found["truth value flipped"] == {"False"}
    assert found["min for max"] == {"min(port.weight, port.number)"}
    assert found["arguments swapped"] == {"max(port.number, port.weight)"}
    assert found["index minus one"] == {"masks[port.number - 1]", "masks[port - 1 - 1]"}
    assert found["other field"] == {"port.weight", "port.number"}
    assert found["elements swapped"] == {"(ports, found)", "(1, port)"}
    assert found["operator"] == {"port + 1", "masks[port - 1] - len(found)"}
    assert found["statement removed"] == {"pass"}


def test_mutants_keep_the_lines_of_the_module() -> None:
    """Every mutant is a valid module with the original number of lines, and differs from the original on its line."""
    for mutant in mutants_of("golden/example.py", MODULE):
        text = mutant.applied(MODULE)
        compile(text, "example", "exec")
        pairs = zip(MODULE.splitlines(), text.splitlines(), strict=True)
        differ = [number for number, (one, other) in enumerate(pairs, 1) if one != other]
        assert differ[0] == mutant.place[0]
        assert differ[-1] <= mutant.place[2]


def test_equal_seeds_draw_equal_mutants_of_different_lines(tmp_path: Path) -> None:
    """A draw depends on the seed only, and has at most one mutant of each line."""
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden/example.py").write_text(MODULE)
    one, same, other = (draw(tmp_path, ["golden"], count=6, seed=seed) for seed in (1, 1, 2))

    assert one == same != other
    assert len({mutant.place[0] for mutant in one}) == len(one) == 6
    assert all(mutant.function in (0, 6) for mutant in one)


def test_tests_of_a_mutant_are_those_of_its_line_fastest_first(tmp_path: Path) -> None:
    """Tests that run the line, or a kernel with the function, are chosen, and a compilation counts two seconds."""
    documents = [
        {"kernel": "k", "functions": [["golden/a.py", 3]]},
        {"test": "slow", "seconds": 9.0, "lines": {"golden/a.py": [4, 5]}, "kernels": [], "passed": True},
        {"test": "fast", "seconds": 1.0, "lines": {"golden/a.py": [5]}, "kernels": [], "passed": True},
        {"test": "compiled", "seconds": 0.5, "lines": {}, "kernels": ["k"], "passed": True},
        {"test": "elsewhere", "seconds": 0.1, "lines": {"golden/a.py": [9]}, "kernels": [], "passed": True},
        {"test": "fails", "seconds": 0.1, "lines": {"golden/a.py": [5]}, "kernels": [], "passed": False},
    ]
    record = tmp_path / "reach.jsonl"
    record.write_text("".join(json.dumps(each) + "\n" for each in documents))

    ordered, kernels = Reached(record).tests_of(Mutant("golden/a.py", (5, 0, 5, 1), "comparison", "a", "b", 3))

    assert ordered == [("fast", 1.0), ("compiled", 0.5), ("slow", 9.0)]
    assert kernels == ["k"]
    assert within(ordered, 2.0) == ordered[:2]
    assert within(ordered[2:], 2.0) == ordered[2:]


def test_changes_by_hand_apply() -> None:
    """Each change by hand names one line of its file and gives a valid module."""
    mutants = written(ROOT, ROOT / BY_HAND)

    assert len(mutants) >= 60
    for mutant in mutants:
        compile(mutant.applied((ROOT / mutant.file).read_text()), mutant.file, "exec")


def test_survivors_of_the_record_are_judged_and_counted_on_the_page() -> None:
    """Every survivor has a judgement, and the page states the numbers of the record."""
    page = (ROOT / "docs/evidence.md").read_text(encoding="utf-8")
    record = json.loads(RECORD.read_text())

    assert record["by_hand"]
    for part, rows in record.items():
        killed = sum(row["killed"] for row in rows)
        assert [row["name"] for row in rows if not row["killed"] and not row["judgement"]] == []
        assert re.search(rf"\| {part.replace('_', ' ')} \| {len(rows)} \| {killed} \|", page)
