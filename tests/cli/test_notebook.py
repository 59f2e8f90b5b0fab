"""The example notebook, which defines plug-ins of all five kinds in cells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from tests.conftest import ROOT


class _ThisPython(AsyncKernelManager):
    """Kernel of the interpreter that runs the tests."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """Command of the kernel."""
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])


def _outputs(cells: list[Any]) -> list[str]:
    return [output["data"]["text/plain"] for cell in cells for output in cell.get("outputs", []) if "data" in output]


@pytest.mark.slow
def test_the_example_notebook_runs_its_plugins_with_one_and_two_jobs(tmp_path: Path) -> None:
    """The notebook's plug-ins of five kinds run with one and with two jobs, with equal deliveries and no other output.

    Results fit a screen.
    """
    notebook = nbformat.read(ROOT / "docs" / "examples" / "notebook.ipynb", as_version=4)

    NotebookClient(
        notebook, timeout=300, kernel_manager_class=_ThisPython, resources={"metadata": {"path": tmp_path}}
    ).execute()

    shown = _outputs(notebook.cells)
    assert shown[-1] == "(True, True)"
    assert all(output["output_type"] != "stream" for cell in notebook.cells for output in cell.get("outputs", []))
    results = next(each for each in shown if each.startswith("<Results"))
    assert [line for line in results.splitlines() if len(line) > 80] == []
    assert len(shown[0].splitlines()) <= 12
