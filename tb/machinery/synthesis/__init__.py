"""Hardware after synthesis: netlists and mutants."""
