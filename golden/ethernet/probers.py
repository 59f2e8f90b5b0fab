"""Probes of the flows of many sources: EPR-1 to EPR-12 (``docs/e2cm_prober.md``), without a clock.

A network calls ``count_frame`` when a frame of a flow starts, ``probe_byte_count`` when a probe starts on the wire,
and ``process_reply`` when its reply arrives. The sink adds the cycle of the probe's arrival and returns the probe.
"""

from __future__ import annotations

from typing import NamedTuple

from vlane.ethernet.e2cm_prober import EXCESS_BITS, GOODPUT_BITS, OCCUPANCY_BITS, STAMP_BITS
from vlane.ethernet.shared import saturation_bytes
from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.ethernet.points import feedback_units

_MODULUS, _LATE = (1 << STAMP_BITS) - 1, 1 << STAMP_BITS - 1
_MOST_EXCESS, _MOST_BYTES = (1 << EXCESS_BITS) - 1, (1 << GOODPUT_BITS) - 1
_MOST_OCCUPANCY = (1 << OCCUPANCY_BITS) - 1


class Probe:
    """Probe state of a flow.

    Parameters
    ----------
    sent_bytes : int
        Bytes of the flow so far, modulo 2**32.
    probed_bytes : int
        Bytes of the flow at its last probe, modulo 2**32.
    reply_arrival : int
        Cycle in which the previously returned probe arrived.
    reply_bytes : int
        Byte count that the previously returned probe carried.
    least_delay : int
        Minimum one-way delay in cycles.
    occupancy : int
        Occupancy of the previous reply in bytes.
    has_probe : int
        Whether a probe was sent.
    has_reply : int
        Whether a reply arrived.
    has_occupancy : int
        Whether the previous reply gave an occupancy.
    """

    sent_bytes: Int64
    probed_bytes: Int64
    reply_arrival: Int64
    reply_bytes: Int64
    least_delay: Int64
    occupancy: Int32
    has_probe: Int16
    has_reply: Int16
    has_occupancy: Int16


class Probers(NamedTuple):
    """Probers with equal settings.

    Parameters
    ----------
    probe : Records of Probe, (sources, flows)
        State of each flow.
    probe_bytes : int
        Bytes between two probes.
    all_flows : bool
        All flows are probed.
    learned : bool
        The minimum delay is learned from replies.
    set_point : int
        Qeq,flow, the target occupancy of a flow.
    weight : int
        W, the weight of the occupancy's change.
    max_feedback : int
        Saturation value of the feedback.
    """

    probe: Records[Probe]
    probe_bytes: int
    all_flows: bool
    learned: bool
    set_point: int
    weight: int
    max_feedback: int


class Feedback(NamedTuple):
    """Result of a reply.

    Parameters
    ----------
    valid : bool
        The reply yields feedback.
    feedback : int
        Feedback in units of 64 bytes.
    """

    valid: bool
    feedback: int


NOTHING = Feedback(valid=False, feedback=0)
"""Result of the first reply of a flow, and of a reply out of order."""


def new_probers(
    *,
    flows: int,
    probe_bytes: int,
    probed: str,
    base: str,
    set_point_bytes: int,
    weight: int,
    norm_bytes: int,
    sources: int = 1,
) -> Probers:
    """Return sources after reset: nothing sent or received, given delays 0."""
    return Probers(
        new_records(Probe, sources, flows),
        probe_bytes,
        probed == "all",
        base == "learned",
        set_point_bytes,
        weight,
        saturation_bytes(norm_bytes, weight),
    )


@kernel
def reset(probers: Probers, source: int) -> None:
    """Reset a source. Given delays are kept (EPR-12)."""
    for flow in range(probers.probe.shape[1]):
        probe_state = probers.probe[source, flow]
        (
            probe_state.sent_bytes,
            probe_state.probed_bytes,
            probe_state.reply_arrival,
            probe_state.reply_bytes,
            probe_state.occupancy,
        ) = (0, 0, 0, 0, 0)
        probe_state.has_probe, probe_state.has_reply, probe_state.has_occupancy = 0, 0, 0


@inner
def set_minimum_delay(probers: Probers, source: int, flow: int, cycles: int) -> None:
    """Set the minimum one-way delay of a flow (EPR-6)."""
    probers.probe[source, flow].least_delay = cycles


@inner
def count_frame(probers: Probers, source: int, flow: int, length: int, limited: int) -> bool:
    """Count the bytes of a frame that starts. Return whether a probe must follow the frame (EPR-1 to EPR-3)."""
    probe_state = probers.probe[source, flow]
    probe_state.sent_bytes = (probe_state.sent_bytes + length) & _MODULUS
    if not probers.all_flows and limited == 0:
        probe_state.has_probe = 0
        return False
    if (
        probe_state.has_probe != 0
        and (probe_state.sent_bytes - probe_state.probed_bytes) & _MODULUS < probers.probe_bytes
    ):
        return False
    probe_state.has_probe, probe_state.probed_bytes = 1, probe_state.sent_bytes
    return True


@inner
def probe_byte_count(probers: Probers, source: int, flow: int) -> int:
    """Return the byte count of its flow that a probe carries when it starts on the wire (EPR-4)."""
    return probers.probe[source, flow].sent_bytes


@inner
def excess_delay(delay: int, base: int) -> int:
    """Return the delay in excess of the minimum, at most 2**20 - 1 cycles (EPR-6, EPR-7)."""
    return min(max(delay - base, 0), _MOST_EXCESS)


@inner
def flow_occupancy(excess: int, reported: int, gap: int) -> int:
    """Return the bytes of a flow in the network: excess delay times the bytes sent per cycle in ``gap`` (EPR-7)."""
    return min(excess * min(reported, _MOST_BYTES) // gap, _MOST_OCCUPANCY)


@inner
def process_reply(probers: Probers, source: int, flow: int, stamp: int, arrival: int, reported: int) -> Feedback:
    """Process the reply to a probe and return its feedback, or ``NOTHING`` (EPR-5 to EPR-11).

    Parameters
    ----------
    stamp : int
        Cycle in which the probe started on the wire, modulo 2**32.
    arrival : int
        Cycle in which the probe arrived, modulo 2**32.
    reported : int
        Byte count that the probe carries.
    """
    probe_state = probers.probe[source, flow]
    gap = (arrival - probe_state.reply_arrival) & _MODULUS
    if probe_state.has_reply != 0 and (gap == 0 or gap >= _LATE):
        return NOTHING
    delay = (arrival - stamp) & _MODULUS
    if probers.learned:
        probe_state.least_delay = min(probe_state.least_delay, delay) if probe_state.has_reply != 0 else delay
    first = probe_state.has_reply == 0
    sent = (reported - probe_state.reply_bytes) & _MODULUS
    probe_state.has_reply, probe_state.reply_arrival, probe_state.reply_bytes = (
        1,
        arrival & _MODULUS,
        reported & _MODULUS,
    )
    if first:
        return NOTHING
    occupancy = flow_occupancy(excess_delay(delay, probe_state.least_delay), sent, gap)
    change = occupancy - probe_state.occupancy if probe_state.has_occupancy != 0 else 0
    probe_state.occupancy, probe_state.has_occupancy = occupancy, 1
    feedback = probers.set_point - occupancy - probers.weight * change
    return Feedback(True, feedback_units(max(-probers.max_feedback, min(probers.max_feedback, feedback))))  # noqa: FBT003 - positional in kernels
