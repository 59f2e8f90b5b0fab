"""Studies of papers: what each runs, its figures beside the published ones, and the frame that they share."""
