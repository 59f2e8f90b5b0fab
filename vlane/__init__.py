"""Cycle-accurate InfiniBand and Omni-Path QoS hardware: tables, oracle, hardware, benches, tops.

The Python interface is available as ``vlane.NAME`` and imported at first use (``docs/python.md``).
"""

TYPE_CHECKING = False  # for type checkers; nothing may be imported here that the working directory could hold
if TYPE_CHECKING:
    from vlane.errors import InputError as InputError
    from vlane.sim_top.api.blocks import blocks as blocks
    from vlane.sim_top.api.blocks import component as component
    from vlane.sim_top.api.fabric import Fabric as Fabric
    from vlane.sim_top.api.fabric import FabricReport as FabricReport
    from vlane.sim_top.api.plugins import Routes as Routes
    from vlane.sim_top.api.plugins import Topology as Topology
    from vlane.sim_top.api.plugins import draw_below as draw_below
    from vlane.sim_top.api.plugins import draw_gap as draw_gap
    from vlane.sim_top.api.plugins import load_plugin as load_plugin
    from vlane.sim_top.api.plugins import pattern as pattern
    from vlane.sim_top.api.plugins import routing as routing
    from vlane.sim_top.api.plugins import scheduler as scheduler
    from vlane.sim_top.api.plugins import sl_rows as sl_rows
    from vlane.sim_top.api.plugins import source as source
    from vlane.sim_top.api.plugins import topology as topology
    from vlane.sim_top.api.plugins import up_down as up_down
    from vlane.sim_top.api.results import Comparison as Comparison
    from vlane.sim_top.api.results import Results as Results
    from vlane.sim_top.api.scoreboard import Scoreboard as Scoreboard
    from vlane.sim_top.api.study import StuckError as StuckError
    from vlane.sim_top.api.study import Study as Study
    from vlane.sim_top.api.study import WorkerLostError as WorkerLostError
    from vlane.sim_top.api.tables import Tables as Tables
    from vlane.sim_top.api.tables import plan_dtable as plan_dtable
    from vlane.sim_top.api.tables import read_tables as read_tables
    from vlane.sim_top.oracles.oracle import oracle as oracle

__version__ = "0.1.0"
_INTERFACE = {
    "blocks": "api.blocks",
    "component": "api.blocks",
    "Routes": "api.plugins",
    "Topology": "api.plugins",
    "draw_below": "api.plugins",
    "draw_gap": "api.plugins",
    "load_plugin": "api.plugins",
    "pattern": "api.plugins",
    "routing": "api.plugins",
    "scheduler": "api.plugins",
    "sl_rows": "api.plugins",
    "source": "api.plugins",
    "topology": "api.plugins",
    "up_down": "api.plugins",
    "Fabric": "api.fabric",
    "FabricReport": "api.fabric",
    "Comparison": "api.results",
    "Results": "api.results",
    "StuckError": "api.study",
    "Study": "api.study",
    "WorkerLostError": "api.study",
    "InputError": "api.tables",
    "Tables": "api.tables",
    "plan_dtable": "api.tables",
    "read_tables": "api.tables",
    "oracle": "oracles.oracle",
    "Scoreboard": "api.scoreboard",
}
"""Modules below ``sim_top``, by name of the Python interface."""
__all__ = [*_INTERFACE]  # noqa: PLE0604 - names of the interface


def __getattr__(name: str) -> object:
    """Import and return a name of the Python interface."""
    if name not in _INTERFACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return getattr(importlib.import_module(f"vlane.sim_top.{_INTERFACE[name]}"), name)


def __dir__() -> list[str]:
    """Return all names, including the Python interface."""
    return sorted({*globals(), *_INTERFACE})
