"""Credits of the golden network at both ends of a cable: room, remote credit, limits, returns."""
