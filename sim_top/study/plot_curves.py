"""Pictures of curves: marks, intervals, hollow marks for saturated levels; as PNG, SVG or a page."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlane.sim_top.output.pictures import colour, look, new_figure, styled
from vlane.sim_top.study.curves import Curve, CurvePoint, Curves
from vlane.sim_top.study.study_points import joined

from vlane.errors import InputError
from vlane.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SUFFIXES", "curve_figure", "write_curves"]

SUFFIXES = (".png", ".svg", ".html")
_SATURATED = "hollow: saturated"
_UNDECIDED = "half filled: the run is too short to tell whether it is saturated"
_NO_LATENCY = "saturated, no latency:"
_EDGE = 0.95
"""Height of the marks of saturated levels in a picture of latencies."""
_BELOW_EDGE = 0.12
"""Share of the height that is left free for them."""
_APART = 0.018
"""Share of the width between marks of one place."""
_WORDS_ACROSS = 60
"""Characters that find place along the x axis."""
_STYLES = ("-", "--", ":", "-.", (0, (5, 1)))
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("circle", "square", "triangle-up", "triangle-down", "diamond", "cross", "x", "star")
_ALIKE = len(_SYMBOLS)


def write_curves(curves: Curves, file: Path) -> Path:
    """Write a picture or a page, by what the file's name ends in, whole or not at all; return the file.

    Raises
    ------
    InputError
        If the name ends otherwise, or the file cannot be written.
    """
    kind = file.suffix.lower()
    if kind not in SUFFIXES:
        raise InputError("--out", f"a file whose name ends in {', '.join(SUFFIXES)}", str(file))
    if kind == ".html":
        content: str | bytes = _page(curves)
    else:
        made = io.BytesIO()
        # The same curves give the same bytes: ids from a fixed salt, no date.
        with styled({"svg.hashsalt": "vlane", "svg.fonttype": "none"}):
            curve_figure(curves).savefig(made, format=kind[1:], metadata={"Date": None} if kind == ".svg" else {})
        content = made.getvalue()
    write_whole(file, content, option="--out")
    return file


def curve_figure(curves: Curves) -> Figure:
    """Return the curves as matplotlib's figure."""
    figure = new_figure(figsize=(8, 5.2), layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(curves.curves):
        _draw(axes, curves, curve, number)
    from matplotlib.lines import Line2D  # noqa: PLC0415 - imported first by the figure, without a file of settings

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
            [], [], linestyle="none", marker="o" if said in styles else "", color="#444444",
            fillstyle=styles.get(said, "full"), markerfacecoloralt="white", label=said,
        )
        for said in _said(curves)
    ]  # fmt: skip
    if keys:
        figure.legend(handles=keys, loc="outside lower center", ncols=1, frameon=False, fontsize="small")
    return figure


def _said(curves: Curves) -> list[str]:
    """Return what is to be said of the marks that there are."""
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
                [it.x], [it.value], yerr=it.ci95, linestyle="none", fillstyle=fill, markerfacecoloralt="white",
                markersize=5, capsize=2, **look(number),
            )  # fmt: skip


def _stretches(curves: Curves, curve: Curve) -> list[list[CurvePoint]]:
    """Return the stretches of points that lines join; words have no order, so that none joins theirs."""
    return [] if curves.words else list(joined(curve.points, is_latency=curves.is_latency))


def _draw_edge(axes: Axes, curves: Curves) -> None:
    """Mark saturated levels, which have no latency, at the upper edge."""
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
    """Return places for the marks of curves, those of equal place beside each other, with the curves' numbers."""
    made = []
    for x in dict.fromkeys(it.x for _, it in marks):
        same = [number for number, it in marks if it.x == x]
        made += [(x + (place - (len(same) - 1) / 2) * step, number) for place, number in enumerate(same)]
    return made


def _is_grown(point: CurvePoint) -> bool:
    return point.value is None and point.saturated


def _page(curves: Curves) -> str:
    from plotly import graph_objects  # noqa: PLC0415 - it takes a second, and pictures need none of it

    figure = graph_objects.Figure()
    top = 1.15 * max((it.value or 0.0 for curve in curves.curves for it in curve.points), default=1.0)
    for number, curve in enumerate(curves.curves):
        name = html.escape(curve.label)
        shade, dash = colour(number), _DASHES[number // _ALIKE % len(_DASHES)]
        group = {"legendgroup": str(number), "name": name}
        for stretch in _stretches(curves, curve):
            figure.add_scatter(
                x=[_shown_x(curves, it) for it in stretch], y=[it.value for it in stretch], mode="lines",
                line={"color": shade, "dash": dash}, showlegend=False, hoverinfo="skip", **group,
            )  # fmt: skip
        kept = [it for it in curve.points if it.value is not None or (curves.is_latency and it.saturated)]
        figure.add_scatter(
            x=[_shown_x(curves, it) for it in kept], y=[top if it.value is None else it.value for it in kept],
            error_y={"type": "data", "array": [it.ci95 or 0.0 for it in kept]}, mode="markers",
            marker={"color": shade, "size": 9, "symbol": [_symbol(number, it) for it in kept]},
            text=[_words(curves, curve, it) for it in kept], hoverinfo="text",
            showlegend=len(curves.curves) > 1, **group,
        )  # fmt: skip
    figure.update_layout(
        title={"text": f"<sup>{html.escape('; '.join(_said(curves)).replace('half filled', 'with a dot'))}</sup>"},
        template="plotly_white", hovermode="closest",
        xaxis_title=html.escape(curves.x), yaxis_title=html.escape(curves.y),
    )  # fmt: skip
    if curves.words:
        figure.update_xaxes(
            type="category", categoryorder="array", categoryarray=[html.escape(w) for w in curves.words]
        )
    page: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return page


def _shown_x(curves: Curves, point: CurvePoint) -> float | str:
    return html.escape(curves.words[int(point.x)]) if curves.words else point.x


def _symbol(number: int, point: CurvePoint) -> str:
    return _SYMBOLS[number % _ALIKE] + ("-open" if point.saturated else "" if point.decided else "-open-dot")


def _words(curves: Curves, curve: Curve, point: CurvePoint) -> str:
    """Return what is known of a point, in lines."""
    lines = [curve.label] * bool(curve.label)
    lines.append(f"{curves.x} {curves.words[int(point.x)] if curves.words else f'{point.x:g}'}")
    width = "" if point.ci95 is None else f" ± {point.ci95:.2g}"
    lines.append(f"{curves.y}: " + ("none, it is saturated" if point.value is None else f"{point.value:.6g}{width}"))
    return "<br>".join([*map(html.escape, lines), *[f"mean over {point.seeds} seeds"] * (point.seeds > 1)])
