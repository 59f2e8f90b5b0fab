"""Study files, and the input files that a study names."""
