"""The golden network: topology, routes, sources, meters, and the loop over cycles."""
