"""Parser and checks of generated HTML pages, without a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from vlane.sim_top.output.page import MOST_BYTES

_VOID = {"meta", "link", "img", "br", "hr", "input"}


class Seen(HTMLParser):
    """Parsed page.

    Attributes
    ----------
    elements : list of (str, dict)
        Start tags with their attributes.
    data : list
        Contents of the JSON elements, in order.
    text : str
        Text outside scripts and styles.
    tables : list of list of list of str
        Cells of each table by row, headings first.
    script : str
        Executable script.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[Any] = []
        self.tables: list[list[list[str]]] = []
        self.text, self.script, self._open = "", "", list[str]()
        self.wrong: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))
        self.wrong += [f"<{tag}> is left open" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            if self.elements[-1][1].get("type") == "application/json":
                self.data.append(json.loads(data))
            else:
                self.script += data
        elif not self._open or self._open[-1] != "style":
            self.text += data
            if {"td", "th"} & set(self._open):
                self.tables[-1][-1][-1] += data

    def of(self, tag: str, kind: str = "") -> list[dict[str, str | None]]:
        """Return the attributes of all elements with a tag and, if given, a class."""
        return [
            held for found, held in self.elements if found == tag and kind in [*(held.get("class") or "").split(), ""]
        ]

    def network(self) -> dict[str, Any]:
        """Return the data of the network drawing."""
        return next(data for data in self.data if "links" in data)


def assert_whole(file: Path) -> Seen:
    """Check that a page is self-contained and well formed, and return it parsed.

    A page is smaller than 1 MB, loads nothing, has unique ids, closed elements, table headings, JSON data and a script
    that ``node`` (if installed) can parse. It supports narrow screens, dark mode and printing.
    """
    text = file.read_text(encoding="utf-8")
    seen = Seen(file)

    assert seen.wrong == []
    assert len(text.encode()) < MOST_BYTES
    assert all(line.isprintable() for line in text.split("\n"))
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)|javascript:", text.replace("// ", ""))
    for tag, held in seen.elements:
        assert not {"src", "srcset", "action", "background", "data", "onclick", "onload"} & set(held), tag
        for name in ("href", "xlink:href"):
            assert (held.get(name) or "#").startswith("#"), held
    ids = [held["id"] for _, held in seen.elements if "id" in held]
    assert len(ids) == len(set(ids))
    targets = {held["href"] for held in seen.of("a")}
    assert targets <= {f"#{each}" for each in ids}
    assert all(table[0] and all(len(row) == len(table[0]) for row in table) for table in seen.tables)
    assert sum(tag == "th" for tag, _ in seen.elements) == sum(len(table[0]) for table in seen.tables)
    assert any(held.get("name") == "viewport" for held in seen.of("meta"))
    for query in ("prefers-color-scheme: dark", "@media print"):
        assert query in text
    if shutil.which("node"):
        done = subprocess.run(["node", "--check", "-"], input=seen.script, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    return seen
