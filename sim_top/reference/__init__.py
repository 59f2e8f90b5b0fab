"""The reference: keys of files, parameters and ports of blocks, taken from what reads and makes them."""
