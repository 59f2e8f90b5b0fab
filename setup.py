"""The build: a source distribution keeps the links from ``vlane`` to the other layers as links."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist


class LinkedSdist(sdist):
    """A source distribution that is the checkout: each file once, links as links."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Fill the folder that is archived."""
        links = [entry for entry in Path("vlane").iterdir() if entry.is_symlink()]
        behind_links = tuple(f"{link}/" for link in links)
        super().make_release_tree(base_dir, [file for file in files if not file.startswith(behind_links)])
        for link in links:
            (Path(base_dir) / link).symlink_to(link.readlink())


setup(cmdclass={"sdist": LinkedSdist})
