"""Report of a cosimulation: pictures of service order and shares, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vlane.documents.files import usable_folder
from vlane.rates import LinkClock
from vlane.sim_top.cosim.cosim import CosimResult
from vlane.sim_top.cosim.cosim_page import cosim_page
from vlane.sim_top.cosim.cosim_vlarb import TableResult
from vlane.sim_top.output.page import write
from vlane.sim_top.output.pictures import new_figure, styled, write_png

_COLOURS = {"high": "#c44e52", "low": "#4c72b0", "vl15": "#8172b3", "none": "#999999"}
_SHOWN_CYCLES = 5000
_DPI = 110
_STYLE: Any = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "font.family": "DejaVu Sans"}


def service_picture(table: TableResult, file: Path) -> bytes:
    """Draw the link's occupancy by lane with all lanes backlogged and MTU packets, and return the picture (PNG)."""
    lanes = sorted({event.vl for event in table.events}) or [0]
    with styled(_STYLE):
        figure = new_figure(figsize=(9, 1.2 + 0.3 * len(lanes)), dpi=_DPI, layout="constrained")
        axes = figure.subplots()
        for name in ("high", "low", "vl15"):
            for row, vl in enumerate(lanes):
                spans = [
                    (e.cycle, e.blocks)
                    for e in table.events
                    if e.vl == vl and e.list == name and e.cycle < _SHOWN_CYCLES
                ]
                axes.broken_barh(spans, (row - 0.4, 0.8), facecolors=_COLOURS[name], edgecolor="white", linewidth=0.3)
        names = [name for name in ("high", "low", "vl15") if any(e.list == name for e in table.events)]
        patches = [axes.fill([], [], color=_COLOURS[name])[0] for name in names]
        axes.legend(
            patches,
            [f"{name} list" for name in names],
            loc="lower right",
            bbox_to_anchor=(1, 1),
            ncols=3,
            frameon=False,
        )
        axes.set_yticks(range(len(lanes)), [f"VL {vl}" for vl in lanes])
        axes.set_ylim(len(lanes) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("cycle (one 64-byte block each)")
        axes.set_title("Occupancy of the link by lane", loc="left")
        return write_png(figure, file, option="--page")


def shares_picture(table: TableResult, file: Path) -> bytes:
    """Draw each lane's share of its list, by weight and with small and MTU packets, and return the picture (PNG)."""
    with styled(_STYLE):
        figure = new_figure(figsize=(9, 2.8), dpi=_DPI, layout="constrained")
        axes = figure.subplots()
        kinds = (
            ("weight", "weight_share", "#bbbbbb"),
            ("64-byte packets", "share_small", "#55a868"),
            ("MTU packets", "share_full", "#dd8452"),
        )
        for offset, (label, attribute, colour) in enumerate(kinds):
            places = [index + 0.27 * (offset - 1) for index in range(len(table.lanes))]
            heights = [100 * getattr(lane, attribute) for lane in table.lanes]
            axes.bar(places, heights, 0.25, label=label, color=colour)
        axes.set_xticks(range(len(table.lanes)), [f"{lane.list}\nVL {lane.vl}" for lane in table.lanes])
        axes.set_ylabel("% of the list's blocks")
        axes.set_title("Share of the list: configured and measured", loc="left")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False)
        return write_png(figure, file, option="--page")


def write_page(
    result: CosimResult, folder: Path, *, title: str, wave: Path | None, clock: LinkClock | None = None
) -> Path:
    """Write ``index.html`` and its pictures into a folder, and return the page.

    Parameters
    ----------
    result : CosimResult
        Result to show.
    folder : Path
        Output folder, created if missing.
    title : str
        Title of the page.
    wave : Path or None
        Written wave file.
    clock : LinkClock or None
        Clock of the link, if a rate was given.

    Raises
    ------
    InputError
        If a file cannot be written; names ``--page``.
    """
    usable_folder(folder, option="--page")
    for index, table in enumerate(result.tables):
        for name, draw in (("service", service_picture), ("shares", shares_picture)):
            if table.lanes and table.events:
                draw(table, folder / f"{name}-{index}.png")
    return write(cosim_page(result, title=title, wave=wave, clock=clock), folder / "index.html", option="--page")
