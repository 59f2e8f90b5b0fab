"""InfiniBand congestion control: parameters and settings."""
