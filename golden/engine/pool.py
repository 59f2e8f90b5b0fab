"""Free list of a pool: a ``NamedTuple`` with records ``pool``, linked by their field ``next``, and ``regs``."""

from __future__ import annotations

from typing import Any

from vlane.golden.engine.kernel import inner

(FREE, IN_USE) = range(2)
"""Index in ``regs`` of the first free record, and of the number of records in use."""


@inner
def allocate_record(records: Any) -> int:
    """Take a record from the free list of a pool and return its number. The list must not be empty."""
    number = int(records.regs[FREE])
    records.regs[FREE] = records.pool[number].next
    records.regs[IN_USE] += 1
    return number


@inner
def free_record(records: Any, index: int) -> None:
    """Return a record to the free list of its pool."""
    records.pool[index].next = records.regs[FREE]
    records.regs[FREE] = index
    records.regs[IN_USE] -= 1
