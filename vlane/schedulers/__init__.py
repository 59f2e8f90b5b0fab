"""Egress schedulers: parameters, weight tables, table files and program writes."""
