"""Parameters and settings of InfiniBand congestion control."""
