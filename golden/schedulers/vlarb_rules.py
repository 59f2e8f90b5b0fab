"""Rules of the VL arbiter that a run can count, with the table conditions under which each can occur.

The ids are those of ``docs/vlarb.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlane.golden.engine.rule import Rule
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED

if TYPE_CHECKING:
    from vlane.schedulers.vlarb import VLArbEntry, VLArbTable

RULES = (
    Rule("entry_expired_exactly", "VLA-2", "a packet used an entry's weight to exactly 0"),
    Rule("entry_overshot", "VLA-2", "the last packet of an entry exceeded the remaining weight"),
    Rule("remainder_forfeited", "VLA-3", "another entry was granted while the current entry had weight left"),
    Rule("remainder_kept", "VLA-3", "no other entry of the list could send: the current entry kept its weight"),
    Rule("wrapped_to_itself", "VLA-4", "the search returned to the same entry: its full weight was loaded"),
    Rule("entry_continued", "VLA-5", "the current entry sent with its remaining weight"),
    Rule("list_resumed", "VLA-6", "a list resumed at its entry after the other list had sent"),
    Rule("expired_but_low_empty", "VLA-7", "the limit had expired and Low could not send: reloaded, High sent at once"),
    Rule("limit_expired_exactly", "VLA-8", "a high packet used the limit to exactly 0"),
    Rule("limit_overshot", "VLA-8", "a high packet exceeded the rest of the limit"),
    Rule("limit_zero", "VLA-9", "limit 0 expired after one high packet"),
    Rule("bad_entry_skipped", "VLA-10", "the search skipped an entry that names VL15 or an absent lane"),
    Rule("unserved_stalled", "VLA-11", "lanes could send, but no entry names any of them: no packet was sent"),
    Rule("swapped", "VLA-12", "the shadow table became active"),
    Rule("held", "VLA-14", "a due flow-control packet held data lanes back"),
    Rule("reloaded_on_high_empty", "VLA-15", "High could not send: the used limit was reloaded"),
    Rule("vl15_changes_nothing", "VLA-15", "VL15 sent before a data lane that could send"),
    Rule("vl15_under_hold", "VLA-15", "VL15 sent while a flow-control packet was due"),
    Rule("swap_with_grant", "VLA-16", "tables were swapped in a cycle whose grant used the old table"),
    Rule("swap_waited", "VLA-16", "a swap waited for a ready cycle"),
    Rule("zero_weight_skipped", "VLA-10", "the search skipped an entry of weight 0 whose lane could send"),
    Rule("high_before_low", "VLA-18", "High sent although Low could"),
    Rule("low_after_expiry", "VLA-18", "the limit had expired: Low sent although High could"),
    Rule("low_alone", "VLA-18", "High could not send: Low sent"),
    Rule("limit_unbounded", "VLA-15", "limit 255: High sent although Low could"),
    Rule("limit_near_most", "VLA-8", "limit 254: High sent and was counted"),
    Rule("limit_one", "VLA-8", "limit 1: High sent and was counted"),
    Rule("no_credit", "VLA-19", "a lane had a packet but no credit for it"),
    Rule("idle", "VLA-15", "no lane could send"),
)

(
    ENTRY_EXPIRED_EXACTLY,
    ENTRY_OVERSHOT,
    REMAINDER_FORFEITED,
    REMAINDER_KEPT,
    WRAPPED_TO_ITSELF,
    ENTRY_CONTINUED,
    LIST_RESUMED,
    EXPIRED_BUT_LOW_EMPTY,
    LIMIT_EXPIRED_EXACTLY,
    LIMIT_OVERSHOT,
    LIMIT_ZERO,
    BAD_ENTRY_SKIPPED,
    UNSERVED_STALLED,
    SWAPPED,
    HELD,
    RELOADED_ON_HIGH_EMPTY,
    VL15_CHANGES_NOTHING,
    VL15_UNDER_HOLD,
    SWAP_WITH_GRANT,
    SWAP_WAITED,
    ZERO_WEIGHT_SKIPPED,
    HIGH_BEFORE_LOW,
    LOW_AFTER_EXPIRY,
    LOW_ALONE,
    LIMIT_UNBOUNDED_USED,
    LIMIT_NEAR_MOST,
    LIMIT_ONE,
    NO_CREDIT,
    IDLE,
) = range(len(RULES))


def applicable_rules(table: VLArbTable, *, data_vls: int, has_vl15: bool) -> frozenset[str]:
    """Return the names of the rules that traffic through this table can trigger.

    Traffic includes packets of 1 to 66 blocks and swaps of the table for itself. Rules that only weight left over
    from a swap can trigger are excluded.
    """
    limit = table.limit_of_high_priority
    high, low = _serving(table.high, data_vls), _serving(table.low, data_vls)
    counted = bool(high) and limit != LIMIT_UNBOUNDED
    high_vls, low_vls = ({e.vl for e in entries} for entries in (high, low))
    # With an unbounded limit, Low sends only while no lane of High can send.
    low_used = low if counted else [e for e in low if e.vl not in high_vls]
    either = bool(high or low_used)
    used = [entries for entries in (high, low_used) if entries]
    heavy = any(e.weight > 1 for entries in used for e in entries)
    sources = [table.high] * bool(high) + [table.low] * bool(low_used)
    conditions = {
        "entry_expired_exactly": either,
        "entry_overshot": either,
        "remainder_forfeited": any(_moves_on(entries) for entries in used),
        "remainder_kept": heavy,
        "wrapped_to_itself": any(_has_single(entries) for entries in used),
        "entry_continued": heavy,
        "list_resumed": len(used) == 2 and heavy,
        "expired_but_low_empty": counted and bool(high_vls - low_vls),
        "limit_expired_exactly": counted,
        "limit_overshot": counted,
        "limit_zero": counted and limit == 0,
        "bad_entry_skipped": any(_passes_bad(entries, data_vls) for entries in sources),
        "unserved_stalled": len(table.served_vls(data_vls)) < data_vls,
        "reloaded_on_high_empty": counted,
        "vl15_changes_nothing": has_vl15,
        "vl15_under_hold": has_vl15,
        "swap_with_grant": either,
        "zero_weight_skipped": any(_passes_zero(entries, data_vls) for entries in sources),
        "high_before_low": bool(high) and bool(low),
        "low_after_expiry": counted and bool(low),
        "low_alone": bool(low_vls - high_vls),
        "limit_unbounded": bool(high) and bool(low) and limit == LIMIT_UNBOUNDED,
        "limit_near_most": bool(high) and limit == LIMIT_UNBOUNDED - 1,
        "limit_one": bool(high) and limit == 1,
    }
    always = {"swapped", "swap_waited", "held", "no_credit", "idle"}
    return frozenset(always | {name for name, holds in conditions.items() if holds})


def _serving(entries: tuple[VLArbEntry, ...], data_vls: int) -> list[VLArbEntry]:
    return [e for e in entries if e.weight and e.vl < data_vls]


def _moves_on(entries: list[VLArbEntry]) -> bool:
    return len({e.vl for e in entries}) > 1 and any(e.weight > 1 for e in entries)


def _has_single(entries: list[VLArbEntry]) -> bool:
    """Return whether some lane has only one entry. If no other lane can send, the search returns to that entry."""
    vls = [e.vl for e in entries]
    return any(vls.count(vl) == 1 for vl in vls)


def _passes_bad(entries: tuple[VLArbEntry, ...], data_vls: int) -> bool:
    return any(e.vl >= data_vls for e in entries) and bool(_serving(entries, data_vls))


def _passes_zero(entries: tuple[VLArbEntry, ...], data_vls: int) -> bool:
    """Return whether a search can skip an entry of weight 0 whose lane can send."""
    return any(e.vl < data_vls and not e.weight for e in entries) and bool(_serving(entries, data_vls))
