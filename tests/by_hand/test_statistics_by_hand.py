"""Statistics of results, from series, histograms and counts with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from vlane.golden.network.connection_meters import FRACTIONS, JITTERS, RATIOS
from vlane.golden.network.meters import LOST, MADE, PARTS, RECEIVED, Meters, new_meters
from vlane.sim_top.study import steady
from vlane.sim_top.study.connection_tables import FRACTION_WORDS, connection_table, deadlines_of
from vlane.sim_top.study.latencies import PERCENTILES, quantile
from vlane.sim_top.study.steady import judge_backlog
from vlane.study.cbr_list import CbrList


@pytest.mark.parametrize(
    ("pairs", "degree", "factor", "freedom"),
    [(25, 1, 0.948, 18), (25, 2, 0.882, 7), (50, 1, 0.974, 37), (50, 2, 0.941, 16)],
)
def test_the_spectral_estimate_has_the_published_constants(
    pairs: int, degree: int, factor: float, freedom: int
) -> None:
    """For a flat spectrum, correction and degrees of freedom are those of Heidelberger and Welch's table of 1981.

    An impulse of 1 in a series of n values has the ordinates 1/n.
    """
    count = 4 * pairs + 1
    impulse = np.zeros(count)
    impulse[0] = 1.0

    variance, found = steady._variance_of_mean(impulse, degree=degree)

    assert variance * count**2 == pytest.approx(math.exp(0.270) * factor, rel=0.002)
    assert found == freedom


def residuals(held: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the residuals of a series around its line."""
    place = np.arange(len(held))
    rest: NDArray[np.float64] = held - np.polyval(np.polyfit(place, held, 1), place)
    return rest


def raw_factor(held: NDArray[np.float64]) -> float:
    """Return the first-order autocorrelation of the residuals, uncorrected."""
    rest = residuals(held)
    return float((rest[1:] @ rest[:-1]) / (rest[:-1] @ rest[:-1]))


def series(kept: float, seed: int) -> NDArray[np.float64]:
    """Return a line of slope 3 with autoregressive noise, in 40 parts."""
    bits, value, noise = np.random.default_rng(seed), 0.0, []
    for _ in range(PARTS):
        value = kept * value + float(bits.normal())
        noise.append(value)
    return 3.0 * np.arange(1, PARTS + 1) + np.array(noise)


def slope_with_error(held: NDArray[np.float64], factor: float) -> tuple[float, float]:
    """Return the slope of the generalised least squares for first-order autoregressive noise, and its error."""
    count = len(held)
    places = np.arange(count)
    inside = np.linalg.inv(factor ** np.abs(places[:, None] - places[None, :]))
    line = np.column_stack([np.ones(count), places])
    inverse = np.linalg.inv(line.T @ inside @ line)
    found = inverse @ line.T @ inside @ held
    rest = held - line @ found
    return float(found[1]), float(np.sqrt(rest @ inside @ rest / (count - 2) * inverse[1, 1]))


def test_trend_of_independent_noise_is_the_least_squares_line() -> None:
    """Given residuals that alternate, the slope and its error are those of the ordinary least squares."""
    held = 3.0 * np.arange(1, PARTS + 1) + np.resize([1.0, -1.0], PARTS)
    (slope, _), covariance = np.polyfit(np.arange(PARTS), held, 1, cov=True)

    found = steady._trend(np.diff(held, prepend=0.0))

    assert found == pytest.approx((slope, math.sqrt(covariance[0, 0])))


def test_trend_of_correlated_noise_uses_the_corrected_factor() -> None:
    """Given residuals with an autocorrelation f below the limit, the model's factor is f + (2 + 4 f) / n."""
    held = next(one for one in (series(0.3, seed) for seed in range(100)) if 0.2 < raw_factor(one) < 0.4)
    factor = raw_factor(held)

    found = steady._trend(np.diff(held, prepend=0.0))

    assert found == pytest.approx(slope_with_error(held, factor + (2 + 4 * factor) / PARTS))


def test_factor_that_reaches_the_limit_by_its_correction_is_a_random_walk() -> None:
    """Given an autocorrelation of 0.53 to 0.59, the corrected factor exceeds 0.6, so the steps are independent."""
    held = next(one for one in (series(0.6, seed) for seed in range(200)) if 0.53 < raw_factor(one) < 0.59)
    steps = np.diff(held)

    found = steady._trend(np.diff(held, prepend=0.0))

    assert found == pytest.approx((steps.mean(), steps.std(ddof=1) / math.sqrt(PARTS - 1)))


def backlog_of(added: NDArray[np.int64], made: int = 1000) -> NDArray[np.int64]:
    """Return a level's time series with ``made`` flits generated in each part and a given growth of the backlog."""
    part = np.zeros((PARTS, 5), np.int64)
    part[:, MADE], part[:, RECEIVED] = made, made - added
    return part


def test_width_of_the_growth_is_2_024_standard_errors() -> None:
    """Given alternating growth, the half-width of the growth is Student's for 38 degrees of freedom."""
    added = 50 + np.resize([3, -3], PARTS)
    judged = judge_backlog(backlog_of(added), 1000 * PARTS)
    growth, error = steady._trend(added / 1000)

    assert judged.growth == pytest.approx(growth)
    assert judged.growth_ci95 == pytest.approx(2.024 * error)


@pytest.mark.parametrize(
    ("growth", "saturated", "decided"), [(0, False, True), (9, False, False), (10, True, True), (11, True, True)]
)
def test_saturation_begins_at_one_hundredth_of_the_offered_load(growth: int, *, saturated: bool, decided: bool) -> None:
    """Given constant growth without noise, a level is saturated from 1 % of the offered load on.

    Growth below 1 % is certain, so the level is not steady either.
    """
    judged = judge_backlog(backlog_of(np.full(PARTS, growth)), 1000 * PARTS)

    assert (judged.saturated, judged.decided) == (saturated, decided)


def test_growth_that_ends_is_slowing() -> None:
    """Given growth in the first 27 of 40 parts only, the backlog is slowing and the level is not saturated."""
    added = np.where(np.arange(PARTS) < PARTS - PARTS // 3 - 1, 100, 0)
    judged = judge_backlog(backlog_of(added), 1000 * PARTS)

    assert (judged.saturated, judged.decided, judged.is_slowing) == (False, False, True)


def test_noise_as_large_as_the_limit_is_undecided() -> None:
    """Given no growth and noise whose interval exceeds 1 % of the offered load, the verdict is open."""
    added = np.resize([800, 800, -800, -800], PARTS)
    judged = judge_backlog(backlog_of(added), 1000 * PARTS)

    assert judged.growth + judged.growth_ci95 > 10 / 1000 > judged.growth
    assert (judged.saturated, judged.decided) == (False, False)


def test_lost_packets_are_no_backlog() -> None:
    """Given losses equal to the growth, the level is steady."""
    part = backlog_of(np.full(PARTS, 100))
    part[:, LOST] = 100

    assert judge_backlog(part, 1000 * PARTS) == steady.Backlog(
        0.0, 0.0, saturated=False, decided=True, is_slowing=False
    )


@pytest.mark.parametrize(
    ("share", "rank"),
    [
        (0.05, 1),
        (0.1, 2),
        (0.101, 3),
        (0.25, 5),
        (0.5, 10),
        (0.501, 11),
        (0.95, 19),
        (0.951, 20),
        (0.99, 20),
        (1.0, 20),
    ],
)
def test_quantile_of_twenty_packets_is_a_rank(share: float, rank: int) -> None:
    """Given latencies 1 to 20, the quantile is the latency of rank ceil(20 x share)."""
    histogram = np.zeros(64, np.int64)
    histogram[1:21] = 1

    assert quantile(histogram, share, least=1, most=20) == rank


def test_quantile_is_in_the_bin_that_reaches_the_rank() -> None:
    """Given two packets of 5 cycles and two of 9, the median is 5."""
    histogram = np.zeros(64, np.int64)
    histogram[[5, 9]] = 2

    assert [quantile(histogram, share, least=4, most=10) for share in (0.5, 0.51, 0.75)] == [5, 9, 9]


def test_percentiles_have_their_names() -> None:
    """The share of a percentile is its name's number."""
    assert PERCENTILES == {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


LISTED = CbrList(
    source=np.array([4, 5, 6, 7]),
    target=np.array([1, 2, 3, 0]),
    sl=np.array([2, 2, 2, 3]),
    bytes=np.array([256, 512, 1024, 64]),
    interval=np.array([100.0, 200.0, 400.0, 800.0]),
    deadline=np.array([1000, 2000, 3000, 0]),
    row=np.array([8, 9, 10, 11]),
)


def counted() -> Meters:
    """Return meters with packets of three connections of SL 2 and one, without deadline, of SL 3.

    Of each three packets the first connection has one within D/50, one within D/20 and one late, the second two within
    D/50 and one within D, and the third one within D/50 and two within D/30.
    """
    meters = new_meters(first_cycle=0, end_cycle=1000, nics=8, connections=LISTED)
    each, within, jitter = meters.connections
    each["packets"], each["latency_sum"] = [3, 3, 3, 2], [3000, 4500, 6000, 70]
    each["max_latency"] = [1500, 2000, 90, 40]
    for connection, places in enumerate([(1, 3, len(FRACTIONS)), (1, 1, 10), (1, 2, 2)]):
        np.add.at(within[connection], list(places), 1)
    jitter[0, JITTERS.index(-0.125)], jitter[1, JITTERS.index(-0.125)] = 2, 1
    jitter[1, JITTERS.index(0.125)], jitter[3, JITTERS.index(-1.0)] = 1, 1
    meters.lateness[2, [5, 9, 767]] = [998, 1, 1]
    return meters


def test_connection_table_has_the_counts_of_each_connection() -> None:
    """Each row has its connection's ends, mean and longest latency, late packets and even arrivals.

    A connection without deadline has no count of late packets.
    """
    rows = connection_table(LISTED, counted()).rows()

    assert rows == [
        (8, 4, 1, 2, 256, 100.0, 1000, 3, 1000.0, 1500, 1, 2),
        (9, 5, 2, 2, 512, 200.0, 2000, 3, 1500.0, 2000, 0, 1),
        (10, 6, 3, 2, 1024, 400.0, 3000, 3, 2000.0, 90, 0, 0),
        (11, 7, 0, 3, 64, 800.0, None, 2, 35.0, 40, None, 0),
    ]


def test_connection_without_packets_has_no_latency() -> None:
    """A connection without measured packets has neither mean nor longest latency."""
    meters = counted()
    meters.connections.each["packets"] = 0

    assert connection_table(LISTED, meters).select("latency_mean_cycles", "latency_max_cycles").rows() == [
        (None, None)
    ] * len(LISTED.row)


def test_deadlines_of_a_level_are_those_of_its_packets() -> None:
    """Shares of the nine packets of SL 2, best and worst connection, jitter and the 99.9 % quantile are exact.

    The ranks compare packets within D/50, the smallest fraction that any packet met.
    """
    (found,) = deadlines_of(LISTED, counted())

    within = dict(zip(FRACTION_WORDS, found.within, strict=True))
    assert (found.sl, found.connections, found.packets) == (2, 3, 9)
    assert [within[word] for word in ("D/100", "D/50", "D/30", "D/20", "3D/4", "D")] == pytest.approx(
        [0, 4 / 9, 6 / 9, 7 / 9, 7 / 9, 8 / 9]
    )
    assert found.best == pytest.approx([0, *[2 / 3] * 9, 1])
    assert found.worst == pytest.approx([0, 1 / 3, 1 / 3, *[2 / 3] * 8])
    assert found.largest == pytest.approx(1.5)
    assert found.p999 == pytest.approx(10 / RATIOS)
    assert found.jitter == pytest.approx([0, 0, 0, 0, 3 / 4, 1 / 4, 0, 0, 0, 0])


@pytest.mark.parametrize(("last", "expected"), [(600, 601 / RATIOS), (767, 1.5), (2 * RATIOS, None)])
def test_quantile_beyond_twice_the_deadline_is_not_reported(last: int, expected: float | None) -> None:
    """The 99.9 % quantile is at most the largest ratio, and null if it lies in the open last bin."""
    meters = counted()
    meters.lateness[2] = 0
    meters.lateness[2, [5, last]] = 1, 999

    (found,) = deadlines_of(LISTED, meters)

    assert found.p999 == (None if expected is None else pytest.approx(expected))
