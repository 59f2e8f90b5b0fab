"""Cycle-accurate InfiniBand and Omni-Path QoS hardware: tables, oracle, hardware, benches, tops.

The Python interface is reached as ``vlane.NAME`` and loaded when it is first asked for (``docs/python.md``).
"""

import os.path

TYPE_CHECKING = False  # for type checkers; nothing may be imported here that the working directory could hold
if TYPE_CHECKING:
    from vlane.errors import InputError as InputError
    from vlane.sim_top.api.blocks import blocks as blocks
    from vlane.sim_top.api.blocks import component as component
    from vlane.sim_top.api.plugins import Routes as Routes
    from vlane.sim_top.api.plugins import Topology as Topology
    from vlane.sim_top.api.plugins import load_plugin as load_plugin
    from vlane.sim_top.api.plugins import pattern as pattern
    from vlane.sim_top.api.plugins import routing as routing
    from vlane.sim_top.api.plugins import scheduler as scheduler
    from vlane.sim_top.api.plugins import sl_rows as sl_rows
    from vlane.sim_top.api.plugins import topology as topology
    from vlane.sim_top.api.plugins import up_down as up_down

_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - see vlane/isolation.py
if os.path.isfile(f"{_root}/pyproject.toml") and _root not in __path__:  # noqa: PTH113
    # In a checkout golden/, hdl/, tb/ and sim_top/ stand beside this folder.
    __path__.append(_root)

__version__ = "0.1.0"
_INTERFACE = {
    "blocks": "blocks",
    "component": "blocks",
    "InputError": "plugins",
    "Routes": "plugins",
    "Topology": "plugins",
    "load_plugin": "plugins",
    "pattern": "plugins",
    "routing": "plugins",
    "scheduler": "plugins",
    "sl_rows": "plugins",
    "topology": "plugins",
    "up_down": "plugins",
}
"""Modules of ``sim_top/api`` by the names that they give."""
__all__ = [*_INTERFACE]  # noqa: PLE0604 - names of the interface


def __getattr__(name: str) -> object:
    """Return a name of the Python interface."""
    if name not in _INTERFACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return getattr(importlib.import_module(f"vlane.sim_top.api.{_INTERFACE[name]}"), name)


def __dir__() -> list[str]:
    """Return what there is, the interface too."""
    return sorted({*globals(), *_INTERFACE})
