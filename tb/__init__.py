"""Benches: native lockstep, cocotb, proofs and mutants."""
