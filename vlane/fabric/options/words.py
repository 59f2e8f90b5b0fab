"""Data of OpenSM's options: names with defaults, and the sentences of all findings about options and tables.

``vlane vlarb explain``, ``vlane fabric check`` and the page in the browser (``docs/arbiter_page.md``) use this data.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self

from vlane.schedulers.vlarb import MAX_ENTRIES
from vlane.tables.sl2vl import SL_COUNT

PREFIXES = ("qos_", "qos_ca_", "qos_swe_", "qos_rtr_", "qos_sw0_")
"""Prefixes of options: general, adapters, external ports of switches, routers, port 0 of switches."""
GENERAL, ADAPTERS, SWITCHES, ROUTERS = range(4)
"""Places of ``PREFIXES``, the kinds of port."""
NAMES = ("max_vls", "high_limit", "vlarb_high", "vlarb_low", "sl2vl")
MAX_VLS, HIGH_LIMIT, VLARB_HIGH, VLARB_LOW, SL2VL = range(5)
"""Places of ``NAMES``. The number of a name with a prefix is the place of the prefix times 5 plus this place."""
DEFAULTS = {
    "max_vls": "15",
    "vlarb_high": ",".join(f"{vl}:{4 if vl == 0 else 0}" for vl in range(15)),
    "vlarb_low": ",".join(f"{vl}:{0 if vl == 0 else 4}" for vl in range(15)),
    "sl2vl": ",".join(map(str, (*range(15), 7))),
}
NOT_SET = "(null)"
"""Value of an unset text option."""
QOS, MAX_OP_VLS = 25, 26
"""Numbers of the options ``qos`` and ``max_op_vls``."""
TABLE_NAMES = ("limit", "high", "low", "sl2vl")
"""Names of a table without options, in the order of ``NAMES``."""
_CONGESTION_NAMES = (
    "cc_key",
    "cc_max_outstanding_mads",
    "cc_cct",
    *(
        f"cc_sw_cong_setting_{name}"
        for name in (
            "control_map",
            "victim_mask",
            "credit_mask",
            "threshold",
            "packet_size",
            "credit_starvation_threshold",
            "credit_starvation_return_delay",
            "marking_rate",
        )
    ),
    *(
        f"cc_ca_cong_setting_{name}"
        for name in ("port_control", "control_map", "ccti_timer", "ccti_increase", "trigger_threshold", "ccti_min")
    ),
)
_KNOWN = (
    *(prefix + name for prefix in PREFIXES for name in NAMES),
    "qos",
    "max_op_vls",
    "qos_policy_file",
    *_CONGESTION_NAMES,
)
FIRST_TABLE_NAME = len(_KNOWN)
"""Number of the first of ``TABLE_NAMES``."""


def _preamble() -> bytes:
    values = {f"qos_{name}": value for name, value in DEFAULTS.items()}
    lines = [f"{name} {values.get(name, NOT_SET)}" for name in _KNOWN]
    return "".join(f"{line}\n" for line in (*lines, *TABLE_NAMES)).encode()


PREAMBLE = _preamble()
"""Text with a line for each known name and OpenSM's default. The names of a table have empty values."""


class Phrase(IntEnum):
    """Sentences of findings, and parts of sentences.

    A sentence has the code of its finding and a text, with ``{}`` for each number or quoted text. A part has no code.
    """

    code: str
    text: str

    def __new__(cls, code: str, text: str) -> Self:
        """Return the next number, with the code and the text."""
        made = int.__new__(cls, len(cls.__members__))
        made._value_, made.code, made.text = len(cls.__members__), code, text
        return made

    UNKNOWN = ("OPTION_UNKNOWN", "OpenSM does not know this option and ignores the line")
    IGNORED = ("OPTION_IGNORED", "{} is not a number, 0 to {}: OpenSM ignores the line")
    CUT = ("OPTION_CUT", "OpenSM reads 1022 characters of a line and parses the rest as another line")
    QOS_OFF = ("QOS_OFF", "qos is not TRUE: OpenSM programs none of these tables")
    LIMIT_REFUSED = ("LIMIT_REPLACED", "limit {} is not 0 to 255: OpenSM programs {}")
    LIMIT_MISREAD = ("LIMIT_REPLACED", "limit {} is not a number: OpenSM reads {} without a warning")
    BAD_ENTRY = ("ENTRY_MALFORMED", "{} is not VL:weight: OpenSM reads the list as ")
    BAD_LANE = ("ENTRY_MALFORMED", "{} is not a lane: OpenSM reads the list as ")
    EMPTY_PART = ("ENTRY_MALFORMED", "the list has an empty part: OpenSM reads the list as ")
    SHORT_ROW = ("SL2VL_SHORT", f"{{}} of {SL_COUNT} lanes given: the other SLs take VL 0")
    LONG_ROW = ("ENTRIES_DROPPED", f"{{}} lanes are given, but there are {SL_COUNT} SLs: OpenSM drops the rest")
    MASKED = ("VL_MASKED", "entry {}: VL {} becomes VL {} on ports with {} data lanes")
    WRAPPED = ("WEIGHT_WRAPPED", "entry {}: VL {} weight {} becomes {}")
    DROPPED = ("ENTRIES_DROPPED", f"{{}} entries are configured, but ports hold at most {MAX_ENTRIES}")
    ROW_MASKED = ("SL2VL_MASKED", "ports with {} data lanes: ")
    ROW_MASKED_LANE = ("", "SL {} maps to VL {} instead of VL {}")
    MORE = ("", " and {} more")
    STARVATION = ("STARVATION", "LimitOfHighPriority 255 is unbounded: ")
    VL = ("", "VL ")
    OF_LOW = ("", " of the low list")
    LOW_LIST = ("", "the low list")
    MAY_STARVE = ("", " may starve behind VL ")
    OF_HIGH = ("", " of the high list")
    WEIGHTS = ("WEIGHT_BELOW_MTU", "packets of {} bytes are {} blocks, and weights are rounded up to whole packets: ")
    IN_HIGH = ("", "in the high list ")
    IN_LOW = ("", "in the low list ")
    LANE_GETS = ("", "VL {} gets {} % (configured: {} %)")
    EXACT = ("", " gives the configured shares")
    NO_NEARER = ("", "no weights up to 255, with one entry for each lane, are nearer to the configured shares")
    NEAREST = ("", "no weights up to 255, with one entry for each lane, give these shares; the nearest are ")


PHRASES = "".join(f"{each.text}\0" for each in Phrase).encode()
"""Texts of all sentences in the order of their numbers, each followed by a zero byte."""
