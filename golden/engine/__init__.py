"""How golden functions are compiled: kernels, records, bits, random numbers, rules."""
