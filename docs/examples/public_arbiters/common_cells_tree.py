"""cc_rr_arb_tree with FairArb: a tree whose nodes prefer the pointer, which moves to the next requester."""


class FairTree:
    """Four lanes. The state is the pointer."""

    initial = 0

    def decide(self, state, requests):
        """Return the winner of the tree and the new pointer."""
        if not requests:
            return None, state
        upper, lower = requests >> 2, requests & 3
        half = 1 if upper and (not lower or state >> 1) else 0
        pair = upper if half else lower
        winner = 2 * half + (1 if pair >> 1 and (not pair & 1 or state & 1) else 0)
        waiting = [lane for lane in range(4) if requests >> lane & 1]
        return winner, next((lane for lane in waiting if lane > state), waiting[0])
