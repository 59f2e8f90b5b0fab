"""br_arb_weighted_rr: lanes with credit go first, and without such requests every lane gets its weight."""


class AccumulatedCredit:
    """Weights 1, 2, 3 and 4, and at most 7 credits."""

    weights, most = (1, 2, 3, 4), 7
    initial = (3, (0, 0, 0, 0))

    def decide(self, state, requests):
        """Return the winner, and the new last winner with the new credits."""
        last, held = state
        rich = sum(1 << lane for lane in range(4) if held[lane] and requests >> lane & 1)
        order = [(last + step) % 4 for step in range(1, 5)]
        winner = next((lane for lane in order if (rich or requests) >> lane & 1), None)
        if winner is None:
            return None, state
        gained = held if rich else [now + weight for now, weight in zip(held, self.weights, strict=True)]
        left = [now - (lane == winner) for lane, now in enumerate(gained)]
        return winner, (winner, tuple(max(0, min(self.most, now)) for now in left))
