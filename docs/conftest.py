"""Pages whose examples are run: ``python -m pytest docs``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_EXT = Path(__file__).parent / "_ext"
sys.path.insert(0, str(_EXT))

import examples  # noqa: E402 - beside the extensions of the site


class _Page(pytest.Item):
    """A page from top to bottom, in a process and a folder of its own."""

    def runtest(self) -> None:
        """Run it."""
        done = subprocess.run(
            [sys.executable, examples.__file__, str(self.path)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.fail(done.stderr or done.stdout, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where it is."""
        return self.path, 0, self.name


class _PageFile(pytest.File):
    def collect(self) -> Iterator[_Page]:
        """Yield the page, if it is one that is run."""
        if examples.is_executed(self.path):
            page = _Page.from_parent(self, name="examples")
            page.add_marker("slow")
            page.add_marker("long")
            yield page


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> _PageFile | None:
    """Collect Markdown pages."""
    return _PageFile.from_parent(parent, path=file_path) if file_path.suffix == ".md" else None
