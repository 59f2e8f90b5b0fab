"""A finding of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vlane.fabric.model import Port

__all__ = ["ABOUT_CAPTURE", "CODES", "ERRORS", "NOTES", "Finding"]

CODES = {
    "CREDIT_LOOP": "links wait for each other's buffers: the fabric can deadlock",
    "UNREACHABLE": "packets of a pair of adapters do not arrive",
    "VL_UNSERVED": "packets wait forever in a lane without a weighted arbitration entry",
    "NOT_CHECKED": "a file or a part of a file is missing: some findings are not checked, or rest on an assumption",
    "UNREADABLE": "a part of a file is unreadable and left out",
    "BLOCK_REPLACED": "a file describes an element twice: the later block is used",
    "PART_SKIPPED": "a file contains tables that the check does not use",
    "TOOL_DIAGNOSTIC": "a tool reported a problem while it wrote a file",
    "STARVATION": "LimitOfHighPriority 255: the low list may never be served",
    "WEIGHT_BELOW_MTU": "weights rounded up to whole packets change the shares of the lanes",
    "VL_MASKED": "a configured lane does not exist: OpenSM masked the lane to another lane",
    "WEIGHT_WRAPPED": "a weight outside 0 to 255: OpenSM programmed it modulo 256",
    "ENTRIES_DROPPED": "more entries than the port holds, or more lanes than SLs: OpenSM drops the rest",
    "LIMIT_REPLACED": "a limit outside 0 to 255: OpenSM used the general limit, or 0",
    "ENTRY_MALFORMED": "an entry is not VL:weight: OpenSM's parser read other numbers",
    "SL2VL_SHORT": "fewer than 16 lanes in an sl2vl option: the other SLs take VL 0",
    "SL2VL_MASKED": "a lane of an sl2vl option does not exist: OpenSM masked the lane to another lane",
    "MAX_VLS_IGNORED": "qos_max_vls has no effect; max_op_vls limits lanes",
    "MAX_OP_VLS_EXCEEDED": "a port runs more lanes than max_op_vls allows",
    "OPER_VLS_EXCEEDED": "programmed tables name lanes beyond OperVLs: another sweep would change the tables",
    "VLARB_NARROWED": "torus-2QoS keeps two lanes only towards adapters",
    "VLARB_DIFFERS": "programmed lists differ from the lists that OpenSM makes of the configuration",
    "SL2VL_DIFFERS": "programmed SL2VL rows differ from the rows that OpenSM makes of the configuration",
    "LIMIT_DIFFERS": "a port's LimitOfHighPriority differs from the limit that OpenSM makes of the configuration",
    "OPTION_UNKNOWN": "OpenSM does not know an option: the line has no effect",
    "OPTION_CUT": "a line is longer than OpenSM's buffer",
    "OPTION_IGNORED": "OpenSM cannot parse a value and keeps the previous value or the default",
    "QOS_OFF": "qos is not TRUE: none of the QoS options has an effect",
    "CC_OFF": "congestion_control is not TRUE: none of the cc_ options has an effect",
    "CC_NOTHING_MARKS": "switches mark no packet: Threshold 0, or not sent",
    "CC_NO_GAP": "no CCT, or one of zeros: adapters slow no flow",
    "CC_MASK_EMPTY": "Victim_Mask is sent and has no cabled port of any switch",
    "CC_NO_SL": "congestion control is set for no SL",
    "CC_TIMER_0": "an SL has a CCTI_Increase without a CCTI_Timer",
    "CC_CCT_SHORT": "a CCTI beyond the last entry of the CCT",
    "ROUTING_FALLBACK": "the routing engine may fall back to min-hop, which can have credit loops",
}
"""All codes of findings; they are stable."""

ERRORS = frozenset({"CREDIT_LOOP", "UNREACHABLE", "VL_UNSERVED"})
"""Codes that make the check fail."""

NOTES = frozenset({"VLARB_NARROWED", "PART_SKIPPED", "TOOL_DIAGNOSTIC"})
"""Codes of informative findings, and of effects intended by the subnet manager."""

ABOUT_CAPTURE = frozenset({"NOT_CHECKED", "UNREADABLE", "BLOCK_REPLACED", "PART_SKIPPED", "TOOL_DIAGNOSTIC"})
"""Codes of findings about the capture instead of the fabric."""


class Finding(NamedTuple):
    """A finding of a check.

    Parameters
    ----------
    code : str
        One of ``CODES``.
    where : str
        The port, pair, option or file, as text.
    message : str
        Description of the fault.
    ports : tuple of Port
        All affected ports; the text names only the first port.
    pair : (int, int) or None
        SLID and DLID of the first affected pair.
    """

    code: str
    where: str
    message: str
    ports: tuple[Port, ...] = ()
    pair: tuple[int, int] | None = None

    @property
    def severity(self) -> str:
        """``error`` makes the check fail, ``warning`` only a strict check, ``note`` neither."""
        return "error" if self.code in ERRORS else "note" if self.code in NOTES else "warning"
