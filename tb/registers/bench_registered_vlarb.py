"""cocotb bench of a VL arbiter behind its registers: a table written over the bus, grants against golden."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from vlane.golden.schedulers import vlarb as golden
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.registers.description import register_map
from vlane.registers.register_map import WORD_BYTES
from vlane.tb.machinery.cocotb_benches.cocotb_drive import layouts, setting, start
from vlane.tb.schedulers.vlarb.tables import random_tables

_LISTS = {golden.SELECT_HIGH: "high", golden.SELECT_LOW: "low", golden.SELECT_LIMIT: "limit"}
_READY, _HOLD, _SWAP = True, False, False


@cocotb.test()
async def tables_written_over_the_bus_are_served(dut: Any) -> None:
    """Write a table, swap, wait for the swap, and compare every decision with golden's."""
    settings = setting()
    parameters = settings["parameters"]
    inputs, _ = layouts(settings)
    registers = register_map("vlarb", parameters)
    draw = random.Random(settings["seed"])  # noqa: S311 - stimulus
    data_vls, entries, vl15 = parameters["data_vls"], parameters["entries"], parameters["vl15"]
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    await start(dut, [name for name in inputs if not name.startswith("s_axil")])
    rules = np.zeros(golden.RULE_COUNT, np.int64)
    for table in random_tables(3, data_vls=data_vls, entries=entries, seed=settings["seed"]):
        for select, index, vl, weight in table.padded(entries):
            await master.write_dword(registers.address(_LISTS[select], index), vl << 8 | weight)
        dut.ready.value = 1
        await master.write_dword(registers.address("swap"), 1)
        while (await master.read(registers.address("swap_pending"), WORD_BYTES)).data[0]:
            pass
        state = golden.make_state(data_vls=data_vls, entries=entries, vl15=vl15)
        golden.load(state, table)
        assert await master.read_dword(registers.address("unreachable")) == golden.unreachable(state)
        assert await master.read_dword(registers.address("bad_entries")) == golden.bad_entries(state)
        for number in range(settings["cycles"]):
            request, fits = (draw.getrandbits(data_vls + vl15) for _ in range(2))
            blocks = np.array([draw.randrange(1, 67) for _ in range(data_vls + vl15)], np.int64)
            dut.heads__request.value, dut.heads__fits.value = request, fits
            dut.heads__blocks.value = sum(int(size) << 7 * lane for lane, size in enumerate(blocks))
            heads = Heads(request, fits, blocks, 0, blocks)
            lane, source, granted = golden.step(state, heads, _READY, _HOLD, NO_WRITE, _SWAP, rules)
            await RisingEdge(dut.clk)
            got = int(dut.grant.value), int(dut.vl.value), int(dut.from_list.value)
            assert got == (int(granted), golden.vl_of(state, lane), source), f"decision {number}"
            await FallingEdge(dut.clk)
        dut.heads__request.value = 0
        await FallingEdge(dut.clk)
    assert rules.sum()
