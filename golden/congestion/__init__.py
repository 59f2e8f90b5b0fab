"""Golden models of InfiniBand's congestion control: marking of packets and pacing of sources."""
