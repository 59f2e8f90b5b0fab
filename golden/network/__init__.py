"""The golden network: topology, routes, traffic sources, meters and the simulation loop."""
