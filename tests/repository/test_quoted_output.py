"""Outputs quoted in README and docs pages: each block is checked, and commands print it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.conftest import ROOT
from tests.repository.test_site import PAGES, examples
from vlane.sim_top.cli.main import app

QUOTING = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
EXECUTED = [page for page in QUOTING if examples.is_executed(page)]
LIGHT = {"admission", "bad_input", "fill_in", "vlarb_waits"}
"""Pages whose commands compile nothing."""
ALIKE = {"cc_source", "e2cm_prober", "ecm_cp", "ecm_rp"}
"""Pages with the same command as the page of ``pause``, for another block."""


def name_of(page: Path) -> str:
    """Return a page's path relative to the repository."""
    return str(page.relative_to(ROOT))


def run(page: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the examples of a page in a process and folder of their own."""
    words = [sys.executable, examples.__file__, str(page), *map(str, options)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", QUOTING, ids=name_of)
def test_every_block_of_a_page_is_checked(page: Path) -> None:
    """Every block with output on a page is executed, compared or read by a test."""
    ways = list(examples.ways_of(page))

    assert [f"{name_of(page)}:{way.line}" for way in ways if way.way == "unchecked"] == []
    for test in {way.test for way in ways if way.test}:
        assert page.name in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not read {page.name}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=[] if page.stem in LIGHT else [pytest.mark.long if page.stem in ALIKE else pytest.mark.slow]
        )
        for page in EXECUTED
    ],
    ids=name_of,
)
def test_commands_of_a_page_print_the_quoted_output(page: Path) -> None:
    """The commands of a page print the quoted outputs, with stored outputs for long blocks."""
    done = run(page, "--inside")

    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in EXECUTED if "<!-- long: " in page.read_text()], ids=name_of)
def test_long_commands_of_a_page_print_the_quoted_output(page: Path, tmp_path: Path) -> None:
    """Long commands print the quoted outputs, which agree with the stored outputs."""
    done = run(page, "--long", "--outputs", tmp_path)

    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} <= {file.name for file in examples.OUTPUTS.iterdir()}


def test_every_stored_output_belongs_to_a_page() -> None:
    """Every stored output belongs to a block of a page."""
    named = {block.name for page in EXECUTED for block in examples.blocks_of(page.read_text()) if block.kind == "long"}

    assert {file.stem for file in examples.OUTPUTS.iterdir()} == named


def commands_of(page: Path) -> list[list[str]]:
    """Return the words of each ``vlane`` command in the blocks of a page."""
    text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
    lines = re.findall(
        r"^(?:    |\$ )(?:\.venv/bin/)?vlane ((?!.*\[--).+?)(?:  +#.*| [|>].*| 2>.*|;.*)?$", text, re.MULTILINE
    )
    return [line.split() for line in lines]


@pytest.mark.parametrize("page", [page for page in QUOTING if commands_of(page)], ids=name_of)
def test_commands_of_a_page_name_verbs_and_options_that_exist(page: Path) -> None:
    """Each ``vlane`` command of a page names an existing verb and existing options."""
    group: Any = typer.main.get_command(app)
    wrong = []
    for words in commands_of(page):
        command, left = group, list(words)
        while hasattr(command, "get_command") and left and (verb := command.get_command(None, left[0])):
            command, left = verb, left[1:]
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        if command is group or not {word.partition("=")[0] for word in left if word.startswith("--")} <= known:
            wrong.append(" ".join(words))

    assert wrong == []


PAGE = """# A page

Words that end a line
    are no block, even with spaces before them.

    vlane rr --cycles 3     # a command without its output

and a command with it:

    vlane rr

    3 cycles compared

```console
$ echo quoted
quoted
```

```text
a drawing
```

```
a fence without a language
```

<!-- listing -->
```python
>>> 1
1
```

    total = first + second
"""


def ways(folder: Path, text: str) -> list[tuple[int, str]]:
    """Return the line and the kind of check of each block of a text."""
    page = folder / "page.md"
    page.write_text(text)
    return sorted((way.line, way.way) for way in examples.ways_of(page))


def test_a_block_with_an_output_is_unchecked_unless_the_page_says_how_it_is_checked(tmp_path: Path) -> None:
    """A block with output is unchecked unless its page states the check.

    Commands without output, listings and drawings need no check.
    """
    assert ways(tmp_path, PAGE) == [
        (6, "commands"),
        (10, "unchecked"),
        (15, "unchecked"),
        (20, "listing"),
        (24, "unchecked"),
        (29, "unchecked"),
        (33, "unchecked"),
    ]
    assert (17, "run") in ways(tmp_path, f"<!-- executed -->\n\n{PAGE}")


def test_a_test_that_reads_a_block_checks_it(tmp_path: Path) -> None:
    """Given a marker before a block, the named test counts as the check of the block."""
    page = tmp_path / "page.md"
    marker = "<!-- checked: tests/repository/test_site.py -->"
    page.write_text(f"{marker}\n\n    vlane rr\n\n    output\n\n{marker}\n```console\n$ vlane rr\n```\n")

    assert [(way.way, way.test) for way in examples.ways_of(page)] == [("checked", "tests/repository/test_site.py")] * 2


LONG = """<!-- executed -->

<!-- long: sum -->
```console
$ echo 100 cycles \\
  in 3 s
100 cycles in ... s
```
"""


def test_a_long_block_is_compared_with_the_output_that_was_stored(tmp_path: Path) -> None:
    """A long block is compared with its stored output, and ``--update`` replaces outdated figures."""
    page, outputs = tmp_path / "page.md", tmp_path / "outputs"
    page.write_text(LONG)
    assert "no such file" in run(page, "--outputs", outputs).stderr

    assert run(page, "--outputs", outputs, "--long").returncode == 0
    assert (outputs / "sum.txt").read_text() == "$ echo 100 cycles \\\n  in 3 s\n100 cycles in 3 s\n"
    assert run(page, "--outputs", outputs).returncode == 0

    page.write_text(LONG.replace("100 cycles in ...", "101 cycles in ..."))
    assert "page.md:5: expected" in run(page, "--outputs", outputs).stderr
    assert run(page, "--outputs", outputs, "--update").returncode == 1
    assert page.read_text() == LONG.replace("in ... s", "in 3 s")
    page.write_text(LONG.replace("$ echo", "$ echo  "))
    assert "run the page with --long" in run(page, "--outputs", outputs).stderr


def test_a_page_reads_the_folders_of_the_checkout_that_it_names(tmp_path: Path) -> None:
    """Given ``executed with tests``, commands read ``tests`` and write to a temporary folder."""
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- executed with tests -->\n\n```console\n$ ls; ls tests/conftest.py\ntests\ntests/conftest.py\n```\n"
    )

    assert run(page).returncode == 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("vlane configs", "configs"),
        ("vlane simulate a.toml \\\n  --out b > c.txt", "simulate a.toml    --out b"),
        ("vlane cosim rr 2>/dev/null | tail -n 2", "cosim rr"),
        ('vlane cosim rr || echo "exit status $?"', "cosim rr"),
        ("vlane fabric show a 2>&1", None),
        ("vlane simulate a.toml > b.txt 2>&1", None),
        ("vlane cosim $BLOCK", None),
        ("sed s/a/b/ c > d; vlane simulate d", None),
    ],
)
def test_a_command_is_called_inside_if_it_begins_with_vlane(command: str, words: str | None) -> None:
    """A page's command is called in-process unless it mixes its outputs or needs shell expansion."""
    found = examples._CALL.match(command.replace("\\\n", " "))

    assert (found and found[1]) == words


INSIDE = """<!-- executed -->

```console
$ vlane nothing 2>/dev/null || echo "exit status $?"
exit status 2
$ vlane configs tree43_ib --out . > listed.txt; wc -l < listed.txt
...
$ vlane nothing 2> refused.txt || head -c 6 refused.txt
vlane:
$ vlane schema study | head -n 1
{
```
"""


@pytest.mark.slow
def test_commands_print_the_same_inside_the_process_and_outside(tmp_path: Path) -> None:
    """Commands give equal outputs and statuses in-process and as processes."""
    page = tmp_path / "page.md"
    page.write_text(INSIDE)

    for options in ([], ["--inside"]):
        done = run(page, *options)
        assert done.returncode == 0, done.stderr
