"""Hardware of InfiniBand congestion control: packet marking in switches and pacing of sources."""
