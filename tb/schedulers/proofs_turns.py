"""Reference model of round robin, from the contract pages: the first eligible place after the one served last."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.tb.tables.proofs_tables import at


def at_most_one(bits: Value) -> Value:
    """Return whether no two bits are set."""
    return (bits & (bits - 1)) == 0


class Turns:
    """Model of turns: the place served last, and the next place.

    Parameters
    ----------
    m : Module
        Module of the proof.
    name : str
        Prefix of the signals' names.
    eligible : sequence of Value
        One bit for each place that could be served.

    Attributes
    ----------
    last : Signal
        Place served last; after reset the one before place 0.
    expected : Signal
        Next place, one-hot; 0 if none is eligible.
    """

    def __init__(self, m: Module, name: str, eligible: Sequence[Value]) -> None:
        self.m, self.count, self.name = m, len(eligible), name
        self.last = Signal(range(max(2, self.count)), init=self.count - 1, name=f"{name}_last")
        self.expected, self._passed = Signal(self.count, name=f"{name}_expected"), 0
        asks = Signal(self.count, name=f"{name}_eligible")
        m.d.comb += asks.eq(Cat(eligible))
        places = [Signal(range(self.count + 1), name=f"{name}_place_{each}") for each in range(self.count)]
        m.d.comb += [place.eq(self.place(each)) for each, place in enumerate(places)]
        for each in range(self.count):
            earlier = Cat(asks[other] & (places[other] < places[each]) for other in range(self.count) if other != each)
            m.d.comb += self.expected[each].eq(asks[each] & ~earlier.any())

    def place(self, each: Value | int) -> Value:
        """Return the cyclic distance from the place served last to another, 1 to the number of places."""
        return Mux(self.last < each, each - self.last, self.count + each - self.last)

    def is_at(self, last: Value) -> Value:
        """Return whether a component's last place equals the model's, and is a valid place."""
        return (last == self.last) & (self.last < self.count)

    def is_behind(self, mask: Value) -> Value:
        """Return whether a component's mask contains the places after the model's last one, and no other place.

        If nothing is after the last place, the search starts at place 0.
        """
        return (mask == Cat(self.last < each for each in range(self.count))) & (self.last < self.count)

    def serve(self, served: Value) -> None:
        """Update the model with the place served by the component in this cycle, one-hot or 0."""
        for each in range(self.count):
            with self.m.If(served[each]):
                self.m.d.sync += self.last.eq(each)

    def wait(self, watched: Value, requests: Value, served: Value) -> tuple[Signal, Value]:
        """Count the other places served while a place is requesting. Return the count, and whether the bound holds.

        Bound: the places already served, plus the places that may still precede the watched place, are fewer than all
        places.

        Parameters
        ----------
        watched : Value
            Watched place.
        requests : Value
            Whether the watched place is requesting in this cycle.
        served : Value
            Place served in this cycle, one-hot or 0.
        """
        self._passed += 1
        passed = Signal(range(self.count + 1), name=f"{self.name}_passed_{self._passed}")
        place = Signal(range(self.count + 1), name=f"{self.name}_watched_place_{self._passed}")
        self.m.d.comb += place.eq(self.place(watched))
        with self.m.If(~requests | at(served, watched)):
            self.m.d.sync += passed.eq(0)
        with self.m.Elif(served.any()):
            self.m.d.sync += passed.eq(passed + 1)
        return passed, passed + place <= self.count
