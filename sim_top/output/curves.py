"""Curves and bars of a page as SVG: axes, bands, and marks that differ in colour and shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vlane.sim_top.output.page import Drawing, embedded, short

Point = tuple[float, float]

_WIDTH, _HEIGHT = 560, 370
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 68, 30, 48
_STRIP = 26
"""Height of the strip for marks without a value."""
_SIZE = 5.0
_CHARACTERS_ACROSS = 70
_LONGEST_WORD = 24
"""Number of characters that fit along the horizontal axis, and largest length of one label."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Mark of a curve.

    Parameters
    ----------
    x : float
        Horizontal value.
    y : float or None
        Vertical value; ``None`` places the mark in the strip at the upper edge.
    fill : str
        ``full``, ``none`` (hollow) or ``half``.
    words : str
        Text of the tooltip.
    interval : tuple or None
        Lower and upper end of an error bar.
    """

    x: float
    y: float | None
    fill: str = "full"
    words: str = ""
    interval: Point | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Curve with lines, bands and marks.

    Parameters
    ----------
    name : str
        Label in the legend.
    number : int
        Index of colour and mark shape; curves with the same number are hidden and shown together.
    lines : sequence of points
        Line segments, each a sequence of (x, y).
    bands : sequence of points
        Band segments, each a sequence of (x, low, high).
    marks : sequence of Mark
        Marks of the curve.
    dotted : bool
        Whether the lines are dotted.
    """

    name: str
    number: int
    lines: Sequence[Sequence[Point]] = ()
    bands: Sequence[Sequence[tuple[float, float, float]]] = ()
    marks: Sequence[Mark] = ()
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Groups of bars: ``heights[name]`` has one height for each of the ``groups``."""

    groups: Sequence[str]
    heights: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Panel with axes and curves or bars.

    Parameters
    ----------
    title, x_name, y_name : str
        Title and axis labels, with units.
    curves : sequence of Curve
        Curves to draw, unless ``bars`` is given.
    is_logarithmic : bool
        Whether the vertical axis is logarithmic.
    right : tuple of (str, float) or None
        Label of a second vertical axis, and its value at 1 on the first.
    strip : str
        Label of the strip for marks without a vertical value.
    bars : Bars or None
        Bars to draw instead of curves.
    words : sequence of str
        Labels of the positions 0, 1, ... on the horizontal axis, if the values are not numbers.
    """

    title: str
    x_name: str
    y_name: str
    curves: Sequence[Curve] = ()
    is_logarithmic: bool = False
    right: tuple[str, float] | None = None
    strip: str = ""
    bars: Bars | None = None
    words: Sequence[str] = ()


def drawn(charts: Sequence[Chart], *, caption: str = "", notes: Sequence[str] = ()) -> Drawing:
    """Return panels side by side with one legend."""
    tips: dict[str, int] = {}
    content = Markup("\n").join(_chart(chart, tips) for chart in charts)
    names = {curve.number: curve.name for chart in charts for curve in chart.curves}
    buttons = Markup("").join(
        Markup(
            '<button type="button" aria-pressed="true" data-of="{}"><svg viewBox="-8 -8 16 16" aria-hidden="true">'
            '<g class="c{}"><path class="mark" d="{}"/></g></svg>{}</button>'
        ).format(number, number % 8, _form(number), name)
        for number, name in sorted(names.items())
    )
    legend = (
        Markup('<div class="legend" role="group" aria-label="Curves">{}</div>').format(buttons) if names else Markup("")
    )
    return Drawing("curves", caption, content, legend, notes, embedded({"tips": list(tips)}))


def _form(number: int) -> str:
    """Return the shape of a mark as an SVG path around (0, 0)."""
    r = _SIZE
    return (
        f"M{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z",
        "M-4.5-4.5h9v9h-9Z",
        "M0-5.5L5.5 4.5h-11Z",
        "M0 5.5L5.5-4.5h-11Z",
        "M0-6L6 0L0 6L-6 0Z",
        "M-1.8-5.4h3.6v3.6h3.6v3.6h-3.6v3.6h-3.6v-3.6h-3.6v-3.6h3.6Z",
        "M0-2.6L2.8-5.4L5.4-2.8L2.6 0L5.4 2.8L2.8 5.4L0 2.6L-2.8 5.4L-5.4 2.8L-2.6 0L-5.4-2.8L-2.8-5.4Z",
        "M0-6L1.6-1.9L6-1.9L2.5 .9L3.8 5.2L0 2.6L-3.8 5.2L-2.5 .9L-6-1.9L-1.6-1.9Z",
    )[number % 8]


@dataclass(frozen=True, slots=True)
class _Scale:
    """Mapping from values to positions along an axis."""

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.is_logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(value, low))
        return round(self.start + (at - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return round values in ascending order."""
        if self.is_logarithmic:
            powers = range(math.floor(math.log10(self.low)) - 1, math.ceil(math.log10(self.high)) + 1)
            found = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
            found = [each for each in found if self.low <= each <= self.high]
            if len(found) < 3:
                return self._even()
            return found if len(found) <= 8 else [each for each in found if f"{each:e}".startswith("1")]
        return self._even()

    def _even(self) -> list[float]:
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _round_step(least: float) -> float:
    size = 10.0 ** math.floor(math.log10(least))
    return next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= least * 0.999)


def _range(values: Sequence[float], *, is_logarithmic: bool) -> Point:
    """Return the ends of an axis with some margin."""
    if is_logarithmic:
        positive = [each for each in values if each > 0] or [1.0]
        low, high = min(positive), max(positive)
        air = max(0.04 * math.log10(high / low), 0.1)
        return low / 10**air, high * 10**air
    low, high = min(values, default=0.0), max(values, default=1.0)
    air = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
    return low - air if low < 0 else max(low - air, 0.0) if low > 0.3 * high else 0.0, high + air


def _chart(chart: Chart, tips: dict[str, int]) -> Markup:
    top = _TOP + (_STRIP if chart.strip else 0)
    ends = [_LEFT, _WIDTH - (_RIGHT if chart.right else 18)]
    heights = [each for curve in chart.curves for each in _heights(curve)]
    if chart.bars:
        heights = [0.0, *(each for values in chart.bars.heights.values() for each in values)]
    low, high = _range(heights, is_logarithmic=chart.is_logarithmic)
    up = _Scale(low, high, _HEIGHT - _BOTTOM, top, chart.is_logarithmic)
    parts = [_upward_axis(chart, up, ends)]
    if chart.bars:
        parts.append(_bars(chart.bars, up, ends, tips))
    else:
        places = [each for curve in chart.curves for each in _places(curve)]
        least, most = min(places, default=0.0), max(places, default=1.0)
        air = 0.04 * (most - least) or 0.1 * abs(most) or 0.5
        across = _Scale(least - air, most + air, ends[0], ends[1])
        parts.append(_words_axis(across, chart.words) if chart.words else _sideways_axis(across))
        if chart.strip:
            parts.append(_strip(chart.strip, ends))
        parts += [_curve(curve, across, up, tips) for curve in chart.curves]
    parts.append(_text((ends[0] + ends[1]) / 2, _HEIGHT - 8, chart.x_name, "middle"))
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}" font-size="12">{}{}</svg>').format(
        _WIDTH, _HEIGHT, chart.title, _text(ends[0], 16, chart.title, "start", "head"), Markup("").join(parts)
    )


def _heights(curve: Curve) -> list[float]:
    found = [y for line in curve.lines for _, y in line]
    found += [each for band in curve.bands for _, low, high in band for each in (low, high)]
    for mark in curve.marks:
        found += [] if mark.y is None else [mark.y]
        found += mark.interval or ()
    return found


def _places(curve: Curve) -> list[float]:
    return [x for line in curve.lines for x, _ in line] + [mark.x for mark in curve.marks]


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> Markup:
    return Markup('<text x="{:g}" y="{:g}" text-anchor="{}"{}>{}</text>').format(
        x, y, anchor, Markup(' class="{}"').format(kind) if kind else "", text
    )


def _upward_axis(chart: Chart, up: _Scale, ends: list[int]) -> Markup:
    parts = [_grid(ends[0], ends[1], up(each)) for each in up.ticks()]
    parts += [_text(ends[0] - 6, up(each) + 4, _tick(each), "end", "minor") for each in up.ticks()]
    parts.append(Markup('<path class="axis" d="M{0} {1}V{2}H{3}"/>').format(ends[0], _TOP, _HEIGHT - _BOTTOM, ends[1]))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        Markup('<g transform="rotate(-90 12 {0:g})">{1}</g>').format(middle, _text(12, middle, chart.y_name, "middle"))
    )
    if chart.right:
        name, factor = chart.right
        other = _Scale(up.low * factor, up.high * factor, up.start, up.end, up.is_logarithmic)
        parts += [_text(ends[1] + 6, other(each) + 4, _tick(each), "start", "minor") for each in other.ticks()]
        at = _WIDTH - 8
        parts.append(
            Markup('<g transform="rotate(-90 {0} {1:g})">{2}</g>').format(at, middle, _text(at, middle, name, "middle"))
        )
    return Markup("").join(parts)


def _tick(value: float) -> str:
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if size >= 1e4 else f"{round(value, 10):g}"


def _grid(left: float, right: float, y: float) -> Markup:
    return Markup('<path class="grid" d="M{:g} {:g}H{:g}"/>').format(left, y, right)


def _sideways_axis(across: _Scale) -> Markup:
    return Markup("").join(
        _text(across(each), _HEIGHT - _BOTTOM + 16, _tick(each), "middle", "minor") for each in across.ticks()
    )


def _words_axis(across: _Scale, words: Sequence[str]) -> Markup:
    longest = min(max(map(len, words)), _LONGEST_WORD)
    step = -(-len(words) * (longest + 1) // _CHARACTERS_ACROSS)  # the tooltips name the others
    return Markup("").join(
        _text(across(place), _HEIGHT - _BOTTOM + 16, short(word, _LONGEST_WORD), "middle", "minor")
        for place, word in list(enumerate(words))[::step]
    )


def _strip(words: str, ends: list[int]) -> Markup:
    return Markup('<rect class="strip" x="{}" y="{}" width="{}" height="{}"/>{}').format(
        ends[0], _TOP, ends[1] - ends[0], _STRIP - 4, _text(ends[0] + 6, _TOP + 15, words, "start", "minor")
    )


def _curve(curve: Curve, across: _Scale, up: _Scale, tips: dict[str, int]) -> Markup:
    parts = []
    for band in curve.bands:
        there = [f"{across(x):g} {up(high):g}" for x, _, high in band]
        back = [f"{across(x):g} {up(low):g}" for x, low, _ in reversed(band)]
        parts.append(Markup('<path class="band" d="M{}Z"/>').format("L".join(there + back)))
    for line in curve.lines:
        path = "L".join(f"{across(x):g} {up(y):g}" for x, y in line)
        parts.append(Markup('<path class="curve{}" d="M{}"/>').format(" dotted" if curve.dotted else "", path))
    for mark in curve.marks:
        x, y = across(mark.x), _TOP + (_STRIP - 4) / 2 if mark.y is None else up(mark.y)
        if mark.interval:
            low, high = (up(each) for each in mark.interval)
            parts.append(Markup('<path class="bar" d="M{0:g} {1:g}V{2:g}"/>').format(x, low, high))
        said = tips.setdefault(mark.words, len(tips))
        fill = "" if mark.fill == "full" else f" {mark.fill}"
        parts.append(
            Markup('<path class="mark{}" d="{}" transform="translate({:g} {:g})" data-t="{}"/>').format(
                fill, _form(curve.number), x, y, said
            )
        )
    return Markup('<g class="c{}" data-g="{}">{}</g>').format(curve.number % 8, curve.number, Markup("").join(parts))


def _bars(bars: Bars, up: _Scale, ends: list[int], tips: dict[str, int]) -> Markup:
    parts = []
    room = (ends[1] - ends[0]) / max(len(bars.groups), 1)
    width = 0.84 * room / max(len(bars.heights), 1)
    for number, (name, heights) in enumerate(bars.heights.items()):
        for place, (group, height) in enumerate(zip(bars.groups, heights, strict=True)):
            x = ends[0] + place * room + 0.08 * room + number * width
            said = tips.setdefault(f"{group}, {name}: {height:,.4g}", len(tips))
            parts.append(
                Markup('<rect class="box b{}" x="{:g}" y="{:g}" width="{:g}" height="{:g}" data-t="{}"/>').format(
                    number % 4, round(x, 1), up(height), round(0.94 * width, 1), round(up.start - up(height), 1), said
                )
            )
    for place, group in enumerate(bars.groups):
        parts.append(_text(ends[0] + (place + 0.5) * room, _HEIGHT - _BOTTOM + 16, group, "middle", "minor"))
    for number, name in enumerate(bars.heights):
        x = ends[1] - 78 * (len(bars.heights) - number)
        parts.append(Markup('<rect class="box b{}" x="{:g}" y="8" width="10" height="10"/>').format(number % 4, x))
        parts.append(_text(x + 14, 17, name, "start", "minor"))
    return Markup("").join(parts)
