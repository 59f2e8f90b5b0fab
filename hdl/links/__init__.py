"""Hardware at the two ends of a cable: the link's ports, room, flow-control packets and their limits."""
