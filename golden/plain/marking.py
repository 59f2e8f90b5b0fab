"""FECN marking at plain switch outputs (CCM-1 to CCM-14, ``docs/cc_marker.md``) and the sweep of the inputs (NCC-3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vlane.golden.plain.congestion_settings import MarkerWrite, Settings
from vlane.golden.plain.link import Egress, Packet, Seen, Serve
from vlane.golden.plain.network import Switch


@dataclass(eq=False)
class Cnp(Packet):
    """A congestion notification packet. ``of_dlid`` is the DLID of the flow that the receiving NIC must slow down."""

    of_dlid: int = 0


class Marker:
    """A marking output. It wraps the egress scheduler and observes its inputs and decisions."""

    def __init__(
        self,
        settings: Settings,
        egress: Egress,
        measure: Callable[[int], int],
        *,
        is_in_mask: bool,
        element: tuple[int, int, int] | None,
    ) -> None:
        sizes = egress.sizes
        self.settings, self.egress, self.measure, self.is_in_mask = settings, egress, measure, is_in_mask
        self.of_switch = (settings.threshold, settings.packet_size, settings.marking_rate)
        self.element = element
        self.serve: Serve = egress.serve
        self.level = 0
        self.starved = [False] * sizes.lanes
        self.packets_until_mark = [0] * sizes.lanes
        self.marked = 0
        self.mark_causes: set[str] = set()

    def __call__(self, heads: Seen, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
        """Run the scheduler, mark the packet that starts, and update the level and the starved lanes (CCM-3, CCM-4)."""
        lane = self.serve(heads, ready)
        starts = ready and lane >= 0
        if starts:
            packet = self.egress.buffer[lane][0].packet
            if self._is_eligible(lane, packet):
                self._count(lane, packet)
            self.level = min(self.level + packet.blocks, self.settings.level_blocks)
        elif ready:
            self.level = max(self.level - self.settings.idle_blocks, 0)
        if ready:
            waiting = heads.request & ~heads.fits
            self.starved = [was or bool(waiting >> each & 1) for each, was in enumerate(self.starved)]
        if starts:
            self.starved[lane] = False
        return lane

    @property
    def in_force(self) -> tuple[int, int, int]:
        """Threshold, Packet_Size and Marking_Rate in force (CCM-13)."""
        return self.of_switch if self.element is None else self.element

    def set(self, port: int, write: MarkerWrite) -> None:
        """Apply a settings write of the switch to this port (CCM-13, CCM-14)."""
        is_own = write.element is not None and write.element[0] == port
        if write.mask is not None:
            self.is_in_mask = port in write.mask
        if write.limits is not None:
            self.of_switch = (*write.limits, self.of_switch[2])
        if write.rate is not None:
            self.of_switch = (*self.of_switch[:2], write.rate)
        if write.element is not None and is_own:
            self.element = write.element[1]
        if write.rate is not None or is_own:
            self.packets_until_mark = [0] * len(self.packets_until_mark)

    def _is_eligible(self, lane: int, packet: Packet) -> bool:
        """Return whether a packet that starts may be marked (CCM-1, CCM-2, CCM-5 to CCM-8)."""
        threshold, packet_size, _ = self.in_force
        sizes = self.egress.sizes
        limit = max(sizes.maximum[lane] * (16 - threshold) // 16, 2 * max(sizes.largest) + 1)
        is_over = threshold > 0 and self.measure(lane) >= limit
        is_root = is_over and self.level >= self.settings.busy_blocks and not self.starved[lane]
        if not is_root and not (is_over and self.is_in_mask):
            return False
        if packet.blocks < packet_size or isinstance(packet, Cnp):
            return False
        self.mark_causes.add("root" if is_root else "victim")
        return True

    def _count(self, lane: int, packet: Packet) -> None:
        """Mark the first eligible packet and then every (Marking_Rate + 1)-th (CCM-10, CCM-11)."""
        if self.packets_until_mark[lane]:
            self.packets_until_mark[lane] -= 1
        else:
            self.packets_until_mark[lane] = self.in_force[2]
            self.marked += not packet.fecn
            packet.fecn = True


class Sweep:
    """Blocks that wait at a switch's inputs. The sweep visits one output VL per cycle (NCC-3)."""

    def __init__(self, switch: Switch) -> None:
        self.switch, self.lanes = switch, switch.sizes.lanes
        self.sweep_cycles = max(4, len(switch.outputs) * self.lanes)
        self.found: list[tuple[int, int, int, int]] = []
        self.measure: dict[tuple[int, int], int] = {}

    def look(self, now: int) -> None:
        """Visit the output VL of this cycle, before its grants. A result applies 3 cycles after the visit."""
        output, lane = divmod(now % self.sweep_cycles, self.lanes)
        self.found.append((now, output, lane, waiting_at_inputs(self.switch, output, lane, now)))
        while self.found[0][0] + 3 <= now:
            _, output, lane, blocks = self.found.pop(0)
            self.measure[output, lane] = blocks


def waiting_at_inputs(switch: Switch, output: int, lane: int, now: int) -> int:
    """Return the blocks that wait in the input queues whose first packet goes to an output and VL.

    Only packets that may take part in allocation in this cycle count.
    """
    blocks = 0
    for port, source in enumerate(switch.inputs):
        for number, heads in enumerate(source.heads):
            there = [(since, packet) for since, packet in heads if since <= now]
            if there:
                since, first = there[0]
                to = switch.route(port, number, first, since - 2)
                if (to.output, to.out_lane) == (output, lane):
                    blocks += sum(packet.blocks for _, packet in there)
    return blocks
