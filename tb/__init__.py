"""The benches: native lockstep, cocotb, proofs and mutants."""
