"""Cycle model of AXI4-Lite between a pausing master and a register port, from ``docs/register_port.md``."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

OKAY, SLVERR = 0, 2
_WHOLE = 15


@dataclass(frozen=True, slots=True)
class Access:
    """Write or read request.

    Parameters
    ----------
    address : int
        Byte address of a word.
    word : int or None
        Word to write; ``None`` for a read.
    strobes : int
        Byte strobes of a write.
    refused : bool
        Whether the write must be answered with SLVERR.
    """

    address: int
    word: int | None = None
    strobes: int = _WHOLE
    refused: bool = False


@dataclass(slots=True)
class _Offer:
    """Channel on which the master holds a transfer valid until accepted. ``at`` counts accepted transfers."""

    at: int = 0
    valid: bool = False


class PlainBus:
    """Both ends of the bus, after reset.

    Parameters
    ----------
    seed : int
        Seed that determines the pauses of every channel.

    Attributes
    ----------
    writes, reads : list of Access
        Requests in order; more may be appended at any time.
    """

    def __init__(self, seed: int) -> None:
        self.writes: list[Access] = []
        self.reads: list[Access] = []
        self._draw = random.Random(f"bus {seed}")  # noqa: S311 - stimulus
        self._pace = 1.0
        self._address, self._word, self._read = _Offer(), _Offer(), _Offer()
        self._written, self._found = 0, 0
        self._shown = {"bvalid": 0, "bresp": OKAY, "rvalid": 0, "rresp": OKAY, "rdata": 0}

    def is_idle(self) -> bool:
        """Return whether every request is answered and every answer accepted."""
        done = self._written == len(self.writes) and self._found == len(self.reads)
        return done and not (self._shown["bvalid"] or self._shown["rvalid"])

    def cycle(
        self, look_up: Callable[[int], int | None], take: Callable[[int, int], None]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return the inputs and outputs of the register port in the next cycle, by name without prefix.

        Parameters
        ----------
        look_up : callable
            Function that returns the value that an address reads in this cycle; ``None`` if it is not readable.
        take : callable
            Function that is called with address and word when a write takes effect, after the reads of the cycle.
        """
        if self._draw.random() < 1 / 16:  # some intervals have no pauses
            self._pace = self._draw.choice((1.0, 0.8, 0.3))
        given = {"awaddr": 0, "wdata": 0, "wstrb": 0, "araddr": 0}
        given |= {"awprot": self._draw.getrandbits(3), "arprot": self._draw.getrandbits(3)}
        given |= {"awvalid": self._offers(self._address, self.writes), "wvalid": self._offers(self._word, self.writes)}
        given |= {"arvalid": self._offers(self._read, self.reads)}
        given |= {"bready": self._draw_bit(), "rready": self._draw_bit()}
        if given["awvalid"]:
            given["awaddr"] = self.writes[self._address.at].address | self._draw.getrandbits(2)
        if given["wvalid"]:
            given |= {"wdata": self.writes[self._word.at].word or 0, "wstrb": self.writes[self._word.at].strobes}
        if given["arvalid"]:
            given["araddr"] = self.reads[self._read.at].address | self._draw.getrandbits(2)
        has_address, has_word = self._address.at > self._written, self._word.at > self._written
        has_read = self._read.at > self._found
        shown = {**self._shown, "awready": int(not has_address), "wready": int(not has_word)}
        shown["arready"] = int(not has_read)
        for answer, ready in (("bvalid", "bready"), ("rvalid", "rready")):
            if given[ready]:
                self._shown[answer] = 0
        if has_read and not self._shown["rvalid"]:
            found = look_up(self.reads[self._found].address)
            self._shown |= {"rvalid": 1, "rresp": SLVERR if found is None else OKAY, "rdata": found or 0}
            self._found += 1
        if has_address and has_word and not self._shown["bvalid"]:
            write = self.writes[self._written]
            self._shown |= {"bvalid": 1, "bresp": SLVERR if write.refused else OKAY}
            if not write.refused:
                take(write.address, write.word or 0)
            self._written += 1
        for offer, valid, ready in (
            (self._address, "awvalid", "awready"),
            (self._word, "wvalid", "wready"),
            (self._read, "arvalid", "arready"),
        ):
            if given[valid] and shown[ready]:
                offer.at, offer.valid = offer.at + 1, False
        return given, shown

    @property
    def waiting(self) -> int:
        """Number of unanswered writes and reads."""
        return len(self.writes) - self._written + len(self.reads) - self._found

    def _offers(self, offer: _Offer, accesses: list[Access]) -> int:
        offer.valid = offer.valid or (offer.at < len(accesses) and bool(self._draw_bit()))
        return int(offer.valid)

    def _draw_bit(self) -> int:
        return int(self._draw.random() < self._pace)
