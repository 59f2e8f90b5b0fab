"""Oracle constructors by block name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from vlane.buffers.vlbuffer import VLBufferParameters
from vlane.congestion.cc_marker import CCMarkerParameters
from vlane.congestion.cc_source import CCSourceParameters
from vlane.credits.credit_ib import CreditIBParameters
from vlane.credits.credit_opa import CreditOPAParameters
from vlane.ethernet.e2cm_prober import E2CMProberParameters
from vlane.ethernet.ecm_cp import ECMCPParameters
from vlane.ethernet.ecm_rp import ECMRPParameters
from vlane.ethernet.pause import PauseParameters
from vlane.golden.oracle.buffer import buffer_oracle
from vlane.golden.oracle.congestion import cc_marker_oracle, cc_source_oracle
from vlane.golden.oracle.credits import credit_ib_oracle, credit_opa_oracle
from vlane.golden.oracle.egress import scheduler_oracle
from vlane.golden.oracle.ethernet import e2cm_prober_oracle, ecm_cp_oracle, ecm_rp_oracle, pause_oracle
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.switch_oracles import switch_oracle
from vlane.golden.oracle.tables import lft_oracle, sc_oracle, sl2vl_oracle
from vlane.parameters import Parameters
from vlane.schedulers.registry import SCHEDULERS
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.switches.opa_switch import OPASwitchParameters
from vlane.tables.lft import LFTParameters
from vlane.tables.sc import SCParameters
from vlane.tables.sl2vl import SL2VLParameters

ORACLES: dict[str, tuple[type[Parameters], Callable[[Any], Oracle]]] = {
    **{name: (each.parameters, partial(scheduler_oracle, name)) for name, each in SCHEDULERS.items()},
    "sl2vl": (SL2VLParameters, sl2vl_oracle),
    "sc": (SCParameters, sc_oracle),
    "credit_ib": (CreditIBParameters, credit_ib_oracle),
    "credit_opa": (CreditOPAParameters, credit_opa_oracle),
    "cc_marker": (CCMarkerParameters, cc_marker_oracle),
    "cc_source": (CCSourceParameters, cc_source_oracle),
    "pause": (PauseParameters, pause_oracle),
    "ecm_cp": (ECMCPParameters, ecm_cp_oracle),
    "ecm_rp": (ECMRPParameters, ecm_rp_oracle),
    "e2cm_prober": (E2CMProberParameters, e2cm_prober_oracle),
    "vlbuffer": (VLBufferParameters, buffer_oracle),
    "lft": (LFTParameters, lft_oracle),
    "opa_switch": (OPASwitchParameters, switch_oracle),
    "ib_switch": (IBSwitchParameters, switch_oracle),
}
"""Parameter type and oracle constructor of each block, by name."""
