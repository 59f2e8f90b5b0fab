"""Page of a cosimulation: verdict, result of each table, counts of rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from vlane.rates import LinkClock, shown_ns
from vlane.sim_top.cosim.cosim import CosimResult
from vlane.sim_top.cosim.cosim_vlarb import LaneResult, TableResult
from vlane.sim_top.output.curves import Bars, Chart, drawn
from vlane.sim_top.output.page import Cell, Column, Drawing, Page, Section, Table, Verdict, embedded, short

_MOST_DRAWN = 24
"""Largest number of tables with drawings; the rows of all tables are listed."""
_SHOWN_CYCLES = 5000
_MOST_WORDS = 8000
_LISTS = {"high": 1, "low": 0, "vl15": 3}
"""Colour index of each list."""
_WIDTH, _LEFT, _ROW = 900, 60, 26


def cosim_page(result: CosimResult, *, title: str, wave: Path | None, clock: LinkClock | None) -> Page:
    """Return the page of a result. A clock adds times and rates next to cycles and shares."""
    sections = []
    if result.tables:
        rows = [_row(table.where, lane, clock) for table in result.tables for lane in table.lanes]
        sections.append(Section("Service of each lane", [Table(_CAPTION, _columns(clock), rows)]))
    drawn_tables = [table for table in result.tables if table.lanes and table.events]
    sections += [
        Section(short(table.where), [_service(table, clock), _shares(table)], [_lists(table)])
        for table in drawn_tables[:_MOST_DRAWN]
    ]
    if len(drawn_tables) > _MOST_DRAWN:
        sections[0] = Section(
            sections[0].heading,
            sections[0].parts,
            [f"Only the first {_MOST_DRAWN} of {len(drawn_tables)} tables have drawings."],
        )
    undrawn = [table for table in result.tables if not (table.lanes and table.events)]
    if undrawn:
        columns = [Column("where", is_number=False), Column("lists", is_number=False)]
        table_of_lists = Table(
            "Tables used too briefly to be measured", columns, [(it.where, _lists(it)) for it in undrawn]
        )
        sections.append(Section("Other tables", [table_of_lists]))
    sections.append(Section("Counts of rules", [_rules(result)]))
    if result.coverage.crosses:
        sections.append(Section("Counts of crosses", [_crosses(result)]))
    return Page(title, sections, _verdicts(result), _facts(result, wave, clock))


_CAPTION = (
    "Every lane backlogged: share of the list by weight, with 64-byte and with MTU packets; share of the link and "
    "longest wait of a head packet with MTU packets"
)


def _verdicts(result: CosimResult) -> list[Verdict]:
    if result.mismatches:
        return [Verdict("bad", "Hardware and golden differ.", short(result.mismatch, _MOST_WORDS))]
    failed = getattr(result, "failed_audits", [])
    said = [Verdict("good", "Hardware and golden agree in every cycle.")]
    missing = ", ".join(result.coverage.missing)
    said += [Verdict("bad", "The audit failed.", ", ".join(failed))] * bool(failed)
    return [*said, *[Verdict("bad", "The run did not trigger all applicable rules.", missing)] * result.coverage.failed]


def _facts(result: CosimResult, wave: Path | None, clock: LinkClock | None) -> list[tuple[str, str]]:
    simulated = f" ({shown_ns(clock.ns(result.cycles))} on a link of {clock.rate_gbps:g} Gb/s)" if clock else ""
    facts = [
        ("Compared", f"{result.cycles:,} cycles{simulated}, every output in each"),
        ("Decisions", f"{result.decisions:,}"),
        ("Coverage", result.coverage.words() or "no rule applies"),
        ("Speed", f"{result.cycles_per_second:,.0f} cycles per second; {result.engine}, {result.simulator}"),
        ("Parameters", ", ".join(f"{name} {value}" for name, value in result.parameters.items()) or "none"),
        ("Seed", str(result.seed)),
    ]
    return [*facts, ("Wave of the first cycles", wave.name)] if wave else facts


def _columns(clock: LinkClock | None) -> list[Column]:
    columns = [
        Column("ports", is_number=False),
        Column("list", is_number=False),
        Column("VL"),
        Column("weight"),
        Column("weight share, %", form=".1f"),
        Column("64-byte packets, %", form=".1f"),
        Column("MTU packets, %", form=".1f"),
        Column("share of the link, %", form=".1f"),
        Column("packets"),
        Column("longest wait, cycles"),
    ]
    return [*columns, Column("longest wait, ns", form=",.1f"), Column("Gb/s", form=".2f")] if clock else columns


def _row(where: str, lane: LaneResult, clock: LinkClock | None) -> tuple[object, ...]:
    shares = [100 * getattr(lane, name) for name in ("weight_share", "share_small", "share_full", "link_share")]
    wait = lane.longest_wait_cycles
    row = (where, lane.list, lane.vl, lane.weight, *shares, lane.packets, wait)
    return (*row, clock.ns(wait), clock.gbps(lane.link_share)) if clock else row


def _lists(table: TableResult) -> str:
    """Return both lists as text."""

    def shown(entries: Sequence[tuple[int, int]]) -> str:
        return " ".join(f"{vl}:{weight}" for vl, weight in entries if weight) or "empty"

    return f"High {shown(table.high)} · Low {shown(table.low)} · LimitOfHighPriority {table.limit}"


def _shares(table: TableResult) -> Drawing:
    groups = [f"{lane.list} {lane.vl}" for lane in table.lanes]
    kinds = {"weight": "weight_share", "64 bytes": "share_small", "MTU": "share_full"}
    heights = {name: [100 * getattr(lane, attribute) for lane in table.lanes] for name, attribute in kinds.items()}
    chart = Chart("Share of the list, %", "list and VL", "%", bars=Bars(groups, heights))
    return drawn([chart], caption="Configured, and measured with packets of 64 bytes and of the MTU")


def _service(table: TableResult, clock: LinkClock | None) -> Drawing:
    """Return a timeline of the link's occupancy, one row per lane."""
    lanes = sorted({event.vl for event in table.events})
    events = [event for event in table.events if event.cycle < _SHOWN_CYCLES]
    end = max((event.cycle + event.blocks for event in events), default=1)
    scale, bottom = (_WIDTH - _LEFT - 12) / end, 24 + _ROW * len(lanes)
    parts = [
        Markup('<text x="{}" y="{}" text-anchor="end">VL {}</text>').format(_LEFT - 8, 24 + _ROW * row + 17, vl)
        for row, vl in enumerate(lanes)
    ]
    place = 0
    for name, colour in _LISTS.items():
        boxes = [
            _box(_LEFT + event.cycle * scale, 28 + _ROW * lanes.index(event.vl), max(event.blocks * scale, 1.0))
            for event in events
            if event.list == name
        ]
        if boxes:
            parts.append(Markup('<path class="span c{}" d="{}"/>').format(colour, "".join(boxes)))
            left = _LEFT + place
            box = Markup('<path class="span c{}" d="{}"/><text x="{}" y="15">{} list</text>')
            parts.append(box.format(colour, _box(left, 4, 12, 12), left + 18, name))
            place += 110
    step = next(size for size in (100, 200, 500, 1000, 2000, 5000) if end / size <= 12 or size == 5000)
    for cycle in range(0, end + 1, step):
        x = _LEFT + cycle * scale
        words = f"{cycle:,}" + (f" = {shown_ns(clock.ns(cycle))}" if clock else "")
        parts.append(Markup('<path class="axis" d="M{0:.1f} {1}v5"/>').format(x, bottom))
        if not clock or cycle // step % 2 == 0:
            anchor = "start" if cycle == 0 else "end" if x > _WIDTH - 90 else "middle"
            parts.append(
                Markup('<text class="minor" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                    x, bottom + 18, anchor, words
                )
            )
    parts.append(Markup('<path class="axis" d="M{} {}H{}"/>').format(_LEFT, bottom, _WIDTH - 12))
    content = Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="Occupancy of the link by lane" font-size="12">{}</svg>'
    ).format(_WIDTH, bottom + 26, Markup("").join(parts))
    caption = "Occupancy of the link by lane and cycle (one 64-byte block each): every lane backlogged, MTU packets"
    return Drawing("service", caption, content, data=embedded({"tips": []}))


def _box(x: float, y: float, width: float, height: float = 18) -> str:
    """Return a rectangle as an SVG path."""
    return f"M{x:.1f} {y:g}h{width:.1f}v{height:g}h{-width:.1f}z"


def _rules(result: CosimResult) -> Table:
    rows = []
    for rule in result.rules:
        count, applies = result.coverage.counts.get(rule.name, 0), rule.name in result.coverage.applicable
        times = (
            Cell(f"{count:,}", is_number=True) if count or applies else Cell("not applicable", is_number=True, order=-1)
        )
        rows.append((rule.decision, rule.name, rule.text, times))
    columns = [*(Column(name, is_number=False) for name in ("decision", "rule", "meaning")), Column("count")]
    return Table("Rules of the contract, and their counts in this run", columns, rows)


def _crosses(result: CosimResult) -> Table:
    columns = [Column("events in the same cycle", is_number=False), Column("count")]
    rows = [(name, count) for name, count in result.coverage.crosses.items()]
    return Table("Events that must coincide in a cycle, and their counts in this run", columns, rows)
