"""Functions of the page in the browser, in the compiler's subset of Python: analysis of a text, steps of the arbiter.

Each function works on ``PageMemory`` and takes whole numbers. ``docs/arbiter_page.md`` has the contract.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vlane.fabric.options.findings import line_notes, list_notes, off_note, reduced_notes
from vlane.fabric.options.lines import NONE, has_names, read_options
from vlane.fabric.options.notes import clear
from vlane.fabric.options.rules import (
    data_vls,
    is_table,
    limit_from,
    limit_option,
    programmed_lane,
    programmed_list,
    read_lanes,
    sets,
    text_option,
)
from vlane.fabric.options.table_findings import starvation_note, weights_note
from vlane.fabric.options.words import PREAMBLE, SL2VL, VLARB_HIGH, VLARB_LOW
from vlane.golden.oracle.egress import reset
from vlane.golden.schedulers.bank import step
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.golden.schedulers.vlarb import HIGH, LOW, SELECT_LIMIT, exchange, program
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.vlarb_service import SHARE_CASES, measure_lane
from vlane.sim_top.browser.memory import (
    BUSY,
    DATA_VLS,
    GRANTED,
    HAS_NAMES,
    HIGH_COUNT,
    HIGH_FROM,
    HIGH_LINE,
    HIGH_TO,
    IS_TABLE,
    LANE,
    LANE_NUMBERS,
    LIMIT,
    LIMIT_FROM,
    LIMIT_LINE,
    LIMIT_TO,
    LONGEST_LIST,
    LOW_COUNT,
    LOW_FROM,
    LOW_LINE,
    LOW_TO,
    READY,
    SETS_KIND,
    SOURCE,
    WEIGHT_LISTS,
    PageMemory,
)
from vlane.tables.sl2vl import SL_COUNT

_PREAMBLE = len(PREAMBLE)
_READY, _BUSY, _NO_HOLD, _SWAP, _NO_SWAP = True, False, False, True, False
_PATIENCE = 1 << 17
"""Cycles without a packet after which a scheduler is taken to serve no lane."""


def analyse(memory: PageMemory, size: int, kind: int, vls: int, sls: int, mtu: int, blocks: int) -> int:
    """Analyse ``size`` bytes of text for a kind of port, and return the number of findings.

    Parameters
    ----------
    memory : PageMemory
        The text is given in ``options.text``, after the preamble.
    size : int
        Bytes of the text.
    kind : int
        Place of ``words.PREFIXES``.
    vls : int
        Data lanes, or 0 for those of the options.
    sls : int
        Bit mask of the service levels with traffic.
    mtu, blocks : int
        MTU in bytes, and the blocks of a packet of the MTU.
    """
    options, notes, facts = memory.options, memory.notes, memory.facts
    read_options(options, _PREAMBLE, _PREAMBLE + size)
    lanes = data_vls(options, vls)
    clear(notes)
    line_notes(options, notes)
    off_note(options, notes)
    list_notes(options, kind, notes, memory.scratch)
    reduced_notes(options, kind, lanes, notes, memory.scratch)
    facts[DATA_VLS] = lanes
    facts[LIMIT] = limit_from(options, kind, 0)
    limit = limit_option(options, kind, 0)
    facts[LIMIT_LINE] = 0 if limit == NONE else options.line[limit]
    facts[LIMIT_FROM] = 0 if limit == NONE else options.name_from[limit]
    facts[LIMIT_TO] = 0 if limit == NONE else options.name_to[limit]
    facts[IS_TABLE] = is_table(options)
    facts[HAS_NAMES] = has_names(options)
    facts[SETS_KIND] = sets(options, kind)
    facts[LONGEST_LIST] = 0
    high_vl, high_weight = memory.high_vl, memory.high_weight
    low_vl, low_weight = memory.low_vl, memory.low_weight
    high, low = text_option(options, kind, VLARB_HIGH), text_option(options, kind, VLARB_LOW)
    facts[HIGH_COUNT] = programmed_list(
        options.text,
        options.value_from[high],
        options.value_to[high],
        lanes,
        memory.scratch.numbers,
        high_vl,
        high_weight,
    )
    facts[LOW_COUNT] = programmed_list(
        options.text, options.value_from[low], options.value_to[low], lanes, memory.scratch.numbers, low_vl, low_weight
    )
    facts[HIGH_LINE], facts[LOW_LINE] = options.line[high], options.line[low]
    facts[HIGH_FROM], facts[HIGH_TO] = options.name_from[high], options.name_to[high]
    facts[LOW_FROM], facts[LOW_TO] = options.name_from[low], options.name_to[low]
    _read_row(memory, text_option(options, kind, SL2VL), lanes)
    highs, lows = facts[HIGH_COUNT], facts[LOW_COUNT]
    starvation_note(high_vl[:highs], high_weight[:highs], low_vl[:lows], low_weight[:lows], facts[LIMIT], lanes, notes)
    facts[WEIGHT_LISTS] = weights_note(
        high_vl[:highs],
        high_weight[:highs],
        low_vl[:lows],
        low_weight[:lows],
        mtu,
        blocks,
        lanes,
        notes,
        memory.share_table,
    )
    _measure(memory, _senders(memory, sls, lanes), blocks)
    return notes.used[0]


def _read_row(memory: PageMemory, option: int, vls: int) -> None:
    options = memory.options
    read_lanes(options.text, options.value_from[option], options.value_to[option], memory.scratch.lanes)
    for sl in range(SL_COUNT):
        memory.row[sl] = programmed_lane(memory.scratch.lanes[sl], vls)


def _senders(memory: PageMemory, sls: int, vls: int) -> int:
    """Return a bit mask of the lanes with traffic."""
    senders = 0
    for sl in range(SL_COUNT):
        if (sls >> sl) & 1 != 0 and memory.row[sl] < vls:
            senders |= 1 << memory.row[sl]
    return senders


def _measure(memory: PageMemory, senders: int, blocks: int) -> None:
    """Fill the results of each lane with traffic."""
    highs, lows, service = memory.facts[HIGH_COUNT], memory.facts[LOW_COUNT], memory.service
    for vl in range(VL15):
        memory.blocks[vl] = blocks if (senders >> vl) & 1 != 0 else 0
        if memory.blocks[vl] > 0:
            measure_lane(
                service,
                memory.high_vl[:highs],
                memory.high_weight[:highs],
                memory.low_vl[:lows],
                memory.low_weight[:lows],
                memory.facts[LIMIT],
                senders,
                vl,
                blocks,
            )
            at = LANE_NUMBERS * vl
            for place in range(2 * SHARE_CASES):
                memory.lanes[at + place] = service.shares[place]
            memory.lanes[at + 2 * SHARE_CASES] = service.wait[0]
            memory.lanes[at + 2 * SHARE_CASES + 1] = service.wait[1]


def write_table(memory: PageMemory) -> int:
    """Write the analysed table into the shadow bank of the arbiter, through its program port."""
    state = memory.arbiter
    for entry in range(len(memory.high_vl)):
        program(state, (1, HIGH, entry, memory.high_vl[entry], memory.high_weight[entry]))
        program(state, (1, LOW, entry, memory.low_vl[entry], memory.low_weight[entry]))
    program(state, (1, SELECT_LIMIT, 0, 0, memory.facts[LIMIT]))
    return 0


def start(memory: PageMemory) -> int:
    """Reset the arbiter, and make the analysed table its active one."""
    reset(memory.arbiter)
    write_table(memory)
    exchange(memory.arbiter)
    memory.shown[BUSY] = 0
    return 0


def cycle(memory: PageMemory, request: int, fits: int, stalled: int, swap: int) -> int:
    """Run a cycle of the arbiter and its link, and return the lane of the packet that starts, -1 for none.

    A packet occupies the link for a cycle per block. A stalled link takes no packet and sends no block.

    Parameters
    ----------
    memory : PageMemory
        Sizes of the packets in ``blocks``.
    request, fits : int
        Bit masks of the lanes with a packet, and with credit for it.
    stalled, swap : int
        Whether the link is stalled, and whether a swap of the tables is requested.
    """
    shown = memory.shown
    ready = shown[BUSY] == 0 and stalled == 0
    heads = Heads(request, fits, memory.blocks, 0, memory.blocks)
    lane, source, granted = step(memory.arbiter, heads, ready, _NO_HOLD, NO_WRITE, swap != 0, memory.rules)
    starts = granted and ready
    if starts:
        shown[BUSY] = memory.blocks[lane]
    if shown[BUSY] > 0 and stalled == 0:
        shown[BUSY] -= 1
    shown[LANE], shown[SOURCE], shown[GRANTED], shown[READY] = lane, source, starts, ready
    return lane if starts else -1


def serve(memory: PageMemory, request: int, count: int) -> int:
    """Send up to ``count`` packets of lanes with a backlog, and return their number.

    Lanes and lists of the packets are in ``order`` and ``sources``.
    """
    for place in range(count):
        memory.shown[BUSY] = 0
        lane = cycle(memory, request, request, 0, 0)
        if lane < 0:
            return place
        memory.order[place], memory.sources[place] = lane, memory.shown[SOURCE]
    memory.shown[BUSY] = 0
    return count


def contest_of(weight_write: Callable[[int, int, int, int], tuple[int, int, int, int]] | None) -> Callable[..., int]:
    """Return the function that runs a scheduler with the weights of the page.

    Parameters
    ----------
    weight_write : callable or None
        ``Scheduler.weight_write`` of the registry.
    """
    if weight_write is None:

        def program_weights(state: Any, memory: PageMemory) -> int:  # noqa: ARG001 - as below
            return 0
    else:

        def program_weights(state: Any, memory: PageMemory) -> int:
            least = 0
            for lane in range(VL15):
                if memory.weights[lane] > 0 and (least == 0 or memory.weights[lane] < least):
                    least = memory.weights[lane]
            place, heads = 0, Heads(0, 0, memory.blocks, 0, memory.blocks)
            for lane in range(VL15):
                if memory.weights[lane] > 0:
                    select, index, name, value = weight_write(place, lane, memory.weights[lane], least)
                    if select < 0:
                        return -1
                    step(state, heads, _BUSY, _NO_HOLD, (1, select, index, name, value), _NO_SWAP, memory.rules)
                    place += 1
            step(state, heads, _READY, _NO_HOLD, NO_WRITE, _SWAP, memory.rules)
            return 0

    def contest(state: Any, memory: PageMemory, shown: int, count: int) -> int:
        """Send ``count`` packets and return their number, -1 for weights that the scheduler cannot have.

        The first ``shown`` packets are in ``order``, the blocks of each lane in ``sent``.
        """
        reset(state)
        if program_weights(state, memory) < 0:
            return -1
        request = 0
        for lane in range(VL15):
            memory.sent[lane] = 0
            if memory.weights[lane] > 0:
                request |= 1 << lane
        heads = Heads(request, request, memory.blocks, 0, memory.blocks)
        done, waited = 0, 0
        while done < count and waited < _PATIENCE:
            lane, _, granted = step(state, heads, _READY, _NO_HOLD, NO_WRITE, _NO_SWAP, memory.rules)
            waited += 1
            if granted:
                if done < shown:
                    memory.order[done] = lane
                memory.sent[lane] += memory.blocks[lane]
                done += 1
                waited = 0
        return done

    return contest
