"""Study files, and the input files that studies name."""
