"""cocotb bench of the AXI4-Stream wrapper of a switch: frames from a third-party source to a third-party sink."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from vlane.tb.machinery.cocotb_benches.cocotb_drive import setting, start

_LINKS, _LANES, _FLIT_BYTES = 2, 2, 8
_SHOWN = 0x0F
"""Bits of a packet's first byte that a switch does not change: without the lane."""


def packet(draw: random.Random, source: int, number: int) -> tuple[int, int, int, bytes]:
    """Return output, SL, blocks and bytes of a packet, which carries its source and number."""
    output, sl, blocks = draw.randrange(_LINKS), draw.randrange(_LANES), draw.randrange(1, 3)
    head = [sl << 4, sl << 4, 0, 1 + output, *(16 * blocks - 2).to_bytes(2, "big"), source, number]
    body = draw.randbytes(_FLIT_BYTES * blocks - len(head))
    return output, sl, blocks, bytes(head) + body


async def write_table(dut: Any) -> None:
    """Write one LID for each output."""
    for top, lid, port in ((1, _LINKS, 0), *((0, 1 + output, 1 + output) for output in range(_LINKS))):
        await FallingEdge(dut.clk)
        dut.lft_enable.value, dut.lft_top.value, dut.lft_lid.value, dut.lft_port.value = 1, top, lid, port
    await FallingEdge(dut.clk)
    dut.lft_enable.value = 0


async def send(dut: Any, link: int, source: AxiStreamSource, packets: list[Any]) -> None:
    """Send the packets of a link, each after all blocks of the packet before have been returned."""
    returned = getattr(dut, f"returned_{link}_blocks")
    for _, sl, blocks, data in packets:
        source.send_nowait(AxiStreamFrame(data, tuser=sl))
        missing = blocks
        while missing:
            await RisingEdge(dut.clk)
            await FallingEdge(dut.clk)
            missing -= int(returned.value)


@cocotb.test(timeout_time=40, timeout_unit="us")
async def frames_arrive_in_order_and_unchanged(dut: Any) -> None:
    """Send random packets on both inputs to sinks that pause, and compare every frame."""
    settings = setting()
    draw = random.Random(settings["seed"])  # noqa: S311 - stimulus
    inputs = ["lft_enable", "lft_top", "lft_lid", "lft_port", "sl2vl_enable", "sl2vl_every_input"]
    sources = [AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_{n}"), dut.clk, dut.rst) for n in range(_LINKS)]
    sinks = [AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_axis_{n}"), dut.clk, dut.rst) for n in range(_LINKS)]
    for sink in sinks:
        sink.set_pause_generator(draw.random() < settings["pausing"] for _ in iter(int, 1))
    await start(dut, [*inputs, "sl2vl_input", "sl2vl_output", "sl2vl_row"])
    await write_table(dut)
    given = [[packet(draw, link, number) for number in range(settings["packets"])] for link in range(_LINKS)]
    senders = [cocotb.start_soon(send(dut, link, sources[link], given[link])) for link in range(_LINKS)]
    for output, sink in enumerate(sinks):
        expected = {
            (link, lane): [data for to, sl, _, data in given[link] if (to, sl) == (output, lane)]
            for link in range(_LINKS)
            for lane in range(_LANES)
        }
        for _ in range(sum(map(len, expected.values()))):
            frame = await sink.recv()
            data = bytes(frame.tdata)
            lane = frame.tuser if isinstance(frame.tuser, int) else frame.tuser[0]
            wanted = expected[data[6], lane].pop(0)
            assert (data[0] & _SHOWN, data[1:]) == (wanted[0] & _SHOWN, wanted[1:])
    for sender in senders:
        await sender
