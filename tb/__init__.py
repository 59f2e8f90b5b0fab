"""The benches: native lockstep, cocotb, proofs and mutants."""

import vlane.golden  # noqa: F401 - the first to import numba
