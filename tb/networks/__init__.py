"""Golden networks with some switches in hardware."""
