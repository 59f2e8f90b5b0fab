"""Switches: parameters, switch kinds and program writes."""
