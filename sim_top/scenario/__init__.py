"""From a study file to a golden network that is ready to run."""
