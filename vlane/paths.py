"""Where generated files go: always one ``build`` folder, never beside a source."""

from __future__ import annotations

import os
from pathlib import Path

from vlane.files import usable_folder

__all__ = ["build_dir"]

_ROOT = Path(__file__).resolve().parent.parent


def build_dir(*parts: str) -> Path:
    """Return a folder for generated files, made if it is missing.

    It is ``$VLANE_BUILD`` if set, else ``build`` in the checkout, else ``build`` in the current folder.
    """
    base = os.environ.get("VLANE_BUILD")
    root = Path(base) if base else (_ROOT if (_ROOT / "pyproject.toml").is_file() else Path.cwd()) / "build"
    folder = root.joinpath(*parts)
    return usable_folder(folder, option="build folder")
