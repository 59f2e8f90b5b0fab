"""Run the examples of a Markdown page and compare their outputs with the page.

    python docs/_ext/examples.py PAGE.md [--folder DIR] [--long] [--inside] [--outputs DIR] [--update]

A page is run in one empty folder, from top to bottom:

* a block ``console`` holds commands, each after ``$ `` (lines after a backslash belong to it), and their outputs;
* a block ``python`` with ``>>>`` is a doctest, one without is executed; all blocks of a page share their names;
* a block after ``<!-- file: NAME -->`` is written to that file;
* a block ``console`` after ``<!-- long: NAME -->`` is too dear for every run of the tests. ``--long`` runs it and keeps
  its outputs in ``docs/evidence/outputs/NAME.txt``; without ``--long`` the page is compared with that file;
* a block after ``<!-- checked: tests/FAMILY/test_NAME.py -->`` is left out, because that test reads it;
* a block after ``<!-- listing -->`` is left out, because it has no output and lacks the code around it.

A page under ``docs/tutorials`` is run, and so is a page with the line ``<!-- executed -->``. With
``<!-- executed with tests, docs -->`` the folder begins with links to these folders of the checkout.

A line ``...`` in an output stands for any lines, ``...`` within a line for anything in the line: this is the mark of a
value that depends on the machine. A command must exit with 0: a command that must fail is followed by
``|| echo "exit status $?"``. Needs nothing but Python. ``--update`` writes the outputs of commands into the page, where
the page shows others. ``--inside`` calls ``vlane`` in the process of this program: the tests do, the site does not.

``ways_of`` lists every block of a page with the way in which it is checked. ``tests/repository/test_quoted_output.py``
rejects a block without one. In a page that is not run, a block may hold commands without outputs, or a listing in a
language.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["OUTPUTS", "ROOT", "Block", "PageRun", "Way", "blocks_of", "is_executed", "matches", "ways_of"]

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUTS = ROOT / "docs" / "evidence" / "outputs"
"""Folder of the outputs of long blocks."""
_FENCE = re.compile(r"^(```+)(\S.*)?$")
_COMMENT = re.compile(
    r"^<!-- (?:file: (?P<file>[\w./-]+)|long: (?P<long>[\w-]+)"
    r"|checked: (?P<checked>tests/[\w/]+\.py)|(?P<listing>listing)) -->$"
)
_EXECUTED = re.compile(r"^<!-- executed(?: with (?P<folders>\w+(?:, \w+)*))? -->$", re.MULTILINE)
_KINDS = {"console", "python"}
_LANGUAGES = {"c", "python", "systemverilog", "text", "toml"}
"""Languages of listings: what a reader types, formulas and drawings (``text``), never an output."""
_COMMAND = re.compile(r"^(?:\.venv/bin/)?(?:cd|fusesoc|git|iverilog|make|python|verilator|vlane)(?: .*)?$")


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Parameters
    ----------
    line : int
        Of its first line in the page, from 1.
    kind : str
        ``console``, ``python``, ``file`` or ``long``.
    text : str
        The lines of the block.
    name : str
        File to be written, or name of the stored output of a long block.
    """

    line: int
    kind: str
    text: str
    name: str = ""


@dataclass(frozen=True)
class Way:
    """A block of a page and the way in which it is checked.

    Parameters
    ----------
    line : int
        Its first line in the page, from 1.
    way : str
        ``run``, ``file``, ``long``, ``checked``, ``commands``, ``listing`` or ``unchecked``.
    test : str
        The test that reads the block, if ``way`` is ``checked``.
    """

    line: int
    way: str
    test: str = ""


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the blocks of a page that are run, written or compared, in order."""
    for line, said, language, text in _fences(page):
        if said and said["file"]:
            yield Block(line, "file", text, said["file"])
        elif said and said["long"]:
            yield Block(line, "long", text, said["long"])
        elif not said and language in _KINDS:
            yield Block(line, language, text)


def ways_of(page: Path) -> Iterator[Way]:
    """Yield every block of a page, fenced or indented, with the way in which it is checked."""
    text, executed = page.read_text(encoding="utf-8"), is_executed(page)
    for line, said, language, inside in _fences(text):
        if said and said["checked"]:
            yield Way(line, "checked", said["checked"])
        elif said and said["listing"]:
            yield Way(line, "unchecked" if re.search(r"^(?:\$|>>>) ", inside, re.MULTILINE) else "listing")
        elif said:
            yield Way(line, "file" if said["file"] else "long" if language == "console" else "unchecked")
        elif language in _KINDS and executed:
            yield Way(line, "run")
        elif language.startswith("{") or (language in _LANGUAGES and ">>> " not in inside):
            yield Way(line, "listing")
        else:
            yield Way(line, "unchecked")
    for line, said, lines in _indented(text):
        if said and said["checked"]:
            yield Way(line, "checked", said["checked"])
        else:
            commands = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
            yield Way(line, "commands" if all(map(_COMMAND.match, filter(None, commands))) else "unchecked")


def _fences(page: str) -> Iterator[tuple[int, re.Match[str] | None, str, str]]:
    """Yield first line, comment before it, language and text of each fenced block."""
    said, lines = None, page.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if fence := _FENCE.match(line):
            first = at
            while at < len(lines) and lines[at].rstrip() != fence[1]:
                at += 1
            text = "\n".join(lines[first:at]) + "\n"
            at += 1
            yield first + 1, said, (fence[2] or "").strip(), text
            said = None
        elif line:
            said = _COMMENT.match(line)


def _indented(page: str) -> Iterator[tuple[int, re.Match[str] | None, list[str]]]:
    """Yield first line, comment before it and lines of each indented block."""
    said, lines, fence, paragraph = None, page.splitlines(), "", False
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if fence or line.startswith("```"):
            ends = fence and line.rstrip() == fence
            fence, said, paragraph = ("" if ends else fence or line[: len(line) - len(line.lstrip("`"))]), None, False
        elif line.startswith("    ") and not paragraph:
            first = at
            while at < len(lines) and (not lines[at] or lines[at].startswith("    ")):
                at += 1
            yield first, said, [each[4:] for each in lines[first - 1 : at]]
            said = None
        elif line:
            said, paragraph = _COMMENT.match(line), not line.startswith("<!--")
        else:
            paragraph = False


def matches(expected: str, got: str) -> bool:
    """Return whether an output is as expected. Blanks at the ends of lines do not count."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(map(re.escape, line.rstrip().split("..."))) + "\n"
    lines = "".join(f"{line.rstrip()}\n" for line in got.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None


def is_executed(page: Path) -> bool:
    """Return whether a page is run: a tutorial, or a page with a line ``<!-- executed -->``."""
    return page.parent.name == "tutorials" or _EXECUTED.search(page.read_text(encoding="utf-8")) is not None


def _commands(text: str) -> Iterator[tuple[int, str, int, list[str]]]:
    """Yield the line, the text, the line after and the output of each command of a block, lines from 0.

    A line before the first command is yielded as an empty command with that output.
    """
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        first, command = at, ""
        if lines[at].startswith("$ "):
            command = lines[at][2:]
            at += 1
            while command.endswith("\\") and at < len(lines):
                command += f"\n{lines[at]}"
                at += 1
        below = at
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        yield first, command, below, lines[below:at]


_CALL = re.compile(r"vlane ((?:(?!2>&1)[^|;&<>$`])*?) *(?:$|(?:\d?>(?!&)|\|)(?!.*2>&1))", re.DOTALL)
"""A call of ``vlane`` that starts a command; not one whose two outputs are mixed."""


class PageRun:
    """A run of a page.

    Parameters
    ----------
    page : Path
        The page.
    folder : Path
        Working directory of its commands; empty at the start.
    long : bool
        Whether long blocks are run and their outputs stored, not compared with the stored outputs.
    inside : bool
        Whether ``vlane`` is called in this process, which saves the imports of each command.
    outputs : Path
        Folder of the stored outputs.
    """

    def __init__(
        self, page: Path, folder: Path, *, long: bool = False, inside: bool = False, outputs: Path = OUTPUTS
    ) -> None:
        self.page, self.folder, self.long, self.inside, self.outputs = page, folder, long, inside, outputs
        self.failures: list[str] = []
        self.printed: list[tuple[int, int, str]] = []
        self.count = 0
        self._names: dict[str, Any] = {"__name__": "__page__"}
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "COLUMNS": "128",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self) -> list[str]:
        """Run every block and return a text for each difference."""
        text = self.page.read_text(encoding="utf-8")
        if (executed := _EXECUTED.search(text)) and executed["folders"]:
            for name in executed["folders"].split(", "):
                (self.folder / name).symlink_to(ROOT / name)
        with contextlib.chdir(self.folder):
            for block in blocks_of(text):
                getattr(self, f"_{block.kind}")(block)
        return self.failures

    def _file(self, block: Block) -> None:
        place = Path(block.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(block.text, encoding="utf-8")

    def _console(self, block: Block) -> str:
        """Run the commands of a block and return them with their outputs."""
        kept = ""
        for first, command, below, shown in _commands(block.text):
            if not command:
                self._fail(block.line + first, "a command after '$ '", shown[0])
                break
            expected = "\n".join(shown)
            status, got = self._command(command)
            kept += f"$ {command}\n{got}"
            if status or not matches(expected, got):
                after = f"\n(exit status {status})" if status else ""
                self._fail(block.line + first, f"$ {command}\n{expected}", f"{got}{after}")
                self.printed.append((block.line - 1 + below, len(shown), got))
        return kept

    def _long(self, block: Block) -> None:
        """Run a long block and store its outputs, or compare it with the stored outputs."""
        place = self.outputs / f"{block.name}.txt"
        if self.long:
            kept = self._console(block)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(kept, encoding="utf-8")
            return
        self.count += 1
        stored = list(_commands(place.read_text(encoding="utf-8"))) if place.exists() else []
        shown = list(_commands(block.text))
        if [command for _, command, _, _ in stored] != [command for _, command, _, _ in shown]:
            told = f"{place} with the commands of this block: run the page with --long"
            self._fail(block.line, told, f"{len(stored)} other commands" if stored else "no such file")
            return
        for (first, command, below, lines), (_, _, _, kept_lines) in zip(shown, stored, strict=True):
            expected, got = "\n".join(lines), "\n".join(kept_lines)
            if not matches(expected, got):
                self._fail(block.line + first, f"$ {command}\n{expected}", f"{got}\n({place})")
                self.printed.append((block.line - 1 + below, len(lines), f"{got}\n"))

    def _command(self, command: str) -> tuple[int, str]:
        """Run a command and return its exit status and its output."""
        self.count += 1
        with tempfile.TemporaryDirectory() as place:
            script = command
            if self.inside and (words := _CALL.match(command.replace("\\\n", " "))):
                status = _call_vlane(shlex.split(words[1]), Path(place), self._environment)
                script = f"vlane() {{ cat {place}/out; cat {place}/err >&2; return {status}; }}\n{command}"
            done = subprocess.run(  # noqa: S602 - a shell command of a page
                script,
                shell=True,
                executable="/bin/bash",
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        return done.returncode, done.stdout

    def _python(self, block: Block) -> None:
        self.count += 1
        if ">>> " not in block.text:
            try:
                exec(compile(block.text, f"{self.page}:{block.line}", "exec"), self._names)  # noqa: S102 - the page's code
            except Exception as error:  # noqa: BLE001 - told as the page's failure
                self._fail(block.line, block.text, repr(error))
            return
        examples = doctest.DocTestParser().get_doctest(block.text, {}, str(self.page), str(self.page), block.line - 1)
        examples.globs = self._names
        told: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False).run(
            examples, out=told.append, clear_globs=False
        )
        if told:
            self.failures.append("".join(told))

    def updated(self) -> str:
        """Return the page with what its commands printed."""
        lines = self.page.read_text(encoding="utf-8").splitlines()
        for first, count, printed in reversed(self.printed):
            lines[first : first + count] = [line.rstrip() for line in printed.rstrip().splitlines()]
        return "\n".join(lines) + "\n"

    def _fail(self, line: int, expected: str, got: str) -> None:
        self.failures.append(f"{self.page}:{line}: expected\n{expected.rstrip()}\ngot\n{got.rstrip()}\n")


def _call_vlane(words: Sequence[str], place: Path, environment: Mapping[str, str]) -> int:
    """Call ``vlane`` in this process, with its outputs in the files ``out`` and ``err``, and return its exit status."""
    os.environ.update(environment)
    from vlane.sim_top.cli.main import main  # noqa: PLC0415 - pages without vlane are run without it

    kept, given = (os.dup(1), os.dup(2)), sys.argv
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(place / name, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["vlane", *words]
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.argv = given
        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            stream.flush()
            os.dup2(kept[number - 1], number)
            os.close(kept[number - 1])


def _main() -> int:
    parser = argparse.ArgumentParser(description="Run the examples of a Markdown page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--folder", type=Path, help="where the commands run; a temporary folder if left out")
    parser.add_argument("--long", action="store_true", help="run long blocks, and store their outputs")
    parser.add_argument("--inside", action="store_true", help="call vlane in this process: no imports per command")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="folder of the outputs of long blocks")
    parser.add_argument("--update", action="store_true", help="write what was printed into the page")
    given = parser.parse_args()
    page = given.page.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        run = PageRun(
            page, given.folder or Path(scratch), long=given.long, inside=given.inside, outputs=given.outputs.resolve()
        )
        failures = run.run()
    if given.update:
        page.write_text(run.updated(), encoding="utf-8")
    for each in failures:
        sys.stderr.write(f"{each}\n")
    sys.stdout.write(f"{page.name}: {run.count} examples, {len(failures)} of them not as shown\n")
    return 1 if failures or not run.count else 0


if __name__ == "__main__":
    sys.exit(_main())
