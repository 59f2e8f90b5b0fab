"""Rate limiters of the flows of many sources: ERP-1 to ERP-15 (``docs/ecm_rp.md``), without a clock.

A network calls ``may_start`` when a frame could start, ``earliest_start`` for the first cycle worth a retry, and
``receive_notification`` when a notification, probe feedback, stop or drift arrives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.ecm_rp import (
    FRACTION_BITS,
    GAIN_BITS,
    RATE_FRACTION_BITS,
    SCALE_BITS,
    TOKENS_PER_BYTE,
    Notice,
    feedback_scale,
)
from vlane.ethernet.shared import seed_of
from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.ethernet.prbs import next_state, random_number

_PROBE, _STOP, _DRIFT = int(Notice.PROBE), int(Notice.STOP), int(Notice.DRIFT)


class Limiter:
    """Rate limiter of a flow.

    Parameters
    ----------
    counted_until : int
        Cycle up to which tokens are counted; a future cycle while the flow is stopped.
    tokens : int
        Tokens; a byte costs 40,000.
    rate : int
        Rate in 1/256 Mb/s.
    cpid : int
        CPID of the sender that last lowered the rate.
    lowered_by_probe : int
        Whether that sender was a probe.
    limited : int
        Whether the flow has a limiter.
    """

    counted_until: Int64
    tokens: Int64
    rate: Int64
    cpid: Int32
    lowered_by_probe: Int16
    limited: Int16


class Source:
    """State common to all flows of a source.

    Parameters
    ----------
    random_state : int
        State of the random sequence.
    link_rate : int
        Link rate in 1/256 Mb/s.
    limiter_count : int
        Number of installed limiters.
    """

    random_state: Int64
    link_rate: Int64
    limiter_count: Int32


class Limiters(NamedTuple):
    """Limiters of sources with equal settings.

    Parameters
    ----------
    flow : Records of Limiter, (sources, flows)
        State of each flow.
    source : Records of Source, (sources,)
        State of each source.
    gain : array of int64, (2,)
        Gi of notifications and of probes in 1/4096.
    min_rate : int
        Rmin in 1/256 Mb/s.
    full_tokens : int
        Tokens of a full bucket.
    scale : int
        Scale factor of the feedback.
    of_current_rate : bool
        Whether a decrease is relative to the current rate (``gain_of`` is "current").
    strict : bool
        Option ``strict``.
    drift_increase : int
        Rate increase of a drift.
    stop_bits : int
        Log2 of the longest stop in cycles.
    seeds : array of int64, (sources,)
        Random state of each source after reset.
    """

    flow: Records[Limiter]
    source: Records[Source]
    gain: NDArray[np.int64]
    min_rate: int
    full_tokens: int
    scale: int
    of_current_rate: bool
    strict: bool
    drift_increase: int
    stop_bits: int
    seeds: NDArray[np.int64]


def new_limiters(
    *,
    flows: int,
    link_mbps: int | tuple[int, ...],
    least_mbps: int,
    bucket_bytes: int,
    set_point_bytes: int,
    weight: int,
    gain: int,
    probe_gain: int,
    gain_of: str,
    strict: bool,
    drift: int,
    stop_bits: int,
    seed: int,
    sources: int = 1,
) -> Limiters:
    """Return sources after reset, without limiters. ``link_mbps`` may be a tuple of one rate per source."""
    made = Limiters(
        new_records(Limiter, sources, flows),
        new_records(Source, sources),
        np.array([gain, probe_gain], np.int64),
        least_mbps << RATE_FRACTION_BITS,
        bucket_bytes * TOKENS_PER_BYTE,
        feedback_scale(set_point_bytes, weight),
        gain_of == "current",
        strict,
        drift,
        stop_bits,
        np.array([seed_of(seed, source) for source in range(sources)], np.int64),
    )
    links = (link_mbps,) * sources if isinstance(link_mbps, int) else link_mbps
    for source in range(sources):
        made.source[source].link_rate = links[source] << RATE_FRACTION_BITS
        reset(made, source)
    return made


@kernel
def reset(limiters: Limiters, source: int) -> None:
    """Reset a source (ERP-15)."""
    source_state = limiters.source[source]
    source_state.limiter_count, source_state.random_state = 0, limiters.seeds[source]
    for flow in range(limiters.flow.shape[1]):
        each = limiters.flow[source, flow]
        each.counted_until, each.tokens, each.rate, each.cpid, each.lowered_by_probe, each.limited = 0, 0, 0, 0, 0, 0


@inner
def is_limited(limiters: Limiters, source: int, flow: int) -> bool:
    """Return whether a flow has a limiter (ERP-5)."""
    return limiters.flow[source, flow].limited != 0


@inner
def update_tokens(limiters: Limiters, source: int, flow: int, cycle: int) -> None:
    """Add the tokens that a flow has earned up to a cycle."""
    flow_state = limiters.flow[source, flow]
    if cycle > flow_state.counted_until:
        flow_state.tokens = min(
            flow_state.tokens + flow_state.rate * (cycle - flow_state.counted_until), limiters.full_tokens
        )
        flow_state.counted_until = cycle


@inner
def may_start(limiters: Limiters, source: int, flow: int, length: int, cycle: int) -> bool:
    """Return whether the tokens of a flow suffice for a frame of ``length`` bytes in a cycle."""
    flow_state = limiters.flow[source, flow]
    if flow_state.limited == 0:
        return True
    update_tokens(limiters, source, flow, cycle)
    needed = min(length * TOKENS_PER_BYTE, limiters.full_tokens)
    if flow_state.counted_until > cycle or flow_state.tokens < needed:
        return False
    flow_state.tokens -= needed
    return True


@inner
def earliest_start(limiters: Limiters, source: int, flow: int, length: int, cycle: int) -> int:
    """Return the first cycle, at least ``cycle``, in which the tokens suffice, if no feedback arrives before."""
    flow_state = limiters.flow[source, flow]
    if flow_state.limited == 0:
        return cycle
    missing = min(length * TOKENS_PER_BYTE, limiters.full_tokens) - flow_state.tokens
    return max(cycle, flow_state.counted_until + max((missing + flow_state.rate - 1) // flow_state.rate, 0))


@inner
def feedback_fraction(limiters: Limiters, feedback: int) -> int:
    """Return the magnitude of a feedback as a fraction of its saturation value, in 2**-15 (ERP-6)."""
    return min(abs(feedback) * limiters.scale >> SCALE_BITS, 1 << FRACTION_BITS)


@inner
def rate_decrease(rate: int, fraction: int) -> int:
    """Return half of ``fraction`` of a rate, by which a negative feedback lowers the rate (ERP-7)."""
    return rate * fraction >> FRACTION_BITS + 1


@inner
def rate_increase(limiters: Limiters, source: int, flow: int, notice: int, fraction: int) -> int:
    """Return Gi times ``fraction`` of the link's or of the current rate, for a positive feedback (ERP-8)."""
    flow_state = limiters.flow[source, flow]
    base = flow_state.rate if limiters.of_current_rate else limiters.source[source].link_rate
    return (base * limiters.gain[notice] >> GAIN_BITS) * fraction >> FRACTION_BITS


@inner
def receive_notification(
    limiters: Limiters, source: int, flow: int, notice: int, cpid: int, feedback: int, cycle: int
) -> None:
    """Apply feedback, a stop or a drift to a flow in a cycle (ERP-5 to ERP-13).

    Parameters
    ----------
    notice : int
        A ``Notice``.
    cpid : int
        CPID of the sender; for a probe its destination.
    feedback : int
        Fb in units of 64 bytes, for congestion points and probes.
    """
    flow_state, common = limiters.flow[source, flow], limiters.source[source]
    if flow_state.limited != 0:
        update_tokens(limiters, source, flow, cycle)
    if notice == _STOP:
        common.limiter_count += flow_state.limited == 0
        common.random_state = next_state(common.random_state)
        flow_state.limited, flow_state.lowered_by_probe, flow_state.cpid, flow_state.rate, flow_state.tokens = (
            1,
            0,
            cpid,
            limiters.min_rate,
            limiters.full_tokens,
        )
        flow_state.counted_until = cycle + 1 + (random_number(common.random_state) & ((1 << limiters.stop_bits) - 1))
    elif notice == _DRIFT:
        if flow_state.limited != 0:
            _raise_rate(limiters, source, flow, limiters.drift_increase)
    elif feedback < 0:
        if flow_state.limited == 0:
            common.limiter_count += 1
            flow_state.limited, flow_state.rate, flow_state.tokens, flow_state.counted_until = (
                1,
                common.link_rate,
                0,
                cycle,
            )
        flow_state.lowered_by_probe, flow_state.cpid = notice, cpid
        flow_state.rate = max(
            flow_state.rate - rate_decrease(flow_state.rate, feedback_fraction(limiters, feedback)), limiters.min_rate
        )
    elif feedback > 0 and flow_state.limited != 0:
        associated = flow_state.lowered_by_probe == notice and flow_state.cpid == cpid
        if associated or (notice == _PROBE and not limiters.strict):
            _raise_rate(
                limiters,
                source,
                flow,
                rate_increase(limiters, source, flow, notice, feedback_fraction(limiters, feedback)),
            )


@inner
def _raise_rate(limiters: Limiters, source: int, flow: int, increase: int) -> None:
    """Raise the rate of a flow, and remove the limiter at link rate."""
    flow_state, common = limiters.flow[source, flow], limiters.source[source]
    flow_state.rate += increase
    if flow_state.rate >= common.link_rate:
        flow_state.limited = 0
        common.limiter_count -= 1
