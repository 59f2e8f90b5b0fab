"""cocotb bench of tables: entries written over the bus against the internal signals of the blocks, and read back."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from vlane.registers.description import register_map
from vlane.registers.register_map import WORD_BYTES, Window
from vlane.tb.machinery.cocotb_benches.cocotb_drive import layouts, setting, start

_SETTLING = 3


@cocotb.test()
async def entries_are_those_of_the_block(dut: Any) -> None:
    """Write every entry of every table, and compare each field with the block's own storage and with a read."""
    settings = setting()
    draw = random.Random(settings["seed"])  # noqa: S311 - stimulus
    inputs, outputs = layouts(settings)
    await start(dut, [name for name in inputs if "s_axil" not in name])
    compared = 0
    for block, parameters in settings["blocks"].items():
        registers = register_map(block, parameters)
        master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"{block}__s_axil"), dut.clk, dut.rst)
        for window in registers:
            for entry in window.entries if isinstance(window, Window) else ():
                assert isinstance(window, Window)
                largest = settings["largest"].get(f"{block}.{window.name}", {})
                fields = {
                    part: min(draw.getrandbits(part.bits), largest.get(part.name, (1 << part.bits) - 1))
                    for part in window.fields
                }
                value = sum(each << part.low for part, each in fields.items())
                for word in range(window.entry_words):
                    at = registers.address(window.name, entry, word)
                    written = (value >> 32 * word & 0xFFFFFFFF).to_bytes(WORD_BYTES, "little")
                    assert (await master.write(at, written)).resp == AxiResp.OKAY
                for _ in range(_SETTLING):
                    await RisingEdge(dut.clk)
                for part, each in fields.items():
                    stored = f"{block}__{window.name}_{entry}_{part.name}"
                    assert stored in outputs, stored
                    assert int(getattr(dut, stored).value) == each, f"{stored}, written {each}"
                    compared += 1
                for word in range(window.entry_words):
                    got = await master.read(registers.address(window.name, entry, word), WORD_BYTES)
                    assert int.from_bytes(got.data, "little") == value >> 32 * word & 0xFFFFFFFF
    assert compared == sum("s_axil" not in name for name in outputs)
