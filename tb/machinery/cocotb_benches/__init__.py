"""The cocotb benches, one for each block, and what they share."""
