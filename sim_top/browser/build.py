"""Building of ``arbiter.html``: one file with the translated functions, the data of vlane's rules and the page."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import vlane
from vlane.documents.files import write_whole
from vlane.fabric.options.rules import OP_VLS
from vlane.fabric.options.words import ADAPTERS, PREAMBLE, ROUTERS, SWITCHES, Phrase
from vlane.golden.schedulers.by_name import module_of
from vlane.rates import DEFAULT_RATE, NAMED_RATES
from vlane.schedulers.registry import IB_ARBITER, SCHEDULERS
from vlane.sim_top.browser import memory
from vlane.sim_top.browser.wasm import Module, compile_module
from vlane.sim_top.fabric import vlarb_words
from vlane.sim_top.fabric.vlarb_explained import ASSUMED_MTU
from vlane.units import MTUS, mtu_blocks

FILE = "arbiter.html"
_PAGE = Path(__file__).with_name("page")
_KINDS = ((SWITCHES, "switch, external ports"), (ADAPTERS, "adapter"), (ROUTERS, "router"))
_FACTS = (
    "HAS_NAMES",
    "LIMIT_FROM",
    "LIMIT_TO",
    "LIMIT_LINE",
    "LIMIT",
    "WEIGHT_LISTS",
    "HIGH_LINE",
    "HIGH_FROM",
    "HIGH_TO",
    "LOW_LINE",
    "LOW_FROM",
    "LOW_TO",
    "DATA_VLS",
    "HIGH_COUNT",
    "LOW_COUNT",
    "IS_TABLE",
)
_SHOWN = ("SOURCE", "READY", "BUSY")
_REGISTERS = {
    "bank": "BANK",
    "swapPending": "SWAP_PENDING",
    "counter": "COUNTER",
    "pointerHigh": "POINTER_HIGH",
    "pointerLow": "POINTER_LOW",
    "remainingHigh": "REMAINING_HIGH",
    "remainingLow": "REMAINING_LOW",
}
"""Registers of the arbiter that the page shows, with their names in golden's model."""
_TERMS = (
    "Entry: a lane and a weight in units of 64 "
    "bytes in one of two lists. The high list sends first, until LimitOfHighPriority times 4096 bytes are sent. Then "
    "one packet of the low list follows. Limit 0 allows one packet of the high list; 255 has no limit. A packet is "
    "never cut, so an entry with a weight below the size of a packet sends a whole packet."
)
_EXAMPLES = (
    (
        "Weights below a packet",
        "0,1,2,3",
        (
            "# Four levels in four lanes, with weights from 4 to 255\n"
            "qos TRUE\nmax_op_vls 3\nqos_high_limit 0\nqos_vlarb_high 0:0\n"
            "qos_vlarb_low 0:4,1:8,2:16,3:255\nqos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3\n"
        ),
    ),
    (
        "A starving lane",
        "0,1,2",
        (
            "# High traffic in VL 0 without a limit\n"
            "qos TRUE\nqos_high_limit 255\nqos_vlarb_high 0:64\nqos_vlarb_low 1:64,2:128\n"
            "qos_sl2vl 0,1,2,15,15,15,15,15,15,15,15,15,15,15,15,15\n"
        ),
    ),
    (
        "Slips in opensm.conf",
        "0,1,2,3",
        (
            "qos TRUE\nmax_op_vls 4\nqos_high_limt 4\nqos_high_limit 300\nqos_swe_high_limit four\n"
            "qos_vlarb_high 0:64,,1:32\nqos_vlarb_low 1:64,9:300 ,3:16\nqos_sl2vl 0,1,2,9\n"
        ),
    ),
    ("OpenSM's defaults", "0,1,2,3", "qos TRUE\n"),
    ("A table without options", "0,1,2", "high 0:32\nlow 1:64,2:192\nlimit 2\nsl2vl 0,1,2\n"),
)
"""Examples: title, levels with traffic, text."""


def write_page(folder: Path) -> Path:
    """Write ``arbiter.html`` into a folder, and return it.

    Raises
    ------
    InputError
        If the file cannot be written.
    MissingExtraError
        If the package ``ziglang`` is not installed.
    """
    text = page_text(compile_module())
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, text, option="--out")
    return folder / FILE


def page_text(module: Module) -> str:
    """Return the page with a compiled module."""
    parts = {name: (_PAGE / name).read_text() for name in ("page.html", "page.css", "core.js", "page.js")}
    data = json.dumps(page_data(module), separators=(",", ":")).replace("<", "\\u003c")
    script = parts["page.js"].replace("/*DATA*/null", data)
    text = parts["page.html"]
    for mark, part in (("/*CSS*/", parts["page.css"]), ("/*CORE*/", parts["core.js"]), ("/*PAGE*/", script)):
        text = text.replace(mark, part)
    return text


def page_data(module: Module) -> dict[str, Any]:
    """Return the data of the page: module, places of its arrays, and the names, values and sentences of vlane."""
    names = ("starved", "endless", "bounded", "dropped", "unserved", "gets", "turns", "meaning", "together")
    words: dict[str, Any] = {name: getattr(vlarb_words, name.upper()) for name in names}
    words |= {
        "getsRange": vlarb_words.GETS_RANGE,
        "getsEndless": vlarb_words.GETS_ENDLESS,
        "getsBounded": vlarb_words.GETS_BOUNDED,
        "noBound": vlarb_words.NO_BOUND,
        "laneTogether": vlarb_words.LANE_TOGETHER,
        "droppedLevels": vlarb_words.DROPPED_LEVELS,
        "weights": Phrase.WEIGHTS.code,
        "terms": _TERMS,
    }
    arbiter = module_of(IB_ARBITER)
    return {
        "version": vlane.__version__,
        "wasm": base64.b64encode(module.code).decode(),
        "arrays": module.arrays,
        "places": {name: getattr(memory, name) for name in (*_FACTS, *_SHOWN)},
        "laneNumbers": memory.LANE_NUMBERS,
        "mostBytes": memory.MOST_BYTES,
        "preamble": len(PREAMBLE),
        "codes": [each.code for each in Phrase],
        "registers": {name: getattr(arbiter, place) for name, place in _REGISTERS.items()},
        "kinds": _KINDS,
        "vls": OP_VLS[1:],
        "mtus": MTUS,
        "mtu": ASSUMED_MTU,
        "blocks": {str(mtu): mtu_blocks(mtu) for mtu in MTUS},
        "rates": {name: each.data_gbps for name, each in NAMED_RATES.items()},
        "rate": DEFAULT_RATE,
        "schedulers": [{"name": name, "title": each.title} for name, each in SCHEDULERS.items()],
        "words": words,
        "examples": [{"title": title, "sls": sls, "text": text} for title, sls, text in _EXAMPLES],
    }
