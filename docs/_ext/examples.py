"""Run the examples of a Markdown page and compare what comes out with what the page shows.

    python docs/_ext/examples.py PAGE.md [--folder DIR] [--update]

A page is run in one empty folder, from top to bottom:

* a block ``console`` holds commands, each after ``$ `` (lines after a backslash belong to it), and what they print;
* a block ``python`` with ``>>>`` is a doctest, one without is executed; all blocks of a page share their names;
* a block after ``<!-- file: NAME -->`` is written to that file; ``<!-- not run -->`` leaves the next block out.

A line ``...`` in an output stands for any lines, ``...`` within a line for anything in it. A command must exit with 0:
one that is meant to fail is followed by ``|| echo "exit status $?"``. Needs nothing but Python.
``--update`` writes what commands printed into the page, where it is not what the page shows.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Block", "PageRun", "blocks_of", "is_executed", "matches"]

_FENCE = re.compile(r"^(```+)(\w*)\s*$")
_COMMENT = re.compile(r"^<!-- (?:file: (?P<file>[\w./-]+)|(?P<not>not run)) -->$")
_KINDS = {"console", "python"}


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Parameters
    ----------
    line : int
        Of its first line in the page, from 1.
    kind : str
        ``console``, ``python`` or ``file``.
    text : str
        What it holds.
    name : str
        Of the file to be written.
    """

    line: int
    kind: str
    text: str
    name: str = ""


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the blocks of a page that are run or written, in order."""
    said, lines = None, page.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if comment := _COMMENT.match(line):
            said = comment
        elif fence := _FENCE.match(line):
            first = at
            while at < len(lines) and lines[at].rstrip() != fence[1]:
                at += 1
            text = "\n".join(lines[first:at]) + "\n"
            at += 1
            if said and said["file"]:
                yield Block(first + 1, "file", text, said["file"])
            elif not said and fence[2] in _KINDS:
                yield Block(first + 1, fence[2], text)
            said = None


def matches(expected: str, got: str) -> bool:
    """Return whether an output is as expected; blanks at the ends of lines do not count."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(map(re.escape, line.rstrip().split("..."))) + "\n"
    lines = "".join(f"{line.rstrip()}\n" for line in got.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None


def is_executed(page: Path) -> bool:
    """Return whether a page is run: a tutorial, or one that says so in a line ``<!-- executed -->``."""
    return page.parent.name == "tutorials" or "<!-- executed -->" in page.read_text(encoding="utf-8").splitlines()


class PageRun:
    """A run of a page.

    Parameters
    ----------
    page : Path
        The page.
    folder : Path
        Where its commands run; empty at the start.
    """

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.failures: list[str] = []
        self.printed: list[tuple[int, int, str]] = []
        self.count = 0
        self._names: dict[str, Any] = {"__name__": "__page__"}
        self._environment = {
            **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def run(self) -> list[str]:
        """Run every block; return what is wrong, a text for each difference."""
        text = self.page.read_text(encoding="utf-8")
        with contextlib.chdir(self.folder):
            for block in blocks_of(text):
                getattr(self, f"_{block.kind}")(block)
        return self.failures

    def _file(self, block: Block) -> None:
        place = Path(block.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(block.text, encoding="utf-8")

    def _console(self, block: Block) -> None:
        lines = block.text.splitlines()
        at = 0
        while at < len(lines):
            line, first = lines[at], at
            at += 1
            if not line.startswith("$ "):
                self._fail(block.line + first, "a command after '$ '", line)
                return
            command = line[2:]
            while command.endswith("\\") and at < len(lines):
                command += f"\n{lines[at]}"
                at += 1
            shown, below = [], at
            while at < len(lines) and not lines[at].startswith("$ "):
                shown.append(lines[at])
                at += 1
            got = self._command(block.line + first, command, "\n".join(shown))
            if got is not None:
                self.printed.append((block.line - 1 + below, len(shown), got))

    def _command(self, line: int, command: str, expected: str) -> str | None:
        """Run a command; return what it printed if it is not as expected."""
        self.count += 1
        done = subprocess.run(  # noqa: S602 - what a page says to a shell
            command, shell=True, executable="/bin/bash", env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode or not matches(expected, done.stdout):
            status = f"\n(exit status {done.returncode})" if done.returncode else ""
            self._fail(line, f"$ {command}\n{expected}", f"{done.stdout}{status}")
            return done.stdout
        return None

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


def _main() -> int:
    parser = argparse.ArgumentParser(description="Run the examples of a Markdown page.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--folder", type=Path, help="where the commands run; a temporary folder if left out")
    parser.add_argument("--update", action="store_true", help="write what was printed into the page")
    given = parser.parse_args()
    page = given.page.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        run = PageRun(page, given.folder or Path(scratch))
        failures = run.run()
    if given.update:
        page.write_text(run.updated(), encoding="utf-8")
    for each in failures:
        sys.stderr.write(f"{each}\n")
    sys.stdout.write(f"{page.name}: {run.count} examples, {len(failures)} of them not as shown\n")
    return 1 if failures or not run.count else 0


if __name__ == "__main__":
    sys.exit(_main())
