"""A bench of rr_arb.sv by its owner: random traffic with a handshake, and vlane's golden beside it."""

import os
import random
from pathlib import Path

import cocotb
import vlane
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

LANES = 4
CYCLES = 3000


async def reset(dut):
    dut.rst_ni.value = 0
    dut.req_ni.value = 2**LANES - 1
    for _ in range(2):
        await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


@cocotb.test()
async def serves_the_lanes_in_turn(dut):
    board = vlane.Scoreboard(dut, "rr", Path(os.environ["MAP"]))
    board.start()
    draw = random.Random(1)
    Clock(dut.clk_i, 10, unit="ns").start()
    queues = [0] * LANES
    await reset(dut)
    for cycle in range(CYCLES):
        if cycle == CYCLES // 2:
            queues = [0] * LANES
            await reset(dut)
        for lane in range(LANES):
            queues[lane] += draw.random() < 0.3  # a packet arrives
        dut.req_ni.value = sum(1 << lane for lane in range(LANES) if not queues[lane])
        dut.room_i.value = draw.getrandbits(LANES) | draw.getrandbits(LANES)
        dut.link_idle_i.value = int(draw.random() < 0.8)
        await FallingEdge(dut.clk_i)
        for lane in range(LANES):
            if int(dut.gnt_o.value) >> lane & 1:  # the packet leaves; the lane's next one shows
                queues[lane] -= 1
    board.check()
    dut._log.info(f"{board.checked} of {board.cycles} cycles compared, {board.decisions} decisions, {board.rules}")
