"""Bits that the qualification of a block does not change although they could change, each with the reason."""
