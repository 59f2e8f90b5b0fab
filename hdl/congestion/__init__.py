"""Hardware of InfiniBand's congestion control: where packets are marked, and how sources are paced."""
