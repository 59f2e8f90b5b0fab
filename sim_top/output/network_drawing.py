"""Drawing of a network on a page: switches, hosts, and every link coloured by its load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from vlane.sim_top.output.network_layout import Layout, grid_layout, layered, level_layout, spring_layout
from vlane.sim_top.output.page import Drawing, embedded, short

_MOST_LINKS = 5000
_MOST_VALUES = 20_000
_MOST_HOSTS = 320
_MOST_LABELS = 80
_MOST_NAME_BYTES = 80_000
_LEAST_CHARACTERS = 10
_STEPS = 10


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a cable.

    Parameters
    ----------
    source, target : int
        Node numbers: switches from 0, then hosts.
    source_port, target_port : int
        Port numbers from 1; 0 for hosts.
    values : tuple of float or None
        One value per choice; ``None`` if unknown.
    """

    source: int
    source_port: int
    target: int
    target_port: int
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """Meaning and range of the links' values.

    Parameters
    ----------
    name : str
        Label of the legend, with unit.
    most : float
        Value at the upper end of the colour scale.
    ends : tuple of str
        Labels of both ends of the colour scale.
    words : str
        Tooltip text of a value; ``{}`` stands for the value times ``factor``.
    factor : float
        Factor applied in ``words``.
    nothing : str
        Text for an unknown value.
    second : str
        Tooltip text of the value in a second unit; empty for none.
    second_factor : float
        Factor applied in ``second``.
    """

    name: str
    most: float
    ends: tuple[str, str]
    words: str
    factor: float = 1.0
    nothing: str = "unknown"
    second: str = ""
    second_factor: float = 1.0


def step_of(value: float | None, most: float) -> str:
    """Return the CSS class of a link's colour: ``q0`` to ``q9``, or ``qn`` for an unknown value.

    Examples
    --------
    >>> step_of(0.0, 1.0), step_of(0.55, 1.0), step_of(1.0, 1.0), step_of(None, 1.0)
    ('q0', 'q5', 'q9', 'qn')
    """
    if value is None:
        return "qn"
    return f"q{min(_STEPS - 1, max(0, int(_STEPS * value / most)))}"


def drawn_network(
    names: Sequence[str],
    host_names: Sequence[str],
    host_switches: Sequence[int],
    links: Sequence[Link],
    scale: Scale,
    *,
    choices: Sequence[str] = (),
    chosen: int = 0,
    torus: Sequence[int] = (),
    caption: str = "",
    choice_name: str = "",
) -> Drawing:
    """Return the drawing of a network, laid out by level, on a grid or by springs.

    Parameters
    ----------
    names, host_names : sequence of str
        Labels of switches and hosts.
    host_switches : sequence of int
        Switch of each host.
    links : sequence of Link
        Both directions of every cable.
    scale : Scale
        Meaning and range of the links' values.
    choices : sequence of str
        Choices for the reader, for example loads; each link has one value per choice.
    chosen : int
        Index of the choice shown first.
    torus : sequence of int
        Sizes of a torus' dimensions; empty for other networks.
    """
    switches = len(names)
    with_hosts = len(host_switches) <= _MOST_HOSTS
    cables = sorted(
        {
            (min(it.source, it.target), max(it.source, it.target))
            for it in links
            if it.source < switches and it.target < switches
        }
    )
    layout = _layout(switches, cables, host_switches, torus, with_hosts=with_hosts)
    shown, notes = _shown(links, switches, with_hosts=with_hosts)
    shown.sort(key=lambda each: _order(each[0].values[chosen]))  # busy links on top
    kept = _kept(len(shown), len(choices) or 1, chosen)
    at = np.concatenate([layout.switches, layout.hosts])
    bent = bool(torus) and len(layout.switches) > 2
    width = 2.4 if len(shown) <= 600 else 1.6 if len(shown) <= 2000 else 1.0
    lines = [
        Markup('<path class="k {}" d="{}" data-t="{}"/>').format(
            step_of(link.values[chosen], scale.most), _path(at, link, lane, width, bent=bent), number
        )
        for number, (link, lane, _) in enumerate(shown)
    ]
    drawn_nodes: dict[int, int] = {}
    listed = [
        [
            drawn_nodes.setdefault(link.source, len(drawn_nodes)),
            link.source_port,
            drawn_nodes.setdefault(link.target, len(drawn_nodes)),
            link.target_port,
            count,
        ]
        for link, _, count in shown
    ]
    everything = [*names, *host_names]
    data = embedded(
        {
            "names": _fitting([everything[node] for node in drawn_nodes]),
            "links": listed,
            "values": [[_rounded(link.values[choice]) for link, _, _ in shown] for choice in kept],
            "chosen": kept.index(chosen),
            "most": scale.most,
            "unit": scale.words,
            "factor": scale.factor,
            "nothing": scale.nothing,
            "second": scale.second,
            "second_factor": scale.second_factor,
        }
    )
    content = Markup(
        '<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}"><g stroke-width="{}">{}</g>{}</svg>'
    ).format(layout.width, layout.height, caption or scale.name, width, Markup("").join(lines), _nodes(layout, names))
    if not with_hosts:
        notes.append(f"The {len(host_switches):,} hosts and their links are not drawn.")
    if len(kept) < len(choices):
        notes.append(f"{len(kept)} of {len(choices)} choices are available on this page.")
    legend = _legend(scale, [choices[choice] for choice in kept] if choices else [], kept.index(chosen), choice_name)
    return Drawing("network", caption, content, legend, notes, data)


def _layout(
    switches: int, cables: list[tuple[int, int]], hosts: Sequence[int], torus: Sequence[int], *, with_hosts: bool
) -> Layout:
    if torus:
        return grid_layout(torus, hosts, with_hosts=with_hosts)
    levels = layered(switches, cables, hosts)
    if levels is not None and switches > 2:
        return level_layout(levels, cables, hosts, with_hosts=with_hosts)
    return spring_layout(switches, cables, hosts, with_hosts=with_hosts)


def _shown(links: Sequence[Link], switches: int, *, with_hosts: bool) -> tuple[list[tuple[Link, int, int]], list[str]]:
    """Return the drawn links, each with its index and number of parallel links, and notes."""
    drawn = [it for it in links if with_hosts or (it.source < switches and it.target < switches)]
    pairs: dict[tuple[int, int], list[Link]] = {}
    for link in drawn:
        pairs.setdefault((link.source, link.target), []).append(link)
    if len(drawn) <= _MOST_LINKS:
        return [(link, lane, 1) for same in pairs.values() for lane, link in enumerate(same)], []
    merged = [(max(same, key=_highest), 0, len(same)) for same in pairs.values()]
    notes = ["Parallel links are drawn as one link with the highest value."] if len(merged) < len(drawn) else []
    if len(merged) > _MOST_LINKS:
        notes.append(f"The busiest {_MOST_LINKS:,} of {len(merged):,} links are drawn.")
        busiest = sorted(range(len(merged)), key=lambda at: (-_highest(merged[at][0]), at))[:_MOST_LINKS]
        merged = [merged[at] for at in sorted(busiest)]
    return merged, notes


def _highest(link: Link) -> float:
    return max(map(_order, link.values))


def _order(value: float | None) -> float:
    return -1.0 if value is None else value


def _kept(links: int, choices: int, chosen: int) -> list[int]:
    """Return the choices whose values fit on a page: the first one shown, both ends, and others evenly between."""
    room = max(1, min(choices, _MOST_VALUES // max(links, 1)))
    if room == 1:
        return [chosen]
    return sorted({chosen, *(round(number * (choices - 1) / (room - 1)) for number in range(room))})


def _fitting(names: Sequence[str]) -> list[str]:
    """Return the names as shown, shortened as far as their total size requires."""
    shown = [short(name) for name in names]
    size = sum(len(embedded(name)) for name in shown)
    if size <= _MOST_NAME_BYTES:
        return shown
    most = max(_LEAST_CHARACTERS, max(map(len, shown)) * _MOST_NAME_BYTES // size)
    return [short(name, most) for name in shown]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _path(at: np.ndarray, link: Link, lane: int, width: float, *, bent: bool) -> str:
    """Return the path of a link, offset to the right of its direction. Long links of a torus are curved."""
    start, end = at[link.source], at[link.target]
    along = end - start
    length = float(np.hypot(*along)) or 1.0
    side = np.array([-along[1], along[0]]) / length
    gap = side * (0.6 + lane * 2.1) * width
    start, end = start + gap, end + gap
    if bent and length > 120:
        bow = min(0.1 * length, 48) * (1 if link.source < link.target else -1)
        middle = (start + end) / 2 + side * bow
        return f"M{start[0]:.0f} {start[1]:.0f}Q{middle[0]:.0f} {middle[1]:.0f} {end[0]:.0f} {end[1]:.0f}"
    digits = 1 if width > 1 else 0
    return f"M{start[0]:.{digits}f} {start[1]:.{digits}f}L{end[0]:.{digits}f} {end[1]:.{digits}f}"


def _nodes(layout: Layout, names: Sequence[str]) -> Markup:
    count = len(names)
    size = 9.0 if count <= 100 else 5.0 if count <= 400 else 3.0
    parts = [
        Markup('<circle class="host" cx="{:.0f}" cy="{:.0f}" r="3"/>').format(*place) for place in layout.hosts.tolist()
    ]
    with_labels = count <= _MOST_LABELS
    for (x, y), name in zip(layout.switches.tolist(), names, strict=True):
        label = short(name, 10)
        half = max(size, 3.2 * len(label) + 4) if with_labels else size
        parts.append(
            Markup('<rect class="switch" x="{:.0f}" y="{:.0f}" width="{:.0f}" height="{:.0f}" rx="3"/>').format(
                x - half, y - size, 2 * half, 2 * size
            )
        )
        if with_labels:
            parts.append(
                Markup('<text class="label" x="{:.0f}" y="{:.0f}" font-size="10">{}</text>').format(x, y, label)
            )
    return Markup("").join(parts)


def _legend(scale: Scale, choices: Sequence[str], chosen: int, choice_name: str) -> Markup:
    steps = Markup("").join(Markup('<i class="q{}"></i>').format(step) for step in range(_STEPS))
    ramp = Markup('<span class="ramp">{}: {} <span class="steps">{}</span> {} <i class="qn"></i> {}</span>').format(
        scale.name, scale.ends[0], steps, scale.ends[1], scale.nothing
    )
    choice = Markup("")
    if len(choices) > 1:
        options = Markup("").join(
            Markup('<option value="{}"{}>{}</option>').format(
                number, Markup(" selected") if number == chosen else "", words
            )
            for number, words in enumerate(choices)
        )
        choice = Markup("<label>{} <select>{}</select></label>").format(choice_name, options)
    return Markup('<div class="legend">{}{}</div>').format(choice, ramp)
