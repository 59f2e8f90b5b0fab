"""Fill-in of arbitration tables: exhaustive states, random operations, hardware."""

from __future__ import annotations

import random
from collections.abc import Iterator
from collections.abc import Sequence as Row

import pytest

from tests.schedulers.arbitrated_link import ArbitratedLink, bound_of
from vlane.errors import InputError
from vlane.planning.fill_in import FillIn, Sequence
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable

Set = tuple[int, int]


def states(bits: int, level: int = 0, offset: int = 0) -> Iterator[tuple[Set, ...]]:
    """Yield every way to place sequences within E(level, offset) of a list of 2^bits entries."""
    yield ()
    yield ((level, offset),)
    if level < bits:
        halves = [list(states(bits, level + 1, half)) for half in (offset, offset + (1 << level))]
        yield from (one + other for one in halves[0] for other in halves[1] if one or other)


def entries_of(held: Sequence, entries: int) -> set[int]:
    return set(range(held.offset, entries, 1 << held.level))


def merged(table: FillIn) -> bool:
    """Return whether the maximal free sets have distinct sizes."""
    levels = [level for level, _ in table.free_sets]
    return len(levels) == len(set(levels))


def check(table: FillIn) -> None:
    """Check that sequences are disjoint, keep their distances, and complement the free sets."""
    seen: set[int] = set()
    for held in table.sequences.values():
        mine = entries_of(held, table.entries)
        assert not mine & seen
        assert held.level <= held.asked
        assert held.connections > 0
        seen |= mine
    left = {entry for level, offset in table.free_sets for entry in range(offset, table.entries, 1 << level)}
    assert left == set(range(table.entries)) - seen
    assert len(left) == table.free


def refused(table: FillIn) -> list[int]:
    """Return the sizes that fit into the free entries but find no free set, by exhaustive search."""
    found = []
    for level in range(table.entries.bit_length()):
        taken = set().union(*(entries_of(held, table.entries) for held in table.sequences.values()))
        sets = (set(range(offset, table.entries, 1 << level)) for offset in range(1 << level))
        if table.entries >> level <= table.free and not any(not each & taken for each in sets):
            found.append(table.entries >> level)
    return found


@pytest.mark.parametrize("bits", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_no_request_that_fits_is_refused_from_any_state(bits: int) -> None:
    """From any state of a list of up to 16 entries, no request that fits is refused.

    A sequence of one entry is released in each state. Then the free sets have distinct sizes, every fitting request is
    admitted, and the free sets stay distinct afterwards.
    """
    entries, tried = 1 << bits, 0
    for state in states(bits):
        free = FillIn.holding(state, entries=entries).free_sets
        if not free:
            continue
        table = FillIn.holding([*state, (bits, free[0][1])], entries=entries)
        table.release(len(state))
        assert merged(table)
        tried += 1
        if bits < 4:
            check(table)
            assert not refused(table)
        held = [(each.level, each.offset) for each in table.sequences.values()]
        for level in range(bits + 1):
            again = FillIn.holding(held, entries=entries)
            fits = entries >> level <= table.free
            assert (again.admit(vl=1, distance=1 << level, weight=1) is not None) == fits
            assert merged(again)
    assert tried == {1: 3, 2: 21, 3: 651, 4: 457_653}[bits]


def test_the_published_procedure_refuses_what_fits() -> None:
    """The published first-fit procedure refuses requests that fit, while best fit with merging does not."""
    policies = (("first", True), ("first", False), ("best", True))
    found = {policy: _refusals(random.Random(7), *policy) for policy in policies}  # noqa: S311 - repeatable

    assert found["first", True] > 0
    assert found["first", False] > found["first", True]
    assert found["best", True] == 0


def _refusals(source: random.Random, fit: str, merges: bool) -> int:  # noqa: FBT001 - a policy
    """Return how many fitting requests are refused in a random sequence of requests and releases."""
    found = 0
    for _ in range(20):
        table, there = FillIn(fit=fit, merges=merges), []
        for _ in range(200):
            if there and source.random() < 0.5:
                table.release(there.pop(source.randrange(len(there))))
                continue
            distance = 1 << source.randrange(1, 7)
            size = 64 // distance
            number = table.admit(vl=source.randrange(15), distance=distance, weight=255 * size)
            if number is not None:
                there.append(number)
            found += number is None and size <= table.free
    return found


def test_a_short_counter_example_to_the_published_procedure() -> None:
    """With four entries, first fit splits the free pair and then refuses a request for a pair."""
    answers = {}
    for fit in ("first", "best"):
        table = FillIn(entries=4, fit=fit)
        pair = table.admit(vl=0, distance=2, weight=2 * 255)
        table.admit(vl=1, distance=4, weight=255)
        assert pair is not None
        table.release(pair)
        table.admit(vl=2, distance=4, weight=255)
        assert table.free == 2
        answers[fit] = table.admit(vl=3, distance=2, weight=2 * 255) is not None
    assert answers == {"first": False, "best": True}


@pytest.mark.parametrize("operations", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_random_operations_are_those_of_a_plain_table(operations: int) -> None:
    """After random requests and releases, the table agrees with a plain count of its entries."""
    source = random.Random(operations)  # noqa: S311 - repeatable
    table, oracle = FillIn(), Oracle(64)
    for step in range(operations):
        if oracle.there and source.random() < 0.5 - 0.1 * (len(oracle.there) < 12):
            number = source.choice(list(oracle.there))
            moves = table.release(number)
            oracle.release(number)
            assert not moves or not oracle.shares
        else:
            vl, distance = source.randrange(6), source.randrange(1, 65)
            weight = source.choice((1, 20, 255, 300, 2000, 9000))
            number = table.admit(vl=vl, distance=distance, weight=weight)  # type: ignore[assignment]
            assert (number is not None) == oracle.admit(number, vl, distance, weight)
        if step % 50 == 0 or operations < 50_000:
            oracle.compare(table)


class Oracle:
    """Plain count of requests by VL and distance, and of free entries."""

    def __init__(self, entries: int) -> None:
        self.entries, self.free = entries, entries
        self.there: dict[int, tuple[int, int]] = {}
        self.groups: list[list[int]] = []
        self.shares = False

    def admit(self, number: int | None, vl: int, distance: int, weight: int) -> bool:
        """Count a request if it fits, and return whether it fits."""
        power = max(each for each in (1, 2, 4, 8, 16, 32, 64) if each <= distance)
        for place, group in enumerate(self.groups):  # vl, distance, entries, weight, connections
            if group[0] == vl and group[1] == power and group[3] + weight <= 255 * group[2]:
                group[3] += weight
                group[4] += 1
                self.there[number] = (place, weight)  # type: ignore[index]
                return True
        needed = self.entries // power
        while 255 * needed < weight:
            needed *= 2
        if needed > self.free:
            return False
        self.free -= needed
        self.groups.append([vl, power, needed, weight, 1])
        self.there[number] = (len(self.groups) - 1, weight)  # type: ignore[index]
        return True

    def release(self, number: int) -> None:
        """Remove a connection from the counts."""
        place, weight = self.there.pop(number)
        group = self.groups[place]
        group[3] -= weight
        group[4] -= 1
        self.shares = group[4] > 0
        if not self.shares:
            self.free += group[2]
            del self.groups[place]
            self.there = {each: (at - (at > place), held) for each, (at, held) in self.there.items()}

    def compare(self, table: FillIn) -> None:
        """Assert that a table's entries agree with the counts in number, weight and distance."""
        check(table)
        assert merged(table)
        assert table.free == self.free
        made = table.table()
        assert len(made) == self.entries
        assert sum(entry.weight for entry in made) == sum(max(group[2], group[3]) for group in self.groups)
        assert len(table.sequences) == len(self.groups)
        for held, (vl, power, needed, weight, _) in zip(table.sequences.values(), self.groups, strict=True):
            places = sorted(entries_of(held, self.entries))
            assert len(places) == needed
            assert {made[place].vl for place in places} == {vl}
            assert sum(made[place].weight for place in places) == max(needed, weight)
            assert max(made[place].weight for place in places) - min(made[place].weight for place in places) <= 1
            around = [*places[1:], places[0] + self.entries]
            assert max(after - before for before, after in zip(places, around, strict=True)) <= power


def test_moves_tell_how_the_old_entries_become_the_new_ones() -> None:
    """Applying the reported moves to the old places gives the new places."""
    table = FillIn(entries=16)
    numbers = [table.admit(vl=vl, distance=16, weight=10) for vl in range(4)]
    numbers += [table.admit(vl=5 + vl, distance=4, weight=40) for vl in range(2)]
    places = {number: held.offset for number, held in table.sequences.items()}
    moved = 0
    for number in (numbers[0], numbers[3], numbers[4]):
        places.pop(number)  # type: ignore[arg-type]
        for move in table.release(number):  # type: ignore[arg-type]
            assert places[move.sequence] == move.before
            places[move.sequence] = move.after
            moved += 1
    assert moved
    assert places == {number: held.offset for number, held in table.sequences.items()}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"distance": 0, "weight": 1}, "distance"),
        ({"distance": 65, "weight": 1}, "1 to 64"),
        ({"distance": 2, "weight": 0}, "weight"),
    ],
)
def test_bad_requests_are_refused(arguments: dict[str, int], words: str) -> None:
    """Given a bad distance or weight, the request is refused and the table unchanged."""
    table = FillIn()
    with pytest.raises(InputError, match=words):
        table.admit(vl=0, **arguments)
    assert table.free == 64


def test_bad_lists_are_refused() -> None:
    """Given a list of wrong length, an unknown fit or overlapping sets, construction is refused."""
    with pytest.raises(InputError, match="power of two"):
        FillIn(entries=48)
    with pytest.raises(InputError, match="best, first"):
        FillIn(fit="worst")
    with pytest.raises(InputError, match="twice"):
        FillIn.holding([(1, 0), (2, 2)], entries=8)


def test_a_request_that_no_list_can_hold_is_refused() -> None:
    """A request for more than 64 entries of weight 255 is refused."""
    table = FillIn()
    assert table.admit(vl=0, distance=64, weight=64 * 255 + 1) is None
    assert table.admit(vl=0, distance=64, weight=64 * 255) == 0
    assert table.free == 0


class Fabric:
    """Connections on a link, with the high list filled in and VL 4 only in the low list."""

    def __init__(self, source: random.Random, *, entries: int, form: str, limit: int) -> None:
        self.source, self.limit = source, limit
        self.link = ArbitratedLink(data_vls=5, entries=entries, form=form)
        self.fill_in, self.there, self.moves = FillIn(entries=entries), list[tuple[int, int]](), 0
        self.sizes = {vl: (least, least + source.choice((0, 3, 12))) for vl, least in enumerate((1, 2, 4, 8, 1))}
        self.habits = {vl: source.choice((1.0, 0.1, 0.02)) for vl in self.sizes}
        self.link.begin_with(self.table())

    def table(self) -> VLArbTable:
        """Return the table of the current connections."""
        return VLArbTable(tuple(self.fill_in.table()), (VLArbEntry(4, 255),), self.limit)

    def cycle(self, write: Row[int] = (), *, swap: bool = False) -> None:
        """Run one cycle with random packets of VL 4 and the VLs with connections."""
        for vl in sorted({4, *(vl for _, vl in self.there)}):
            if len(self.link.queues[vl]) < 3 and self.source.random() < self.habits[vl]:
                self.link.offer(vl, self.source.randint(*self.sizes[vl]))
        self.link.cycle(write, swap=swap)

    def change(self) -> None:
        """Add or remove a connection: write the new table, swap, and wait for the exchange."""
        come: tuple[int, int] | None = None
        if self.there and self.source.random() < 0.5:
            number, vl = self.there.pop(self.source.randrange(len(self.there)))
            is_last = vl not in {each for _, each in self.there}
            while is_last and self.link.queues[vl]:  # its last packets are served before its entries are removed
                self.cycle()
            self.moves += len(self.fill_in.release(number))
        else:
            vl, distance = self.source.randrange(4), self.source.choice((2, 4, 8, 16))
            admitted = self.fill_in.admit(vl=vl, distance=distance, weight=self.source.choice((4, 30, 200)))
            come = (admitted, vl) if admitted is not None else None
        for write in self.link.writes_of(self.table()):
            self.cycle(write)
        self.cycle(swap=True)
        while len(self.link.exchanges) < len(self.link.tables):
            self.cycle()
        if come is not None:
            self.there.append(come)
        for _ in range(self.source.choice((0, 20, 400))):
            self.cycle()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entries", "form", "runs", "changes"),
    [
        (16, "exact", 4, 40),
        pytest.param(64, "exact", 4, 100, marks=pytest.mark.long),
        (16, "line_rate", 1, 40),
        pytest.param(64, "line_rate", 4, 100, marks=pytest.mark.long),
    ],
)
def test_connections_come_and_go_on_the_hardware(entries: int, form: str, runs: int, changes: int) -> None:
    """With tables swapped under traffic, hardware equals golden, and each wait is within its bound.

    The bound applies to the exact form. Packets of the line-rate form are all served, too.
    """
    source, exchanged, longer, moves = random.Random(entries + runs), 0, 0, 0  # noqa: S311 - repeatable
    for run in range(runs):
        fabric = Fabric(source, entries=entries, form=form, limit=(0, 1, 3, 255)[run % 4])
        for _ in range(changes):
            fabric.change()
        moves += fabric.moves
        least, most = ({vl: pair[place] for vl, pair in fabric.sizes.items()} for place in (0, 1))

        waits = fabric.link.on_hardware()

        assert len({wait.vl for wait in waits}) == 5
        for wait in waits if form == "exact" else ():
            alone, later = bound_of(fabric.link, wait, most, least)
            assert wait.passed <= alone + sum(later), wait
            exchanged += bool(later)
            longer += wait.passed > alone
    assert moves > 0
    assert form == "line_rate" or (exchanged > changes and longer > 0)
