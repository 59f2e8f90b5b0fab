"""The tops: cosimulation, export, report and the command line."""
