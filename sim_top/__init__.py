"""Top level: cosimulation, network studies, export, the Python interface and the command line."""
