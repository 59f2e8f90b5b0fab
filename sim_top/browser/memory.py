"""Memory of the page in the browser: one structure of arrays for all functions of the page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vlane.fabric.options.findings import Scratch
from vlane.fabric.options.lines import Options, new_options
from vlane.fabric.options.notes import ROW_NUMBERS, Notes
from vlane.fabric.options.rules import FAULT_NUMBERS
from vlane.fabric.options.words import PHRASES, PREAMBLE
from vlane.golden.schedulers.bank import RULE_COUNT
from vlane.golden.schedulers.by_name import module_of
from vlane.schedulers.registry import IB_ARBITER, SCHEDULERS
from vlane.schedulers.vlarb import MAX_ENTRIES, VL15
from vlane.schedulers.vlarb_service import SHARE_CASES, LaneService, new_lane_service
from vlane.schedulers.vlarb_shares import ShareTable, new_share_table
from vlane.tables.sl2vl import SL_COUNT
from vlane.units import MAX_DATA_VLS

MOST_BYTES = 1 << 18
"""Bytes of the largest text."""
MOST_PACKETS = 1 << 12
"""Packets of the longest order of service."""
LANES = VL15 + 1
LANE_NUMBERS = 2 * SHARE_CASES + 2
"""Numbers of a lane's results: shares of ``LaneService``, longest wait, packets of a period."""
(
    DATA_VLS,
    LIMIT,
    LIMIT_LINE,
    LIMIT_FROM,
    LIMIT_TO,
    HIGH_COUNT,
    LOW_COUNT,
    IS_TABLE,
    HAS_NAMES,
    LONGEST_LIST,
    SETS_KIND,
    WEIGHT_LISTS,
    HIGH_LINE,
    HIGH_FROM,
    HIGH_TO,
    LOW_LINE,
    LOW_FROM,
    LOW_TO,
) = range(18)
"""Places of ``PageMemory.facts``."""
LANE, SOURCE, GRANTED, READY, BUSY = range(5)
"""Places of ``PageMemory.shown``."""

_MOST_FAULTS, _MOST_NOTES, _NOTE_BYTES = 1 << 10, 1 << 9, 1 << 17
_MOST_OPTIONS = MOST_BYTES + 256


class PageMemory(NamedTuple):
    """Inputs, results and states of the page's functions.

    Parameters
    ----------
    arbiter : NamedTuple
        State of golden's VL arbiter.
    options : Options
        Options of the text; the text begins with the preamble.
    notes : Notes
        Findings.
    scratch : Scratch
        Memory of the findings.
    share_table : ShareTable
        Memory of the findings about shares.
    service : LaneService
        Memory of the service of a lane.
    high_vl, high_weight, low_vl, low_weight : array of int64, (64,)
        Lists of the table.
    row : array of int64, (16,)
        Lane of each SL.
    lanes : array of int64, (16 * 8,)
        Results of each lane.
    facts : array of int64
        Facts about the table, by the places of this module.
    blocks : array of int64, (16,)
        Size of the packets of each lane, in blocks.
    weights : array of int64, (16,)
        Weight of each lane, for the comparison of schedulers.
    order : array of int32, (4096,)
        Lane of each packet, in the order of service.
    sources : array of int32, (4096,)
        List of each packet, in the order of service.
    sent : array of int64, (16,)
        Blocks of each lane.
    shown : array of int64
        Answer of the last cycle of the arbiter, by the places of this module.
    rules : array of int64
        Rule counters, which nothing reads.
    """

    arbiter: Any
    options: Options
    notes: Notes
    scratch: Scratch
    share_table: ShareTable
    service: LaneService
    high_vl: Any
    high_weight: Any
    low_vl: Any
    low_weight: Any
    row: Any
    lanes: Any
    facts: Any
    blocks: Any
    weights: Any
    order: Any
    sources: Any
    sent: Any
    shown: Any
    rules: Any


def new_state(name: str) -> Any:
    """Return the state of a scheduler with 15 data lanes after reset."""
    scheduler = SCHEDULERS[name]
    entries = MAX_ENTRIES if name == IB_ARBITER else LANES
    parameters = scheduler.switch_parameters(entries, line_rate=False)
    return module_of(name).make_state(data_vls=MAX_DATA_VLS, **parameters)


def new_memory() -> PageMemory:
    """Return the memory at the start of the page. Only the first arrays have contents."""
    text = _bytes(PREAMBLE + bytes(MOST_BYTES))
    notes = Notes(_bytes(PHRASES), _bytes(bytes(_NOTE_BYTES)), _small_numbers(ROW_NUMBERS * _MOST_NOTES), _numbers(2))
    return PageMemory(
        arbiter=new_state(IB_ARBITER),
        options=new_options(text, _MOST_OPTIONS, _small_numbers),
        notes=notes,
        scratch=Scratch(_numbers(2 * MAX_ENTRIES), _numbers(SL_COUNT), _numbers(FAULT_NUMBERS * _MOST_FAULTS)),
        share_table=new_share_table(_numbers),
        service=new_lane_service(_numbers),
        high_vl=_numbers(MAX_ENTRIES),
        high_weight=_numbers(MAX_ENTRIES),
        low_vl=_numbers(MAX_ENTRIES),
        low_weight=_numbers(MAX_ENTRIES),
        row=_numbers(SL_COUNT),
        lanes=_numbers(LANES * LANE_NUMBERS),
        facts=_numbers(LOW_TO + 1),
        blocks=_numbers(LANES),
        weights=_numbers(LANES),
        order=_small_numbers(MOST_PACKETS),
        sources=_small_numbers(MOST_PACKETS),
        sent=_numbers(LANES),
        shown=_numbers(BUSY + 1),
        rules=_numbers(RULE_COUNT),
    )


def _numbers(count: int) -> Any:
    return np.zeros(count, np.int64)


def _small_numbers(count: int) -> Any:
    return np.zeros(count, np.int32)


def _bytes(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8).copy()
