"""Foreign RTL against golden: ports, port map, lockstep and report."""
