"""Worked traces of the docs pages, checked against hardware and compiled records.

A trace is the table below a line ``<!-- worked trace: NAME -->`` of a page. Its first columns are inputs, held until
the cycle of the next row; the other columns are compared in each row. A ``-`` means 0, no or none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from tests.network.networks import IDENTITY, made
from vlane.egress import ListCode
from vlane.golden.compiler.records import Int16, Int32, Records, new_records
from vlane.golden.engine.bits import list_members
from vlane.golden.engine.kernel import kernel
from vlane.golden.network.network import run
from vlane.golden.network.runs import new_packet_pool
from vlane.golden.switches.packets import EVENTS, NOBODY, Packets, packets_in_use
from vlane.golden.topologies.routing import dmodk
from vlane.golden.topologies.topology import tree
from vlane.hdl.schedulers.block_budget import BlockBudget
from vlane.hdl.schedulers.dtable_line_rate import LineRateDTable
from vlane.hdl.schedulers.lane_account import LaneAccount
from vlane.hdl.schedulers.list_walk import ListWalk
from vlane.hdl.schedulers.vlarb_line_rate import LineRateVLArb
from vlane.schedulers.dtable import DTableParameters
from vlane.schedulers.vlarb import VLArbParameters
from vlane.schedulers.writes import ListSelect

DOCS = Path(__file__).parent.parent.parent / "docs"
SETTLED = 60
"""Cycles after an exchange within which a list of two rows is read and the walk comes to rest."""

Row = dict[str, str]


def trace(page: str, name: str) -> list[Row]:
    """Return the rows of a worked trace, each as a mapping from column to cell."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- worked trace: {name} -->\n((?:\|.*\n)+)", text)
    assert found is not None, f"{page} has no trace {name}"
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def number(cell: str) -> int:
    """Return a cell as a number."""
    return 0 if cell == "-" else int(cell)


def mask(cell: str) -> int:
    """Return the lanes listed in a cell as a bit mask."""
    return 0 if cell == "-" else sum(1 << int(lane) for lane in cell.split())


def members(bits: int) -> str:
    """Return the positions of set bits as a cell."""
    return " ".join(str(place) for place in range(bits.bit_length()) if bits >> place & 1) or "-"


def shown(value: int, *, if_there: int = 1) -> str:
    """Return a value as a cell, or ``-`` unless ``if_there`` is true."""
    return str(value) if if_there else "-"


def flag(value: int) -> str:
    """Return a bit as a cell."""
    return shown(value, if_there=value)


def entry(there: int, vl: int, weight: int) -> str:
    """Return a table entry as a cell."""
    return f"{vl}:{weight}" if there else "-"


def simulate(dut: wiring.Component, body: Callable[[Any], Any]) -> None:
    """Run a test bench on the clock of a component."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(body)
    simulator.run()


async def step_to_next(ctx: Any, rows: list[Row], at: int) -> None:
    """Hold the inputs of a row until the cycle of the next row."""
    cycles = [int(row["cycle"]) for row in rows[at : at + 2]]
    for _ in range(cycles[-1] - cycles[0] or 1):
        await ctx.tick()


def compare(rows: list[Row], at: int, got: Row) -> None:
    """Assert that a row's compared columns equal the simulated values."""
    assert {name: rows[at][name] for name in got} == got, f"row {at + 1} of the trace"


def test_block_budget() -> None:
    """The worked trace of the block budget equals the simulated hardware."""
    rows, dut = trace("vlarb_line_rate.md", "block_budget"), BlockBudget(8, starts_with=0)

    async def body(ctx: Any) -> None:
        for at, row in enumerate(rows):
            amount = number(row["renew with"])
            ctx.set(dut.renew, amount > 0)
            ctx.set(dut.amount, amount)
            ctx.set(dut.single, amount == 1)
            ctx.set(dut.double, amount == 2)
            ctx.set(dut.charge, number(row["charge"]))
            value, charged = ctx.get(dut.value), ctx.get(dut.charged)
            compare(
                rows,
                at,
                {
                    "left": flag(ctx.get(dut.left)),
                    "last": flag(ctx.get(dut.last)),
                    "value": str(value),
                    "not yet subtracted": flag(charged),
                },
            )
            await step_to_next(ctx, rows, at)

    simulate(dut, body)


def test_lane_account() -> None:
    """The worked trace of the lane account equals the simulated hardware."""
    rows, dut = trace("dtable_line_rate.md", "lane_account"), LaneAccount()
    flags = ("comes", "adds", "pays", "from_weight", "empties")

    async def body(ctx: Any) -> None:
        for at, row in enumerate(rows):
            for name in flags:
                ctx.set(getattr(dut, name), number(row[name]))
            for name in ("head_before", "next_head", "weight"):
                ctx.set(getattr(dut, name), number(row[name]))
            compare(
                rows,
                at,
                {
                    "charged": flag(ctx.get(dut.charged)),
                    "account": str(ctx.get(dut.account)),
                    "may be sent": "yes" if ctx.get(dut.charged) and ctx.get(dut.account) >= 0 else "-",
                },
            )
            await step_to_next(ctx, rows, at)

    simulate(dut, body)


def test_list_walk() -> None:
    """The worked trace of the list walk equals the simulated hardware."""
    rows, dut = trace("vlarb_line_rate.md", "list_walk"), ListWalk(data_vls=3, entries=16, lane_bits=4)

    async def body(ctx: Any) -> None:
        for index, vl, weight in ((0, 0, 2), (1, 1, 1), (8, 2, 3)):
            ctx.set(dut.write, 1)
            ctx.set(dut.index, index)
            ctx.set(dut.vl, vl)
            ctx.set(dut.weight, weight)
            await ctx.tick()
        ctx.set(dut.write, 0)
        ctx.set(dut.exchange, 1)
        await ctx.tick()
        ctx.set(dut.exchange, 0)
        for _ in range(SETTLED):
            await ctx.tick()
        for at, row in enumerate(rows):
            ctx.set(dut.able_before, mask(row["able before"]))
            ctx.set(dut.leaves, number(row["leaves"]))
            fetched = [ctx.get(dut.next_row[place].vl) for place in range(8)]
            current = [ctx.get(dut.current_row[place].vl) for place in range(8)]
            left = ctx.get(dut.lanes)
            compare(
                rows,
                at,
                {
                    "awake": members(ctx.get(dut.wakes)),
                    "chosen": shown(ctx.get(dut.number), if_there=ctx.get(dut.chosen)),
                    "fetched VLs": " ".join(str(vl) for vl in fetched if vl < 3) if ctx.get(dut.fetched) else "-",
                    "current VLs": " ".join(str(vl) for place, vl in enumerate(current) if left >> place & 1) or "-",
                    "picked": entry(
                        ctx.get(dut.picked), ctx.get(dut.picked_entry.vl), ctx.get(dut.picked_entry.weight)
                    ),
                    "waiting": entry(ctx.get(dut.waits), ctx.get(dut.waiting.vl), ctx.get(dut.waiting.weight)),
                    "offered": entry(ctx.get(dut.offered), ctx.get(dut.offered_vl), ctx.get(dut.offered_weight)),
                },
            )
            await step_to_next(ctx, rows, at)

    simulate(dut, body)


async def program(ctx: Any, dut: Any, writes: list[dict[str, int]]) -> None:
    """Write a table, exchange the banks, and wait until the list walks have read it and are at rest."""
    for write in writes:
        ctx.set(dut.program.enable, 1)
        for name, value in write.items():
            ctx.set(getattr(dut.program, name), value)
        await ctx.tick()
    ctx.set(dut.program.enable, 0)
    ctx.set(dut.swap, 1)
    ctx.set(dut.ready, 1)
    await ctx.tick()
    ctx.set(dut.swap, 0)
    for _ in range(SETTLED):
        await ctx.tick()


def test_vlarb_line_rate() -> None:
    """The worked trace of the line-rate VL arbiter equals the simulated hardware."""
    rows, dut = (
        trace("vlarb_line_rate.md", "vlarb_line_rate"),
        LineRateVLArb(VLArbParameters(form="line_rate", data_vls=3, entries=8, vl15=False)),
    )
    high, low = dut.lists
    writes = [
        {"select": ListSelect.HIGH, "index": 0, "vl": 0, "weight": 3},
        {"select": ListSelect.LOW, "index": 0, "vl": 1, "weight": 2},
        {"select": ListSelect.LOW, "index": 1, "vl": 2, "weight": 1},
        {"select": ListSelect.LIMIT, "index": 0, "vl": 0, "weight": 0},
    ]

    def of_list(ctx: Any, each: Any) -> Row:
        walk, name = each.walk, each.name.capitalize()
        return {
            f"{name} offered": entry(ctx.get(walk.offered), ctx.get(walk.offered_vl), ctx.get(walk.offered_weight)),
            f"{name} stays": shown(ctx.get(each.vl), if_there=ctx.get(each.stays)),
        }

    async def body(ctx: Any) -> None:
        await program(ctx, dut, writes)
        ctx.set(dut.heads.fits, 0b111)
        ctx.set(dut.behind, 0b111)
        for lane in range(3):
            ctx.set(dut.heads.blocks[lane], 1)
        for at, row in enumerate(rows):
            ctx.set(dut.heads.request, mask(row["request"]))
            side = ListCode(ctx.get(dut.from_list)).name.capitalize()
            compare(
                rows,
                at,
                {
                    **of_list(ctx, high),
                    **of_list(ctx, low),
                    "limit left": flag(ctx.get(dut.turn.left)),
                    "grant": f"{side} {ctx.get(dut.vl)}" if ctx.get(dut.grant) else "-",
                    "`blocks`": flag(ctx.get(dut.blocks)),
                },
            )
            await step_to_next(ctx, rows, at)

    simulate(dut, body)


def test_dtable_line_rate() -> None:
    """The worked trace of the line-rate Deficit Table equals the simulated hardware."""
    rows = trace("dtable_line_rate.md", "dtable_line_rate")
    dut, sizes = (
        LineRateDTable(DTableParameters(form="line_rate", data_vls=2, entries=8, vl15=False, mtu_blocks=4)),
        (2, 1),
    )
    table = ((0, 4), (1, 3), (0, 4))
    writes = [
        {"select": 0, "index": at, "requester": lane, "weight": weight} for at, (lane, weight) in enumerate(table)
    ]

    async def body(ctx: Any) -> None:
        await program(ctx, dut, writes)
        ctx.set(dut.heads.fits, 0b11)
        ctx.set(dut.behind, 0b11)
        for lane, blocks in enumerate(sizes):
            ctx.set(dut.heads.blocks[lane], blocks)
            ctx.set(dut.behind_blocks[lane], blocks)
        for at, row in enumerate(rows):
            ctx.set(dut.heads.request, mask(row["request"]))
            ctx.set(dut.ready, number(row["ready"]))
            walk = dut.walk
            compare(
                rows,
                at,
                {
                    "offered": entry(ctx.get(walk.offered), ctx.get(walk.offered_vl), ctx.get(walk.offered_weight)),
                    "next turn": shown(ctx.get(dut.next_vl), if_there=ctx.get(dut.has_next)),
                    "covers": flag(ctx.get(dut.covers)),
                    "current": shown(ctx.get(dut.current_vl), if_there=ctx.get(dut.current)),
                    "stays": flag(ctx.get(dut.stays)),
                    "account 0": shown(ctx.get(dut.accounts[0].account), if_there=ctx.get(dut.accounts[0].charged)),
                    "account 1": shown(ctx.get(dut.accounts[1].account), if_there=ctx.get(dut.accounts[1].charged)),
                    "grant": shown(ctx.get(dut.vl), if_there=ctx.get(dut.grant)),
                },
            )
            await step_to_next(ctx, rows, at)

    simulate(dut, body)


class Queue:
    """Record of the docs page: a field of four bytes and a field of two."""

    blocks: Int32
    head: Int16


@kernel
def _write(queues: Records[Queue], port: int, vl: int) -> None:
    queues[port, vl].blocks, queues[port, vl].head = 0x01010101, 0x0202


def _bytes(row: Row) -> Iterator[tuple[int, int]]:
    """Yield position and value of each byte a row lists as written."""
    for field, value, width in (("`blocks`", 1, 4), ("`head`", 2, 2)):
        first = number(row[field])
        yield from ((at, value) for at in range(first, first + width))


@pytest.mark.parametrize("compiled", [True, False])
def test_records(*, compiled: bool) -> None:
    """The worked trace of records equals the bytes written by compiled and plain kernels."""
    write = _write if compiled else _write.python_function  # type: ignore[attr-defined]  # of a kernel
    for row in trace("engine.md", "records"):
        port, vl = (int(each) for each in re.findall(r"\d+", row["record"]))
        queues = new_records(Queue, 2, 3)

        write(queues, port, vl)

        raw = queues.array.view(np.uint8).ravel()
        assert {at: int(raw[at]) for at in np.flatnonzero(raw)} == dict(_bytes(row)), row
        assert number(row["number"]) == port * queues.shape[1] + vl
        assert number(row["byte"]) == number(row["number"]) * queues.array.dtype.itemsize


def test_list_members() -> None:
    """Numbers written beyond a set's members are overwritten by the next set or lie behind the count."""
    rows = trace("engine.md", "list_members")
    sets, numbers = np.array([0b10010, 0b100], np.int64), np.full(8, -1, np.int64)

    count = list_members(sets, 4, numbers)

    assert count == sum(len(row["members"].split()) for row in rows)
    assert numbers[:count].tolist() == [int(each) for row in rows for each in row["numbers that stay"].split()]
    for row, held in zip(rows, sets, strict=True):
        assert row["members"] == members(int(held))


_EVENTS = ("TO_INPUT", "TO_OUTPUT", "TO_SINK", "TO_CENTRE")


def _place_of(packets: Packets, packet: int, now: int) -> str:
    """Return the next event of a packet with its place and cycle, or the input whose queue holds the packet."""
    field = packets.pool[packet]
    for later in range(now + 1, now + 10):
        for event, name in enumerate(_EVENTS):
            listed = int(packets.slot[((later & (len(packets.slot) // EVENTS - 1)) * EVENTS) + event])
            while listed != NOBODY:
                if listed == packet:
                    return f"{name} {int(field.event_place)} in {later}"
                listed = int(packets.pool[listed].next)
    return f"queued at {int(field.event_place)}"


def test_packets() -> None:
    """The worked trace of two packets equals golden's calendar and links at the end of each cycle."""
    one_switch = tree(2, 1)
    net = made(
        one_switch,
        dmodk(one_switch, IDENTITY),
        lanes=1,
        trace=[(0, 0, 1, 0, 192), (1, 1, 1, 0, 64)],
        cycles=20,
        largest=3,
    )
    packets = new_packet_pool(net, 1 << 10)
    rows = trace("engine.md", "packets")

    for cycle, row in enumerate(rows):
        run(net, packets, cycle + 1)

        used = packets_in_use(packets)
        held = [_place_of(packets, each, cycle) if each in used else "" for each in (0, 1)]
        assert number(row["cycle"]) == cycle
        assert [row[f"packet {each}"].replace("delivered", "") for each in (0, 1)] == held, row
        assert [number(row[f"port {each}"]) for each in (4, 5, 1)] == net.out_ports.free_from[[4, 5, 1]].tolist()
    assert net.meters.trace[:2, 6].tolist() == [9, 10]
