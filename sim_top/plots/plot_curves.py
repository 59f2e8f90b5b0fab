"""Pictures of curves as PNG, SVG or page, with error bars and hollow marks for saturated levels."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlane.documents.files import write_whole
from vlane.errors import InputError
from vlane.sim_top.output.curves import Chart, Mark, drawn
from vlane.sim_top.output.curves import Curve as DrawnCurve
from vlane.sim_top.output.page import Column, Page, Section, Table
from vlane.sim_top.output.page import write as write_page
from vlane.sim_top.output.pictures import look, new_figure, styled
from vlane.sim_top.plots.curves import Curve, CurvePoint, Curves
from vlane.sim_top.plots.study_points import joined

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".html")
_SATURATED = "hollow: saturated"
_UNDECIDED = "half filled: undecided, the run is too short"
_NO_LATENCY = "saturated (no latency):"
_EDGE = 0.95
"""Relative height of the marks of saturated levels in a picture of latencies."""
_BELOW_EDGE = 0.12
"""Fraction of the height reserved for these marks."""
_APART = 0.018
"""Fraction of the width between marks at the same x."""
_WORDS_ACROSS = 60
"""Number of characters that fit along the x axis."""
_STYLES = ("-", "--", ":", "-.", (0, (5, 1)))
_ALIKE = 8
"""Number of colours and mark shapes; further curves get other line styles."""
_MOST_MARKS = 2500
"""Largest number of marks on a page."""


def write_curves(curves: Curves, file: Path) -> Path:
    """Write a picture or page atomically, in the format of the file's suffix, and return the file.

    Raises
    ------
    InputError
        If the suffix is unknown or the file cannot be written.
    """
    kind = file.suffix.lower()
    if kind not in SUFFIXES:
        raise InputError("--out", f"a file whose name ends in {', '.join(SUFFIXES)}", str(file))
    if kind == ".html":
        return _write_page(curves, file)
    made = io.BytesIO()
    # Equal curves give equal bytes: fixed id salt, no date.
    with styled({"svg.hashsalt": "vlane", "svg.fonttype": "none"}):
        curve_figure(curves).savefig(made, format=kind[1:], metadata={"Date": None} if kind == ".svg" else {})
    write_whole(file, made.getvalue(), option="--out")
    return file


def curve_figure(curves: Curves) -> Figure:
    """Return the curves as a matplotlib figure."""
    figure = new_figure(figsize=(8, 5.2), layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(curves.curves):
        _draw(axes, curves, curve, number)
    from matplotlib.lines import Line2D  # noqa: PLC0415 - new_figure imported matplotlib without a settings file

    axes.set_xlabel(curves.x, parse_math=False)
    axes.set_ylabel(curves.y, parse_math=False)
    axes.grid(visible=True, alpha=0.3)
    if curves.words:
        turn: dict[str, Any] = {"rotation": 90} if sum(map(len, curves.words)) > _WORDS_ACROSS else {}
        axes.set_xticks(range(len(curves.words)), curves.words, parse_math=False, **turn)
    if curves.is_latency:
        _draw_edge(axes, curves)
    if len(curves.curves) > 1:
        legend = figure.legend(loc="outside right upper", frameon=False, fontsize="small")
        for text in legend.get_texts():
            text.set_parse_math(False)
    styles: dict[str, Any] = {_SATURATED: "none", _UNDECIDED: "left"}
    keys = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="o" if said in styles else "",
            color="#444444",
            fillstyle=styles.get(said, "full"),
            markerfacecoloralt="white",
            label=said,
        )
        for said in _said(curves)
    ]
    if keys:
        figure.legend(handles=keys, loc="outside lower center", ncols=1, frameon=False, fontsize="small")
    return figure


def _said(curves: Curves) -> list[str]:
    """Return the legend entries for the kinds of marks in use."""
    points = [point for curve in curves.curves for point in curve.points]
    said = [_SATURATED] * any(it.saturated for it in points) + [_UNDECIDED] * any(not it.decided for it in points)
    if any(it.ci95 is not None for it in points):
        said.append(f"bars: 95 % {'over seeds' if any(it.seeds > 1 for it in points) else 'of the run'}")
    return [*said, *[f"means over {', '.join(curves.averaged)}"] * bool(curves.averaged)]


def _draw(axes: Axes, curves: Curves, curve: Curve, number: int) -> None:
    shade: dict[str, Any] = {"linestyle": _STYLES[number // _ALIKE % len(_STYLES)], **look(number)}
    axes.plot([], [], markersize=5, linewidth=1.3, label=curve.label, **shade)
    for stretch in _stretches(curves, curve):
        line = {"linestyle": shade["linestyle"], "color": shade["color"], "linewidth": 1.3}
        axes.plot([it.x for it in stretch], [it.value or 0.0 for it in stretch], **line)
    for it in curve.points:
        if it.value is not None:
            fill: Any = "none" if it.saturated else "full" if it.decided else "left"
            axes.errorbar(
                [it.x],
                [it.value],
                yerr=it.ci95,
                linestyle="none",
                fillstyle=fill,
                markerfacecoloralt="white",
                markersize=5,
                capsize=2,
                **look(number),
            )


def _stretches(curves: Curves, curve: Curve) -> list[list[CurvePoint]]:
    """Return the segments of points to join by lines, or none for text columns, which have no order."""
    return [] if curves.words else list(joined(curve.points, is_latency=curves.is_latency))


def _draw_edge(axes: Axes, curves: Curves) -> None:
    """Draw marks of saturated levels, which have no latency, at the upper edge."""
    without = [(number, it) for number, curve in enumerate(curves.curves) for it in curve.points if _is_grown(it)]
    if not without:
        return
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + (high - low) * _BELOW_EDGE / (1 - _BELOW_EDGE))
    across: Any = axes.get_xaxis_transform()
    axes.text(0.01, _EDGE, _NO_LATENCY, transform=axes.transAxes, va="center", fontsize="small")
    left, right = axes.get_xlim()
    for place, number in _side_by_side(without, (right - left) * _APART):
        axes.plot([place], [_EDGE], transform=across, linestyle="none", fillstyle="none", markersize=6, **look(number))


def _side_by_side(marks: list[tuple[int, CurvePoint]], step: float) -> list[tuple[float, int]]:
    """Return (x, curve number) of marks, shifted sideways where several share an x."""
    made = []
    for x in dict.fromkeys(it.x for _, it in marks):
        same = [number for number, it in marks if it.x == x]
        made += [(x + (place - (len(same) - 1) / 2) * step, number) for place, number in enumerate(same)]
    return made


def _is_grown(point: CurvePoint) -> bool:
    return point.value is None and point.saturated


def _write_page(curves: Curves, file: Path) -> Path:
    """Write the curves and a table of their points as a page."""
    kept: list[Curve] = []
    marks = 0
    for curve in curves.curves:
        marks += len(curve.points)
        if kept and marks > _MOST_MARKS:
            break
        kept.append(curve)
    notes = [f"{said[0].upper()}{said[1:]}." for said in _said(curves)]
    if len(kept) < len(curves.curves):
        notes.append(f"The first {len(kept)} of {len(curves.curves)} curves are drawn.")
    is_grown = any(_is_grown(it) for curve in kept for it in curve.points)
    chart = Chart(
        f"{curves.y} against {curves.x}",
        curves.x,
        curves.y,
        [_drawn_curve(curves, curve, number) for number, curve in enumerate(kept)],
        strip=_NO_LATENCY if is_grown else "",
        words=curves.words,
    )
    columns = [Column("curve", is_number=False), Column(curves.x, is_number=not curves.words), Column(curves.y)]
    columns += [Column("± 95 %"), Column("seeds"), Column("saturated", is_number=False)]
    rows = [
        [
            curve.label,
            curves.words[int(it.x)] if curves.words else it.x,
            it.value,
            it.ci95,
            it.seeds,
            "yes" if it.saturated else "" if it.decided else "undecided",
        ]
        for curve in curves.curves
        for it in curve.points
    ]
    sections = [
        Section("Curves", [drawn([chart], notes=notes)]),
        Section("Points", [Table("Drawn points", columns, rows, rest="the results contain all")]),
    ]
    return write_page(Page(f"{curves.y} against {curves.x}", sections), file, option="--out")


def _drawn_curve(curves: Curves, curve: Curve, number: int) -> DrawnCurve:
    """Return a curve for the page: line segments, and marks with intervals."""
    lines = [[(it.x, it.value or 0.0) for it in stretch] for stretch in _stretches(curves, curve)]
    marks = []
    for it in curve.points:
        if it.value is None and not _is_grown(it):
            continue
        fill = "none" if it.saturated else "full" if it.decided else "half"
        ends = None if it.value is None or it.ci95 is None else (it.value - it.ci95, it.value + it.ci95)
        marks.append(Mark(it.x, it.value, fill, _words(curves, curve, it), ends))
    return DrawnCurve(curve.label or curves.y, number, lines, marks=marks, dotted=number >= _ALIKE)


def _words(curves: Curves, curve: Curve, point: CurvePoint) -> str:
    """Return the tooltip of a point."""
    lines = [curve.label] * bool(curve.label)
    lines.append(f"{curves.x} {curves.words[int(point.x)] if curves.words else f'{point.x:g}'}")
    width = "" if point.ci95 is None else f" ± {point.ci95:.2g}"
    lines.append(f"{curves.y}: " + ("none (saturated)" if point.value is None else f"{point.value:.6g}{width}"))
    return "\n".join([*lines, *[f"mean over {point.seeds} seeds"] * (point.seeds > 1)])
