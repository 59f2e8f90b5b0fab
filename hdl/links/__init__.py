"""Hardware at the ends of a cable: link ports, credit counters, flow-control packets and their limits."""
