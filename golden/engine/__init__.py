"""Compilation of golden functions: kernels, records, bit sets, random numbers and rules."""
