"""Link behind the VL arbiter: golden decides, the hardware must agree, packet waits are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.schedulers.scheduling import run_rows
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.planning.vlarb_waits import longest_wait, wait_after_exchange
from vlane.schedulers.vlarb import VLArbTable


class Wait(NamedTuple):
    """Wait of one packet at the front of its queue.

    Parameters
    ----------
    vl, blocks : int
        Virtual lane and size of the packet.
    since : int
        Cycle in which the wait began: the packet arrived first in its queue, or the packet before it started.
    start : int
        Cycle in which the packet started.
    passed : int
        Number of blocks the link carried between ``since`` and ``start``.
    """

    vl: int
    blocks: int
    since: int
    start: int
    passed: int


class ArbitratedLink:
    """Packet queues before a link whose arbiter may be programmed and swapped in any cycle.

    Parameters
    ----------
    data_vls, entries, form
        Parameters of the arbiter. It has no VL15.

    Attributes
    ----------
    now : int
        Next cycle.
    queues : dict of int to list of int
        Sizes in blocks of the waiting packets, by VL.
    exchanges : list of (int, int)
        Cycle of each exchange of the tables, and the first cycle after it with a free link.
    tables : list of VLArbTable
        Tables in the order they were loaded.
    """

    def __init__(self, *, data_vls: int, entries: int, form: str = "exact") -> None:
        self.parameters: dict[str, Any] = {"data_vls": data_vls, "entries": entries, "vl15": False, "form": form}
        self.module = module_of("vlarb", form)
        self.state = self.module.make_state(**self.parameters)
        self.rules = np.zeros(self.module.RULE_COUNT, np.int64)
        self.queues: dict[int, list[int]] = {vl: [] for vl in range(data_vls)}
        self.since = dict.fromkeys(range(data_vls), 0)
        self.now, self.free_from = 0, 0
        self.exchanges: list[tuple[int, int]] = []
        self.tables: list[VLArbTable] = []
        self._steps: list[tuple[dict[str, int], dict[str, int]]] = []
        self._firsts: list[dict[int, tuple[int, int]]] = []

    def offer(self, vl: int, blocks: int) -> None:
        """Append a packet to the queue of its VL."""
        if not self.queues[vl]:
            self.since[vl] = self.now
        self.queues[vl].append(blocks)

    def begin_with(self, table: VLArbTable) -> None:
        """Reset the arbiter, empty the queues, load a table and let a line-rate form read it."""
        self.queues = {vl: [] for vl in self.queues}
        self.free_from = self.now
        self.tables.append(table)
        self.cycle(reset=True)
        for write in table.writes(self.parameters):
            self.cycle(write)
        self.cycle(swap=True)
        for _ in range(self.module.REST_CYCLES):
            self.cycle()

    def writes_of(self, table: VLArbTable) -> list[Sequence[int]]:
        """Record the next table and return the writes for programming the table."""
        self.tables.append(table)
        return list(table.writes(self.parameters))

    def cycle(self, write: Sequence[int] = (), *, swap: bool = False, reset: bool = False) -> int | None:
        """Run one cycle and return the VL of the starting packet, or ``None``."""
        lanes = range(self.parameters["data_vls"])
        sizes = np.array([*(self.queues[vl][0] if self.queues[vl] else 0 for vl in lanes), 0], np.int64)
        request = sum(1 << vl for vl in lanes if self.queues[vl])
        behind = sum(1 << vl for vl in lanes if len(self.queues[vl]) > 1)
        ready = self.now >= self.free_from
        given = {
            "rst": int(reset),
            "heads__request": request,
            "heads__fits": (1 << len(lanes)) - 1,
            "heads__blocks": sum(int(size) << 7 * vl for vl, size in enumerate(sizes)),
            "ready": int(ready),
            "swap": int(swap),
            "program__enable": int(bool(write)),
            **dict(zip((f"program__{name}" for name in ("select", "index", "vl", "weight")), write, strict=False)),
        }
        if self.module.LOOKS_BEHIND:
            given["behind"] = behind
        expected = {
            "swap_pending": int(self.state.regs[self.module.SWAP_PENDING]),
            "unreachable": int(self.module.unreachable(self.state)),
        }
        heads = Heads(request, (1 << len(lanes)) - 1, sizes, behind, np.zeros_like(sizes))
        program = (1, *write) if write else NO_WRITE
        pending = swap or expected["swap_pending"] != 0
        lane, listed, granted = self.module.step(self.state, heads, ready, False, program, swap, self.rules)
        named = lane >= 0
        self._steps.append(
            (given, {**expected, "grant": int(granted), "vl": max(int(lane), 0), "from_list": named * listed})
        )
        self._firsts.append({vl: (self.since[vl], self.queues[vl][0]) for vl in lanes if self.queues[vl]})
        if reset:
            self.module.reset(self.state)
        started = int(lane) if granted and ready else None
        if started is not None:
            self.free_from = self.now + self.queues[started].pop(0)
            self.since[started] = self.now
        if pending and ready and not reset:
            self.exchanges.append((self.now, self.free_from))
        self.now += 1
        return started

    def on_hardware(self) -> list[Wait]:
        """Replay all cycles on the hardware, assert golden's outputs, and return the waits of the packets."""
        found, carried = [], np.zeros(self.now + 128, np.int64)
        shown = run_rows("vlarb", self.parameters, self._steps)
        for cycle, (outputs, expected) in enumerate(shown):
            assert outputs == expected, f"cycle {cycle}: {outputs}, not {expected}"
            if outputs["grant"] and self._steps[cycle][0]["ready"]:
                vl = outputs["vl"]
                since, blocks = self._firsts[cycle][vl]
                carried[cycle : cycle + blocks] = 1
                found.append((vl, blocks, since, cycle))
        passed = np.concatenate([[0], np.cumsum(carried)])
        return [Wait(*each, int(passed[each[3]] - passed[each[2]])) for each in found]


def longest_of(waits: Sequence[Wait]) -> Mapping[int, int]:
    """Return the most blocks that passed while a packet waited, by VL."""
    longest: dict[int, int] = {}
    for wait in waits:
        longest[wait.vl] = max(longest.get(wait.vl, 0), wait.passed)
    return longest


def bound_of(
    link: ArbitratedLink, wait: Wait, most: Mapping[int, int], least: Mapping[int, int]
) -> tuple[float, list[float]]:
    """Return the wait bound of the active table and the increments of all tables swapped in later.

    The decision in the cycle of an exchange uses the old table. If the packet chosen then is still on the link when
    this wait begins, the rest of that packet is added.
    """
    found, last = (sum(cycle < when for cycle, _ in link.exchanges) - 1 for when in (wait.since, wait.start))
    later = [wait_after_exchange(each, wait.vl, most=most, least=least) for each in link.tables[found + 1 : last + 1]]
    rest = link.exchanges[found][1] - wait.since
    if rest > 0:  # the last packet chosen by the previous table is still on the link
        return rest + wait_after_exchange(link.tables[found], wait.vl, most=most, least=least), later
    return longest_wait(link.tables[found], wait.vl, most=most, least=least), later
