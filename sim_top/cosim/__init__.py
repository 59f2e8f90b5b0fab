"""Golden against hardware: blocks, networks, mutants, proofs, soaks and their reports."""
