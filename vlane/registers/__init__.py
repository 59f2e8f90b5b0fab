"""Register descriptions of blocks in SystemRDL, and the register maps compiled from them."""
