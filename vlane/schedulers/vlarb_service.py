"""Service of arbitration lists in integers: longest wait of a VL, and exact shares of a saturated link.

All functions use the compiler's subset of Python (``docs/compiler.md``), so the same source runs in Python and
compiled. Lists are two sequences of equal length, VLs and weights. ``most``, ``least`` and ``sizes`` are indexed by VL
and count blocks of 64 bytes; 0 in ``most`` or ``sizes`` marks a VL without traffic. ``docs/vlarb.md`` defines the
decisions (VLA-n), ``docs/vlarb_waits.md`` derives the waits, ``docs/vlarb_explain.md`` the shares.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import NamedTuple

from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, VL15

NO_BOUND = -1
"""Longest wait of a VL without a bound."""
_LIMIT_BLOCKS = 64
_ADD, _SKIP = 1, 0

_Numbers = Sequence[int]


def limit_blocks(limit: int) -> int:
    """Return the blocks of High allowed before a packet of Low by a limit below 255 (VLA-8, VLA-9)."""
    return max(1, _LIMIT_BLOCKS * limit)


def _before_last(weight: int, most: int, least: int) -> int:
    """Return the largest number of blocks of an entry before the last packet of its turn (VLA-2)."""
    return min(weight - 1, (weight - 1) // least * most)


def burst_blocks(limit: int, most: int, least: int) -> int:
    """Return the largest burst of High between two packets of Low, for packets of ``least`` to ``most`` blocks."""
    return _before_last(limit_blocks(limit), most, least) + most


def expiry_blocks(limit: int, most: int, least: int) -> int:
    """Return the smallest number of blocks of High, in whole packets, after which a full counter can expire."""
    load = limit_blocks(limit)
    return max(load, -(-load // most) * least)


def _serves(vl: int, weight: int, most: _Numbers) -> bool:
    return weight > 0 and most[vl] > 0


def _low_turns(
    vls: _Numbers, weights: _Numbers, most: _Numbers, least: _Numbers, vl: int, start: int, count: int, period: int
) -> tuple[int, int]:
    """Return the blocks of High up to the next entry of a VL, and the number of expiries of the counter.

    The counter starts full. An entry sends small packets, each with a possible expiry, and ends its turn with its
    largest packet. This order gives the most blocks and the most expiries.
    """
    blocks, expired, counted = 0, 0, 0
    for step in range(count):
        entry = (start + step) % len(vls)
        if _serves(vls[entry], weights[entry], most):
            if vls[entry] == vl:
                break
            largest = most[vls[entry]]
            before = _before_last(weights[entry], largest, least[vls[entry]])
            blocks += before + largest
            expired += (counted + before) // period
            counted = (counted + before) % period + largest
            if counted >= period:
                expired += 1
                counted = 0
    return blocks, expired


def _high_turns(
    vls: _Numbers, weights: _Numbers, most: _Numbers, least: _Numbers, vl: int, start: int, count: int
) -> tuple[int, int]:
    """Return the blocks and the packets of Low up to the next entry of a VL."""
    blocks, packets = 0, 0
    for step in range(count):
        entry = (start + step) % len(vls)
        if _serves(vls[entry], weights[entry], most):
            if vls[entry] == vl:
                break
            largest, smallest = most[vls[entry]], least[vls[entry]]
            blocks += _before_last(weights[entry], largest, smallest) + largest
            packets += (weights[entry] - 1) // smallest + 1
    return blocks, packets


def _largest(vls: _Numbers, weights: _Numbers, most: _Numbers, vl: int) -> int:
    """Return the largest packet of other VLs in a list, or 0 if there is none."""
    found = 0
    for entry in range(len(vls)):
        if vls[entry] != vl and _serves(vls[entry], weights[entry], most):
            found = max(found, most[vls[entry]])
    return found


def _smallest(vls: _Numbers, weights: _Numbers, most: _Numbers, least: _Numbers, vl: int) -> int:
    """Return the smallest packet of other VLs in a list, or 1 if there is none."""
    found = 0
    for entry in range(len(vls)):
        if vls[entry] != vl and _serves(vls[entry], weights[entry], most):
            found = least[vls[entry]] if found == 0 else min(found, least[vls[entry]])
    return max(found, 1)


def _names(vls: _Numbers, weights: _Numbers, most: _Numbers, vl: int) -> bool:
    named = False
    for entry in range(len(vls)):
        named = named or (vls[entry] == vl and _serves(vls[entry], weights[entry], most))
    return named


def _wait_in_high(
    high_vl: _Numbers, high_weight: _Numbers, most: _Numbers, least: _Numbers, vl: int, limit: int, low_packet: int
) -> int:
    longest = 0
    period = expiry_blocks(
        limit, max(1, _largest(high_vl, high_weight, most, vl)), _smallest(high_vl, high_weight, most, least, vl)
    )
    for entry in range(len(high_vl)):
        if high_vl[entry] == vl and _serves(vl, high_weight[entry], most):
            blocks, expired = _low_turns(high_vl, high_weight, most, least, vl, entry + 1, len(high_vl) - 1, period)
            if limit == LIMIT_UNBOUNDED:
                wait = max(most[vl], low_packet) + blocks
            else:
                wait = most[vl] + blocks + (1 + expired) * low_packet
            longest = max(longest, wait)
    return longest


def _wait_in_low(low_vl: _Numbers, low_weight: _Numbers, most: _Numbers, least: _Numbers, vl: int, burst: int) -> int:
    longest = 0
    for entry in range(len(low_vl)):
        if low_vl[entry] == vl and _serves(vl, low_weight[entry], most):
            blocks, packets = _high_turns(low_vl, low_weight, most, least, vl, entry + 1, len(low_vl) - 1)
            longest = max(longest, most[vl] + blocks + (1 + packets) * burst)
    return longest


def _burst(high_vl: _Numbers, high_weight: _Numbers, most: _Numbers, least: _Numbers, vl: int, limit: int) -> int:
    """Return the largest burst of other VLs in High between two packets of Low, or ``NO_BOUND``."""
    largest = _largest(high_vl, high_weight, most, vl)
    if largest == 0:
        return 0
    if limit == LIMIT_UNBOUNDED:
        return NO_BOUND
    return burst_blocks(limit, largest, _smallest(high_vl, high_weight, most, least, vl))


def longest_wait_blocks(
    vl: int,
    high_vl: _Numbers,
    high_weight: _Numbers,
    low_vl: _Numbers,
    low_weight: _Numbers,
    limit: int,
    most: _Numbers,
    least: _Numbers,
) -> int:
    """Return the longest wait of a packet at the head of its VL, in blocks, or ``NO_BOUND``."""
    wait = NO_BOUND
    if _names(high_vl, high_weight, most, vl):
        wait = _wait_in_high(high_vl, high_weight, most, least, vl, limit, _largest(low_vl, low_weight, most, vl))
    if _names(low_vl, low_weight, most, vl):
        burst = _burst(high_vl, high_weight, most, least, vl, limit)
        if burst != NO_BOUND:
            in_low = _wait_in_low(low_vl, low_weight, most, least, vl, burst)
            wait = in_low if wait == NO_BOUND else min(wait, in_low)
    return wait


def wait_after_exchange_blocks(
    vl: int,
    high_vl: _Numbers,
    high_weight: _Numbers,
    low_vl: _Numbers,
    low_weight: _Numbers,
    limit: int,
    most: _Numbers,
    least: _Numbers,
) -> int:
    """Return the longest wait of a packet after the first decision of a new table, in blocks, or ``NO_BOUND``."""
    wait = NO_BOUND
    if _names(high_vl, high_weight, most, vl):
        period = expiry_blocks(
            limit, max(1, _largest(high_vl, high_weight, most, vl)), _smallest(high_vl, high_weight, most, least, vl)
        )
        blocks, expired = _low_turns(high_vl, high_weight, most, least, vl, 0, len(high_vl), period)
        low_packet = 0 if limit == LIMIT_UNBOUNDED else _largest(low_vl, low_weight, most, vl)
        wait = blocks + expired * low_packet
    if _names(low_vl, low_weight, most, vl):
        burst = _burst(high_vl, high_weight, most, least, vl, limit)
        if burst != NO_BOUND:
            blocks, packets = _high_turns(low_vl, low_weight, most, least, vl, 0, len(low_vl))
            in_low = blocks + (1 + packets) * burst
            wait = in_low if wait == NO_BOUND else min(wait, in_low)
    return wait


def _turn_packets(vl: int, weight: int, sizes: _Numbers) -> int:
    """Return the packets of one turn of an entry, or 0 for a skipped entry."""
    return -(-weight // sizes[vl]) if sizes[vl] > 0 else 0


def _add_pass(vls: _Numbers, weights: _Numbers, sizes: _Numbers, times: int, sent: MutableSequence[int]) -> None:
    """Add the blocks of ``times`` passes of a list to ``sent``."""
    for entry in range(len(vls)):
        sent[vls[entry]] += times * _turn_packets(vls[entry], weights[entry], sizes) * sizes[vls[entry]]


def _pass_packets(vls: _Numbers, weights: _Numbers, sizes: _Numbers) -> int:
    packets = 0
    for entry in range(len(vls)):
        packets += _turn_packets(vls[entry], weights[entry], sizes)
    return packets


def _pass_blocks(vls: _Numbers, weights: _Numbers, sizes: _Numbers) -> int:
    blocks = 0
    for entry in range(len(vls)):
        blocks += _turn_packets(vls[entry], weights[entry], sizes) * sizes[vls[entry]]
    return blocks


def _send_burst(
    vls: _Numbers,
    weights: _Numbers,
    sizes: _Numbers,
    entry: int,
    done: int,
    left: int,
    times: int,
    sent: MutableSequence[int],
) -> tuple[int, int, int]:
    """Send at least ``left`` blocks of High, and return the next place in the list and the number of packets.

    A place in the list is ``entry`` and ``done``, the number of packets already sent in the turn of the entry. The
    blocks, multiplied by ``times``, are added to ``sent``.
    """
    packets = 0
    while left > 0:
        vl = vls[entry]
        turn = _turn_packets(vl, weights[entry], sizes)
        if turn > done:
            some = min(turn - done, -(-left // sizes[vl]))
            left -= some * sizes[vl]
            sent[vl] += times * some * sizes[vl]
            packets += some
            done += some
        if done >= turn:
            entry = entry + 1 if entry + 1 < len(vls) else 0
            done = 0
    return entry, done, packets


def _common_divisor(one: int, other: int) -> int:
    while other > 0:
        one, other = other, one % other
    return one


def saturated_service(
    high_vl: _Numbers,
    high_weight: _Numbers,
    low_vl: _Numbers,
    low_weight: _Numbers,
    limit: int,
    sizes: _Numbers,
    sent: MutableSequence[int],
) -> int:
    """Fill ``sent`` with the blocks of each VL in one period of the service order. Return the packets of the period.

    Every VL with a size has a permanent backlog of packets of this size. Between two packets of Low, High sends until
    its full counter expires, so the place in High after a burst depends only on the place before the burst. Brent's
    cycle detection finds the period of these places. Low advances by one packet per burst and repeats with its pass.
    The period of the service order is the least common multiple of both.
    """
    for vl in range(len(sent)):
        sent[vl] = 0
    high_packets = _pass_packets(high_vl, high_weight, sizes)
    low_packets = _pass_packets(low_vl, low_weight, sizes)
    if high_packets > 0 and (low_packets == 0 or limit == LIMIT_UNBOUNDED):
        _add_pass(high_vl, high_weight, sizes, 1, sent)
        return high_packets
    if high_packets == 0:
        _add_pass(low_vl, low_weight, sizes, 1, sent)
        return low_packets
    high_blocks = _pass_blocks(high_vl, high_weight, sizes)
    passes = (limit_blocks(limit) - 1) // high_blocks  # whole passes do not change the place
    load = limit_blocks(limit) - passes * high_blocks
    kept_entry, kept_done = 0, 0
    entry, done, some = _send_burst(high_vl, high_weight, sizes, 0, 0, load, _SKIP, sent)
    power, bursts = 1, 1
    while entry != kept_entry or done != kept_done:
        if bursts == power:
            kept_entry, kept_done = entry, done
            power *= 2
            bursts = 0
        entry, done, some = _send_burst(high_vl, high_weight, sizes, entry, done, load, _SKIP, sent)
        bursts += 1
    repeats = low_packets // _common_divisor(bursts, low_packets)
    packets = bursts * passes * high_packets
    _add_pass(high_vl, high_weight, sizes, bursts * passes * repeats, sent)
    for _ in range(bursts):
        entry, done, some = _send_burst(high_vl, high_weight, sizes, entry, done, load, repeats, sent)
        packets += some
    _add_pass(low_vl, low_weight, sizes, bursts * repeats // low_packets, sent)
    return (packets + bursts) * repeats


class LaneService(NamedTuple):
    """Service of a lane, and memory to compute it.

    Parameters
    ----------
    sizes : sequence of int, (16,)
        Packet size of each VL.
    least : sequence of int, (16,)
        Smallest packet of each VL.
    sent : sequence of int, (16,)
        Blocks of each VL in a period.
    shares : sequence of int, (6,)
        Blocks of the lane and of all lanes in a period, for three cases: all packets have the largest size; the
        packets of this lane have one block; the packets of all other lanes have one block.
    wait : sequence of int, (2,)
        Longest wait in blocks, or ``NO_BOUND``; packets of a period in the first case.
    """

    sizes: MutableSequence[int]
    least: MutableSequence[int]
    sent: MutableSequence[int]
    shares: MutableSequence[int]
    wait: MutableSequence[int]


def new_lane_service(make: Callable[[int], MutableSequence[int]]) -> LaneService:
    """Return memory for the service of a lane. ``make`` returns a sequence of zeros of a given length."""
    lanes = VL15 + 1
    return LaneService(make(lanes), make(lanes), make(lanes), make(2 * SHARE_CASES), make(2))


SHARE_CASES = 3
"""Cases of ``LaneService.shares``."""


def measure_lane(
    service: LaneService,
    high_vl: _Numbers,
    high_weight: _Numbers,
    low_vl: _Numbers,
    low_weight: _Numbers,
    limit: int,
    senders: int,
    vl: int,
    largest: int,
) -> None:
    """Fill the service of a lane of ``senders``, a bit mask of lanes with packets of one to ``largest`` blocks."""
    for case in range(SHARE_CASES - 1, -1, -1):  # the first case last: its sizes serve the longest wait
        for lane in range(len(service.sizes)):
            size = (1 if case == 1 else largest) if lane == vl else (1 if case == SHARE_CASES - 1 else largest)
            service.sizes[lane] = size if (senders >> lane) & 1 != 0 else 0
            service.least[lane] = min(service.sizes[lane], 1)
        period = saturated_service(high_vl, high_weight, low_vl, low_weight, limit, service.sizes, service.sent)
        whole = 0
        for lane in range(len(service.sent)):
            whole += service.sent[lane]
        service.shares[2 * case], service.shares[2 * case + 1] = service.sent[vl], whole
        service.wait[1] = period
    service.wait[0] = longest_wait_blocks(
        vl, high_vl, high_weight, low_vl, low_weight, limit, service.sizes, service.least
    )
