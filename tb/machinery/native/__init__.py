"""Native lockstep: compiled hardware, golden rows, and their comparison."""
