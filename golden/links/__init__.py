"""Credits of the golden network at both ends of a cable: buffer space, remote credit, limits and returns."""
