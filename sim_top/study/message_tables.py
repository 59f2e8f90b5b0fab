"""Results of messages: one row per traffic class, for messages generated and received in the measurement window."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields

import polars as pl

from vlane.golden.network.message_meters import BYTES, COUNT, LATENCY, LONGEST, SHORTEST, MessageMeters
from vlane.sim_top.study.latencies import PERCENTILES, quantile
from vlane.study.study import Study


@dataclass(frozen=True)
class OfMessages:
    """Messages of a traffic class, from their generation to the last flit of their last packet.

    Parameters
    ----------
    traffic : int
        Number of the class in the study, from 0.
    kind : str
        ``message``; or ``request``, ``reply`` and ``round trip``, from the generation of a request to its reply.
    sl : int or None
        Service level; ``None`` for the SL of the path.
    messages : int
        Number of messages.
    bytes : int
        Sum of the messages' payloads.
    latency_mean_cycles, latency_p50_cycles, latency_p95_cycles, latency_p99_cycles, latency_p999_cycles : float or None
        Mean and percentiles of the latency, percentiles to 1.6 %; ``None`` without messages and on saturated levels.
    latency_min_cycles, latency_max_cycles : int or None
        Shortest and longest latency.
    """

    traffic: int
    kind: str
    sl: int | None
    messages: int
    bytes: int
    latency_mean_cycles: float | None
    latency_min_cycles: int | None
    latency_p50_cycles: float | None
    latency_p95_cycles: float | None
    latency_p99_cycles: float | None
    latency_p999_cycles: float | None
    latency_max_cycles: int | None


def messages_of(study: Study, meters: MessageMeters, saturated: Collection[int]) -> list[OfMessages]:
    """Return the results of each class that sends messages. Latencies of the given saturated SLs are ``None``."""
    queues = len(meters.total) // 2
    answer = queues - sum(each.reply is not None for each in study.traffic)
    made = []
    for number, each in enumerate(study.traffic):
        if not each.in_messages:
            continue
        made.append(_of_row(meters, number, "request" if each.reply else "message", number, each.sl, saturated))
        if each.reply is not None:
            made.append(_of_row(meters, number, "reply", answer, each.reply_sl, saturated))
            made.append(_of_row(meters, number, "round trip", queues + answer, each.reply_sl, saturated))
            answer += 1
    return made


def _of_row(
    meters: MessageMeters, traffic: int, kind: str, row: int, level: int | str, saturated: Collection[int]
) -> OfMessages:
    sl = level if isinstance(level, int) else None
    total, histogram = meters.total[row].tolist(), meters.histogram[row]
    count, least, most = total[COUNT], total[SHORTEST], total[LONGEST]
    if not count or sl in saturated:
        return OfMessages(traffic, kind, sl, count, total[BYTES], *[None] * 7)
    p50, p95, p99, p999 = (quantile(histogram, share, least=least, most=most) for share in PERCENTILES.values())
    mean = total[LATENCY] / count
    return OfMessages(traffic, kind, sl, count, total[BYTES], mean, least, p50, p95, p99, p999, most)


_TYPES = {"int": pl.Int64, "str": pl.String, "float": pl.Float64}


def message_table(made: list[OfMessages]) -> pl.DataFrame:
    """Return one row for each class and kind of message, with the fields of ``OfMessages`` as columns."""
    schema = {each.name: _TYPES[str(each.type).removesuffix(" | None")] for each in fields(OfMessages)}
    return pl.DataFrame([asdict(each) for each in made], schema=schema)
