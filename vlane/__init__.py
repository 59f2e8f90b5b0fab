"""Cycle-accurate InfiniBand and Omni-Path QoS hardware: tables, oracle, hardware, benches, tops."""

import os.path

_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - see vlane/isolation.py
if os.path.isfile(f"{_root}/pyproject.toml") and _root not in __path__:  # noqa: PTH113
    # In a checkout golden/, hdl/, tb/ and sim_top/ stand beside this folder.
    __path__.append(_root)

__all__: list[str] = []
__version__ = "0.1.0"
