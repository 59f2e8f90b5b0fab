"""Oracle of the buffer of virtual lanes.

Golden decides where flits are stored; their data, of any width, is stored separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.buffers.vlbuffer import MAX_FLITS
from vlane.golden.buffers import vlbuffer as golden
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import RESET, Placing, Port, places, ports_of
from vlane.golden.oracle.words import WORD_BITS, clear, flag, get, put, read, read_each, write, write_each

_VL_BITS, _COUNT_BITS, _SIZE_BITS = 5, 2, 10


class BufferMachine(NamedTuple):
    """The buffer behind its ports.

    Parameters
    ----------
    state : VLBufferState
        Lanes. A ring element is 0 or, within a cycle, the negative number of the flit written in this cycle: -1, -2,
        ...
    data : array of uint64, (vls, maximum, words)
        Data of each ring element.
    write_vl, write_count, read_vl, read_count : array of int64
        Scratch of a cycle: lane and flit count of each port.
    marks : array of int64, (writers, write_flits)
        Stand-in data passed to golden: the negative number of each flit of a cycle.
    data_bits, vls : int
        Flit width and number of lanes.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports; data ports are last.
    rules : array of int64
        Rule counters.
    """

    state: golden.VLBufferState
    data: NDArray[np.uint64]
    write_vl: NDArray[np.int64]
    write_count: NDArray[np.int64]
    read_vl: NDArray[np.int64]
    read_count: NDArray[np.int64]
    marks: NDArray[np.int64]
    data_bits: int
    vls: int
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def buffer_cycle(machine: BufferMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    state, ins, outs, vls = machine.state, machine.input_fields, machine.output_fields, machine.vls
    clear(output_words)
    flits, vl = read(input_words, ins, 1), read(input_words, ins, 2)
    element = read_each(input_words, ins, 3, machine.write_vl)
    element = read_each(input_words, ins, element, machine.write_count)
    element = read_each(input_words, ins, element, machine.read_vl)
    element = read_each(input_words, ins, element, machine.read_count)
    _write_outputs(machine, output_words)
    for lane in range(vls):
        write(output_words, outs, 2 + lane, golden.fits(state, lane, state.mtu_flits))
        write(output_words, outs, 2 + vls + lane, state.reserved[lane])
        write(output_words, outs, 2 + 2 * vls + lane, state.used[lane])
    write(output_words, outs, 0, flits > 0 and vl < vls and golden.fits(state, vl, flits))
    discarded = golden.step(
        state,
        vl,
        flits,
        machine.write_vl,
        machine.write_count,
        machine.marks,
        machine.read_vl,
        machine.read_count,
        machine.rules,
    )
    write(output_words, outs, 1, discarded)
    _store_flits(machine, input_words, ins[element, 0])
    if flag(input_words, ins, 0):
        golden.reset(state)


@inner
def _write_outputs(machine: BufferMachine, output_words: NDArray[np.uint64]) -> None:
    """Write the number of readable flits of each reading port and the flits themselves to the outputs."""
    state, outs, reads = machine.state, machine.output_fields, machine.state.read_flits
    first = 2 + 3 * machine.vls
    data_from = outs[first + len(machine.read_vl), 0]
    for port in range(len(machine.read_vl)):
        vl = machine.read_vl[port]
        count = golden.readable(state, vl)
        write(output_words, outs, first + port, count)
        for index in range(count):
            place = (state.first_slot[vl] + index) % state.maximum
            at = data_from + machine.data_bits * (port * reads + index)
            for word in range(machine.data.shape[2]):
                bits = min(WORD_BITS, machine.data_bits - WORD_BITS * word)
                put(output_words, at + WORD_BITS * word, bits, machine.data[vl, place, word])


@inner
def _store_flits(machine: BufferMachine, input_words: NDArray[np.uint64], data_from: int) -> None:
    """Store the data of accepted flits at the ring elements that golden chose, the newest of each lane."""
    state = machine.state
    for port in range(len(machine.write_vl)):
        vl = machine.write_vl[port]
        if vl >= machine.vls:
            continue
        for back in range(state.reserved[vl]):
            place = (state.first_slot[vl] + state.reserved[vl] - 1 - back) % state.maximum
            mark = state.ring[vl, place]
            if mark == 0:
                break
            state.ring[vl, place] = 0
            at = data_from + machine.data_bits * (-1 - mark)
            for word in range(machine.data.shape[2]):
                bits = min(WORD_BITS, machine.data_bits - WORD_BITS * word)
                machine.data[vl, place, word] = get(input_words, at + WORD_BITS * word, bits)


@inner
def put_buffer(machine: BufferMachine, input_words: NDArray[np.uint64], is_reset: int, vl: int, flits: int) -> None:
    """Write the inputs of a cycle to words, without data: a reset, a reservation, and ports in ``machine``."""
    ins, writers, readers = machine.input_fields, len(machine.write_vl), len(machine.read_vl)
    clear(input_words)
    write(input_words, ins, 0, is_reset)
    write(input_words, ins, 1, flits)
    write(input_words, ins, 2, vl)
    write_each(input_words, ins, 3, machine.write_vl)
    write_each(input_words, ins, 3 + writers, machine.write_count)
    write_each(input_words, ins, 3 + 2 * writers, machine.read_vl)
    write_each(input_words, ins, 3 + 2 * writers + readers, machine.read_count)


def buffer_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of the buffer of virtual lanes."""
    vls, writers, readers = parameters["vls"], parameters["writers"], parameters["readers"]
    writes, reads, bits = parameters["write_flits"], parameters["read_flits"], parameters["data_bits"]
    inputs = place(
        RESET,
        Port("reserve_flits", _SIZE_BITS, 1, "Flits to reserve for a packet in this cycle; 0 for none."),
        Port("reserve_vl", _VL_BITS, 1, "Lane for which flits are reserved."),
        Port("write_vl", _VL_BITS, writers, "Lane to which each writing port writes."),
        Port("write_count", _COUNT_BITS, writers, "Flits that each port writes; larger values count as write_flits."),
        Port("write_data", bits, writers * writes, "Data of the written flits, port by port, oldest first."),
        Port("read_vl", _VL_BITS, readers, "Lane that each reading port reads."),
        Port("read_count", _COUNT_BITS, readers, "Flits that each reading port removes."),
    )
    outputs = place(
        Port("room", 1, vls, "Lanes in which the largest packet can be reserved."),
        Port("accepted", 1, 1, "The space is available and reserved."),
        Port("discarded", 3, 1, "Flits of this cycle that are discarded."),
        Port("read_data", bits, readers * reads, "Oldest flits of each port's lane; 0 for none."),
        Port("readable", _COUNT_BITS, readers, "Number of flits in read_data, by reading port."),
        Port("held", MAX_FLITS.bit_length(), vls, "Flits in each lane."),
        Port("used", MAX_FLITS.bit_length(), vls, "Flits reserved for each lane, including those in it."),
    )
    names = ("vls", "flits", "minimum", "maximum", "mtu_flits", "write_flits", "read_flits")
    machine = BufferMachine(
        state=golden.new_state(**{name: parameters[name] for name in names}),
        data=np.zeros((vls, parameters["maximum"], -(-bits // WORD_BITS)), np.uint64),
        write_vl=np.zeros(writers, np.int64),
        write_count=np.zeros(writers, np.int64),
        read_vl=np.zeros(readers, np.int64),
        read_count=np.zeros(readers, np.int64),
        marks=-1 - np.arange(writers * writes).reshape(writers, writes),
        data_bits=bits,
        vls=vls,
        input_fields=places(
            inputs,
            ["rst", "reserve_flits", "reserve_vl", "write_vl", "write_count", "read_vl", "read_count", "write_data"],
        ),
        output_fields=places(outputs, ["accepted", "discarded", "room", "held", "used", "readable", "read_data"]),
        rules=np.zeros(len(golden.RULES), np.int64),
    )
    return Oracle(machine, buffer_cycle, inputs, outputs, golden.RULES)
