"""Reference of file keys, block parameters and ports, derived from the code that reads and builds them."""
