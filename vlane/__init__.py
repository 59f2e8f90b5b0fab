"""Cycle-accurate InfiniBand and Omni-Path QoS hardware: tables, oracle, hardware, benches, tops."""

from pathlib import Path

_root = Path(__file__).resolve().parent.parent
if (_root / "pyproject.toml").is_file() and str(_root) not in __path__:
    # In a checkout golden/, hdl/, tb/ and sim_top/ stand beside this folder.
    __path__.append(str(_root))

__all__: list[str] = []
__version__ = "0.1.0"
