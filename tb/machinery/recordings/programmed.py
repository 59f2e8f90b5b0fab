"""Stimuli for blocks behind a bus: tables are written, the block idles for a while, then traffic begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vlane.schedulers.registry import SCHEDULERS
from vlane.tb.by_name import stimulus
from vlane.tb.congestion.cc_marker.stimulus import CERTAIN as EACH
from vlane.tb.congestion.cc_marker.stimulus import CCMarkerPort, MarkerPhase
from vlane.tb.congestion.cc_source.stimulus import CCSourceNIC, SourcePhase
from vlane.tb.credits.credit_opa.phases import CERTAIN as ALWAYS
from vlane.tb.credits.credit_opa.phases import SharedPhase
from vlane.tb.credits.credit_opa.stimulus import CreditOPALink
from vlane.tb.ethernet.e2cm_prober.stimulus import E2CMProberSource, ProberPhase
from vlane.tb.ethernet.pause.stimulus import PauseInput, PausePhase
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.schedulers.traffic import Phase
from vlane.tb.switches.ib_switch.stimulus import IBSwitchTraffic
from vlane.tb.switches.opa_switch.stimulus import OPASwitchTraffic
from vlane.tb.switches.phases_switch import CERTAIN, SwitchPhase
from vlane.tb.tables.stimulus_tables import LookupPhase

_EMPTY = 62
"""Exponent of the probability that an empty lane gets a packet, 2**-62 per cycle: it stays empty."""
_LOOKUP_WRITES = 256
_SETTING_WRITES = 16


def programmed_traffic(
    block: str, parameters: Mapping[str, Any], *, settle: int, cycles: int, seed: int, inputs: Any, outputs: Any
) -> Stimulus:
    """Return a stimulus of ``settle`` cycles of programming and ``cycles`` cycles of traffic.

    During programming the block's tables are written through its program ports from the first cycle on, and nothing
    else changes its state. During traffic nothing is written, and there is no reset before the last cycle.
    """
    return _MAKERS[block](parameters, settle, cycles, seed=seed, inputs=inputs, outputs=outputs)


def _traffic(settle: int, cycles: int) -> tuple[Phase, Phase, Phase]:
    half = cycles // 2
    return (
        Phase(settle, 0, idle_bits=_EMPTY),
        Phase(half, idle_bits=1, extremes=64, hold=8, stall=16, ready=200, vl15=4),
        Phase(cycles - half, idle_bits=0, most_blocks=8, stall=16, vl15=2),
    )


def _scheduler(name: str) -> Callable[..., Stimulus]:
    def make(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
        qualified: Callable[..., Stimulus] = stimulus(name).qualified
        return qualified(parameters, cycles=settle + cycles, phases=_traffic(settle, cycles), **given)

    return make


def _table(name: str) -> Callable[..., Stimulus]:
    def make(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
        writes = min(_LOOKUP_WRITES, settle)
        phases = (LookupPhase(writes, 256), LookupPhase(settle - writes, 0), LookupPhase(cycles, 0))
        qualified: Callable[..., Stimulus] = stimulus(name).qualified
        return qualified(parameters, cycles=settle + cycles, phases=phases, **given)

    return make


def _credit_opa(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
    phases = (SharedPhase(settle, send=0, free=0, ltp=0), SharedPhase(cycles, free=3 * ALWAYS // 4, most_blocks=20))
    return CreditOPALink(parameters, phases=phases, **given)


def _cc_marker(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
    writes = min(_SETTING_WRITES, settle)
    quiet: dict[str, Any] = {"ask": 0, "fit": 0, "start": 0, "stall": EACH, "measure": 0}
    phases = (
        MarkerPhase(writes, write=EACH, **quiet),
        MarkerPhase(settle - writes, **quiet),
        MarkerPhase(cycles, ask=15 * EACH // 16, fit=15 * EACH // 16),
    )
    return CCMarkerPort(parameters, phases=phases, **given)


def _cc_source(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
    phases = (SourcePhase(settle, ask=0), SourcePhase(cycles, becn=EACH // 8))
    return CCSourceNIC(parameters, phases=phases, **given)


def _pause(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
    writes = min(_SETTING_WRITES, settle)
    quiet: dict[str, Any] = {"arrive": 0, "leave": 0, "say": 0}
    phases = (PausePhase(writes, write=EACH, **quiet), PausePhase(settle - writes, **quiet), PausePhase(cycles))
    return PauseInput(parameters, phases=phases, **given)


def _e2cm_prober(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
    writes = min(_LOOKUP_WRITES, settle)
    quiet = ProberPhase(settle - writes, order=0, write=0)
    phases = (ProberPhase(writes, order=0, write=EACH), quiet, ProberPhase(cycles, write=0))
    return E2CMProberSource(parameters, phases=phases, **given)


def _switch(traffic: Callable[..., Stimulus]) -> Callable[..., Stimulus]:
    def make(parameters: Mapping[str, Any], settle: int, cycles: int, **given: Any) -> Stimulus:
        phase = SwitchPhase(
            settle + cycles,
            send=CERTAIN // 2,
            receive=CERTAIN // 2,
            most_blocks=parameters["largest"],
            bad=CERTAIN // 32,
            stall=CERTAIN // 64,
            settle=settle,
        )
        return traffic(parameters, phases=(phase,), **given)

    return make


_MAKERS: dict[str, Callable[..., Stimulus]] = {
    **{name: _scheduler(name) for name in SCHEDULERS},
    "sl2vl": _table("sl2vl"),
    "sc": _table("sc"),
    "lft": _table("lft"),
    "credit_opa": _credit_opa,
    "cc_marker": _cc_marker,
    "cc_source": _cc_source,
    "pause": _pause,
    "e2cm_prober": _e2cm_prober,
    "ib_switch": _switch(IBSwitchTraffic),
    "opa_switch": _switch(OPASwitchTraffic),
}
