"""Studies of papers: their runs, their figures next to the published ones, and the shared framework."""
