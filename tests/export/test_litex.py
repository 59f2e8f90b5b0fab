"""The LiteX example, where LiteX is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, call


def test_litex_programs_an_arbiter_by_csr(tmp_path: Path) -> None:
    """Given weights 3 and 1 written over the CSR bus, the lanes get 300 and 100 of 400 grants."""
    pytest.importorskip("litex")
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    assert call("export", "vlarb", "--out", str(tmp_path)).status == 0
    example = ROOT / "docs/examples/litex/vlarb_csr.py"

    done = subprocess.run([sys.executable, str(example), str(tmp_path)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "VL 0: 300 grants, VL 1: 100 grants\nPASS\n" in done.stdout
