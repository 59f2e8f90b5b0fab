"""Bench of the registered arbiter, as top module or inside one, with an elastic scoreboard."""

import os
import random

import cocotb
import vlane
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

CYCLES = int(os.environ.get("CYCLES", "4000"))


@cocotb.test()
async def decisions_agree(dut):
    """Random traffic with resets agrees with golden in every decision."""
    inner = dut.inner if os.environ["INNER"] == "1" else dut
    board = vlane.Scoreboard(inner, "rr", os.environ["MAP"], clock=dut.clk)
    board.start()
    Clock(dut.clk, 10, unit="ns").start()
    draw, queues = random.Random(1), [0] * 4
    dut.rst.value, dut.req.value, dut.ack.value = 1, 0, 0
    for cycle in range(CYCLES):
        await FallingEdge(dut.clk)
        dut.rst.value = int(cycle < 3 or cycle % 1000 < 2)
        granted = int(dut.gnt.value) if dut.gnt.value.is_resolvable else 0
        ack = granted if draw.random() < 0.5 and cycle > 3 else 0
        for lane in range(4):
            queues[lane] += queues[lane] < 9 and draw.random() < 0.1
            queues[lane] -= (ack >> lane & 1) and queues[lane] > 0
        dut.ack.value = ack
        dut.req.value = sum(1 << lane for lane in range(4) if queues[lane])
    board.check()
    dut._log.info(f"{board.decisions} decisions, {board.resets} resets, {board.rules}")
