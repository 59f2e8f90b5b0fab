"""Registers that several schedulers share (``docs/register_port.md``)."""

from __future__ import annotations

from vlane.registers import BitField, Command, Register, Status, Window
from vlane.schedulers.writes import ScheduleSelect


def swap_registers() -> tuple[Register, ...]:
    """Return the registers of a scheduler with a shadow table."""
    return (
        Command("swap", "bit 0: make the shadow tables active", "swap"),
        Status("swap_pending", "bit 0: swap pending", "swap_pending"),
    )


def deficit_status(accumulated: str) -> tuple[Register, ...]:
    """Return the counters of deficit scheduling. ``accumulated`` describes the counter of the turn."""
    return (
        Status("accumulated", accumulated, "accumulated"),
        Status("deficit", "deficit of each requester", "deficit", words=32, element_bits=7),
    )


def entry_window(program: str, what: str, *fields: BitField) -> Window:
    """Return the window of table entries, or of one value per requester."""
    return Window("entry", what, program, fields, (BitField("index", 0, 7),), {"select": int(ScheduleSelect.TABLE)})


def map_window(bits: int = 5) -> Window:
    """Return the window of the map from lanes to requesters, with requester numbers of the given width."""
    return Window(
        "map",
        "requester of each lane",
        "program",
        (BitField("requester", 0, bits, "requester"),),
        (BitField("index", 0, 5),),
        {"select": int(ScheduleSelect.MAP)},
    )
