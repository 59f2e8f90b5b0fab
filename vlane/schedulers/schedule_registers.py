"""Registers that the maps of several schedulers have in common (``docs/register_port.md``)."""

from __future__ import annotations

from vlane.registers import BitField, Command, Register, Status, Window
from vlane.schedulers.writes import ScheduleSelect


def swap_registers() -> tuple[Register, ...]:
    """Return the registers of a scheduler with a shadow table."""
    return (
        Command("swap", "bit 0: the shadow tables become the active ones", "swap"),
        Status("swap_pending", "bit 0: a swap waits", "swap_pending"),
    )


def deficit_status(accumulated: str) -> tuple[Register, ...]:
    """Return the counters of deficit scheduling; ``accumulated`` says what the counter of the turn holds."""
    return (
        Status("accumulated", accumulated, "accumulated"),
        Status("deficit", "deficit of each requester", "deficit", words=32, element_bits=7),
    )


def entry_window(program: str, what: str, *fields: BitField) -> Window:
    """Return the window of a table's entries, or of a value for each requester."""
    return Window("entry", what, program, fields, (BitField("index", 0, 7),), {"select": int(ScheduleSelect.TABLE)})


def map_window(bits: int = 5) -> Window:
    """Return the window of the map from lanes to requesters, whose numbers have that many bits."""
    return Window(
        "map",
        "requester of each lane",
        "program",
        (BitField("requester", 0, bits, "requester"),),
        (BitField("index", 0, 5),),
        {"select": int(ScheduleSelect.MAP)},
    )
