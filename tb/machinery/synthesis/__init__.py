"""Hardware after synthesis: netlists, mutants and coverage."""
