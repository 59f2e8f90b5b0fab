"""The native lockstep: compiled hardware, golden rows, and how both run side by side."""
